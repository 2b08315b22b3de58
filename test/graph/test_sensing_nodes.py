"""The nodes of sensing over real DDS: calibration by hand, inclinations of struts whose IMUs come and go."""

import os

import numpy as np
import pytest

pytest.importorskip("rclpy")

from sensor_msgs.msg import Imu
from soft_twin_msgs.msg import Inclinations
from std_srvs.srv import Trigger

from soft_twin import load_robot
from soft_twin.sensing.imu_calibration import read_calibration
from soft_twin.sensing.samples import ImuSample
from soft_twin_ros.conversions import imu_message
from soft_twin_ros.running.graph import NodeSpec
from soft_twin_ros.running.processes import Processes

FACES = 9.81 * np.vstack([np.eye(3), -np.eye(3)])
OFFSET = np.array([0.2, -0.1, 0.15])


@pytest.fixture
def start(tmp_path):
    """Function that starts one node of a robot in a process of its own."""
    processes = Processes(tmp_path, os.environ)

    def run(executable, robot, **parameters):
        processes.start(NodeSpec(executable, executable, robot, {"robot": robot, **parameters}))

    yield run
    processes.stop()


class Talker:
    """Publishes resting IMU samples on a topic."""

    def __init__(self, listener, topic):
        self._publisher = listener.node.create_publisher(Imu, topic, 10)
        self._listener = listener
        self._random = np.random.default_rng(0)

    def say(self, force):
        now = self._listener.node.get_clock().now().nanoseconds * 1e-9
        rates, noise = 1e-3 * self._random.standard_normal(3), 0.02 * self._random.standard_normal(3)
        self._publisher.publish(imu_message(ImuSample(now, rates, force + noise, np.nan), "imu_link"))


def test_accelerometer_is_calibrated_by_six_calls(listener, start, tmp_path):
    path = tmp_path / "imu.yaml"
    start("imu_to_gravity", "slender", calibration=str(path))
    talker = Talker(listener, "imu/data_raw")
    listener.wait_for(lambda: (talker.say(FACES[4]), listener.heard["gravity"])[1])
    answers = []
    for force in FACES:
        for _ in range(120):
            talker.say(force + OFFSET)
            listener.spin(0.01)
        answers.append(listener.call(Trigger, "calibrate_accelerometer", Trigger.Request()))
    assert all(answer.success for answer in answers), [answer.message for answer in answers]
    assert "accelerometer calibrated" in answers[-1].message
    np.testing.assert_allclose(read_calibration(path).imu.accelerometer_offset, OFFSET, atol=0.02)


def test_without_a_file_the_service_says_what_is_missing(listener, start):
    start("imu_to_gravity", "slender")
    answer = listener.call(Trigger, "calibrate_mounting", Trigger.Request())
    assert not answer.success
    assert "calibration:=FILE.yaml" in answer.message


def test_struts_are_measured_and_missing_ones_named(listener_class, start):
    arm = load_robot("tm40")
    listener = listener_class(arm.name)
    heard = []
    listener.node.create_subscription(Inclinations, "struts/inclination", heard.append, 10)
    start("imus_to_inclinations", arm.name)
    names = [f"strut_{i}" for i in range(arm.structure.strut_count)]
    talkers = {name: Talker(listener, f"struts/{name}/imu") for name in names[:-1]}
    angle = np.radians(40.0)
    force = 9.81 * np.array([np.cos(angle), 0.0, np.sin(angle)])

    def measured():
        for talker in talkers.values():
            talker.say(force)
        return heard and np.isfinite(heard[-1].angles).sum() == len(names) - 1

    listener.wait_for(measured)
    assert list(heard[-1].names) == names
    np.testing.assert_allclose(heard[-1].angles[:-1], angle, atol=0.02)
    assert np.isnan(heard[-1].angles[-1])
    listener.wait_for(lambda: (measured(), listener.says("imus_to_inclinations", f"not measured: {names[-1]}"))[1])
    listener.close()
