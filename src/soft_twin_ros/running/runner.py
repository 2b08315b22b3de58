"""The node that leads the others through a run, and watches their health; what it prints is for people."""

import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import PointCloud2
from soft_twin_msgs.msg import Pressures
from soft_twin_msgs.srv import SetTarget
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from soft_twin.errors import RunError, SoftTwinError
from soft_twin.sensing.rotations import rotation_matrix
from soft_twin.twins.plate_orientation import axis_of
from soft_twin_ros.calls import call, demand
from soft_twin_ros.clouds import cloud_message
from soft_twin_ros.conversions import pressures_message, to_array, to_pose, to_seconds
from soft_twin_ros.executor import executor_of
from soft_twin_ros.parameters import declare, parameter
from soft_twin_ros.qos import COMMAND, LATCHED, NEWEST, SENSOR
from soft_twin_ros.running.graph import EMULATED
from soft_twin_ros.running.health import DRIVERS, FAILED, READY, WAITING, Drivers, NodesHealth, Told
from soft_twin_ros.running.playing import Parts, Playing
from soft_twin_ros.running.processes import Interruption, Outcome
from soft_twin_ros.running.progress import Progress
from soft_twin_ros.running.sequence import ANSWER_PATIENCE, Motion
from soft_twin_ros.running.sequences import from_text
from soft_twin_ros.running.standing import Standing

FAULT_PATIENCE = 3.0  # [s] of the robot's time that a driver's fault may last before it ends the run
ERROR_PATIENCE = 6.0  # [s] and another node's error: tilt is found anew in some
SLOWEST = 0.05  # pace of an emulated robot that patience reckons with at the most
LOOK_PERIOD = 0.05  # [s]
SHOWN_AGAIN = 5.0  # [s] after which a surface is shown again that a node has not taken
QUIET = ("starting", "end")  # phases that say nothing new to people
AGAIN_AFTER = 1.0  # [s] after which a service is called again that was refused


@dataclass(frozen=True)
class Parameters:
    """Of this node."""

    sequence: str = parameter("", "what to lead the nodes through, see running.sequences")
    nodes: tuple = parameter(("",), "names of the nodes in this namespace that the run needs")
    services: tuple = parameter(("",), "what each of these puts before its services' names")
    outcome: int = parameter(1, "file descriptor that is told what becomes of the run", "", 0, 2**16)


