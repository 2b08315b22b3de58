"""What the managed nodes of an emulated robot survive: transitions, calls and goals at any moment, and machines that
halt them; and whether the robot works again when all that is over and somebody puts it right."""

import argparse
import importlib
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soft_twin import load_robot
from soft_twin.app.measuring import Figure
from soft_twin.errors import RunError
from soft_twin.robots.links import TIP
from soft_twin.robots.skeleton import build_skeleton

PATIENCE = 90.0  # [s] with nodes that start
ANSWER = 15.0  # [s] within which a transition is answered
PAUSES = (0.0, 0.003, 0.02, 0.1, 0.3)  # [s] between two transitions: shorter and longer than a sample's way
HALTS = (0.3, 2.0, 8.0)  # [s]
CLEANED = 0.2  # share of inactive nodes that are cleaned up, not activated
CALLED = 0.3  # share of steps that call a service in place of a transition
ASKED = 0.3  # share of steps that send a goal, or cancel one
CANCELLED = 0.5  # share of those that cancel, where goals run
REACH = 0.01  # [m] and [rad]: how far from its rest a goal leads the tip
DURATIONS = (0.0, 0.2, 2.0, 1000.0)  # [s] of goals: without one, and too long a one, among them
PACKAGES = ("std_srvs", "soft_twin_msgs")  # whose services are called, with what they ask for left as it is
DISCOVERY = 2.0  # [s]
RECOVERY = 60.0  # [s] in which the robot works again
AGAIN = 5.0  # [s] between two attempts to put it right
# services, in this order
PUT_RIGHT = ("rewind", "clear_stop", "reset_gravity", "reset", "compensate", "home", "enable")
SAID = 10.0  # [s] between two lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--robot", default="slender", help="name of a robot in config/, or path of a description")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="for how long")
    parser.add_argument("--halts", type=int, default=3, metavar="N", help="how often a process is halted")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the order")


def measure(robot: str = "slender", seconds: float = 60.0, halts: int = 3, seed: int = 0) -> list[Figure]:
    """How many transitions, calls and goals, who ended, who did not answer, and who does not work afterwards, which
    nobody looks at where it is interrupted (Ctrl-C).

    Raises:
        RunError: nodes did not start.
    """
    with tempfile.TemporaryDirectory(prefix="soft_twin-transitions-") as folder, _led(robot, Path(folder), seed) as led:
        whole, broken = _lead(led, seconds, halts), {}
        if whole and not led.ended():
            led.cancel_all()
            broken = led.recover()
        ended = led.ended()
        for name, line in ended.items():
            print(f"{name}: {line}", flush=True)
        for name, line in broken.items():
            print(f"{name} does not work again: {line}", flush=True)
        return [
            Figure("transitions", "transitions, calls and goals", led.count),
            Figure("goals", "goals that ran", led.ran),
            Figure("halts", "halts of a process", led.halted),
            Figure("ended", "nodes that ended", len(ended), "", "0"),
            Figure("unanswered", "of these not answered", sum(led.unanswered.values()), "", "0"),
            Figure("broken", "nodes that do not work again", len(broken) if whole else np.nan, "", "0"),
            Figure("slowest", "slowest answer", 1e3 * led.slowest, "ms"),
        ]


def _lead(led: "_Led", seconds: float, halts: int) -> bool:
    """Lead nodes by chance for so long [s], or until one ends, and halt processes `halts` times meanwhile; False: it
    was interrupted, after which ROS has no ears here."""
    begin = said = time.monotonic()
    with suppress(KeyboardInterrupt):  # what was done counts
        while (passed := time.monotonic() - begin) < seconds and not led.ended():
            if led.halted < halts and passed > (led.halted + 0.5) * seconds / halts:
                led.halt()
            led.step()
            if time.monotonic() > said + SAID:
                said = time.monotonic()
                print(f"{led.count} transitions, calls and goals, {seconds - passed:.0f} s to go", flush=True)
        return True
    return False


@contextmanager
def _led(robot: str, logs: Path, seed: int) -> Iterator["_Led"]:
    """The nodes, configured."""
    from soft_twin_ros.running.processes import Processes, environment

    os.environ.update(environment(logs / "ros"))
    import rclpy

    rclpy.init()
    processes = Processes(logs, os.environ)
    try:
        led = _Led(robot, processes, random.Random(seed))
        try:
            yield led
        finally:
            led.close()
    finally:
        processes.stop()
        rclpy.try_shutdown()


@dataclass
class _Goal:
    """One that runs."""

    name: str
    handle: Any
    result: Any  # future
    deadline: float | None = None  # by which it ends, once it is cancelled


def _tip_of(robot: Any) -> np.ndarray:
    """(3,) where the robot's tip rests [m]: links of a body at rest are not turned against each other."""
    links, name, place = {link.name: link for link in build_skeleton(robot).moving}, TIP, np.zeros(3)
    while name in links:
        place, name = place + links[name].place, links[name].parent
    return place


