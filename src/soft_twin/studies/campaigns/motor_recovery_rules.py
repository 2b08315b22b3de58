"""The motors' judge on recovery: once everything is whole, the documented remedies help."""

import numpy as np

from soft_twin.studies.campaigns.motor_book import CaseBook, state_of

OFF = 0.0005  # [m] between what is true and what is told


class RecoveryRules:
    """What becomes of a robot at the end."""

    def __init__(self, book: CaseBook):
        self._book = book

    def comes_back(self, status) -> None:
        """Everything was mended a while ago: what starts by itself and was not told to stay away is active again."""
        if self._book.left_alone and state_of(status) in ("away", "limp"):
            self._book.found("not recovered", f"'{state_of(status)}' ({status.mode}), though it starts by itself")

    def recovered(self, status, refusals: list[str]) -> None:
        """Everything was mended and the documented remedies were taken: all has to be well."""
        displacement, faults = self._book.displacements(), tuple(status.faults)
        off = (
            np.inf
            if displacement is None or self._book.target is None
            else np.abs(displacement - self._book.target).max()
        )
        if state_of(status) != "active" or faults or not off <= OFF:
            self._book.found(
                "not recovered",
                f"'{state_of(status)}', {1e3 * off:.2f} mm off, faults {faults}, refused: {'; '.join(refusals)}",
            )
