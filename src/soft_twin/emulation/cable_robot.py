"""The slender robot without the robot, in real time: body, IMU and motors, reached only by bytes on two ports."""

import math
import threading
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from soft_twin.emulation.base_motion import BaseMotion, RecordedMotion
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.imu import EmulatedImu, perfect_imu
from soft_twin.emulation.imu_board import EmulatedImuBoard
from soft_twin.emulation.motor_bus import MotorBus
from soft_twin.errors import SoftTwinError
from soft_twin.priority import prefer_this_thread
from soft_twin.robots.cable_tube import CableTube

MIN_PAUSE = 0.002  # [s] of the body's thread between steps, however late it is
LONGEST_STEP = 3  # [periods] of the body


class Body(Protocol):
    """What moves when its base and its winches do: see emulation.plant.Plant."""

    tip: np.ndarray
    tip_direction: np.ndarray
    tensions: np.ndarray
    points: np.ndarray

    def step(self, dt, winch_displacements, specific_gravity, angular_velocity, angular_acceleration) -> None: ...


@dataclass(frozen=True)
class Timing:
    """Rates of the parts [Hz], and how far behind real time the devices may be before they give time up [s]."""

    motors: float = 250.0
    imu: float = 100.0
    plant: float = 50.0
    patience: float = 0.25


@dataclass(frozen=True)
class Truth:
    """What no sensor of the robot measures; frames and units as in the rest of the package.

    Attributes:
        time: time.time() at which this was true [s], before the step was computed.
        tip: (3,) in base_link [m].
        tip_direction: (3,) axis of the tip in base_link.
        attitude_wxyz: (4,) base_link → world.
        phase: what the base is doing.
        displacements: (c,) of the winches [m].
        tensions: (c,) at the winches [N].
    """

    time: float
    tip: np.ndarray
    tip_direction: np.ndarray
    attitude_wxyz: np.ndarray
    phase: str
    displacements: np.ndarray
    tensions: np.ndarray


