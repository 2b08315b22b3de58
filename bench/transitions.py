"""What the managed nodes of an emulated robot survive: transitions and calls at any moment, and machines that halt
them."""

import argparse
import importlib
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soft_twin import load_robot
from soft_twin.app.measuring import Figure
from soft_twin.errors import RunError

PATIENCE = 90.0  # [s] with nodes that start
ANSWER = 15.0  # [s] within which a transition is answered
PAUSES = (0.0, 0.003, 0.02, 0.1, 0.3)  # [s] between two transitions: shorter and longer than a sample's way
HALTS = (0.3, 2.0, 8.0)  # [s]
CLEANED = 0.2  # share of inactive nodes that are cleaned up, not activated
CALLED = 0.4  # share of steps that call a service in place of a transition
PACKAGES = ("std_srvs", "soft_twin_msgs")  # whose services are called, with what they ask for left as it is
DISCOVERY = 2.0  # [s]
SAID = 10.0  # [s] between two lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    parser.add_argument("--robot", default="slender", help="name of a robot in config/, or path of a description")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="for how long")
    parser.add_argument("--halts", type=int, default=3, metavar="N", help="how often a process is halted")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the order")


def measure(robot: str = "slender", seconds: float = 60.0, halts: int = 3, seed: int = 0) -> list[Figure]:
    """How many transitions and calls, who ended, and who did not answer.

    Raises:
        RunError: nodes did not start.
    """
    with tempfile.TemporaryDirectory(prefix="soft_twin-transitions-") as folder, _led(robot, Path(folder), seed) as led:
        begin, halted = time.monotonic(), 0
        said = begin
        while (passed := time.monotonic() - begin) < seconds and not led.ended():
            if halted < halts and passed > (halted + 0.5) * seconds / halts:
                led.halt()
                halted += 1
            led.step()
            if time.monotonic() > said + SAID:
                said = time.monotonic()
                print(f"{led.count} transitions, {seconds - passed:.0f} s to go", flush=True)
        ended = led.ended()
        for name, line in ended.items():
            print(f"{name}: {line}", flush=True)
        return [
            Figure("transitions", "transitions and calls", led.count),
            Figure("halts", "halts of a process", halted),
            Figure("ended", "nodes that ended", len(ended), "", "0"),
            Figure("unanswered", "transitions and calls that were not answered", sum(led.unanswered.values()), "", "0"),
            Figure("slowest", "slowest answer", 1e3 * led.slowest, "ms"),
        ]


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


class _Led:
    """Nodes that are led by chance, with what became of it."""

    def __init__(self, robot: str, processes, rng: random.Random):
        import rclpy
        from lifecycle_msgs.srv import ChangeState

        from soft_twin_ros.running.graph import MANAGED, graph

        built = load_robot(robot)
        specs = [spec for spec in graph(built, managed=True) if spec.name != "bringup"]
        self._processes, self._rng = processes, rng
        self._node = rclpy.create_node("transitions", namespace=specs[0].namespace)
        self._clients_of = {
            spec.name: self._node.create_client(ChangeState, f"{spec.name}/change_state")
            for spec in specs
            if spec.name in MANAGED
        }
        self._active: set[str] = set()
        self.count, self.unanswered, self.slowest = 0, Counter(), 0.0
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
        print(f"{len(self._services)} services: {', '.join(self._services)}", flush=True)

    def close(self) -> None:
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
        """One node by one transition, or one call, and a pause."""
        name = self._rng.choice(sorted(self._clients_of))
        if self._services and self._rng.random() < CALLED:
            self._call(self._rng.choice(sorted(self._services)))
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

    def _call(self, name: str) -> None:
        """Call a service, whatever it says."""
        client = self._services[name]
        request = client.srv_type.Request()
        if hasattr(request, "data"):
            request.data = self._rng.random() < 0.5
        self._answer(client, request, name)

    def _change(self, name: str, transition: str) -> bool:
        """Whether a node has done it."""
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        request = ChangeState.Request(transition=Transition(id=getattr(Transition, f"TRANSITION_{transition}")))
        answer = self._answer(self._clients_of[name], request, f"{transition.lower()} of {name}")
        return answer is not None and answer.success

    def _answer(self, client, request, what: str):
        """What is answered; None: nothing in time."""
        begin, answer = time.monotonic(), client.call_async(request)
        while not answer.done() and time.monotonic() < begin + ANSWER:
            self._listen(0.002)
        self.count += 1
        if not answer.done():
            self.unanswered[what] += 1
            print(f"not answered: {what}", flush=True)
            return None
        self.slowest = max(self.slowest, time.monotonic() - begin)
        return answer.result()

    def _listen(self, seconds: float) -> None:
        """For so long, to answers."""
        import rclpy

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=min(0.01, max(end - time.monotonic(), 0.0)))
