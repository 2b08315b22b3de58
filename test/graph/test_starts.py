"""A start that waits for hardware has nothing to complain of. Those of emulated robots: `test_run.py`."""

import os
import re
from dataclasses import replace

import pytest

from soft_twin import load_robot
from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes

BEGINNING = 2.0  # [s] to look at


@pytest.fixture
def started(listener_class, tmp_path):
    """Starts the nodes of a robot, some with parameters by their names; gives them by name, and who listens to them."""
    processes, listeners = Processes(tmp_path / "log", os.environ), []

    def start(name, devices=None, parameters=None):
        nodes = {node.name: node for node in graph(load_robot(name), devices, recording=tmp_path / "run.mcap")}
        for node in nodes.values():
            processes.start(replace(node, parameters={**node.parameters, **(parameters or {}).get(node.name, {})}))
        listeners.append(listener_class(name))
        return nodes, listeners[-1]

    yield start
    for listener in listeners:
        listener.close()
    processes.stop()


def errors(folder):
    """Lines of errors in the logs of all nodes, by their names."""
    lines = {log.stem: log.read_text(encoding="utf-8").splitlines() for log in folder.glob("*.log")}
    assert all(lines.values()), "every node says something when it is ready"
    wrong = re.compile(r"\[(ERROR|FATAL)\]|Traceback")
    return {name: found for name, said in lines.items() if (found := [line for line in said if wrong.search(line)])}


def test_a_real_tensegrity_arm_whose_boards_are_still_silent_is_waited_for(started, tmp_path):
    patient = {"imus_to_inclinations": {"appears_within": 60.0}}  # while a busy host starts the other nodes
    nodes, listener = started("tm40", Devices(), patient)
    listener.wait_for(lambda: nodes.keys() <= listener.health.keys())
    listener.spin(BEGINNING)
    assert listener.state("imus_to_inclinations") == "waiting"
    assert errors(tmp_path / "log") == {}
