"""The node that takes shapes, in this process; and clouds as messages."""

import dataclasses
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import PointCloud2, PointField
from soft_twin_msgs.msg import Pressures
from soft_twin_msgs.srv import SolveShape
from std_msgs.msg import String
from visualization_msgs.msg import Marker

from soft_twin.errors import InputError
from soft_twin.learning.identity import description_hash
from soft_twin.learning.shape_target import ShapeTarget
from soft_twin.learning.storage import save
from soft_twin.recording.clouds import cloud_arrays
from soft_twin_ros import shape_to_pressures
from soft_twin_ros.clouds import cloud_message
from soft_twin_ros.conversions import to_array, to_rotation
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import LATCHED

sys.path.insert(0, str(Path(__file__).parents[1] / "learning"))
from small_membrane import two_rooms
from test_shape_control import SHIFT, TURN, cloud, corrected, model

PATIENCE = 60.0  # [s]


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A node for a robot of two chambers, by networks that are a closed form; and what it commands."""
    robot = two_rooms(tmp_path)
    weights = dataclasses.replace(corrected(model()), description=description_hash(robot))
    save(weights, tmp_path / "mine.safetensors")
    nodes = []

    def start(**values):
        values = {"robot": str(robot.path), "weights": str(tmp_path / "mine.safetensors")} | values
        fields = [(name, type(value), parameter(value, name)) for name, value in values.items()]
        mine = dataclasses.make_dataclass("Mine", fields, bases=(shape_to_pressures.Parameters,), frozen=True)
        monkeypatch.setattr(shape_to_pressures, "Parameters", mine)
        nodes.append(shape_to_pressures.ShapeToPressures())
        nodes[-1].begin()
        return nodes[-1]

    yield start
    for node in nodes:
        node.close()
        node.destroy_node()


class Talk:
    """Somebody who says targets and hears commands."""

    def __init__(self, node):
        self.node, self.client, self.heard = node, rclpy.create_node("client"), []
        self._executor = SingleThreadedExecutor()
        for each in (node, self.client):
            self._executor.add_node(each)
        self._targets = self.client.create_publisher(PointCloud2, "target_shape", 1)
        self.client.create_subscription(Pressures, "chambers/command", self.heard.append, 10)
        self._answers = self.client.create_client(SolveShape, "solve_shape")

    def ask(self, points, frame="scanner", **request):
        """A call that has been sent."""
        self.until(self._answers.service_is_ready)
        return self._answers.call_async(SolveShape.Request(target=cloud_message(0.0, frame, points), **request))

    def answer(self, *question, **request):
        asked = self.ask(*question, **request)
        self.until(asked.done)
        return asked.result()

    def say(self, points, frame="scanner"):
        self._targets.publish(cloud_message(time.time(), frame, points))

    def until(self, done):
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end
            self._executor.spin_once(timeout_sec=0.02)
            if self.node.has_work:
                self.node.work()


def test_a_cloud_becomes_pressures_that_go_on_being_said(started):
    talk = Talk(started())
    talk.until(lambda: talk.client.count_subscribers("target_shape"))
    assert talk.node.health().message == shape_to_pressures.WAITING and not talk.heard
    talk.say(cloud([900.0, 1500.0]))
    talk.until(lambda: len(talk.heard) > 3)
    assert list(talk.heard[-1].names) == ["left", "right"]
    np.testing.assert_allclose(talk.heard[-1].pressures, [900.0, 1500.0], rtol=0.04)
    assert talk.node.health().values["mean_mm"] < 0.5
    talk.say(1e3 * cloud([900.0, 1500.0]))
    talk.until(lambda: "in millimetres" in talk.node.health().message)
    before = len(talk.heard)
    talk.until(lambda: len(talk.heard) > before + 3)
    np.testing.assert_allclose(talk.heard[-1].pressures, [900.0, 1500.0], rtol=0.04)
    talk.say(cloud([2000.0, 500.0]))
    talk.until(lambda: talk.heard[-1].pressures[0] > 1500.0)
    talk.node.trigger_deactivate()
    silent = len(talk.heard)
    for _ in range(20):
        talk.until(lambda: True)
    assert len(talk.heard) <= silent + 1
    talk.client.destroy_node()


def test_the_shape_of_another_surface_is_told(started):
    talk, upside_down = Talk(started()), cloud([900.0, 1500.0]) * [1.0, 1.0, -1.0]
    talk.until(lambda: talk.client.count_subscribers("target_shape"))
    talk.say(upside_down)
    talk.until(lambda: "is it another surface" in talk.node.health().message)
    assert "mm from the target" in talk.node.health().message
    answer = talk.answer(upside_down, free_pose=True)
    assert answer.success and "is it another surface" in answer.message
    talk.say(cloud([900.0, 1500.0]))
    talk.until(lambda: "another surface" not in talk.node.health().message)
    assert "another" not in talk.answer(cloud([900.0, 1500.0]), free_pose=True).message
    talk.client.destroy_node()


def test_a_target_from_before_a_rest_is_not_gone_to_after_it(started):
    """A search may outlive the activity that asked for it."""
    talk, held = Talk(started()), threading.Event()
    talk.until(lambda: talk.client.count_subscribers("target_shape"))
    talk.node._background.run(held.wait)
    talk.say(cloud([900.0, 1500.0]))
    talk.until(lambda: talk.node._searching)
    talk.node.trigger_deactivate()
    talk.node.trigger_activate()
    held.set()
    talk.until(lambda: not talk.node._searching)
    for _ in range(20):
        talk.until(lambda: True)
    assert not talk.heard and talk.node.health().message == shape_to_pressures.WAITING
    talk.say(cloud([2000.0, 500.0]))
    talk.until(lambda: talk.heard)
    assert talk.heard[0].pressures[0] > 1500.0
    talk.client.destroy_node()


def heights(marker):
    """(n,) [m] of the corners of a body's triangles."""
    return np.array([point.z for point in marker.points])