class _Led:
    """Nodes that are led by chance, with what became of it."""

    def __init__(self, robot: str, processes, rng: random.Random):
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from lifecycle_msgs.srv import ChangeState

        from soft_twin_ros.qos import SENSOR
        from soft_twin_ros.running.graph import MANAGED, graph
        from soft_twin_ros.running.health import Drivers, NodesHealth

        built = load_robot(robot)
        self._tip = _tip_of(built)
        specs = [spec for spec in graph(built, managed=True) if spec.name != "bringup"]
        self._processes, self._rng = processes, rng
        self._node = rclpy.create_node("transitions", namespace=specs[0].namespace)
        self._clients_of = {
            spec.name: self._node.create_client(ChangeState, f"{spec.name}/change_state")
            for spec in specs
            if spec.name in MANAGED
        }
        self._health = NodesHealth([spec.name for spec in specs])
        self._health.drivers = Drivers.ACTIVE
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._hear_health, SENSOR)
        self._active: set[str] = set()
        self.count, self.ran, self.halted, self.unanswered, self.slowest = 0, 0, 0, Counter(), 0.0
        self._goals: list[_Goal] = []
        for spec in specs:
            processes.start(spec)
        deadline = time.monotonic() + PATIENCE
        while not all(client.service_is_ready() for client in self._clients_of.values()):
            if time.monotonic() > deadline:
                raise RunError(f"not there after {PATIENCE:g} s: {', '.join(self._clients_of)}")
            self._listen(0.05)
        for name in self._clients_of:
            self._change(name, "CONFIGURE")
        self._listen(DISCOVERY)
        self._services = self._offered()
        self._actions = self._actions_offered()
        print(f"{len(self._services)} services: {', '.join(self._services)}", flush=True)
        print(f"{len(self._actions)} actions: {', '.join(self._actions) or 'none'}", flush=True)

    def close(self) -> None:
        for client, _ in self._actions.values():
            client.destroy()
        self._node.destroy_node()

    def ended(self) -> dict[str, str]:
        """Why, for each process that has ended."""
        try:
            self._processes.check()
        except RunError as error:
            name, _, why = str(error).partition(" ")
            return {name: why}
        return {}

    def step(self) -> None:
        """One node by one transition, one call or one goal, and a pause."""
        name, lot = self._rng.choice(sorted(self._clients_of)), self._rng.random()
        self._look_at_goals()
        if self._services and lot < CALLED:
            self._call(self._rng.choice(sorted(self._services)))
        elif self._actions and lot < CALLED + ASKED:
            if self._goals and self._rng.random() < CANCELLED:
                self._cancel(self._rng.choice(self._goals))
            else:
                self._send(self._rng.choice(sorted(self._actions)))
        elif name in self._active:
            self._change(name, "DEACTIVATE")
            self._active.discard(name)
        elif self._rng.random() < CLEANED:
            self._change(name, "CLEANUP")
            self._change(name, "CONFIGURE")
        elif self._change(name, "ACTIVATE"):
            self._active.add(name)
        self._listen(self._rng.choice(PAUSES))

    def halt(self) -> None:
        """Halt a process for a while."""
        name, seconds = self._rng.choice(sorted(self._clients_of)), self._rng.choice(HALTS)
        process = self._processes.ids[name]
        print(f"{name} is halted for {seconds:g} s", flush=True)
        self.halted += 1
        os.kill(process, signal.SIGSTOP)
        try:
            self._listen(seconds)
        finally:
            os.kill(process, signal.SIGCONT)

    def _offered(self) -> dict:
        """Clients of the robot's services."""
        namespace, found = f"{self._node.get_namespace()}/", {}
        for name, (kind, *_) in self._node.get_service_names_and_types():
            package, form, word = kind.split("/")
            if package in PACKAGES and form == "srv" and name.startswith(namespace):
                service = getattr(importlib.import_module(f"{package}.srv"), word)
                found[name.removeprefix(namespace)] = self._node.create_client(service, name)
        return found

    def cancel_all(self) -> None:
        """Cancel all goals that run, and wait for how each ended."""
        for goal in self._goals:
            self._cancel(goal)
        while self._goals:
            self._listen(0.05)
            self._look_at_goals()

    def recover(self) -> dict[str, str]:
        """Put the robot right, as somebody does who finds it like this; what nodes say that do not work even so."""
        end = time.monotonic() + RECOVERY
        print(f"it is put right, {RECOVERY:g} s at most", flush=True)
        while not self.ended():
            for name in self._clients_of:
                self._change(name, "CONFIGURE")
                self._change(name, "ACTIVATE")
            for word in PUT_RIGHT:
                for name in (each for each in self._services if each.rpartition("/")[2] == word):
                    self._call(name, on=True)
            self._listen(AGAIN)
            unready = self._health.unready()
            if not unready or time.monotonic() > end:
                return unready
        return {}

    def _hear_health(self, message: Any) -> None:
        from soft_twin_ros.running.runner import told

        for status in message.status:
            namespace, _, name = status.name.rpartition("/")
            if namespace == self._node.get_namespace().strip("/"):
                self._health.take(name, told(status))

    def _actions_offered(self) -> dict:
        """Clients of the robot's actions, and their types."""
        from rclpy.action import ActionClient, get_action_names_and_types

        namespace, found = f"{self._node.get_namespace()}/", {}
        for name, (kind, *_) in get_action_names_and_types(self._node):
            package, _, word = kind.split("/")
            if package in PACKAGES and name.startswith(namespace):
                action = getattr(importlib.import_module(f"{package}.action"), word)
                found[name.removeprefix(namespace)] = ActionClient(self._node, action, name), action
        return found

    def _send(self, name: str) -> None:
        """Send a goal, which may be refused."""
        client, action = self._actions[name]
        handle = self._answer(client.send_goal_async(self._filled(action.Goal())), f"goal of {name}")
        if handle is not None and handle.accepted:
            self.ran += 1
            self._goals.append(_Goal(name, handle, handle.get_result_async()))

    def _filled(self, goal: Any) -> Any:
        """A goal near the robot's rest; what it does not have stays as it is."""
        fields, duration = goal.get_fields_and_field_types(), self._rng.choice(DURATIONS)
        if "duration" in fields:
            goal.duration = duration
        if "length" in fields:
            goal.length = float(np.linalg.norm(self._tip))
        if "target" in fields:
            goal.use_orientation = self._rng.random() < 0.5
            self._lead(goal.target.pose)
        if "poses" in fields:
            from geometry_msgs.msg import Transform
            from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

            place = Transform()
            place.translation.x, place.translation.y, place.translation.z = self._near()
            point = MultiDOFJointTrajectoryPoint(transforms=[place])
            point.time_from_start.sec = round(duration)
            goal.poses.joint_names, goal.poses.points = ["tip"], [point]
        return goal

    def _near(self) -> list[float]:
        """A place near the tip's rest [m]."""
        return [float(x) + self._rng.uniform(-REACH, REACH) for x in self._tip]

    def _lead(self, pose: Any) -> None:
        """To a place near the tip's rest, a little tilted."""
        pose.position.x, pose.position.y, pose.position.z = self._near()
        pose.orientation.x, pose.orientation.y = (self._rng.uniform(-REACH, REACH) for _ in range(2))
        pose.orientation.w = float(np.sqrt(1.0 - pose.orientation.x**2 - pose.orientation.y**2))

    def _cancel(self, goal: "_Goal") -> None:
        """Cancel a goal, which must end soon then."""
        if goal.deadline is None:
            self._answer(goal.handle.cancel_goal_async(), f"cancel of {goal.name}")
            goal.deadline = time.monotonic() + ANSWER

    def _look_at_goals(self) -> None:
        """Forget those that have ended; one that was cancelled and has not is not answered."""
        for goal in list(self._goals):
            late = goal.deadline is not None and time.monotonic() > goal.deadline
            if late and not goal.result.done():
                self._miss(f"end of {goal.name}")
            if late or goal.result.done():
                self._goals.remove(goal)

    def _call(self, name: str, on: bool | None = None) -> None:
        """Call a service, whatever it says; None: what it switches is left to chance."""
        client = self._services[name]
        request = client.srv_type.Request()
        if hasattr(request, "data"):
            request.data = self._rng.random() < 0.5 if on is None else on
        self._answer(client.call_async(request), name)

    def _change(self, name: str, transition: str) -> bool:
        """Whether a node has done it."""
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        request = ChangeState.Request(transition=Transition(id=getattr(Transition, f"TRANSITION_{transition}")))
        answer = self._answer(self._clients_of[name].call_async(request), f"{transition.lower()} of {name}")
        return answer is not None and answer.success

    def _answer(self, answer: Any, what: str) -> Any:
        """What a future has got that was asked for just now; None: nothing in time."""
        begin = time.monotonic()
        while not answer.done() and time.monotonic() < begin + ANSWER:
            self._listen(0.002)
        self.count += 1
        if not answer.done():
            self._miss(what)
            return None
        self.slowest = max(self.slowest, time.monotonic() - begin)
        return answer.result()

    def _miss(self, what: str) -> None:
        self.unanswered[what] += 1
        print(f"not answered: {what}", flush=True)

    def _listen(self, seconds: float) -> None:
        """For so long, to answers."""
        import rclpy

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=min(0.01, max(end - time.monotonic(), 0.0)))
