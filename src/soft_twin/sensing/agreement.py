"""Do gyroscope and accelerometer tell of one and the same motion? Watched all the time, apart from any filter.

Gravity is a direction that stands still in the world, so in the frame of the board it turns as the gyroscope says and
the accelerometer sees. Two witnesses:

* While the force, averaged over a tenth of a second, points where the filter has "up", gravity is right whatever the
  gyroscope does.
* Where they differ, the base accelerates or the gyroscope is wrong. The gyroscope is believed only as far as it has
  proved itself: each of its axes, by turns of gravity that the accelerometer saw alike. What axes without proof turn
  since the two agreed last is doubt; so is what a sample, a gap or a silent gyroscope may have hidden.

Proof is lost by a rate that jumps as no base can, and by a short turn that the accelerometer does not see. If turns
between calm moments disagree for some time, or the force averaged over seconds does not point up, one of the two is
wrong: nothing is valid until turns have agreed again, for at rest nobody can tell which.
"""

import math
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import InputError
from soft_twin.sensing import agreement_kernel as kernel
from soft_twin.sensing.orientation import STANDARD_GRAVITY


@dataclass(frozen=True)
class AgreementParameters:
    """Settings of the comparison.

    Attributes:
        fast, mean, slow: time constants of three averages of the force [s].
        calm: by which the force's length may differ from g in a calm moment [m/s²].
        agree: largest angle within which force and answer agree, where motion is rough [rad].
        hold: for which they must agree at rest before gravity is valid again [s]; in motion four times as long.
        doubt: of axes that are not proven, that gravity stays valid with [rad].
        fade: time constant with which doubt is forgotten [s].
        interval: between two lessons on the axes' errors [s].
        memory: time constant with which lessons are forgotten, while there are new ones [s].
        spread: of the averages' difference for a good gyroscope, without acceleration [rad].
        clear: times that spread a turn must be to teach something.
        error: relative error of the axes that is a fault.
        sure: how much better such errors explain what was seen, as a chi-squared.
        near_turn: least turn that is compared over a short time [rad].
        near: after which the short comparison starts anew [s].
        silent: rate below which a gyroscope says "no turn" [rad/s].
        apart: angle between the slow average and the answer that is a contradiction [rad].
        apart_time: for which it must last [s].
        jump: change of the rate's change from one sample to the next that is no jump for sure [rad/s].
        jump_factor: how many times the usual one a jump is.
        reproof: information after which a contradiction is forgiven.
        proven: relative error that a proven axis may have.
        close: angle within which force and answer agree, where motion is calm [rad].
        lean: angle between the mean force and the answer that is a contradiction in a calm moment [rad].
        odd_length: relative difference from g that the slow average's length may have.
        slow_rate, rest_rate: rates below which the base turns slowly, and rests [rad/s].
        near_noise: roughness of the motion above which the short comparison says nothing [rad].
        kept: share of the proof that is left after a jump of the rate; none after one twice as large.
        shock: change of the force's length that comes with a tap, which makes the rate jump too [m/s²].
        astray_time: after which an answer that is away from the mean force is found anew [s].
    """

    fast: float = 0.04
    mean: float = 0.7
    slow: float = 3.0
    calm: float = 0.5
    agree: float = math.radians(4.0)
    hold: float = 0.25
    doubt: float = math.radians(1.9)
    fade: float = 2.5
    interval: float = 0.2
    memory: float = 12.0
    spread: float = math.radians(0.7)
    clear: float = 2.0
    error: float = 0.3
    sure: float = 5.0
    near_turn: float = math.radians(3.0)
    near: float = 0.3
    silent: float = math.radians(1.5)
    apart: float = math.radians(8.0)
    apart_time: float = 0.3
    jump: float = math.radians(12.0)
    jump_factor: float = 12.0
    reproof: float = 100.0
    proven: float = 0.25
    close: float = math.radians(1.8)
    lean: float = math.radians(4.5)
    odd_length: float = 0.07
    slow_rate: float = math.radians(20.0)
    rest_rate: float = math.radians(5.0)
    near_noise: float = math.radians(2.0)
    kept: float = 0.4
    shock: float = 4.0
    astray_time: float = 0.5
    base_odds: float = -5.0
    jump_odds: float = 0.0
    odds: float = -2.0
    bias_memory: float = 5.0

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

    def update(self, dt: float, rates: np.ndarray, force: np.ndarray, up: np.ndarray, doubt: float) -> bool:
        """Whether the filter's answer may be acted on.

        Args:
            dt: since the last sample [s].
            rates: (3,) without the known bias [rad/s].
            force: (3,) specific force [m/s²].
            up: (3,) the filter's answer; all in the frame of the board.
            doubt: by which this sample may have turned the answer [rad].
        """
        kernel.step(self._state, self._coefficients, dt, rates, force, up, doubt)
        return self._state[kernel.VALID] == 1.0

    @property
    def contradiction(self) -> bool:
        """Whether one of the sensors is known to be wrong."""
        return self._state[kernel.WRONG] == 1.0

    @property
    def lost(self) -> bool:
        """Whether the answer has been away from the mean force for so long that it should be found anew from it."""
        return self._state[kernel.ASTRAY] > self.parameters.astray_time

    @property
    def mean_force(self) -> np.ndarray:
        """(3,) direction of the mean force, of length g, in the frame of the board [m/s²]."""
        mean = self._state[kernel.MEAN : kernel.MEAN + 3]
        self._state[kernel.ASTRAY] = 0.0
        return STANDARD_GRAVITY * mean / max(float(np.linalg.norm(mean)), 1e-9)


