"""The slender robot without the robot: body, IMU and motors by one clock, reached only by bytes on two ports."""

import math
import threading
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from soft_twin.emulation.base_motion import BaseMotion, RecordedMotion, moving_base
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.imu import EmulatedImu, perfect_imu
from soft_twin.emulation.imu_board import EmulatedImuBoard
from soft_twin.emulation.motor_bus import MotorBus
from soft_twin.emulation.world_clock import Pace, WorldClock
from soft_twin.errors import DeviceError, SoftTwinError
from soft_twin.priority import prefer_this_thread
from soft_twin.robots.cable_tube import CableTube

MIN_PAUSE = 0.002  # [s] of a thread that waits for another
LONGEST_STEP = 3  # [periods] of the body
MOST_STANDING = 2.0  # [s] told at once of time that stood still: after longer pauses no driver believes anything
SETTLING_PATIENCE = 5.0  # [s] for the body to be put to rest


class Body(Protocol):
    """What moves when its base and its winches do: see emulation.plant.Plant."""

    tip: np.ndarray
    tip_direction: np.ndarray
    efforts: np.ndarray
    compliance: np.ndarray
    points: np.ndarray

    def step(self, dt, drives, base) -> None: ...

    def settle(self, gravity) -> None: ...


@dataclass(frozen=True)
class Timing:
    """Rates of the parts [Hz]."""

    motors: float = 250.0
    imu: float = 100.0
    plant: float = 50.0


