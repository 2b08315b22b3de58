"""What a description says of the winches that pull its cables, and what contradicts their motors."""

import math
from typing import Annotated

from pydantic import Field, model_validator

from soft_twin.descriptions.drives import WinchDescription
from soft_twin.descriptions.kinds_of_value import Number, Sign, in_limits, mistake
from soft_twin.descriptions.m2006 import FASTEST_ROTOR, torque_constant
from soft_twin.descriptions.part import Part


class Winches(Part):
    """The winches, all alike; with `cable_diameter` and `drum_width`, cable wound onto cable counts."""

    radius: Annotated[float, Number(1e-4, 0.1, "m")] = Field(description="of the drum")
    gear_ratio: Annotated[float, Number(1.0, 1000.0)] = Field(description="turns of the rotor for one of the drum")
    direction: Annotated[int, Sign()] = Field(description="sign of the rotor's turning that winds in")
    current_limit: Annotated[float, Number(0.0, 10.0, "A")] = Field(description="of each motor")
    cable_diameter: Annotated[float | None, Number(1e-5, 0.01, "m")] = Field(default=None, description="of the cable")
    drum_width: Annotated[float | None, Number(1e-5, 0.1, "m")] = Field(
        default=None, description="at least `cable_diameter`"
    )

    @property
    def growth(self) -> float:
        """Of a drum's radius, from the cable's diameter t and the drum's width w: t² / (2 π w) [m/rad]."""
        if self.cable_diameter is None or self.drum_width is None:
            return 0.0
        return self.cable_diameter**2 / (2.0 * math.pi * self.drum_width)

    @property
    def drum(self) -> WinchDescription:
        """As drivers take it."""
        return WinchDescription(self.radius, self.gear_ratio, self.direction, self.current_limit, self.growth)

    @model_validator(mode="after")
    def _has_both_or_none(self) -> "Winches":
        if (self.cable_diameter is None) != (self.drum_width is None):
            raise mistake("'cable_diameter' and 'drum_width' are both needed, or none")
        if self.drum_width is not None:
            in_limits(self.drum_width, self.cable_diameter, 0.1, "drum_width")
        return self

    def check_pull(self, tension: float, of: str) -> None:
        """Raise a mistake where a motor cannot pull with so much [N], which the limit `of` allows."""
        pull = self.current_limit * torque_constant(self.gear_ratio) / self.radius
        if pull < tension:
            raise mistake(
                f"{self.current_limit:g} A pulls with {pull:.2g} N at most, less than {of} allows, {tension:g} N",
                "winches",
                "current_limit",
            )

    def check_rate(self, rate: float, *at: str | int) -> None:
        """Raise a mistake, at the keys `at`, where a motor cannot turn as fast as a rate [m/s] asks for."""
        speed = rate * self.gear_ratio / (2.0 * math.pi * self.radius) * 60.0
        if speed > FASTEST_ROTOR:
            raise mistake(
                f"{rate:g} m/s needs {speed:.0f} turns/min of the rotor, of which it has "
                f"{FASTEST_ROTOR:g}: lower it, or winches.gear_ratio",
                *at,
            )
