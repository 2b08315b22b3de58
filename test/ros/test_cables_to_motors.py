"""The winches' node in this process, on a bus without motors: how its gains are set while it runs."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from rclpy.parameter import Parameter

from soft_twin.driving.cables.winch_control import ControlGains
from soft_twin.driving.states import State
from soft_twin.errors import InputError
from soft_twin_ros.cables_to_motors import CablesToMotors
from soft_twin_ros.hardware_node import health_of
from soft_twin_ros.node import ERROR, WARN

USUAL = ControlGains()


@pytest.fixture
def start(start_node):
    """Starts the node on a virtual bus of python-can, with further parameters."""
    usual = {"interface": "virtual", "device": "winches", "reopen_period": 0.05}
    return lambda **parameters: start_node(CablesToMotors, **(usual | parameters))


def gains(node):
    """By which the driver goes on."""
    return node.session.driver._control.parameters.gains


def set_to(node, **values):
    """As the services of `ros2 param set` do it."""
    return node.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])


def test_gains_of_the_start_are_the_driver_s(start):
    assert gains(start()) == USUAL


@pytest.mark.parametrize(("robot", "prefix"), [("slender", ""), ("finger", "cables/")])
def test_services_of_a_robot_with_chambers_too_have_names_of_their_own_whoever_starts_the_node(start, robot, prefix):
    node = start(robot=robot)
    names = {name for name, _ in node.get_service_names_and_types_by_node(node.get_name(), node.get_namespace())}
    wanted = ("enable", "stop", "clear_stop", "home", "take_up_slack")
    assert {f"{node.get_namespace().rstrip('/')}/{prefix}{name}" for name in wanted} <= names
    assert node.count_publishers(f"{prefix}stopped") == 1


def test_a_robot_without_cables_ends_the_node_at_once():
    command = [sys.executable, "-m", "soft_twin_ros.cables_to_motors", "--ros-args", "-p", "robot:=arm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120.0)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "CablesToMotors: robot 'arm' has no cables that winches could wind"


def test_gains_can_be_set_and_outlive_the_device(start):
    node = start(rate_gain=20.0)
    assert gains(node) == USUAL.tuned(60.0, 20.0)
    assert set_to(node, position_gain=30.0).successful
    assert gains(node) == USUAL.tuned(30.0, 20.0)
    node.session.disconnect()
    assert set_to(node, rate_gain=12.5).successful  # with nobody to tell yet
    node.session.connect()
    assert gains(node) == USUAL.tuned(30.0, 12.5)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"position_gain": 100.0}, "position_gain = 100 /s with rate_gain = 25 A s/m: winches of little friction"),
        ({"rate_gain": 40.0}, "position_gain = 60 /s with rate_gain = 40 A s/m"),
        ({"position_gain": 500.0}, "position_gain out of range Min: 15.0, Max: 120.0"),
        ({"rate_gain": 0.0}, "rate_gain out of range Min: 8.0, Max: 60.0"),
        ({"rate_gain": float("nan")}, "rate_gain out of range Min: 8.0, Max: 60.0"),
        ({"position_gain": 30.0, "hold_after": 1.0, "relax_after": 0.5}, "hold_after"),
    ],
)
def test_gains_that_are_not_safe_are_refused_and_change_nothing(start, values, reason):
    node = start()
    result = set_to(node, **values)
    assert not result.successful and reason in result.reason
    assert gains(node) == USUAL and node.parameters.position_gain == 60.0


def test_a_name_that_is_no_parameter_is_told_with_the_nearest(start):
    node = start()
    told = "cables_to_motors: there is no parameter 'rate_gian': did you mean 'rate_gain'?"
    assert set_to(node, rate_gian=12.5).reason == told
    assert set_to(node, rate_gain=13.0, rate_gian=12.5).reason == told
    assert node.get_parameter("rate_gain").value != 13.0


def test_together_gains_can_go_where_one_alone_could_not(start):
    node = start()
    assert not set_to(node, rate_gain=35.0).successful
    assert set_to(node, position_gain=30.0, rate_gain=35.0).successful
    assert gains(node).integral == pytest.approx(350.0)


def test_a_node_does_not_start_with_gains_that_are_not_safe(start):
    with pytest.raises(InputError, match="would swing, expected at most"):
        start(position_gain=90.0)


def test_a_command_that_is_refused_before_motors_are_homed_is_no_error_and_does_not_hide_that_they_want_to_be():
    """As ros2_control commands NaN until a controller is active."""
    mode, refusal = "limp: position unknown, home the motors", "command refused: positions [nan]"
    unknown = {"state": State.POSITION_UNKNOWN, "mode": mode, "counters": {}, "refusal": refusal}
    health = health_of(SimpleNamespace(faults=(refusal,), **unknown))
    assert (health.level, health.message) == (WARN, f"{mode}; {refusal}")
    assert health_of(SimpleNamespace(faults=("turned unseen", refusal), **unknown)).level == ERROR