class Runner(Node):
    """The `Leader` of a run sequence, on real nodes.

    Args:
        interruption: asked for between two looks.
    """

    def __init__(self, interruption: Interruption):
        super().__init__("runner")
        self.parameters = declare(self, Parameters)
        self._progress, self._interruption = Progress(), interruption
        self._nodes = self.parameters.nodes
        self._prefixes = dict(zip(self._nodes, self.parameters.services, strict=True))
        self._health = NodesHealth(self._nodes)
        self._emulated = next((name for name in self._nodes if name in EMULATED), "")
        self._was_slow = False
        self._tip_stamp = math.nan
        self.tip = self.twin_tip = self.tip_axis = np.full(3, np.nan)
        self._phases = self.create_publisher(String, "run/phase", LATCHED)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._take_diagnostics, SENSOR)
        self.create_subscription(PoseStamped, "truth/tip", self._take_tip, NEWEST)
        self.create_subscription(PoseStamped, "twin/tip", self._take_twin_tip, NEWEST)
        self._events = executor_of(self)

    def enter(self, phase: str) -> None:
        self._phases.publish(String(data=phase))
        if phase not in QUIET:
            self._progress.line(phase)

    def wait_until_ready(self, patience: float) -> None:
        self._wait(lambda: not self._health.unready(), patience, self._unready)

    def require(self, drivers: Drivers) -> None:
        if self._health.drivers is Drivers.ACTIVE:
            self._end_for(self._health.faults())
        self._health.drivers = drivers

    def has(self, node: str) -> bool:
        return node in self._nodes

    def trigger(self, service: str, node: str, patience: float = 0.0) -> None:
        until = time.monotonic() + patience
        while True:
            try:
                return self._ask(Trigger, service, node, Trigger.Request())
            except RunError:
                if time.monotonic() > until:
                    raise
                self.pass_time(AGAIN_AFTER)

    def aim(self, pitch: float, roll: float, node: str) -> None:
        request = SetTarget.Request(use_orientation=True)
        request.target.pose = to_pose(np.zeros(3), None, axis_of(*np.radians([pitch, roll])))
        self._ask(SetTarget, "set_target", node, request)

    def hang(self, payload: float, node: str) -> None:
        value = Parameter("payload", value=float(payload)).to_parameter_msg()
        request, name = SetParameters.Request(parameters=[value]), f"{node}/set_parameters"
        answer = call(self, SetParameters, name, request, self._wait, ANSWER_PATIENCE / self._pace())
        if not answer.results[0].successful:
            raise RunError(f"{name}: {answer.results[0].reason}")

    def switch(self, service: str, node: str, on: bool) -> None:
        self._ask(SetBool, service, node, SetBool.Request(data=on))

    def pass_time(self, duration: float) -> None:
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self._look()
            self._progress.now(self._health.message("imu_to_gravity"))

    def settle(self, patience: float) -> None:
        standing, end = Standing(), time.monotonic() + patience / self._pace()
        heard = self.create_subscription(
            Pressures, "truth/chambers", lambda message: standing.take(time.monotonic(), message.pressures), NEWEST
        )
        while not standing.over and time.monotonic() < end:
            self._look()
        self.destroy_subscription(heard)

    def show(self, points: np.ndarray, node: str, patience: float) -> None:
        shown = self.create_publisher(PointCloud2, "target_shape", COMMAND)
        frame, again = f"{self.get_namespace()}/base_link".lstrip("/"), 0.0

        def found() -> bool:
            nonlocal again
            state = self._health.value(node, "state")
            if state == FAILED:
                raise RunError(f"{self.get_namespace()[1:]}/{node}: {self._health.message(node)}")
            if state == WAITING and time.monotonic() > again:
                again = time.monotonic() + SHOWN_AGAIN
                shown.publish(cloud_message(time.time(), frame, points))
            return state == READY

        self._wait(found, patience, self._unready)
        self.destroy_publisher(shown)

    def press(self, chambers: Sequence[str], pressures: Sequence[float], duration: float) -> None:
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self._pressing.publish(pressures_message(time.time(), chambers, pressures))
            self._look()

    def play(self, phase: str, motion: Motion) -> None:
        parts, playing = Parts(), Playing(motion.duration, time.monotonic(), self._lost())
        while not playing.over(time.monotonic(), self._phase_of_robot(), self._lost()):
            self._look()
            error = motion.scale * motion.error()
            over = parts.take(self._tip_stamp, error, self._phase_of_robot(), self._phase_since())
            if over is not None and over[0] in motion.holds:
                self._progress.line(_told_error(phase, motion.holds[over[0]], over[1], motion))
            self._progress.now(_told_error(phase, parts.name, error, motion))

    @cached_property
    def _pressing(self) -> Publisher:
        """Who tells chambers their pressures; there is none before it is needed."""
        return self.create_publisher(Pressures, "chambers/command", COMMAND)

    def tell_pace(self) -> None:
        """Say whether the emulated robot was too slow, and what was measured therefore is of a degraded run."""
        if self._number("slow_for") > 0.0:
            self._progress.line(f"the emulated robot {self._paces_in_words()}: what was measured is of a degraded run")

    def _ask(self, kind: type, service: str, node: str, request) -> None:
        demand(self, kind, self._prefixes[node] + service, request, self._wait, ANSWER_PATIENCE / self._pace())

    def _wait(self, done: Callable[[], bool], patience: float, what: Callable[[], str]) -> None:
        deadline = time.monotonic() + patience
        while not done():
            self._listen()
            self._progress.now(what())
            if time.monotonic() > deadline:
                raise RunError(f"{what()} after {patience:g} s")

    def _look(self) -> None:
        """Take what has come in, and see that all is well.

        Raises:
            RunError: a node has been in error for too long.
        """
        self._listen()
        self._enable_again()
        pace = self._pace()
        faults = {
            name: message for name, message in self._health.wrong_for(FAULT_PATIENCE / pace).items() if name in DRIVERS
        }
        self._end_for(faults | self._health.wrong_for(ERROR_PATIENCE / pace))

    def _end_for(self, wrong: Mapping[str, str]) -> None:
        for name, message in wrong.items():
            raise RunError(f"{self.get_namespace()[1:]}/{name}: {message}")

    def _enable_again(self) -> None:
        """Enable drivers that relaxed while an emulated robot was too slow: no commands came, as no samples did."""
        while self._health.relaxed and self._number("slow_for") > 0.0:
            name = self._health.relaxed.pop()
            self._progress.line(f"{name} relaxed while the emulated robot was too slow: enabled again")
            self.switch("enable", name, True)

    def _listen(self) -> None:
        self._events.spin_once(timeout_sec=LOOK_PERIOD)
        self._interruption.check()

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            namespace, _, name = f"/{status.name}".rpartition("/")
            if namespace == self.get_namespace():
                self._health.take(name, told(status))
                if name == self._emulated:
                    self._watch_pace()

    def _watch_pace(self) -> None:
        """Say when the emulated robot begins to fall behind real time, and when it keeps up again."""
        slow = self._health.value(self._emulated, "keeps_up") == str(False)
        if slow and not self._was_slow:
            self._progress.line("the emulated robot falls behind real time: this machine is too busy or too slow")
        elif self._was_slow and not slow:
            self._progress.line(f"the emulated robot keeps up again, it {self._paces_in_words()}")
        self._was_slow = slow

    def _take_tip(self, message: PoseStamped) -> None:
        self._tip_stamp = to_seconds(message.header.stamp)
        self.tip, turn = to_array(message.pose.position), message.pose.orientation
        self.tip_axis = rotation_matrix(np.array([turn.w, turn.x, turn.y, turn.z]))[:, 2]

    def _take_twin_tip(self, message: PoseStamped) -> None:
        self.twin_tip = to_array(message.pose.position)

    def _unready(self) -> str:
        return "starting: " + "; ".join(f"{name}: {text}" for name, text in self._health.unready().items())

    def _phase_of_robot(self) -> str:
        return self._health.value(self._emulated, "phase")

    def _phase_since(self) -> float | None:
        """The first stamp of what the robot tells to be its phase [s]; None where it does not say."""
        told = self._health.value(self._emulated, "phase_since")
        return float(told) if told else None

    def _lost(self) -> float | None:
        """How far the emulated robot is behind real time for good [s]; None where it has no time of its own."""
        told = self._health.value(self._emulated, "behind_for_good")
        return float(told) if told else None

    def _pace(self) -> float:
        """Seconds of the emulated robot's time a second, as nodes that wait for it feel it."""
        return min(max(float(self._health.value(self._emulated, "pace") or 1.0), SLOWEST), 1.0)

    def _paces_in_words(self) -> str:
        slowest, slow_for = self._number("slowest_pace"), self._number("slow_for")
        return f"ran at down to {slowest:.2f} of real time, slow for {slow_for:.1f} s"

    def _number(self, key: str) -> float:
        return float(self._health.value(self._emulated, key) or 0.0)


