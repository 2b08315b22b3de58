"""Do gyroscope and accelerometer tell of one and the same motion? Watched all the time, apart from any filter.

Gravity is a direction that stands still in the world, so in the frame of the board it turns as the gyroscope says and
the accelerometer sees. Two witnesses:

* While the force, averaged over a tenth of a second, points where the filter has "up", gravity is right whatever the
  gyroscope does.
* Where they differ, the base accelerates or a sensor is wrong. Which it is says the logarithm of the odds of "wrong"
  against "healthy". It begins at what is usual of gyroscopes. Turns of gravity that both sensors saw move it: two
  averages of the force, carried by the gyroscope, differ by what a wrong gyroscope has turned between them, and by
  noise of known size. "Wrong" is a scale and a bias of any size on each axis, or one of the usual mistakes (all axes
  and signs, common scales); axes of the accelerometer look the same. Only where the odds are not small does a turn that
  the accelerometer has not confirmed count as doubt: a healthy gyroscope that has not turned yet is believed.

Acceleration shows along "up" as well as across it, while a wrong answer seems to accelerate only across. What is
across by many times what has been along within the last second, and not for turns at a lever, is not valid, whatever
the odds. Where that is over, no time was lost and the gyroscope is trusted, the answer counts again soon: it need not
wait for a calm moment.

A filter that knows its tilt takes little from the force. One that leaves, within a second, what the rates say by more
than its tilt's uncertainty, their errors of scale and what they did not tell is drawn away: by an accelerometer that is
misread, or from rates that are wrong. That shows before the answer is far off, in any motion.

A rate that jumps as no base can, and a short turn that the accelerometer does not see, raise the odds to one in two.
If they speak clearly for "wrong", or calm moments disagree for some time, one of the two sensors is wrong: nothing is
valid until turns have agreed again, for at rest nobody can tell which.
"""

import math
from dataclasses import dataclass

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.sensing import agreement_kernel as kernel


@dataclass(frozen=True)
class AgreementParameters:
    """Settings of the comparison.

    Attributes:
        fast, mean, slow: time constants of three averages of the force [s].
        calm: by which the force's length may differ from g in a calm moment [m/s²].
        agree: angle within which force and answer agree [rad].
        hold: for which they must agree at rest before gravity is valid again [s]; in motion four times as long.
        back: for which nothing contradicts a trusted answer before it is valid again, where no time was lost [s].
        doubt: of axes that are not proven, that gravity stays valid with [rad].
        fade: time constant with which doubt is forgotten [s].
        interval: between two lessons on the axes' errors [s].
        memory: time constant with which lessons are forgotten, while there are new ones [s].
        spread: of the averages' difference for a good gyroscope, without acceleration [rad].
        error: relative error of the axes that is a fault.
        sure: log odds from which the gyroscope is taken for wrong.
        near_turn: least turn that is compared over a short time [rad].
        near: after which the short comparison starts anew [s].
        silent: rate below which a gyroscope says "no turn" [rad/s].
        apart: angle between the slow average and the answer that is a contradiction [rad].
        apart_time: for which it must last [s].
        jump: change of the rate's change from one sample to the next that is no jump for sure [rad/s].
        jump_factor: how many times the usual one a jump is.
        reproof: information after which a contradiction is forgiven.
        proven: relative error that a proven axis may have.
        lean: angle between the mean force and the answer that is a contradiction in a calm moment [rad].
        odd_length: relative difference from g that the slow average's length may have.
        slow_rate, rest_rate: rates below which the base turns slowly, and rests [rad/s].
        near_noise: roughness of the motion above which the short comparison says nothing [rad].
        kept: share of the proof that is left after a jump of the rate; none after one twice as large.
        shock: change of the force's length that comes with a tap, which makes the rate jump too [m/s²].
        astray_time: after which an answer that is away from the mean force is found anew [s].
        base_odds: logarithm of the odds for a wrong gyroscope before anything was seen.
        jump_odds: the same after a jump.
        odds: log odds from which turns that nobody confirms are doubt.
        bias_memory: time constant with which lessons on biases are forgotten [s].
        radial: share of the acceleration's variance along "up" that the averages of the force have as well.
        quiet: for which a gyroscope must say "no turn" to be called silent [s].
        correlation: time in which the averages' difference is new [s].
        spread_share: share of the unexplained differences' variance that counts as noise.
        ratio, proven_ratio: how many times the acceleration along "up" that across it may be; for a proven one.
        proven_odds: log odds below which a gyroscope counts as proven.
        odd: angle that is never too large for this [rad].
        odd_time: for which it must last [s].
        pull: standard deviations of its tilt by which the filter may leave what the rates say.
        pull_time: time constant with which this is forgotten [s].
        pull_turn: the same, relative to what the base has turned: errors of scale and alignment.
        pull_step: the same, relative to what may have been turned between the samples.
        lever: from the point that the base turns about to the IMU, which the acceleration across may come from [m].
    """

    fast: float = 0.04
    mean: float = 0.7
    slow: float = 3.0
    calm: float = 0.5
    agree: float = math.radians(2.0)
    hold: float = 0.25
    back: float = 0.3
    doubt: float = math.radians(1.9)
    fade: float = 2.5
    interval: float = 0.2
    memory: float = 12.0
    spread: float = math.radians(0.7)
    error: float = 0.3
    sure: float = 5.0
    near_turn: float = math.radians(3.0)
    near: float = 0.3
    silent: float = math.radians(0.7)
    apart: float = math.radians(8.0)
    apart_time: float = 0.3
    jump: float = math.radians(34.0)
    jump_factor: float = 12.0
    reproof: float = 100.0
    proven: float = 0.25
    lean: float = math.radians(4.5)
    odd_length: float = 0.07
    slow_rate: float = math.radians(20.0)
    rest_rate: float = math.radians(5.0)
    near_noise: float = math.radians(2.0)
    kept: float = 0.4
    shock: float = 4.0
    astray_time: float = 0.5
    base_odds: float = -1.5
    jump_odds: float = 0.0
    odds: float = -2.0
    bias_memory: float = 5.0
    radial: float = 1.0
    quiet: float = 0.2
    correlation: float = 0.6
    spread_share: float = 0.5
    ratio: float = 4.0
    proven_ratio: float = 6.0
    proven_odds: float = -8.0
    odd: float = math.radians(4.0)
    odd_time: float = 0.06
    pull: float = 2.0
    pull_time: float = 1.0
    pull_turn: float = 0.003
    pull_step: float = 2.0
    lever: float = 0.1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not ((value > 0.0 or "odds" in name) and math.isfinite(value)):
                raise InputError(f"agreement parameter {name} = {value!r}: expected a finite number above 0")


