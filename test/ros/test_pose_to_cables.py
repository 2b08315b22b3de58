"""The node that holds a plate, in this process: which samples of its two IMUs it ticks for."""

import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from soft_twin.errors import InputError
from soft_twin.robots.plate_models import PLATE_MODELS
from soft_twin_ros.conversions import joint_state, pose_message, vector_message
from soft_twin_ros.pose_to_cables import PoseToCables

DOWN = np.array([0.0, 0.0, -9.81])
PERIOD = 0.005  # [s] of samples, a quarter of that of ticks
PATIENCE = 60.0  # [s]
IMUS = ("gravity", "plate/gravity")


class Plate:
    """The node of a straight neck, two IMUs that talk to it, and who listens."""

    def __init__(self, node):
        self.node, self.names = node, node.robot.cable_names
        self._frames = dict(zip(IMUS, (self.node.base_frame, self.node.frame("plate_plate")), strict=True))
        self.client = rclpy.create_node("client", namespace=self.node.get_namespace())
        self.node.begin()
        self._executor, self.heard = SingleThreadedExecutor(), []
        for node in (self.node, self.client):
            self._executor.add_node(node)
        self._gravity = {topic: self.client.create_publisher(Vector3Stamped, topic, 10) for topic in IMUS}
        self._cables = self.client.create_publisher(JointState, "cables/state", 10)
        self.client.create_subscription(JointState, "cables/command", self.heard.append, 100)

    def say(self, *topics):
        """A sample of each of these IMUs, and the cables' state."""
        now = time.time()
        self._cables.publish(joint_state(now, self.names, np.zeros(3), np.full(3, 2.0)))
        for topic in topics:
            self._gravity[topic].publish(vector_message(now, self._frames[topic], DOWN))
        self.spin()

    def tell_cables(self, stamp, displacements, tensions):
        """The cables' state at that time, until the node has heard it."""
        before = self.node._cables
        self._cables.publish(joint_state(stamp, self.names, displacements, tensions))
        self.spin_until(lambda: self.node._cables is not before)

    def tell_gravity(self, stamp, topic, gravity):
        """A sample of that time, until the node has heard it."""
        samples = self.node._base if topic == "gravity" else self.node._plate
        before = samples.heard
        self._gravity[topic].publish(vector_message(stamp, self._frames[topic], gravity))
        self.spin_until(lambda: samples.heard != before)

    def spin_until(self, done):
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, self.node.health()
            self.spin()

    def spin(self):
        end = time.monotonic() + PERIOD
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.001)
            if self.node.has_work:
                self.node.work()

    def be_patient(self):
        """No IMU counts as silent, and no sample as too old, on the slowest of hosts."""
        values = {"silent_after": 60.0, "stale_after": 10.0}  # [s] the most there are
        self.node.set_parameters([Parameter(name, value=value) for name, value in values.items()])

    def choose(self, model):
        self.node.set_parameters([Parameter("model", value=model)])

    def say_until(self, done, *topics):
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, self.node.health()
            self.say(*topics)


@pytest.fixture
def plate(start_node):
    result = Plate(start_node(PoseToCables, robot="neck", model="pcc_chord"))
    yield result
    result.client.destroy_node()


def test_how_the_plate_shall_be_turned_is_told_where_the_twin_has_it(plate):
    aimed, client = [], plate.client
    client.create_subscription(PoseStamped, "twin/target", aimed.append, 10)
    ask = client.create_publisher(PoseStamped, "target", 1)
    turn = Rotation.from_rotvec([0.2, -0.1, 0.0])
    asked = pose_message(time.time(), plate.node.base_frame, np.zeros(3), turn.as_matrix())
    plate.say_until(ask.get_subscription_count, *IMUS)
    ask.publish(asked)

    def axis(pose):
        q = pose.pose.orientation
        return Rotation.from_quat([q.x, q.y, q.z, q.w]).apply([0.0, 0.0, 1.0])

    plate.say_until(lambda: aimed and np.abs(axis(aimed[-1]) - turn.apply([0.0, 0.0, 1.0])).max() < 1e-9, *IMUS)
    place = aimed[-1].pose.position
    assert np.hypot(place.x, place.y) < 0.05 and 0.08 < place.z < 0.15  # at the neck's top [m]