def _told_error(phase: str, part: str, error: float, motion: Motion) -> str:
    """A line for people."""
    return f"{phase:<8} {part:>10}  {error:6.1f} {motion.unit}: {motion.words}"


def told(status: DiagnosticStatus) -> Told:
    """What a node says in its diagnostics."""
    values = {pair.key: pair.value for pair in status.values}
    return Told(status.level == DiagnosticStatus.ERROR, status.message, values)


def main() -> int:
    """Lead a run; the exit status of its process."""
    interruption = Interruption()
    interruption.defer()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    runner = Runner(interruption)
    try:
        _tell(runner.parameters.outcome, _lead(runner))
    except KeyboardInterrupt:
        return 0
    finally:
        runner.destroy_node()
        rclpy.try_shutdown()
    return 0


def _lead(runner: Runner) -> str:
    """What becomes of the run."""
    outcome = Outcome.DONE
    try:
        from_text(runner.parameters.sequence).run(runner)
    except SoftTwinError as error:
        outcome = str(error)
    except BrokenPipeError:
        return Outcome.UNHEARD
    runner.tell_pace()
    return outcome


def _tell(pipe: int, outcome: str) -> None:
    """Say it before the middleware is left, whose end nobody needs to wait for."""
    with os.fdopen(pipe, "w", encoding="utf-8") as stream:
        stream.write(outcome)


if __name__ == "__main__":
    sys.exit(main())