class CableRobot:
    """An emulated robot that lives in real time in two threads, one for its devices and one for its body.

    The base stands at the motion's first attitude until `play`. Devices keep to their rates: what comes late is
    caught up with, with the time stamps that it should have had, and beyond the timing's patience it is lost. The
    body is computed as often as there is time for, at most at its rate, in steps of up to LONGEST_STEP periods: on a
    host too busy for these it moves more slowly than it would, since longer steps cost more than they gain.

    Attributes:
        imu_path, can_path: serial ports of the IMU board and of the CAN adapter.
        plant_failures: steps of the body that failed; it stays as it was then.
        last_failure: what the last of them said.
    """

    def __init__(
        self,
        robot: CableTube,
        motion: BaseMotion,
        body: Body,
        seed: int = 0,
        timing: Timing | None = None,
        ambient: float = 25.0,
        real_time: bool = True,
    ):
        """Plug the robot in and let time run.

        Args:
            robot: its description.
            motion: of its base; a recorded one replaces the emulated IMU's errors by those of a real one.
            body: such as emulation.plant_process.PlantProcess; in real time it should not keep the interpreter.
            seed: of everything random.
            timing: rates.
            ambient: temperature of the air [°C].
            real_time: False leaves time to `advance_devices` and `advance_body`.
        """
        self.timing = timing or Timing()
        self.plant_failures, self.last_failure = 0, ""
        self._motion = motion
        self._mounting = robot.mounting
        self._body = body
        self._motors = MotorBus(EmulatedC610.of(robot, seed))
        parameters = perfect_imu() if isinstance(motion, RecordedMotion) else None
        self._imu = EmulatedImuBoard(EmulatedImu(parameters, seed), ambient)
        self.imu_path, self.can_path = self._imu.port.path, self._motors.port.path
        self._play_time = math.inf
        self._tensions = np.zeros(len(robot.cables))
        self._motor_ticks = self._imu_ticks = 0
        self.advance_body(0.0, 1.0 / self.timing.plant)
        self._closing = threading.Event()
        self._start = time.monotonic()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._run_devices, self._run_body)]
        if real_time:
            for thread in self._threads:
                thread.start()

    def play(self, at: float | None = None) -> None:
        """Start the base's motion from its beginning, now or at that time [s since the start]."""
        self._play_time = self._now() if at is None else at

    def rewind(self) -> None:
        """Put the base back to the motion's first attitude, at once."""
        self._play_time = math.inf

    def truth(self) -> Truth:
        """The robot as it was at the last step of its body."""
        return self._truth

    @property
    def points(self) -> np.ndarray:
        """(n, 3) nodes of the body in base_link [m]."""
        return self._points

    @property
    def heater_duty(self) -> float:
        """Duty of the IMU's heater, as the driver last set it, 0…1."""
        return self._imu.heater_duty

    def close(self) -> None:
        """Stop time and unplug the devices."""
        self._closing.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._imu.close()
        self._motors.close()

    def advance_devices(self, now: float) -> None:
        """Let motors and IMU live until `now` [s since the start], each at its rate."""
        self._give_up(now - self.timing.patience)
        while (sample_time := self._imu_ticks / self.timing.imu) <= now:
            self._advance_motors(sample_time)
            self._sample_imu(sample_time)
            self._imu_ticks += 1
        self._advance_motors(now)

    def advance_body(self, now: float, dt: float) -> None:
        """Let the body live for `dt` seconds until `now` [s since the start]."""
        t, stamp = self._motion_time(now), time.time()
        displacements = self._motors.motors.displacements.copy()
        try:
            self._body.step(
                dt,
                displacements,
                -self._motion.specific_force(t),
                self._motion.angular_velocity(t),
                self._motion.angular_acceleration(t),
            )
        except SoftTwinError as error:
            self.plant_failures += 1
            self.last_failure = str(error)
        self._tensions = self._body.tensions.copy()
        self._points = self._body.points.copy()
        self._truth = Truth(
            time=stamp,
            tip=self._body.tip.copy(),
            tip_direction=self._body.tip_direction.copy(),
            attitude_wxyz=self._motion.attitude(t),
            phase=self._motion.phase(t) if t >= 0.0 else "rest",
            displacements=displacements,
            tensions=self._tensions,
        )

    def _advance_motors(self, now: float) -> None:
        while self._motor_ticks / self.timing.motors <= now:
            self._motors.step(1.0 / self.timing.motors, self._tensions)
            self._motor_ticks += 1

    def _sample_imu(self, now: float) -> None:
        t = self._motion_time(now)
        if isinstance(self._motion, RecordedMotion):
            angular_velocity, specific_force = self._motion.imu(t)
        else:
            angular_velocity = self._mounting.T @ self._motion.angular_velocity(t)
            specific_force = self._mounting.T @ self._motion.specific_force(t)
        self._imu.step(now, angular_velocity, specific_force, 1.0 / self.timing.imu)

    def _give_up(self, oldest: float) -> None:
        """Skip the ticks before `oldest`: nobody is helped by a robot that lives in the past."""
        lost_samples = math.floor(oldest * self.timing.imu) - self._imu_ticks
        if lost_samples > 0:
            self._imu.skip(lost_samples)
            self._imu_ticks += lost_samples
        self._motor_ticks = max(self._motor_ticks, math.floor(oldest * self.timing.motors))

    def _motion_time(self, now: float) -> float:
        """Time on the motion's clock: negative while it has not begun."""
        return now - self._play_time if math.isfinite(self._play_time) else min(-now, -1e-9)

    def _now(self) -> float:
        return time.monotonic() - self._start

    def _run_devices(self) -> None:
        prefer_this_thread()  # devices keep their own time, however busy the host is
        while not self._closing.wait(max(self._next_tick() - self._now(), 0.0)):
            self.advance_devices(self._now())

    def _next_tick(self) -> float:
        return min(self._motor_ticks / self.timing.motors, self._imu_ticks / self.timing.imu)

    def _run_body(self) -> None:
        period, ticks = 1.0 / self.timing.plant, 0
        while not self._closing.wait(max((ticks + 1) * period - self._now(), MIN_PAUSE)):
            due = max(int(self._now() / period), ticks + 1)
            periods, ticks = min(due - ticks, LONGEST_STEP), due
            self.advance_body(ticks * period, periods * period)
