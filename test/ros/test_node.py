import time

import pytest
import rclpy
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Empty

from soft_twin.errors import UsageError
from soft_twin_ros.node import ERROR, LOGGED_AGAIN, OK, WARN, Health, RobotNode, start_ros
from soft_twin_ros.qos import COMMAND

TURNS = 100  # within which a node hears itself


class Interrupted:
    """After so many turns."""

    def __init__(self):
        self._left = TURNS

    def check(self):
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


class Deactivated(RobotNode):
    """Hears that it shall rest after it has found work, and before it does it."""

    def __init__(self):
        Node.__init__(self, "deactivated")
        self.waiting, self.rests, self.worked = False, 0, 0
        self._beats = self.offer(Empty, "beat", COMMAND)
        self.listen(Empty, "beat", self._take, COMMAND)
        self.create_timer(0.01, lambda: self._beats.publish(Empty()))

    def destroy_node(self):
        Node.destroy_node(self)

    @property
    def has_work(self):
        return self.waiting

    def work(self):
        assert self.waiting
        self.worked, self.waiting = self.worked + 1, False

    def _take(self, message):
        self.waiting = True
        if self.worked:
            self.executor.create_task(self._rest)

    def _rest(self):
        self.waiting, self.rests = False, self.rests + 1


def test_a_node_that_is_deactivated_before_it_works_does_not_work():
    node = Deactivated()
    with pytest.raises(KeyboardInterrupt):
        node.spin(Interrupted())
    assert node.worked >= 1 and node.rests > 1
    node.destroy_node()


@pytest.mark.parametrize("kind", [SetParameters, SetParametersAtomically])
def test_a_value_of_no_type_is_refused_and_ends_no_node(kind):
    node, client, executor = Deactivated(), rclpy.create_node("client"), SingleThreadedExecutor()
    for each in (node, client):
        executor.add_node(each)
    name = "set_parameters" if kind is SetParameters else "set_parameters_atomically"
    caller = client.create_client(kind, f"/deactivated/{name}")
    assert caller.wait_for_service(30.0)
    wrong = Parameter(name="rate", value=ParameterValue(type=217))
    answer = caller.call_async(kind.Request(parameters=[wrong, wrong]))
    end = time.monotonic() + 30.0
    while not answer.done() and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    results = answer.result().results if kind is SetParameters else [answer.result().result]
    assert len(results) == (2 if kind is SetParameters else 1)
    assert not any(result.successful for result in results) and results[0].reason.startswith("rate: 217")
    for each in (client, node):
        each.destroy_node()


class Told(RobotNode):
    """Only what it logs, at a time that a test sets."""

    def __init__(self):
        self._logged, self._logged_level = {}, OK

    def logs(self, now, level, text):
        return self._is_news((level, text), now)


def test_what_comes_and_goes_is_logged_now_and_then():
    node = Told()
    flips = [node.logs(0.1 * k, OK, ("hold", "active")[k % 2]) for k in range(200)]
    assert sum(flips) == 4 and flips[:2] == [True, True]
    assert node.logs(20.0 + LOGGED_AGAIN, WARN, "slow") and not node.logs(20.1 + LOGGED_AGAIN, WARN, "slow")


def test_errors_and_their_ends_are_always_logged():
    node = Told()
    for now in (0.0, 0.1, 0.2):
        assert node.logs(now, OK, "active") and node.logs(now + 0.05, ERROR, "stuck")


def test_a_message_in_which_only_numbers_change_is_no_news(monkeypatch):
    node, published = Told(), []
    node._told, node._next_telling = None, 0.0
    monkeypatch.setattr(node, "steady_now", lambda: 0.0)
    monkeypatch.setattr(node, "_log", lambda health: None)
    monkeypatch.setattr(node, "_publish_health", published.append)
    for told in ("tip at [nan, -1.7e-07, 0.2]", "tip at [nan, 0.003, 0.2]", "tip at [nan, 2.0, -1e+20]", "tip lost"):
        monkeypatch.setattr(node, "health", lambda told=told: Health(WARN, told))
        node._tell_health()
    assert [health.message for health in published] == ["tip at [nan, -1.7e-07, 0.2]", "tip lost"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--params-file", "nowhere.yaml"],
            "params file: '--params-file nowhere.yaml'. Error: Error opening YAML file",
        ),
        (["-r", "__ns:=left"], "remap rule: '-r __ns:=left'"),
        (["--enable-everything"], "unknown arguments ['--enable-everything']"),
    ],
)
def test_what_ros_cannot_start_with_is_told_in_one_line(words, told):
    with pytest.raises(UsageError) as refused:
        start_ros(["--ros-args", *words], Context())
    assert str(refused.value).startswith("ROS cannot start: ") and told in str(refused.value)
    assert "\n" not in str(refused.value) and ".c:" not in str(refused.value)


def test_an_override_that_is_no_quality_of_service_is_told_with_its_topic(start_node):
    node = start_node(Deactivated, **{"qos_overrides./words.publisher.reliability": "relible"})
    with pytest.raises(UsageError, match="topic words: Unexpected QoS override for policy `reliability`: `relible`"):
        node.offer(Empty, "words")
