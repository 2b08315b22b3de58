"""What a tip sensor says that the twin does not know, taken off the target: integral action with the model inside.

Robot and twin do the same, so that the measured tip m and the twin's t are apart by what the model lacks, d = m − t.
It is estimated, and the twin led to another target than x:

    ḋ̂ = ω (m − t_τ − d̂),   t → x − d̂,   t_τ: the twin's tip after a lag τ, as of drives and body.

At rest d̂ = m − t, so that m = x wherever the twin comes to x − d̂. A robot that moves k times as far as its twin makes
it ḋ̂ = ω (… − k d̂): stable for every k > 0, at k times the bandwidth. Nothing winds up: where limits keep the twin from
its target d̂ still is what robot and twin are apart, no more. (Integral action in the form of internal model control;
Morari and Zafiriou, *Robust Process Control*, 1989.)

A measurement with the covariance Σ is followed the slower the less it says, in each direction by itself: what the twin
lacks wanders, with q m²/s say, and the best stationary gain against noise of the density Σ T at a period T is
√(q/T) Σ^−½ (Kalman and Bucy 1961), so that ω falls as 1/σ from the deviation on for which it is meant.

What is not believed does not count: a tip too far from the twin's (another frame, other units), and one that jumps,
until it has stayed where it jumped to; the first is one that jumps from d̂. One that, while it is followed, jumps faster
than a body moves tells of the tracker, not of the robot: that stays out until it is back, or all begins anew. A silence
does not let it in: it may be no more than a busy machine. While nothing counts the loop is open, and d̂ fades. d̂ moves
slowly even where much is believed, so that nobody is surprised by a robot that a wrong frame leads.
"""

from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError

# [rad/s] With the highest, a robot that moves twice as far as its twin, with a lag of 0.3 s and seen 0.15 s late, comes
# to rest in 15 s; with half as much again it swings for ever.
SAFE_BANDWIDTHS = (0.2, 4.0)


@dataclass(frozen=True)
class TipFeedbackParameters:
    """How a tip sensor is followed; lengths are shares of the body's.

    Attributes:
        bandwidth: ω, below that of body and drives [rad/s].
        precision: deviation of a measurement up to which it is ω.
        lag: τ, of drives and body [s].
        largest: distance of the measured tip from the twin's; what is further is not believed. About as far as a
            slender robot sags: a twin that knew nothing would be as wrong.
        jump: from one measurement to the next; what is further is not believed …
        persistence: … unless it stays there for so long [s].
        fastest: speed of the measured tip from the twin's that a body may have [1/s]; jumps that are faster are the
            tracker's. Of a release from 20 mm at 2.5 Hz it is 3 for a slender robot.
        patience: without a measurement for so long the loop is open [s].
        fading: time constant by which the correction of an open loop fades [s].
        rate: speed of the correction of a closed loop, at most [1/s].
        longest: time that a tick, however late it comes, leads the target for [s].
    """

    bandwidth: float = 2.0
    precision: float = 0.005
    lag: float = 0.1
    largest: float = 0.2
    jump: float = 0.05
    persistence: float = 0.5
    fastest: float = 3.0
    patience: float = 0.3
    fading: float = 2.0
    rate: float = 0.1
    longest: float = 0.1


