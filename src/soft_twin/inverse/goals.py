"""What the inverse should reach. Each goal is a weighted least-squares term in the actuators' efforts e.

A goal answers with a residual r and a Jacobian J such that the value after the step misses the goal by r + J e; it
costs ½ w² ‖r + J e‖². Goals of a lower priority number come first: the others only choose among what is equally good
for those; where these cannot be reached, all are weighed against each other (`inverse/priorities.py`), so that the
weights of angles beside places matter.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from numbers import Real

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_vector, in_words
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.mechanics.unknowns import cross_matrices
from soft_twin.twins.base import Linearisation, Twin
from soft_twin.twins.frames import Frame

REACHED = 1e-4  # [m] a place closer than this is called reached
ALIGNED = 1e-3  # [rad] likewise an orientation
NO_LENGTH = 1e-9  # [m] a shorter piece of a curve has no direction
NEARLY_STRAIGHT = 1e-6  # of how far a place is behind the origin: it is straight behind it when no further aside
ALIKE = 1e-6  # [m/Pa] so that a kilopascal of pressure that is missed counts as a millimetre of cable


class Goal(ABC):
    """A term of the least-squares problem.

    Attributes:
        weight: of its residual among goals of the same priority.
        priority: 1 comes first.
        tolerance: a miss smaller than this is called reached, in the unit of the residual.
        keeps_taut: whether cables keep their least tension; else those that are told less than it takes are slack.
        frames: places of the body that it is about.
    """

    tolerance: float = REACHED
    keeps_taut: bool = True
    frames: Sequence[Frame] = ()

    def __init__(self, weight: float = 1.0, priority: int = 1, tolerance: float | None = None):
        """`tolerance`: None for that of its kind, 0.1 mm or 0.001 rad.

        Raises:
            InputError: a weight or a tolerance that is not positive and finite, or a priority that is no whole number.
        """
        for word, value in (("weight", weight), ("tolerance", tolerance)):
            if value is not None and not (isinstance(value, Real) and 0.0 < value < math.inf):
                raise InputError(f"{word} of a goal {value!r}: expected a positive, finite number")
        if not isinstance(priority, Real) or priority % 1 != 0:
            raise InputError(f"priority of a goal {priority!r}: expected a whole number, 1 comes first")
        self.weight, self.priority = float(weight), priority
        if tolerance is not None:
            self.tolerance = float(tolerance)

    def check_reach(self, twin: Twin) -> None:  # noqa: B027, most goals are at no place
        """Refuse a place that the twin is nowhere near to.

        Raises:
            InputError: see `check_distance`.
        """

    def _checked_frames(self, frames: Iterable[Frame]) -> list[Frame]:
        """One frame or more.

        Raises:
            InputError: none, or what is no frame, such as the name of one.
        """
        kind = type(self).__name__
        if isinstance(frames, Frame) or not isinstance(frames, Iterable):
            raise InputError(f"{kind}: expected a list of frames, found {in_words(frames)}")
        frames = list(frames)
        if not frames:
            raise InputError(f"{kind}: expected one frame or more, found none")
        for each in frames:
            if not isinstance(each, Frame):
                raise InputError(f"{kind}: expected a frame, such as twin.frames['tip'], found {in_words(each)}")
        return frames

    def is_of(self, twin: Twin) -> bool:
        """Whether the twin has the nodes that it is about."""
        return all(frame.is_of(twin) for frame in self.frames)

    @abstractmethod
    def residual_and_jacobian(self, twin: Twin, step: Linearisation) -> tuple[np.ndarray, np.ndarray]:
        """r (k,) and J (k, a) of this goal, for one Newton step of the twin."""

    @abstractmethod
    def miss(self, twin: Twin) -> float:
        """How far the twin's current state is from the goal, in the unit of the residual."""