def test_the_robot_is_shown_as_its_twin_is_under_the_pressures(started):
    talk = Talk(started())
    bodies, described = [], []
    talk.client.create_subscription(Marker, "body", bodies.append, 10)
    talk.client.create_subscription(String, "robot_description", described.append, LATCHED)
    talk.until(lambda: bodies and described and talk.client.count_subscribers("target_shape"))
    assert '<robot name="two_rooms"' in described[0].data and bodies[0].header.frame_id == "base_link"
    assert heights(bodies[-1]).max() == pytest.approx(0.012, abs=1e-4)
    talk.say(cloud([900.0, 1500.0]))
    talk.until(lambda: heights(bodies[-1]).max() > 0.0125)
    twin = talk.node.robot.build_twin()
    twin.equilibrium(np.array([0.0, 0.0, -9.81]), efforts=np.array(talk.heard[-1].pressures))
    np.testing.assert_allclose(heights(bodies[-1]), twin.points[twin.surface.ravel(), 2], atol=1e-6)
    talk.client.destroy_node()


def test_rates_can_be_set_while_it_runs(started):
    node = started()
    for name, rate in (("command_rate", 50.0), ("picture_rate", 10.0), ("transform_rate", 5.0)):
        (result,) = node.set_parameters([Parameter(name, value=rate)])
        assert result.successful, result.reason
    assert (node._timer.timer_period_ns, node._body._timer.timer_period_ns) == (20_000_000, 100_000_000)


def test_a_fixed_target_is_in_base_link(started):
    talk = Talk(started(pose="fixed"))
    talk.until(lambda: talk.client.count_subscribers("target_shape"))
    talk.say(cloud([900.0, 1500.0]))
    talk.until(lambda: "target in frame 'scanner': expected 'base_link'" in talk.node.health().message)
    talk.say(cloud([900.0, 1500.0]), "base_link")
    talk.until(lambda: talk.heard)
    talk.client.destroy_node()


def test_a_call_is_answered_and_commands_nothing(started):
    talk = Talk(started())
    moved = cloud([900.0, 1500.0]) @ TURN.T + SHIFT
    answer = talk.answer(moved, free_pose=True)
    assert answer.success and answer.converged and not talk.heard, answer.message
    assert list(answer.pressures.names) == ["left", "right"] and not answer.active_limits
    np.testing.assert_allclose(answer.pressures.pressures, [900.0, 1500.0], rtol=0.04)
    assert 0.0 < answer.mean < 5e-4 and answer.mean < answer.largest < 5e-3 and answer.iterations > 1
    assert "mm from the target" in answer.message and f"after {answer.iterations} steps" in answer.message
    turn, shift = to_rotation(answer.pose.orientation, "pose"), to_array(answer.pose.position)
    np.testing.assert_allclose(moved @ turn.T + shift, cloud([900.0, 1500.0]), atol=2e-3)
    surface, _ = cloud_arrays(answer.points)
    gaps = np.linalg.norm(surface[:, None] - cloud([900.0, 1500.0])[None], axis=2).min(axis=1)
    assert answer.points.header.frame_id == "base_link" and len(surface) > 500 and np.median(gaps) < 2e-3
    assert talk.node.health().message == shape_to_pressures.WAITING
    talk.client.destroy_node()


