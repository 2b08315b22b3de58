"""A plate is held: its base turns, first with free cables, then with the plate held; targets, without and with a
payload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from soft_twin.twins.plate_orientation import axis_of
from soft_twin_ros.running.graph import POSE
from soft_twin_ros.running.health import Drivers
from soft_twin_ros.running.sequence import ANSWER_PATIENCE, START_PATIENCE, Leader, Motion, RunSequence

MOTORS, ROBOT = "cables_to_motors", "emulated_robot"
SETTLING_TIME = 1.5  # [s] for the body to come to rest
FIRST_TIME = 4.0  # [s] in which free cables have brought the plate to a target
TARE_TIME = 2.5  # [s]
STRAIGHT = (0.0, 0.0)


@dataclass(frozen=True)
class PlateTurns(RunSequence):
    """Slack is taken up, `without`, the IMUs are aligned, tares, `with`, targets, and these with a payload.

    Attributes:
        target: pitch and roll of the plate while its base turns [°].
        emulation: parameters of the emulated robot, which move its base.
        duration: of one motion of the base [s].
        warm_up: how long the base stands still before anything else [s].
        tares, aims: pitch and roll [°] at which nothing hangs on the plate and that is told, and that are aimed at.
        aim_time: for each target [s].
        payload: that is put on for the last targets [kg].
        plate_imu: name of the IMU on the plate.
        holds: what the base is held in: see `Motion`.
    """

    KIND = "plate_turns"
    target: Sequence[float]
    duration: float
    warm_up: float
    tares: Sequence[Sequence[float]]
    aims: Sequence[Sequence[float]]
    aim_time: float
    payload: float
    plate_imu: str
    holds: Mapping[str, str] = field(default_factory=dict)

    @property
    def driven_by(self) -> str:
        return POSE

    def run(self, leader: Leader) -> None:
        leader.enter("starting")
        leader.wait_until_ready(START_PATIENCE)
        leader.switch("compensate", POSE, False)
        leader.enter("warm-up")
        leader.pass_time(self.warm_up)
        self._take_up_slack(leader)
        self._motion(leader, "without")
        leader.enter("pause")
        leader.trigger("rewind", ROBOT)
        leader.trigger("reset_gravity", "imu_to_gravity")
        leader.trigger(f"{self.plate_imu}/reset_gravity", "plate_imu_to_gravity")
        leader.pass_time(SETTLING_TIME)
        self._align(leader)
        self._aim(leader, "tare", self.tares, tare=True)
        leader.enter("pause")
        leader.aim(*self.target, POSE)
        leader.pass_time(self.aim_time)
        self._motion(leader, "with")
        self._aim(leader, "aim", self.aims)
        leader.hang(self.payload, ROBOT)
        self._aim(leader, "payload", self.aims)
        leader.hang(0.0, ROBOT)
        leader.enter("end")
        leader.require(Drivers.WELL)
        leader.switch("enable", MOTORS, False)
        leader.switch("compensate", POSE, False)

    def _take_up_slack(self, leader: Leader) -> None:
        """Nobody has homed the winches: they find where the cables are taut, and let go."""
        leader.enter("homing")
        leader.trigger("take_up_slack", MOTORS)
        leader.require(Drivers.ACTIVE)
        leader.wait_until_ready(ANSWER_PATIENCE)
        leader.require(Drivers.WELL)
        leader.switch("enable", MOTORS, False)

    def _align(self, leader: Leader) -> None:
        """The cables hold the plate straight, with nothing on it."""
        leader.enter("align")
        leader.aim(*STRAIGHT, POSE)
        leader.switch("compensate", POSE, True)
        leader.switch("enable", MOTORS, True)
        leader.require(Drivers.ACTIVE)
        leader.pass_time(FIRST_TIME)
        leader.trigger("tare", POSE)
        leader.pass_time(TARE_TIME)
        leader.trigger("align", POSE, ANSWER_PATIENCE)

    def _aim(self, leader: Leader, phase: str, poses: Sequence[Sequence[float]], tare: bool = False) -> None:
        """Aim at one pose [°] after the other, each for a while. The phase begins when the first is aimed at: a busy
        machine takes more than a second from asking for it. `tare`: what hangs on the plate there is nothing."""
        leader.enter("pause")
        for number, pose in enumerate(poses):
            leader.aim(*pose, POSE)
            if number == 0:
                leader.enter(phase)
            leader.pass_time(self.aim_time)
            if tare:
                leader.trigger("tare", POSE)
                leader.pass_time(TARE_TIME)

    def _motion(self, leader: Leader, name: str) -> None:
        leader.enter(name)
        leader.trigger("play", ROBOT)
        error = partial(self._error, leader)
        leader.play(name, Motion(self.duration, self.holds, error, "plate off its orientation", np.degrees(1.0), "deg"))

    def _error(self, leader: Leader) -> float:
        """[rad] of the plate's axis to that of the target."""
        away = np.linalg.norm(leader.tip_axis - axis_of(*np.radians(self.target)))
        return float(2.0 * np.arcsin(min(1.0, 0.5 * away)))
