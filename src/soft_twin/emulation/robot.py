"""A robot without the robot: body, IMUs, motors and valves by one clock, reached only by bytes."""

import math
import threading
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from soft_twin.emulation.base_motion import OVER, REST, BaseMotion, moving_base
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.imus import RobotImus
from soft_twin.emulation.motor_bus import MotorBus
from soft_twin.emulation.plant import Plates
from soft_twin.emulation.plant_process import PlantProcess
from soft_twin.emulation.valve_bank import ValveBank
from soft_twin.emulation.world_clock import Pace, WorldClock
from soft_twin.errors import DeviceError, SoftTwinError
from soft_twin.priority import prefer_this_thread
from soft_twin.robots.base import DrivenRobot

MIN_PAUSE = 0.002  # [s] of a thread that waits for another
SLACK = 1e-6  # [N] a cable that pulls by less is slack: what it pulls by is rounding
LONGEST_STEP = 0.06  # [s] of the body
MOST_STANDING = 2.0  # [s] told at once of time that stood still: after longer pauses no driver believes anything
SETTLING_PATIENCE = 60.0  # [s] for the body to be put to rest


class EmulatedBody(Protocol):
    """What moves when its base, its winches and its valves do: see emulation.plant.Plant."""

    tip: np.ndarray
    tip_direction: np.ndarray
    efforts: np.ndarray
    coordinates: np.ndarray
    compliance: np.ndarray
    points: np.ndarray
    centre_line: np.ndarray
    stations: np.ndarray
    plates: Plates
    payload: float
    contact_load: float
    damped_steps: int

    def step(self, dt, drives, base) -> None: ...

    def hang(self, payload, thread, swing) -> None: ...

    def settle(self, gravity) -> None: ...


@dataclass(frozen=True)
class Timing:
    """Rates of the parts [Hz]; motors and valves live at one."""

    plant: float
    motors: float = 250.0
    imu: float = 100.0


@dataclass(frozen=True)
class Truth:
    """What no sensor of the robot measures; frames and units as in the rest of the package.

    Attributes:
        time: time.time() at which this was true [s].
        tip: (3,) in base_link [m].
        tip_direction: (3,) axis of the tip in base_link.
        attitude_wxyz: (4,) base_link → world.
        phase: what the base is doing; "rest" before it is played, "over" when all of it has been.
        phase_since: the first `time` of it [s].
        displacements: (c,) of the winches [m].
        tensions: (c,) at the winches [N].
        pressures: (p,) gauge, in the chambers [Pa].
        volumes: (p,) by which the chambers have grown [m³].
        payload: what hangs on the plate at its tip [kg].
        contact_load: sum of the normal forces of all obstacles on the body [N].
    """

    time: float
    tip: np.ndarray
    tip_direction: np.ndarray
    attitude_wxyz: np.ndarray
    phase: str
    phase_since: float
    displacements: np.ndarray
    tensions: np.ndarray
    pressures: np.ndarray
    volumes: np.ndarray
    payload: float
    contact_load: float


