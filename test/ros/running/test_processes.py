import os
import signal
import subprocess
import sys
import time

import pytest

from soft_twin.errors import RunError, UsageError
from soft_twin_ros.running.graph import NodeSpec
from soft_twin_ros.running.processes import Processes, claim_domain, environment

PATIENCE = 20.0  # [s] of a busy machine


class Program(NodeSpec):
    """A node that is a few lines of Python."""

    def command(self):
        return [sys.executable, "-c", self.executable]


SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
DEAF = "import signal; [signal.signal(s, signal.SIG_IGN) for s in (2, 15)]; " + SLEEPER
POLITE = "import signal, sys; signal.signal(2, lambda *_: sys.exit(print('bye') or 0)); " + SLEEPER
PARENT = """
import time
from pathlib import Path
from test_processes import Processes, Program
log = Path({logs!r}) / "child.log"
processes = Processes(log.parent, {{}})
processes.start(Program("import soft_twin_ros; " + {child!r}, "child", ""))
while not log.is_file() or "up" not in log.read_text():
    time.sleep(0.01)
print(processes._processes["child"].pid, flush=True)
time.sleep(60)
"""


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.fixture
def processes(tmp_path):
    result = Processes(tmp_path, os.environ)
    yield result
    result.stop()


def started(processes, program, name="node"):
    processes.start(Program(program, name, ""))
    log = processes.logs / f"{name}.log"
    wait_for(lambda: log.is_file() and "up\n" in log.read_text())
    return log


def test_a_process_that_listens_ends_by_itself(processes):
    log = started(processes, POLITE)
    processes.stop()
    assert log.read_text().splitlines() == ["up", "bye"]


def test_a_deaf_process_is_ended(processes):
    started(processes, DEAF)
    pid = processes._processes["node"].pid
    processes.stop()
    assert not is_alive(pid)


def test_a_second_process_of_a_name_is_refused(processes):
    processes.start(Program(SLEEPER, "node", "left"))
    with pytest.raises(UsageError, match="node has been started already"):
        processes.start(Program(SLEEPER, "node", "right"))


def test_a_process_that_has_ended_is_replaced_by_the_next_of_its_name(processes):
    processes.start(Program("pass", "node", ""))
    processes._processes["node"].wait(PATIENCE)
    started(processes, SLEEPER)
    processes.check()


def test_a_process_that_has_ended_is_told_with_its_last_words(processes):
    processes.start(Program("import sys; sys.exit('no such robot')", "node", ""))
    with pytest.raises(RunError, match="node ended with status 1: no such robot"):
        wait_for(lambda: processes.check())


@pytest.mark.parametrize("child", [SLEEPER, DEAF])
def test_children_of_a_killed_parent_end(child, tmp_path):
    program = PARENT.format(logs=str(tmp_path), child=child)
    here = os.path.dirname(__file__)
    with subprocess.Popen([sys.executable, "-c", program], cwd=here, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    wait_for(lambda: not is_alive(child))


@pytest.mark.parametrize(
    ("says", "wanted"),
    [
        ("os.write(fd, b'done'); os.close(fd); time.sleep(60)", ""),
        ("os.write(fd, b'the service home is not there')", "the service home is not there"),
        ("sys.exit('no memory')", "the run's leader ended with status 1: no memory"),
    ],
)
def test_a_leader_tells_its_outcome_before_it_ends_or_by_ending(processes, says, wanted):
    class Leader(Program):
        def command(self):
            return [*super().command(), str(self.parameters["outcome"])]

    outcome = processes.lead(Leader(f"import os, sys, time; fd = int(sys.argv[1]); {says}", "leader", ""))
    assert outcome.is_there(PATIENCE)
    processes.check()  # a leader that has ended is no fault of a node's
    assert outcome.text() == wanted


def test_two_runs_have_domains_of_their_own():
    assert claim_domain() != claim_domain()


def test_what_the_user_has_set_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    variables = environment(tmp_path)
    assert (variables["ROS_DOMAIN_ID"], variables["ROS_AUTOMATIC_DISCOVERY_RANGE"]) == ("7", "SUBNET")


def test_runs_keep_to_this_machine(monkeypatch, tmp_path):
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    assert environment(tmp_path)["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"


def test_processor_time_is_that_of_a_process_and_its_children(processes):
    busy = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(10**7))']); " + SLEEPER
    started(processes, busy, "busy")
    started(processes, SLEEPER, "sleeper")
    times = processes.processor_times
    assert set(times) == {"busy", "sleeper"}
    assert times["busy"] > times["sleeper"]
