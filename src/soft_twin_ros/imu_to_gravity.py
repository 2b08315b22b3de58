"""IMU samples in, the direction of gravity in base_link out, with the chip's temperature under control.

Publishes imu/data, gravity, imu/heater, base_link in the world on /tf, and gravity/reset when the filter starts over.
With the parameter `device` the node drives a serial IMU board itself and also publishes imu/data_raw and
imu/temperature; without, it subscribes to these (a micro-ROS board). With the parameter `calibration` its services
calibrate_accelerometer (called once in each of six positions) and calibrate_mounting (called upright, then with base +x
up) write that file and use it at once.

With the parameter `imu` it is the node of another IMU of the description, one on a plate: the direction of gravity is
that in the plate's frame, and its name stands before those of all topics and services, plate/gravity. It sends no
transform.
"""

import math
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import Vector3Stamped
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import Imu, Temperature
from std_msgs.msg import Empty, Float64
from std_srvs.srv import Trigger

from soft_twin.checks import checked_vector
from soft_twin.descriptions.drives import ImuPlace
from soft_twin.errors import DescriptionError, DeviceError, SoftTwinError
from soft_twin.robots.base import Robot
from soft_twin.robots.links import BASE, Link, imu_link, plate_link
from soft_twin.sensing.gravity import GravityEstimate, GravityEstimator, build_estimator
from soft_twin.sensing.heater import TEMPERATURE_KEPT, TemperatureControl, heating_of
from soft_twin.sensing.imu_board import ImuBoard
from soft_twin.sensing.imu_calibration import CalibrationDesk
from soft_twin.sensing.warm_up import warm_up
from soft_twin_ros.conversions import (
    imu_message,
    imu_sample,
    oriented_imu_message,
    temperature_message,
    vector_message,
)
from soft_twin_ros.managed_node import ManagedNode, ManagedParameters
from soft_twin_ros.node import ERROR, OK, WARN, Health, run, waiting
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import COMMAND, NEWEST, SAMPLES
from soft_twin_ros.transforms import WORLD, Transforms

READ_TIMEOUT = 0.1  # [s]
BRIEF = 1.0  # [s] for which gravity may be missing, as after a jerk, before that is an error
WATCH_PERIOD = 0.1  # [s] between two looks whether a board that tells its samples itself still does


@dataclass(frozen=True)
class Parameters(ManagedParameters):
    """Of this node."""

    imu: str = parameter("", "an IMU of the description, by its name; empty: the one in the base")
    device: str = parameter("", "serial device of the IMU board; empty: subscribe to imu/data_raw and imu/temperature")
    estimator: str = parameter("ekf", "orientation filter: ekf or vqf")
    calibration: str = parameter("", "calibration file of the IMU (YAML), written by the calibration services")
    frame: str = parameter("imu_link", "frame of the board's samples")
    silent_after: float = parameter(
        0.2, "without a sample for so long the IMU is silent", "s", 0.01, 60.0, settable=True
    )
    temperature_silent_after: float = parameter(
        TEMPERATURE_KEPT, "without imu/temperature for so long none is known: no heating", "s", 0.1, 60.0, settable=True
    )
    heater_period: float = parameter(0.1, "time between two commands to the heater", "s", 0.01, 10.0, settable=True)
    heater_target: float = parameter(
        0.0, "temperature at which the chip is held; 0: 15 above that at the start", "degC", 0.0, 80.0
    )
    heater_gain: float = parameter(
        1.0, "duty of the heater for an error of temperature", "1/K", 0.05, 5.0, settable=True
    )
    heater_reset_time: float = parameter(
        20.0, "of the heater's integral; best the time constant of board to air", "s", 2.0, 200.0, settable=True
    )
    reopen_period: float = parameter(
        0.5, "time between two attempts to open the device", "s", 0.05, 60.0, settable=True
    )
    appears_within: float = parameter(
        5.0, "a device that is not there so long after the start is an error", "s", 0.0, 600.0, settable=True
    )
    transform_rate: float = parameter(50.0, "greatest rate of transforms on /tf", "Hz", 0.1, 200.0, settable=True)
    place_in_world: tuple = parameter(
        (0.0, 0.0, 0.0), "where base_link is in the frame world, x, y, z", "m", settable=True
    )


