"""Motion planning of a body whose surface is a function of its chambers (Sec. V-E2): past sticks, until its tip touches
a ball.

The space is that of the chambers' shares of inflation, 0…1 each. RRT-Connect (Kuffner and LaValle 2000) grows one tree
from the start and one from postures that touch the ball, until they meet; shortcuts then take out what is not needed.
A way between two postures is tried at so many shapes that no point of the body moves further than `step` from one to
the next: every shape in between is within half of that of one that was tried.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_count, checked_kind, checked_numbers, checked_vector, in_words
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.files import one_line

Shapes = Callable[[np.ndarray], np.ndarray]  # shares (n, a) 0…1 → points (n, p, 3) [m]
COARSE, FINEST = 0.1, 1.0 / 1024.0  # largest change of a share from one shape to the next, at first and at last
GOAL_STEPS, PROBE, DAMPING = 30, 0.01, 1e-3  # of the search for postures: Newton's steps, and a share's change
TRIED = 20  # begins of that search for each posture that is asked for


@dataclass(frozen=True)
class Stick:
    """A rod with round ends; all in metres, in base_link."""

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float

    def distance(self, points: np.ndarray) -> np.ndarray:
        """(…) from points (…, 3) to its surface [m], negative inside."""
        begin, along = np.array(self.start), np.subtract(self.end, self.start)
        share = np.clip((points - begin) @ along / max(along @ along, 1e-30), 0.0, 1.0)
        return np.linalg.norm(points - begin - share[..., None] * along, axis=-1) - self.radius


@dataclass(frozen=True)
class Ball:
    """What the tip shall touch; in metres, in base_link."""

    centre: tuple[float, float, float]
    radius: float

    def distance(self, points: np.ndarray) -> np.ndarray:
        """(…) from points (…, 3) to its surface [m], negative inside."""
        return np.linalg.norm(points - np.array(self.centre), axis=-1) - self.radius


@dataclass(frozen=True)
class Scene:
    """What is around the body.

    Attributes:
        sticks: that it shall not touch.
        ball: that its tip shall touch.
        clearance: [m] that it keeps from every stick.
    """

    sticks: tuple[Stick, ...]
    ball: Ball
    clearance: float = 0.005

    def clearances(self, points: np.ndarray) -> np.ndarray:
        """(n,) least distances [m] of shapes (n, p, 3) to the sticks; infinite where there are none."""
        nearest = [stick.distance(points).min(axis=-1) for stick in self.sticks]
        return np.min([np.full(len(points), np.inf), *nearest], axis=0)


@dataclass(frozen=True)
class Plan:
    """A way.

    Attributes:
        waypoints: (w, a) shares of inflation, straight lines between them.
        tried: shapes that were computed.
        seconds: that it took.
    """

    waypoints: np.ndarray
    tried: int
    seconds: float

    def along(self, count: int) -> np.ndarray:
        """(count, a) equally far apart on the way.

        Raises:
            InputError: fewer than one.
        """
        return _resampled(self.waypoints, np.linspace(0.0, 1.0, checked_count(count, "points along a plan")))

    @property
    def length(self) -> float:
        """In shares."""
        return float(np.linalg.norm(np.diff(self.waypoints, axis=0), axis=1).sum())


@dataclass(frozen=True)
class Options:
    """Of the planner.

    Attributes:
        step: [m] that no point moves further between two shapes that are tried.
        reach: longest branch of a tree, in shares.
        samples: after which no way is said to be there.
        goals: postures that touch the ball, to be reached.
        shortcuts: that are tried.
        depth: share of the ball's radius that the tip is away from its centre at most, so that it is touched for sure.
    """

    step: float = 0.006
    reach: float = 0.4
    samples: int = 2000
    goals: int = 6
    shortcuts: int = 60
    depth: float = 0.25


def _check(scene: Scene, options: Options) -> None:
    """Raise an InputError for a scene that cannot be, or a search for nothing."""
    checked_kind(scene, Scene, "a Scene", "scene")
    checked_kind(scene.ball, Ball, "a Ball", "ball")
    checked_kind(scene.sticks, (tuple, list), "a tuple of sticks, (Stick(…),) for a single one", "sticks")
    sticks = {i: checked_kind(each, Stick, "a Stick", f"sticks.{i}") for i, each in enumerate(scene.sticks)}
    places = {f"{end} of sticks.{i}": getattr(stick, end) for i, stick in sticks.items() for end in ("start", "end")}
    for name, place in {**places, "centre of the ball": scene.ball.centre}.items():
        checked_vector(place, 3, f"{name} [m]")
    sizes = {f"radius of sticks.{i}": stick.radius for i, stick in sticks.items()}
    for name, size in {**sizes, "radius of the ball": scene.ball.radius, "clearance": scene.clearance}.items():
        length = checked_numbers(size, "metres, 0 or more", name)
        if length.shape or not 0.0 <= length < np.inf:
            raise InputError(f"{name}: {in_words(size)} m: expected 0 or more")
    checked_count(options.goals, "goals")


class Planner:
    """See the module's docstring."""

    def __init__(self, shapes: Shapes, tip: np.ndarray, scene: Scene, options: Options = Options(), seed: int = 0):
        """
        Args:
            shapes: the body's surface by shares of inflation.
            tip: (k,) numbers of points whose middle is the tip.
            scene: what is around it.
            options: of the search.
            seed: of the search: the same seed, the same way.

        Raises:
            InputError: numbers that are not finite, a radius or a clearance below 0, or no point of a tip.
        """
        _check(scene, options)
        self._shapes, self._tip, self._scene, self._options = shapes, np.asarray(tip), scene, options
        if self._tip.ndim != 1 or not len(self._tip):
            raise InputError("tip: expected the numbers of one point or more")
        self._random, self._tried = np.random.default_rng(seed), 0

    def plan(self, start: np.ndarray) -> Plan:
        """The way from shares (a,) to a posture whose tip touches the ball.

        Raises:
            InputError: shares that are none, or the body touches a stick at the start.
            ConvergenceError: no posture or no way was found.
        """
        begin, self._tried = time.monotonic(), 0
        start = checked_numbers(start, "shares of inflation, 0…1 each", "start")
        if self._touches(self._start_tip(start)):
            return Plan(np.array([start, start]), self._tried, time.monotonic() - begin)
        goals = self._goals(len(start))
        way = self._shortened(self._connected(start, goals))
        return Plan(way, self._tried, time.monotonic() - begin)

    def _start_tip(self, start: np.ndarray) -> np.ndarray:
        """(3,) [m] of a start (a,) where the planner may begin.

        Raises:
            InputError: see `plan`.
        """
        if start.ndim != 1 or not ((start >= 0.0) & (start <= 1.0)).all():
            raise InputError(f"the start is {start.tolist()}: expected shares of inflation, 0…1 each")
        try:
            points = self._points(start[None])[0]
            tip = points[self._tip].mean(axis=0)
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(f"no shape of {len(start)} shares, or no such tip: {one_line(error)}") from error
        if self._scene.clearances(points[None])[0] < self._scene.clearance:
            raise InputError("the body is nearer to a stick than its clearance at the start already")
        return tip

    def _points(self, shares: np.ndarray) -> np.ndarray:
        self._tried += len(shares)
        return self._shapes(shares)

    def _is_free(self, shares: np.ndarray) -> np.ndarray:
        return self._scene.clearances(self._points(shares)) >= self._scene.clearance

    def _can_go(self, begin: np.ndarray, end: np.ndarray) -> bool:
        """Whether the straight way between shares (a,) is free."""
        longest, spacing = np.abs(end - begin).max(), COARSE
        while True:
            count = int(np.ceil(longest / spacing)) + 1
            points = self._points(begin + np.linspace(0.0, 1.0, max(2, count))[:, None] * (end - begin))
            moved = np.linalg.norm(np.diff(points, axis=0), axis=-1).max()
            within = min(0.5 * moved, 0.5 * self._options.step)
            if (self._scene.clearances(points) < self._scene.clearance + within).any():
                return False
            if moved <= self._options.step or spacing <= FINEST:
                return True
            spacing *= max(0.25, 0.9 * self._options.step / moved)

    def _goals(self, actuators: int) -> np.ndarray:
        """(g, a) free postures whose tip is near the ball's centre.

        Raises:
            ConvergenceError: there are none; the message says how near the tip came.
        """
        found, nearest = [], np.inf
        for _ in range(TRIED * self._options.goals):
            shares = self._touching(self._random.uniform(size=actuators))
            tip = self._tip_of(shares[None])[0]
            nearest = min(nearest, self._away(tip))
            if self._touches(tip) and self._is_free(shares[None])[0]:
                found.append(shares)
            if len(found) == self._options.goals:
                break
        if not found:
            centre = np.array(self._scene.ball.centre).tolist()
            raise ConvergenceError(
                f"no posture touches the ball at {centre} m and no stick: the tip came within {1e3 * nearest:.3g} mm "
                "of its centre"
            )
        return np.array(found)

    def _away(self, tip: np.ndarray) -> float:
        """Of a tip (3,) from the ball's centre [m]."""
        return float(np.linalg.norm(tip - np.array(self._scene.ball.centre)))

    def _touches(self, tip: np.ndarray) -> bool:
        return self._away(tip) <= self._options.depth * self._scene.ball.radius

    def _touching(self, shares: np.ndarray) -> np.ndarray:
        """Shares (a,) that bring the tip to the ball's centre, or near: damped Newton's steps within the limits."""
        centre, probes = np.array(self._scene.ball.centre), PROBE * np.eye(len(shares))
        for _ in range(GOAL_STEPS):
            inward = np.where(shares > 0.5, -1.0, 1.0)
            tips = self._tip_of(np.vstack([shares, shares + inward * probes]))
            away = centre - tips[0]
            if np.linalg.norm(away) <= 0.2 * self._options.depth * self._scene.ball.radius:
                break
            slope = (inward[:, None] * (tips[1:] - tips[0]) / PROBE).T
            damped = slope @ slope.T + DAMPING * np.trace(slope @ slope.T) * np.eye(3)
            shares = np.clip(shares + slope.T @ np.linalg.solve(damped, away), 0.0, 1.0)
        return shares

    def _tip_of(self, shares: np.ndarray) -> np.ndarray:
        """(n, 3) of shares (n, a)."""
        return self._points(shares)[:, self._tip].mean(axis=1)

    def _connected(self, start: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """(w, a) a free way from the start to one of the goals.

        Raises:
            ConvergenceError: none was found.
        """
        for goal in goals:  # the straight ways first: most scenes are easy
            if self._can_go(start, goal):
                return np.array([start, goal])
        one, other = _Tree(start[None]), _Tree(goals)
        for number in range(self._options.samples):
            new = self._extended(one, self._random.uniform(size=len(start)))
            if new is not None and self._reaches(other, one.nodes[new]):
                way = np.vstack([one.way_to(new)[::-1], other.way_to(len(other.nodes) - 1)[1:]])
                return way[::-1] if number % 2 else way
            one, other = other, one
        raise ConvergenceError(
            f"no way to the ball was found in {self._options.samples} samples: trees of {len(one.nodes)} and "
            f"{len(other.nodes)} postures do not meet"
        )

    def _extended(self, tree: "_Tree", towards: np.ndarray) -> int | None:
        """The number of a new posture of a tree, one branch towards shares (a,); None: the way there is not free."""
        near = tree.nearest(towards)
        begin = tree.nodes[near]
        share = min(1.0, self._options.reach / max(float(np.linalg.norm(towards - begin)), 1e-12))
        end = begin + share * (towards - begin)
        return tree.add(end, near) if self._can_go(begin, end) else None

    def _reaches(self, tree: "_Tree", target: np.ndarray) -> bool:
        """Whether a tree grows as far as shares (a,), branch by branch; they are its last posture then."""
        while (new := self._extended(tree, target)) is not None:
            if np.linalg.norm(tree.nodes[new] - target) < 1e-9:
                return True
        return False

    def _shortened(self, way: np.ndarray) -> np.ndarray:
        """A way (w, a) without detours that a straight line can replace."""
        for _ in range(self._options.shortcuts if len(way) > 2 else 0):
            shares = np.sort(self._random.uniform(size=2))
            begin, end = _resampled(way, shares)
            before, after = np.searchsorted(_lengths(way), shares, side="right")
            if before < after and self._can_go(begin, end):
                way = np.vstack([way[:before], begin, end, way[after:]])
        return way


class _Tree:
    """Postures, each with the one that it was reached from; roots have none."""

    def __init__(self, roots: np.ndarray):
        self.nodes, self._before = list(roots), [-1] * len(roots)

    def add(self, node: np.ndarray, before: int) -> int:
        self.nodes.append(node)
        self._before.append(before)
        return len(self.nodes) - 1

    def nearest(self, shares: np.ndarray) -> int:
        return int(np.argmin(np.linalg.norm(np.array(self.nodes) - shares, axis=1)))

    def way_to(self, number: int) -> np.ndarray:
        """(w, a) from a posture back to its root."""
        way = []
        while number >= 0:
            way.append(self.nodes[number])
            number = self._before[number]
        return np.array(way)


def _lengths(way: np.ndarray) -> np.ndarray:
    """(w,) shares of a way's length at its points, 0…1."""
    total = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    return total / max(total[-1], 1e-300)


def _resampled(way: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(n, a) points of a way at shares (n,) of its length."""
    return np.column_stack([np.interp(shares, _lengths(way), column) for column in way.T])
