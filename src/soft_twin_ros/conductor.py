"""Runs a robot's whole loop: starts its nodes, moves the base without and with compensation, ends them."""

import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from soft_twin.errors import RunError
from soft_twin.graph import Course, NodeSpec, graph
from soft_twin.processes import Interruption, Processes
from soft_twin.robots.cable_tube import CableTube
from soft_twin_ros.conversions import to_array
from soft_twin_ros.qos import LATCHED, NEWEST, SENSOR

START_PATIENCE = 180.0  # [s] for compiling and loading, when it is done for the first time and on a busy machine
ERROR_PATIENCE = 1.0  # [s] an error may last before it ends the run
DRIVING = ("active", "hold")  # modes of a driver that holds the cables
SERVICE_PATIENCE = 5.0  # [s]
LOOK_PERIOD = 0.05  # [s]
SETTLING_TIME = 1.5  # [s] for the body to come to rest, before and after the cables are held
MILLIMETRES = 1e3


class Progress:
    """What a run tells while it works: lines that stay, and on a terminal one that changes."""

    def __init__(self):
        self._start = time.monotonic()
        self._live = sys.stdout.isatty()

    def line(self, text: str) -> None:
        """Something has happened."""
        self._clear()
        print(f"{self._seconds():6.1f} s  {text}", flush=True)

    def now(self, text: str) -> None:
        """Something is so at the moment."""
        if self._live:
            self._clear()
            width = shutil.get_terminal_size().columns - 1
            print(f"{self._seconds():6.1f} s  {text}"[:width], end="", flush=True)

    def _clear(self) -> None:
        if self._live:
            print("\r\x1b[K", end="")

    def _seconds(self) -> float:
        return time.monotonic() - self._start


def conduct(robot: CableTube, course: Course, recording: Path, environment: dict[str, str]) -> None:
    """Run a robot's nodes on an emulated robot and record them.

    Args:
        robot: its description.
        course: how the run goes.
        recording: the MCAP file; the nodes' logs go to the folder `log` beside it.
        environment: of the nodes' processes; this process must have the same ROS domain.

    Raises:
        RunError: a node ended or stayed in error; what was recorded until then is there.
    """
    interruption = Interruption()
    progress = Progress()
    processes = Processes(recording.parent / "log", environment)
    devices = tempfile.mkdtemp(prefix="soft_twin-")
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        nodes = graph(robot, emulation={**course.emulation, "device_folder": devices}, recording=recording)
        for node in nodes:
            processes.start(node)
        interruption.defer()
        Conductor(robot, nodes, processes, progress, interruption).run(course)
    finally:
        interruption.defer()
        processes.stop(last=["recorder"])
        rclpy.try_shutdown()
        shutil.rmtree(devices, ignore_errors=True)
    progress.line("stopped")


