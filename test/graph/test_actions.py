"""Actions of a robot in one graph over real DDS: they tell how they go, can be cancelled and overtaken, and end with a
stop; beside them what the same nodes say of the robot's frames."""

import importlib.util
import os
from xml.etree import ElementTree

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Transform, Twist, Vector3
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from soft_twin_msgs.action import CalibrateRelease, FindZero, Follow, MoveTo
from soft_twin_msgs.srv import SetTarget
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

from soft_twin.recording.simulated import SimulatedRecording
from soft_twin_ros.qos import CALLS, LATCHED, NEWEST
from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes

pytestmark = pytest.mark.alone
HERE, ASIDE = [0.0, 0.0, 0.1], [0.01, 0.0, 0.098]
DONE, CANCELLED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED


class Actions:
    """A robot's actions, and what they tell."""

    KINDS = {
        "home": FindZero,
        "take_up_slack": FindZero,
        "move_to": MoveTo,
        "follow": Follow,
        "calibrate": CalibrateRelease,
    }

    def __init__(self, listener):
        self.listener = listener
        deep = {"goal_service_qos_profile": CALLS, "result_service_qos_profile": CALLS}
        self._clients = {name: ActionClient(listener.node, kind, name, **deep) for name, kind in self.KINDS.items()}
        for client in self._clients.values():
            listener.wait_for(client.server_is_ready)

    def send(self, name, goal=None):
        return Sent(self.listener, self._clients[name], self.KINDS[name].Goal() if goal is None else goal)

    def send_at_once(self, name, goal):
        """As `send`, without waiting for whether it is accepted; what will say so."""
        return self._clients[name].send_goal_async(goal)

    def aimed_at(self):
        place = self.listener.heard["solver/status"][-1].target.position
        return [place.x, place.y, place.z]


class Sent:
    """A goal, and what is told of it."""

    def __init__(self, listener, client, goal):
        self._listener, self.told = listener, []
        sent = client.send_goal_async(goal, lambda message: self.told.append(message.feedback))
        listener.wait_for(sent.done)
        self.goal = sent.result()
        self._result = self.goal.get_result_async()

    @property
    def over(self):
        return self._result.done()

    def cancel(self):
        answer = self.goal.cancel_goal_async()
        self._listener.wait_for(answer.done)

    def ended(self):
        """Its status at the end, and its result."""
        self._listener.wait_for(self._result.done)
        return self._result.result().status, self._result.result().result


def move_to(place, **said):
    goal = MoveTo.Goal(**said)
    goal.target.pose.position.x, goal.target.pose.position.y, goal.target.pose.position.z = place
    return goal


def through(place, velocity):
    """A goal of `follow`: a place in a second, with that velocity there [m/s]."""
    x, y, z = place
    point = MultiDOFJointTrajectoryPoint(transforms=[Transform(translation=Vector3(x=x, y=y, z=z))])
    point.velocities, point.time_from_start = [Twist(linear=Vector3(x=velocity))], Duration(sec=1)
    goal = Follow.Goal()
    goal.poses.points.append(point)
    return goal


def away(result, place):
    """How far what was reached is from a place [m]."""
    reached = result.reached.position
    return np.linalg.norm(np.array([reached.x, reached.y, reached.z]) - place)


@pytest.fixture(scope="module")
def actions(slender, listener_class, board_class, motors_class, tmp_path_factory):
    board, motors, listener = board_class(), motors_class(slender), listener_class(slender.name)
    processes = Processes(tmp_path_factory.mktemp("actions"), os.environ)
    for node in graph(slender, devices=Devices(board.port.path, motors.bus.port.path)):
        processes.start(node)
    listener.wait_for_motors()
    listener.wait_for(lambda: listener.heard["solver/status"])
    yield Actions(listener)
    listener.close()
    processes.stop()
    motors.unplug()
    board.close()


