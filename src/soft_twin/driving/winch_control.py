"""Cascaded control of cable displacement: position → rate → motor current."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ControlGains:
    """Gains, all of them in terms of the cable. The defaults suit an M2006 on a drum of 6.5 mm radius.

    Attributes:
        position: rate for an error of displacement [1/s].
        rate: current for an error of rate [A s/m].
        integral: growth of the current for an error of rate [A/m].
        friction: current that keeps a cable moving, per rate [A s/m] (feed-forward).
        inertia: current that accelerates the winch, per acceleration [A s²/m] (feed-forward).
        delay: age of the feedback when it is used, on a host that keeps up [s].
    """

    position: float = 30.0
    rate: float = 25.0
    integral: float = 250.0
    friction: float = 17.1
    inertia: float = 0.342
    delay: float = 0.008


class WinchControl:
    """Currents that make cables follow a motion; positive currents wind in.

    With e = d* − d and the wanted rate w = v* + k_p e: i = k_f v* + k_a a* + k_v (w − v) + k_i ∫ (w − v) dt, limited to
    ±i_max; the integral rests while the limit binds. The motion d*, v*, a* is compared with the feedback as it was
    a delay ago. Where the delay is longer than the gains were made for, k_p and k_v are lowered in proportion, and k_i
    by its square: late feedback at full gain would make the cables swing.

    Attributes:
        limited: (c,) whether the current limit binds.
    """

    def __init__(self, count: int, current_limit: float, gains: ControlGains):
        self._limit = current_limit
        self._gains = gains
        self._integral = np.zeros(count)
        self.limited = np.zeros(count, dtype=bool)

    def reset(self) -> None:
        """Forget the past."""
        self._integral[:] = 0.0
        self.limited[:] = False

    def update(self, motion, displacements: np.ndarray, rates: np.ndarray, dt: float, delay: np.ndarray) -> np.ndarray:
        """(c,) currents [A] after `dt` more seconds.

        Args:
            motion: has `displacements`, `rates` and `accelerations`, (c,) each, where the cables should be now.
            displacements: (c,) measured [m].
            rates: (c,) measured [m/s].
            dt: time since the last update [s].
            delay: (c,) age of the feedback [s].
        """
        g = self._gains
        trust = np.minimum(1.0, g.delay / delay)
        then = motion.displacements - delay * motion.rates
        rate_then = motion.rates - delay * motion.accelerations
        error = rate_then + trust * g.position * (then - displacements) - rates
        forward = g.friction * motion.rates + g.inertia * motion.accelerations
        wanted = forward + trust * g.rate * error + self._integral
        currents = wanted.clip(-self._limit, self._limit)
        self.limited = currents != wanted
        self._integral += np.where(self.limited, 0.0, trust**2 * g.integral * dt * error)
        return currents
