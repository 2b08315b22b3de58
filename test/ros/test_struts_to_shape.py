import math

import numpy as np
import pytest

pytest.importorskip("rclpy")

from soft_twin_msgs.msg import Inclinations, Pressures

from soft_twin import load_robot
from soft_twin.errors import ConvergenceError, InputError
from soft_twin_ros.node import ERROR, OK
from soft_twin_ros.struts_to_shape import Parameters, StrutsToShape, in_order, mounted
from soft_twin_ros.tensegrity_markers import colours, dashed, tensegrity_markers


def test_values_come_in_the_order_of_names_and_missing_ones_are_nan():
    values = in_order(["strut_2", "strut_0"], [0.2, 0.0], ["strut_0", "strut_1", "strut_2"])
    assert values[0] == 0.0 and math.isnan(values[1]) and values[2] == 0.2


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [(["strut_9"], [1.0], "unknown names strut_9"), (["strut_0"], [1.0, 2.0], "2 values for 1 names")],
)
def test_wrong_names_are_named(names, values, message):
    with pytest.raises(InputError, match=message):
        in_order(names, values, ["strut_0", "strut_1"])


def test_an_arm_stands_where_it_is_said_to_as_level_as_its_model():
    arm = load_robot("tm40")
    assert Parameters().place_in_world == (0.0, 0.0, 0.0)
    mount = mounted(arm, (0.4, -1.5, 0.7))
    assert (mount.parent, mount.name, mount.place.tolist()) == ("world", "base_link", [0.4, -1.5, 0.7])
    assert np.array_equal(mount.rotation, arm.model.level)
    with pytest.raises(InputError, match="place_in_world: expected 3 numbers"):
        mounted(arm, (0.4, -1.5))


def test_a_model_without_an_equilibrium_is_told_and_the_node_goes_on(start_node, monkeypatch):
    node = start_node(StrutsToShape, robot="tm40")
    node.begin()
    arm = load_robot("tm40")
    pressures = np.full(arm.model.cylinder_count, arm.model.laws.pressure_range[1])
    angles = arm.forward(pressures).inclinations

    def health():
        node._take_pressures(Pressures(names=[f"cylinder_{k}" for k in range(len(pressures))], pressures=pressures))
        node._take_inclinations(Inclinations(names=[f"strut_{i}" for i in range(len(angles))], angles=angles))
        node.work()
        return node.health()

    assert health().level == OK

    def lost(*_):
        raise ConvergenceError("no equilibrium of the tensegrity")

    node._estimator.reset()
    with monkeypatch.context() as patch:
        patch.setattr(node._estimator.forward, "solve", lost)
        assert health().level == ERROR
        assert health().message == "the last good shape is stale: no equilibrium of the tensegrity"
    assert health().level == OK


def test_members_are_coloured_by_tension_and_slack_ones_dashed():
    nodes = np.array([[0.0, 0, 0], [1.0, 0, 0], [0.0, 0, 1], [1.0, 0, 1]])
    members = np.array([[0, 1], [2, 3]])
    struts, taut, slack = tensegrity_markers(
        1.5, "base_link", nodes, members, np.array([50.0, 0.0]), 100.0, False
    ).markers
    assert struts.header.frame_id == "base_link" and struts.header.stamp.nanosec == 500000000
    assert [(p.x, p.z) for p in struts.points] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(taut.points) == 2 and len(taut.colors) == 2
    assert len(slack.points) == 8
    assert (slack.points[0].x, slack.points[-1].x) == (0.0, pytest.approx(1.0))


def test_a_stale_shape_is_faint_and_no_slack_member_is_no_error():
    nodes = np.random.default_rng(0).normal(size=(4, 3))
    _, taut, slack = tensegrity_markers(
        0.0, "base_link", nodes, np.array([[0, 1]]), np.array([1.0]), 100.0, True
    ).markers
    assert taut.colors[0].a == pytest.approx(0.3)
    assert len(slack.points) == 2 and slack.colors[0].a == 0.0


def test_colours_go_from_blue_to_red():
    low, high = colours(np.array([0.0, 200.0]), 100.0)
    assert low[2] > low[0] and high[0] > high[2]


def test_dashes_begin_and_end_where_the_segment_does():
    dashes = dashed(np.array([[[0.0, 0, 0], [7.0, 0, 0]]]))
    assert dashes[:, :, 0].tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]
