"""What a description of any body of finite elements has: mesh, materials, what holds and moves it, named frames."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from soft_twin.descriptions.body import Damping, Imu
from soft_twin.descriptions.emulated import FemEmulated
from soft_twin.descriptions.fem_actuators import Chamber, FemCable, FemWinches, Place, Valves, refuse_twice
from soft_twin.descriptions.fem_mesh import MeshSource, check_same_size
from soft_twin.descriptions.frames import NamedFrame
from soft_twin.descriptions.kinds_of_value import NAME, NAMED, Interval, Number, Several, Whole, mistake
from soft_twin.descriptions.obstacles import AnyObstacle, Direction, check_passage, directed
from soft_twin.descriptions.part import Part
from soft_twin.descriptions.volume_material import VolumeMaterial


class Axis(Part):
    """A line in the undeformed body."""

    point: Place = Field(description="of it")
    direction: Direction = Field(description="along it, of any length")

    @model_validator(mode="after")
    def _has_a_direction(self) -> "Axis":
        return directed(self, "direction")


class Fibrous(Part):
    """Where fibres are: straight along `direction`, or wound around an axis."""

    volume: Annotated[str | None, NAMED] = Field(default=None, description="name of the volume; without: all of it")
    direction: Direction | None = Field(default=None, description="of straight ones, of any length")
    around: Axis | None = Field(default=None, description="axis of wound ones")
    pitch_deg: Annotated[float, Number(0.0, 89.0, "°")] = Field(
        default=0.0, description="of wound ones, out of the plane across the axis; above 0, half each way"
    )

    @model_validator(mode="after")
    def _is_one(self) -> "Fibrous":
        if (self.direction is None) == (self.around is None):
            raise mistake("expected one of 'direction' and 'around'")
        if self.direction is not None and self.pitch_deg:
            raise mistake("is of threads wound 'around' an axis: these are straight", "pitch_deg")
        if self.direction is not None:
            directed(self, "direction")
        return self


class BodyFibres(Fibrous):
    """Threads in a volume, beside its material: straight along `direction`, or wound around an axis. They are taut at
    rest, and carry tension only if nothing else is said."""

    modulus: Annotated[float, Number(1.0, 1e12, "Pa")] = Field(description="of the threads, times their share of space")
    carry: Literal["tension", "both"] = Field(
        default="tension", description="what they do; both: they are rods, which carry compression, too"
    )


class Muscle(Fibrous):
    """A volume whose fibres pull with an active stress, beside its material."""

    name: Annotated[str, NAME] = Field(description="of its own")
    stress: Annotated[tuple[float, float], Interval(Number(0.0, 1e9, "Pa"))] = Field(description="limits, 0 or more")


class Plate(Part):
    """Nodes that move as one rigid plate."""

    name: Annotated[str, NAME] = Field(description="of its own")
    nodes: Annotated[str, NAMED] = Field(description="surface or group of them")
    mass: Annotated[float, Number(0.0, 1e3, "kg")] = Field(
        default=0.0, description="hung on it: spread evenly over a surface, in equal parts on the nodes of a group"
    )


class FemBody(Part):
    """The body."""

    mesh: MeshSource
    materials: tuple[VolumeMaterial, ...] = Field(min_length=1, max_length=50, description="of its volumes")
    fibres: tuple[BodyFibres, ...] = Field(default=(), max_length=50, description="threads beside the materials")
    damping: Damping
    clamped: Annotated[str, NAMED] = Field(description="surface or group that does not move")
    plates: tuple[Plate, ...] = Field(default=(), max_length=50, description="rigid plates")


class FrameTarget(Part):
    """Where the frame `tip` should be when nobody says anything else."""

    tip: Annotated[tuple[float, float, float], Several(Number(-1e5, 1e5, "m"), 3, 3)] = Field(
        description="x, y, z in base_link, within twice the body's size of its base"
    )


class FemImu(Imu):
    """An IMU, in the base or on a plate."""

    name: Annotated[str, NAME] = Field(description="of its own")
    plate: Annotated[str | None, NAME] = Field(default=None, description="that carries it; without: the base")
    mounting_rpy_deg: Annotated[tuple[float, float, float], Several(Number(-360.0, 360.0, "°"), 3, 3)] = Field(
        default=(0.0, 0.0, 0.0),
        description="roll, pitch, yaw from the board's frame to base_link, of one on a plate as the undeformed body is",
    )


class FemSelfContact(Part):
    """Where the body may touch itself, without friction: stops between its links, or anywhere."""

    nodes: Annotated[str | None, NAMED] = Field(
        default=None, description="surface, group or volume of it that may; without: all of its surface"
    )
    margin: Annotated[float | None, Number(1e-6, 1.0, "m")] = Field(
        default=None, description="from which its faces feel each other; without: 0.005 of its size"
    )


class FemSofa(Part):
    """How the body is cut into linear tetrahedra, which SOFA's twin is of."""

    mesh: MeshSource | None = Field(default=None, description="a mesh of its own; without: the body's")
    pieces: Annotated[int, Whole(1, 8)] = Field(default=2, description="into which a hexahedron's edges are cut")


