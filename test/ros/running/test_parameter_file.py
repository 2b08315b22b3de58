"""What ROS would ignore in a file of parameters is refused: names of nodes, and of their parameters."""

import re

import pytest

from soft_twin import load_robot
from soft_twin.errors import UsageError
from soft_twin_ros.running.graph import graph
from soft_twin_ros.running.parameter_file import check_parameter_file, parameters_of


@pytest.fixture
def checked(tmp_path):
    """Checks a text as the file of a launch of two slender robots, `left` and `lab/right`."""
    robot, path = load_robot("slender"), tmp_path / "mine.yaml"
    specs = [spec for namespace in ("left", "lab/right") for spec in graph(robot, namespace=namespace)]

    def check(text):
        path.write_text(text)
        check_parameter_file(path, specs)

    return check


@pytest.mark.parametrize("name", ["gravity_to_cables", "imu_to_gravity", "cables_to_motors", "bringup", "recorder"])
def test_a_nodes_parameters_are_known_by_its_program(name):
    assert {"robot", "use_sim_time"} < set(parameters_of(name))
    assert ("hold_after" in parameters_of(name)) == (name == "cables_to_motors")
    assert ("tip_feedback" in parameters_of(name)) == (name == "gravity_to_cables")


@pytest.mark.parametrize(
    "text",
    [
        "/**: {ros__parameters: {hold_after: 0.3, use_sim_time: true}}",  # known to one of them is enough
        "/left/cables_to_motors: {ros__parameters: {hold_after: 0.3}}",
        "left/cables_to_motors: {ros__parameters: {hold_after: 0.3}}",
        "/*/cables_to_motors: {ros__parameters: {hold_after: 0.3}}",
        "/lab/*/cables_to_motors: {ros__parameters: {hold_after: 0.3}}",
        "/**/cables_to_motors: {ros__parameters: {hold_after: 0.3}}",
        "/lab/**: {ros__parameters: {hold_after: 0.3}}",
        "left: {cables_to_motors: {ros__parameters: {hold_after: 0.3}}}",
        "/**: {cables_to_motors: {ros__parameters: {hold_after: 0.3}}}",
        "/**: {ros__parameters: {qos_overrides: {/left/gravity: {publisher: {depth: 1}}}}}",
        "/**: {ros__parameters: {qos_overrides./left/gravity.publisher.depth: 1}}",
        "/camera: {ros__parameters: {exposure: 3}}\n/**: {ros__parameters: {hold_after: 0.3}}",  # somebody else's
    ],
)
def test_what_a_node_reads_is_taken(checked, text):
    checked(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "/**:\n  ros__parameters:\n    hold_aftr: 0.3",
            "line 3: /**: there is no parameter 'hold_aftr': did you mean 'hold_after'?",
        ),
        (
            "/left/imu_to_gravity: {ros__parameters: {enable_when_active: true}}",  # of cables_to_motors
            "/left/imu_to_gravity: there is no parameter 'enable_when_active': there are robot, autostart",
        ),
        (
            "imu_to_gravity: {ros__parameters: {device: a}}",  # without a namespace it is in none
            "no node that is started is called '/imu_to_gravity': did you mean '/left/imu_to_gravity'?",
        ),
        (
            "/left/imu_to_grvity: {ros__parameters: {device: a}}",
            "no node that is started is called '/left/imu_to_grvity': did you mean '/left/imu_to_gravity'?",
        ),
        (
            "/camera: {ros__parameters: {exposure: 3}}",
            "nothing is for a node that is started: there are /left/",
        ),
        ("/**: {hold_after: 0.3}", "line 1: expected NODE: {ros__parameters: {NAME: VALUE}}"),
        ("/**: [1]", "line 1: expected NODE: {ros__parameters: {NAME: VALUE}}"),
        ("/**: {", "mine.yaml"),
    ],
)
def test_what_nobody_would_read_is_refused_in_one_line(checked, text, message):
    with pytest.raises(UsageError, match=re.escape(message)) as told:
        checked(text)
    assert "\n" not in str(told.value) and str(told.value).startswith("params_file:=")
