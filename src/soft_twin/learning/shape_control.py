"""Shape control: the pressures whose surface, as the networks say it, is nearest to a target (eq. 15).

    D(a, R, t) = Σ |p*(a) − (R c* + t)|²

over samples p* of the surface, c* being nearest to p* on the target, which R and t move into base_link. As in the
paper, the target's pose is improved by ICP between steps of the pressures, and these follow the analytic gradient
(eq. 16, Appendix A; JAX differentiates networks, B-spline, kernels and warp). Here a step is Gauss and Newton's, of
pressures and pose together: ∂D/∂a alone does not know that the pose will follow. Its Hessian is that of distances to
the target's discs, so that a surface may glide along the target; its gradient is D's. Pressures keep to their limits
in each step (a quadratic program); a line search on D, with closest points found anew, decides how far it goes.

Unknown are shares of inflation, −1…1, in which surfaces move more evenly than in pressures. Of a target that may have
holes, samples that are opposite them, or beyond its border, do not count: those further beside the discs than `reach`,
which narrows to nothing: what is still beside them would pull the surface, and a free pose, towards the border.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_count, checked_kind, checked_numbers, checked_vector, in_words
from soft_twin.errors import InputError
from soft_twin.learning.correction import Correction, ShapeModel
from soft_twin.learning.layer import lattice
from soft_twin.learning.samples import inflation_shares
from soft_twin.learning.shape_target import ShapeTarget, check_size
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp

FREE, FIXED = "free", "fixed"
SAMPLES = 1000  # of the surface
MOST = 40  # iterations
FIRST_ROUNDS, ROUNDS = 10, 1  # of ICP before the first step, and before each
WIDEST, NARROW, NARROWER = 0.25, 1.0, 0.5  # reach: of the body's size; of the spacing, before none; from step to step
GLIDE = 0.001  # weight of movement along the target in the Hessian
NEAR = 1e-3  # weight of staying, of the mean diagonal entry of the Hessian
STEP = 1.0  # largest change of a share
SETTLED = 1e-3  # change of a share, and relative decrease of D
HALVINGS = 8
REGISTERED = 20  # rounds of ICP, of what is only compared
LEAST_COUNTING = 0.1  # share of the samples that have to be opposite the target
SHAPES = 192  # that say where the surface may come
FAR, MOST_FAR = 0.1, 0.2  # of the body's size from there; share of a fixed target's points that may be so far
UNIT = 1e-3  # by which the rows of a rotation may differ from those of one
STROKE, SIZE = 0.25, 0.05  # of the way that air moves the surface, and of the body's size: as far is another surface
MM = 1e3
PARTS = ("forward", "gradient", "icp", "step")


class RigidMotion(NamedTuple):
    """Of a target in base_link: x = rotation c + translation [m]."""

    rotation: np.ndarray
    translation: np.ndarray


@dataclass(frozen=True)
class ShapeSolution:
    """What shape control found.

    Attributes:
        pressures: (a,) [Pa].
        points: (n, 3) of the surface that is predicted there [m], in base_link.
        pose: of the target.
        distances: (n,) of these points from the target [m]; NaN of those opposite a hole, or beyond its border.
        iterations: steps.
        converged: pressures and distances do not change any more.
        active_limits: such as "cell_11 pressure max".
        seconds: of each iteration: forward (networks, surface, warp), gradient, icp (closest points, pose), step
            (quadratic program); what precedes the first is told by "start".
        far: the mean distance is so large that the target is another surface's shape, or far out of reach.
    """

    pressures: np.ndarray
    points: np.ndarray
    pose: RigidMotion
    distances: np.ndarray
    iterations: int
    converged: bool
    active_limits: tuple[str, ...]
    seconds: dict[str, np.ndarray]
    far: bool

    @property
    def mean(self) -> float:
        """Of the distances [m]."""
        return float(np.nanmean(self.distances))

    @property
    def largest(self) -> float:
        """Of the distances [m]."""
        return float(np.nanmax(self.distances))


class _State(NamedTuple):
    """Of the search, lengths in millimetres.

    Attributes:
        shares: (a,).
        points: (n, 3) of the surface.
        pose: of the target.
        away: (n, 3) to the points from what is nearest to them, in base_link.
        normals: (n, 3) of the target there.
        beside: (n,) see `Feet`.
    """

    shares: np.ndarray
    points: np.ndarray
    pose: RigidMotion
    away: np.ndarray
    normals: np.ndarray
    beside: np.ndarray

    def value(self, counts: np.ndarray) -> float:
        """D over the number of samples that count (n,) [mm²]."""
        return float((self.away[counts] ** 2).sum() / counts.sum())


@dataclass
class _Clock:
    """Seconds of each part of each iteration."""

    rows: list[dict[str, float]] = field(default_factory=list)

    def begin(self) -> None:
        self.rows.append(dict.fromkeys(PARTS, 0.0))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.rows[-1][name] += time.perf_counter() - start

    def table(self) -> dict[str, np.ndarray]:
        found = {name: np.array([row[name] for row in self.rows[1:]]) for name in PARTS}
        return found | {"start": np.array([sum(self.rows[0].values())])}


class ShapeControl:
    """Finds pressures for shapes; functions are compiled once, when it is built.

    Args:
        model: what predicts the surface: a correction, or its `shapes` for the surface that is not corrected.
        samples: of the surface; the square number next to it.
        names: of the chambers, for messages.

    Raises:
        InputError: no model, no samples, or names of more or fewer chambers.
    """

    def __init__(self, model: Correction | ShapeModel, samples: int = SAMPLES, names: Sequence[str] = ()):
        expected = "a correction, as soft_twin.learning.load(FILE) gives it, or its `shapes`"
        checked_kind(model, (Correction, ShapeModel), expected, "model")
        checked_count(samples, "samples")
        self.shapes = model.shapes if isinstance(model, Correction) else model
        self.names = tuple(names) or tuple(f"chamber {i + 1}" for i in range(len(self.shapes.limits)))
        if len(self.names) != len(self.shapes.limits):
            raise InputError(f"names: {len(self.names)} of them, of {len(self.shapes.limits)} chambers")
        surface = model.surface(lattice(samples))
        self._surface = jax.jit(surface)
        self._slopes = jax.jit(jax.jacfwd(surface))
        self._inputs = jax.jit(self.shapes.inputs)
        self._low, self._high = (np.array(self._inputs(jnp.asarray(each))) for each in self.shapes.limits.T)
        self._predict(self._low), self.derivatives(self._low)

    def derivatives(self, shares: np.ndarray) -> np.ndarray:
        """(n, 3, a) ∂p*/∂shares [mm] of the samples at shares of inflation (a,), −1…1 (eq. 17)."""
        return np.asarray(self._slopes(jnp.asarray(shares, jnp.float32)), float)

    def solve(
        self,
        target: ShapeTarget,
        pose: str = FREE,
        pressures: np.ndarray | None = None,
        at: RigidMotion | None = None,
        most: int = MOST,
    ) -> ShapeSolution:
        """The pressures whose surface is nearest to a target.

        Args:
            target: it.
            pose: "free": the target may be moved as a rigid body, up to some 30° from where it begins; "fixed": it is
                where it shall be, in base_link.
            pressures: (a,) where the search begins [Pa]; None: chambers half inflated.
            at: where the target begins; None: in base_link; a free one with its middle in the surface's.
            most: iterations.

        Raises:
            InputError: pressures beyond their limits, a target that is too large or too small, or nowhere near the
                body; of a fixed one, where the surface never comes; or something that is none of these.
        """
        checked_count(most, "most")
        clock = _Clock()
        state = self._begin(target, pose, pressures, at, clock)
        least = _least_reach(target)
        reach, converged, iterations = max(WIDEST * self.shapes.size, least), False, 0
        if pose == FREE:
            with clock.part("icp"):
                state = self._fitted(state, target, reach)
        while iterations < most and not converged:
            clock.begin()
            iterations += 1
            counts = self._counts(state, reach)
            for _ in range(ROUNDS if pose == FREE else 0):
                with clock.part("icp"):
                    state = _match(target, state.shares, state.points, _aligned(state, counts))
            before = state.value(counts)
            state, moved = self._stepped(state, counts, target, pose == FREE, clock)
            settled = moved < SETTLED or before - state.value(counts) < SETTLED * before
            converged = settled and reach == least
            narrow = settled or reach <= NARROW * target.spacing
            reach = least if narrow else max(NARROWER * reach, least)
        return self._solution(state, self._counts(state, least), iterations, converged, clock)

    def distances(self, target: ShapeTarget, pressures: np.ndarray, at: RigidMotion, pose: str = FREE) -> np.ndarray:
        """(n,) how far the surface at pressures (a,) [Pa] is from a target [m], as those of a solution: from where it
        begins, or, if its pose is free, from where it fits best.

        Raises:
            InputError: as `solve`.
        """
        state = self._begin(target, pose, pressures, at, _Clock())
        least = _least_reach(target)
        state = self._fitted(state, target, least) if pose == FREE else state
        return self._distances(state, self._counts(state, least))

    def _begin(self, target: ShapeTarget, pose: str, pressures, at: RigidMotion | None, clock: _Clock) -> _State:
        checked_kind(target, ShapeTarget, "a ShapeTarget, ShapeTarget.of(POINTS) or read_target(FILE)", "target")
        if not isinstance(pose, str) or pose not in (FREE, FIXED):
            raise InputError(f"pose {in_words(pose)}: expected '{FREE}' or '{FIXED}'")
        check_size(target.extent, self.shapes.size)
        clock.begin()
        shares = 0.5 * (self._low + self._high)
        if pressures is not None:
            checked = self.shapes.checked(pressures)
            shares = np.clip(np.asarray(self._inputs(jnp.asarray(checked, jnp.float32)), float), self._low, self._high)
        with clock.part("forward"):
            points = self._predict(shares)
        place = RigidMotion(np.eye(3), np.zeros(3)) if at is None else _checked_motion(at)
        if at is None and pose == FREE:
            place = place._replace(translation=points.mean(axis=0) - target.points.mean(axis=0))
        with clock.part("icp"):
            state = _match(target, shares, points, place)
        self._check_near(target, place, points)
        if pose == FIXED:
            self._check_within_reach(target, place)
        return state

    def _fitted(self, state: _State, target: ShapeTarget, reach: float) -> _State:
        """With the target's pose improved by ICP, in which samples count that are beside it by no more than a reach."""
        for _ in range(FIRST_ROUNDS):
            state = _match(target, state.shares, state.points, _aligned(state, self._counts(state, reach)))
        return state

    def _predict(self, shares: np.ndarray) -> np.ndarray:
        return np.asarray(self._surface(jnp.asarray(shares, jnp.float32)), float)

    def _stepped(
        self, state: _State, counts: np.ndarray, target: ShapeTarget, free: bool, clock: _Clock
    ) -> tuple[_State, float]:
        """The state after one step, and the largest change of a share; the same state where nothing is better."""
        with clock.part("gradient"):
            slopes = self.derivatives(state.shares)
        with clock.part("step"):
            change = self._change(state, counts, slopes, free)
        before, length = state.value(counts), 1.0
        for _ in range(HALVINGS):
            shares = np.clip(state.shares + length * change[: len(state.shares)], self._low, self._high)
            with clock.part("forward"):
                points = self._predict(shares)
            with clock.part("icp"):
                tried = _match(target, shares, points, _turned(state, length * change[len(shares) :]))
            if tried.value(counts) < before:
                return tried, float(np.abs(shares - state.shares).max())
            length *= 0.5
        return state, 0.0

    def _change(self, state: _State, counts: np.ndarray, slopes: np.ndarray, free: bool) -> np.ndarray:
        """(a + 6,) of shares, of the pose's rotation about the feet's middle and of its translation [mm], or (a,)."""
        A, a = slopes[counts], len(state.shares)
        if free:
            arms = (state.points - state.away - _middle(state))[counts]
            A = np.concatenate([A, _cross(arms), np.broadcast_to(-np.eye(3), (len(arms), 3, 3))], axis=2)
        along = np.where(state.beside[counts] > 0.0, 1.0, GLIDE)
        off = (state.normals[counts][:, :, None] * A).sum(axis=1)
        rows = (A * np.sqrt(along)[:, None, None]).reshape(-1, A.shape[2])
        H, f = rows.T @ rows + (off.T * (1.0 - along)) @ off, np.einsum("nd,ndk->k", state.away[counts], A)
        H += NEAR * np.diag(np.diag(H) + np.where(np.arange(len(H)) < a, np.trace(H[:a, :a]) / a, 0.0))
        low, high = (np.clip(each - state.shares, -STEP, STEP) for each in (self._low, self._high))
        follow = -np.linalg.solve(H[a:, a:], np.column_stack([f[a:], H[a:, :a]]))  # of the pose, after the shares
        shares = solve_box_qp(H[:a, :a] + H[:a, a:] @ follow[:, 1:], f[:a] + H[:a, a:] @ follow[:, 0], low, high)
        return np.concatenate([shares, follow @ [1.0, *shares]])

    def _counts(self, state: _State, reach: float) -> np.ndarray:
        """(n,) which samples are opposite the target.

        Raises:
            InputError: hardly any.
        """
        counts = state.beside <= reach
        if counts.mean() < LEAST_COUNTING:
            raise InputError(
                f"target: it lies beside the surface: {int(counts.sum())} of {len(counts)} points of it are opposite "
                "the target; give a pose to begin with"
            )
        return counts

    def _check_near(self, target: ShapeTarget, place: RigidMotion, points: np.ndarray) -> None:
        """Refuse a target that is nowhere near the body, in base_link or where it begins."""
        there = target.points @ place.rotation.T + place.translation
        gap = float(np.linalg.norm(there.mean(axis=0) - points.mean(axis=0)))
        if gap > self.shapes.size:
            raise InputError(
                f"target: no point of it is near the body: its middle is {gap / MM:.3g} m from the surface's, which is "
                f"{self.shapes.size / MM:.3g} m large; expected in base_link, or with a free pose"
            )

    def _check_within_reach(self, target: ShapeTarget, place: RigidMotion) -> None:
        """Refuse a target much of which is far from wherever the surface comes."""
        away, _ = self._reach.query(target.points @ place.rotation.T + place.translation)
        far = float((away > FAR * self.shapes.size).mean())
        if far > MOST_FAR:
            raise InputError(
                f"target: {100.0 * far:.0f} % of its points are more than {FAR * self.shapes.size / MM:.3g} m from "
                f"wherever the surface comes: is it in base_link? With a free pose it may lie anywhere"
            )

    @cached_property
    def _reach(self) -> cKDTree:
        """Points of the surface under many pressures [mm]."""
        return cKDTree(np.concatenate(self._many))

    @cached_property
    def _far(self) -> float:
        """Mean distance from which on a surface is hardly the target's [mm]."""
        middle = self._predict(0.5 * (self._low + self._high))
        stroke = max(np.linalg.norm(each - middle, axis=1).mean() for each in self._many)
        return min(STROKE * float(stroke), SIZE * self.shapes.size)

    @cached_property
    def _many(self) -> list[np.ndarray]:
        """Surfaces (n, 3) under many pressures [mm]."""
        shares = inflation_shares(len(self._low), max(SHAPES, 2 * len(self._low)))
        return [self._predict(self._low + each * (self._high - self._low)) for each in shares]

    def _solution(
        self, state: _State, counts: np.ndarray, iterations: int, converged: bool, clock: _Clock
    ) -> ShapeSolution:
        inflation = self.shapes.inflation
        pressures = np.clip(inflation.pressures_of(0.5 * (state.shares[None] + 1.0))[0], *self.shapes.limits.T)
        limits = zip(self.names, state.shares <= self._low + 1e-4, state.shares >= self._high - 1e-4, strict=True)
        active = [f"{name} pressure {'max' if top else 'min'}" for name, bottom, top in limits if bottom or top]
        distances = self._distances(state, counts)
        pose = RigidMotion(state.pose.rotation, state.pose.translation / MM)
        return ShapeSolution(
            pressures,
            state.points / MM,
            pose,
            distances,
            iterations,
            converged,
            tuple(active),
            clock.table(),
            bool(MM * np.nanmean(distances) > self._far),
        )

    @staticmethod
    def _distances(state: _State, counts: np.ndarray) -> np.ndarray:
        """(n,) [m]; NaN of those that do not count."""
        return np.where(counts, np.linalg.norm(state.away, axis=1), np.nan) / MM