class EmulatedRobot:
    """An emulated robot that lives in two threads, one for its devices and one for its body, by one clock.

    The base stands at the motion's first attitude until `play`. The clock keeps to real time as long as the robot keeps
    up with it: see WorldClock. Devices never skip a tick, and what the clock gives up they stand still for, and say so
    in samples like any others: nothing turns unseen, and no board's clock goes slow. Where the motors' driver is so
    late that its line is full, time waits for it. The body is computed as often as there is time for, at most at its
    rate, in steps of up to LONGEST_STEP; on a host too busy for these it moves more slowly than it would, since
    longer steps cost more than they gain.

    Valves fill chambers as if their volumes stood still, and the body's step, which knows how they change, tells their
    device how much less or more pressure there is.

    Attributes:
        body_failures: steps of the body that were refused or lost; the cables pull at no winch then.
        last_failure: what the last step said, if it failed.
    """

    def __init__(
        self,
        robot: DrivenRobot,
        motion: BaseMotion,
        body: EmulatedBody,
        seed: int = 0,
        ambient: float = 25.0,
        real_time: bool = True,
    ):
        """Plug the robot in and let time run.

        Args:
            robot: its description.
            motion: of its base; a recorded one replaces the errors of the base's emulated IMU by those of a real one.
            body: such as emulation.plant_process.PlantProcess; in real time it should not keep the interpreter.
            seed: of everything random.
            ambient: temperature of the air [°C].
            real_time: False leaves time to `advance_devices` and `advance_body`.

        Raises:
            DescriptionError: cables or chambers without a drive.
        """
        self.timing = Timing(plant=1.0 / robot.emulated.step)
        self.body_failures, self.last_failure = 0, ""
        self._motion, self._body = motion, body
        self._motors = MotorBus(EmulatedC610.of(robot, seed)) if robot.winches is not None else None
        self._valves = ValveBank(robot.valves, robot.emulated, seed) if robot.valves is not None else None
        self._imus = RobotImus(robot, motion, 1.0 / self.timing.imu, seed, ambient)
        self._play_time = math.inf
        self._tensions, self._slack = np.zeros((2, len(robot.cable_names)))
        self._to_hang: tuple[float, float, float] | None = None
        self._part = "", 0.0  # the motion's phase, and when it began
        self._motor_ticks = self._imu_ticks = 0
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

    @property
    def imu_path(self) -> str | None:
        """Serial port of the IMU board in the base; None: there is none."""
        return self._imus.base_path

    @property
    def imu_paths(self) -> dict[str, str]:
        """Serial ports of all IMU boards, by name."""
        return self._imus.paths

    @property
    def can_path(self) -> str | None:
        """Serial port of the motors' CAN adapter; None: there are no winches."""
        return None if self._motors is None else self._motors.port.path

    @property
    def valves_path(self) -> str | None:
        """What a driver of the valves opens, a serial port or host:port; None: there are no valves."""
        return None if self._valves is None else self._valves.device.address

    @property
    def stations(self) -> np.ndarray:
        """(s,) heights in the undeformed body of the centre line's points [m]."""
        return self._body.stations

    @property
    def centre_line(self) -> np.ndarray:
        """(s, 3) of the body, base to tip [m]."""
        return self._body.centre_line

    @property
    def damped_steps(self) -> int:
        """How many steps of the body ended before they were solved."""
        return self._body.damped_steps

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

    def hang(self, payload: float, thread: float = 0.0, swing: float = 0.0) -> None:
        """Put a payload on the plate at its tip, with the next step of the body; see Plant.hang."""
        self._to_hang = payload, thread, swing

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
        """Duty of the heater of the base's IMU, as the driver last set it, 0…1."""
        return self._imus.heater_duty

    def close(self) -> None:
        """Stop time and unplug the devices."""
        self._closing.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        for device in (self._imus, self._motors, self._valves):
            if device is not None:
                device.close()

    def advance_devices(self, now: float) -> None:
        """Let motors, valves and IMUs live until `now` [s since the start], each at its rate."""
        while (sample_time := self._imu_ticks / self.timing.imu) <= now:
            self._advance_motors(sample_time)
            self._imus.sample(sample_time, self._motion_time(sample_time), self._body.plates)
            self._imu_ticks += 1
        self._advance_motors(now)

    def advance_body(self, now: float, dt: float) -> None:
        """Let the body live for `dt` seconds until `now` [s since the start]."""
        t, stamp = self._motion_time(now), time.time() - (self._clock.ago(now) if self._real_time else 0.0)
        displacements = np.zeros(0) if self._motors is None else self._motors.motors.displacements.copy()
        filled = np.zeros(0) if self._valves is None else self._valves.pressures
        count, pressures = len(displacements), filled
        try:
            hung, self._to_hang = self._to_hang, None
            if hung is not None:
                self._body.hang(*hung)
            self._body.step(dt, np.concatenate([displacements, filled]), moving_base(self._motion, t))
            self._tensions, pressures = np.split(self._body.efforts, [count])
            loose = np.maximum(self._body.coordinates[:count] - displacements, 0.0)
            self._slack = np.where(self._tensions > SLACK, 0.0, loose)
            self.last_failure = ""
            if self._valves is not None:
                self._valves.change(pressures - filled)
        except SoftTwinError as error:
            self._fail(error)
        self._points = self._body.points.copy()
        if (phase := self._phase(t)) != self._part[0]:
            self._part = phase, stamp
        self._truth = Truth(
            time=stamp,
            tip=self._body.tip.copy(),
            tip_direction=self._body.tip_direction.copy(),
            attitude_wxyz=self._motion.attitude(t),
            phase=phase,
            phase_since=self._part[1],
            displacements=displacements,
            tensions=self._tensions,
            pressures=pressures,
            volumes=self._body.coordinates[count:].copy(),
            payload=self._body.payload,
            contact_load=self._body.contact_load,
        )

    def _phase(self, t: float) -> str:
        if t < 0.0:
            return REST
        return self._motion.phase(t) if t <= self._motion.duration else OVER

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
        period = 1.0 / self.timing.motors
        while self._motor_ticks * period <= now:
            if self._motors is not None:
                self._motors.step(period, self._tensions_now())
            if self._valves is not None:
                self._valves.step(period)
            self._motor_ticks += 1

    def _tensions_now(self) -> np.ndarray:
        """(c,) [N]: those of the body's last step, less where a winch has let cable out since, and more where it has
        wound in more than the cable was slack by: it is slack, or pulls, before the body has followed."""
        wound = self._motors.motors.displacements - self._truth.displacements - self._slack
        return np.maximum(self._tensions + wound / self._body.compliance[: len(wound)], 0.0)

    def _motion_time(self, now: float) -> float:
        """Time on the motion's clock: negative while it has not begun."""
        return now - self._play_time if math.isfinite(self._play_time) else min(-now, -1e-9)

    def _run_devices(self) -> None:
        prefer_this_thread()  # devices keep their own time, however busy the host is
        while not self._closing.wait(max(-self._clock.ago(self._next_tick()), 0.0)):
            while not (self._motors is None or self._motors.is_heard or self._closing.is_set()):
                self._closing.wait(MIN_PAUSE)
            self._stand_still(self._clock.give_up())
            now = self._clock.due()
            self.advance_devices(now)
            self._clock.move(now)

    def _stand_still(self, duration: float) -> None:
        """All devices tell that nothing has moved for so long [s], tick by tick."""
        told = min(duration, MOST_STANDING)
        ticks, self._standing = _whole(self._standing + told * self.timing.motors)
        samples, self._imu_standing = _whole(self._imu_standing + told * self.timing.imu)
        if ticks and self._motors is not None:
            self._motors.stand_still(ticks)
        for _ in range(ticks if self._valves is not None else 0):
            self._valves.stand_still(1.0 / self.timing.motors)
        now = self._imu_ticks / self.timing.imu
        for _ in range(samples):
            self._imus.stand_still(now, self._motion_time(now), self._body.plates)

    def _next_tick(self) -> float:
        return min(self._motor_ticks / self.timing.motors, self._imu_ticks / self.timing.imu)

    def _run_body(self) -> None:
        period, ticks = 1.0 / self.timing.plant, 0
        most = max(round(LONGEST_STEP / period), 1)
        while not self._closing.wait(max((ticks + 1) * period - self._clock.time, MIN_PAUSE)):
            if self._unsettled.is_set():
                self._clock.body_steps(0.0, math.inf)  # the time in which it is put to rest is not lost
                self._settle_body()
                ticks = int(self._clock.time / period + 1e-9)
            due = int(self._clock.time / period + 1e-9)
            if due > ticks:
                periods = min(due - ticks, most)
                self._clock.body_steps((due - ticks - periods) * period, (due + most) * period)
                ticks = due
                self.advance_body(ticks * period, periods * period)


def _whole(number: float) -> tuple[int, float]:
    """Its whole part, and the rest."""
    return int(number), number - int(number)


class OwnBody(EmulatedRobot):
    """An emulated robot whose body is in a process of its own, which ends with it."""

    def __init__(self, robot: DrivenRobot, motion: BaseMotion, seed: int = 0, ambient: float = 25.0):
        self._process = PlantProcess(robot)
        super().__init__(robot, motion, self._process, seed=seed, ambient=ambient)

    def close(self) -> None:
        super().close()
        self._process.close()
