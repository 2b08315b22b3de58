"""A whole robot that takes shapes, over real DDS: networks trained here, an emulated sheet, emulated valves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from sensor_msgs.msg import PointCloud2
from soft_twin_msgs.srv import SolveShape
from std_srvs.srv import SetBool, Trigger

import soft_twin.learning
from soft_twin.app.cli import main
from soft_twin.emulation.surface_reality import SurfaceReality
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.shape_control import ShapeControl
from soft_twin.learning.shape_target import ShapeTarget
from soft_twin.learning.simulations import inflation_of, learnable, simulate_all, surface_of
from soft_twin.learning.storage import save
from soft_twin.learning.teaching import learn_shapes, learn_warp
from soft_twin.learning.training import WarpTraining
from soft_twin.recording.clouds import cloud_arrays
from soft_twin.recording.ply_files import write_ply
from soft_twin_ros.clouds import cloud_message
from soft_twin_ros.running.graph import graph
from soft_twin_ros.running.processes import Processes

sys.path.insert(0, str(Path(__file__).parents[1] / "learning"))
from small_membrane import content, small_sizes

NEAR = 150.0  # [Pa] the terminal's step and its sensors' noise
SIMULATIONS, FRAMES = 20, 4
PATIENCE = 300.0  # [s] of a busy machine


@pytest.fixture(scope="module")
def membrane(tmp_path_factory):
    """A robot with two chambers on valves, and what its description says of learning."""
    mine = content()
    robot = mine["robot"]
    for channel, chamber in enumerate(robot["chambers"]):
        chamber["channel"] = channel
    robot |= {"valves": {"backend": "modbus", "rate": 4000.0, "vent_rate": 2000.0}, "imus": [{"name": "base"}]}
    robot["emulated"] |= {"step": 0.05, "fill_rate": 100.0}
    path = tmp_path_factory.mktemp("robot") / "two_rooms.yaml"
    path.write_text(yaml.safe_dump(mine), encoding="utf-8")
    return learnable(path)


@pytest.fixture(scope="module")
def reality(membrane):
    return SurfaceReality(*membrane)


@pytest.fixture(scope="module")
def cloud(reality):
    """(k, 3) points [m] of the reality somewhere between its limits."""
    return reality.shape(np.array([1500.0, 700.0])).astype("f4").astype(float)


@pytest.fixture(scope="module")
def weights(membrane, reality, tmp_path_factory):
    """Trained on few simulations, and on surfaces of the reality."""
    robot, learning = membrane
    simulations, inflation = simulate_all(robot, learning.surface, SIMULATIONS), inflation_of(robot)
    with small_sizes():
        shapes, _ = learn_shapes(simulations, surface_of(robot.build_twin(), learning.surface), inflation, 2)
    seen = inflation.pressures_of(np.random.default_rng(0).uniform(0.1, 0.9, (FRAMES, 2)))
    scans = [Scan(*seen_at(reality, pressures)) for pressures in seen]
    path = tmp_path_factory.mktemp("weights") / "two_rooms.safetensors"
    with small_sizes():
        save(learn_warp(shapes, Recording(seen, scans, "here"), robot, WarpTraining(25, 2, 24, 1e-3, epochs=20)), path)
    return path


def seen_at(reality, pressures):
    """Points (p, 3) of the reality under pressures [m], and its normals there."""
    points = reality.shape(pressures)
    corners = points[reality.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(points)
    for corner in reality.triangles.T:
        np.add.at(normals, corner, across)
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.fixture
def listener(listener_class, membrane, weights, tmp_path):
    """Who listens to the whole graph, which `bringup` brings up."""

    class Shapes(listener_class):
        TOPICS = dict.fromkeys(("chambers/command", "truth/chambers"), "soft_twin_msgs.msg.Pressures")

    processes, listener = Processes(tmp_path / "log", os.environ), Shapes("two_rooms")
    emulation = {"device_folder": str(tmp_path / "devices")}
    for node in graph(membrane[0], emulation=emulation, managed=True, weights=weights):
        processes.start(node)
    yield listener
    listener.close()
    processes.stop()


@pytest.fixture(scope="module")
def found(weights, cloud):
    """What the library finds for the cloud."""
    return ShapeControl(soft_twin.learning.load(weights)).solve(ShapeTarget.of(cloud))


def newest(listener, topic):
    return np.array(listener.heard[topic][-1].pressures)


def one_of_two_is_refused(listener, asked):
    """Two calls at once: the first one's search may be over before the second comes, on a busy machine."""
    client = listener.node.create_client(SolveShape, "solve_shape")
    listener.wait_for(client.service_is_ready)
    both = [client.call_async(asked) for _ in range(2)]
    listener.wait_for(lambda: all(each.done() for each in both))
    return sum("ask again" in each.result().message and not each.result().success for each in both) == 1


