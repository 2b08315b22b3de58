"""Distances of simulations from N_fk between the mesh's points, of a sheet that is known there."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, identity

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from test_shape_control import PLANE, SIZE, TRIANGLES, bumps, model

from soft_twin.learning.shape_errors import errors_between
from soft_twin.learning.simulations import Simulations, SurfaceMesh
from soft_twin.learning.training import parted

HIGH = np.array([3000.0, 3000.0])


@pytest.mark.parametrize("bulge", [0.0, 0.4e-3])
def test_what_bulges_between_the_points_is_seen_along_the_normal(bulge):
    """Simulations are the sheet itself; between the points they are shifted along it, and rise by a bulge [m]."""
    shapes, count = model(), len(PLANE)
    height = 0.030 * bumps(PLANE[:, :2]).sum(axis=1)
    points = np.column_stack([SIZE * PLANE[:, :2], height])
    inner = np.flatnonzero((np.abs(PLANE[:, :2] - PLANE[:, :2].mean(axis=0)) < 0.45).all(axis=1))
    raised = np.vstack([points, [[0.0, 0.0, bulge]]])
    pick = csr_matrix((np.ones(len(inner)), (np.arange(len(inner)), inner)), shape=(len(inner), count + 1))
    pick = pick + csr_matrix((np.ones(len(inner)), (np.arange(len(inner)), np.full(len(inner), count))), pick.shape)
    simulations = Simulations(np.tile(HIGH, (10, 1)), np.tile(raised, (10, 1, 1)), np.zeros(10, bool), {})
    found = errors_between(shapes, simulations, SurfaceMesh(identity(count), points, TRIANGLES, pick))
    slopes = np.cos(np.arctan(np.hypot(*_gradient(PLANE[inner, :2]))))
    assert found.mean == pytest.approx(1e3 * bulge * slopes.mean(), abs=0.03)
    assert found.largest == pytest.approx(1e3 * bulge, abs=0.1)


def test_only_what_was_not_trained_on_counts():
    shapes, count = model(), len(PLANE)
    points = np.column_stack([SIZE * PLANE[:, :2], 0.030 * bumps(PLANE[:, :2]).sum(axis=1)])
    all_points = np.tile(points, (10, 1, 1))
    trained, unseen = parted(10, np.random.default_rng(3))
    all_points[trained] += [0.0, 0.0, 0.02]
    simulations = Simulations(np.tile(HIGH, (10, 1)), all_points, np.zeros(10, bool), {})
    surface = SurfaceMesh(identity(count), points, TRIANGLES, identity(count, format="csr"))
    assert len(unseen) and errors_between(shapes, simulations, surface, 3).mean < 0.05
    assert errors_between(shapes, simulations, surface, 4).mean > 1.0


def _gradient(xy):
    """Of the sheet's height over its length, by differences."""
    step = 1e-4
    return [
        0.3 * (bumps(xy + step * to).sum(axis=1) - bumps(xy - step * to).sum(axis=1)) / (2.0 * step) for to in np.eye(2)
    ]
