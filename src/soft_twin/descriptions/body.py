"""What every robot with a body has: what it is made of, how its motion dies down, and an IMU in its base."""

from typing import Annotated

from pydantic import Field

from soft_twin.descriptions.kinds_of_value import LAW, Number, Several
from soft_twin.descriptions.part import Part


class TubeMaterial(Part):
    """What the body is made of."""

    model: Annotated[str, LAW] = Field(description="law, see twin.md, such as `corotational`")
    young_modulus: Annotated[float, Number(1e2, 1e12, "Pa")] = Field(description="E")
    poisson_ratio: Annotated[float, Number(-0.99, 0.4999)] = Field(description="ν")
    density: Annotated[float, Number(10.0, 3e4, "kg/m³")] = Field(description="ρ")


class Damping(Part):
    """Rayleigh damping C = α M + β K."""

    rayleigh_mass: Annotated[float, Number(0.0, 1e4, "1/s")] = Field(description="α")
    rayleigh_stiffness: Annotated[float, Number(0.0, 10.0, "s")] = Field(description="β")


class Imu(Part):
    """How the IMU's board sits in the base."""

    mounting_rpy_deg: Annotated[tuple[float, float, float], Several(Number(-360.0, 360.0, "°"), 3, 3)] = Field(
        description="roll, pitch, yaw from the board's frame to base_link"
    )
