"""What a description says of named places, which can be aimed at and observed."""

from typing import Annotated

from pydantic import Field, model_validator

from soft_twin.descriptions.kinds_of_value import NAME, NAMED, Number, Several, mistake
from soft_twin.descriptions.part import Part


class NamedFrame(Part):
    """A place: the mean of some nodes and the rotation that fits them best, a plate, a cross section likewise, or,
    without a rotation, a point of the body."""

    nodes: Annotated[str | None, NAMED] = Field(default=None, description="surface or group of them")
    plate: Annotated[str | None, NAME] = Field(default=None, description="name of a plate")
    point: Annotated[tuple[float, float, float] | None, Several(Number(-10.0, 10.0, "m"), 3, 3)] = Field(
        default=None, description="in the undeformed body, in a cell of it"
    )
    section: Annotated[float | None, Number(0.0, 10.0, "m")] = Field(
        default=None,
        description="height z of a cross section of a slender body: the place is on the z axis, or in its middle if "
        "that is beside it",
    )

    @property
    def way(self) -> str:
        """The key that says which place it is."""
        return self._given()[0]

    def _given(self) -> list[str]:
        return [key for key in ("nodes", "plate", "point", "section") if getattr(self, key) is not None]

    @model_validator(mode="after")
    def _is_one(self) -> "NamedFrame":
        given = self._given()
        if len(given) != 1:
            raise mistake(f"expected one of nodes, plate, point and section, found {' and '.join(given) or 'none'}")
        return self