class Conductor(Node):
    """Leads the nodes through a run, and watches their health."""

    def __init__(
        self,
        robot: CableTube,
        nodes: list[NodeSpec],
        processes: Processes,
        progress: Progress,
        interruption: Interruption,
    ):
        super().__init__("conductor", namespace=robot.name)
        self._robot, self._processes, self._progress, self._interruption = robot, processes, progress, interruption
        self._watched = {f"{node.namespace}/{node.name}" for node in nodes}
        self._health: dict[str, DiagnosticStatus] = {}
        self._in_error: dict[str, float] = {}
        self._homed = self._holding = self._was_slow = False
        self._tip = np.full(3, np.nan)
        self._phases = self.create_publisher(String, "run/phase", LATCHED)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._take_diagnostics, SENSOR)
        self.create_subscription(PoseStamped, "truth/tip", self._take_tip, NEWEST)

    def run(self, course: Course) -> None:
        """The whole run: warm-up, without, with."""
        self._enter("starting")
        self._wait(self._all_well, START_PATIENCE, self._starting)
        self._progress.line("all nodes are up")
        self._ask(SetBool, "compensate", SetBool.Request(data=False))
        self._enter("warm-up")
        self._pass_time(course.warm_up)
        self._home()
        self._pass("without", course.duration)
        self._enter("pause")
        self._ask(Trigger, "rewind", Trigger.Request())
        self._ask(Trigger, "reset_gravity", Trigger.Request())
        self._pass_time(SETTLING_TIME)
        self._hold(True)
        self._pass_time(SETTLING_TIME)
        self._pass("with", course.duration)
        self._enter("end")
        self._hold(False)
        if self._slow_for() > 0.0:
            self._progress.line(f"the emulated robot {self._pace_in_words()}: what was measured is of a degraded run")

    def _pass(self, name: str, duration: float) -> None:
        """One motion of the base; each of its holds is told when it ends."""
        self._enter(name)
        self._ask(Trigger, "play", Trigger.Request())
        motion, error = "", math.nan
        end, lost = time.monotonic() + duration, self._lost()
        while time.monotonic() < end + self._lost() - lost:
            self._look()
            if self._motion() != motion:
                if motion.startswith("hold"):
                    self._progress.line(f"{name:<8} {motion:>9}°  tip {error:5.1f} mm from its target")
                motion = self._motion()
            error = self._tip_error()
            self._progress.now(f"{name:<8} {motion}  tip {error:.1f} mm from its target")

    def _home(self) -> None:
        """The robot rests upright with slack cables: that is their zero, whatever the driver has missed until now."""
        self._ask(Trigger, "home", Trigger.Request())
        self._ask(SetBool, "enable", SetBool.Request(data=False))
        self._homed = True
        self._wait(self._all_well, SERVICE_PATIENCE, self._starting)

    def _hold(self, on: bool) -> None:
        """Let the cables hold the tip's target, or let them go."""
        self._holding = on
        if not on:
            self._ask(SetBool, "enable", SetBool.Request(data=False))
        self._ask(SetBool, "compensate", SetBool.Request(data=on))
        if on:
            self._ask(SetBool, "enable", SetBool.Request(data=True))

    def _enter(self, phase: str) -> None:
        self._phases.publish(String(data=phase))
        if phase not in ("starting", "end"):
            self._progress.line(phase)

    def _pass_time(self, duration: float) -> None:
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self._look()
            self._progress.now(self._message("imu_to_gravity"))

    def _ask(self, kind: type, name: str, request) -> None:
        """Call a service and wait for its answer.

        Raises:
            RunError: no answer, or a refusal.
        """
        client = self.create_client(kind, name)
        self._wait(client.service_is_ready, SERVICE_PATIENCE, lambda: f"the service {name} is not there")
        answer = client.call_async(request)
        self._wait(answer.done, SERVICE_PATIENCE, lambda: f"the service {name} does not answer")
        self.destroy_client(client)
        if not answer.result().success:
            raise RunError(f"{name}: {answer.result().message}")

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
            RunError: a node has ended, or has been in error for too long.
        """
        self._listen()
        for name, since in self._in_error.items():
            if time.monotonic() - since > ERROR_PATIENCE:
                raise RunError(f"{name}: {self._health[name].message}")

    def _listen(self) -> None:
        rclpy.spin_once(self, timeout_sec=LOOK_PERIOD)
        self._interruption.check()
        self._processes.check()

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name not in self._watched:
                continue
            self._health[status.name] = status
            if status.name.endswith("/emulated_robot"):
                self._watch_pace(status.level == DiagnosticStatus.WARN)
            if self._is_wrong(status):
                self._in_error.setdefault(status.name, time.monotonic())
            else:
                self._in_error.pop(status.name, None)

    def _watch_pace(self, slow: bool) -> None:
        """Say when the emulated robot begins to fall behind real time, and when it keeps up again."""
        if slow and not self._was_slow:
            self._progress.line("the emulated robot falls behind real time: this machine is too busy")
        elif self._was_slow and not slow:
            self._progress.line(f"the emulated robot keeps up again, it {self._pace_in_words()}")
        self._was_slow = slow

    def _is_wrong(self, status: DiagnosticStatus) -> bool:
        """Whether the run cannot go on like this."""
        mode = next((value.value for value in status.values if value.key == "mode"), "")
        if mode and not self._homed:
            return False
        limp = self._holding and mode and mode not in DRIVING
        return bool(status.level == DiagnosticStatus.ERROR or limp)

    def _take_tip(self, message: PoseStamped) -> None:
        self._tip = to_array(message.pose.position)

    def _all_well(self) -> bool:
        return self._health.keys() == self._watched and not self._waiting_for()

    def _waiting_for(self) -> dict[str, str]:
        """What the nodes say that are not ready yet: those in error, and those that wait for others."""
        told = {name: self._health.get(name) for name in sorted(self._watched)}
        return {
            name: "is loading" if status is None else status.message
            for name, status in told.items()
            if status is None or self._is_wrong(status) or status.message.startswith("waiting")
        }

    def _starting(self) -> str:
        waiting = "; ".join(f"{name.split('/')[-1]}: {text}" for name, text in self._waiting_for().items())
        return f"starting: {waiting}"

    def _motion(self) -> str:
        return self._value("emulated_robot", "phase")

    def _slow_for(self) -> float:
        """How long the emulated robot has been slower than real time [s]."""
        return float(self._value("emulated_robot", "slow_for") or 0.0)

    def _lost(self) -> float:
        """How far the emulated robot is behind real time for good [s]."""
        return float(self._value("emulated_robot", "behind_for_good") or 0.0)

    def _pace_in_words(self) -> str:
        slowest, slow_for = self._value("emulated_robot", "slowest_pace"), self._slow_for()
        return f"ran at down to {float(slowest):.2f} of real time, slow for {slow_for:.1f} s"

    def _value(self, node: str, key: str) -> str:
        """What a node's diagnostics say under a key; empty where nothing is known."""
        status = self._health.get(f"{self._robot.name}/{node}")
        return "" if status is None else next((pair.value for pair in status.values if pair.key == key), "")

    def _message(self, node: str) -> str:
        status = self._health.get(f"{self._robot.name}/{node}")
        return "" if status is None else status.message

    def _tip_error(self) -> float:
        """Distance of the robot's tip from the target [mm]."""
        return MILLIMETRES * float(np.linalg.norm(self._tip - np.array(self._robot.target_tip)))