def test_of_a_cloud_of_many_points_as_many_are_drawn_as_are_needed(started, monkeypatch):
    monkeypatch.setattr("soft_twin_ros.shape_service.ENOUGH", 400)
    drawn, of = [], ShapeTarget.of

    def noted(points, normals, whole):
        drawn.append(points)
        return of(points, normals, whole)

    monkeypatch.setattr(ShapeTarget, "of", noted)
    talk, points = Talk(started()), cloud([900.0, 1500.0])
    answer = talk.answer(points, free_pose=True)
    assert len(points) > 400 == len(drawn[0]) == len({tuple(each) for each in drawn[0].round(6)})
    np.testing.assert_allclose(answer.pressures.pressures, [900.0, 1500.0], rtol=0.06)
    talk.client.destroy_node()


def test_calls_go_on_beside_the_target_that_is_held(started):
    talk = Talk(started())
    talk.until(lambda: talk.client.count_subscribers("target_shape"))
    talk.say(cloud([900.0, 1500.0]))
    talk.until(lambda: talk.heard)
    asked = talk.ask(cloud([2000.0, 500.0]), "base_link", whole=True)
    talk.say(cloud([1500.0, 900.0]))
    talk.until(asked.done)
    assert asked.result().pressures.pressures[0] > 1800.0
    talk.until(lambda: talk.heard[-1].pressures[0] > 1200.0)
    np.testing.assert_allclose(talk.heard[-1].pressures, [1500.0, 900.0], rtol=0.04)
    talk.client.destroy_node()


def test_one_call_at_a_time_is_answered(started):
    talk, free = Talk(started()), threading.Event()
    talk.node._background.run(lambda: free.wait(0.1 * PATIENCE))  # somebody searches
    first = talk.ask(cloud([900.0, 1500.0]), "base_link")
    second = talk.answer(cloud([900.0, 1500.0]), "base_link")
    assert not second.success and "ask again when that is answered" in second.message and not first.done()
    free.set()
    talk.until(first.done)
    assert first.result().success
    assert talk.answer(cloud([900.0, 1500.0]), "base_link").success
    talk.client.destroy_node()


@pytest.mark.parametrize(
    ("points", "request_", "told"),
    [
        (1e3 * cloud([900.0, 1500.0]), {"free_pose": True}, "in millimetres"),
        (cloud([900.0, 1500.0]), {}, "target in frame 'scanner': expected 'base_link'"),
        (np.full((40, 3), np.nan), {"free_pose": True}, "cloud: none of its 40 points is finite"),
        (cloud([900.0, 1500.0])[:3], {"free_pose": True}, "or more points (k, 3), found (3, 3)"),
    ],
)
def test_calls_that_are_refused_say_why(started, points, request_, told):
    talk = Talk(started())
    answer = talk.answer(points, **request_)
    assert not answer.success and told in answer.message and not answer.pressures.names, answer.message
    talk.client.destroy_node()


def test_who_has_no_weights_is_told():
    command = [sys.executable, "-m", "soft_twin_ros.shape_to_pressures"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert result.returncode == 2 and "say which weights" in result.stderr


def test_clouds_come_and_go_as_they_are():
    points = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    message = cloud_message(3.5, "scanner", points)
    found, normals = cloud_arrays(message)
    np.testing.assert_array_equal(found, points)
    assert normals is None and message.header.frame_id == "scanner" and message.header.stamp.sec == 3


def test_organised_clouds_with_normals_and_gaps_are_read():
    names = ["normal_x", "normal_y", "normal_z", "x", "y", "z"]
    values = np.arange(24.0).reshape(4, 6)
    values[2, 4] = np.nan
    fields = [PointField(name=n, offset=8 * i, datatype=PointField.FLOAT64, count=1) for i, n in enumerate(names)]
    message = PointCloud2(
        height=2,
        width=2,
        fields=fields,
        is_bigendian=True,
        point_step=48,
        row_step=96,
        data=values.astype(">f8").tobytes(),
    )
    points, normals = cloud_arrays(message)
    np.testing.assert_array_equal(points, values[[0, 1, 3], 3:])
    np.testing.assert_array_equal(normals, values[[0, 1, 3], :3])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda m: m.fields.pop(), "no field z; it has x, y"),
        (lambda m: setattr(m, "width", 9), "84 bytes for 1 rows of 84 bytes, 9 points of 12 each"),
        (lambda m: setattr(m, "point_step", 0), "84 bytes, 7 points of 0 each"),
        (lambda m: setattr(m, "width", 2_000_000), "at most 1000000"),
        (lambda m: setattr(m.fields[1], "datatype", PointField.INT32), "field y is no float32"),
        (lambda m: setattr(m.fields[2], "offset", 10), "field z is no float32 or float64 within 12 bytes"),
    ],
)
def test_clouds_that_are_broken_are_told(change, told):
    message = cloud_message(0.0, "scanner", np.zeros((7, 3)))
    change(message)
    with pytest.raises(InputError, match=told):
        cloud_arrays(message)
