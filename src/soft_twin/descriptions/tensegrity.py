"""What a description of a tensegrity arm has: struts in a net of cords and pneumatic cylinders."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from soft_twin.descriptions.kinds_of_value import NAME, Interval, Number, Several, Text, Whole, in_limits, mistake
from soft_twin.descriptions.part import Part

MOST_STRUTS = 400
PLACE = Several(Number(-10.0, 10.0, "m"), 3, 3)
END = Text(r"[bt][0-9]{1,4}", "the name of a strut's end, such as b0 (bottom of the first) or t0 (its top)")

Mass = Annotated[float, Number(0.0, 100.0, "kg")]


class StackedPrisms(Part):
    """A tower of modules of struts, generated."""

    generator: Literal["stacked_prisms"] = Field(description="how struts and members are made")
    sides: Annotated[int, Whole(3, 24)] = Field(description="struts of each module")
    strut_lengths: Annotated[tuple[float, ...], Several(Number(1e-3, 10.0, "m"), 1, 100)] = Field(
        description="of each module's struts, from the base; at least 2 modules"
    )
    base_radius: Annotated[float, Number(1e-3, 10.0, "m")] = Field(description="where the first bottoms are held")
    inclination_deg: Annotated[float, Number(5.0, 85.0, "°")] = Field(
        description="of all struts, where the search for the straight arm begins"
    )
    node_mass: Mass = Field(description="half a strut and the ends of its members")

    @model_validator(mode="after")
    def _is_a_tower(self) -> "StackedPrisms":
        count = len(self.strut_lengths)
        if count < 2:
            raise mistake(f"a tower needs at least 2 modules, found {count}", "strut_lengths")
        if count * self.sides > MOST_STRUTS:
            raise mistake(f"{count * self.sides} struts are more than {MOST_STRUTS}", "strut_lengths")
        return self


class Strut(Part):
    """A strut by the places of its ends."""

    bottom: Annotated[tuple[float, float, float], PLACE] = Field(description="x, y, z in base_link")
    top: Annotated[tuple[float, float, float], PLACE] = Field(description="x, y, z in base_link")


class Member(Part):
    """A cord or cylinder between two struts' ends."""

    start: Annotated[str, END] = Field(alias="from", description="an end")
    end: Annotated[str, END] = Field(alias="to", description="another strut's end")
    group: Annotated[str, NAME] = Field(description="that its law comes from")


class Listed(Part):
    """Struts and members one by one."""

    struts: tuple[Strut, ...] = Field(min_length=3, max_length=MOST_STRUTS, description="from the base")
    members: tuple[Member, ...] = Field(min_length=1, max_length=10 * MOST_STRUTS, description="cords and cylinders")
    anchors: Annotated[tuple[int, ...], Several(Whole(0, MOST_STRUTS - 1), 1, MOST_STRUTS)] = Field(
        description="numbers of the struts whose bottoms are held, from 0; at least 3"
    )
    tip: Annotated[tuple[int, ...], Several(Whole(0, MOST_STRUTS - 1), 3, MOST_STRUTS)] | None = Field(
        None, description="numbers of the struts whose tops are the tip; as many of the last as are held if not given"
    )
    node_mass: Mass = Field(description="half a strut and the ends of its members")

    @model_validator(mode="after")
    def _names_only_what_there_is(self) -> "Listed":
        for what, numbers in (("anchors", self.anchors), ("tip", self.tip or ())):
            for i in numbers:
                in_limits(i, 0, len(self.struts) - 1, what)
            if len(set(numbers)) < len(numbers):
                raise mistake("a strut is there twice", what)
        for i, strut in enumerate(self.struts):
            if max(abs(a - b) for a, b in zip(strut.bottom, strut.top, strict=True)) < 1e-6:
                raise mistake("both ends are at one place: expected a strut with a length", "struts", i)
        return self


class Cord(Part):
    """T = stiffness (m − length), never below 0; m is the member's length."""

    law: Literal["cord"] = Field(description="of tension")
    stiffness: Annotated[float, Number(1e-3, 1e9, "N/m")] = Field(description="see above")
    length: Annotated[float, Number(0.0, 100.0, "m")] = Field(description="natural length")


class Cylinder(Part):
    """T = area p + stiffness (m − length), never below 0; m is the member's length, p the pressure."""

    law: Literal["cylinder"] = Field(description="of tension")
    stiffness: Annotated[float, Number(1e-3, 1e9, "N/m")] = Field(description="see above")
    length: Annotated[float, Number(0.0, 100.0, "m")] = Field(description="see above")
    area: Annotated[float, Number(1e-7, 1.0, "m²")] = Field(description="of the piston")
    stroke: Annotated[tuple[float, float] | None, Interval(Number(0.0, 100.0, "m"))] = Field(
        default=None, description="shortest and longest, where it stops"
    )


class ZeroLength(Part):
    """The paper's estimator."""

    passive: Annotated[float, Number(0.0, 1e9, "N/m")] = Field(description="stiffness of cords of no natural length")
    active: Annotated[float, Number(0.0, 1e9, "N/m")] = Field(description="and of cylinders")
    position_rate: Annotated[float, Number(0.0, 1e3)] = Field(description="learning rate of places")
    yaw_rate: Annotated[float, Number(0.0, 1e3)] = Field(description="learning rate of yaws")
    steps_per_update: Annotated[int, Whole(1, 100_000)] = Field(description="gradient steps")


class EmulatedArm(Part):
    """How the emulated arm differs from the twin."""

    cord_length: Annotated[float, Number(0.0, 0.01, "m")] = Field(description="cords' lengths ±")
    cylinder_stiffness_scale: Annotated[float, Number(0.1, 10.0)] = Field(description="of the cylinders' stiffness")
    force: Annotated[float, Number(0.0, 0.5)] = Field(description="cylinders' forces ±, as a share")
    inclination_deg: Annotated[float, Number(0.0, 10.0, "°")] = Field(description="noise of an inclination")


def _structure_kind(value: Any) -> str:
    return "listed" if isinstance(value, dict) and ("struts" in value or "members" in value) else "generated"


Structure = Annotated[
    Annotated[StackedPrisms, Tag("generated")] | Annotated[Listed, Tag("listed")], Discriminator(_structure_kind)
]
Law = Annotated[Cord | Cylinder, Field(discriminator="law")]


class Tensegrity(Part):
    """An arm of struts that float in a net of cords and pneumatic cylinders."""

    name: Annotated[str, NAME] = Field(description="the robot's, also the namespace of its ROS nodes")
    kind: Literal["tensegrity"] = Field(description="of robot")
    mounting_rpy_deg: Annotated[tuple[float, float, float], Several(Number(-360.0, 360.0, "°"), 3, 3)] = Field(
        description="roll, pitch, yaw of base_link in the world"
    )
    structure: Structure = Field(description="struts and members")
    members: dict[Annotated[str, NAME], Law] = Field(
        min_length=1, max_length=100, description="laws by group; a group's name begins with one of these keys"
    )
    pressure: Annotated[tuple[float, float], Interval(Number(0.0, 1e7, "Pa"))] = Field(description="gauge")
    zero_length: ZeroLength
    emulated: EmulatedArm

    @model_validator(mode="before")
    @classmethod
    def _never_sucks(cls, content: Any) -> Any:
        """Said in its own words, which help more than a range."""
        pressure = content.get("pressure") if isinstance(content, dict) else None
        low = pressure[0] if isinstance(pressure, list) and pressure else None
        if isinstance(low, (int, float)) and low < 0:
            raise mistake(f"{low:g} Pa is below the ambient pressure", "pressure")
        return content
