"""Nodes that do not answer when they are brought up are asked again."""

import time
from dataclasses import dataclass

import pytest
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.node import Node
from rclpy.task import Future

from soft_twin_ros import bringup
from soft_twin_ros.executor import executor_of
from soft_twin_ros.parameters import parameter

PATIENCE = 20.0  # [s]


@dataclass(frozen=True)
class OfDeaf(bringup.Parameters):
    nodes: tuple = parameter(("deaf",), "names of the nodes")


class Deaf(Node):
    """A managed node that never answers the first time that it is asked for a change."""

    def __init__(self):
        super().__init__("deaf")
        self.state, self.asked = State.PRIMARY_STATE_UNCONFIGURED, []
        self.create_service(GetState, "deaf/get_state", self._tell)
        self.create_service(ChangeState, "deaf/change_state", self._change)

    def _tell(self, request, response):
        response.current_state.id = self.state
        return response

    async def _change(self, request, response):
        self.asked.append(request.transition.id)
        if len(self.asked) == 1:
            await Future(executor=self.executor)
        self.state += 1
        response.success = True
        return response


@pytest.fixture
def nodes(monkeypatch):
    monkeypatch.setattr(bringup, "Parameters", OfDeaf)
    monkeypatch.setattr(bringup, "PATIENCE", 0.3)
    deaf, leader = Deaf(), bringup.Bringup()
    executor = executor_of(deaf)
    executor.add_node(leader)
    leader.begin()
    yield deaf, leader, executor
    executor.shutdown()
    for node in (leader, deaf):
        node.destroy_node()


def test_who_does_not_answer_is_asked_again(nodes):
    deaf, leader, executor = nodes
    told, end = [], time.monotonic() + PATIENCE
    while told[-1:] != ["all nodes are active"]:
        assert time.monotonic() < end, told
        executor.spin_once(timeout_sec=0.02)
        if leader.health().message not in told[-1:]:
            told.append(leader.health().message)
    assert "configuring deaf: no answer; trying again" in told
    assert deaf.asked == [1, 1, 3]  # configure twice, activate
