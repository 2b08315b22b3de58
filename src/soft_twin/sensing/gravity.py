"""Gravity in the robot's base, from one IMU: the object behind the node `imu_to_gravity`."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.sensing.agreement import Agreement, AgreementParameters
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.ekf import EkfParameters, OrientationEkf, lost_turn
from soft_twin.sensing.heater import HeaterParameters, TemperatureControl
from soft_twin.sensing.hypotheses import Hypotheses, HypothesesParameters
from soft_twin.sensing.imu_calibration import StoredCalibration, read_calibration
from soft_twin.sensing.orientation import STANDARD_GRAVITY, OrientationFilter
from soft_twin.sensing.rotations import (
    checked_rotation,
    quaternion_from_matrix,
    quaternion_product,
    rotation_matrix,
)
from soft_twin.sensing.sample_check import SampleCheck, SampleCheckParameters, Trust, Verdict
from soft_twin.sensing.samples import ImuSample
from soft_twin.sensing.temperature_change import TemperatureChange
from soft_twin.sensing.vqf_orientation import VqfOrientation


@dataclass(frozen=True)
class GravityParameters:
    """Settings of the parts, and limits of what is handed on.

    Attributes:
        ekf, heater, check, agreement, hypotheses, calibration: see there.
        heated: whether the board has a heater that is to be used.
        tilt_limit: standard deviation of the tilt above which gravity is not valid [rad].
        consistency_limit: normalised innovation squared above which rates and forces contradict each other.
        unsteady_factor: on the orientation's standard deviation while the temperature is not steady.
    """

    ekf: EkfParameters = field(default_factory=EkfParameters)
    heater: HeaterParameters = field(default_factory=HeaterParameters)
    check: SampleCheckParameters = field(default_factory=SampleCheckParameters)
    agreement: AgreementParameters = field(default_factory=AgreementParameters)
    hypotheses: HypothesesParameters = field(default_factory=HypothesesParameters)
    calibration: ImuCalibration = field(default_factory=ImuCalibration)
    heated: bool = True
    tilt_limit: float = math.radians(10.0)
    consistency_limit: float = 50.0
    unsteady_factor: float = 2.0


@dataclass(frozen=True)
class GravityEstimate:
    """What is known after a sample.

    Attributes:
        time: of the sample [s].
        gravity_in_base: (3,) [m/s²] in base_link, of length 9.81; NaN before the first usable sample.
        quaternion_wxyz: (4,) base_link → world, z up, heading from 0.
        orientation_covariance: (3, 3) of its error as a rotation vector in world axes [rad²].
        angular_velocity: (3,) rates in base_link without the bias [rad/s].
        specific_force: (3,) in base_link, calibrated [m/s²].
        heater_duty: to command, 0…1.
        temperature_state: "cold", "heating", "steady", "failed" or "off": see TemperatureControl.
        valid: whether gravity may be acted on.
        faults: what is wrong, in words.
    """

    time: float
    gravity_in_base: np.ndarray
    quaternion_wxyz: np.ndarray
    orientation_covariance: np.ndarray
    angular_velocity: np.ndarray
    specific_force: np.ndarray
    heater_duty: float
    temperature_state: str
    valid: bool
    faults: tuple[str, ...]


class GravityEstimator:
    """Temperature control, check of samples, calibration and orientation filter in one `update` a sample.

    A sensor that repeats itself exactly for 0.2 s counts as stuck: samples made by hand need noise.

    Args:
        mounting: (3, 3) rotation from the board's frame to base_link.
        parameters: settings.
        estimator: name of the orientation filter, "ekf" or "vqf".

    Raises:
        InputError: the mounting is not a rotation.
        UsageError: there is no such filter, or its package is missing.
    """

    def __init__(self, mounting: np.ndarray, parameters: GravityParameters | None = None, estimator: str = "ekf"):
        self.parameters = parameters or GravityParameters()
        self._mounting = checked_rotation(mounting)
        self._board_from_base = quaternion_from_matrix(self._mounting.T)
        self._make_filter = _filter_factory(estimator, self.parameters)
        self.reset()

    def reset(self) -> None:
        """Start over: tilt, heading, bias, and the temperature to hold."""
        self._filter = self._make_filter()
        self._heater = TemperatureControl(self.parameters.heater)
        self._check = SampleCheck(self.parameters.check)
        self._agreement = Agreement(self.parameters.agreement)
        self._hypotheses = Hypotheses(self.parameters.hypotheses)
        self._temperature_change = TemperatureChange()
        self._last_time = self._last_used = math.nan
        self._first_time = math.nan
        self._started = self._agreed = self._known = False

    def update(self, sample: ImuSample) -> GravityEstimate:
        """Gravity after the next sample of the board. Never raises for what a sensor may say."""
        verdict = self._check.judge(sample)
        self._control_temperature(sample)
        usable = verdict.trust is not Trust.BAD
        if usable:
            sample = self.parameters.calibration.apply(verdict.sample)
            self._filter_sample(sample, verdict)
        return self._estimate(sample, usable, verdict.faults)

    def _filter_sample(self, sample: ImuSample, verdict: Verdict) -> None:
        if verdict.trust is Trust.LOST:
            self._filter.relevel(lost_turn(verdict.lost_time))
        self._filter.update(sample)
        if verdict.trust is Trust.FORCE_UNKNOWN:
            self._filter.disturb(verdict.doubt, forget_velocity=True)
        elif verdict.doubt > 0.0:
            self._filter.disturb(verdict.doubt, forget_velocity=False)
        if not self._started:
            self._first_time = sample.time
        self._started = True
        self._compare(sample, verdict)

    def _compare(self, sample: ImuSample, verdict: Verdict) -> None:
        """Ask both sensors whether the answer may be acted on; where it is lost, find the tilt anew."""
        dt, self._last_used = sample.time - self._last_used, sample.time
        if verdict.trust is Trust.LOST:
            self._agreement.withdraw()
            self._hypotheses.reset()
            self._agreed = False
            return
        up = rotation_matrix(self._filter.quaternion_wxyz)[2]
        bias = self._filter.gyroscope_bias
        if not (math.isfinite(up[2]) and dt > 0.0):
            return
        rates = sample.angular_velocity - np.clip(bias, -_MOST_BIAS, _MOST_BIAS)
        force, doubt = sample.specific_force, verdict.doubt
        if verdict.trust is Trust.FORCE_UNKNOWN:  # it says nothing, and for a while nothing is missed
            force, doubt = STANDARD_GRAVITY * up, doubt + _BLIND_RATE * dt
        far = self._hypotheses.update(dt, rates, force, up, doubt)
        agreed = self._agreement.update(dt, rates, force, up, doubt)
        self._agreed = agreed and far < self.parameters.hypotheses.limit
        if self._agreement.lost:
            self._hypotheses.reset()
            self._filter.relevel(lost_turn(math.inf))
            self._filter.update(replace(sample, specific_force=self._agreement.found_anew()))

    def _control_temperature(self, sample: ImuSample) -> None:
        if not math.isfinite(sample.time):
            return
        dt = max(sample.time - self._last_time, 0.0) if math.isfinite(self._last_time) else 0.0
        self._last_time = sample.time
        if self.parameters.heated:
            self._heater.update(sample.time, sample.temperature)
        change = self._temperature_change.update(sample.temperature, dt)
        if change:
            self._filter.warm(change)

    def _estimate(self, sample: ImuSample, usable: bool, faults: tuple[str, ...]) -> GravityEstimate:
        p = self.parameters
        state = self._heater.state if p.heated else "off"
        covariance = self._filter.covariance * (1.0 if state == "steady" else p.unsteady_factor**2)
        quaternion = self._filter.quaternion_wxyz if self._started else np.full(4, np.nan)
        tilt_known = max(covariance[0, 0], covariance[1, 1]) < p.tilt_limit**2
        consistent = not self._filter.consistency > p.consistency_limit
        self._known |= (self._agreed and tilt_known) or sample.time - self._first_time > _PATIENCE
        faults += self._lasting_faults(consistent, tilt_known)
        rates = sample.angular_velocity - self._filter.gyroscope_bias if usable else sample.angular_velocity
        return GravityEstimate(
            time=sample.time,
            gravity_in_base=-STANDARD_GRAVITY * self._mounting @ rotation_matrix(quaternion)[2],
            quaternion_wxyz=quaternion_product(quaternion, self._board_from_base),
            orientation_covariance=covariance,
            angular_velocity=self._mounting @ rates,
            specific_force=self._mounting @ sample.specific_force,
            heater_duty=self._heater.duty if p.heated else 0.0,
            temperature_state=state,
            valid=bool(usable and self._agreed and tilt_known and consistent and np.isfinite(quaternion).all()),
            faults=faults,
        )

    def _lasting_faults(self, consistent: bool, tilt_known: bool) -> tuple[str, ...]:
        faults = [f"temperature control: {self._heater.fault}"] if self._heater.fault else []
        if not consistent or self._agreement.contradiction:
            faults.append(
                "gyroscope and accelerometer contradict each other: axes swapped, sign or unit wrong? "
                "Check the board's settings; then turn the base calmly by 30° about two axes, or reset"
            )
        elif self._known and not (self._agreed and tilt_known):
            faults.append(
                "tilt uncertain: gyroscope and accelerometer do not agree on it, or not yet; "
                "hold the base still for a second, and turn it calmly once"
            )
        return tuple(faults)


_PATIENCE = 2.0  # [s] after the start from which a tilt that is not known is told
_BLIND_RATE = 0.05  # [rad/s] by which gravity is less known while there is no force to compare with
_MOST_BIAS = math.radians(3.0)  # [rad/s] that a filter may believe in before the comparison stops to believe it


def build_estimator(mounting: np.ndarray, estimator: str = "ekf", calibration: str | Path = "") -> GravityEstimator:
    """The estimator of a node or a replay, with what is in a calibration file.

    Args:
        mounting: (3, 3) board → base_link by the robot's description; a calibrated one takes its place.
        estimator: "ekf" or "vqf".
        calibration: path of the file; empty, or not there yet: nothing is corrected.

    Raises:
        DescriptionError, InputError, UsageError: the file is malformed, the mounting no rotation, no such filter.
    """
    stored = StoredCalibration()
    if calibration and Path(calibration).is_file():
        stored = read_calibration(calibration)
    used = mounting if stored.mounting is None else stored.mounting
    return GravityEstimator(used, GravityParameters(calibration=stored.imu), estimator)


def _filter_factory(estimator: str, parameters: GravityParameters) -> Callable[[], OrientationFilter]:
    factories = {"ekf": lambda: OrientationEkf(parameters.ekf), "vqf": VqfOrientation}
    if estimator not in factories:
        raise UsageError(f"no orientation filter '{estimator}': there are {', '.join(factories)}")
    return factories[estimator]