@pytest.mark.parametrize("lost", IMUS)
def test_an_imu_that_dies_between_two_ticks_leaves_the_other_one_ticking(plate, lost):
    plate.say_until(lambda: len(plate.heard) > 10, *IMUS)
    plate.say_until(lambda: both_wait_too_early(plate.node), *IMUS)
    other = next(topic for topic in IMUS if topic != lost)
    plate.say_until(lambda: "open loop: no gravity" in plate.node.health().message, other)
    before = len(plate.heard)
    plate.say_until(lambda: len(plate.heard) > before + 10, other)


def test_why_a_model_cannot_steer_is_told_until_another_one_is_asked_for(plate, monkeypatch):
    def broken(robot):
        raise InputError("it is broken")

    monkeypatch.setitem(PLATE_MODELS, "fem_table", broken)
    plate.say_until(lambda: plate.heard, *IMUS)
    plate.choose("fem_table")
    told = "the model 'fem_table' cannot be built: it is broken"
    plate.say_until(lambda: plate.node.health().message == told, *IMUS)
    plate.choose("pcc_chord")
    plate.say(*IMUS)
    assert "refusal" not in plate.node.health().values
    plate.choose("fem_table")
    plate.choose("pcc_arc")
    plate.say_until(lambda: plate.node._controller.model is plate.node._models.get("pcc_arc"), *IMUS)
    assert "refusal" not in plate.node.health().values, "of one that nobody asks for any more"


def test_cables_that_make_no_sense_are_told_as_long_as_they_are_heard(plate):
    plate.names = ["cable_1", "cable_2", "other"]
    plate.say_until(lambda: "cable_3" in plate.node.health().values.get("refusal", ""), *IMUS)
    plate.names = plate.node.robot.cable_names
    plate.say_until(lambda: "refusal" not in plate.node.health().values, *IMUS)


@pytest.mark.parametrize("late", [IMUS, ("plate/gravity",), ("gravity",)])
def test_what_is_seen_late_is_taken_with_what_was_measured_at_its_own_time(plate, monkeypatch, late):
    """An IMU's node that was halted tells what was before the motors let go, and before the base turned."""
    told, now, lying = what_the_holder_is_told(plate, monkeypatch), time.time(), np.array([9.81, 0.0, 0.0])
    then = now - 0.4
    for stamp, pulled, tension in ((then, 0.004, 20.0), (now, 0.0, 0.0)):
        plate.tell_cables(stamp, np.full(3, pulled), np.full(3, tension))
    for topic in set(IMUS) - set(late):
        plate.tell_gravity(then, topic, DOWN)
        plate.tell_gravity(now, topic, lying)
    for topic in late:
        plate.tell_gravity(then, topic, DOWN)
    plate.spin_until(lambda: told and told[-1].base is not None and told[-1].plate is not None)
    measured = told[-1]
    np.testing.assert_array_equal([measured.base, measured.plate], [DOWN, DOWN])
    assert (measured.tensions[0], measured.displacements[0], measured.newest[0]) == (20.0, 0.004, 0.0)


def test_between_two_samples_gravity_of_a_base_that_turns_was_between_them(plate, monkeypatch):
    """A base that turns by 30° a second does so by 1.5° from sample to sample where these come every 50 ms."""
    told, now, rate = what_the_holder_is_told(plate, monkeypatch), time.time(), np.radians(30.0)

    def at(stamp):
        turned = rate * (stamp - now)
        return 9.81 * np.array([np.sin(turned), 0.0, -np.cos(turned)])

    for stamp, topic in ((now, "gravity"), (now + 0.05, "gravity"), (now + 0.025, "plate/gravity")):
        plate.tell_gravity(stamp, topic, at(stamp))
    np.testing.assert_allclose(told[-1].base, told[-1].plate, atol=2e-3)


def test_cables_of_another_time_than_gravity_are_no_measurement_and_are_told(plate):
    now = time.time()
    plate.be_patient()
    plate.tell_cables(now - 100.0, np.zeros(3), np.full(3, 2.0))
    for topic in IMUS:
        plate.tell_gravity(now, topic, DOWN)
    told = "cables/state: none was stamped when gravity was, the last -100.00 s from it"
    assert plate.node.health().values["refusal"] == told
    plate.say_until(lambda: "refusal" not in plate.node.health().values, *IMUS)


def what_the_holder_is_told(plate, monkeypatch):
    """What it is told from now on, while no sample counts as too old."""
    told, holder = [], plate.node._holder
    update = holder.update
    monkeypatch.setattr(holder, "update", lambda measured, dt: told.append(measured) or update(measured, dt))
    plate.be_patient()
    return told


def both_wait_too_early(node):
    """Whether samples of both are there, and the next tick is not due."""
    return node._base.waiting is not None and node._plate.waiting is not None and not node.has_work