def test_a_tip_is_moved_and_told_how_far_it_is(actions):
    sent = actions.send("move_to", move_to(ASIDE, duration=0.5))
    status, result = sent.ended()
    assert (status, result.success) == (DONE, True), result.message
    assert result.error < 1e-3 and result.reached.position.x == pytest.approx(0.01, abs=1e-3)
    progress = [told.progress for told in sent.told]
    assert progress == sorted(progress) and progress[-1] > 0.0
    actions.listener.wait_for(lambda: actions.aimed_at() == pytest.approx(ASIDE))  # it may be heard after the result


def test_what_is_cancelled_holds_what_was_aimed_at_last(actions):
    sent = actions.send("move_to", move_to(HERE, duration=600.0))
    actions.listener.wait_for(lambda: sent.told)
    sent.cancel()
    status, result = sent.ended()
    assert (status, result.success) == (CANCELLED, False) and "held" in result.message
    assert result.error == pytest.approx(away(result, HERE), abs=1e-6) and result.error > 5e-3  # of the goal's target
    actions.listener.heard["solver/status"].clear()
    actions.listener.wait_for(lambda: len(actions.listener.heard["solver/status"]) > 5)
    places = {message.target.position.x for message in actions.listener.heard["solver/status"]}
    assert len(places) == 1 and 0.009 < places.pop() <= 0.01


def test_a_calibration_beside_the_control_can_be_cancelled_and_says_what_is_missing(actions, slender, tmp_path):
    goal = CalibrateRelease.Goal(recording=str(tmp_path / "release.mcap"), simulations=100)
    status, result = actions.send("calibrate", goal).ended()
    assert (status, result.success) == (ABORTED, False) and "no such file" in result.message
    with SimulatedRecording(tmp_path / "release.mcap", slender) as recording:
        for step in range(301):
            recording.pose("tip/pose", 0.01 * step, np.array([0.0, -1e-4 * step, 0.1]), np.array([0.0, 0.0, 1.0]))
            recording.vector("gravity", 0.01 * step, np.array([0.0, -9.81, 0.0]))
    sent = actions.send("calibrate", goal)
    actions.listener.heard["solver/status"].clear()
    actions.listener.wait_for(lambda: sent.told and len(actions.listener.heard["solver/status"]) > 5)
    sent.cancel()
    status, result = sent.ended()
    assert (status, result.success) == (CANCELLED, False) and not result.names


def test_a_goal_or_a_target_that_comes_later_takes_the_place_of_the_one_before(actions):
    first = actions.send("move_to", move_to(HERE, duration=600.0))
    second = actions.send("move_to", move_to(HERE, speed=0.05))
    status, result = first.ended()
    assert (status, result.success) == (ABORTED, False) and "overtaken" in result.message
    assert result.error == pytest.approx(away(result, HERE), abs=1e-6)
    assert second.ended()[0] == DONE
    third = actions.send("move_to", move_to(ASIDE, duration=600.0))
    request = SetTarget.Request()
    request.target.pose.position.z = 0.1
    assert actions.listener.call(SetTarget, "set_target", request).success
    result = third.ended()[1]
    assert "another target" in result.message and result.error == pytest.approx(away(result, ASIDE), abs=1e-6)
    assert result.error > 5e-3


def test_many_goals_at_once_are_all_answered(actions):
    sent = [actions.send_at_once("move_to", move_to(HERE, duration=1.0)) for _ in range(40)]
    actions.listener.wait_for(lambda: all(answer.done() for answer in sent))
    results = [answer.result().get_result_async() for answer in sent]
    actions.listener.wait_for(lambda: all(result.done() for result in results))
    assert [result.result().result.success for result in results].count(True) == 1


