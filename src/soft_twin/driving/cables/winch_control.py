"""Cascaded control of cable displacement: position → rate → motor current."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

RATE_MARGIN = 0.05  # beyond the rate limit, so that a cable at the limit can be led from both sides
LARGEST_INTEGRAL = 1.0  # [A] of what friction alone may ask for
OVERSHOOT = 1.3  # times the limit of the rate, to which currents may drive a cable …
REACTION = 0.01  # [s] … before they can be taken back: the feedback's age, and the motor's lag; or …
NEXT_TICK = 0.006  # [s] … until the next ones act, where it is foreseen what those told before will have done
TIMES = np.array([[REACTION], [REACTION], [NEXT_TICK]])


@dataclass(frozen=True)
class ControlGains:
    """Gains, all of them in terms of the cable, for an M2006 on a drum of 6.5 mm radius; see `levered`.

    Attributes:
        position: rate for an error of displacement [1/s].
        rate: current for an error of rate [A s/m].
        integral: growth of the current for an error of rate [A/m].
        friction: current that keeps a cable moving, per rate, until it is learned [A s/m] (feed-forward).
        inertia: current that accelerates the winch, per acceleration [A s²/m] (feed-forward).
        delay: age of the feedback when it is used, on a host that keeps up [s].
    """

    position: float = 60.0
    rate: float = 25.0
    integral: float = 250.0
    friction: float = 17.1
    inertia: float = 0.342
    delay: float = 0.008

    def tuned(self, position: float, rate: float) -> "ControlGains":
        """With these gains for position [1/s] and rate [A s/m], and an integral that follows as slowly as it does."""
        return replace(self, position=position, rate=rate, integral=self.integral * rate / self.rate)

    def levered(self, leverage: float) -> "ControlGains":
        """The same for another drum and gear, see `Winch.leverage`: all that is told in currents, in proportion."""
        told = ("rate", "integral", "friction", "inertia")
        return replace(self, **{name: leverage * getattr(self, name) for name in told})


@dataclass(frozen=True)
class Wanted:
    """Where cables should be, and should have been when the feedback was measured; (c,) each.

    Attributes:
        rates, accelerations: now [m/s, m/s²].
        displacements_then, rates_then: then [m, m/s].
        friction: what keeps the cables moving, per rate [A s/m].
        counted: of that, what may be counted on to slow them down [A s/m].
        trust: how far the feedback can be relied on, 1: as the gains were made for.
        pulls: what the cables pull by, as currents [A]; 0 where that is too little to be told from friction.
        newest_pulls: the same by the newest samples alone, where that is less: a robot that was caught comes free.
    """

    rates: np.ndarray
    accelerations: np.ndarray
    displacements_then: np.ndarray
    rates_then: np.ndarray
    friction: np.ndarray
    counted: np.ndarray
    trust: np.ndarray
    pulls: np.ndarray | float = 0.0
    newest_pulls: np.ndarray | float = 0.0


class WinchControl:
    """Currents that make cables follow a motion; positive currents wind in.

    With the motion's rate v* and acceleration a* now, e = d*′ − d its distance from the feedback as it was when that
    was measured, the wanted rate w = v*′ + k_p e, clamped to the rate limit, and the cable's pull p where it tells:
    i = k_f v* + k_a a* + p + k_v (w − v) + k_i ∫ (w − v) dt, limited to ±i_max; the integral stays within what
    friction may be other than k_f v*, or what holds the cables, if that is more, and rests while the limit binds.
    Where the feedback is later than the gains were made for, k_p and k_v are lowered in proportion, and k_i by its
    square: late feedback at full gain would make the cables swing.

    A motion is led by its own rate and acceleration, which a cable that was caught and comes free has not, or has
    already. So a current is no more than what brings the rate v to OVERSHOOT times its limit within the time T in
    which nobody can take it back: k_f v + m (± 1.3 v_max − v) / T, with no more friction than the winch has shown, and
    than is usual, since at a robot that is caught its pull is taken for some; but for a stiff body, whose pull is told
    from friction. What it pulls by now comes on top of the highest one.
    While feedback stays away the rate is what it must have become meanwhile, or still is: the bound holds for both. Nor
    does feedback that is on time show what the newest currents do: the bound holds for the rate to come, too, which can
    be taken back by the next tick.

    Attributes:
        limited: (c,) whether the current limit binds.
    """

    def __init__(
        self,
        count: int,
        current_limit: float,
        rate_limit: float,
        gains: ControlGains,
        holding: float = 0.0,
        pulls_known: bool = False,
    ):
        """`holding`: current that the highest tension of a cable asks for [A]; `pulls_known`: its pull is told from
        friction."""
        self._limit = current_limit
        self._largest_integral = max(LARGEST_INTEGRAL, holding)
        self._rate_limit = (1.0 + RATE_MARGIN) * rate_limit
        self._highest_rate = OVERSHOOT * rate_limit
        self._most_friction = np.inf if pulls_known else gains.friction
        self._gains = gains
        self._integral = np.zeros(count)
        self.limited = np.zeros(count, dtype=bool)

    def tune(self, gains: ControlGains) -> None:
        """Go on by these gains: what the integral holds stays, so that no current jumps by it."""
        self._gains = gains

    def reset(self) -> None:
        """Forget the past."""
        self._integral[:] = 0.0
        self.limited[:] = False

    def restart(self, where: np.ndarray) -> None:
        """Forget the past of the cables where `where` (c,) is true."""
        self._integral[where] = 0.0

    def hold(self, where: np.ndarray, currents: np.ndarray) -> None:
        """Begin with `currents` (c,) that hold the cables where `where` (c,) is true [A]."""
        self._integral = np.where(where, currents, self._integral).clip(-self._largest_integral, self._largest_integral)

    def update(
        self,
        wanted: Wanted,
        displacements: np.ndarray,
        rates: np.ndarray,
        expected: Sequence[np.ndarray],
        dt: float,
    ) -> np.ndarray:
        """(c,) currents [A] after `dt` more seconds.

        Args:
            wanted: by the motion.
            displacements, rates: (c,) as they were measured [m, m/s].
            expected: two of (c,), what the rates are by now, if the feedback is older than usual, and what they will be
                once the currents that were told before have acted [m/s].
            dt: [s].
        """
        g, trust = self._gains, wanted.trust
        asked_rates = wanted.rates_then + trust * g.position * (wanted.displacements_then - displacements)
        error = asked_rates.clip(-self._rate_limit, self._rate_limit) - rates
        forward = wanted.friction * wanted.rates + g.inertia * wanted.accelerations + wanted.pulls
        asked = forward + trust * g.rate * error + self._integral
        kept = asked.clip(-self._limit, self._limit)
        self.limited = kept != asked
        currents = kept.clip(*self._harmless(np.array([rates, *expected]), wanted))
        self._integral += np.where(currents != asked, 0.0, trust**2 * g.integral * dt * error)
        self._integral = self._integral.clip(-self._largest_integral, self._largest_integral)
        return currents

    def _harmless(self, rates: np.ndarray, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
        """(c,) lowest and highest currents [A] that drive no cable too fast before they can be taken back.

        `rates` (3, c) may be any of these [m/s]: measured, by now, soon.
        """
        steady, most = np.minimum(wanted.counted, self._most_friction) * rates, self._gains.inertia / TIMES
        low, high = (steady + most * (sign * self._highest_rate - rates) for sign in (-1.0, 1.0))
        high = high + wanted.newest_pulls
        return low.max(axis=0).clip(-self._limit, self._limit), high.min(axis=0).clip(-self._limit, self._limit)
