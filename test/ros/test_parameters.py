import math
from dataclasses import dataclass

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter

from soft_twin.errors import DescriptionError, InputError
from soft_twin_ros.parameters import declare, parameter, refuse_described, refuse_unknown, said_on_command_line


@dataclass(frozen=True)
class Parameters:
    device: str = parameter("/dev/ttyUSB0", "serial device")
    rate: float = parameter(100.0, "of the state", "Hz", 1.0, 500.0)
    seed: int = parameter(3, "of everything random", "", 0, 10)
    angles: tuple = parameter((90.0, 0.0), "to the ground", "deg")
    picture_rate: float = parameter(25.0, "of the picture", "Hz", 0.1, 100.0, settable=True)


@pytest.fixture
def started():
    nodes = []

    def start(**overrides):
        values = [Parameter(name, value=value) for name, value in overrides.items()]
        nodes.append(Node("some_node", parameter_overrides=values))
        return nodes[-1]

    yield start
    for node in nodes:
        node.destroy_node()


def test_fields_are_parameters_with_their_defaults(started):
    assert declare(started(), Parameters) == Parameters("/dev/ttyUSB0", 100.0, 3, (90.0, 0.0), 25.0)


def test_values_from_the_start_win(started):
    values = declare(started(rate=250.0, angles=[45.0]), Parameters)
    assert (values.rate, values.angles) == (250.0, (45.0,))


def test_a_description_has_unit_and_range(started):
    node = started()
    declare(node, Parameters)
    descriptor = node.describe_parameter("rate")
    assert descriptor.description == "of the state [Hz]"
    assert descriptor.floating_point_range[0].to_value == 500.0
    assert descriptor.additional_constraints == "read when the node starts"


@pytest.mark.parametrize("value", [0.5, 501.0, math.nan])
def test_a_value_out_of_range_is_refused(started, value):
    with pytest.raises(InputError, match=r"^rate: expected 1 to 500 \(of the state \[Hz\]\)$"):
        declare(started(rate=value), Parameters)


def test_a_whole_number_for_a_float_is_a_type_error(started):
    with pytest.raises(InputError, match=r"^rate: expected a number with a point, such as 100.0 \(of the state"):
        declare(started(rate=100), Parameters)


def test_parameters_that_the_node_has_not_are_named_with_the_nearest():
    refuse_unknown({"rate": 5.0, "use_sim_time": True, "qos_overrides./x.depth": 1}, Parameters, "mine.yaml")
    with pytest.raises(DescriptionError, match="mine.yaml: there is no parameter 'devise': did you mean 'device'"):
        refuse_unknown({"devise": "/dev/null"}, Parameters, "mine.yaml")
    with pytest.raises(DescriptionError, match="there are device, rate, seed, angles, picture_rate, use_sim_time"):
        refuse_unknown({"xyz": 1}, Parameters, "mine.yaml")


def test_parameters_of_a_description_that_the_node_has_not_are_named_with_their_line(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("nodes:\n  ear:\n    rate: 5.0\n    devise: /dev/null\n", encoding="utf-8")
    refuse_described(path, "ear", ["rate"], Parameters)
    with pytest.raises(
        DescriptionError, match="mine.yaml:4: nodes.ear.devise: there is no parameter 'devise': did you"
    ):
        refuse_described(path, "ear", ["rate", "devise"], Parameters)


def set_to(node, name, value):
    (result,) = node.set_parameters([Parameter(name, value=value)])
    return result


def test_what_makes_sense_can_be_set_while_the_node_runs(started):
    node, adopted = started(), []
    declare(node, Parameters, lambda old, new: adopted.append((old.picture_rate, new.picture_rate)))
    assert set_to(node, "picture_rate", 10.0).successful
    assert set_to(node, "picture_rate", 5.0).successful
    assert adopted == [(25.0, 10.0), (10.0, 5.0)]
    assert node.get_parameter("picture_rate").value == 5.0


@pytest.mark.parametrize("value", [0.0, 101.0, float("nan")])
def test_what_is_set_is_checked_as_at_the_start(started, value):
    node, adopted = started(), []
    declare(node, Parameters, lambda old, new: adopted.append(new))
    result = set_to(node, "picture_rate", value)
    assert not result.successful and not adopted
    assert node.get_parameter("picture_rate").value == 25.0


def test_the_rest_says_why_not(started):
    node = started()
    declare(node, Parameters, lambda old, new: None)
    assert "device is read when the node starts: end the node and start it with" in set_to(node, "device", "a").reason


def test_a_node_can_refuse_what_does_not_fit_together(started):
    def refuse(old, new):
        raise DescriptionError("hold_after: expected less than relax_after")

    node = started()
    declare(node, Parameters, refuse)
    assert set_to(node, "picture_rate", 10.0).reason == "hold_after: expected less than relax_after"
    assert node.get_parameter("picture_rate").value == 25.0


def test_parameters_of_the_command_line_are_those_of_this_node():
    words = "imu --ros-args -r __ns:=/left -p device:=/dev/a --param ear:rate:=1.0 -p eye:size:=2 --log-level ear:=info"
    assert said_on_command_line(words.split(), "ear") == ["device", "rate"]
