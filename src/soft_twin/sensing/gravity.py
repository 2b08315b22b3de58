"""Gravity in the robot's base, from one IMU: the object behind the node `imu_to_gravity`."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import UsageError
from soft_twin.files import is_missing
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.ekf import EkfParameters, OrientationEkf
from soft_twin.sensing.heater import HeaterParameters, TemperatureControl
from soft_twin.sensing.imu_calibration import StoredCalibration, read_calibration
from soft_twin.sensing.orientation import OrientationFilter
from soft_twin.sensing.rotations import (
    checked_rotation,
    quaternion_from_matrix,
    quaternion_product,
    rotation_matrix,
)
from soft_twin.sensing.sample_check import Trust, Verdict
from soft_twin.sensing.samples import ImuSample
from soft_twin.sensing.temperature_change import TemperatureChange
from soft_twin.sensing.vqf_orientation import VqfOrientation
from soft_twin.sensing.watched_orientation import WatchedOrientation, WatchParameters


@dataclass(frozen=True)
class GravityParameters:
    """Settings of the parts, and limits of what is handed on.

    Attributes:
        ekf, heater, watch, calibration: see there.
        heated: whether the board has a heater that is to be used.
        unsteady_factor: on the orientation's standard deviation while the temperature is not steady.
    """

    ekf: EkfParameters = field(default_factory=EkfParameters)
    heater: HeaterParameters = field(default_factory=HeaterParameters)
    watch: WatchParameters = field(default_factory=WatchParameters)
    calibration: ImuCalibration = field(default_factory=ImuCalibration)
    heated: bool = True
    unsteady_factor: float = 2.0


@dataclass(frozen=True)
class GravityEstimate:
    """What is known after a sample.

    Attributes:
        time: of the sample [s].
        gravity_in_base: (3,) [m/s²] in base_link, of length 9.81; NaN before the first usable sample.
        quaternion_wxyz: (4,) base_link → world, z up, heading from 0.
        orientation_covariance: (3, 3) of its error as a rotation vector in world axes [rad²].
        angular_velocity: (3,) rates in base_link without the bias [rad/s]; NaN where the sample is bad.
        specific_force: (3,) in base_link, calibrated [m/s²]; NaN where the sample is bad.
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

    Attributes:
        heater: the temperature control; its parameters may be changed while it runs, and hold after a reset, too.

    Args:
        mounting: (3, 3) rotation from the board's frame to base_link.
        parameters: settings.
        estimator: name of the orientation filter, "ekf" or "vqf".
        heater: what holds the board's temperature already, which it goes on with; None: one of its own, which reads the
            temperature of a board that was not heated yet.

    Raises:
        InputError: the mounting is not a rotation.
        UsageError: there is no such filter, or its package is missing.
    """

    def __init__(
        self,
        mounting: np.ndarray,
        parameters: GravityParameters | None = None,
        estimator: str = "ekf",
        heater: TemperatureControl | None = None,
    ):
        self.parameters = parameters or GravityParameters()
        self._mounting = checked_rotation(mounting)
        self._board_from_base = quaternion_from_matrix(self._mounting.T)
        self._make_filter = _filter_factory(estimator, self.parameters)
        self.heater = TemperatureControl(self.parameters.heater) if heater is None else heater
        self._start()

    @property
    def watched(self) -> WatchedOrientation:
        """The filter behind its checks, for those who want to know why an answer is valid or not."""
        return self._orientation

    def reset(self) -> None:
        """Start over: tilt, heading, bias, and the temperature to hold where none is held."""
        if self.heater.state not in ("heating", "steady"):
            self.heater.reset()
        self._start()

    def _start(self) -> None:
        p = self.parameters
        self._orientation = WatchedOrientation(self._make_filter(), p.watch, p.calibration)
        self._temperature_change = TemperatureChange()
        self._last_time = math.nan

    def update(self, sample: ImuSample) -> GravityEstimate:
        """Gravity after the next sample of the board. Never raises for what a sensor may say."""
        self._control_temperature(sample)
        p = self.parameters
        state = self.heater.state if p.heated else "off"
        unsteady = 1.0 if state == "steady" else p.unsteady_factor
        verdict = self._orientation.update(sample, unsteady)
        return self._estimate(verdict, state, unsteady)

    def _control_temperature(self, sample: ImuSample) -> None:
        if not math.isfinite(sample.time):
            return
        dt = max(sample.time - self._last_time, 0.0) if math.isfinite(self._last_time) else 0.0
        self._last_time = sample.time
        if self.parameters.heated:
            self.heater.update(sample.time, sample.temperature)
        change = self._temperature_change.update(sample.temperature, dt)
        if change:
            self._orientation.filter.warm(change)

    def _estimate(self, verdict: Verdict, state: str, unsteady: float) -> GravityEstimate:
        watched, sample = self._orientation, verdict.sample
        quaternion = watched.filter.quaternion_wxyz if watched.started else np.full(4, np.nan)
        rates, force = sample.angular_velocity - watched.filter.gyroscope_bias, sample.specific_force
        if verdict.trust is Trust.BAD:
            rates, force = np.full(3, np.nan), np.full(3, np.nan)
        broken = (f"temperature control: {self.heater.fault}",) if self.heater.fault else ()
        return GravityEstimate(
            time=sample.time,
            gravity_in_base=-STANDARD_GRAVITY * self._mounting @ rotation_matrix(quaternion)[2],
            quaternion_wxyz=quaternion_product(quaternion, self._board_from_base),
            orientation_covariance=watched.filter.covariance * unsteady**2,
            angular_velocity=self._mounting @ rates,
            specific_force=self._mounting @ force,
            heater_duty=self.heater.duty if self.parameters.heated else 0.0,
            temperature_state=state,
            valid=watched.valid,
            faults=watched.faults + broken,
        )


def build_estimator(
    mounting: np.ndarray,
    estimator: str = "ekf",
    calibration: str | Path = "",
    heater: TemperatureControl | None = None,
) -> GravityEstimator:
    """The estimator of a node or a replay, with what is in a calibration file.

    Args:
        mounting: (3, 3) board → base_link by the robot's description; a calibrated one takes its place.
        estimator: "ekf" or "vqf".
        calibration: path of the file; empty, or not there yet: nothing is corrected.
        heater: as GravityEstimator.

    Raises:
        DescriptionError, InputError, UsageError: the file is malformed, the mounting no rotation, no such filter.
    """
    stored = StoredCalibration()
    if calibration and not is_missing(calibration):
        stored = read_calibration(calibration)
    used = mounting if stored.mounting is None else stored.mounting
    return GravityEstimator(used, GravityParameters(calibration=stored.imu), estimator, heater)


def _filter_factory(estimator: str, parameters: GravityParameters) -> Callable[[], OrientationFilter]:
    factories = {"ekf": lambda: OrientationEkf(parameters.ekf), "vqf": VqfOrientation}
    if estimator not in factories:
        raise UsageError(f"no orientation filter '{estimator}': there are {', '.join(factories)}")
    return factories[estimator]
