"""How far surfaces that stand for simulations are from these between the points that they were fitted to."""

from typing import NamedTuple

import jax
import numpy as np
from scipy.spatial import cKDTree

from soft_twin.learning.correction import MM, ShapeModel
from soft_twin.learning.layer import SurfaceLayer, lattice
from soft_twin.learning.simulations import Simulations, SurfaceMesh
from soft_twin.learning.training import parted

SIDE = 200  # points of a surface along u and v
MOST = 40  # simulations that are looked at


class Between(NamedTuple):
    """Distances of simulations from N_fk's surface between the mesh's points [mm]."""

    mean: float
    largest: float


def errors_between(shapes: ShapeModel, simulations: Simulations, surface: SurfaceMesh, seed: int = 0) -> Between:
    """Of simulations that N_fk was not trained on by this seed: along the normal of N_fk's surface, from the middles of
    the triangles between the mesh's points, on the elements' own faces.

    Args:
        shapes: N_fk and what surrounds it.
        simulations: all of them.
        surface: which tells what is between its points.
        seed: of the training.
    """
    _, unseen = parted(len(simulations.points), np.random.default_rng(seed))
    layer = SurfaceLayer(lattice(SIDE**2), shapes.knots)
    predicted = jax.jit(lambda inputs: layer.points_and_normals(shapes.control_of(inputs)))
    inputs = shapes.inputs_of(simulations.pressures)
    away = [
        _off(MM * (surface.between @ simulations.points[row]), *(np.asarray(each, float) for each in predicted(own)))
        for row, own in zip(unseen[:MOST], inputs[unseen[:MOST]], strict=True)
    ]
    return Between(float(np.mean(away)), float(np.max(away)))


def _off(places: np.ndarray, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """(q,) of places (q, 3) from a surface by its points and normals (p, 3), a place being opposite the nearest."""
    _, nearest = cKDTree(points).query(places)
    return np.abs(((places - points[nearest]) * normals[nearest]).sum(axis=1))
