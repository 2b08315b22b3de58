"""A soft tube with cables in its wall, the slender robot's kind: the short form of a body of finite elements."""

import math
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from soft_twin.descriptions.body import Damping, Imu, TubeMaterial
from soft_twin.descriptions.emulated import Emulated
from soft_twin.descriptions.fem_actuators import check_cable
from soft_twin.descriptions.fem_mesh import MOST_CELLS, TETRAHEDRA_IN_CUBE, check_cells
from soft_twin.descriptions.fem_robot import FemRobot
from soft_twin.descriptions.kinds_of_value import (
    LAW,
    MESH_FILE,
    NAME,
    Interval,
    Number,
    Several,
    Sign,
    Whole,
    YesNo,
    in_limits,
    mistake,
)
from soft_twin.descriptions.long_form import long_form
from soft_twin.descriptions.mistakes import first_mistake, place_of_first
from soft_twin.descriptions.obstacles import AnyObstacle, check_passage
from soft_twin.descriptions.part import Part
from soft_twin.descriptions.winches import Winches

LONGEST_PULL = 2.0  # [lengths of the body] that a cable may be pulled in or let out
SAME_PLACE = 1e-3  # [diameters of the body] cables nearer to each other than this run through one hole

Angle = Annotated[float, Number(-360.0, 360.0, "°")]


class MeshChoice(Part):
    """A mesh of the body: a file, or made, swept in `divisions` or by Gmsh in cells of `size`, which is also how
    `soft-twin mesh` makes the file."""

    file: Annotated[str | None, MESH_FILE] = Field(default=None, description="file in the folder meshes/")
    element: Annotated[str, LAW] = Field(description="element, see meshes.md, such as `hex20r`")
    divisions: Annotated[tuple[int, int, int] | None, Several(Whole(1, 1000), 3, 3)] = Field(
        default=None, description="cells radial, around, along"
    )
    grading: Annotated[float, Number(0.2, 5.0)] = Field(
        default=1.0, description="above 1: the first segment's cells get shorter towards the clamp"
    )
    turn_deg: Angle = Field(default=0.0, description="where cells around begin, from +x: best with edges along cables")
    size: Annotated[float | None, Number(1e-5, 1.0, "m")] = Field(default=None, description="edge length of cells")

    @model_validator(mode="after")
    def _comes_from_somewhere(self) -> "MeshChoice":
        if self.file is None and self.divisions is None and self.size is None:
            raise mistake("expected one of file, divisions and size, found none")
        if self.divisions is not None:
            check_cells(self.divisions, "divisions")
        elif self.turn_deg:
            raise mistake("turns cells that are swept: give `divisions`", "turn_deg")
        return self


class Tube(Part):
    """The tube."""

    segment_lengths: Annotated[tuple[float, ...], Several(Number(1e-3, 10.0, "m"), 1, 20)] = Field(
        description="of each segment, from the base"
    )
    outer_diameter: Annotated[float, Number(1e-4, 1.0, "m")] = Field(description="outside")
    lumen_diameter: Annotated[float, Number(0.0, 0.95, "m")] = Field(description="at most 0.95 of the outer; 0: none")
    material: TubeMaterial
    damping: Damping
    mesh: Annotated[str, NAME] = Field(description="the default among `meshes`")
    meshes: dict[Annotated[str, NAME], MeshChoice] = Field(description="by name")

    @property
    def length(self) -> float:
        """[m]"""
        return sum(self.segment_lengths)

    @model_validator(mode="after")
    def _fits_together(self) -> "Tube":
        in_limits(self.lumen_diameter, 0.0, 0.95 * self.outer_diameter, "lumen_diameter")
        if self.mesh not in self.meshes:
            raise mistake(f"'{self.mesh}' is none of {', '.join(self.meshes) or 'nothing'}", "mesh")
        volume = 0.25 * math.pi * (self.outer_diameter**2 - self.lumen_diameter**2) * self.length
        for name, choice in self.meshes.items():
            count = TETRAHEDRA_IN_CUBE * volume / choice.size**3 if choice.size else 0.0
            if count > MOST_CELLS:
                raise mistake(f"makes about {count:.2g} cells, more than {MOST_CELLS}", "meshes", name, "size")
        return self


class Cable(Part):
    """A cable from the base to the end of a segment, parallel to the axis."""

    name: Annotated[str, NAME] = Field(description="of its own")
    segment: Annotated[int, Whole(1, 20)] = Field(description="at whose end it is anchored; the first is 1")
    angle_deg: Angle = Field(description="from +x around +z")
    motor_id: Annotated[int, Whole(1, 8)] = Field(description="of the motor that pulls it")
    direction: Annotated[int, Sign()] = Field(default=1, description="−1: motor or drum turn the other way round")
    scale: Annotated[float, Number(0.5, 2.0)] = Field(default=1.0, description="measured over computed length")
    offset: Annotated[float, Number(-10.0, 10.0, "m")] = Field(
        default=0.0, description="displacement at which it is homed, within `displacement`"
    )