def registered(target: ShapeTarget, points: np.ndarray, rounds: int = REGISTERED) -> tuple[RigidMotion, np.ndarray]:
    """The pose of a target that fits points (p, 3) [m] best, beginning where it is (ICP), and their distances from it
    there (p,) [m]."""
    everywhere = np.ones(len(points), bool)
    state = _match(target, np.zeros(0), MM * points, RigidMotion(np.eye(3), np.zeros(3)))
    for _ in range(rounds):
        state = _match(target, state.shares, state.points, _aligned(state, everywhere))
    distances = np.linalg.norm(state.away, axis=1) / MM
    return RigidMotion(state.pose.rotation, state.pose.translation / MM), distances


def _least_reach(target: ShapeTarget) -> float:
    """How far beside a target's discs samples count in the end [mm]."""
    return np.inf if target.whole else 0.0


def _checked_motion(at: RigidMotion) -> RigidMotion:
    """The motion, its translation in millimetres.

    Raises:
        InputError: it is none.
    """
    checked_kind(at, RigidMotion, "a RigidMotion(rotation (3, 3), translation (3,) [m])", "at")
    turn = checked_numbers(at.rotation, "a matrix (3, 3)", "rotation")
    if turn.shape != (3, 3) or not (np.abs(turn @ turn.T - np.eye(3)) < UNIT).all() or np.linalg.det(turn) < 0.0:
        raise InputError(f"rotation: expected a rotation's matrix (3, 3), found {turn.tolist()}")
    return RigidMotion(turn, MM * checked_vector(at.translation, 3, "translation [m]"))


