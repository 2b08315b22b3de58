"""What a description says of what moves a body of finite elements: cables and chambers, and what drives them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from soft_twin.descriptions.kinds_of_value import (
    NAME,
    NAMED,
    Interval,
    Number,
    Several,
    Sign,
    Whole,
    YesNo,
    in_limits,
    mistake,
)
from soft_twin.descriptions.part import Part
from soft_twin.descriptions.valve_devices import LONGEST_BRAKING, LONGEST_VENTING, VALVE_DEVICES
from soft_twin.descriptions.winches import Winches

SHORTEST = 1e-9  # [m]: a shorter piece of a cable has no direction
LEAST_PRESSURE = 100.0  # [Pa] that a chamber may have: less is one in kilopascals or bars
Place = Annotated[tuple[float, float, float], Several(Number(-10.0, 10.0, "m"), 3, 3)]


class Guide(Part):
    """What a cable outside the body runs through."""

    point: Place = Field(description="where, beside the undeformed body: of a rigid plate anywhere")
    nodes: Annotated[str, NAMED] = Field(description="surface or group that carries it, such as a plate's")


class FemCable(Part):
    """A cable, from its winch: inside the body, straight from `start` to `end` or along `points`; or outside it, from a
    fixed `start` to `end`, which the surface or group `nodes` carries, or through `guides`."""

    name: Annotated[str, NAME] = Field(description="of its own")
    start: Place | None = Field(default=None, description="where it leaves its winch, in the undeformed body")
    end: Place | None = Field(default=None, description="where it is fixed to the body, or to what `nodes` carry")
    points: tuple[Place, ...] = Field(default=(), max_length=200, description="two or more that it runs through")
    guides: tuple[Guide, ...] = Field(default=(), max_length=50, description="that it runs through; fixed to the last")
    nodes: Annotated[str | None, NAMED] = Field(
        default=None, description="of a cable outside the body: what it pulls on"
    )
    cap: Annotated[bool, YesNo()] = Field(
        default=False,
        description="ends at a stiff cap across the body, where hexahedra end; in tetrahedra at a point all the same",
    )
    tension: Annotated[tuple[float, float], Interval(Number(0.0, 1e4, "N"))] = Field(description="limits, 0 or more")
    displacement: Annotated[tuple[float, float], Interval(Number(-20.0, 20.0, "m"))] = Field(
        description="limits, > 0: pulled in; contains 0"
    )
    stiffness: Annotated[float, Number(1.0, 1e9, "N/m")] = Field(description="axial, between winch and anchor")
    pretension: Annotated[float, Number(0.0, 1e4, "N")] = Field(
        default=0.0, description="that the controller keeps in it, within `tension`"
    )
    motor_id: Annotated[int | None, Whole(1, 8)] = Field(default=None, description="of the motor that pulls it")
    direction: Annotated[int, Sign()] = Field(default=1, description="−1: motor or drum turn the other way round")
    scale: Annotated[float, Number(0.5, 2.0)] = Field(default=1.0, description="measured over computed length")
    offset: Annotated[float, Number(-10.0, 10.0, "m")] = Field(
        default=0.0, description="displacement at which it is homed, within `displacement`"
    )

    @property
    def way(self) -> tuple:
        """Where it runs."""
        return self.start, self.end, self.points, self.guides, self.nodes

    @property
    def carried(self) -> tuple[Guide, ...]:
        """What of the body a cable outside it pulls at."""
        return self.guides if self.nodes is None else (Guide(point=self.end, nodes=self.nodes),)

    @model_validator(mode="after")
    def _fits_together(self) -> "FemCable":
        self._check_way()
        self._check_directions()
        if self.cap and (self.guides or self.nodes):
            raise mistake("is of cables inside the body: this one is outside", "cap")
        check_cable(self)
        in_limits(self.offset, *self.displacement, "offset")
        return self

    def _check_way(self) -> None:
        ways = {
            "start and end": self.start is not None and self.end is not None and not (self.points or self.guides),
            "points": len(self.points) > 1 and self.start is self.end is self.nodes is None and not self.guides,
            "start and guides": bool(self.guides) and self.start is not None and self.end is self.nodes is None,
        }
        if not any(ways.values()):
            given = [key for key in ("start", "end", "points", "nodes", "guides") if getattr(self, key)]
            raise mistake(f"expected its way as one of {'; '.join(ways)}, found {', '.join(given) or 'none'}")

    def _check_directions(self) -> None:
        for (_, before), (keys, place) in pairwise(self._places()):
            if math.dist(before, place) < SHORTEST:
                raise mistake(f"{list(place)} m is where the cable comes from: it has no direction there", *keys)

    def _places(self) -> list[tuple[tuple[str | int, ...], Sequence[float]]]:
        """Keys and places (3,) [m] that it goes along, from the base."""
        if self.points:
            return [(("points", i), each) for i, each in enumerate(self.points)]
        ends = [] if self.end is None else [(("end",), self.end)]
        guides = [(("guides", i, "point"), each.point) for i, each in enumerate(self.guides)]
        return [(("start",), self.start), *guides, *ends]


class FemWinches(Winches):
    """The winches, all alike; with `cable_diameter` and `drum_width`, cable wound onto cable counts."""

    rate: Annotated[float, Number(1e-4, 10.0, "m/s")] = Field(default=0.05, description="largest, of a displacement")
    acceleration: Annotated[float, Number(1e-3, 1e3, "m/s²")] = Field(default=4.0, description="largest")


class Chamber(Part):
    """A hollow that air is let into."""

    name: Annotated[str, NAME] = Field(description="of its own")
    surface: Annotated[str, NAMED] = Field(description="of the body around it, closed or with a clamped rim")
    pressure: Annotated[tuple[float, float], Interval(Number(-1e5, 1e7, "Pa"))] = Field(description="limits, gauge")
    volume: Annotated[tuple[float, float], Interval(Number(-1.0, 1.0, "m³"))] = Field(
        default=(-1.0, 1.0), description="limits of what is let in"
    )
    channel: Annotated[int | None, Whole(0, 63)] = Field(
        default=None,
        description="place of its valve on the device: 0…n−1 of n chambers, each once; of an OpenPneu the pair of "
        "pumps",
    )

    @model_validator(mode="after")
    def _may_rest(self) -> "Chamber":
        if not self.volume[0] <= 0.0 <= self.volume[1]:
            raise mistake(f"{self.volume} does not contain 0, the rest", "volume")
        low, high = self.pressure
        if max(-low, high) < LEAST_PRESSURE:
            raise mistake(f"{low:g}…{high:g} Pa moves no body: written in kPa, or in bar?", "pressure")
        return self


class Valves(Part):
    """The valves of all chambers, on one device; see driving.md."""

    backend: Literal["openpneu", "dac_board", "modbus", "modbus_vacuum"] = Field(description="kind of device")
    rate: Annotated[float, Number(1.0, 1e8, "Pa/s")] = Field(default=200e3, description="highest, of a pressure")
    vent_rate: Annotated[float, Number(1.0, 1e8, "Pa/s")] = Field(default=50e3, description="of venting")
    vented: Annotated[float, Number(-1e5, 1e6, "Pa")] = Field(default=0.0, description="of a relaxed chamber, gauge")
    acceleration: Annotated[float, Number(1.0, 1e10, "Pa/s²")] = Field(
        default=4e6, description="highest change of these rates"
    )

    def check_chambers(self, chambers: Sequence[Chamber]) -> None:
        """Raise a mistake where a relaxed chamber would be beyond its limits, the device has no such pressures or
        places, or rates leave chambers too slow."""
        device = VALVE_DEVICES[self.backend]
        if len(chambers) > device.most:
            raise mistake(f"{len(chambers)} chambers are more than {self.backend} has, {device.most}", "chambers")
        limits = [chamber.pressure for chamber in chambers]
        for i, (low, high) in enumerate(limits):
            if not low <= self.vented <= high:
                words = f"{low:g}…{high:g} Pa leaves out what a relaxed chamber has, valves.vented, {self.vented:g} Pa"
                raise mistake(words, "chambers", i, "pressure")
            if low < device.lowest or high > device.highest:
                words = (
                    f"{low:g}…{high:g} Pa is not within what valves of kind {self.backend} have, "
                    f"{device.lowest:g}…{device.highest:g} Pa"
                )
                raise mistake(words, "chambers", i, "pressure")
        self._check_rates(max(max(high - self.vented, self.vented - low) for low, high in limits))
        given = sorted(chamber.channel for chamber in chambers if chamber.channel is not None)
        if len(given) == len(chambers) and given != list(range(len(given))):
            raise mistake(f"channels {given} are not 0…{len(given) - 1}, one for each chamber", "chambers")

    def _check_rates(self, farthest: float) -> None:
        """Raise a mistake where a chamber is not vented from its `farthest` limit [Pa], or brought to a standstill, in
        a sane time."""
        if farthest > self.vent_rate * LONGEST_VENTING:
            words = f"{self.vent_rate:g} Pa/s takes {farthest / self.vent_rate:.0f} s from the farthest limit"
            raise mistake(f"{words}: expected at least {farthest / LONGEST_VENTING:g} Pa/s", "valves", "vent_rate")
        fastest = max(self.rate, self.vent_rate)
        if fastest > self.acceleration * LONGEST_BRAKING:
            words = (
                f"{self.acceleration:g} Pa/s² takes {fastest / self.acceleration:.2g} s to stop from {fastest:g} Pa/s"
            )
            least = f"expected at least {fastest / LONGEST_BRAKING:g} Pa/s²"
            raise mistake(f"{words}: {least}", "valves", "acceleration")


def check_cable(cable: Part) -> None:
    """Raise a mistake where what a cable must keep to leaves out its rest, or its pretension."""
    if not cable.displacement[0] <= 0.0 <= cable.displacement[1]:
        raise mistake(f"{cable.displacement} does not contain 0, the rest", "displacement")
    low, high = cable.tension
    if not low <= cable.pretension <= high:
        raise mistake(f"a pretension of {cable.pretension:g} N is outside tension, {low:g}…{high:g} N", "pretension")


def refuse_twice(values: Sequence[Any], words: str, *at: str | int) -> None:
    """Raise a mistake where a value that is not None is there twice."""
    twice = next((value for value in values if value is not None and list(values).count(value) > 1), None)
    if twice is not None:
        raise mistake(f"two {words} {twice!r}", *at)