class PositionGoal(Goal):
    """A frame shall be at `target` (3,) in base_link [m]."""

    def __init__(
        self,
        frame: Frame,
        target: Sequence[float],
        weight: float = 1.0,
        priority: int = 1,
        tolerance: float | None = None,
    ):
        super().__init__(weight, priority, tolerance)
        self.frames = self._checked_frames([frame])
        self.frame, self.target = frame, checked_vector(target, 3, "target")

    def check_reach(self, twin):
        check_distance(self.target, twin)

    def residual_and_jacobian(self, twin, step):
        place = self.frame.position(twin) + self.frame.move(twin, step.free_step)
        return place - self.target, self.frame.move(twin, step.step_per_effort)

    def miss(self, twin):
        away = self.frame.position(twin) - self.target
        return math.sqrt(away @ away)


class OrientationGoal(Goal):
    """A frame shall be turned by `target` (3, 3) from where it is in the undeformed body; [rad]."""

    tolerance = ALIGNED

    def __init__(
        self, frame: Frame, target: np.ndarray, weight: float = 1.0, priority: int = 1, tolerance: float | None = None
    ):
        super().__init__(weight, priority, tolerance)
        self.frames = self._checked_frames([frame])
        self.frame, self.target = frame, _numbers(target)
        if self.target.shape != (3, 3) or not np.allclose(self.target @ self.target.T, np.eye(3), atol=1e-6):
            raise InputError("orientation: expected a rotation matrix (3, 3)")
        if np.linalg.det(self.target) < 0.0:
            raise InputError(
                "orientation: expected a rotation matrix (3, 3), found a reflection: its determinant is −1"
            )

    def residual_and_jacobian(self, twin, step):
        away = self._away(twin)
        slope = _inverse_right_jacobian(away)
        free, by_effort = (self.frame.turn(twin, each) for each in (step.free_step, step.step_per_effort))
        return slope @ free - away, slope @ by_effort

    def miss(self, twin):
        return float(np.linalg.norm(self._away(twin)))

    def _away(self, twin: Twin) -> np.ndarray:
        """(3,) rotation vector that is left [rad]."""
        return Rotation.from_matrix(self.target @ self.frame.rotation(twin).T).as_rotvec()


class DirectionGoal(Goal):
    """A frame's `axis` (3,), of the undeformed body, shall point along `target` (3,) [rad]; it may turn about it."""

    tolerance = ALIGNED

    def __init__(
        self,
        frame: Frame,
        axis: Sequence[float],
        target: Sequence[float],
        weight: float = 1.0,
        priority: int = 1,
        tolerance: float | None = None,
    ):
        super().__init__(weight, priority, tolerance)
        self.frames = self._checked_frames([frame])
        self.frame, self.axis, self.target = frame, _unit(axis, "axis"), _unit(target, "target")

    def residual_and_jacobian(self, twin, step):
        now = self.frame.rotation(twin) @ self.axis
        across = _across(now)
        away = across @ _turn_between(now, self.target)
        return across @ self.frame.turn(twin, step.free_step) - away, across @ self.frame.turn(
            twin, step.step_per_effort
        )

    def miss(self, twin):
        return float(np.linalg.norm(_turn_between(self.frame.rotation(twin) @ self.axis, self.target)))


