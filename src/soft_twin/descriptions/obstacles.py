"""What a description says of rigid things that a body may press on. A new shape is a class and a line in SHAPES."""

from functools import reduce
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


SHAPES = (PlaneObstacle, SphereObstacle, CylinderObstacle, BoxObstacle)
AnyObstacle = Annotated[reduce(or_, SHAPES), Field(discriminator="kind")]


def directed(part: P, key: str) -> P:
    """The part, if the direction at a key of it has a length; else raise a mistake."""
    if not any(getattr(part, key)):
        raise mistake("is zero: a direction has a length", key)
    return part
