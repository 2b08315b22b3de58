"""How likely is it that gravity is wrong? A bank of small filters, one for each thing that may be wrong with the rates.

Every hypothesis says what the true rates ω are, given those that are read, and explains the specific force by

    f = g u + a + α × r + ω × (ω × r) + noise,        du/dt = −ω × u + drift,

with "up" u, an acceleration a of the base, and an unknown lever r between the IMU and the point that the base turns
about. The base's velocity is a process with a pace and without a mean (a triple pole), so that no base accelerates for
ever, and turns at a lever are not taken for accelerations. Each hypothesis is a Kalman filter in u, velocity,
acceleration, jerk and drift, at six levels of how vigorously the base moves, with the lever by least squares.

Hypotheses: the gyroscope is *healthy*; it is off by a *bias* that began at some time; it does not say how the base
turns (*unseen*: stuck, saturated, or dead, which does not begin while it reads turns); it has one of the *usual
mistakes* of signs, axes and scales. An accelerometer with wrong signs or axes looks the same as a gyroscope with some:
turns of gravity are all that both see. So gravity may be wrong, too, where the answer is what the accelerometer says:
one in two or three of such mistakes is its own.

Their probabilities follow Bayes: boards break and are mended at given rates (so that old proof never outweighs what is
new), a fault is likelier to begin where rates or forces jump, mistakes are likelier than others from the beginning on,
and each sample weighs by the likelihood of its innovation, which is Student's, tempered by how many samples a second
are news, and by how vigorously the base moves: what is felt in a shake says little, nor does a sample within which
turns start or end. The healthy hypothesis follows the filter whose answer is judged. The answer is not to be acted on
where the hypotheses by which it is far off, give or take what they do not know of "up" themselves, have more than a
given probability together.
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.sensing import hypotheses_kernel as kernel


@dataclass(frozen=True)
class HypothesesParameters:
    """Of chips, bases and chances.

    Attributes:
        noise: of the accelerometer, with what no model has [m/s²].
        least, ratio: acceleration of a base that rests [m/s²], and how much more each of the five levels has.
        vibration: noise of an accelerometer on a base that vibrates [m/s²].
        pace: of the base's motion [rad/s].
        wander, scale: by which "up" wanders with a good gyroscope [rad/√s], and relative to the rate [√s].
        bias, bias_walk: size of a bias that begins [rad/s], and how it changes [rad/s/√s].
        turn, turn_time: how a base turns that nobody sees [rad/s], [s].
        lever, lever_walk: from the IMU to the point that the base turns about [m], and how that moves [m/√s].
        hazard: rate at which boards get each kind of fault [1/s].
        repair: rate at which they are mended [1/s].
        change: rate at which bases move otherwise than before [1/s].
        samples: readings in a second that are news [Hz].
        calm: acceleration by which what is felt says half as much [m/s²].
        tail: degrees of freedom of the innovations' distribution.
        near, far: off the answer by up to this is right, from that on it is wrong [rad].
        follow: time constant with which the healthy hypothesis follows the filter [s].
        doubt: share of the healthy weight that a doubtful sample moves to "unseen", for each radian.
        limit: probability of "far off" above which the answer is not to be acted on.
        mistaken: odds of a usual mistake in the beginning.
        jump: size of the rate's jump where a fault of the gyroscope begins [rad/s].
        jump_odds: by how much likelier at most a fault begins where rates or forces jump.
        silence: what a gyroscope reads that tells of no turn any more [rad/s].
        onset: share of the mean square of what the rate's averaged change leaves out that is noise, at the lever.
        free: angle up to which the healthy hypothesis is left rather to the accelerometer than to the filter [rad].
    """

    noise: float = 0.08
    least: float = 0.06
    ratio: float = 4.0
    vibration: float = 6.0
    pace: float = 6.0
    wander: float = math.radians(0.25)
    scale: float = 0.004
    bias: float = math.radians(20.0)
    bias_walk: float = math.radians(10.0)
    turn: float = math.radians(60.0)
    turn_time: float = 0.3
    lever: float = 0.12
    lever_walk: float = 0.01
    hazard: float = 0.001
    repair: float = 0.3
    change: float = 2.0
    samples: float = 40.0
    calm: float = 1.0
    tail: float = 5.0
    near: float = math.radians(3.0)
    far: float = math.radians(4.5)
    follow: float = 0.5
    doubt: float = 3.0
    limit: float = 0.07
    mistaken: float = 0.02
    jump: float = math.radians(20.0)
    jump_odds: float = 10000.0
    silence: float = math.radians(1.5)
    onset: float = 0.1
    free: float = math.radians(1.5)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (value > 0.0 and math.isfinite(value)):
                raise InputError(f"parameter {name} of the hypotheses = {value!r}: expected a finite number above 0")
        if not self.near < self.far:
            raise InputError(f"near = {self.near!r}, far = {self.far!r}: expected near below far")


class Hypotheses:
    """See the module's docstring.

    Args:
        parameters: settings.
        matrices: (h, 3, 3) true rates from what the gyroscope says, by each hypothesis, the healthy one first.

    Attributes:
        parameters: settings.
    """

    def __init__(self, parameters: HypothesesParameters | None = None, matrices: np.ndarray | None = None):
        self.parameters = parameters or HypothesesParameters()
        self._coefficients = _coefficients(self.parameters)
        self._matrices = true_rates() if matrices is None else matrices
        count = len(self._matrices)
        self._state = (
            np.zeros((count, kernel.ORDER, 3)),
            np.zeros((count, kernel.ORDER - 1, 3, 3)),
            np.zeros((count, 3)),
            np.zeros((count, 3, 3)),
            np.zeros((count, kernel.LEVELS)),
            np.zeros((kernel.KINDS, kernel.LEVELS, kernel.ORDER, kernel.ORDER)),
            np.zeros(kernel.TURN),
        )
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next sample's answer is believed as far as a tilt from one reading is."""
        self._odds = kernel.beforehand(self._coefficients, len(self._matrices))
        self._state[-1][kernel.STARTED] = 0.0

    def lose_tilt(self, passed: float) -> None:
        """The answer is found anew, after a time [s] in which nothing was seen: forget how the base moved. What was
        wrong with the board is as likely as it was, but for repairs meanwhile."""
        kept = math.exp(-self.parameters.repair * passed)
        known = self._odds if self._state[-1][kernel.STARTED] == 0.0 else self._weights
        self._odds = kept * known + (1.0 - kept) * kernel.beforehand(self._coefficients, len(known))
        self._state[-1][kernel.STARTED] = 0.0

    def update(self, dt: float, rates: np.ndarray, force: np.ndarray, up: np.ndarray, doubt: float) -> float:
        """The probability that the filter's answer is far off.

        Args:
            dt: since the last sample [s].
            rates: (3,) without the known bias [rad/s].
            force: (3,) specific force [m/s²].
            up: (3,) the filter's answer; all in the frame of the board.
            doubt: by which this sample may have turned the answer [rad].
        """
        if self._state[-1][kernel.STARTED] == 0.0:
            kernel.begin(*self._state, self._coefficients, self._odds, rates, up)
        return kernel.step(*self._state, self._coefficients, self._matrices, dt, rates, force, up, doubt)

    @property
    def evidence(self) -> float:
        """Log of how likely the last sample was by all hypotheses together, each weighted as it was before."""
        return math.log(self._state[4].sum() + 1e-300)

    @property
    def probabilities(self) -> dict[str, float]:
        """Of each kind of hypothesis, "healthy", "biased", "unseen" and "mistaken"; NaN before the first sample."""
        weights = self._weights
        first = dict(zip(("healthy", "biased", "unseen"), weights[: kernel.MISTAKEN].tolist(), strict=True))
        return first | {"mistaken": float(weights[kernel.MISTAKEN :].sum())}

    @property
    def _weights(self) -> np.ndarray:
        """(h,) the probabilities of the hypotheses; NaN before the first sample."""
        weights = self._state[4].sum(axis=1)
        if self._state[-1][kernel.STARTED] == 0.0:
            return np.full(len(weights), math.nan)
        return weights / weights.sum()


