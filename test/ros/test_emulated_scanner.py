"""An emulated scanner and motion capture in this process: heard, recorded, and trained on."""

import dataclasses
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from geometry_msgs.msg import PoseArray
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import PointCloud2
from soft_twin_msgs.msg import Pressures

import soft_twin.learning
from soft_twin.app.cli import main
from soft_twin.emulation.surface_reality import SurfaceReality
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.frames import read_recording
from soft_twin.learning.recorded_frames import Topics, write_frames
from soft_twin.learning.simulations import learnable, pressure_limits
from soft_twin.recording.clouds import cloud_arrays
from soft_twin.recording.reader import topic_types
from soft_twin_ros import emulated_scanner, recorder
from soft_twin_ros.conversions import header, to_seconds
from soft_twin_ros.parameters import parameter

sys.path.insert(0, str(Path(__file__).parents[1] / "learning"))
from small_membrane import CHAMBERS, small_sizes, two_rooms

PATIENCE = 120.0  # [s]
STANDS = ([1500.0, 2400.0], [0.0, 0.0], [2200.0, 2700.0])  # [Pa], 3 s each
SECONDS = 3


@pytest.fixture
def started(monkeypatch):
    """Nodes of modules, with parameters."""
    nodes = []

    def start(module, kind, **values):
        fields = [(name, type(value), parameter(value, name)) for name, value in values.items()]
        mine = dataclasses.make_dataclass("Mine", fields, bases=(module.Parameters,), frozen=True)
        monkeypatch.setattr(module, "Parameters", mine)
        nodes.append(kind())
        nodes[-1].begin()
        return nodes[-1]

    yield start
    for node in nodes:
        node.destroy_node()


class Chambers:
    """Somebody who says what pressures are, and hears what is seen."""

    def __init__(self, *nodes):
        self.nodes, self.client, self.scans, self.markers = nodes, rclpy.create_node("chambers"), [], []
        self._executor = SingleThreadedExecutor()
        for each in (*nodes, self.client):
            self._executor.add_node(each)
        self._states = self.client.create_publisher(Pressures, "chambers/state", 10)
        self.client.create_subscription(PointCloud2, "scan", self.scans.append, 10)
        self.client.create_subscription(PoseArray, "markers", self.markers.append, 10)
        self.until(lambda: self._states.get_subscription_count() == len(nodes))

    def until(self, done):
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end
            self._executor.spin_once(timeout_sec=0.02)
            for node in self.nodes:
                if node.has_work:
                    node.work()

    def say(self, stamp, pressures, names=CHAMBERS):
        self._states.publish(Pressures(header=header(stamp, ""), names=list(names), pressures=list(pressures)))

    def seen_at(self, stamp):
        """Whether all has been heard that was seen then."""
        stamps = [[to_seconds(each.header.stamp) for each in own] for own in (self.scans, self.markers)]
        return all(own and abs(own[-1] - stamp) < 1e-6 for own in stamps)


def test_what_it_sees_is_recorded_and_trained_on(started, tmp_path, capsys):
    robot = two_rooms(tmp_path)
    scanner = started(emulated_scanner, emulated_scanner.EmulatedScanner, robot=str(robot.path), period=0.01)
    tape = started(recorder, recorder.Recorder, robot=str(robot.path), path=str(tmp_path / "run.mcap"))
    chambers, begin = Chambers(scanner, tape), 1.7e9
    assert scanner.health().message == "waiting for chambers/state"
    chambers.until(lambda: tape.health().values["topics"] >= 3)
    for number, pressures in enumerate(STANDS):
        for second in range(SECONDS):
            stamp = begin + SECONDS * number + second
            chambers.say(stamp, pressures)
            chambers.until(lambda stamp=stamp: chambers.seen_at(stamp))
    said = len(STANDS) * SECONDS
    chambers.until(lambda: tape.health().values["messages"] >= 3 * said)
    tape.close()
    chambers.client.destroy_node()
    assert scanner.health().values["looks"] == said

    _, learning = learnable(robot.path)
    reality = SurfaceReality(robot, learning)
    true = reality.shape(np.array(STANDS[0]), 2.0)
    points, normals = cloud_arrays(chambers.scans[2])
    assert surface_distances(points, true, reality.triangles).mean() < 2.0 * learning.scanner.noise
    assert len(points) > 100 and (normals[:, 2] > 0.2).all()
    poses = np.array([[p.position.x, p.position.y, p.position.z] for p in chambers.markers[2].poses])
    assert len(poses) == learning.markers.count and np.isfinite(poses).any()

    out, words = tmp_path / "mine.safetensors", ["--workers", "1", "--simulations", "6", "--epochs", "1"]
    train = ["train", str(robot.path), "--data", str(tmp_path / "run.mcap"), "--out", str(out)]
    with small_sizes():
        assert main([*train, "--store", str(tmp_path / "store"), *words]) == 0
    assert "3 frames of two_rooms" in capsys.readouterr().out
    frames = read_recording(tmp_path / "store" / "frames", CHAMBERS, pressure_limits(robot), 0.144)
    np.testing.assert_allclose(frames.pressures, STANDS)
    np.testing.assert_allclose(frames.held, SECONDS - 1.0)
    soft_twin.learning.load(out).check(robot)

    topics = Topics(markers=next(topic for topic in topic_types(tmp_path / "run.mcap") if topic.endswith("/markers")))
    written = write_frames(tmp_path / "run.mcap", tmp_path / "seen", list(CHAMBERS), pressure_limits(robot), topics)
    markers = read_recording(tmp_path / "seen", CHAMBERS, pressure_limits(robot), 0.144)
    assert len(markers.rest) + len(written.left_out) == learning.markers.count and written.frames == 3
    np.testing.assert_allclose(markers.held, SECONDS - 1.0)
    seen = np.isfinite(markers.markers).all(axis=2)
    assert (~seen | (np.linalg.norm(markers.markers - markers.rest, axis=2) < 0.05)).all()
    assert surface_distances(markers.markers[0][seen[0]], true, reality.triangles).mean() < 0.001


def test_other_chambers_are_told(started, tmp_path):
    scanner = started(emulated_scanner, emulated_scanner.EmulatedScanner, robot=str(two_rooms(tmp_path).path))
    chambers = Chambers(scanner)
    chambers.say(1.0, STANDS[0], ["left", "top"])
    chambers.until(lambda: "left, top" in scanner.health().message)
    chambers.client.destroy_node()
