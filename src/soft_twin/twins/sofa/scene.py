"""What SOFA is told of a body: plain numbers, the same for each of its versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.mechanics.materials.base import IsotropicEnergy
from soft_twin.mechanics.model import Model


@dataclass(frozen=True)
class SofaCable:
    """A cable.

    Attributes:
        points: (p, 3) at rest [m], base first: of one in the body where it passes from cell to cell, of one outside its
            fixed anchor and its end.
        plate: that carries the end of one outside; None for one in the body.
    """

    points: np.ndarray
    plate: int | None = None


@dataclass(frozen=True)
class SofaChamber:
    """A chamber: the triangles (t, 3) of nodes around it, outward from the material."""

    triangles: np.ndarray


@dataclass(frozen=True)
class SofaScene:
    """A model of linear tetrahedra, as SOFA has it.

    Attributes:
        values: what is not an array: Poisson's ratio, number of plates, of each actuator its kind and plate.
        arrays: nodes, cells, Young's modulus of each cell, masses, clamped nodes, plates and actuators.
    """

    values: dict[str, Any]
    arrays: dict[str, np.ndarray]


def scene_of(model: Model, actuators: Sequence[SofaCable | SofaChamber], tip: np.ndarray) -> SofaScene:
    """The scene of a model.

    Args:
        model: linear tetrahedra, rigid plates and gravity.
        actuators: the model's, in their order.
        tip: nodes whose mean SOFA's own inverse aims with.

    Raises:
        UsageError: cells or materials that SOFA's linear tetrahedra have not: they are named.
    """
    body = model.body
    if body.mesh.cells.shape[1] != 4:
        raise UsageError(f"a SOFA twin is of linear tetrahedra, not of cells of {body.mesh.cells.shape[1]} nodes")
    moduli, ratio = _elasticity(model)
    arrays = {
        "nodes": body.mesh.nodes,
        "cells": body.mesh.cells,
        "moduli": moduli,
        "masses": body.lumped_masses(),
        "clamped": np.flatnonzero(body.place < 0),
        "plate_of": model.unknowns.plate_of,
        "centres": model.rest.centres,
        "tip": np.asarray(tip),
    }
    told = []
    for index, actuator in enumerate(actuators):
        cable = isinstance(actuator, SofaCable)
        arrays[f"actuator_{index}"] = actuator.points if cable else actuator.triangles
        told.append({"kind": "cable" if cable else "chamber", "plate": actuator.plate if cable else None})
    return SofaScene({"poisson_ratio": ratio, "plates": len(model.unknowns.plates), "actuators": told}, arrays)


def _elasticity(model: Model) -> tuple[np.ndarray, float]:
    """Young's modulus (m,) of each cell [Pa], and Poisson's ratio, both of small strains."""
    moduli, ratios = np.zeros(len(model.body.mesh.cells)), []
    for part in model.body.parts:
        energy = part.material.energy
        if not isinstance(energy, IsotropicEnergy):
            law = type(energy).__name__.lower()
            raise UsageError(f"a SOFA twin has no {law}: its cells are isotropic, of E and ν at small strains")
        mu, lam = energy.mu, energy.lam
        moduli[part.numbers] = mu * (3.0 * lam + 2.0 * mu) / (lam + mu)
        ratios.append(lam / (2.0 * (lam + mu)))
    if np.ptp(ratios) > 1e-12:
        told = ", ".join(f"{ratio:g}" for ratio in sorted(set(ratios)))
        raise UsageError(f"a SOFA twin has one Poisson's ratio for all of its body, not {told}")
    return moduli, float(ratios[0])
