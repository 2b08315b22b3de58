"""What a correction was worth on a recording that it was not learned from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tested:
    """One recording that was left out.

    Attributes:
        what: was recorded.
        learned_from: which recordings.
        tested_on: which one.
        unit: of the errors.
        before, after: mean error of the twin, and of its correction.
        largest_before, largest_after: the same, at the most.
    """

    what: str
    learned_from: str
    tested_on: str
    unit: str
    before: float
    after: float
    largest_before: float
    largest_after: float
