"""What a description says of rigid things that a body may press on. A new shape is a class and a line in SHAPES."""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Annotated, Literal, TypeVar

from pydantic import Field, model_validator

from soft_twin.descriptions.kinds_of_value import NAME, NAMED, Number, Several, mistake
from soft_twin.descriptions.part import Part

P = TypeVar("P", bound=Part)
Place = Annotated[tuple[float, float, float], Several(Number(-10.0, 10.0, "m"), 3, 3)]
Direction = Annotated[tuple[float, float, float], Several(Number(-1e3, 1e3), 3, 3)]
Radius = Annotated[float, Number(1e-5, 10.0, "m")]


class Obstacle(Part):
    """A rigid thing that stands still in base_link."""

    name: Annotated[str, NAME] = Field(description="of its own")
    friction: Annotated[float, Number(0.0, 5.0)] = Field(
        default=0.0, description="Coulomb's μ, of the emulated robot; the twin leaves it out"
    )
    nodes: Annotated[str | None, NAMED] = Field(
        default=None, description="surface or group of the body that may touch it; without: all of its surface"
    )


class PlaneObstacle(Obstacle):
    """The half space below a plane."""

    kind: Literal["plane"] = Field(description="of obstacle")
    point: Place = Field(description="of the plane, in base_link")
    normal: Direction = Field(description="out of it, of any length")

    @model_validator(mode="after")
    def _has_a_side(self) -> "PlaneObstacle":
        return directed(self, "normal")


class SphereObstacle(Obstacle):
    """A ball."""

    kind: Literal["sphere"] = Field(description="of obstacle")
    point: Place = Field(description="its middle, in base_link")
    radius: Radius = Field(description="of the ball")


class CylinderObstacle(Obstacle):
    """A cylinder with flat ends."""

    kind: Literal["cylinder"] = Field(description="of obstacle")
    point: Place = Field(description="its middle, in base_link")
    axis: Direction = Field(description="along it, of any length")
    radius: Radius = Field(description="of the round side")
    length: Annotated[float, Number(1e-4, 20.0, "m")] = Field(description="from end to end")

    @model_validator(mode="after")
    def _has_an_axis(self) -> "CylinderObstacle":
        return directed(self, "axis")


class BoxObstacle(Obstacle):
    """A box."""

    kind: Literal["box"] = Field(description="of obstacle")
    point: Place = Field(description="its middle, in base_link")
    size: Annotated[tuple[float, float, float], Several(Number(1e-4, 20.0, "m"), 3, 3)] = Field(
        description="edge lengths along its own x, y and z"
    )
    rpy_deg: Annotated[tuple[float, float, float], Several(Number(-360.0, 360.0, "°"), 3, 3)] = Field(
        default=(0.0, 0.0, 0.0), description="roll, pitch, yaw that turn its own frame from base_link"
    )


class LumenObstacle(Obstacle):
    """A tube that the body is in, or is pushed into: felt from inside, open at both ends."""

    kind: Literal["lumen"] = Field(description="of obstacle")
    points: tuple[Place, ...] = Field(
        min_length=2, max_length=200, description="that its centre line runs through, from mouth to mouth, in base_link"
    )
    radii: Annotated[tuple[float, ...], Several(Number(1e-5, 10.0, "m"), 1, 200)] = Field(
        description="of the tube at each point, or one for all; wider than the body"
    )
    lip: Radius = Field(default=2e-3, description="radius of the mouths' edges")

    @model_validator(mode="after")
    def _fits_together(self) -> "LumenObstacle":
        if len(self.radii) not in (1, len(self.points)):
            raise mistake(
                f"{len(self.radii)} radii for {len(self.points)} points: one for each, or one for all", "radii"
            )
        for i, (one, next_one) in enumerate(pairwise(self.points)):
            if one == next_one:
                raise mistake("is where the point before is", "points", i + 1)
        return self


SHAPES = (PlaneObstacle, SphereObstacle, CylinderObstacle, BoxObstacle, LumenObstacle)
AnyObstacle = Annotated[reduce(or_, SHAPES), Field(discriminator="kind")]


def check_passage(obstacles: Sequence[Obstacle], thinnest: float) -> None:
    """Raise a mistake where a tube is narrower than a body's smallest extent, `thinnest` [m]."""
    for i, each in enumerate(obstacles):
        if isinstance(each, LumenObstacle) and 2.0 * min(each.radii) <= thinnest:
            width = f"{2e3 * min(each.radii):g} mm wide where it is narrowest, the body {1e3 * thinnest:g} mm"
            raise mistake(f"'{each.name}' is {width}: it cannot be in there", "obstacles", i, "radii")


def directed(part: P, key: str) -> P:
    """The part, if the direction at a key of it has a length; else raise a mistake."""
    if not any(getattr(part, key)):
        raise mistake("is zero: a direction has a length", key)
    return part