def test_poses_and_actuations_are_followed(actions):
    goal = Follow.Goal(tolerance=2e-3)
    for milliseconds, (x, y, z) in ((300, ASIDE), (600, HERE)):
        point = MultiDOFJointTrajectoryPoint(transforms=[Transform(translation=Vector3(x=x, y=y, z=z))])
        point.time_from_start = Duration(nanosec=milliseconds * 1_000_000)
        goal.poses.points.append(point)
    status, result = actions.send("follow", goal).ended()
    assert (status, result.success) == (DONE, True), result.message
    actions.listener.wait_for(lambda: actions.aimed_at() == pytest.approx(HERE))

    goal = Follow.Goal()
    goal.actuation.joint_names = [f"cable_{i}" for i in range(6, 0, -1)]
    values = [0.0, 0.0, 0.0, 0.0, 0.0, 0.002]  # the first cable's comes last
    goal.actuation.points = [JointTrajectoryPoint(positions=values, time_from_start=Duration(nanosec=300_000_000))]
    status, result = actions.send("follow", goal).ended()
    assert (status, result.success) == (DONE, True), result.message
    commands = actions.listener.heard["cables/command"]
    first_wound = pytest.approx([0.002, 0.0, 0.0, 0.0, 0.0, 0.0])
    actions.listener.wait_for(lambda: list(commands[-1].position) == first_wound)  # it may come after the result
    actions.listener.wait_for(lambda: np.isnan(actions.aimed_at()).all())
    assert actions.send("move_to", move_to(HERE, duration=0.5)).ended()[0] == DONE


@pytest.mark.parametrize(
    ("name", "goal", "reason"),
    [
        ("move_to", move_to([0.0, 0.0, 98.0], duration=1.0), "is it in metres"),
        ("move_to", move_to(HERE), "expected one of the two above 0"),
        ("move_to", move_to(HERE, duration=1.0, frame="nail"), "there is no frame 'nail'"),
        ("move_to", move_to(HERE, duration=1.0, tolerance=-1.0), "tolerance -1 m"),
        ("follow", Follow.Goal(), "one of the two"),
        ("follow", through(HERE, 20.0), "velocities lead it too far"),
        ("follow", through(HERE, np.nan), "expected finite ones"),
    ],
)
def test_a_goal_that_cannot_be_ends_with_the_reason(actions, name, goal, reason):
    status, result = actions.send(name, goal).ended()
    assert (status, result.success) == (ABORTED, False) and reason in result.message


def test_free_actuators_are_led_nowhere(actions):
    assert actions.listener.call(SetBool, "compensate", SetBool.Request(data=False)).success
    assert "the actuators are free" in actions.send("move_to", move_to(HERE, duration=1.0)).ended()[1].message
    assert actions.listener.call(SetBool, "compensate", SetBool.Request(data=True)).success


