"""What a description of any body of finite elements has: mesh, materials, what holds and moves it, named frames."""

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from soft_twin.descriptions.cable_tube import LAW, MOST_CELLS, Damping, Imu, Material
from soft_twin.descriptions.emulated import FemEmulated
from soft_twin.descriptions.fem_actuators import Chamber, FemCable, FemWinches, Place, Valves, refuse_twice
from soft_twin.descriptions.kinds_of_value import MESH_FILE, NAME, NAMED, Number, Several, Whole, mistake
from soft_twin.descriptions.obstacles import AnyObstacle
from soft_twin.descriptions.part import Part

PLACE = Several(Number(-10.0, 10.0, "m"), 3, 3)
CELL = Several(Whole(0, 500), 3, 3)


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


class NodesOf(Part):
    """A place that can be aimed at and observed: the mean of some nodes, and the rotation that fits them best."""

    nodes: Annotated[str, NAMED] = Field(description="surface or group of them")


class FrameTarget(Part):
    """Where the frame `tip` should be when nobody says anything else."""

    tip: Place = Field(description="x, y, z in base_link")


class FemImu(Imu):
    """An IMU, in the base or on a plate."""

    name: Annotated[str, NAME] = Field(description="of its own")
    plate: Annotated[str | None, NAME] = Field(default=None, description="that carries it; without: the base")
    mounting_rpy_deg: Annotated[tuple[float, float, float], Several(Number(-360.0, 360.0, "°"), 3, 3)] = Field(
        default=(0.0, 0.0, 0.0),
        description="roll, pitch, yaw from the board's frame to base_link, of one on a plate as the undeformed body is",
    )


class FemRobot(Part):
    """A body of finite elements that cables, chambers or both move."""

    name: Annotated[str, NAME] = Field(description="the robot's, also the namespace of its ROS nodes")
    kind: Literal["fem"] = Field(description="of robot")
    body: FemBody
    cables: tuple[FemCable, ...] = Field(default=(), max_length=50, description="what pulls")
    chambers: tuple[Chamber, ...] = Field(default=(), max_length=50, description="what pushes")
    winches: FemWinches | None = Field(default=None, description="that pull the cables; without: a twin alone")
    valves: Valves | None = Field(default=None, description="that fill the chambers; without: a twin alone")
    imus: tuple[FemImu, ...] = Field(default=(), max_length=20, description="that measure gravity")
    obstacles: tuple[AnyObstacle, ...] = Field(default=(), max_length=20, description="what the body may press on")
    frames: dict[Annotated[str, NAME], NodesOf] = Field(max_length=100, description="by name; one is `tip`")
    target: FrameTarget
    emulated: FemEmulated = Field(default_factory=FemEmulated, description="robot, how it differs from the twin")

    @model_validator(mode="after")
    def _fits_together(self) -> "FemRobot":
        if "tip" not in self.frames:
            raise mistake("one of the frames has to be 'tip', the one that `target` speaks of", "frames")
        if not (self.cables or self.chambers):
            raise mistake("nothing moves this robot: it has neither cables nor chambers")
        self._check_names()
        self._check_drives()
        for i, imu in enumerate(self.imus):
            plates = [plate.name for plate in self.body.plates]
            if imu.plate is not None and imu.plate not in plates:
                raise mistake(f"'{imu.plate}' is no plate: there are {', '.join(plates) or 'none'}", "imus", i, "plate")
        source = self.body.mesh
        reach = 2.0 * math.hypot(*(source.size if source.voxels is None else source.voxels.size))
        if math.hypot(*self.target.tip) > reach:
            raise mistake(
                f"{self.target.tip} m is farther away than twice the body's size, {reach:g} m: it is the tip's place "
                "in metres, in base_link",
                "target",
                "tip",
            )
        return self

    def _check_names(self) -> None:
        """No two of a kind share a name, a motor or a channel."""
        actuators = [each.name for each in (*self.cables, *self.chambers)]
        refuse_twice(actuators, "actuators share the name")
        refuse_twice([each.name for each in self.body.plates], "plates share the name", "body", "plates")
        refuse_twice([each.name for each in self.imus], "IMUs share the name", "imus")
        refuse_twice([each.name for each in self.obstacles], "obstacles share the name", "obstacles")
        refuse_twice([each.motor_id for each in self.cables], "cables share the motor_id", "cables")
        refuse_twice([each.channel for each in self.chambers], "chambers share the channel", "chambers")

    def _check_drives(self) -> None:
        """What drives nothing, or cannot drive what there is, contradicts the description."""
        if self.winches is not None:
            if not self.cables:
                raise mistake("there are winches but no cables", "winches")
            strongest = max(self.cables, key=lambda cable: cable.tension[1])
            self.winches.check_pull(strongest.tension[1], f"cables: {strongest.name}: tension")
            self.winches.check_rate(self.winches.rate, "winches", "rate")
        if self.valves is not None:
            if not self.chambers:
                raise mistake("there are valves but no chambers", "valves")
            self.valves.check_chambers(self.chambers)
