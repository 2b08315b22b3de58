"""A plate held where it shall be: a model forwards, what the IMUs see integrated on top of it.

The model turns the bend that is asked of it into cables (feed-forward). What the plate is then seen to miss is
integrated in the bend, so that the model's own inverse carries it to the cables:

    asked = reference + c,   ċ = ω (K (missed + c − c₀) − (c − c₀)),   missed = expected − seen,

expected being the reference after a lag τ, as of body and drives. So c comes to c₀ + K times what the plate would miss
by c₀ alone, which is what c had come to where the plate rested before.

The reference goes straight from one target to the next, no faster than the winches can follow, and gathers speed no
faster than leaves the plate's IMU believed. So nothing is wound up while the plate is on its way, and a model that is
right is left alone. Whatever the model says, cables are told no more than their limits of displacement and rate allow.

Where a limit binds, the integral goes on in the directions that it leaves, and not against it (anti-windup): of ċ what
points along a blocking normal n is taken away. A cable at its limit of displacement blocks what would have it beyond, n
its slope by the bend; but not one that is paid out as far as it goes and slack. A model with limits of its own says how
far they keep it `short` of what it was asked, and that is n. While the rate binds, while winches are behind what they
were told, and where nothing is seen, the integral stands still; it is never more than `largest`.

What gravity hardly tells of a bend errs by much: where the base nearly lies, by three times what the IMUs do. So what
is seen counts beside the model as well as it is known, K = P (P + S)⁻¹: S is the covariance of the bend as it is seen,
and P that of c₀, which grows by the share that the model errs by of the way from there (`PlateModel.error_share`), and
slowly with time; it is never more than what the model may err by where nothing was ever seen, `first_error` and that
share of the whole bend. How much the correction changes from pose to pose where gravity tells it well says how much
the model errs by of this neck: what was seen counts beside the share as so many observations more. What is missed by
more than both may err tells that something else has changed, and counts.

A model that breaks down begins anew from its straight body, and goes on from there, a step a tick. Until it has come to
what is asked of it the last command is held, and so it is where a model is not sure of its equilibrium.

How late plate and drives are differs from τ by their loads, and how they come to rest is not modelled at all. On its
way, at the speed v, the plate so misses by δ v what is no fault of the model's: who integrates it has to take it back
at the target, for a second. So ω becomes ω P / (P + δ² v²): the integral stands still on a quick way, and begins to
count when the plate comes to rest.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.plate_sight import Sight
from soft_twin.inverse.plate_watch import TAUT
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.plate_model import PlateModel, PlateStep
from soft_twin.twins.plate_orientation import axis_at, checked_pitch_roll, pitch_roll_of

NOTHING = 1e-9  # [m] by which a command may differ from what is wanted
BEHIND = 0.002  # [m] by which winches may be away from their commands while what is seen of the plate still counts
SHORT = 1e-3  # [rad] by which limits keep a model from what it was asked before that blocks
GRAVITY_ERROR = 0.003  # [rad] of the directions that IMUs tell
LATENESS = 0.25  # [s] by which a plate may be late, or early, beside the lag that is expected of it …
CALMING = 0.15  # [s] … and time constant with which what that made of a motion's squared speed dies away
FORGOTTEN = 60.0  # [s] in which the integral comes to be known as badly as two gravities tell, not one
SURPRISING = 2.0  # standard deviations
RESTED = 1.0  # [s] at the target, after which the integral has come to what it is there
SAME_VIEW = 0.1  # share of its variance by which what is seen may be seen otherwise, while the base rests
FEW = 1.0  # observations that a model's own error_share counts as
WELL = 2.0  # times what the IMUs err by, that a bend which says how much a model errs is seen with at the most
ON_ITS_WAY = "the model is on its way to where the plate is asked to be"
UNSURE = "the model may have lost its equilibrium"
A_WAY = 0.1  # [rad] between two poses that say so


@dataclass(frozen=True)
class Known:
    """What the integral had come to where the plate rested.

    Attributes:
        bend: (2,) there [rad].
        correction: (2,) [rad].
        covariance: (2, 2) of it [rad²].
    """

    bend: np.ndarray
    correction: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class PlateGains:
    """bandwidth ω [rad/s] below that of body and drives; lag τ [s]; speed [rad/s] and acceleration [rad/s²] of the
    reference; largest correction [rad]."""

    bandwidth: float = 5.0
    lag: float = 0.1
    speed: float = 1.8
    acceleration: float = 15.0
    largest: float = 0.3


@dataclass(frozen=True)
class CommandLimits:
    """What no command exceeds: displacements of the cables, alike or (c,) each [m], and their rate [m/s]; (c,) names of
    the cables."""

    displacement: tuple[float | np.ndarray, float | np.ndarray]
    rate: float
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class PlateTick:
    """What one update decided.

    Attributes:
        displacements: (c,) cable to be pulled in [m].
        correction: (2,) what is added to the reference [rad].
        progress: share of the way to the target that the reference has gone, 0…1.
        closed: whether something was seen and counted.
        holding: the model had no answer: the last command is held.
        unseen: (2,) direction of the bend that is only steered, since gravity does not tell it; None: none.
        active_limits: that keep cables from what the model wants, or the model from what it was asked, in words.
        blocked: (k, 2) unit normals, directions of the bend in which limits let it go no further.
        at_largest: the correction is as large as it may be, and the plate still is not where it should be.
        reason: why the last command is held; "" where it is not.
    """

    displacements: np.ndarray
    correction: np.ndarray
    progress: float
    closed: bool
    holding: bool
    unseen: np.ndarray | None
    active_limits: tuple[str, ...]
    blocked: np.ndarray
    at_largest: bool
    reason: str = ""

    @property
    def reachable(self) -> bool:
        """Whether it is not limits that keep the plate from its target."""
        return not self.holding and not len(self.blocked)


class PlateController:
    """See the module's docstring.

    Attributes:
        model: may be changed at any time. While the plate is seen no cable moves by that: the correction becomes what
            the other model has to add for the last command.
        expected: (2,) bend where the plate should be by now [rad].
        correction: (2,) the integral [rad].
    """

    def __init__(self, model: PlateModel, gains: PlateGains | None = None, limits: CommandLimits | None = None):
        """`limits`: None: none."""
        self.model, self.gains, self._limits = model, gains or PlateGains(), limits
        self.expected, self.correction, self._reference, self._velocity = np.zeros((4, 2))
        self._command: np.ndarray | None = None
        self._astray, self._reason = False, ""  # whether the model is on its way back, and why there is no answer
        self._blocked, self._target = np.zeros((0, 2)), np.zeros(2)
        self._known = self._comes_to = self._unknown(np.zeros(2))
        self._judged, self._observations, self._squared_shares = model, 0, 0.0
        self._rested, self._view = 0.0, np.eye(2)
        self._liveliness = 0.0  # mean square of the speed that is expected [rad²/s²]
        self.aim(0.0, 0.0)

    def aim(self, pitch: float, roll: float, duration: float = 0.0, speed: float = 0.0) -> None:
        """A new target [rad], to be reached in `duration` [s] or at the highest `speed` [rad/s], or later where that
        would be too fast; 0: as fast as it may be.

        Raises:
            InputError: not finite, no orientation (pitch beyond ±π/2, roll beyond ±π), a duration or speed that is
                negative, or both of them.
        """
        target = np.array(bend_of(*checked_pitch_roll(pitch, roll)))
        if not 0.0 <= duration < np.inf:
            raise InputError(f"duration: {duration:g} s is not finite and 0 or more")
        if not 0.0 <= speed < np.inf or (duration > 0.0 and speed > 0.0):
            raise InputError(f"speed {speed:g} rad/s, duration {duration:g} s: expected one of the two, 0 or more")
        self._target = target
        self._way = float(np.hypot(*(self._target - self._reference)))
        asked = self._way / duration if duration > 0.0 else speed or np.inf
        self._speed = min(self.gains.speed, asked)

    def begin_at(self, bend: np.ndarray, displacements: np.ndarray) -> None:
        """Begin anew from where plate and cables stand: from a bend (2,) [rad] the reference goes to the target, from
        displacements (c,) [m] the commands, as fast as they may.

        Raises:
            InputError: wrong sizes or not finite.
        """
        self._reference = self.expected = checked_vector(bend, 2, "bend")
        self._command = checked_vector(displacements, len(displacements), "displacements")
        self.correction = self._velocity = np.zeros(2)
        self._known, self._rested, self._liveliness = self._unknown(self._reference), 0.0, 0.0
        self._way = float(np.hypot(*(self._target - self._reference)))

    @property
    def time_left(self) -> float:
        """Until the reference is at the target at the speed that it may have [s]."""
        left = float(np.hypot(*(self._target - self._reference)))
        return left / self._speed if left > 0.0 else 0.0

    @property
    def command(self) -> np.ndarray | None:
        """(c,) displacements [m] as they were told last; None: nothing was told yet."""
        return self._command

    @property
    def target_bend(self) -> np.ndarray:
        """(2,) that is aimed at [rad]."""
        return self._target

    @property
    def target(self) -> tuple[float, float]:
        """Pitch and roll [rad] that are aimed at."""
        return pitch_roll_of(axis_at(self._target))

    def update(
        self,
        sight: Sight | None,
        dt: float,
        tensions: np.ndarray | None = None,
        wound: np.ndarray | None = None,
    ) -> PlateTick:
        """One step of `dt` [s].

        Args:
            sight: None where an IMU is lost, which opens the loop.
            dt: since the last one [s].
            tensions: (c,) of the cables [N]; None: not known, all count as taut.
            wound: (c,) displacements as the winches say [m]; None: not known, they count as told.

        Raises:
            InputError: the first pose of all is out of reach.
            ConvergenceError: the model broke down, and there is no command yet that could be held.
        """
        left = self._advance(dt)
        if self.model is not self._judged:
            self._change_over(sight is not None)
        before = self.correction
        if sight is not None and not self._behind(wound):
            self.correction = before + self._integrated(sight, dt)
        at_largest = bool(np.hypot(*self.correction) >= (1.0 - 1e-9) * self.gains.largest)
        asked = self._reference + self.correction
        step = self._ask(asked)
        limits: tuple[str, ...] = ()
        if step is not None:
            limits, hurried = self._tell(step, asked, dt, tensions)
        if step is None or hurried:
            self.correction = before
        return PlateTick(
            displacements=self._command.copy(),
            correction=self.correction.copy(),
            progress=1.0 - left / self._way if left > 0.0 else 1.0,
            closed=sight is not None,
            holding=step is None,
            unseen=None if sight is None else sight.unseen,
            active_limits=limits,
            blocked=self._blocked.copy(),
            at_largest=at_largest,
            reason=self._reason,
        )

    def unlearn(self, dt: float) -> None:
        """What was seen was not so: what was integrated dies away, over `dt` [s] now, and counts for nothing later."""
        self.correction = np.exp(-self.gains.bandwidth * dt) * self.correction
        self._known, self._rested = self._unknown(self._reference), 0.0
        self._observations, self._squared_shares = 0, 0.0

    def begin_model_anew(self) -> None:
        """The model goes from its straight body to what is asked of it; the last command is held meanwhile."""
        self.model.reset()
        self._astray = True

    def _advance(self, dt: float) -> float:
        """Move reference and what is expected; how far it is still to the target [rad].

        The fastest speed from which the reference still comes to rest at the target, in steps of dt that each take off
        a dt, is √((a dt/2)² + 2 a left) − a dt/2.
        """
        away = self._target - self._reference
        left, change = float(np.hypot(*away)), self.gains.acceleration * dt
        if left > 0.0:
            stopping = np.sqrt(0.25 * change**2 + 2.0 * self.gains.acceleration * left) - 0.5 * change
            wanted = min(self._speed, stopping, left / dt) / left * away
            turned = wanted - self._velocity
            self._velocity = self._velocity + min(1.0, change / max(np.hypot(*turned), 1e-300)) * turned
            self._reference = self._reference + dt * self._velocity
            if np.hypot(*(self._target - self._reference)) < 1e-9:
                self._reference, self._velocity = self._target.copy(), np.zeros(2)
        moved = -np.expm1(-dt / self.gains.lag) * (self._reference - self.expected)
        self.expected = self.expected + moved
        self._liveliness -= np.expm1(-dt / CALMING) * (moved @ moved / dt**2 - self._liveliness)
        return float(np.hypot(*(self._target - self._reference)))

    def _change_over(self, seen: bool) -> None:
        """Another model steers from now on: what was learnt was of the one before."""
        self._judged, self._observations, self._squared_shares = self.model, 0, 0.0
        self._known, self._rested = self._unknown(self._reference), 0.0
        if self._command is None:
            return
        self.begin_model_anew()
        if seen:
            with suppress(InputError, ConvergenceError):
                has = np.array(bend_of(*self.model.orientation(self._command))) - self._reference
                self.correction = has * min(1.0, self.gains.largest / max(np.hypot(*has), 1e-300))

    def _behind(self, wound: np.ndarray | None) -> bool:
        """Whether winches at displacements (c,) [m] have yet to come to where they were told to be."""
        if wound is None or self._command is None:
            return False
        return bool(np.abs(self._command - wound).max() > BEHIND)

    def _integrated(self, sight: Sight, dt: float) -> np.ndarray:
        """What is added to the correction (2,), so that nothing blocks it and it stays within its largest size."""
        counted, known_to = self._counted(self.expected - sight.bend, sight, dt)
        rate = self.gains.bandwidth * known_to / (known_to + LATENESS**2 * self._liveliness) * counted
        wanted = self.correction + dt * _let_through(rate, self._blocked)
        size = np.hypot(*wanted)
        return wanted * min(1.0, self.gains.largest / max(size, 1e-300)) - self.correction

    def _counted(self, missed: np.ndarray, sight: Sight, dt: float) -> tuple[np.ndarray, float]:
        """How far (2,) the correction is from the likeliest one, where a way (2,) is seen to be missed [rad]; and the
        variance [rad²] that it was known to."""
        self._remember(sight, dt)
        known = self._known
        forgotten = known.covariance + dt / FORGOTTEN * GRAVITY_ERROR**2 * np.eye(2)
        self._known = known = Known(known.bend, known.correction, forgotten)
        changed = self.correction - known.correction
        share = self._error_share
        grown = forgotten + (share * np.hypot(*(self._reference - known.bend))) ** 2 * np.eye(2)
        prior = _no_more(grown, self.model.first_error**2 + (share * np.hypot(*self._reference)) ** 2)
        shown = _shown(sight.unseen)
        noise = GRAVITY_ERROR**2 * sight.spread
        gain, left = _learnt(prior, noise, missed + changed, shown)
        lasting = GRAVITY_ERROR**2 * np.eye(2)  # errors of IMUs are the same the next time
        self._comes_to = Known(self._reference, self.correction, left + lasting)
        return gain @ (missed + changed) - shown.T @ shown @ changed, 0.5 * float(np.trace(prior))

    def _remember(self, sight: Sight, dt: float) -> None:
        """What the integral has come to is known once the target or the base moves on from where the plate rested."""
        resting = (self._reference == self._target).all()
        if resting and np.abs(sight.spread - self._view).max() < SAME_VIEW * np.trace(sight.spread):
            self._rested += dt
            return
        if self._rested > RESTED:
            self._judge(self._comes_to, self._view)
            self._known = self._comes_to
        self._rested, self._view = 0.0, sight.spread

    def _judge(self, now: Known, spread: np.ndarray) -> None:
        """How much has the model erred by, of the way from where the plate rested before, in directions that are seen
        well? `spread` (2, 2): of the bend as it is seen now."""
        way = np.hypot(*(now.bend - self._known.bend))
        if way < A_WAY:
            return
        sizes, directions = np.linalg.eigh(spread)
        shares = (directions.T @ (now.correction - self._known.correction))[sizes <= WELL**2] / way
        self._observations += len(shares)
        self._squared_shares += float(shares @ shares)

    @property
    def _error_share(self) -> float:
        """Of a bend that the model errs by: its own, and what was seen."""
        squares = FEW * self.model.error_share**2 + self._squared_shares
        return float(np.sqrt(squares / (FEW + self._observations)))

    def _unknown(self, bend: np.ndarray) -> Known:
        """At a bend (2,) [rad] of which nothing was seen."""
        return Known(bend, np.zeros(2), self.model.first_error**2 * np.eye(2))

    def _ask(self, bend: np.ndarray) -> PlateStep | None:
        """What the model has the cables do for a bend; None where it has no answer: the last command stands."""
        try:
            step = self.model.step(*pitch_roll_of(axis_at(bend)))
        except (InputError, ConvergenceError) as error:
            if isinstance(error, ConvergenceError):
                self.begin_model_anew()
            if self._command is None:
                raise
            self._reason = str(error)
            return None
        self._astray = not step.sure or (self._astray and not step.settled)
        if self._command is not None and self._astray:
            self._reason = ON_ITS_WAY if step.sure else UNSURE
            return None
        self._reason = ""
        return step

    def _tell(
        self, step: PlateStep, asked: np.ndarray, dt: float, tensions: np.ndarray | None
    ) -> tuple[tuple[str, ...], bool]:
        """Command what the model wants at the bend that it was asked, as far as the limits allow; in words, which of
        them bind, and whether the rate does."""
        wanted, limits = step.displacements, self._limits
        told = wanted if limits is None else np.clip(wanted, *limits.displacement)
        beyond = np.where(np.abs(wanted - told) > NOTHING, np.sign(wanted - told), 0.0)
        self._blocked = self._normals(step, asked, beyond, tensions)
        hurried = np.zeros(len(told), dtype=bool)
        if limits is not None and self._command is not None:
            slower = self._command + np.clip(told - self._command, -limits.rate * dt, limits.rate * dt)
            hurried, told = np.abs(slower - told) > NOTHING, slower
        self._command = told
        named = zip(self.names, beyond, hurried, strict=True)
        words = [word for name, side, fast in named for word in _words(name, side, fast)]
        return (*step.active_limits, *words), bool(hurried.any())

    def _normals(
        self, step: PlateStep, asked: np.ndarray, beyond: np.ndarray, tensions: np.ndarray | None
    ) -> np.ndarray:
        """(k, 2) what blocks: where the model falls short, and cables that are wanted beyond their limits (c,), by the
        sign of which."""
        away = float(np.hypot(*step.short))
        found = [step.short / away] if away > SHORT else []
        taut = np.ones(len(beyond), dtype=bool) if tensions is None else tensions > TAUT
        blocking = np.flatnonzero((beyond > 0.0) | (beyond < 0.0) & taut)
        if len(blocking):
            slopes = beyond[blocking, None] * self.model.slopes(asked)[blocking]
            found += list(slopes / np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-300))
        return np.array(found).reshape(-1, 2)

    @property
    def names(self) -> Sequence[str]:
        """(c,) of the cables, once there is a command."""
        names = None if self._limits is None else self._limits.names
        return [f"cable_{i + 1}" for i in range(len(self._command))] if names is None else names


def _no_more(covariance: np.ndarray, largest: float) -> np.ndarray:
    """A covariance (2, 2), its variances no more than `largest`."""
    sizes, directions = np.linalg.eigh(covariance)
    return (directions * np.minimum(sizes, largest)) @ directions.T


def _shown(unseen: np.ndarray | None) -> np.ndarray:
    """(k, 2) unit directions of a bend that are seen."""
    return np.eye(2) if unseen is None else np.array([[-unseen[1], unseen[0]]])


def _learnt(
    prior: np.ndarray, noise: np.ndarray, missed: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(2, 2) share that counts of a way (2,) that is seen to be missed [rad], by the covariances (2, 2) of what was
    known before and of what is seen [rad²], in directions that are `shown` (k, 2); and the covariance that is left.

    What is not seen is not guessed from what is: little of an unknown direction would make much of a small error.
    """
    off, known, seen = shown @ missed, shown @ prior @ shown.T, shown @ noise @ shown.T
    deviations = np.sqrt(off @ np.linalg.solve(known + seen, off))
    if deviations > SURPRISING:
        beyond = (1.0 - SURPRISING / deviations) * off
        known = known + np.outer(beyond, beyond)
    gain = shown.T @ known @ np.linalg.solve(known + seen, shown)
    kept = np.eye(2) - gain
    return gain, kept @ prior @ kept.T + gain @ noise @ gain.T


def _let_through(way: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """What of a way (2,) no normal (k, 2) blocks: along the edge of one of them, or nothing between two."""
    if not (normals @ way > 0.0).any():
        return way
    for normal in normals:
        along = way - (normal @ way) * normal
        if (normals @ along <= 1e-12).all():
            return along
    return np.zeros(2)


def _words(name: str, side: float, fast: bool) -> list[str]:
    """Which limits of a cable bind: of displacement on one side, and of rate."""
    displaced = [f"{name} displacement {'max' if side > 0.0 else 'min'}"] if side else []
    return displaced + ([f"{name} rate"] if fast else [])
