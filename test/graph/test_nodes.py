"""Nodes in processes of their own, over real DDS, on devices that are emulated here."""

import os
import time

import numpy as np
from geometry_msgs.msg import Vector3Stamped
from std_srvs.srv import SetBool, Trigger

from soft_twin import load_robot
from soft_twin_ros.conversions import joint_state, vector_message
from soft_twin_ros.running.graph import Devices, NodeSpec, graph
from soft_twin_ros.running.health import DRIVERS
from soft_twin_ros.running.processes import Processes

UPRIGHT = np.array([0.0, 0.0, -9.81])


class Stumbling(NodeSpec):
    """The IMU's node on a board whose third sample nothing is prepared for."""

    CODE = (
        "import sys; from soft_twin_ros import imu_to_gravity as node; reading, count = node.ImuBoard.read, [0]\n"
        "def read(board, timeout):\n"
        "    count[0] += 1\n"
        "    if count[0] == 3: raise ZeroDivisionError('unheard of')\n"
        "    return reading(board, timeout)\n"
        "node.ImuBoard.read = read; sys.exit(node.main())"
    )

    def command(self):
        python, _, _, *words = super().command()
        return [python, "-c", self.CODE, *words]


def test_whatever_goes_wrong_with_a_sample_is_told_and_gravity_comes_back(slender, board, listener, tmp_path):
    (spec,) = (each for each in graph(slender, devices=Devices(board.port.path)) if each.name == "imu_to_gravity")
    processes = Processes(tmp_path, os.environ)
    try:
        processes.start(Stumbling(spec.executable, spec.name, spec.namespace, spec.parameters | {"reopen_period": 2.0}))
        listener.wait_for(lambda: listener.says("imu_to_gravity", "ZeroDivisionError: unheard of"))
        listener.heard["gravity"].clear()
        listener.wait_for(lambda: len(listener.heard["gravity"]) > 5)
    finally:
        processes.stop()


def test_stale_and_unusable_gravity_never_reaches_the_cables(start, listener):
    start("gravity_to_cables")
    listener.wait_for(lambda: "gravity_to_cables" in listener.health)
    publisher = listener.node.create_publisher(Vector3Stamped, "gravity", 10)
    listener.wait_for(publisher.get_subscription_count)

    def is_refused(age, frame, gravity, reason):
        """Said again until it is heard: best effort may lose the first messages."""
        publisher.publish(vector_message(time.time() - age, frame, gravity))
        return listener.says("gravity_to_cables", reason)

    listener.wait_for(lambda: is_refused(10.0, "base_link", UPRIGHT, "stamped 10.0"))
    listener.wait_for(lambda: is_refused(0.0, "base_link", [np.nan, 0.0, -9.81], "nan"))
    listener.wait_for(lambda: is_refused(0.0, "camera", UPRIGHT, "camera"))
    assert not listener.heard["cables/command"]


def test_motors_follow_commands_when_enabled_and_are_limp_after_a_lost_adapter(start, motors, listener, slender):
    from sensor_msgs.msg import JointState

    start("cables_to_motors", can=motors.bus.port.path)
    listener.wait_for_motors()
    publisher = listener.node.create_publisher(JointState, "cables/command", 1)
    listener.wait_for(publisher.get_subscription_count)
    wanted = np.array([0.001, 0.0, 0.0, 0.0, 0.0, 0.0])

    def command():
        publisher.publish(joint_state(time.time(), slender.cable_names, wanted, np.zeros(6)))
        listener.spin(0.03)

    def follow():
        command()
        if listener.says("cables_to_motors", "home the cables"):
            listener.enable()
        return abs(displacement() - 0.001) < 2e-4

    def displacement():
        return listener.heard["cables/state"][-1].position[0]

    listener.wait_for(lambda: command() or len(listener.heard["cables/state"]) > 10)
    assert abs(displacement()) < 1e-5  # limp: nothing moves
    listener.wait_for(listener.enable)
    listener.wait_for(follow)
    motors.unplug()
    listener.wait_for(lambda: command() or listener.says("cables_to_motors", "CAN"))
    answer = listener.call(SetBool, "enable", SetBool.Request(data=True))
    assert not answer.success
    assert "CAN" in answer.message


def test_a_stop_is_latched(start, motors, listener):
    start("cables_to_motors", can=motors.bus.port.path)
    listener.wait_for_motors()
    assert listener.call(Trigger, "stop", Trigger.Request()).success
    answer = listener.call(SetBool, "enable", SetBool.Request(data=True))
    assert not answer.success
    assert "clear the stop" in answer.message
    assert listener.call(Trigger, "clear_stop", Trigger.Request()).success
    assert "home the " in listener.call(SetBool, "enable", SetBool.Request(data=True)).message
    # A busy machine may keep the motors from being heard between the two; then both are asked for again.
    listener.wait_for(
        lambda: (
            listener.call(Trigger, "assume_taut_here", Trigger.Request()).success
            and listener.call(SetBool, "enable", SetBool.Request(data=True)).success
        )
    )


def test_a_stop_of_one_driver_stops_the_robots_other_one(listener_class, tmp_path):
    finger = load_robot("finger")
    listener, processes = listener_class(finger.name), Processes(tmp_path, os.environ)
    try:
        for node in graph(finger, devices=Devices(can="/dev/no_can", valves="/dev/no_valves")):
            if node.name in DRIVERS:
                processes.start(node)
        listener.wait_for(lambda: set(DRIVERS) <= listener.health.keys())
        assert listener.call(Trigger, "cables/stop", Trigger.Request()).success
        listener.wait_for(lambda: all(listener.state(name) == "stopped" for name in DRIVERS))
    finally:
        listener.close()
        processes.stop()


def test_drivers_wait_for_devices_that_are_not_there(start, listener):
    start("imu_to_gravity", "cables_to_motors", imu="/dev/no_imu", can="/dev/no_can")
    listener.wait_for(lambda: listener.says("imu_to_gravity", "/dev/no_imu"))
    listener.wait_for(lambda: listener.says("cables_to_motors", "/dev/no_can"))