class CurveGoal(Goal):
    """Frames shall lie on a curve through `points` (m, 3) in base_link [m], wherever along it."""

    def __init__(
        self,
        frames: Sequence[Frame],
        points: np.ndarray,
        weight: float = 1.0,
        priority: int = 1,
        tolerance: float | None = None,
    ):
        super().__init__(weight, priority, tolerance)
        self.frames, self.points = self._checked_frames(frames), checked_curve(points)
        spans = np.diff(self.points, axis=0)
        longer = np.linalg.norm(spans, axis=1) > NO_LENGTH
        self._starts, self._spans = self.points[:-1][longer], spans[longer]

    def residual_and_jacobian(self, twin, step):
        pairs = [self._of(frame, twin, step) for frame in self.frames]
        return np.concatenate([residual for residual, _ in pairs]), np.vstack([jacobian for _, jacobian in pairs])

    def miss(self, twin):
        places = [frame.position(twin) for frame in self.frames]
        return max(float(np.linalg.norm(place - self._nearest(place)[0])) for place in places)

    def _of(self, frame: Frame, twin: Twin, step: Linearisation) -> tuple[np.ndarray, np.ndarray]:
        place = frame.position(twin)
        nearest, along = self._nearest(place)
        across = _across(along)
        return across @ (place + frame.move(twin, step.free_step) - nearest), across @ frame.move(
            twin, step.step_per_effort
        )

    def _nearest(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The curve's nearest point (3,) and its direction (3,) there."""
        share = ((place - self._starts) * self._spans).sum(axis=1) / (self._spans**2).sum(axis=1)
        points = self._starts + share.clip(0.0, 1.0)[:, None] * self._spans
        best = int(((points - place) ** 2).sum(axis=1).argmin())
        return points[best], self._spans[best] / np.linalg.norm(self._spans[best])


class SurfaceGoal(Goal):
    """Nodes of a body shall lie on a surface of points (m, 3) with normals (m, 3), of any length, in base_link: each in
    the tangent plane of the nearest point, as in point-to-plane registration (Chen and Medioni 1992)."""

    def __init__(
        self,
        nodes: np.ndarray,
        points: np.ndarray,
        normals: np.ndarray,
        weight: float = 1.0,
        priority: int = 1,
        tolerance: float | None = None,
    ):
        super().__init__(weight, priority, tolerance)
        self.nodes = _checked_nodes(nodes)
        self._points, self._normals = _numbers(points), _numbers(normals)
        if self._points.shape != self._normals.shape or not _are_places(self._points):
            raise InputError(
                f"surface: expected points (m, 3) and as many normals, found {self._points.shape}, "
                f"{self._normals.shape}"
            )
        if not (np.isfinite(self._points).all() and np.isfinite(self._normals).all()):
            raise InputError("surface: points and normals must be finite")
        lengths = np.linalg.norm(self._normals, axis=1)
        if not lengths.all():
            raise InputError(f"surface: the normal of point {int(lengths.argmin())} is zero: expected where it looks")
        self._normals = self._normals / lengths[:, None]
        self._tree = cKDTree(self._points)

    def is_of(self, twin):
        return bool(self.nodes.max() < len(twin.points))

    def residual_and_jacobian(self, twin, step):
        distances, normals = self._distances(twin)
        moves = np.einsum("ki,ki->k", normals, step.free_step[self.nodes])
        jacobian = np.einsum("ki,kia->ka", normals, step.step_per_effort[self.nodes])
        share = 1.0 / np.sqrt(len(self.nodes))
        return share * (distances + moves), share * jacobian

    def miss(self, twin):
        return float(np.sqrt((self._distances(twin)[0] ** 2).mean()))

    def _distances(self, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
        """(k,) from the tangent planes [m], and their normals (k, 3)."""
        places = twin.points[self.nodes]
        nearest = self._tree.query(places)[1]
        normals = self._normals[nearest]
        return np.einsum("ki,ki->k", places - self._points[nearest], normals), normals


class EffortGoal(Goal):
    """The efforts shall be near `wanted` (a,): what decides where the goals before it leave efforts open. It is never
    called missed. `weight`: [1/N], small where it is weighed against a goal that cannot be reached."""

    def __init__(self, wanted: Sequence[float], weight: float = 3e-3, priority: int = 2):
        super().__init__(weight, priority)
        self.wanted = checked_vector(wanted, np.size(wanted), "efforts")

    def residual_and_jacobian(self, twin, step):
        _check_count(self.wanted, twin, "efforts")
        return -self.wanted, np.eye(len(self.wanted))

    def miss(self, twin):
        return 0.0


class ActuationGoal(Goal):
    """Each actuator shall do what it is told: of a cable the coordinate, of all others the effort.

    A cable that is told less than what makes it taut is slack: with the compliance C = L Lᵀ of the cables and what they
    miss without tension, r, its tensions T ≥ 0 leave gaps C T + r ≥ 0 only where they are none, which is where
    ½ Tᵀ C T + rᵀ T, and so ½ ‖Lᵀ T + L⁻¹ r‖², is least.
    """

    keeps_taut = False

    def __init__(self, values: np.ndarray, weight: float = 1.0, priority: int = 1):
        """`values`: (a,) coordinates of cables [m], efforts of others [Pa].

        Raises:
            InputError: no finite numbers, or a weight or a priority as of any goal.
        """
        super().__init__(weight, priority)
        self.values = checked_vector(values, np.size(values), "values of actuators")

    def residual_and_jacobian(self, twin, step):
        _check_count(self.values, twin, "values of actuators")
        cables = told_by_coordinate(twin)
        efforts = np.where(cables, 0.0, self.values)
        missing = (step.coordinates + step.free_coordinates + step.compliance @ efforts - self.values)[cables]
        factor = _factor(step.compliance[np.ix_(cables, cables)])
        residual, jacobian = -ALIKE * efforts, ALIKE * np.diag(np.where(cables, 0.0, 1.0))
        residual[cables] = solve_triangular(factor, missing, lower=True)
        jacobian[np.ix_(cables, cables)] = factor.T
        return residual, jacobian

    def miss(self, twin):
        cables = told_by_coordinate(twin)
        short = np.maximum(self.values - twin.coordinates(), 0.0)  # a slack cable misses nothing
        return float(np.where(cables, short, ALIKE * np.abs(twin.efforts - self.values)).max())


class StayGoal(Goal):
    """The efforts shall stay near those of the last step: this alone keeps redundant actuators from wandering and
    Gauss–Newton from cycling. Where the iteration has settled it is met, and changes nothing.

    The weight is relative to `scales` (a,), what a unit of each effort moves.
    """

    def __init__(self, scales: np.ndarray, weight: float, priority: int = 1):
        super().__init__(weight, priority)
        self.scales = scales

    def residual_and_jacobian(self, twin, step):
        return -self.scales * twin.efforts, np.diag(self.scales)

    def cost(self, twin: Twin) -> tuple[np.ndarray, np.ndarray]:
        """Curvature (a,) for each effort, and slope (a,) at no effort, of ½ w² ‖r + J e‖²."""
        curvature = (self.weight * self.scales) ** 2
        return curvature, -curvature * twin.efforts

    def miss(self, twin):
        return 0.0


def _factor(compliance: np.ndarray) -> np.ndarray:
    """L with L Lᵀ = C.

    Raises:
        ConvergenceError: C is not positive definite, as that of no body in equilibrium is.
    """
    try:
        return np.linalg.cholesky(0.5 * (compliance + compliance.T))
    except np.linalg.LinAlgError as error:
        raise ConvergenceError("the cables' compliance is not positive") from error


def check_distance(target: np.ndarray, twin: Twin) -> None:
    """Refuse a target (3,) [m] that is further from the body's base than twice its length; and (0, 0, 0), of a message
    that nobody has filled in, which would pull the tip to its base.

    Raises:
        InputError: it is.
    """
    if not np.any(target):
        raise InputError("target: (0, 0, 0) is where base_link is: was its position left out?")
    distance = math.dist(target, twin.base)
    if distance > 2.0 * twin.length:
        raise InputError(
            f"target: {target.tolist()} m is {distance:.3g} m from the base, the body is {twin.length:g} m long: is it "
            "in metres, in base_link?"
        )


def _check_count(values: np.ndarray, twin: Twin, what: str) -> None:
    """Refuse values (n,) of another number of actuators than the twin has.

    Raises:
        InputError: they are.
    """
    if len(values) != twin.actuator_count:
        raise InputError(
            f"{what} {values.tolist()} are for {len(values)} actuators, the body has {twin.actuator_count}"
        )


def checked_curve(points: np.ndarray) -> np.ndarray:
    """(m, 3) points of a curve [m].

    Raises:
        InputError: fewer than two, not finite, or all in one place.
    """
    points = _numbers(points)
    if not _are_places(points) or len(points) < 2 or not np.isfinite(points).all():
        raise InputError(f"curve: expected at least two points (m, 3), finite, found an array {points.shape}")
    if not (np.linalg.norm(np.diff(points, axis=0), axis=1) > NO_LENGTH).any():
        raise InputError(f"curve: its {len(points)} points are one place: expected at least two that are apart")
    return points


def told_by_coordinate(twin: Twin) -> np.ndarray:
    """(a,) which actuators are told a coordinate: cables; all others are told an effort."""
    return np.array([unit == "N" for unit in twin.effort_units])


def arc_through(tip: np.ndarray, fraction: float) -> np.ndarray:
    """The point (3,) at `fraction` of the circular arc that leaves the origin along +z and ends at `tip` (3,).

    With the polar angle θ/2 = atan2(ρ, z) of the tip, the arc turns by θ, and its point at the fraction s has the
    chord |tip| sin(s θ/2)/sin(θ/2) under the polar angle s θ/2. Straight behind the origin no arc ends: the nearest is
    taken to lie in the plane of x and z, and to be a half circle there.
    """
    rho = float(np.hypot(tip[0], tip[1]))
    if rho < NEARLY_STRAIGHT * -tip[2]:
        tip, rho = np.array([-tip[2], 0.0, 0.0]), float(-tip[2])
    half = float(np.arctan2(rho, tip[2]))
    if half < 1e-9:
        return fraction * np.asarray(tip, dtype=float)
    chord = float(np.linalg.norm(tip)) * np.sin(fraction * half) / np.sin(half)
    sideways = np.array([tip[0], tip[1], 0.0]) / rho
    return chord * (np.sin(fraction * half) * sideways + np.array([0.0, 0.0, np.cos(fraction * half)]))


def _numbers(values: np.ndarray) -> np.ndarray:
    """A new array of numbers; one of no shape, not finite, of what are none."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _are_places(values: np.ndarray) -> bool:
    """Whether an array has the shape (m, 3) of one place or more."""
    return values.ndim == 2 and values.shape[1] == 3 and len(values) > 0


def _checked_nodes(nodes: np.ndarray) -> np.ndarray:
    """(k,) numbers of nodes.

    Raises:
        InputError: none, or what are no numbers of nodes.
    """
    nodes = np.asarray(nodes)
    if nodes.ndim != 1 or not len(nodes) or nodes.dtype.kind not in "iu":
        raise InputError(
            f"surface: expected numbers of nodes, from 0 on, found an array of shape {nodes.shape} of {nodes.dtype}"
        )
    if nodes.min() < 0:
        raise InputError(f"surface: expected numbers of nodes, from 0 on, found {nodes.min()}")
    return nodes


def _unit(vector: Sequence[float], what: str) -> np.ndarray:
    vector = checked_vector(vector, 3, what)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise InputError(f"{what}: a direction cannot be zero")
    return vector / length


def _across(direction: np.ndarray) -> np.ndarray:
    """(2, 3) two unit vectors across a unit vector (3,)."""
    first = np.cross(direction, np.eye(3)[np.abs(direction).argmin()])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(direction, first)])


def _turn_between(now: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(3,) the shortest rotation vector that brings a unit vector to another [rad]."""
    axis = np.cross(now, target)
    size = float(np.linalg.norm(axis))
    if size < 1e-12:
        return np.zeros(3) if now @ target > 0.0 else np.pi * _across(now)[0]
    return axis / size * np.arctan2(size, now @ target)


def _inverse_right_jacobian(turn: np.ndarray) -> np.ndarray:
    """J (3, 3) with log(exp(φ) exp(−δ)) = φ − J δ to first order: I + ½ [φ]× + (1/θ² − (1 + cos θ)/(2 θ sin θ)) [φ]×²
    (Chirikjian, *Stochastic Models, Information Theory, and Lie Groups*, vol. 2, 2011)."""
    angle = float(np.linalg.norm(turn))
    cross = cross_matrices(turn)
    if angle < 1e-4:
        share = 1.0 / 12.0
    else:
        share = 1.0 / angle**2 - (1.0 + np.cos(angle)) / (2.0 * angle * max(np.sin(angle), 1e-9))
    return np.eye(3) + 0.5 * cross + share * cross @ cross
