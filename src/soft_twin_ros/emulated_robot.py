"""A robot that is not there: body, IMU, motors and valves behind their devices, in real time while the host keeps up.

Links to its devices, `imu`, and `plate_imu`, `can` and `valves` as the robot has them, appear in the folder
`device_folder`. What no sensor of a robot tells is published for evaluation: truth/tip, truth/base, truth/cables,
truth/chambers, truth/shape, truth/payload [kg] where its tip is a plate that may carry one (the parameter `payload`),
truth/contact, the sum of all normal forces on it [N], where there are obstacles, and truth/pace, how many seconds of
the robot's time a second of real time was. With a `tracker_rate` an emulated tip sensor, of that noise, publishes
tip/pose. The base moves with the service `play` and jumps back to its first attitude, with the body at rest, with
`rewind`.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from geometry_msgs.msg import PoseStamped, QuaternionStamped
from sensor_msgs.msg import JointState
from soft_twin_msgs.msg import Pressures, Shape
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from soft_twin.emulation import emulated_robot
from soft_twin.emulation.base_motion import BaseMotion, inclinations, recording
from soft_twin.emulation.ports import while_this_process_lives
from soft_twin.emulation.robot import Truth
from soft_twin.emulation.world_clock import WINDOW
from soft_twin.errors import DeviceError, InputError, UsageError
from soft_twin.private_folder import claim
from soft_twin.robots.base import DrivenRobot
from soft_twin_ros.conversions import attitude_message, joint_state, pose_message, pressures_message, shape_message
from soft_twin_ros.node import ERROR, OK, WARN, Health, RobotNode, RobotParameters, run
from soft_twin_ros.parameters import parameter
from soft_twin_ros.running.graph import own_folder

NAN = float("nan")


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    device_folder: str = parameter("", "folder for the links to its devices; empty: one in the temporary folder")
    recording: str = parameter("", "a BROAD trial (.mat) that moves the base; empty: the inclinations")
    start: float = parameter(0.0, "where the recording is started", "s", 0.0, 1e5)
    duration: float = parameter(0.0, "how much of the recording is played; 0: all", "s", 0.0, 1e5)
    inclinations_deg: tuple = parameter(
        (135.0, 90.0, 45.0, 0.0, -45.0), "inclinations of the base to the ground", "deg"
    )
    move_time: float = parameter(2.0, "from one inclination to the next", "s", 0.05, 60.0)
    hold_time: float = parameter(2.0, "at each inclination", "s", 0.0, 600.0)
    ambient: float = parameter(25.0, "temperature of the air", "deg C", -40.0, 60.0)
    seed: int = parameter(0, "of everything random", "", 0, 2**31 - 1)
    truth_rate: float = parameter(50.0, "rate of the truth", "Hz", 1.0, 200.0, settable=True)
    tracker_rate: float = parameter(
        0.0, "rate of tip/pose, by an emulated tip sensor; 0: there is none", "Hz", 0.0, 200.0
    )
    tracker_noise: float = parameter(2e-4, "of tip/pose, standard deviation", "m", 0.0, 0.1)
    payload: float = parameter(0.0, "what hangs on the plate at its tip", "kg", 0.0, 100.0, settable=True)
    payload_thread: float = parameter(
        0.0, "that it hangs on, so that it swings; 0: it is fixed", "m", 0.0, 10.0, settable=True
    )
    payload_swing_deg: float = parameter(
        0.0, "of one on a thread, how far beside its rest it is let go", "deg", 0.0, 80.0, settable=True
    )
    shape_every: int = parameter(5, "truth/shape comes with every so many of the truths", "", 1, 1000, settable=True)


class EmulatedRobot(RobotNode):
    """See the module's docstring. Its devices live in threads of this process, its body in another process."""

    computes = True

    def __init__(self):
        super().__init__("emulated_robot", Parameters)
        if not isinstance(self.robot, DrivenRobot):
            raise UsageError(f"robot '{self.robot.name}' has no cables and no chambers: emulated_robot cannot be it")
        motion = _motion(self.parameters, self.robot.mounting)
        self._emulated = emulated_robot(self.robot, motion, self.parameters.seed, self.parameters.ambient)
        self._links = self._link_devices()
        self._tips = self.offer(PoseStamped, "truth/tip")
        self._bases = self.offer(QuaternionStamped, "truth/base")
        if self.robot.cable_names:
            self._cables = self.offer(JointState, "truth/cables")
        if self.robot.chamber_names:
            self._chambers = self.offer(Pressures, "truth/chambers")
        self._shapes = self.offer(Shape, "truth/shape")
        self._paces = self.offer(Float64, "truth/pace")
        if self.robot.obstacles:
            self._contacts = self.offer(Float64, "truth/contact")
        if self.robot.payload_carrier is not None:
            self._payloads = self.offer(Float64, "truth/payload")
        elif self.parameters.payload:
            raise UsageError(f"payload {self.parameters.payload:g} kg: the tip of '{self.robot.name}' is no plate")
        self._hang(self.parameters)
        if self.parameters.tracker_rate > 0.0:
            self._tracked, self._rng = self.offer(PoseStamped, "tip/pose"), np.random.default_rng(self.parameters.seed)
            self.create_steady_timer(1.0 / self.parameters.tracker_rate, self._track)
        self._stations = [f"{1e3 * z:g}_mm" for z in self._emulated.stations]
        self._published = 0
        self._time = 0.0
        self.create_service(Trigger, "play", self._play)
        self.create_service(Trigger, "rewind", self._rewind)
        self._timer = self.create_steady_timer(1.0 / self.parameters.truth_rate, self._publish)
        self.create_steady_timer(WINDOW, lambda: self._paces.publish(Float64(data=self._emulated.pace.last)))

    def health(self) -> Health:
        robot, pace, truth = self._emulated, self._emulated.pace, self._emulated.truth()
        values = {
            "phase": truth.phase,
            "phase_since": f"{truth.phase_since:.6f}",
            "body_failures": robot.body_failures,
            "damped_steps": robot.damped_steps,
            "keeps_up": not pace.slow,
            "pace": pace.last,
            "slowest_pace": pace.slowest,
            "slow_for": pace.slow_for,
            "behind_for_good": pace.lost,
            "lost_by_body": pace.lost_by_body,
        }
        if robot.last_failure:
            return Health(ERROR, f"{robot.last_failure}: rewind, or start the robot again", values)
        if pace.slow:
            return Health(WARN, "slower than real time: the host is too busy or too slow, close other programs", values)
        return Health(OK, f"base: {values['phase']}", values)

    def adopt(self, old: Parameters, new: Parameters) -> None:
        if new.payload and self.robot.payload_carrier is None:
            raise InputError(f"payload: the tip of '{self.robot.name}' is no plate: nothing carries it")
        self._timer.timer_period_ns = round(1e9 / new.truth_rate)
        if _hung(old) != _hung(new):
            self._hang(new)

    def _hang(self, parameters: Parameters) -> None:
        if self.robot.payload_carrier is not None:
            self._emulated.hang(*_hung(parameters))

    def unplug(self) -> None:
        for link in self._links:
            link.unlink(missing_ok=True)
        self._emulated.close()

    def _devices(self) -> dict[str, str]:
        """What the robot is reached by, as it has it."""
        robot = self._emulated
        devices = {"imu": robot.imu_path, "can": robot.can_path, "valves": robot.valves_path}
        if (plate_imu := self.robot.plate_imu) is not None:
            devices["plate_imu"] = robot.imu_paths[plate_imu.name]
        return {name: device for name, device in devices.items() if device}

    def _link_devices(self) -> list[Path]:
        """The links, made in one step each, so that nobody finds half of one."""
        folder = Path(self.parameters.device_folder or own_folder(self.robot.name, self.get_namespace()))
        links = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._claim_folder(folder)
            for name, device in self._devices().items():
                if os.path.lexists(folder / name) and not (folder / name).is_symlink():
                    raise UsageError(f"device_folder '{folder}': '{name}' is no link, and only links are replaced")
                fresh = folder / f".{name}.{os.getpid()}"
                fresh.symlink_to(while_this_process_lives(device))
                links.append(fresh.replace(folder / name))
        except OSError as error:
            raise UsageError(f"device_folder '{folder}' cannot be written: {error.strerror or error}") from error
        return links

    def _claim_folder(self, folder: Path) -> None:
        self._claimed = claim(folder / ".claimed")
        if self._claimed is None:
            raise UsageError(f"device_folder '{folder}': another emulated robot has it: end that, or give this another")

    def _publish(self) -> None:
        truth = self._emulated.truth()
        if truth.time == self._time:
            return
        self._time = truth.time
        self._tips.publish(pose_message(truth.time, self.base_frame, truth.tip, None, truth.tip_direction))
        self._bases.publish(attitude_message(truth.time, "world", truth.attitude_wxyz))
        self._publish_actuators(truth)
        if self.robot.obstacles:
            self._contacts.publish(Float64(data=truth.contact_load))
        if self.robot.payload_carrier is not None:
            self._payloads.publish(Float64(data=truth.payload))
        if self._published % self.parameters.shape_every == 0:
            line = self._emulated.centre_line
            self._shapes.publish(shape_message(truth.time, self.base_frame, self._stations, line, NAN, NAN))
        self._published += 1

    def _track(self) -> None:
        truth = self._emulated.truth()
        tip = truth.tip + self._rng.normal(0.0, self.parameters.tracker_noise, 3)
        self._tracked.publish(pose_message(truth.time, self.base_frame, tip, None, truth.tip_direction))

    def _publish_actuators(self, truth: Truth) -> None:
        cables, chambers = self.robot.cable_names, self.robot.chamber_names
        if cables:
            self._cables.publish(joint_state(truth.time, cables, truth.displacements, truth.tensions))
        if chambers:
            self._chambers.publish(pressures_message(truth.time, chambers, truth.pressures))

    def _play(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._emulated.play()
        failure = self._emulated.last_failure
        response.success, response.message = not failure, failure or "the base moves"
        return response

    def _rewind(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._emulated.rewind()
            response.success, response.message = True, "the base is back at its first attitude, the body at rest"
        except DeviceError as error:
            response.success, response.message = False, str(error)
        return response


def _hung(parameters: Parameters) -> tuple[float, float, float]:
    """Payload [kg], its thread [m], and how far it is let go beside its rest [rad]."""
    return parameters.payload, parameters.payload_thread, float(np.radians(parameters.payload_swing_deg))


def _motion(parameters: Parameters, mounting) -> BaseMotion:
    if parameters.recording:
        return recording(parameters.recording, parameters.start, parameters.duration or None, mounting)
    return inclinations(parameters.inclinations_deg, parameters.move_time, parameters.hold_time)


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(EmulatedRobot, urgent=True)


if __name__ == "__main__":
    sys.exit(main())