class ImuToGravity(ManagedNode):
    """See the module's docstring. Samples are read in a thread of their own where there is a device."""

    computes = True

    def __init__(self):
        super().__init__("imu_to_gravity", Parameters)
        self._place = _place_of(self.robot, self.parameters.imu)
        self._before = f"{self.parameters.imu}/" if self.parameters.imu else ""
        plate = self._place.plate
        self._reference = self.base_frame if plate is None else self.frame(plate_link(plate))
        warm_up(self._build_estimator())
        self._estimator = self._build_estimator()
        self._desk = CalibrationDesk(self.parameters.calibration) if self.parameters.calibration else None
        self._frame = self.frame(self.parameters.frame if plate is None else imu_link(self._place.name))
        self._lock = threading.Lock()
        self._estimate: GravityEstimate | None = None
        self._fault = ""
        self._clock_faults: tuple[str, ...] = ()
        self._line_fault = ""
        self._temperature, self._temperature_heard = math.nan, math.inf
        self._heard = self._start = self.steady_now()
        self._was_valid, self._valid_at = False, self._start
        self._next_heater = 0.0
        self._board: ImuBoard | None = None
        self._closing = threading.Event()
        self._raw = self.offer(Imu, self._before + "imu/data_raw") if self.parameters.device else None
        self._temperatures = (
            self.offer(Temperature, self._before + "imu/temperature") if self.parameters.device else None
        )
        self._oriented = self.offer(Imu, self._before + "imu/data")
        self._gravity = self.offer(Vector3Stamped, self._before + "gravity")
        self._heater = self.offer(Float64, self._before + "imu/heater", COMMAND)
        self._resets = self.offer(Empty, self._before + "gravity/reset", COMMAND)
        self._base = Transforms(self, [Link(BASE, WORLD, moves=True)]) if plate is None else None
        self._stands_at = _in_world(self.parameters)
        self.create_service(Trigger, self._before + "reset_gravity", self._reset)
        self.create_service(Trigger, self._before + "calibrate_accelerometer", self._calibrate_accelerometer)
        self.create_service(Trigger, self._before + "calibrate_mounting", self._calibrate_mounting)
        self._start_reading()

    def health(self) -> Health:
        estimate, silence = self._estimate, self.steady_now() - self._heard
        silent = {"silence_s": silence} if self._silent else {}
        if self._fault or silent:
            told = self._fault or f"IMU silent: {self._line_fault or 'gravity is not published'}"
            return waiting(told, silent) if self._starts() else Health(ERROR, told, silent)
        if estimate is None:
            return waiting("waiting for the IMU")
        values = {"temperature_state": estimate.temperature_state, "heater_duty": float(estimate.heater_duty)}
        if not estimate.valid and not estimate.faults and not self._was_valid:
            return waiting("gravity is not known yet", values)
        if not estimate.valid:
            told = f"gravity is not published: {'; '.join(estimate.faults) or 'not valid yet'}"
            brief = self.steady_now() < self._valid_at + BRIEF
            return waiting(told, values) if brief else Health(ERROR, told, values)
        line = (self._line_fault,) if self._line_fault else ()
        if faults := (*estimate.faults, *self._clock_faults, *line, *self._temperature_faults()):
            return Health(WARN, "; ".join(faults), values)
        return Health(OK, f"IMU {estimate.temperature_state}", values)

    def adopt(self, old: Parameters, new: Parameters) -> None:
        self._stands_at = _in_world(new)
        with self._lock:
            self._estimator.heater.parameters = heating_of(vars(new))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._valid_at = self.steady_now()
        return super().on_activate(state)

    def rest(self) -> None:
        self._next_heater = 0.0
        with suppress(DeviceError):  # of a board that is gone, which the thread that reads it tells
            self._heat(0.0)

    def _starts(self) -> bool:
        """Whether no sample has come yet, and need not have."""
        return self._estimate is None and self.steady_now() < self._start + self.parameters.appears_within

    def close(self) -> None:
        self._closing.set()
        if self.parameters.device:
            self._reader.join()

    def _start_reading(self) -> None:
        if self.parameters.device:
            self._reader = threading.Thread(target=self._read, name="imu", daemon=True)
            self._reader.start()
            return
        self.listen(Temperature, self._before + "imu/temperature", self._receive_temperature, NEWEST)
        self.listen(Imu, self._before + "imu/data_raw", self._receive, SAMPLES)
        self.create_steady_timer(WATCH_PERIOD, self._watch)

    def _read(self) -> None:
        """Read the board until the node closes; a board that is not there or goes away is waited for."""
        while not self._closing.is_set():
            try:
                self._read_board()
            except DeviceError as error:
                self._fault = str(error)
            except Exception as error:  # a thread that dies is silence, which nobody can mend
                self._fault = f"samples of the IMU cannot be used, {type(error).__name__}: {error}"
                self.get_logger().error(traceback.format_exc())
            self._closing.wait(self.parameters.reopen_period)

    def _read_board(self) -> None:
        board = ImuBoard(self.parameters.device)
        self._board, self._heard = board, self.steady_now()
        try:
            while not self._closing.is_set():
                samples = board.read(READ_TIMEOUT)
                self._clock_faults, self._line_fault = board.faults, board.line_fault
                if samples or self._silent:
                    self._fault = ""
                for sample in samples:
                    raw = imu_message(sample, self._frame)
                    self._raw.publish(raw)
                    self._temperatures.publish(temperature_message(sample, self._frame))
                    self._take(raw, sample.temperature)
            board.set_heater(0.0)
        finally:
            self._board = None
            board.close()

    def _receive_temperature(self, message: Temperature) -> None:
        self._temperature, self._temperature_heard = message.temperature, self.steady_now()

    def _receive(self, message: Imu) -> None:
        self._take(message, math.nan if self._temperature_silent else self._temperature)

    @property
    def _temperature_silent(self) -> bool:
        """Whether it was told, and is not any more."""
        return self.steady_now() - self._temperature_heard > self.parameters.temperature_silent_after

    def _temperature_faults(self) -> tuple[str, ...]:
        return (f"{self._before}imu/temperature is silent: the heater is off",) if self._temperature_silent else ()

    def _watch(self) -> None:
        """A board that tells no samples is told not to heat: nobody knows how hot it is. A serial one, that hears of no
        duty then, switches its heater off by itself."""
        if self._silent and self.active and self._estimate is not None:
            self._heat(0.0)

    @property
    def _silent(self) -> bool:
        return self.steady_now() - self._heard > self.parameters.silent_after

    def _take(self, raw: Imu, temperature: float) -> None:
        self._heard = self.steady_now()
        if not self.active:
            return
        sample = imu_sample(raw, temperature)
        with self._lock:
            if self._desk is not None:
                self._desk.add(sample)
            estimate = self._estimator.update(sample)
        self._estimate, self._was_valid = estimate, self._was_valid or estimate.valid
        if estimate.valid:
            self._valid_at = self._heard
            self._publish(estimate)
        self._heat(estimate.heater_duty)

    def _publish(self, estimate: GravityEstimate) -> None:
        self._gravity.publish(vector_message(estimate.time, self._reference, estimate.gravity_in_base))
        self._oriented.publish(oriented_imu_message(estimate, self._reference))
        if self._base is not None and self._base.due:
            self._base.send(estimate.time, self._stands_at, np.roll(estimate.quaternion_wxyz, -1)[None])

    def _heat(self, duty: float) -> None:
        now = self.steady_now()
        if now < self._next_heater:
            return
        self._next_heater = now + self.parameters.heater_period
        self._heater.publish(Float64(data=float(duty)))
        if self._board is not None:
            self._board.set_heater(duty)

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._estimator.reset()
            self._was_valid = False
            self._resets.publish(Empty())
        response.success, response.message = True, "the estimator starts over with the next sample"
        return response

    def _calibrate_accelerometer(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._calibrate(CalibrationDesk.take_position, response)

    def _calibrate_mounting(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._calibrate(CalibrationDesk.take_pose, response)

    def _calibrate(self, take: Callable[[CalibrationDesk], str], response: Trigger.Response) -> Trigger.Response:
        """One position or pose; when it completes a calibration, the estimator starts over with it, on a board as
        warm as before."""
        if self._desk is None:
            response.message = "nowhere to write to: start the node with the parameter calibration:=FILE.yaml"
            return response
        if self._silent:
            response.message = "the IMU is silent: there is nothing to calibrate by"
            return response
        with self._lock:
            before = self._desk.stored
            try:
                response.message, response.success = take(self._desk), True
            except SoftTwinError as error:
                response.message = str(error)
            if self._desk.stored is not before:
                self._estimator = self._build_estimator(self._estimator.heater)
                self._resets.publish(Empty())
        return response

    def _build_estimator(self, heater: TemperatureControl | None = None) -> GravityEstimator:
        own = self.parameters
        heater = TemperatureControl(heating_of(vars(own))) if heater is None else heater
        return build_estimator(self._place.mounting, own.estimator, own.calibration, heater)


def _place_of(robot: Robot, name: str) -> ImuPlace:
    """The IMU of that name, or the one in the base.

    Raises:
        DescriptionError: there is none.
    """
    if not name:
        return ImuPlace("base", robot.mounting)
    found = next((place for place in robot.imus if place.name == name), None)
    if found is None:
        names = ", ".join(place.name for place in robot.imus)
        raise DescriptionError(f"{robot.path}: robot.imus: there is no IMU '{name}': there are {names}")
    return found


def _in_world(parameters: Parameters) -> np.ndarray:
    """(1, 3) place of base_link [m].

    Raises:
        InputError: no three finite numbers.
    """
    return checked_vector(parameters.place_in_world, 3, "place_in_world")[None]


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(ImuToGravity)


if __name__ == "__main__":
    sys.exit(main())
