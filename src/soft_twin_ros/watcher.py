"""Somebody who watches robots' graphs from outside and asks their services: health, tips, delays."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from soft_twin.errors import RunError
from soft_twin_ros.calls import demand
from soft_twin_ros.conversions import to_array, to_seconds
from soft_twin_ros.executor import executor_of
from soft_twin_ros.qos import SENSOR
from soft_twin_ros.running.arguments import RobotRequest
from soft_twin_ros.running.health import NodesHealth
from soft_twin_ros.running.launched import Launch
from soft_twin_ros.running.processes import Interruption, Processes, environment
from soft_twin_ros.running.runner import told

LOOK_PERIOD = 0.02  # [s]
ANSWER_PATIENCE = 30.0  # [s] for a service, on a busy machine


@dataclass
class Watched:
    """What one robot says.

    Attributes:
        health: of its nodes.
        tips: (3,) where the emulated robot's tip truly was [m], one after the other.
        delays: from an IMU sample to the command that follows from it, as it arrives here [s].
    """

    health: NodesHealth
    tips: list[np.ndarray] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    def forget(self) -> None:
        """Begin to measure anew."""
        self.tips.clear()
        self.delays.clear()


class Watcher(Node):
    """See the module's docstring.

    Attributes:
        robots: what each says, by namespace.
    """

    def __init__(self, nodes: Mapping[str, list[str]], interruption: Interruption):
        """`nodes`: their names by namespace. `interruption`: asked for between two looks."""
        super().__init__("watcher")
        self.robots = {namespace: Watched(NodesHealth(names)) for namespace, names in nodes.items()}
        self._interruption = interruption
        self.create_subscription(DiagnosticArray, "/diagnostics", self._take_health, SENSOR)
        for namespace, robot in self.robots.items():
            self.create_subscription(PoseStamped, f"/{namespace}/truth/tip", partial(self._take_tip, robot), SENSOR)
            command = f"/{namespace}/cables/command"
            self.create_subscription(JointState, command, partial(self._take_command, robot), SENSOR)
        self._executor = executor_of(self)

    def look(self, seconds: float) -> None:
        """Take what comes in for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._interruption.check()
            self._executor.spin_once(timeout_sec=LOOK_PERIOD)

    def wait_for(self, done: Callable[[], Any], patience: float, what: Callable[[], str]) -> None:
        """Look until it is done.

        Raises:
            RunError: it is not done in time; `what` is awaited.
        """
        deadline = time.monotonic() + patience
        while not done():
            if time.monotonic() > deadline:
                raise RunError(f"{what()} after {patience:g} s")
            self.look(LOOK_PERIOD)

    def ask(self, service: str, on: bool | None = None) -> None:
        """Call a service of the kind Trigger or, where something is switched, SetBool.

        Raises:
            RunError: no answer, or a refusal.
        """
        kind, request = (Trigger, Trigger.Request()) if on is None else (SetBool, SetBool.Request(data=on))
        demand(self, kind, service, request, self.wait_for, ANSWER_PATIENCE)

    def _take_health(self, message: DiagnosticArray) -> None:
        for status in message.status:
            namespace, _, name = status.name.rpartition("/")
            if namespace in self.robots:
                self.robots[namespace].health.take(name, told(status))

    def _take_tip(self, robot: Watched, message: PoseStamped) -> None:
        robot.tips.append(to_array(message.pose.position))

    def _take_command(self, robot: Watched, message: JointState) -> None:
        robot.delays.append(time.time() - to_seconds(message.header.stamp))


@dataclass(frozen=True)
class LaunchedRobot:
    """A robot's processes under a launch, with what is asked of `Processes`."""

    launch: Launch
    namespace: str

    @property
    def processor_times(self) -> dict[str, float]:
        """What each node has computed until now [s]."""
        return self.launch.processor_times(self.namespace)

    def check(self) -> None:
        """Raises RunError: the launch has ended."""
        self.launch.check()

    def stop(self) -> None:
        """End the launch."""
        self.launch.stop()


@dataclass
class Watching:
    """Robots' graphs that run, and who watches them.

    Attributes:
        began: time.monotonic() when the first process was started [s].
        processes: of each robot, by namespace.
        launch: that they are under, if they are.
    """

    watcher: Watcher
    began: float
    processes: Mapping[str, Processes | LaunchedRobot]
    launch: Launch | None = None

    @property
    def since(self) -> float:
        """[s] since the start."""
        return time.monotonic() - self.began

    def check(self) -> None:
        """Raises RunError: a process has ended."""
        for each in self.processes.values():
            each.check()


@contextmanager
def watched(
    requests: Sequence[RobotRequest], logs: Path, variables: Mapping[str, str], launched: str = ""
) -> Iterator[Watching]:
    """Robots' graphs, started as a launch does it, on this machine; they end with the context.

    Args:
        requests: the robots.
        logs: folder of the nodes' output.
        variables: further ones of the nodes' environment.
        launched: the same robots as a launch's argument says them: they are started by a launch, see `Launch`.
    """
    interruption = Interruption()
    interruption.defer()
    os.environ.update(environment(logs))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    watcher = Watcher({each.namespace: [node.name for node in each.specs] for each in requests}, interruption)
    environs, processes, launch = {**os.environ, **variables}, {}, None
    try:
        began = time.monotonic()
        if launched:
            launch = Launch(launched, logs, environs)
            processes |= {each.namespace: LaunchedRobot(launch, each.namespace) for each in requests}
        else:
            processes |= {each.namespace: Processes(logs / each.namespace, environs) for each in requests}
            for each in requests:
                for node in each.specs:
                    processes[each.namespace].start(node)
        yield Watching(watcher, began, processes, launch)
    finally:
        for each in processes.values():
            each.stop()
        watcher.destroy_node()
        rclpy.try_shutdown()
