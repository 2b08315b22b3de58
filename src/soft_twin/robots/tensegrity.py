"""An arm of struts that float in a net of cords and pneumatic cylinders: TM40."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.robots.base import Robot

if TYPE_CHECKING:
    from soft_twin.descriptions import tensegrity as descriptions
    from soft_twin.shape_estimation.estimator import Estimator
    from soft_twin.twins.tensegrity.forward import ForwardModel
    from soft_twin.twins.tensegrity.mismatch import ArmMismatch
    from soft_twin.twins.tensegrity.model import ArmModel
    from soft_twin.twins.tensegrity.shape import Shape
    from soft_twin.twins.tensegrity.structure import Structure


@dataclass(frozen=True)
class ZeroLength:
    """The paper's estimator: stiffnesses K of cords and cylinders, learning rates α and β, gradient steps an update."""

    passive: float
    active: float
    position_rate: float
    yaw_rate: float
    steps_per_update: int

    @property
    def choices(self) -> dict[str, float]:
        """As ZeroLengthEstimator takes them."""
        own = asdict(self)
        return {"steps": own.pop("steps_per_update"), **own}


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
    emulated: "ArmMismatch"

    @property
    def structure(self) -> "Structure":
        return self.model.structure

    def build_twin(self, **choices: Any) -> "ForwardModel":
        """The forward model."""
        from soft_twin.twins.tensegrity.forward import ForwardModel

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
        from soft_twin.shape_estimation.estimators import ESTIMATORS

        if kind not in ESTIMATORS:
            raise UsageError(f"no estimator '{kind}': there are {', '.join(ESTIMATORS)}")
        given = self.zero_length.choices if kind == "zero_length" else {}
        return ESTIMATORS[kind](self.model, **{**given, **choices})


def read(description: "descriptions.Tensegrity", path: Path, nodes: dict[str, Any]) -> TensegrityArm:
    """A TensegrityArm from its description.

    Raises:
        DescriptionError: its struts and members make no structure that can stand.
    """
    # Imported here, so that reading another robot does not compile a tensegrity's kernels.
    from soft_twin.robots.tensegrity_model import build_model
    from soft_twin.twins.tensegrity.mismatch import ArmMismatch

    emulated = description.emulated
    return TensegrityArm(
        name=description.name,
        path=path,
        nodes=nodes,
        model=build_model(description, str(path)),
        zero_length=ZeroLength(**dict(description.zero_length)),
        emulated=ArmMismatch(
            emulated.cord_length,
            emulated.cylinder_stiffness_scale,
            emulated.force,
            np.radians(emulated.inclination_deg),
        ),
    )
