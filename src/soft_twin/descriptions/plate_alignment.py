"""What a file with the alignment of a plate's IMUs has."""

from typing import Annotated

from pydantic import Field, model_validator

from soft_twin.descriptions.kinds_of_value import Number, Several, mistake
from soft_twin.descriptions.part import Part

Direction = Annotated[tuple[float, float, float], Several(Number(-1.0, 1.0), 3, 3)]


class AlignedRest(Part):
    """A plate at rest, straight."""

    base: Direction = Field(description="gravity in base_link, as the base's IMU had it, of any length")
    plate: Direction = Field(description="gravity in the plate's frame, as the plate's IMU had it, of any length")
    bend: Annotated[tuple[float, float], Several(Number(-0.5, 0.5, "rad"), 2, 2)] = Field(
        description="of the plate by its cables: angle times direction"
    )

    @model_validator(mode="after")
    def _has_directions(self) -> "AlignedRest":
        for key in ("base", "plate"):
            if not any(getattr(self, key)):
                raise mistake("is zero: a direction has a length", key)
        return self


class AlignmentFile(Part):
    """See inverse/plate_alignment.py."""

    rests: tuple[AlignedRest, ...] = Field(max_length=20, description="in attitudes of the base that differ")
