"""An arm that differs from its model: what the emulated arm and the benchmarks' truth are made of."""

from dataclasses import dataclass, replace

import numpy as np

from soft_twin.twins.tensegrity.model import ArmModel


@dataclass(frozen=True)
class ArmMismatch:
    """How an arm differs: cords' lengths ± [m], scale of the cylinders' stiffness, their forces ± (share), noise of an
    inclination [rad]."""

    cord_length: float
    cylinder_stiffness_scale: float
    force: float
    inclination: float


def mismatched(model: ArmModel, mismatch: ArmMismatch, seed: int) -> ArmModel:
    """The model of an arm whose cords' lengths, cylinders' stiffness and forces are off, each within its bounds."""
    random = np.random.default_rng(seed)
    laws, active = model.laws, model.structure.active
    off = random.uniform(-1.0, 1.0, size=(2, len(active)))
    return replace(
        model,
        laws=replace(
            laws,
            stiffness=np.where(active, mismatch.cylinder_stiffness_scale, 1.0) * laws.stiffness,
            rest_lengths=laws.rest_lengths + np.where(active, 0.0, mismatch.cord_length * off[0]),
            areas=laws.areas * (1.0 + mismatch.force * off[1]),
        ),
    )
