"""The solver's node in this process: gravity looked ahead by the rates that the base turns with."""

import subprocess
import sys
import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import Vector3Stamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState

from soft_twin_ros.conversions import header, to_vector, vector_message
from soft_twin_ros.gravity_to_actuators import UPRIGHT, GravityToActuators

PATIENCE = 60.0  # [s]


class Loop:
    """The node, and somebody who talks to it and listens."""

    def __init__(self):
        self.node, self._client = GravityToActuators(), rclpy.create_node("client")
        self.node.begin()
        self._executor, self._heard = SingleThreadedExecutor(), []
        for node in (self.node, self._client):
            self._executor.add_node(node)
        self._gravity = self._client.create_publisher(Vector3Stamped, "gravity", 10)
        self._imu = self._client.create_publisher(Imu, "imu/data", 10)
        self._client.create_subscription(JointState, "cables/command", self._heard.append, 10)

    def command(self, rates):
        """Displacements [mm] under upright gravity, of a base that says it turns with these rates."""
        before, end = len(self._heard), time.monotonic() + PATIENCE
        while len(self._heard) == before:
            assert time.monotonic() < end
            stamp = time.time()
            self._imu.publish(Imu(header=header(stamp, "base_link"), angular_velocity=to_vector(rates)))
            self._spin(0.02)
            self._gravity.publish(vector_message(stamp + 0.001, "base_link", UPRIGHT))
            self._spin(0.02)
        return 1e3 * np.array(self._heard[-1].position)

    def _spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.005)
            if self.node.has_work:
                self.node.work()

    def close(self):
        self.node.close()
        for node in (self._client, self.node):
            node.destroy_node()


@pytest.fixture
def loop():
    result = Loop()
    yield result
    result.close()


def test_gravity_is_looked_ahead_where_it_is_asked_for(loop):
    turning = [2.0, 0.0, 0.0]
    for _ in range(5):
        upright = loop.command(turning)
    assert np.ptp(upright[:3]) < 1e-3  # as measured, straight up
    (answer,) = loop.node.set_parameters([Parameter("lead", value=0.3)])
    assert answer.successful
    for _ in range(5):
        ahead = loop.command(turning)
    assert np.ptp(ahead[:3]) > 0.2  # tilted by 0.6 rad
    for _ in range(5):
        still = loop.command([0.0, 0.0, 0.0])
    np.testing.assert_allclose(still, upright, atol=1e-3)


def test_mechanics_that_are_not_known_are_named():
    command = [sys.executable, "-m", "soft_twin_ros.gravity_to_actuators", "--ros-args", "-p", "twin:=mujoco"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 2 and "parameter twin: 'mujoco' is none of fem, sofa" in result.stderr
