"""Ways that targets take in time: from where a robot aims now to a pose, through poses, or through actuations."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from soft_twin.errors import InputError
from soft_twin.inverse.controller import Controller
from soft_twin.inverse.goals import ALIKE, told_by_coordinate
from soft_twin.inverse.targets import ActuationTarget, PoseTarget, Target, actuation_target, pose_target, rotation_of

SMOOTH_PEAK = 1.875  # highest rate of a minimum-jerk movement over its mean one
JUMP = 3e-3  # [m] that a path may begin away from where the robot is aimed
SEEN = np.linspace(0.0, 1.0, 17)[1:-1]  # shares of the way from point to point at which a path with rates is looked at
SHORTEST, LONGEST = 1e-3, 3600.0  # [s] that a path to a point that is due at once takes, and any path may take


class Path(ABC):
    """A target for each moment.

    Attributes:
        duration: of all of it [s].
    """

    duration: float

    @abstractmethod
    def target(self, time: float) -> Target:
        """What to aim at, `time` [s] after the start; before and behind the path its ends."""


class PosePath(Path):
    """A frame through places."""

    def __init__(
        self,
        times: Sequence[float],
        targets: Sequence[PoseTarget],
        velocities: np.ndarray | None = None,
        smooth: bool = False,
    ):
        """From `targets[0]` on, at each of them at its time from 0 [s], all of one frame and alike with a rotation or
        without; `velocities`: (k, 3) there [m/s], without them straight; `smooth`: from rest to rest (minimum jerk).
        The last one's line is that of the whole way: the body lies on it as far as its frame's place leaves it free."""
        self.duration, self._smooth, self._frame, self._line = times[-1], smooth, targets[0].frame, targets[-1].line
        self._place = _through(times, np.array([each.position for each in targets]), velocities)
        turned = targets[0].rotation is not None
        turns = [each.rotation for each in targets] if turned else None
        self._turn = Slerp(times, Rotation.from_matrix(turns)) if turned else None

    def target(self, time):
        time = min(max(time, 0.0), self.duration)
        if self._smooth:
            share = time / self.duration
            time = self.duration * share**3 * (10.0 + share * (6.0 * share - 15.0))
        rotation = None if self._turn is None else self._turn(time).as_matrix()
        return PoseTarget(self._place(time), self._frame, rotation, self._line)


class ActuationPath(Path):
    """Actuators through values, straight between them, or with rates (k, a) there."""

    def __init__(self, times: Sequence[float], values: np.ndarray, rates: np.ndarray | None = None):
        """`values`: (k, a) coordinates of cables [m], efforts of others [Pa], at their times from 0 [s]."""
        self.duration, self._low, self._high = times[-1], values.min(axis=0), values.max(axis=0)
        self._values = _through(times, values, rates)

    def target(self, time):
        values = self._values(min(max(time, 0.0), self.duration))
        return ActuationTarget(np.clip(values, self._low, self._high))  # rates may not lead out of what was allowed


def path_to(controller: Controller, target: PoseTarget, duration: float = 0.0, speed: float = 0.0) -> PosePath:
    """From where the robot aims now to a target, from rest to rest; on the target's line from the start on, if it has
    one.

    Args:
        controller: of the robot.
        target: of a frame.
        duration: of the movement [s]; or
        speed: the highest on the way [m/s]; of a turn that of half the body's length.

    Raises:
        InputError: not one of duration and speed, or it takes too long.
    """
    if not ((duration > 0.0) != (speed > 0.0) and duration >= 0.0 and 0.0 <= speed < math.inf):  # false for NaN too
        raise InputError(f"duration {duration:g} s and speed {speed:g} m/s: expected one of the two above 0")
    start = start_of(controller, target.frame, target.rotation is not None)
    if speed > 0.0:
        duration = max(SMOOTH_PEAK * _way(start, target, 0.5 * controller.twin.length) / speed, SHORTEST)
    _check_duration(duration)
    return PosePath([0.0, duration], [start, target], smooth=True)


def path_through(
    controller: Controller,
    times: Sequence[float],
    positions: np.ndarray,
    frame: str,
    rotations: np.ndarray | None = None,
    velocities: np.ndarray | None = None,
) -> PosePath:
    """A frame through positions (k, 3) [m] with rotations (k, 3, 3), at rising times (k,) [s], from where it is aimed
    at now unless the first is at 0.

    Raises:
        InputError: times that do not rise or are too long, velocities that are not finite, or a place that cannot be
            aimed at, see `pose_target`: a point, or where velocities lead between two.
    """
    velocities = _checked_rates(velocities, positions, "velocities", "m/s")
    turns = [None] * len(positions) if rotations is None else list(rotations)
    targets = [pose_target(controller.inverse, *row) for row in _rows(positions, frame, turns)]
    times, late = _checked_times(times, len(targets))
    start = start_of(controller, frame, rotations is not None)
    if late:
        targets = [start, *targets]
        velocities = None if velocities is None else np.vstack([np.zeros(3), velocities])
    else:
        _refuse_jump(_way(start, targets[0], 0.5 * controller.twin.length))
    if velocities is not None:
        _check_between(controller, times, np.array([each.position for each in targets]), velocities, frame)
    return PosePath(times, targets, velocities)


def path_of_actuation(
    controller: Controller, times: Sequence[float], values: np.ndarray, rates: np.ndarray | None = None
) -> ActuationPath:
    """Actuators through values (k, a) at rising times (k,) [s], from what they are told now unless the first is at 0.

    Raises:
        InputError: times that do not rise or are too long, rates that are not finite, or values out of their limits,
            see `actuation_target`.
    """
    rates = _checked_rates(rates, values, "rates", "m/s, Pa/s")
    values = np.array([actuation_target(controller.inverse, row).values for row in values])
    times, late = _checked_times(times, len(values))
    if late:
        values = np.vstack([controller.told, values])
        rates = None if rates is None else np.vstack([np.zeros(values.shape[1]), rates])
    else:
        counted = np.where(told_by_coordinate(controller.twin), 1.0, ALIKE)
        _refuse_jump(float(np.abs(counted * (values[0] - controller.told)).max()))
    return ActuationPath(times, values, rates)


def start_of(controller: Controller, frame: str, turned: bool) -> PoseTarget:
    """Where a frame is aimed at now, or where it is, if something else is aimed at."""
    now, twin = controller.aimed_at, controller.twin
    if now.is_of(frame, turned):
        return now
    place = twin.frames[frame]
    return PoseTarget(place.position(twin), frame, rotation_of(place, twin) if turned else None)


def _refuse_jump(distance: float) -> None:
    """Raises InputError: a path begins too far from where the robot is aimed [m], pressures counted as ALIKE says."""
    if distance > JUMP:
        raise InputError(
            f"path: begins {1e3 * distance:.1f} mm (kPa) from where the robot aims: give its first point a time above 0"
        )


def _checked_rates(rates: np.ndarray | None, values: np.ndarray, what: str, unit: str) -> np.ndarray | None:
    """Rates of values (k, n), as many, that lead nowhere beyond all numbers in the longest time.

    Raises:
        InputError: they do, or they are others.
    """
    if rates is None:
        return None
    rates = np.array(rates, dtype=float)
    with np.errstate(over="ignore"):
        if rates.shape != np.shape(values) or not np.all(np.isfinite(LONGEST * rates)):
            raise InputError(f"path: {what} {rates.tolist()}: expected finite ones [{unit}], as many as values")
    return rates


def _check_between(
    controller: Controller, times: Sequence[float], points: np.ndarray, velocities: np.ndarray, frame: str
) -> None:
    """See that the body can be where velocities (k, 3) lead a frame between points (k, 3).

    Raises:
        InputError: it cannot, at the farthest or the lowest of these places.
    """
    steps, chords = np.diff(times)[:, None], np.diff(points, axis=0)
    seen = _cubic(points[:-1], chords, steps * velocities[:-1], steps * velocities[1:], SEEN[:, None, None])
    places = seen.reshape(-1, 3)
    distances = np.hypot.reduce(places - controller.twin.base, axis=1)
    for place in (places[np.argmax(distances)], places[np.argmin(places[:, 2])]):
        try:
            pose_target(controller.inverse, place, frame)
        except InputError as error:
            raise InputError(f"path: between its points velocities lead it too far: {error}") from error


def _cubic(
    start: np.ndarray, chord: np.ndarray, leaving: np.ndarray, arriving: np.ndarray, s: float | np.ndarray
) -> np.ndarray:
    """What is a share `s` of the way along a chord, with these slopes at its ends (Hermite)."""
    return start + s * chord + s * (1.0 - s) * ((1.0 - s) * (leaving - chord) - s * (arriving - chord))


def _rows(positions: np.ndarray, frame: str, turns: Sequence) -> list[tuple]:
    return [(position, frame, turn) for position, turn in zip(positions, turns, strict=True)]


def _checked_times(times: Sequence[float], count: int) -> tuple[list[float], bool]:
    """Times from 0 on that rise, and whether the start had to be put before them."""
    times = [float(time) for time in times]
    if not count or len(times) != count:
        raise InputError(f"path: {count} points at {len(times)} times: expected one time for each of at least one")
    if not (times[0] >= 0.0 and all(a < b for a, b in zip(times, times[1:], strict=False))):
        raise InputError(f"path: times {', '.join(f'{time:g}' for time in times[:5])} … s: expected rising ones from 0")
    _check_duration(times[-1])
    if times == [0.0]:
        return [0.0, SHORTEST], True
    late = times[0] > 0.0
    return ([0.0, *times] if late else times), late


def _check_duration(duration: float) -> None:
    if not duration <= LONGEST:
        raise InputError(f"path: takes {duration:g} s: expected at most {LONGEST:g} s")


def _way(start: PoseTarget, end: PoseTarget, radius: float) -> float:
    """How far it is [m], turns counted at a radius [m]."""
    distance = float(np.linalg.norm(end.position - start.position))
    if start.rotation is None:
        return distance
    return max(distance, radius * float(Rotation.from_matrix(end.rotation @ start.rotation.T).magnitude()))


def _through(times: Sequence[float], values: np.ndarray, rates: np.ndarray | None) -> Callable[[float], np.ndarray]:
    """A function of time [s] through values (k, n): straight between them, or cubic with these rates there (Hermite).

    SciPy has both; loading it for them takes a third of a second, which a node that holds a robot does not have.
    """
    knots = np.asarray(times, dtype=float)

    def value(time: float) -> np.ndarray:
        i = min(max(int(np.searchsorted(knots, time, side="right")) - 1, 0), len(knots) - 2)
        step = knots[i + 1] - knots[i]
        s = (time - knots[i]) / step
        chord = values[i + 1] - values[i]
        if rates is None:
            return values[i] + s * chord
        return _cubic(values[i], chord, step * rates[i], step * rates[i + 1], s)

    return value