def test_a_run_by_weights_holds_a_shape_and_reports_it(membrane, weights, tmp_path):
    command = [sys.executable, "-m", "soft_twin.app.cli", "run", str(membrane[0].path), "--weights", str(weights)]
    command += ["--pressures", "1500,700", "--quick", "--out", str(tmp_path)]
    variables = {name: value for name, value in os.environ.items() if name not in ("ROS_DOMAIN_ID", "ROS_LOG_DIR")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert {name: row["target_Pa"] for name, row in report["chambers"].items()} == {"left": 1500.0, "right": 700.0}
    assert 0.0 < report["largest_error_Pa"]["commanded"] < 20.0 and report["largest_error_Pa"]["had"] < NEAR
    assert 0.0 < report["surface_error_mm"]["mean"] < 0.5
    assert "surface from its target" in done.stdout and len(np.loadtxt(tmp_path / "target.csv", delimiter=",")) > 500


def test_a_run_takes_the_shape_of_a_mesh_that_is_anywhere(membrane, weights, cloud, tmp_path):
    """In a frame of its own: the pressures of the reality's shape, by what the weights make of them."""
    robot, learning = membrane
    surface = surface_of(robot.build_twin(), learning.surface)
    turn = Rotation.from_rotvec([0.05, -0.1, 0.15]).as_matrix()
    write_ply(tmp_path / "mould.ply", cloud @ turn.T + [0.3, 0.1, -0.2], triangles=surface.triangles)
    command = [sys.executable, "-m", "soft_twin.app.cli", "run", str(robot.path), "--weights", str(weights), "--quick"]
    command += ["--target", str(tmp_path / "mould.ply"), "--pose", "free", "--out", str(tmp_path / "out")]
    variables = {name: value for name, value in os.environ.items() if name not in ("ROS_DOMAIN_ID", "ROS_LOG_DIR")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["target"].startswith("mould.ply, which is met within") and "target: mould.ply" in done.stdout
    assert 0.0 < report["surface_error_mm"]["mean"] < 3.0
    assert report["largest_error_Pa"]["commanded"] < 50.0 and report["largest_error_Pa"]["had"] < NEAR


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--target", "nowhere.stl"), "no target at 'nowhere.stl'"),
        (("--target", "mould.step"), "expected a file that ends in"),
        (("--target", "mould.stl", "--pressures", "1500,700"), "give one of them"),
        (("--pose", "free"), "of a --target, which is not given"),
        (("--pressures", "1500"), "expected 2 of them [Pa], of left, right"),
        (("--pressures", "1500,much"), "expected numbers between commas [Pa]"),
        (("--pressures", "1500,9000"), "right 9000 Pa is outside 0…3000 Pa"),
        (("--imu", "trial.mat"), "the base stands while 'two_rooms' takes a shape"),
    ],
)
def test_a_run_by_weights_that_cannot_be_says_why(membrane, weights, options, told, tmp_path, capsys):
    run = ["run", str(membrane[0].path), "--weights", str(weights), "--out", str(tmp_path)]
    assert main([*run, *options]) == 2
    assert told in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_pressures_of_a_shape_want_weights(membrane, capsys):
    assert main(["run", str(membrane[0].path), "--pressures", "1500,700"]) == 2
    assert "of no use without --weights" in capsys.readouterr().err
    assert main(["run", str(membrane[0].path), "--target", "mould.stl"]) == 2
    assert "--target mould.stl: of no use without --weights" in capsys.readouterr().err


def test_a_cloud_becomes_the_pressures_of_an_emulated_robot_until_it_is_stopped(listener, cloud, found):
    message = cloud_message(0.0, "scanner", cloud)
    listener.wait_for(lambda: listener.says("bringup", "all nodes are active"))
    asked = SolveShape.Request(target=message, free_pose=True)
    answer = listener.call(SolveShape, "solve_shape", asked)
    assert answer.success and list(answer.pressures.names) == ["left", "right"], answer.message
    np.testing.assert_allclose(answer.pressures.pressures, found.pressures, atol=5.0)
    np.testing.assert_allclose(cloud_arrays(answer.points)[0], found.points, atol=1e-4)
    assert answer.mean == pytest.approx(found.mean, rel=0.1) and answer.mean < 2e-3
    assert not listener.heard["chambers/command"] and found.pressures.min() > 2.0 * NEAR

    listener.wait_for(lambda: one_of_two_is_refused(listener, asked))

    publisher = listener.node.create_publisher(PointCloud2, "target_shape", 1)
    listener.wait_for(publisher.get_subscription_count)
    publisher.publish(message)
    listener.wait_for(lambda: listener.says("shape_to_pressures", "commanding the pressures of the target shape"))
    assert newest(listener, "truth/chambers").max() < NEAR  # nobody has enabled the valves
    assert listener.call(SetBool, "enable", SetBool.Request(data=True)).success
    np.testing.assert_allclose(newest(listener, "chambers/command"), found.pressures, atol=5.0)
    listener.wait_for(lambda: np.abs(newest(listener, "truth/chambers") - found.pressures).max() < NEAR)

    assert listener.call(Trigger, "stop", Trigger.Request()).success
    listener.wait_for(lambda: newest(listener, "truth/chambers").max() < NEAR)
    listener.wait_for(lambda: listener.state("pressures_to_valves") == "stopped")
    assert listener.says("shape_to_pressures", "commanding")  # it goes on asking
