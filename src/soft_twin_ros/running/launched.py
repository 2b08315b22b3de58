"""Robots' nodes under a launch that is a process of its own: ROS's, where it is, else one that starts the same nodes.

Run as a program it is that other one: `python -m soft_twin_ros.running.launched FOLDER ROBOTS`.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from soft_twin.errors import RunError, SoftTwinError
from soft_twin_ros.parent import die_with_parent
from soft_twin_ros.running.arguments import robots_of
from soft_twin_ros.running.processes import Interruption, Processes, last_line, processor_time

LAUNCH = ("launch", "soft_twin", "robots.launch.py")
ROS2 = "import sys; from ros2cli.cli import main; sys.argv[0] = 'ros2'; sys.exit(main())"  # as its script says it
NEEDED = ("ros2cli", "ros2launch", "launch_ros", "ament_index_python")
PROGRAM = Path("lib", "soft_twin", "imu_to_gravity")  # what a built workspace has
PATIENCE = 5.0  # [s] for a launch to end in
LOOK_PERIOD = 0.1  # [s]
ERROR_MARK = "[ERROR]"


def missing_launch() -> str:
    """Why nodes cannot be started by `ros2 launch` here; empty where they can be."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    if not any((Path(prefix) / PROGRAM).is_file() for prefix in prefixes if prefix):
        return "no workspace with soft_twin is sourced: colcon build, then source install/setup.bash"
    return ""


def launcher() -> str:
    """What nodes are started by where a launch is asked for: "ros2 launch", or "own processes" and why."""
    missing = missing_launch()
    return f"own processes ({missing})" if missing else "ros2 launch"


class Launch:
    """A launch of robots in a process of its own, and the nodes below it.

    Attributes:
        by: as `launcher`.
    """

    def __init__(self, robots: str, logs: Path, environment: Mapping[str, str]):
        """Start it.

        Args:
            robots: as the launch file's argument says them.
            logs: folder of its output.
            environment: of its processes.
        """
        missing = missing_launch()
        requests = robots_of(robots) if missing else []
        self._apart = [(each.namespace, spec.name) for each in requests for spec in each.specs]
        self.by = launcher()
        ros2 = ["ros2"] if shutil.which("ros2") else [sys.executable, "-c", ROS2]
        own = [sys.executable, "-m", "soft_twin_ros.running.launched", str(logs), robots]
        words = own if missing else [*ros2, *LAUNCH, f"robots:={robots}"]
        self._log = logs / "launch.log"
        logs.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(environment),
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    @property
    def _logs(self) -> list[Path]:
        """The launch's, and those of nodes that do not write to it; ROS's own copies of them are left out."""
        return [self._log, *(self._log.parent / space / f"{name}.log" for space, name in self._apart)]

    @property
    def pid(self) -> int:
        """Of the launch itself."""
        return self._process.pid

    @property
    def processes(self) -> list[int]:
        """Ids of the launch and of all that it has started and that live."""
        parents = {pid: parent for pid in _all() if (parent := _parent(pid)) is not None}
        found = [self.pid] if self.pid in parents else []
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found

    @property
    def nodes(self) -> dict[tuple[str, str], int]:
        """Process ids by namespace and name."""
        return {named: pid for pid in self.processes if (named := _node(pid)) is not None}

    def processor_times(self, namespace: str) -> dict[str, float]:
        """What each node of a robot has computed until now [s]."""
        return {name: processor_time(pid) for (space, name), pid in self.nodes.items() if space == namespace}

    def error_lines(self) -> list[str]:
        """What the launch and its nodes have written at the level of an error."""
        texts = (log.read_text(encoding="utf-8", errors="replace") for log in self._logs if log.is_file())
        return [line for text in texts for line in text.splitlines() if ERROR_MARK in line]

    def check(self) -> None:
        """Raises RunError: the launch has ended."""
        if self._process.poll() is not None:
            said = (self.error_lines() or [last_line(self._log)])[-1]
            raise RunError(f"the launch ended with status {self._process.returncode}: {said}")

    def tell(self, number: int) -> None:
        """Send a signal to the launch alone, as a process manager does it."""
        self._process.send_signal(number)

    def stop(self) -> None:
        """End it with all that it has started."""
        left = self.processes
        for number, patience in ((signal.SIGINT, PATIENCE), (signal.SIGKILL, PATIENCE)):
            for pid in left if number == signal.SIGKILL else [self.pid]:
                _kill(pid, number)
            deadline = time.monotonic() + patience
            while (left := alive(left)) and time.monotonic() < deadline:
                time.sleep(LOOK_PERIOD)
        self._process.wait()


def alive(pids: list[int]) -> list[int]:
    """Which of these processes have not ended."""
    return [pid for pid in pids if _parent(pid) is not None]


def _all() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(pid: int) -> int | None:
    """Of a process that lives; a zombie does not."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else int(parent)


def _node(pid: int) -> tuple[str, str] | None:
    """Namespace and name of the node that a process is."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return None
    said = dict(word.split(":=", 1) for word in words if word.startswith(("__node:=", "__ns:=")))
    return (said["__ns"].lstrip("/"), said["__node"]) if len(said) == 2 else None


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def main(folder: str, robots: str) -> int:
    """Start the robots' nodes and wait for the end of one of them, or of this process."""
    interruption, processes = Interruption(), {}
    try:
        for each in robots_of(robots):
            processes[each.namespace] = Processes(Path(folder) / each.namespace, os.environ)
            for spec in each.specs:
                processes[each.namespace].start(spec)
        while True:
            for each in processes.values():
                each.check()
            time.sleep(LOOK_PERIOD)
    except KeyboardInterrupt:
        return 0
    except SoftTwinError as error:
        print(error, flush=True)
        return 1
    finally:
        interruption.defer()
        for each in processes.values():
            each.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
