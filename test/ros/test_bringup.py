"""Nodes are brought up through whatever states they are in, asked again when they do not answer, and watched."""

import time
from dataclasses import dataclass

import pytest
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from soft_twin_ros import bringup
from soft_twin_ros.executor import executor_of
from soft_twin_ros.parameters import parameter

PATIENCE = 20.0  # [s]
CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4
UP = "all nodes are active"


@dataclass(frozen=True)
class OfOne(bringup.Parameters):
    nodes: tuple = parameter(("led",), "names of the nodes")


class Led(Node):
    """A managed node whose state anybody can set; the first `deaf` changes that it is asked for, it never answers."""

    def __init__(self):
        super().__init__("led")
        self.state, self.asked, self.deaf, self.refuses = State.PRIMARY_STATE_UNCONFIGURED, [], 0, ()
        group = ReentrantCallbackGroup()  # who waits for ever in one call goes on hearing the others
        self.create_service(GetState, "led/get_state", self._tell, callback_group=group)
        self.create_service(ChangeState, "led/change_state", self._change, callback_group=group)

    def _tell(self, request, response):
        response.current_state.id = self.state
        return response

    async def _change(self, request, response):
        self.asked.append(request.transition.id)
        if len(self.asked) <= self.deaf:
            await Future(executor=self.executor)
        response.success = request.transition.id not in self.refuses
        if response.success:
            self.state += {CONFIGURE: 1, ACTIVATE: 1, DEACTIVATE: -1, CLEANUP: -1}[request.transition.id]
        return response


class Stage:
    """A node that is led, and the one that leads it."""

    def __init__(self):
        self.led, self.leader = Led(), bringup.Bringup()
        self._executor = executor_of(self.led)
        self._executor.add_node(self.leader)
        self.told = []

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.told
            self._executor.spin_once(timeout_sec=0.02)
            if self.leader.health().message not in self.told[-1:]:
                self.told.append(self.leader.health().message)

    def until_told(self, text):
        self.until(lambda: self.told and text in self.told[-1])

    def for_some_looks(self):
        """Time for nodes to be looked at a few times."""
        end = time.monotonic() + 6.0 * bringup.WATCH_PERIOD
        self.until(lambda: time.monotonic() > end)

    def close(self):
        self._executor.shutdown()
        for node in (self.leader, self.led):
            node.destroy_node()


@pytest.fixture
def stage(monkeypatch):
    monkeypatch.setattr(bringup, "Parameters", OfOne)
    for name, value in (("PATIENCE", 0.3), ("WATCH_PERIOD", 0.05), ("RETRY_PERIOD", 0.05)):
        monkeypatch.setattr(bringup, name, value)
    stage = Stage()
    yield stage
    stage.close()


@pytest.fixture
def up(stage):
    stage.leader.begin()
    stage.until_told(UP)
    stage.led.asked.clear()
    return stage


def test_who_does_not_answer_is_asked_again(stage):
    stage.led.deaf = 1
    stage.leader.begin()
    stage.until_told(UP)
    assert "configuring led: no answer; trying again" in stage.told
    assert stage.led.asked == [CONFIGURE, CONFIGURE, ACTIVATE]


@pytest.mark.parametrize("passing", [State.TRANSITION_STATE_CONFIGURING, State.TRANSITION_STATE_ERRORPROCESSING])
def test_a_node_in_a_transition_is_waited_for(stage, passing):
    stage.led.state = passing
    stage.leader.begin()
    stage.until_told("waiting for led, which is in a transition")
    stage.for_some_looks()
    assert UP not in stage.told
    stage.led.state = State.PRIMARY_STATE_INACTIVE
    stage.until_told(UP)
    assert stage.led.asked == [ACTIVATE]


def test_a_node_that_is_finalized_is_told_with_the_remedy_and_its_successor_brought_up(stage):
    stage.led.state = State.PRIMARY_STATE_FINALIZED
    stage.leader.begin()
    stage.until_told("led is finalized: nothing but a new start brings it up, end its process")
    assert stage.leader.health().level == bringup.ERROR
    stage.led.state = State.PRIMARY_STATE_UNCONFIGURED
    stage.until_told(UP)


def test_a_node_that_starts_anew_is_brought_up_again(up):
    """As one that launch has started again, or a driver that has lost its device and found it."""
    up.led.refuses = (ACTIVATE,)
    up.led.state = State.PRIMARY_STATE_UNCONFIGURED
    up.until_told("activating led: refused, its diagnostics say why; trying again")
    up.for_some_looks()  # what is inactive by a refusal has not been deactivated by anybody
    up.led.refuses = ()
    up.until_told(UP)
    assert up.led.asked[:2] == [CONFIGURE, ACTIVATE] and up.led.state == State.PRIMARY_STATE_ACTIVE


def test_what_somebody_has_deactivated_stays_so_until_it_is_asked_for(up):
    for up.led.state in (State.PRIMARY_STATE_INACTIVE, State.PRIMARY_STATE_UNCONFIGURED):
        up.until_told("led has been deactivated: `bring_up` activates it again")
        up.for_some_looks()
    assert up.led.asked == []
    up.leader._bring_up(None, Trigger.Response())
    up.until_told(UP)
    assert up.led.asked == [CONFIGURE, ACTIVATE]


def test_what_has_been_taken_down_is_not_brought_up_again(up):
    up.leader._take_down(None, Trigger.Response())
    up.until_told("all nodes are unconfigured")
    up.for_some_looks()
    assert up.led.asked == [DEACTIVATE, CLEANUP] and up.told[-1] == "all nodes are unconfigured"
