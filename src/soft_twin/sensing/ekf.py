"""Orientation by an error-state extended Kalman filter (Lai et al. 2025, "Filters for IMU drifts").

State. Nominal: the unit quaternion q (sensor → world, R = R(q)), gyroscope bias b and matrix error S (3, 3: scale on
the diagonal, alignment beside it), velocity v and position p. Error state δx = (θ, δb, δS, δv, δp), twenty-one numbers;
θ is the rotation vector about the world's axes with R_true = exp([θ]×) R.

Process. With the gyroscope's ω_m and the accelerometer's f_m,

    u = ω_m − b,   ω = (I − S) u,   q̇ = ½ q ⊗ ω,   v̇ = R f_m − g e_z,   ṗ = v − p/τ_p,

whose errors follow, to first order,

    θ̇ = −R (I − S) δb − R δS u + R n_g,   δv̇ = −[R f_m]× θ + R n_a,   δṗ = δv − δp/τ_p,   δḃ = n_b,   δṠ = n_S.

The transition matrix F of a covariance step (0.05 s) has the integrals of R (I − S), R_ik u_l and R f_m over its
samples in these blocks; a test compares it with finite differences of the process. (The paper's Appendix II is lost.)

What errors of the gyroscope do. A rate error ε that lasts for as long as the tilt is averaged over (some 10 s) tilts
the answer by ε times that: 0.03 °/s are 0.3°. Scale and alignment (some 0.3 % of the rate) do so in turns: hence S, all
nine entries. And a bias that rest has told to 0.002 °/s is not the bias in motion: on real chips it moves by up to
0.06 °/s as soon as a board is moved slowly, and back with the next rest. Hence b may jump when rest begins or ends: a
filter that trusts the last rest's bias averages gravity over too long a time.

Measurement. An accelerometer measures gravity only where the sensor does not accelerate. What holds in all motion of
a robot's base: it stays where it is. Velocity and position (with the slow forgetting τ_p, so that a base may travel)
are near zero, v ~ N(0, σ_v²), p ~ N(0, σ_p²), with a correlation time τ_c; each step measures "0" with the variance
σ² τ_c/Δt. A tilt error makes v run away with g sin θ: that is how gravity's direction is found, over as long a time
as the motion needs. σ_v and σ_p widen with the vigour of the motion (the low-passed NIS), n_g and n_a grow with rate
and acceleration (scale and alignment errors). At rest (rate and force near their low-pass for 1.5 s, rate within the
gate of the known bias) velocity is zero and the rate is the bias: zero-rate update, which stops heading from
wandering. A board on a body that is held rests less than one on a table: it is brought back after each motion, by some
0.1 °/s, and that is what the rate's zero is worth. Nor does it count where the force turns: a creep that lasts would
teach a bias that tilts the next motion by half a degree. A lost tilt (a start in a shake) shows in innovations beyond
all vigour, or at rest in a force that is not up: its covariance is opened, or it is found anew.

Honesty. The NIS divides innovations by the variance that the model gives one of them, P + σ²; the correlation's
factor is only in the gain. The orientation's covariance has the accelerometer's own bias on top, which rest cannot
reveal.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_number, checked_numbers
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.sensing import ekf_kernel as kernel
from soft_twin.sensing.orientation import OrientationFilter, OrientationTrack
from soft_twin.sensing.samples import ImuSample
from soft_twin.sensing.temperature_change import TemperatureChange


@dataclass(frozen=True)
class EkfParameters:
    """Settings of the filter: one set for all motions.

    Attributes:
        interval: of the covariance steps [s].
        gyroscope_noise: density [rad/s/√Hz], with what a data sheet leaves out.
        gyroscope_scale_noise: part of the rate that is noise [√s].
        bias_walk: random walk of the gyroscope's bias [rad/s/√s].
        bias_jump: standard deviation of its change where rest begins or ends [rad/s]: 0.02 °/s, as measured against
            optical truth; twice that lets the heading drift by 4° in ten minutes of swings.
        bias_per_kelvin: how much bias may change with chip temperature [rad/s/K], where it is not known.
        bias_std: of the bias at the start [rad/s].
        matrix_walk: random walk of each entry of the gyroscope's matrix error [1/√s].
        matrix_std: of each entry at the start: scale and alignment.
        accelerometer_noise: density [m/s²/√Hz], with vibration.
        accelerometer_scale_noise: part of the acceleration that is noise [√s].
        accelerometer_bias_std: offset that calibration leaves [m/s²].
        position_std: how far the base moves from its slowly followed place, σ_p [m].
        velocity_std: how fast the base moves, σ_v [m/s].
        correlation_time: of that motion, τ_c [s].
        position_memory: with which the base's place is followed, τ_p [s].
        rest_low_pass: time constant for rest detection [s].
        rest_rate, rest_force: deviation from the low-pass that still is rest [rad/s], [m/s²].
        rest_time: how long there must be rest [s].
        still_rate_std, still_velocity_std: of a base at rest, or of a plate that is held [rad/s], [m/s].
        still_gate: standard deviations from the known bias within which a steady rate is bias, not a slow turn.
        still_turn: rate at which the force may turn while the rate is taken for bias [rad/s], and
        still_turn_time: over which that is seen [s].
        vigour_time: over which the innovations are averaged that widen σ_v and σ_p [s].
        vigour_limit: largest factor on their squares; above it the tilt is taken for lost.
        lost_tilt_noise: process noise of a lost tilt [rad/√s].
        tilt_std: of the tilt that one reading of the accelerometer gives [rad].
    """

    interval: float = 0.05
    gyroscope_noise: float = math.radians(0.03)
    gyroscope_scale_noise: float = 0.0013
    bias_walk: float = 2e-5
    bias_jump: float = 3e-4
    bias_per_kelvin: float = math.radians(0.02)
    bias_std: float = math.radians(0.5)
    matrix_walk: float = 1e-5
    matrix_std: float = 0.0021
    accelerometer_noise: float = 0.05
    accelerometer_scale_noise: float = 0.002
    accelerometer_bias_std: float = 0.05
    position_std: float = 0.4
    velocity_std: float = 0.38
    correlation_time: float = 0.5
    position_memory: float = 2.0
    rest_low_pass: float = 0.5
    rest_rate: float = math.radians(2.0)
    rest_force: float = 0.5
    rest_time: float = 1.5
    still_rate_std: float = math.radians(0.1)
    still_velocity_std: float = 0.005
    still_gate: float = 2.0
    still_turn: float = math.radians(0.05)
    still_turn_time: float = 1.0
    tilt_std: float = 0.1
    vigour_time: float = 0.5
    vigour_limit: float = 30.0
    lost_tilt_noise: float = 0.5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (value >= 0.0 and math.isfinite(value)):
                raise InputError(f"EKF parameter {name} = {value!r}: expected a finite number, 0 or more")
        for name in ("interval", "position_std", "velocity_std", "correlation_time", "position_memory", "tilt_std"):
            if getattr(self, name) == 0.0:
                raise InputError(f"EKF parameter {name} = 0: expected more")


@dataclass
class EkfState:
    """What the filter knows; the layouts of the arrays are in `ekf_kernel`.

    Attributes:
        nominal: (22,) quaternion, bias, matrix error, velocity, position.
        covariance: (21, 21) of the error state.
        pending: (42,) sums over the samples since the last covariance step.
        rest: (12,) low-passed rate and force, time at rest, whether there was rest, the force more slowly.
        monitor: (2,) NIS of the last covariance step, vigour of the motion.
        time: of the last sample [s], NaN before the first.
        started: whether there was a sample at all.
        levelled: whether a sample has set the tilt, since time was lost.
        lost_turn: standard deviation of what was turned in the time that was lost [rad].
    """

    nominal: np.ndarray
    covariance: np.ndarray
    pending: np.ndarray
    rest: np.ndarray
    monitor: np.ndarray
    time: float = math.nan
    started: bool = False
    levelled: bool = False
    lost_turn: float = 0.0


class OrientationEkf(OrientationFilter):
    """The filter of this module."""

    def __init__(self, parameters: EkfParameters | None = None):
        self.parameters = parameters or EkfParameters()
        self._coefficients = _coefficients(self.parameters)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        p = self.parameters
        nominal = np.zeros(kernel.NOMINAL)
        nominal[kernel.Q] = 1.0
        std = np.repeat([p.tilt_std, p.bias_std, p.matrix_std, 0.0, 0.0], (3, 3, 9, 3, 3))
        std[kernel.TH + 2] = 0.0
        self.state = EkfState(
            nominal,
            np.diag(std**2),
            np.zeros(kernel.PENDING),
            np.zeros(kernel.REST),
            np.zeros(kernel.MONITOR),
        )

    def update(self, sample: ImuSample) -> None:
        s = self.state
        dt = sample.time - s.time
        s.time = sample.time
        if not s.levelled:
            self._level(sample.specific_force)
            return
        kernel.update(
            s.nominal,
            s.covariance,
            s.pending,
            s.rest,
            s.monitor,
            self._coefficients,
            dt,
            sample.angular_velocity,
            sample.specific_force,
        )

    def update_batch(
        self,
        angular_velocity: np.ndarray,
        specific_force: np.ndarray,
        rate: float,
        temperature: np.ndarray | None = None,
        time: np.ndarray | None = None,
    ) -> OrientationTrack:
        gyr, acc = checked_recording(angular_velocity, specific_force, rate)
        n = len(gyr)
        steps = np.full(n, 1.0 / rate) if time is None else _steps(time, n, rate)
        answer = _Answer(np.empty((n, 4)), np.empty((n, 3)), np.empty((n, 3)), np.empty(n))
        start = 0
        for end, change in _stretches(temperature, steps):
            self._run(answer, gyr, acc, steps, start, end)
            self.warm(change)
            if end < n and steps[end] > GAP:
                self.relevel(lost_turn(steps[end]))
            start = end
        answer.variances[:, :2] += self._tilt_floor()
        return OrientationTrack(
            answer.quaternions, answer.biases, np.sqrt(answer.variances), answer.nis[: answer.steps].copy()
        )

    def _run(
        self, answer: "_Answer", gyr: np.ndarray, acc: np.ndarray, steps: np.ndarray, start: int, end: int
    ) -> None:
        """The samples from `start` to `end`; the very first one only sets the tilt."""
        s = self.state
        first = 0 if s.levelled else 1
        if not s.levelled:
            self._level(acc[start])
        answer.steps += kernel.update_batch(
            s.nominal,
            s.covariance,
            s.pending,
            s.rest,
            s.monitor,
            self._coefficients,
            steps[start:end],
            gyr[start:end],
            acc[start:end],
            first,
            answer.quaternions[start:end],
            answer.biases[start:end],
            answer.variances[start:end],
            answer.nis[answer.steps :],
        )

    def relevel(self, turn_std: float) -> None:
        s = self.state
        s.lost_turn = turn_std
        s.levelled = False
        s.pending[:] = 0.0
        s.rest[:] = 0.0
        s.monitor[kernel.VIGOUR] = 0.0

    def disturb(self, angle: float, forget_velocity: bool) -> None:
        s = self.state
        turned = slice(kernel.TH, kernel.TH + 3)
        np.einsum("ii->i", s.covariance)[turned] += angle**2
        if forget_velocity:
            kernel.forget_motion(s.nominal, s.covariance, s.pending, self.parameters.velocity_std)

    def warm(self, change: float) -> None:
        diagonal = np.einsum("ii->i", self.state.covariance)
        diagonal[kernel.EB : kernel.EB + 3] += self.parameters.bias_per_kelvin**2 * abs(change) * _SLOPE_CORRELATION

    @property
    def quaternion_wxyz(self) -> np.ndarray:
        return self.state.nominal[kernel.Q : kernel.Q + 4].copy()

    @property
    def gyroscope_bias(self) -> np.ndarray:
        return self.state.nominal[kernel.B : kernel.B + 3].copy()

    @property
    def covariance(self) -> np.ndarray:
        covariance = self.state.covariance[:3, :3].copy()
        floor = self._tilt_floor()
        covariance[0, 0] += floor
        covariance[1, 1] += floor
        return covariance

    @property
    def consistency(self) -> float:
        return float(self.state.monitor[kernel.VIGOUR])

    def _tilt_floor(self) -> float:
        return (self.parameters.accelerometer_bias_std / STANDARD_GRAVITY) ** 2

    def _level(self, specific_force: np.ndarray) -> None:
        """Tilt from one reading; after lost time only if that is better than what was known, and not while shaken."""
        s, p = self.state, self.parameters
        self.disturb(s.lost_turn, forget_velocity=True)
        calm = abs(math.sqrt(specific_force @ specific_force) - STANDARD_GRAVITY) < _CALM
        if not s.started or (calm and s.lost_turn > p.tilt_std):
            tilt_std = p.tilt_std if calm else _SHAKEN_TILT_STD
            kernel.level(s.nominal, s.covariance, s.pending, specific_force, tilt_std)
        s.started, s.lost_turn, s.levelled = True, 0.0, True


GAP = 0.25  # [s] without samples after which the tilt has to be found anew
_LOST_RATE = 0.5  # [rad/s] at which a sensor may have turned unseen
_CALM = 1.0  # [m/s^2] by which the specific force of a sensor that hardly accelerates differs from g
_SHAKEN_TILT_STD = 0.7  # [rad] of the tilt that one reading gives while the sensor is shaken
_SLOPE_CORRELATION = 5.0  # [K] over which the slope of the bias keeps its sign


@dataclass
class _Answer:
    """Arrays that a batch fills."""

    quaternions: np.ndarray
    biases: np.ndarray
    variances: np.ndarray
    nis: np.ndarray
    steps: int = 0


def _stretches(temperature: np.ndarray | None, steps: np.ndarray) -> Iterator[tuple[int, float]]:
    """Ends of the stretches without gap and change of temperature, and that change [K]."""
    count = len(steps)
    if temperature is not None and np.shape(temperature) != (count,):
        raise InputError(f"temperatures of shape {np.shape(temperature)}: expected ({count},), one a sample")
    watch = TemperatureChange()
    given = np.full(count, math.nan) if temperature is None else temperature
    temperatures = checked_numbers(given, f"({count},) numbers", "temperatures")
    if temperature is not None or (steps > GAP).any():
        for i, (value, step) in enumerate(zip(temperatures.tolist(), steps.tolist(), strict=True)):
            change = watch.update(value, step)
            if i > 0 and (change or step > GAP):
                yield i, change
    yield count, 0.0


def _steps(time: np.ndarray, count: int, rate: float) -> np.ndarray:
    """(n,) time since the sample before [s]."""
    if np.shape(time) != (count,) or not np.all(np.diff(time) > 0.0):
        raise InputError(f"times of shape {np.shape(time)}: expected ({count},), each later than the one before")
    return np.diff(time, prepend=time[0] - 1.0 / rate)


def _coefficients(p: EkfParameters) -> np.ndarray:
    c = np.empty(kernel.COEFFICIENTS)
    c[kernel.C_INTERVAL] = p.interval
    c[kernel.C_GRAVITY] = STANDARD_GRAVITY
    c[kernel.C_GYRO] = p.gyroscope_noise
    c[kernel.C_GYRO_SCALE] = p.gyroscope_scale_noise
    c[kernel.C_BIAS_WALK] = p.bias_walk
    c[kernel.C_BIAS_JUMP] = p.bias_jump
    c[kernel.C_MATRIX_WALK] = p.matrix_walk
    c[kernel.C_ACC] = p.accelerometer_noise
    c[kernel.C_ACC_SCALE] = p.accelerometer_scale_noise
    c[kernel.C_POSITION] = p.position_std
    c[kernel.C_VELOCITY] = p.velocity_std
    c[kernel.C_CORRELATION] = p.correlation_time
    c[kernel.C_LEAK] = p.position_memory
    c[kernel.C_REST_TAU] = p.rest_low_pass
    c[kernel.C_REST_RATE] = p.rest_rate
    c[kernel.C_REST_FORCE] = p.rest_force
    c[kernel.C_REST_TIME] = p.rest_time
    c[kernel.C_STILL_RATE] = p.still_rate_std
    c[kernel.C_STILL_VELOCITY] = p.still_velocity_std
    c[kernel.C_GATE] = p.still_gate
    c[kernel.C_VIGOUR_TAU] = p.vigour_time
    c[kernel.C_VIGOUR_LIMIT] = p.vigour_limit
    c[kernel.C_LOST_TILT] = p.lost_tilt_noise
    c[kernel.C_TILT] = p.tilt_std
    c[kernel.C_TURN_TAU] = p.still_turn_time
    c[kernel.C_TURN] = p.still_turn
    return c


def lost_turn(lost_time: float) -> float:
    """Standard deviation of what a sensor may have turned in a time without samples [rad]."""
    return min(_LOST_RATE * lost_time, math.pi)


def checked_recording(
    angular_velocity: np.ndarray, specific_force: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rates and specific force of a recording, contiguous (n, 3) both.

    Raises:
        InputError: no numbers, empty, of unequal shape, not finite, or the rate [Hz] is not positive.
    """
    gyr, acc = (
        np.ascontiguousarray(checked_numbers(values, "numbers (n, 3)", what))
        for values, what in ((angular_velocity, "angular velocity"), (specific_force, "specific force"))
    )
    if gyr.ndim != 2 or gyr.shape[1] != 3 or gyr.shape != acc.shape or not len(gyr):
        raise InputError(f"angular velocity {gyr.shape} and specific force {acc.shape}: expected (n, 3) both, n > 0")
    if not (np.isfinite(gyr).all() and np.isfinite(acc).all()):
        raise InputError("angular velocity or specific force is not finite: leave out what was not measured")
    if not (checked_number(rate, "rate", "Hz") > 0.0 and math.isfinite(rate)):
        raise InputError(f"rate {rate!r} Hz: expected a positive number")
    return gyr, acc