@dataclass(frozen=True)
class Truth:
    """What no sensor of the robot measures; frames and units as in the rest of the package.

    Attributes:
        time: time.time() at which this was true [s].
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
    """An emulated robot that lives in two threads, one for its devices and one for its body, by one clock.

    The base stands at the motion's first attitude until `play`. The clock keeps to real time as long as the robot keeps
    up with it: see WorldClock. Devices never skip a tick, and what the clock gives up they stand still for, and say so
    in samples like any others: nothing turns unseen, and no board's clock goes slow. Where the motors' driver is so
    late that its line is full, time waits for it. The body is computed as often as there is time for, at most at its
    rate, in steps of up to LONGEST_STEP periods; on a host too busy for these it moves more slowly than it would, since
    longer steps cost more than they gain.

    Attributes:
        imu_path, can_path: serial ports of the IMU board and of the CAN adapter.
        body_failures: steps of the body that were refused or lost; the cables pull at no winch then.
        last_failure: what the last step said, if it failed.
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
        self.body_failures, self.last_failure = 0, ""
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
        self._imu_stood = 0  # samples of time that stood still
        self._real_time, self._clock = real_time, WorldClock()
        self.advance_body(0.0, 1.0 / self.timing.plant)
        self._closing, self._unsettled = threading.Event(), threading.Event()
        self._settling = threading.Condition()
        self._standing, self._imu_standing = 0.0, 0.0  # samples that are not whole yet
        self._clock = WorldClock()  # time begins when the body is there
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._run_devices, self._run_body)]
        if real_time:
            for thread in self._threads:
                thread.start()

    def play(self, at: float | None = None) -> None:
        """Start the base's motion from its beginning, now or at that time [s since the start]."""
        self._play_time = self._clock.time if at is None else at

    def rewind(self) -> None:
        """Put the base back to the motion's first attitude, at once, with the body at rest, whatever was before.

        Raises:
            DeviceError: the body does not obey; the message says why.
        """
        self._play_time = math.inf
        self._unsettled.set()
        if not self._real_time:
            self._settle_body()
        with self._settling:
            if not self._settling.wait_for(lambda: not self._unsettled.is_set(), SETTLING_PATIENCE):
                raise DeviceError(f"the emulated body has not come to rest within {SETTLING_PATIENCE:g} s")
        if self.last_failure:
            raise DeviceError(self.last_failure)

    @property
    def pace(self) -> Pace:
        """How the robot's time has gone, compared with real time."""
        return self._clock.pace

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
        while (sample_time := self._imu_ticks / self.timing.imu) <= now:
            self._advance_motors(sample_time)
            self._sample_imu(sample_time)
            self._imu_ticks += 1
        self._advance_motors(now)

    def advance_body(self, now: float, dt: float) -> None:
        """Let the body live for `dt` seconds until `now` [s since the start]."""
        t, stamp = self._motion_time(now), time.time() - (self._clock.ago(now) if self._real_time else 0.0)
        displacements = self._motors.motors.displacements.copy()
        try:
            self._body.step(dt, displacements, moving_base(self._motion, t))
            self._tensions, self.last_failure = self._body.efforts.copy(), ""
        except SoftTwinError as error:
            self._fail(error)
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

    def _fail(self, error: SoftTwinError) -> None:
        """The body is not where it should be: what it pulled with before would turn limp winches without end."""
        self.body_failures += 1
        self.last_failure, self._tensions = str(error), np.zeros_like(self._tensions)

    def _settle_body(self) -> None:
        try:
            self._body.settle(moving_base(self._motion, -1e-9).gravity)
            self.last_failure = ""
        except SoftTwinError as error:
            self._fail(error)
        with self._settling:
            self._unsettled.clear()
            self._settling.notify_all()

    def _advance_motors(self, now: float) -> None:
        while self._motor_ticks / self.timing.motors <= now:
            self._motors.step(1.0 / self.timing.motors, self._tensions_now())
            self._motor_ticks += 1

    def _tensions_now(self) -> np.ndarray:
        """(c,) [N]: those of the body's last step, less where a winch has let cable out since: it is slack before the
        body has followed."""
        let_out = np.maximum(self._truth.displacements - self._motors.motors.displacements, 0.0)
        return np.maximum(self._tensions - let_out / self._body.compliance, 0.0)

    def _sample_imu(self, now: float, turning: bool = True) -> None:
        t = self._motion_time(now)
        if isinstance(self._motion, RecordedMotion):
            angular_velocity, specific_force = self._motion.imu(t)
        else:
            angular_velocity = self._mounting.T @ self._motion.angular_velocity(t)
            specific_force = self._mounting.T @ self._motion.specific_force(t)
        board_time = now + self._imu_stood / self.timing.imu
        self._imu.step(board_time, turning * angular_velocity, specific_force, 1.0 / self.timing.imu)

    def _motion_time(self, now: float) -> float:
        """Time on the motion's clock: negative while it has not begun."""
        return now - self._play_time if math.isfinite(self._play_time) else min(-now, -1e-9)

    def _run_devices(self) -> None:
        prefer_this_thread()  # devices keep their own time, however busy the host is
        while not self._closing.wait(max(-self._clock.ago(self._next_tick()), 0.0)):
            while not (self._motors.is_heard or self._closing.is_set()):
                self._closing.wait(MIN_PAUSE)
            self._stand_still(self._clock.give_up())
            now = self._clock.due()
            self.advance_devices(now)
            self._clock.move(now)

    def _stand_still(self, duration: float) -> None:
        """Motors and IMU tell that they have not moved for so long [s], tick by tick."""
        told = min(duration, MOST_STANDING)
        ticks, self._standing = _whole(self._standing + told * self.timing.motors)
        samples, self._imu_standing = _whole(self._imu_standing + told * self.timing.imu)
        if ticks:
            self._motors.stand_still(ticks)
        for _ in range(samples):
            self._sample_imu(self._imu_ticks / self.timing.imu, turning=False)
            self._imu_stood += 1

    def _next_tick(self) -> float:
        return min(self._motor_ticks / self.timing.motors, self._imu_ticks / self.timing.imu)

    def _run_body(self) -> None:
        period, ticks = 1.0 / self.timing.plant, 0
        while not self._closing.wait(max((ticks + 1) * period - self._clock.time, MIN_PAUSE)):
            if self._unsettled.is_set():
                self._settle_body()
            due = int(self._clock.time / period + 1e-9)
            if due > ticks:
                periods = min(due - ticks, LONGEST_STEP)
                self._clock.leave_out((due - ticks - periods) * period)
                ticks = due
                self.advance_body(ticks * period, periods * period)


def _whole(number: float) -> tuple[int, float]:
    """Its whole part, and the rest."""
    return int(number), number - int(number)
