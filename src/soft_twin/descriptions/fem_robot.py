"""What a description of any body of finite elements has: mesh, materials, what holds and moves it, named frames."""

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from soft_twin.descriptions.cable_tube import LAW, MOST_CELLS, Damping, Material
from soft_twin.descriptions.kinds_of_value import MESH_FILE, NAME, Interval, Number, Several, Text, Whole, mistake
from soft_twin.descriptions.part import Part

PLACE = Several(Number(-10.0, 10.0, "m"), 3, 3)
CELL = Several(Whole(0, 500), 3, 3)
NAMED = Text(r"[A-Za-z][A-Za-z0-9_ -]{0,62}", "the name of a surface, group or volume of the mesh")

Place = Annotated[tuple[float, float, float], PLACE]


class Hollow(Part):
    """A box of cells that is left out."""

    first: Annotated[tuple[int, int, int], CELL] = Field(description="cell of one corner, counted from 0")
    last: Annotated[tuple[int, int, int], CELL] = Field(description="cell of the opposite corner, in it")

    @model_validator(mode="after")
    def _has_cells(self) -> "Hollow":
        if any(high < low for low, high in zip(self.first, self.last, strict=True)):
            raise mistake(f"ends at cell {self.last} before it begins at {self.first}", "last")
        return self


class Voxels(Part):
    """A block of equal cells with hollows: the middle of its lowest face is the origin.

    Its surfaces are "base" and "tip" (lowest and highest z), "outside", and "chamber 1", … (closed hollows, the largest
    first).
    """

    cells: Annotated[tuple[int, int, int], Several(Whole(1, 500), 3, 3)] = Field(description="along x, y and z")
    size: Annotated[tuple[float, float, float], Several(Number(1e-4, 10.0, "m"), 3, 3)] = Field(
        description="of the whole block along x, y and z"
    )
    element: Annotated[str, LAW] = Field(description="element, see meshes.md, such as `hex20r`")
    hollows: tuple[Hollow, ...] = Field(default=(), max_length=100, description="boxes of cells that are left out")

    @model_validator(mode="after")
    def _fits_together(self) -> "Voxels":
        if math.prod(self.cells) > MOST_CELLS:
            raise mistake(f"{math.prod(self.cells)} cells are more than {MOST_CELLS}", "cells")
        for i, hollow in enumerate(self.hollows):
            if any(last >= count for last, count in zip(hollow.last, self.cells, strict=True)):
                raise mistake(f"{hollow.last} is no cell of a block of {self.cells}", "hollows", i, "last")
        return self


class MeshSource(Part):
    """Where the mesh comes from: one of `file` and `voxels`."""

    file: Annotated[str | None, MESH_FILE] = Field(default=None, description="file beside this description")
    size: Annotated[tuple[float, float, float] | None, PLACE] = Field(
        default=None, description="with `file`: how large its body is along x, y and z, so that units are checked"
    )
    voxels: Voxels | None = Field(default=None, description="a block of cells")

    @model_validator(mode="after")
    def _is_one(self) -> "MeshSource":
        if (self.file is None) == (self.voxels is None):
            raise mistake("expected one of 'file' and 'voxels'")
        if (self.file is None) != (self.size is None):
            raise mistake("'size' belongs to 'file': how large the body is, in metres")
        return self


class VolumeMaterial(Material):
    """What a volume of the body is made of."""

    volume: Annotated[str | None, NAMED] = Field(default=None, description="name of the volume; without: all of it")


class Plate(Part):
    """Nodes that move as one rigid plate."""

    name: Annotated[str, NAME] = Field(description="of its own")
    nodes: Annotated[str, NAMED] = Field(description="surface or group of them")
    mass: Annotated[float, Number(0.0, 1e3, "kg")] = Field(default=0.0, description="hung on it")


class FemBody(Part):
    """The body."""

    mesh: MeshSource
    materials: tuple[VolumeMaterial, ...] = Field(min_length=1, max_length=50, description="of its volumes")
    damping: Damping
    clamped: Annotated[str, NAMED] = Field(description="surface or group that does not move")
    plates: tuple[Plate, ...] = Field(default=(), max_length=50, description="rigid plates")


class FemCable(Part):
    """A straight cable from `start` to `end`, inside the body; or outside it, to the surface or group `nodes`, which
    carries its end."""

    name: Annotated[str, NAME] = Field(description="of its own")
    start: Place = Field(description="where it leaves its winch, in the undeformed body")
    end: Place = Field(description="where it is fixed to the body")
    nodes: Annotated[str | None, NAMED] = Field(
        default=None, description="of a cable outside the body: what it pulls on"
    )
    tension: Annotated[tuple[float, float], Interval(Number(0.0, 1e4, "N"))] = Field(description="limits, 0 or more")
    displacement: Annotated[tuple[float, float], Interval(Number(-20.0, 20.0, "m"))] = Field(
        description="limits, > 0: pulled in; contains 0"
    )
    stiffness: Annotated[float, Number(1.0, 1e9, "N/m")] = Field(description="axial, between winch and anchor")

    @model_validator(mode="after")
    def _may_rest(self) -> "FemCable":
        if not self.displacement[0] <= 0.0 <= self.displacement[1]:
            raise mistake(f"{self.displacement} does not contain 0, the rest", "displacement")
        return self


class Chamber(Part):
    """A hollow that air is let into."""

    name: Annotated[str, NAME] = Field(description="of its own")
    surface: Annotated[str, NAMED] = Field(description="of the body around it, closed or with a clamped rim")
    pressure: Annotated[tuple[float, float], Interval(Number(-1e5, 1e7, "Pa"))] = Field(description="limits, gauge")
    volume: Annotated[tuple[float, float], Interval(Number(-1.0, 1.0, "m³"))] = Field(
        default=(-1.0, 1.0), description="limits of what is let in"
    )


class NodesOf(Part):
    """A place that can be aimed at and observed: the mean of some nodes, and the rotation that fits them best."""

    nodes: Annotated[str, NAMED] = Field(description="surface or group of them")


class FrameTarget(Part):
    """Where the frame `tip` should be when nobody says anything else."""

    tip: Place = Field(description="x, y, z in base_link")


class FemRobot(Part):
    """A body of finite elements that cables, chambers or both move."""

    name: Annotated[str, NAME] = Field(description="the robot's, also the namespace of its ROS nodes")
    kind: Literal["fem"] = Field(description="of robot")
    body: FemBody
    cables: tuple[FemCable, ...] = Field(default=(), max_length=50, description="what pulls")
    chambers: tuple[Chamber, ...] = Field(default=(), max_length=50, description="what pushes")
    frames: dict[Annotated[str, NAME], NodesOf] = Field(max_length=100, description="by name; one is `tip`")
    target: FrameTarget

    @model_validator(mode="after")
    def _fits_together(self) -> "FemRobot":
        if "tip" not in self.frames:
            raise mistake("one of the frames has to be 'tip', the one that `target` speaks of", "frames")
        names = [each.name for each in (*self.cables, *self.chambers)]
        if not names:
            raise mistake("nothing moves this robot: it has neither cables nor chambers")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise mistake(f"two actuators share the name '{twice}'")
        source = self.body.mesh
        reach = 2.0 * math.hypot(*(source.size if source.voxels is None else source.voxels.size))
        if math.hypot(*self.target.tip) > reach:
            raise mistake(
                f"{self.target.tip} m is farther away than twice the body's size, {reach:g} m", "target", "tip"
            )
        return self