def true_rates() -> np.ndarray:
    """(h, 3, 3) true rates from what the gyroscope says, by each hypothesis, in the kernel's order."""
    return np.array([np.eye(3), np.eye(3), np.zeros((3, 3)), *usual_mistakes(), *usual_scales()])


def usual_mistakes() -> list[np.ndarray]:
    """Wrong signs, wrong axes, and what the accelerometer's wrong axes look like.

    An accelerometer that is read through a matrix P sees its "up" turn as the rates det(P) P ω say.
    """
    signs = [np.diag(one) for one in product((1.0, -1.0), repeat=3) if min(one) < 0.0]
    axes = [np.eye(3)[list(order)] for order in ((1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1))]
    return [*signs, *axes, *(-one for one in axes if np.linalg.det(one) < 0.0)]


def usual_scales() -> list[np.ndarray]:
    """Degrees for half degrees, and ranges that the host takes for others."""
    return [factor * np.eye(3) for factor in (0.5, 0.7, 1.4, 2.0)]


def _coefficients(parameters: HypothesesParameters) -> np.ndarray:
    """As the kernel numbers them: C_X is the place of the parameter x."""
    c = np.full(kernel.COEFFICIENTS, np.nan)
    c[kernel.C_GRAVITY] = STANDARD_GRAVITY
    for name, value in vars(parameters).items():
        c[getattr(kernel, f"C_{name.upper()}")] = value
    return c
