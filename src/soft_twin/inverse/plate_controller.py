"""A plate held where it shall be: a model forwards, what the IMUs see integrated on top of it.

The model turns the bend that is asked of it into cables (feed-forward). What the plate is then seen to miss is
integrated in the bend, so that the model's own inverse carries it to the cables:

    asked = reference + c,   ċ = ω (expected − seen),   expected: the reference after a lag τ, as of body and drives.

The reference goes straight from one target to the next, no faster than the winches can follow, and gathers speed no
faster than leaves the plate's IMU believed. So nothing is wound up while the plate is on its way, and a model that is
right is left alone. Whatever the model says, cables are told no more than their limits of displacement and rate allow.
The integral stands still where these bind, where the cables can do no more, and where nothing is seen; it is never more
than `largest`.
"""

from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.plate_sight import Sight
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.constant_curvature.orientation import axis_at, pitch_roll_of
from soft_twin.twins.plate_model import PlateModel

NOTHING = 1e-9  # [m] by which a command may differ from what is wanted


@dataclass(frozen=True)
class PlateGains:
    """bandwidth ω [rad/s] below that of body and drives; lag τ [s]; speed [rad/s] and acceleration [rad/s²] of the
    reference; largest correction [rad]."""

    bandwidth: float = 4.0
    lag: float = 0.1
    speed: float = 1.8
    acceleration: float = 15.0
    largest: float = 0.3


@dataclass(frozen=True)
class CommandLimits:
    """What no command exceeds: displacements of the cables, alike or (c,) each [m], and their rate [m/s]."""

    displacement: tuple[float | np.ndarray, float | np.ndarray]
    rate: float


@dataclass(frozen=True)
class PlateTick:
    """What one update decided.

    Attributes:
        displacements: (c,) cable to be pulled in [m].
        correction: (2,) what is added to the reference [rad].
        progress: share of the way to the target that the reference has gone, 0…1.
        closed: whether something was seen and counted.
        reachable: whether the model can do what it was asked; else the last command is held.
        unseen: (2,) direction of the bend that is only steered, since gravity does not tell it; None: none.
        limited: (c,) whether a cable is told less than the model says: its displacement or its rate is at a limit.
        at_largest: the correction is as large as it may be, and the plate still is not where it should be.
    """

    displacements: np.ndarray
    correction: np.ndarray
    progress: float
    closed: bool
    reachable: bool
    unseen: np.ndarray | None
    limited: np.ndarray
    at_largest: bool


class PlateController:
    """See the module's docstring.

    Attributes:
        model: may be changed at any time: the integral goes on from where it is.
        expected: (2,) bend where the plate should be by now [rad].
        correction: (2,) the integral [rad].
    """

    def __init__(self, model: PlateModel, gains: PlateGains | None = None, limits: CommandLimits | None = None):
        """`limits`: None: none."""
        self.model, self.gains, self._limits = model, gains or PlateGains(), limits
        self.expected, self.correction, self._reference, self._velocity = np.zeros((4, 2))
        self._command: np.ndarray | None = None
        self.aim(0.0, 0.0)

    def aim(self, pitch: float, roll: float, duration: float = 0.0) -> None:
        """A new target [rad], to be reached in `duration` [s], or later where that would be too fast.

        Raises:
            InputError: not finite, or a duration that is negative.
        """
        self._target = np.array(bend_of(*checked_vector([pitch, roll], 2, "pitch and roll")))
        if not 0.0 <= duration < np.inf:
            raise InputError(f"duration: {duration:g} s is not finite and 0 or more")
        self._way = float(np.hypot(*(self._target - self._reference)))
        self._speed = min(self.gains.speed, self._way / duration) if duration > 0.0 else self.gains.speed

    def begin_at(self, bend: np.ndarray, displacements: np.ndarray) -> None:
        """Begin anew from where plate and cables stand: from a bend (2,) [rad] the reference goes to the target, from
        displacements (c,) [m] the commands, as fast as they may.

        Raises:
            InputError: wrong sizes or not finite.
        """
        self._reference = self.expected = checked_vector(bend, 2, "bend")
        self._command = checked_vector(displacements, len(displacements), "displacements")
        self.correction = self._velocity = np.zeros(2)
        self._way = float(np.hypot(*(self._target - self._reference)))

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

    def update(self, sight: Sight | None, dt: float) -> PlateTick:
        """One step of `dt` [s]; `sight`: None where an IMU is lost, which opens the loop.

        Raises:
            InputError: the first pose of all is out of reach.
            ConvergenceError: the model broke down, and there is no command yet that could be held.
        """
        left = self._advance(dt)
        before = self.correction
        if sight is not None:
            self.correction = before + self._integrated(sight, dt)
        at_largest = bool(np.hypot(*self.correction) >= (1.0 - 1e-9) * self.gains.largest)
        wanted = self._ask(self._reference + self.correction)
        limited = self._tell(wanted, dt)
        if wanted is None or limited.any():
            self.correction = before
        progress = 1.0 - left / self._way if left > 0.0 else 1.0
        unseen = None if sight is None else sight.unseen
        return PlateTick(
            displacements=self._command.copy(),
            correction=self.correction.copy(),
            progress=progress,
            closed=sight is not None,
            reachable=wanted is not None,
            unseen=unseen,
            limited=limited,
            at_largest=at_largest,
        )

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
        self.expected = self.expected - np.expm1(-dt / self.gains.lag) * (self._reference - self.expected)
        return float(np.hypot(*(self._target - self._reference)))

    def _integrated(self, sight: Sight, dt: float) -> np.ndarray:
        """What is added to the correction (2,), so that it stays within its largest size."""
        missed = self.expected - sight.bend
        if sight.unseen is not None:
            missed = missed - (missed @ sight.unseen) * sight.unseen
        wanted = self.correction + self.gains.bandwidth * dt * missed
        size = np.hypot(*wanted)
        return wanted * min(1.0, self.gains.largest / max(size, 1e-300)) - self.correction

    def _ask(self, bend: np.ndarray) -> np.ndarray | None:
        """(c,) what the model has the cables do for a bend; None where it has no answer: the last command stands."""
        try:
            return self.model.step(*pitch_roll_of(axis_at(bend)))
        except (InputError, ConvergenceError):
            if self._command is None:
                raise
            return None

    def _tell(self, wanted: np.ndarray | None, dt: float) -> np.ndarray:
        """Command what is wanted, as far as the limits allow; (c,) which cables they keep from it."""
        if wanted is None:
            return np.zeros(len(self._command), dtype=bool)
        told, limits = wanted, self._limits
        if limits is not None:
            told = np.clip(told, *limits.displacement)
            if self._command is not None:
                told = self._command + np.clip(told - self._command, -limits.rate * dt, limits.rate * dt)
        self._command = told
        return np.abs(told - wanted) > NOTHING