class Agreement:
    """See the module's docstring.

    Attributes:
        parameters: settings.
    """

    def __init__(self, parameters: AgreementParameters | None = None):
        self.parameters = parameters or AgreementParameters()
        self._coefficients = _coefficients(self.parameters)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._state = np.zeros(kernel.STATE)
        self._state[kernel.VALID] = 1.0
        self._state[kernel.PRIOR_ODDS] = self._state[kernel.ODDS] = self.parameters.base_odds

    def withdraw(self) -> None:
        """The answer has been found anew, or could not be followed: it counts once the two have agreed again."""
        self._state[kernel.VALID] = 0.0
        self._state[kernel.AGREED] = 0.0
        self._state[kernel.STARTED] = 0.0
        self._state[kernel.EXCUSED] = 1.0

    def update(self, dt: float, rates: np.ndarray, force: np.ndarray, up: np.ndarray, std: float, doubt: float) -> bool:
        """Whether the filter's answer may be acted on.

        Args:
            dt: since the last sample [s].
            rates: (3,) without the known bias [rad/s].
            force: (3,) specific force [m/s²].
            up: (3,) the filter's answer; all in the frame of the board.
            std: standard deviation of its tilt [rad]; inf where that is not known.
            doubt: by which this sample may have turned the answer [rad].
        """
        kernel.step(self._state, self._coefficients, dt, rates, force, up, std, doubt)
        return self._state[kernel.VALID] == 1.0

    @property
    def contradiction(self) -> bool:
        """Whether one of the sensors is known to be wrong."""
        return self._state[kernel.WRONG] == 1.0

    @property
    def lost(self) -> bool:
        """Whether the answer has been away from the mean force for so long that it should be found anew from it."""
        return self._state[kernel.ASTRAY] > self.parameters.astray_time

    def found_anew(self) -> np.ndarray:
        """(3,) the mean force, of length g, in the frame of the board [m/s²]: the answer is found anew from it now."""
        mean = self._state[kernel.MEAN : kernel.MEAN + 3]
        self._state[kernel.ASTRAY] = 0.0
        self._state[kernel.CARRIED] = math.nan
        return STANDARD_GRAVITY * mean / max(float(np.linalg.norm(mean)), 1e-9)


def _coefficients(parameters: AgreementParameters) -> np.ndarray:
    """As the kernel numbers them: C_X is the place of the parameter x."""
    c = np.full(kernel.COEFFICIENTS, np.nan)
    c[kernel.C_GRAVITY] = STANDARD_GRAVITY
    for name, value in vars(parameters).items():
        if name != "astray_time":  # the only one that the kernel has no use for
            c[getattr(kernel, f"C_{name.upper()}")] = value
    return c