class TipFeedback:
    """See the module's docstring.

    Attributes:
        error: (3,) d̂, the robot's tip from the twin's [m]; the target is to be led by −d̂.
        refusal: why the newest measurement does not count; "" where it does.
    """

    def __init__(self, length: float, parameters: TipFeedbackParameters | None = None):
        """`length`: of the body [m]."""
        self.parameters, self._length = parameters or TipFeedbackParameters(), length
        self.reset()

    def reset(self) -> None:
        """Know nothing, not even that a tracker is displaced."""
        self._apart: np.ndarray | None = None  # the measured tip from the expected one, as last believed [m]
        self._knocked: np.ndarray | None = None  # by how much a tracker has jumped that is not back [m]
        self.open()

    def open(self) -> None:
        """Know nothing of robot and twin any more; a displaced tracker stays out."""
        self.error, self.refusal = np.zeros(3), ""
        self._expected: np.ndarray | None = None
        self._measured: np.ndarray | None = None
        self._bandwidths, self._directions = np.full(3, self.parameters.bandwidth), np.eye(3)  # of the last measurement
        self._elsewhere: np.ndarray | None = None  # where it has jumped to [m]
        self._stayed = 0.0  # there [s]
        self._silence = np.inf
        self._newest, self._since = np.full(3, np.nan), np.inf  # what was measured last, believed or not; ago [s]

    @property
    def closed(self) -> bool:
        """Whether measurements count now."""
        return self._silence <= self.parameters.patience

    def measure(self, tip: np.ndarray, covariance: np.ndarray | None = None) -> None:
        """The robot's tip (3,) in base_link [m], as it is now; `covariance`: (3, 3) of it [m²], None or zero where that
        is not known.

        Raises:
            InputError: wrong size or not finite; it does not count.
        """
        covariance = np.zeros((3, 3)) if covariance is None else np.asarray(covariance, dtype=float)
        if covariance.shape != (3, 3) or not np.isfinite(covariance).all():
            raise InputError(f"measured tip: its covariance {covariance.tolist()} is not (3, 3) and finite")
        self._measured = checked_vector(tip, 3, "measured tip")
        variances, self._directions = np.linalg.eigh(0.5 * (covariance + covariance.T))
        deviations = np.sqrt(np.maximum(variances, 0.0)) / (self.parameters.precision * self._length)
        self._bandwidths = self.parameters.bandwidth / np.maximum(deviations, 1.0)

    def update(self, tip: np.ndarray, dt: float, follows: bool = True) -> np.ndarray:
        """(3,) by which to lead the target [m], after a tick of `dt` [s] that brought the twin's tip to `tip` (3,) [m].

        Args:
            follows: whether the actuators are where they were told to be; else the robot is not the twin's.
        """
        p = self.parameters
        if self._expected is None:
            self._expected = np.array(tip, dtype=float)
        self._expected = self._expected - np.expm1(-dt / p.lag) * (tip - self._expected)
        self._silence += dt
        self._since += dt
        if self._measured is not None:
            self._weigh(self._measured - self._expected, dt, follows)
            self._measured, self._since = None, 0.0
        if not follows:
            self._silence = np.inf
        leads = min(dt, p.longest)
        if self.closed:
            followed = -np.expm1(-leads * self._bandwidths) * (self._directions.T @ (self._apart - self.error))
            step, most = self._directions @ followed, p.rate * self._length * leads
            size = float(np.linalg.norm(step))
            self.error = self.error + (step if size <= most else step * (most / size))
        else:
            self.error = self.error * np.exp(-leads / p.fading)
        return -self.error

    def _weigh(self, apart: np.ndarray, dt: float, follows: bool) -> None:
        """Believe what the robot's tip is apart from the twin's (3,) [m], or say why not."""
        p, distance = self.parameters, float(np.linalg.norm(apart))
        self.refusal = ""
        self._look_for_knock(apart, follows)
        if distance > p.largest * self._length:
            self.refusal = f"the measured tip is {1e3 * distance:.0f} mm from the twin's: frame? units? blocked?"
            return
        if self._knocked is not None:
            jump = float(np.linalg.norm(self._knocked))
            self.refusal = f"the measured tip has jumped by {1e3 * jump:.0f} mm at once: is the tracker where it was?"
            return
        before = self._apart if self._apart is not None and self.closed else self.error
        jump = float(np.linalg.norm(apart - before))
        if jump > p.jump * self._length and not self._has_stayed(apart, dt):
            self.refusal = f"the measured tip has jumped by {1e3 * jump:.0f} mm"
            return
        self._apart, self._silence, self._elsewhere = apart, 0.0, None

    def _look_for_knock(self, apart: np.ndarray, follows: bool) -> None:
        """Whether the tracker has jumped, as no body does, while it was followed, and whether it is back: where it was
        (which a robot that does not follow its twin cannot tell), or by a jump the other way, as robot and twin may
        have moved since."""
        p, step, self._newest = self.parameters, apart - self._newest, apart
        at_once = np.linalg.norm(step) > max(p.jump, p.fastest * self._since) * self._length
        if self._knocked is None:
            self._knocked = apart - self._apart if at_once and self.closed else None
            return
        near = follows and np.linalg.norm(apart - self._apart) <= p.jump * self._length
        back = at_once and step @ self._knocked < -0.5 * self._knocked @ self._knocked
        if near or back:
            self._knocked = None

    def _has_stayed(self, apart: np.ndarray, dt: float) -> bool:
        """Whether it has been where it jumped to for long enough."""
        near = self._elsewhere is not None
        near = near and np.linalg.norm(apart - self._elsewhere) < self.parameters.jump * self._length
        self._stayed = self._stayed + dt if near else 0.0
        self._elsewhere = self._elsewhere if near else apart
        return self._stayed >= self.parameters.persistence
