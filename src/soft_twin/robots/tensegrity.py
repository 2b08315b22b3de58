"""An arm of struts that float in a net of cords and pneumatic cylinders: TM40."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.robots.base import Robot
from soft_twin.robots.description import Section

if TYPE_CHECKING:
    from soft_twin.twin.tensegrity.estimator import Estimator
    from soft_twin.twin.tensegrity.forward import ForwardModel
    from soft_twin.twin.tensegrity.model import ArmModel
    from soft_twin.twin.tensegrity.shape import Shape
    from soft_twin.twin.tensegrity.structure import Structure


@dataclass(frozen=True)
class ZeroLength:
    """The paper's estimator: stiffnesses K of cords and cylinders, learning rates α and β, gradient steps an update."""

    passive: float
    active: float
    position_rate: float
    yaw_rate: float
    steps_per_update: int


@dataclass(frozen=True)
class ArmMismatch:
    """How the emulated arm differs: cords' lengths ± [m], scale of the cylinders' stiffness, their forces ± (share),
    noise of an inclination [rad]."""

    cord_length: float
    cylinder_stiffness_scale: float
    force: float
    inclination: float


@dataclass(frozen=True)
class TensegrityArm(Robot):
    """A tensegrity arm: see the classes of its parts.

    Attributes:
        model: structure, members' laws, mounting and rest pose.
        zero_length: parameters of the paper's estimator.
        emulated: how the emulated arm differs from the model.
    """

    model: "ArmModel" = field(repr=False)
    zero_length: ZeroLength
    emulated: ArmMismatch

    @property
    def structure(self) -> "Structure":
        return self.model.structure

    def build_twin(self, **choices: Any) -> "ForwardModel":
        """The forward model."""
        from soft_twin.twin.tensegrity.forward import ForwardModel

        return ForwardModel(self.model, **choices)

    def forward(self, pressures: np.ndarray, tip_force: Sequence[float] = (0.0, 0.0, 0.0)) -> "Shape":
        """The equilibrium at gauge pressures (c,) [Pa] with a force at the tip (3,) in base_link [N].

        Raises:
            InputError, ConvergenceError: see ForwardModel.equilibrium.
        """
        return self.build_twin().equilibrium(pressures, tip_force)

    def build_estimator(self, kind: str = "energy", **choices: Any) -> "Estimator":
        """An estimator of the shape: "energy", "energy_tip_force" or "zero_length".

        Raises:
            UsageError: there is no estimator of that name.
        """
        from soft_twin.twin.tensegrity.estimators import ESTIMATORS

        if kind not in ESTIMATORS:
            raise UsageError(f"no estimator '{kind}': there are {', '.join(ESTIMATORS)}")
        return ESTIMATORS[kind](self, **choices)


def read(name: str, path: Path, robot: Section, nodes: dict[str, Any]) -> TensegrityArm:
    """A TensegrityArm from the section `robot` of its description."""
    # Imported here, so that reading another robot does not compile a tensegrity's kernels.
    from soft_twin.robots.tensegrity_model import read_model

    zero_length, emulated = robot.section("zero_length"), robot.section("emulated")
    return TensegrityArm(
        name=name,
        path=path,
        nodes=nodes,
        model=read_model(robot),
        zero_length=ZeroLength(
            zero_length.number("passive", 0.0),
            zero_length.number("active", 0.0),
            zero_length.number("position_rate", 0.0),
            zero_length.number("yaw_rate", 0.0),
            zero_length.integer("steps_per_update", 1, 100000),
        ),
        emulated=ArmMismatch(
            emulated.number("cord_length", 0.0, 0.01),
            emulated.number("cylinder_stiffness_scale", 0.1, 10.0),
            emulated.number("force", 0.0, 0.5),
            np.radians(emulated.number("inclination_deg", 0.0, 10.0)),
        ),
    )
