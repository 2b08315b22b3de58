"""What actuators must keep to. Each limit is an interval of the efforts or of the coordinates after a step."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError
from soft_twin.twins.base import Twin

BINDS = 1e-6  # of a limit's range: a limit closer than this is called active
EFFORT = 1.0  # [N] or [Pa] of the range of efforts counts at most
WIDE = 10.0  # times a coordinate's limit: as much of a range counts at most
AT_REST = 1e-3  # [m] or [m³] the same of a limit that is 0


class Command(NamedTuple):
    """What actuators are told: coordinates (a,) [m] or [m³], and efforts (a,) [N] or [Pa]."""

    coordinates: np.ndarray
    efforts: np.ndarray


class Limit:
    """One limit of all actuators; what it says nothing about is unlimited, but for cables, which only pull.

    Attributes:
        moves: whether it depends on what the actuators were told last, or, where that is None, on where the twin is.
    """

    moves = False

    def efforts(self, twin: Twin, told: Command | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest efforts (a,) [N] or [Pa]."""
        return twin.least_effort, np.full(twin.least_effort.shape, np.inf)

    def coordinates(self, twin: Twin, told: Command | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest coordinates (a,) [m] or [m³]."""
        shape = twin.least_effort.shape
        return np.full(shape, -np.inf), np.full(shape, np.inf)

    def active(self, names: Sequence[str], efforts: np.ndarray, coordinates: np.ndarray) -> list[str]:
        """In words, what of it binds, such as "cable_3 displacement max"."""
        return []

    def active_in_step(
        self,
        names: Sequence[str],
        twin: Twin,
        efforts: np.ndarray,
        coordinates: np.ndarray,
        told: Command | None = None,
    ) -> list[str]:
        """In words, what of it binds a step to efforts and coordinates (a,), such as "cable_3 displacement rate"."""
        return []

    def in_the_way(self, names: Sequence[str], efforts: np.ndarray, lower: np.ndarray) -> list[str]:
        """In words, what of it keeps a goal from being reached that wants efforts to be lower, (a,) bool."""
        return []


class EffortLimit(Limit):
    """Efforts between `low` and `high`, numbers or (a,) [N] or [Pa]. To be at the lowest binds nothing that matters
    where the goal is reached, for it is how a slack cable is; but a vacuum is nothing at rest."""

    def __init__(self, low, high, word: str | Sequence[str] = "effort"):
        """`word`: what such an effort is called, or (a,) what that of each actuator is.

        Raises:
            InputError: the limits contradict each other.
        """
        self.low, self.high, self.word = *_interval(low, high, word), word

    def efforts(self, twin, told=None):
        return np.maximum(_of_all(self.low, twin, self.word), twin.least_effort), _of_all(self.high, twin, self.word)

    def active(self, names, efforts, coordinates):
        margin = BINDS * np.minimum(EFFORT, self.high - self.low)
        drawn = _named(names, (self.low < 0.0) & (efforts < self.low + margin), self.word, "min")
        return drawn + _named(names, efforts > self.high - margin, self.word, "max")

    def in_the_way(self, names, efforts, lower):
        margin = BINDS * np.minimum(EFFORT, self.high - self.low)
        return _named(names, lower & (efforts < self.low + margin), self.word, "min")


class CoordinateLimit(Limit):
    """Coordinates between `low` and `high`, numbers or (a,) [m] or [m³]."""

    def __init__(self, low, high, word: str | Sequence[str] = "coordinate"):
        """`word`: what such a coordinate is called, or (a,) what that of each actuator is.

        Raises:
            InputError: the limits contradict each other.
        """
        self.low, self.high, self.word = *_interval(low, high, word), word

    def coordinates(self, twin, told=None):
        return _of_all(self.low, twin, self.word), _of_all(self.high, twin, self.word)

    def active(self, names, efforts, coordinates):
        low = _named(names, coordinates < self.low + self._margin(self.low), self.word, "min")
        return low + _named(names, coordinates > self.high - self._margin(self.high), self.word, "max")

    def _margin(self, limit: np.ndarray) -> np.ndarray:
        """How near coordinates are to one of the limits that is called active; 0 of one without an end."""
        most = np.where(limit == 0.0, AT_REST, np.where(np.isfinite(limit), WIDE * np.abs(limit), 0.0))
        return BINDS * np.minimum(most, self.high - self.low)


class _Rate(Limit):
    """Something changes by at most `rate` in the period of a step [s], from what was told last; where nothing was told,
    from what the twin has."""

    moves = True

    def __init__(self, rate, period: float, word: str):
        self.word, self._reach = word, _positive(rate, f"{word} rate") * _positive(period, "period")

    def _around(self, twin: Twin, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        reach = _of_all(self._reach, twin, f"{self.word} rate")
        return last - reach, last + reach

    def _binding(self, names: Sequence[str], moved: np.ndarray) -> list[str]:
        return _named(names, np.abs(moved) > (1.0 - BINDS) * self._reach, self.word, "rate")


class EffortRate(_Rate):
    """Efforts change by at most `rate` [N/s] or [Pa/s] in the period of a step [s], from those told last; where nothing
    was told, from the twin's."""

    def __init__(self, rate, period: float, word: str = "effort"):
        """`word`: what such an effort is called."""
        super().__init__(rate, period, word)

    def efforts(self, twin, told=None):
        return self._around(twin, _efforts_before(twin, told))

    def active_in_step(self, names, twin, efforts, coordinates, told=None):
        return self._binding(names, efforts - _efforts_before(twin, told))


class CoordinateRate(_Rate):
    """Coordinates change by at most `rate` [m/s] or [m³/s] in the period of a step [s], from those told last; where
    nothing was told, from the twin's."""

    def __init__(self, rate, period: float, word: str = "coordinate"):
        """`word`: what such a coordinate is called."""
        super().__init__(rate, period, word)

    def coordinates(self, twin, told=None):
        return self._around(twin, _coordinates_before(twin, told))

    def active_in_step(self, names, twin, efforts, coordinates, told=None):
        return self._binding(names, coordinates - _coordinates_before(twin, told))


def _efforts_before(twin: Twin, told: Command | None) -> np.ndarray:
    return twin.efforts if told is None else told.efforts


def _coordinates_before(twin: Twin, told: Command | None) -> np.ndarray:
    return twin.coordinates() if told is None else told.coordinates


def together(intervals: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """What lies in all intervals; where nothing does, the nearest to the first."""
    low, high = intervals[0]
    for lower, upper in intervals[1:]:
        low, high = np.clip(lower, low, high), np.clip(upper, low, high)
    return low, high


def _of_all(value: np.ndarray, twin: Twin, word: str | Sequence[str]) -> np.ndarray:
    """(a,) a limit of each actuator.

    Raises:
        InputError: it is for another number of actuators.
    """
    count = twin.actuator_count
    if value.ndim and value.shape != (count,):
        found = f"limits {value.tolist()} are for {value.size} actuators"
        raise InputError(f"{_in_one(word)}: {found}, the body has {count}")
    return np.broadcast_to(value, (count,))


def _interval(low, high, word: str | Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    word = _in_one(word)
    low, high = (checked_numbers(each, "a number, or one of each actuator", f"{word}'s limit") for each in (low, high))
    if not np.all(low < high):
        raise InputError(f"{word}: the lower limit {low.tolist()} is not below the upper {high.tolist()}")
    return low, high


def _positive(value, word: str) -> np.ndarray:
    value = checked_numbers(value, "a number, or one of each actuator", word)
    if not np.all(value > 0.0):
        raise InputError(f"{word}: {value.tolist()} is not positive")
    return value


def _in_one(word: str | Sequence[str]) -> str:
    """What efforts or coordinates of all actuators are called: one word, or each that there is."""
    return word if isinstance(word, str) else " or ".join(dict.fromkeys(word))


def _named(names: Sequence[str], binds: np.ndarray, word: str | Sequence[str], end: str) -> list[str]:
    if not binds.any():
        return []
    return [f"{names[i]} {word if isinstance(word, str) else word[i]} {end}" for i in np.flatnonzero(binds)]