def _coefficients(p: AgreementParameters) -> np.ndarray:
    c = np.empty(kernel.COEFFICIENTS)
    c[kernel.C_GRAVITY] = STANDARD_GRAVITY
    c[kernel.C_FAST] = p.fast
    c[kernel.C_MEAN] = p.mean
    c[kernel.C_SLOW] = p.slow
    c[kernel.C_CALM] = p.calm
    c[kernel.C_AGREE] = p.agree
    c[kernel.C_HOLD] = p.hold
    c[kernel.C_DOUBT] = p.doubt
    c[kernel.C_FADE] = p.fade
    c[kernel.C_INTERVAL] = p.interval
    c[kernel.C_MEMORY] = p.memory
    c[kernel.C_SPREAD] = p.spread
    c[kernel.C_CLEAR] = p.clear
    c[kernel.C_ERROR] = p.error
    c[kernel.C_SURE] = p.sure
    c[kernel.C_NEAR_TURN] = p.near_turn
    c[kernel.C_NEAR] = p.near
    c[kernel.C_SILENT] = p.silent
    c[kernel.C_APART] = p.apart
    c[kernel.C_APART_TIME] = p.apart_time
    c[kernel.C_JUMP] = p.jump
    c[kernel.C_JUMP_FACTOR] = p.jump_factor
    c[kernel.C_REPROOF] = p.reproof
    c[kernel.C_PROVEN] = p.proven
    c[kernel.C_CLOSE] = p.close
    c[kernel.C_LEAN] = p.lean
    c[kernel.C_ODD_LENGTH] = p.odd_length
    c[kernel.C_SLOW_RATE] = p.slow_rate
    c[kernel.C_REST_RATE] = p.rest_rate
    c[kernel.C_NEAR_NOISE] = p.near_noise
    c[kernel.C_KEPT] = p.kept
    c[kernel.C_SHOCK] = p.shock
    c[kernel.C_BASE_ODDS] = p.base_odds
    c[kernel.C_JUMP_ODDS] = p.jump_odds
    c[kernel.C_ODDS] = p.odds
    c[kernel.C_BIAS_MEMORY] = p.bias_memory
    return c
