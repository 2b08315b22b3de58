"""A robot's whole loop on emulated hardware: nodes are started, led through a sequence by one of them, and ended.

This process knows nothing of ROS: whatever happens in a node's middleware, it ends all of them, and itself.
"""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from soft_twin.errors import RunError
from soft_twin.robots.base import Robot
from soft_twin_ros.ros_packages import check_ros
from soft_twin_ros.running.graph import NodeSpec, graph
from soft_twin_ros.running.processes import Interruption, Processes
from soft_twin_ros.running.sequence import RunSequence

LOOK_PERIOD = 0.05  # [s]


def run(
    robot: Robot, sequence: RunSequence, recording: Path, environment: Mapping[str, str], scanner: bool = False
) -> None:
    """Run a robot's nodes on an emulated robot and record them.

    Args:
        robot: its description.
        sequence: how the run goes.
        recording: the MCAP file; the nodes' logs go to the folder `log` beside it.
        environment: of the nodes' processes.
        scanner: an emulated one looks at the robot's surface, see `graph`.

    Raises:
        UsageError: packages of ROS are missing.
        RunError: a node ended or stayed in error; what was recorded until then is there.
        KeyboardInterrupt: it was asked to end; all nodes have ended.
        BrokenPipeError: nobody reads any longer what the run says; likewise.
    """
    check_ros()
    interruption = Interruption()
    interruption.defer()
    processes = Processes(recording.parent / "log", environment)
    devices = tempfile.mkdtemp(prefix="soft_twin-")
    try:
        emulation = {**sequence.emulation, "device_folder": devices}
        nodes = graph(robot, emulation=emulation, recording=recording, solver=sequence.driven_by, scanner=scanner)
        own = sequence.parameters
        nodes = [replace(node, parameters={**node.parameters, **own.get(node.name, {})}) for node in nodes]
        for node in nodes:
            processes.start(node)
        _lead(processes, sequence_node(sequence, nodes), interruption)
    finally:
        processes.stop(last=["emulated_robot", "recorder"])
        shutil.rmtree(devices, ignore_errors=True)


def sequence_node(sequence: RunSequence, nodes: list[NodeSpec]) -> NodeSpec:
    """The node that leads these through a sequence."""
    parameters = {
        "sequence": sequence.to_text(),
        "nodes": [node.name for node in nodes],
        "services": [node.parameters.get("services", "") for node in nodes],
    }
    return NodeSpec("running.runner", "runner", nodes[0].namespace, parameters)


def _lead(processes: Processes, leader: NodeSpec, interruption: Interruption) -> None:
    """Start the leader, and wait until it has led the run to its end.

    Raises:
        RunError: it could not, or a node has ended.
    """
    outcome = processes.lead(leader)
    while not outcome.is_there(LOOK_PERIOD):
        interruption.check()
        processes.check()
    if text := outcome.text():
        raise RunError(text)