def test_a_node_that_is_not_active_says_so(actions):
    def led(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        assert actions.listener.call(ChangeState, "gravity_to_cables/change_state", request).success

    moving = actions.send("move_to", move_to(ASIDE, duration=600.0))
    actions.listener.wait_for(lambda: moving.told)
    led(Transition.TRANSITION_DEACTIVATE)
    for status, result in (moving.ended(), actions.send("move_to", move_to(HERE, duration=1.0)).ended()):
        assert (status, result.success) == (ABORTED, False) and "not active" in result.message
    led(Transition.TRANSITION_ACTIVATE)
    actions.listener.wait_for(
        lambda: actions.send("move_to", move_to(HERE, duration=0.5)).ended()[0] == DONE  # once something is solved
    )


def test_motors_are_homed_and_winding_in_can_be_cancelled(actions):
    status, result = actions.send("home").ended()
    assert (status, result.success) == (DONE, True), result.message

    def wound_and_cancelled():
        """A busy machine may keep the motors from being heard, which interrupts winding; then once more."""
        winding = actions.send("take_up_slack")
        actions.listener.wait_for(lambda: winding.told or winding.over)
        if winding.told and winding.told[-1].state == "homing":
            assert list(winding.told[-1].names) == [f"cable_{i}" for i in range(1, 7)]
            assert len(winding.told[-1].coordinates) == 6
            refused = actions.send("home").ended()[1].message  # and so the winding goes on
            assert "homing" in refused or winding.over
        winding.cancel()
        status, result = winding.ended()
        assert not result.success and ("position unknown" in result.message or "overtaken" in result.message)
        return status == CANCELLED

    actions.listener.wait_for(wound_and_cancelled)


def test_a_stop_ends_a_motion_with_the_reason(actions):
    moving = actions.send("move_to", move_to(ASIDE, duration=600.0))
    actions.listener.wait_for(lambda: moving.told)
    assert actions.listener.call(Trigger, "stop", Trigger.Request()).success
    status, result = moving.ended()
    assert (status, result.success) == (ABORTED, False) and "stopped" in result.message
    assert "clear the stop" in actions.send("move_to", move_to(HERE, duration=1.0)).ended()[1].message
    assert actions.listener.call(Trigger, "clear_stop", Trigger.Request()).success
    actions.listener.wait_for(  # the solver hears it from the driver, perhaps after whom it has answered
        lambda: actions.send("move_to", move_to(HERE, duration=0.5)).ended()[0] == DONE
    )


@pytest.fixture(scope="module")
def urdf(actions):
    """What the nodes say that the robot's is."""
    heard = []
    actions.listener.node.create_subscription(String, "robot_description", heard.append, LATCHED)
    actions.listener.wait_for(lambda: heard)
    return ElementTree.fromstring(heard[0].data)


class System:
    """What a system of ros2_control does at its topics, as its tag in the URDF says: it writes the command interfaces
    of its joints in each cycle, and reads the state of each joint by its name."""

    def __init__(self, tag, node):
        topics = {each.get("name"): each.text for each in tag.find("hardware").findall("param")}
        self._joints = {joint.get("name"): joint for joint in tag.findall("joint")}
        self._node, self.commands, self.positions = node, dict.fromkeys(self._joints, 0.0), {}
        self._publisher = node.create_publisher(JointState, topics["joint_commands_topic"], 1)
        node.create_subscription(JointState, topics["joint_states_topic"], self._read, NEWEST)

    def _read(self, message):
        for i, name in enumerate(message.name):
            self.positions[name] = message.position[i]

    def write(self):
        message = JointState(name=list(self._joints))
        message.header.stamp = self._node.get_clock().now().to_msg()
        for name, joint in self._joints.items():
            assert [each.get("name") for each in joint.findall("command_interface")] == ["position"]
            message.position.append(self.commands[name])
        self._publisher.publish(message)


def test_a_system_of_ros2_control_drives_the_cables_that_its_urdf_names(actions, urdf):
    listener = actions.listener
    (tag,) = urdf.findall("ros2_control")
    system = System(tag, listener.node)
    assert listener.call(SetBool, "compensate", SetBool.Request(data=False)).success  # one of the two commands
    system.commands["cable_2"] = 1e-3

    def follows():
        """A busy machine may have kept the motors from being heard; then they want to be homed."""
        system.write()
        if listener.state("cables_to_motors") != "active":
            listener.enable()
        return abs(system.positions["cable_2"] - 1e-3) < 2e-4 and abs(system.positions["cable_1"]) < 2e-4

    listener.wait_for(lambda: len(system.positions) == 6)
    listener.wait_for(follows)
    assert listener.call(SetBool, "enable", SetBool.Request(data=False)).success
    assert listener.call(SetBool, "compensate", SetBool.Request(data=True)).success


def test_the_same_nodes_tell_the_robots_links(actions, urdf):
    links = {link.get("name") for link in urdf.findall("link")}
    assert "tip_link" in links
    if importlib.util.find_spec("tf2_msgs") is None:
        pytest.skip("tf2_msgs is not installed: no transforms")
    from tf2_msgs.msg import TFMessage

    told = {}
    for topic, qos in (("/tf", 10), ("/tf_static", LATCHED)):
        actions.listener.node.create_subscription(
            TFMessage, topic, lambda m: told.update({each.child_frame_id: each for each in m.transforms}), qos
        )
    actions.listener.wait_for(lambda: {f"slender/{link}" for link in links} <= told.keys())
    base = told["slender/base_link"]
    assert base.header.frame_id == "world" and abs(base.transform.rotation.w) > 0.99
