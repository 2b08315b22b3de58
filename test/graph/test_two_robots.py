"""Two emulated robots of one description in one graph: each driver moves its own robot's cables."""

import os
import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from soft_twin_ros.conversions import joint_state
from soft_twin_ros.running.arguments import robots_of
from soft_twin_ros.running.processes import Processes

WOUND = {"left": np.array([1e-3, 0.0, 0.0, 0.0, 0.0, 0.0]), "right": np.array([0.0, 0.0, 1e-3, 0.0, 0.0, 0.0])}  # [m]
NEAR = 2e-4  # [m]


@pytest.fixture
def tiny(slender, tmp_path):
    """The slender robot with a body that is soon computed."""
    text = slender.path.read_text(encoding="utf-8").replace("[1, 8, 14]", "[1, 4, 4]")
    (tmp_path / "tiny.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "tiny.yaml"


@pytest.fixture
def robots(listener_class, tiny, tmp_path):
    """By namespace, who listens to each; nothing but namespaces tells them apart."""

    class Truth(listener_class):
        TOPICS = {"truth/cables": "sensor_msgs.msg.JointState"}

    started = []
    for request in robots_of(f"{{left: {tiny}, right: {tiny}}}"):
        started.append(Processes(tmp_path / str(len(started)), os.environ))
        for node in request.specs:
            if node.name in ("emulated_robot", "cables_to_motors"):
                started[-1].start(node)
    listeners = {name: Truth(name) for name in WOUND}
    yield listeners
    for listener in listeners.values():
        listener.close()
    for processes in started:
        processes.stop()


def test_two_robots_do_not_move_each_others_cables(robots, slender):
    publishers = {name: robot.node.create_publisher(JointState, "cables/command", 1) for name, robot in robots.items()}

    def enable(robot):
        """A busy machine may have kept motors or commands from being heard; then again, homed where they want it."""
        if not robot.call(SetBool, "enable", SetBool.Request(data=True)).success:
            robot.call(Trigger, "home", Trigger.Request())

    def command():
        for name, publisher in publishers.items():
            publisher.publish(joint_state(time.time(), slender.cable_names, WOUND[name], np.zeros(6)))
        for robot in robots.values():
            robot.spin(0.01)

    def hold(name):
        command()
        told = robots[name].heard["truth/cables"][-1].position
        return np.abs(np.subtract(told, WOUND[name])).max() < NEAR or enable(robots[name])

    for robot in robots.values():
        robot.wait_for(lambda robot=robot: robot.heard["truth/cables"])
    for name, robot in robots.items():
        robot.wait_for(lambda name=name: hold(name))
    # While one is homed nobody commands the other, which relaxes.
    robots["left"].wait_for(lambda: all(hold(name) for name in robots))
