"""What a description says of learning: the surface that networks predict, and the reality that they are tried on."""

from typing import Annotated

from pydantic import Field, model_validator

from soft_twin.descriptions.fem_actuators import Place
from soft_twin.descriptions.fem_mesh import MeshSource
from soft_twin.descriptions.fem_robot import BodyFibres
from soft_twin.descriptions.kinds_of_value import NAMED, Interval, Number, Whole, mistake
from soft_twin.descriptions.part import Part


class Thickness(Part):
    """Errors of thickness of a sheet, or of the wall of a tube around z: a smooth random field, the sheet's upper and
    the wall's outer side being where they should be."""

    sheet: Annotated[tuple[float, float] | None, Interval(Number(-10.0, 10.0, "m"))] = Field(
        default=None, description="lower and upper side, z in the undeformed body without its relief"
    )
    wall: Annotated[tuple[float, float] | None, Interval(Number(0.0, 10.0, "m"))] = Field(
        default=None, description="inner and outer radius in the undeformed body"
    )
    deviation: Annotated[float, Number(0.0, 0.3)] = Field(description="standard deviation over the thickness")
    length: Annotated[float, Number(1e-4, 10.0, "m")] = Field(description="over which it changes")

    @model_validator(mode="after")
    def _is_one(self) -> "Thickness":
        if (self.sheet is None) == (self.wall is None):
            raise mistake("expected one of 'sheet' and 'wall'")
        return self


class SurfaceReality(Part):
    """How the emulated robot whose surface is scanned differs from the twin, besides what `emulated` says."""

    second_constant: Annotated[float, Number(0.0, 0.9)] = Field(
        default=0.0, description="share of Mooney–Rivlin's c2 in c1 + c2, its law"
    )
    mesh: MeshSource | None = Field(
        default=None, description="of its own, of the same body, with the names that the robot speaks of"
    )
    thickness: Thickness | None = Field(default=None, description="errors of a sheet's thickness, or a wall's")
    fibres: tuple[BodyFibres, ...] = Field(default=(), max_length=20, description="that the twin knows nothing of")
    leak: Annotated[float, Number(0.0, 0.5)] = Field(
        default=0.0, description="share of its pressure that a chamber loses on the way, on average"
    )
    creep: Annotated[float, Number(0.0, 0.9)] = Field(
        default=0.0, description="share of its stiffness that the material loses under load"
    )
    creep_time: Annotated[float, Number(0.1, 1e6, "s")] = Field(default=60.0, description="time constant of that")
    dwell: Annotated[tuple[float, float], Interval(Number(0.0, 1e6, "s"))] = Field(
        default=(5.0, 60.0), description="between a change of pressures and the scan"
    )


class Scanner(Part):
    """An emulated 3-D scanner: points with normals, without correspondences."""

    eyes: tuple[Place, ...] = Field(min_length=1, max_length=10, description="where it looks from")
    points: Annotated[int, Whole(10, 100_000)] = Field(default=1000, description="of a cloud, with no holes")
    noise: Annotated[float, Number(0.0, 0.1, "m")] = Field(default=2e-4, description="standard deviation")
    steepest_deg: Annotated[float, Number(1.0, 90.0, "°")] = Field(
        default=75.0, description="angle between the line of sight and the normal beyond which nothing is seen"
    )


class Markers(Part):
    """Emulated motion capture: markers on the surface, each known by its name."""

    count: Annotated[int, Whole(4, 1000)] = Field(default=100, description="spread evenly over the surface")
    eyes: tuple[Place, ...] = Field(min_length=1, max_length=20, description="where cameras are")
    views: Annotated[int, Whole(1, 20)] = Field(default=2, description="cameras that have to see a marker")
    noise: Annotated[float, Number(0.0, 0.1, "m")] = Field(default=2e-4, description="standard deviation")
    steepest_deg: Annotated[float, Number(1.0, 90.0, "°")] = Field(
        default=75.0, description="angle between the line of sight and the normal beyond which nothing is seen"
    )

    @model_validator(mode="after")
    def _can_be_seen(self) -> "Markers":
        if self.views > len(self.eyes):
            raise mistake(f"{self.views} views of {len(self.eyes)} eyes: nothing would be seen", "views")
        return self


class Learning(Part):
    """What is learned of a robot's surface, and from how much."""

    surface: Annotated[str, NAMED] = Field(description="of the mesh")
    parts: Annotated[int, Whole(1, 20)] = Field(
        default=1, description="of each edge of its faces: above 1, faces are as curved as their element"
    )
    simulations: Annotated[int, Whole(2, 1_000_000)] = Field(
        default=1000, description="shapes of the twin, corners of the pressures among them, all if they are fewer"
    )
    kernels: Annotated[int, Whole(1, 2500)] = Field(default=100, description="of the warp, a square number")
    kernel_width: Annotated[float, Number(1e-7, 1.0, "1/mm²")] = Field(
        default=3e-5, description="c of the warp's Gaussian kernels"
    )
    shape_layers: Annotated[int, Whole(1, 10)] = Field(default=2, description="hidden, of N_fk")
    warp_layers: Annotated[int, Whole(1, 10)] = Field(default=2, description="hidden, of N_rbf")
    warp_neurons: Annotated[int, Whole(1, 1000)] = Field(default=24, description="of each hidden layer of N_rbf")
    frames: Annotated[int, Whole(1, 100_000)] = Field(default=40, description="scanned for training")
    unseen: Annotated[int, Whole(1, 100_000)] = Field(default=10, description="scanned for the test")
    seed: Annotated[int, Whole(0, 2**31 - 1)] = Field(default=0, description="of all that is random in the reality")
    reality: SurfaceReality = Field(default_factory=SurfaceReality, description="that is scanned")
    scanner: Scanner = Field(description="that scans it")
    markers: Markers | None = Field(default=None, description="motion capture of it, beside the scanner")