def _match(target: ShapeTarget, shares: np.ndarray, points: np.ndarray, pose: RigidMotion) -> _State:
    """The target in a pose [mm], seen from a surface."""
    feet = target.feet((points - pose.translation) @ pose.rotation)
    turned = pose.rotation.T
    return _State(shares, points, pose, feet.away @ turned, feet.normals @ turned, feet.beside)


def _aligned(state: _State, counts: np.ndarray) -> RigidMotion:
    """The pose whose feet are nearest to the points as they are paired (Kabsch); D cannot grow by it."""
    points = state.points[counts]
    feet = points - state.away[counts]
    middles = points.mean(axis=0), feet.mean(axis=0)
    u, _, vt = np.linalg.svd((points - middles[0]).T @ (feet - middles[1]))
    turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
    return _moved(state.pose, turn, middles[1], middles[0] - middles[1])


def _turned(state: _State, change: np.ndarray) -> RigidMotion:
    """The pose after a rotation vector about the feet's middle and a translation [mm], (6,); the same after (0,)."""
    if not len(change):
        return state.pose
    return _moved(state.pose, Rotation.from_rotvec(change[:3]).as_matrix(), _middle(state), change[3:])


def _middle(state: _State) -> np.ndarray:
    """(3,) of the feet."""
    return (state.points - state.away).mean(axis=0)


def _cross(arms: np.ndarray) -> np.ndarray:
    """(n, 3, 3) matrices that are v × of vectors v (n, 3)."""
    x, y, z = arms.T
    zero = np.zeros_like(x)
    return np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)


def _moved(pose: RigidMotion, turn: np.ndarray, about: np.ndarray, shift: np.ndarray) -> RigidMotion:
    """A pose turned about a point, then shifted."""
    return RigidMotion(turn @ pose.rotation, turn @ (pose.translation - about) + about + shift)