class FemRobot(Part):
    """A body of finite elements that cables, chambers or muscles move, or several of them."""

    name: Annotated[str, NAME] = Field(description="the robot's, also the namespace of its ROS nodes")
    kind: Literal["fem"] = Field(description="of robot")
    body: FemBody
    cables: tuple[FemCable, ...] = Field(default=(), max_length=50, description="what pulls")
    chambers: tuple[Chamber, ...] = Field(default=(), max_length=50, description="what pushes")
    muscles: tuple[Muscle, ...] = Field(
        default=(), max_length=50, description="what contracts; there is no driver of it"
    )
    winches: FemWinches | None = Field(default=None, description="that pull the cables; without: a twin alone")
    valves: Valves | None = Field(default=None, description="that fill the chambers; without: a twin alone")
    imus: tuple[FemImu, ...] = Field(default=(), max_length=20, description="that measure gravity")
    obstacles: tuple[AnyObstacle, ...] = Field(default=(), max_length=20, description="what the body may press on")
    self_contact: FemSelfContact | None = Field(
        default=None, description="of the body; without: it passes through itself"
    )
    frames: dict[Annotated[str, NAME], NamedFrame] = Field(max_length=100, description="by name; one is `tip`")
    target: FrameTarget
    posture: Literal["free", "arc"] = Field(
        default="free",
        description="of a slender body: arc keeps its middle on the arc to the target, if the tip allows",
    )
    emulated: FemEmulated = Field(default_factory=FemEmulated, description="robot, how it differs from the twin")
    sofa: FemSofa = Field(default_factory=FemSofa, description="twin, how its mesh is made")

    @model_validator(mode="after")
    def _fits_together(self) -> "FemRobot":
        if "tip" not in self.frames:
            raise mistake("one of the frames has to be 'tip', the one that `target` speaks of", "frames")
        if not (self.cables or self.chambers or self.muscles):
            raise mistake("nothing moves this robot: it has no cables, no chambers and no muscles")
        self._check_names()
        self._check_ways()
        self._check_drives()
        self._check_plates()
        self._check_other_meshes()
        check_passage(self.obstacles, min(self.body.mesh.extent))
        if self.body.mesh.is_at_origin and (words := self.out_of_reach((0.0, 0.0, 0.0))):
            raise mistake(words, "target", "tip")
        return self

    def out_of_reach(self, base: Sequence[float]) -> str:
        """What is wrong with its target where its base is at (3,) [m]; "" where nothing is."""
        reach = 2.0 * math.hypot(*self.body.mesh.extent)
        if math.dist(self.target.tip, base) <= reach:
            return ""
        return (
            f"{self.target.tip} m is farther away than twice the body's size, {reach:g} m: it is the tip's place in "
            "metres, in base_link"
        )

    def _check_other_meshes(self) -> None:
        """The emulated robot's body, and SOFA's, is as large as the twin's, whatever its mesh."""
        for name in ("emulated", "sofa"):
            if (mesh := getattr(self, name).mesh) is not None:
                check_same_size(mesh, self.body.mesh, name, "mesh")

    def _check_plates(self) -> None:
        """IMUs and frames are on plates that there are."""
        plates = [plate.name for plate in self.body.plates]
        carried = [(("imus", i, "plate"), imu.plate) for i, imu in enumerate(self.imus)]
        carried += [(("frames", name, "plate"), frame.plate) for name, frame in self.frames.items()]
        for keys, plate in carried:
            if plate is not None and plate not in plates:
                raise mistake(f"'{plate}' is no plate: there are {', '.join(plates) or 'none'}", *keys)

    def _check_names(self) -> None:
        """No two of a kind share a name, a motor, a surface or a channel."""
        actuators = [each.name for each in (*self.cables, *self.chambers, *self.muscles)]
        refuse_twice(actuators, "actuators share the name")
        refuse_twice([each.name for each in self.body.plates], "plates share the name", "body", "plates")
        refuse_twice([each.name for each in self.imus], "IMUs share the name", "imus")
        refuse_twice([each.name for each in self.obstacles], "obstacles share the name", "obstacles")
        refuse_twice([each.motor_id for each in self.cables], "cables share the motor_id", "cables")
        refuse_twice([each.surface for each in self.chambers], "chambers share the surface", "chambers")
        refuse_twice([each.channel for each in self.chambers], "chambers share the channel", "chambers")

    def _check_ways(self) -> None:
        """No two cables are where one is."""
        for i, cable in enumerate(self.cables):
            if (other := next((each for each in self.cables[:i] if each.way == cable.way), None)) is not None:
                raise mistake(f"'{cable.name}' and '{other.name}' run through one place", "cables", i)

    def _check_drives(self) -> None:
        """What drives nothing, or cannot drive what there is, contradicts the description."""
        if self.winches is not None:
            if not self.cables:
                raise mistake("there are winches but no cables", "winches")
            strongest = max(self.cables, key=lambda cable: cable.tension[1])
            self.winches.check_pull(strongest.tension[1], f"cables: {strongest.name}: tension")
            self.winches.check_rate(self.winches.rate, "winches", "rate")
        wound = self.emulated.wound
        if wound is not None and len(wound) != len(self.cables):
            raise mistake(f"expected {len(self.cables)} lengths, one a cable, found {len(wound)}", "emulated", "wound")
        if self.valves is not None:
            if not self.chambers:
                raise mistake("there are valves but no chambers", "valves")
            self.valves.check_chambers(self.chambers)