class Cables(Part):
    """All cables, and what each must keep to."""

    radius: Annotated[float, Number(0.0, 0.5, "m")] = Field(description="of the circle they run on, inside the wall")
    caps: Annotated[bool, YesNo()] = Field(
        default=True, description="they end at stiff caps of their segments, not at points in the wall"
    )
    tension: Annotated[tuple[float, float], Interval(Number(0.0, 1e4, "N"))] = Field(description="0 or more")
    displacement: Annotated[tuple[float, float], Interval(Number(-20.0, 20.0, "m"))] = Field(
        description=f"> 0: pulled in; contains 0, within ±{LONGEST_PULL:g} lengths of the body"
    )
    rate: Annotated[float, Number(1e-4, 10.0, "m/s")] = Field(description="largest, of a displacement")
    acceleration: Annotated[float, Number(1e-3, 1e3, "m/s²")] = Field(default=4.0, description="largest")
    stiffness: Annotated[float, Number(1.0, 1e9, "N/m")] = Field(description="axial, between winch and anchor")
    pretension: Annotated[float, Number(0.0, 1e4, "N")] = Field(description="kept in each, within `tension`")
    list: tuple[Cable, ...] = Field(min_length=1, max_length=8, description="the cables, one motor each")

    @model_validator(mode="before")
    @classmethod
    def _never_push(cls, content: dict) -> dict:
        """Said in its own words, which help more than a range."""
        tension = content.get("tension") if isinstance(content, dict) else None
        low = tension[0] if isinstance(tension, list) and tension else None
        if isinstance(low, (int, float)) and low < 0:
            raise mistake(f"{low:g} N is negative, a cable never pushes", "tension")
        return content

    @model_validator(mode="after")
    def _fits_together(self) -> "Cables":
        check_cable(self)
        for i, cable in enumerate(self.list):
            in_limits(cable.offset, *self.displacement, "list", i, "offset")
        for what in ("name", "motor_id"):
            values = [getattr(cable, what) for cable in self.list]
            if len(set(values)) < len(values):
                raise mistake(f"two cables share one {what}: {values}", "list")
        return self

    def check_places(self, body: Tube) -> None:
        """Raise a mistake where cables run outside the body's wall, end at no segment, or share one place."""
        in_limits(self.radius, 0.5 * body.lumen_diameter, 0.5 * body.outer_diameter, "cables", "radius")
        count = len(body.segment_lengths)
        for i, cable in enumerate(self.list):
            if cable.segment > count:
                words = f"expected a whole number in 1…{count}, found {cable.segment}"
                raise mistake(words, "cables", "list", i, "segment")
            for other in self.list[:i]:
                angle = math.radians(cable.angle_deg - other.angle_deg)
                if 2.0 * self.radius * abs(math.sin(0.5 * angle)) < SAME_PLACE * body.outer_diameter:
                    words = f"'{cable.name}' and '{other.name}' run through one place"
                    raise mistake(words, "cables", "list", i, "angle_deg")


class Target(Part):
    """Where the tip should be when nobody says anything else."""

    tip: Annotated[tuple[float, float, float], Several(Number(-200.0, 200.0, "m"), 3, 3)] | None = Field(
        default=None, description="x, y, z in base_link, each within ± the body's length; without it straight ahead"
    )


class CableTube(Part):
    """A soft tube of one or more segments, bent by cables that run inside its wall: the short form of a robot of kind
    `fem`, which `soft-twin describe ROBOT --long` prints."""

    name: Annotated[str, NAME] = Field(description="the robot's, also the namespace of its ROS nodes")
    kind: Literal["cable_tube"] = Field(description="of robot")
    body: Tube
    cables: Cables
    winches: Winches
    imu: Imu
    obstacles: tuple[AnyObstacle, ...] = Field(default=(), max_length=20, description="what the body may press on")
    target: Target = Field(default=Target(), description="of the tip")
    emulated: Emulated

    @model_validator(mode="after")
    def _fits_together(self) -> "CableTube":
        self.cables.check_places(self.body)
        check_passage(self.obstacles, self.body.outer_diameter)
        longest = LONGEST_PULL * self.body.length
        for end in self.cables.displacement:
            in_limits(end, -longest, longest, "cables", "displacement")
        for coordinate in self.target.tip or ():
            in_limits(coordinate, -self.body.length, self.body.length, "target", "tip")
        self.winches.check_pull(self.cables.tension[1], "cables.tension")
        self.winches.check_rate(self.cables.rate, "cables", "rate")
        try:
            self.as_fem  # noqa: B018 - what it is made of is checked there, too
        except ValidationError as error:
            at = ("body", "material") if place_of_first(error)[:2] == ["body", "materials"] else ()
            raise mistake(f"as a body of finite elements: {first_mistake(error)}", *at) from error
        return self

    @cached_property
    def as_fem(self) -> FemRobot:
        """The same robot written out as a body of finite elements."""
        return FemRobot.model_validate(long_form(self))
