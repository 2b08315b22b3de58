"""What a description says of the emulated robot: how it differs from the twin."""

from typing import Annotated

from pydantic import Field

from soft_twin.descriptions.fem_mesh import MeshSource
from soft_twin.descriptions.kinds_of_value import Number, Several
from soft_twin.descriptions.part import Part


class Emulated(Part):
    """How the emulated robot differs from the twin."""

    young_modulus_scale: Annotated[float, Number(0.1, 10.0)] = Field(description="of E")
    density_scale: Annotated[float, Number(0.1, 10.0)] = Field(description="of ρ")
    cable_friction: Annotated[float, Number(0.0, 2.0)] = Field(description="capstan coefficient μ of the cables")
    motor_lag: Annotated[float, Number(1e-4, 1.0, "s")] = Field(description="time constant of a motor")
    step: Annotated[float, Number(1e-3, 0.06, "s")] = Field(
        default=0.02, description="of its body in time: longer ones are cheaper and damp more"
    )


class FemEmulated(Emulated):
    """How the emulated robot differs from the twin, in its body, cables and chambers."""

    young_modulus_scale: Annotated[float, Number(0.1, 10.0)] = Field(default=1.0, description="of E")
    density_scale: Annotated[float, Number(0.1, 10.0)] = Field(default=1.0, description="of ρ")
    cable_friction: Annotated[float, Number(0.0, 2.0)] = Field(
        default=0.0, description="capstan coefficient μ of the cables"
    )
    motor_lag: Annotated[float, Number(1e-4, 1.0, "s")] = Field(default=0.02, description="time constant of a motor")
    limp_mobility: Annotated[float, Number(0.0, 1.0, "m/s/N")] = Field(
        default=0.05, description="how fast a limp winch lets out its cable, for the pull of that"
    )
    valve_lag: Annotated[float, Number(1e-4, 1.0, "s")] = Field(
        default=0.02, description="time constant of a valve's set point"
    )
    fill_rate: Annotated[float, Number(0.1, 1000.0, "1/s")] = Field(
        default=12.0, description="change of a chamber's pressure per difference across its open valve"
    )
    leak: Annotated[float, Number(0.0, 10.0, "1/s")] = Field(
        default=0.02, description="share of its pressure that a chamber loses"
    )
    wound: Annotated[tuple[float, ...], Several(Number(-0.1, 0.1, "m"), 1, 50)] | None = Field(
        default=None,
        description="by each winch at the start, beyond what is just taut; < 0: slack; without it: its cable's "
        "`offset`, of which a limp winch lets out what is above 0",
    )
    mesh: MeshSource | None = Field(
        default=None, description="of its own, of the same body, with the names that this description speaks of"
    )
