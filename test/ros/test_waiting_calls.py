"""Calls that wait for long work keep nobody from being heard: with the executor of Humble and Jazzy, and with ours."""

import threading
import time
from unittest.mock import Mock

import numpy as np
import pytest
import rclpy
from rclpy.action import ActionClient
from scipy.spatial.transform import Rotation
from soft_twin_msgs.action import FindZero, MoveTo
from soft_twin_msgs.srv import SolveIk
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

from soft_twin import load_robot
from soft_twin_ros import executor, node
from soft_twin_ros.conversions import to_pose, to_vector
from soft_twin_ros.errands import Errands
from soft_twin_ros.gravity_to_actuators import GravityToActuators
from soft_twin_ros.pose_to_cables import PoseToCables
from soft_twin_ros.qos import LATCHED

PATIENCE = 60.0  # [s]
DOWN = np.array([0.0, 0.0, -9.81])


@pytest.fixture(params=["single-threaded", "this distribution's"])
def executor_of(request, monkeypatch):
    if request.param == "single-threaded":
        monkeypatch.setattr(executor, "EventsExecutor", None)
    return executor.executor_of


@pytest.fixture
def held():
    """What work waits for."""
    event = threading.Event()
    yield event
    event.set()


class Talk:
    """A node, and somebody who asks it."""

    def __init__(self, node, executor_of):
        self.node, self._client = node, rclpy.create_node("client")
        self._executors = [executor_of(each) for each in (node, self._client)]
        node.begin()

    def ask(self, kind, name, request):
        """A call that has been sent."""
        client = self._client.create_client(kind, name)
        self.until(client.service_is_ready)
        return client.call_async(request)

    def act(self, kind, name, goal):
        """The result of an action, once it has begun."""
        client = ActionClient(self._client, kind, name)
        self.until(client.server_is_ready)
        sent = client.send_goal_async(goal)
        self.until(sent.done)
        return sent.result().get_result_async()

    def until(self, done):
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end
            for each in self._executors:
                each.spin_once(timeout_sec=0.02)

    def close(self):
        self.node.close()
        for each in self._executors:
            each.shutdown()
        for each in (self._client, self.node):
            each.destroy_node()


@pytest.fixture
def talk(executor_of, held, monkeypatch):
    talks = []

    def begin(node_class, robot):
        monkeypatch.setattr(node, "load_robot", lambda name: load_robot(robot))
        talks.append(Talk(node_class(), executor_of))
        return talks[-1]

    yield begin
    held.set()
    for each in talks:
        each.close()


@pytest.mark.parametrize(("node_class", "robot"), [(GravityToActuators, "slender"), (PoseToCables, "neck")])
def test_others_are_heard_while_solve_ik_is_solved(node_class, robot, talk, held):
    talk = talk(node_class, robot)
    talk.node._background.run(held.wait)
    request = SolveIk.Request(gravity=to_vector(DOWN), use_orientation=node_class is PoseToCables)
    request.target.header.frame_id = talk.node.base_frame
    request.target.pose = to_pose(np.array([0.0, 0.0, 0.1]), np.eye(3))
    asked = talk.ask(SolveIk, "solve_ik", request)
    freed = talk.ask(SetBool, "compensate", SetBool.Request(data=False))
    talk.until(freed.done)
    assert not talk.node.parameters.compensate and not asked.done()
    held.set()
    talk.until(asked.done)
    assert list(asked.result().actuators) == list(talk.node.robot.cable_names), asked.result().message


class Endless(Errands):
    """An action that only ends when somebody ends it."""

    def begin(self, name, request):
        pass

    def ending(self):
        return None

    def cancel(self):
        return ""

    def filled(self, message):
        return message


def test_others_are_heard_while_an_action_goes_on(talk):
    talk = talk(GravityToActuators, "slender")
    actions = Endless(talk.node, {"endless": FindZero})
    ended = talk.act(FindZero, "endless", FindZero.Goal())
    talk.until(lambda: actions.busy)
    answered = talk.ask(Trigger, "reset", Trigger.Request())
    talk.until(answered.done)
    assert actions.busy and not ended.done()
    actions.end(True, "enough")
    talk.until(ended.done)
    assert ended.result().result.message == "enough"


def test_a_stop_that_comes_while_a_targets_reach_is_looked_at_keeps_the_plate_from_moving(talk, held):
    talk = talk(PoseToCables, "neck")
    targets, motions = talk.node._targets, talk.node._motions
    targets._background.run(held.wait)
    motions.take(Mock(tick=Mock(progress=0.0)), 0.01)
    before = targets.now
    goal = MoveTo.Goal(use_orientation=True, duration=1.0)
    goal.target.pose = to_pose(np.zeros(3), Rotation.from_rotvec([0.2, 0.0, 0.0]).as_matrix())
    moved = talk.act(MoveTo, "move_to", goal)
    stopped = talk.node.create_publisher(Bool, "stopped", LATCHED)
    stopped.publish(Bool(data=True))
    talk.until(lambda: talk.node._motions._stops._stopped)
    held.set()
    talk.until(moved.done)
    assert not moved.result().result.success and "the robot is stopped" in moved.result().result.message
    assert targets.now is before and not motions.busy
