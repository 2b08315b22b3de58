"""`soft-twin train`, from scans of an emulated robot to a file that says its surface."""

import re

import numpy as np
import pytest
import synthetic
import yaml
from small_membrane import content, small_sizes

import soft_twin.learning
from soft_twin.app import train
from soft_twin.app.cli import main
from soft_twin.emulation.motion_capture import capture, spread_markers
from soft_twin.emulation.scanner import scan
from soft_twin.emulation.surface_reality import SurfaceReality
from soft_twin.errors import UsageError
from soft_twin.learning.frames import Scan, write_markers, write_recording
from soft_twin.learning.simulations import learnable

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning import pipeline, storage
from soft_twin.learning.devices import use_device


def test_a_robot_is_trained_by_its_scans(tmp_path, capsys, monkeypatch):
    path = tmp_path / "two_rooms.yaml"
    path.write_text(yaml.safe_dump(content()), encoding="utf-8")
    robot, learning = learnable(path)
    reality, random = SurfaceReality(robot, learning), np.random.default_rng(0)
    pressures = np.array([[500.0, 2000.0], [1500.0, 1000.0], [1000.0, 1600.0], [2500.0, 400.0], [700.0, 2700.0]])
    monkeypatch.setattr(pipeline, "LEAST_FRAMES", 5)
    scans = [Scan(*scan(reality.shape(each), reality.triangles, learning.scanner, random)) for each in pressures]
    write_recording(tmp_path / "scans", pressures, robot.chamber_names, scans)
    out = tmp_path / "two_rooms.safetensors"
    words = ["train", str(path), "--data", str(tmp_path / "scans"), "--out", str(out), "--workers", "1"]
    with small_sizes():
        assert main([*words, "--store", str(tmp_path / "store"), "--simulations", "12", "--epochs", "40"]) == 0
    told = capsys.readouterr().out
    assert re.search(
        r"12 simulations of 0\.\d\d s, 0 of them by volume; .* are met within \d\.\d\d mm in the mean at .* between",
        told,
    )
    assert re.search(r"5 scans of \d+…\d+ points", told) and "networks are trained on" in told
    left_out = re.search(r"1 frames left out, .* (\d\.\d\d) \(.*\) before, .*(\d\.\d\d) \(.*\) after", told)
    assert 0.0 < float(left_out[2]) < float(left_out[1]) < 5.0  # mm
    assert re.search(r"all frames, by all .* before, .* after", told)
    assert re.search(r"processor time: simulations \d+ s, shapes \d+ s, test \d+ s, inputs and warp \d+ s", told)
    correction = soft_twin.learning.load(out)
    correction.check(robot)
    points = correction(np.array([1000.0, 1000.0]))
    assert points.shape == (1024, 3) and np.abs(points).max() < 0.1
    at_rest = reality.shape(np.zeros(2))
    places = spread_markers(at_rest, reality.triangles, 12, random)
    monkeypatch.undo()
    markers = [capture(reality.shape(p), reality.triangles, places, learning.markers, random) for p in pressures]
    write_markers(tmp_path / "markers", pressures, robot.chamber_names, np.array(markers), places.at(at_rest))
    again = ["train", str(path), "--data", str(tmp_path / "markers"), *words[4:], "--store", str(tmp_path / "store")]
    with small_sizes():
        assert main([*again, "--simulations", "6", "--epochs", "2"]) == 0
    assert "5 frames of 12 markers, " in capsys.readouterr().out
    assert soft_twin.learning.load(out).data != correction.data
    assert out.stat().st_mode & 0o777 == path.stat().st_mode & 0o777  # what the umask leaves, as of every other file
    for option, number in (("--seed", "-1"), ("--seed", str(2**64)), ("--simulations", "0")):
        assert main([*words, option, number]) == 2
        assert f"{option} {number}: expected" in capsys.readouterr().err
    assert main([*words, "--epochs", "0"]) == 2
    assert main(["train", "finger", *words[2:]]) == 2
    told = capsys.readouterr().err
    assert "--epochs 0" in told and "nothing of robot 'finger' is learned" in told


def test_weights_that_find_no_room_any_more_are_kept_in_the_store(tmp_path, monkeypatch):
    wanted, store = tmp_path / "full" / "w.safetensors", tmp_path / "store"
    store.mkdir()

    def save(correction, path):
        if path == wanted:
            raise UsageError("cannot write the weights: no space")
        path.write_text(correction)

    monkeypatch.setattr(storage, "save", save)
    assert str(train._save("learned", wanted, store)).endswith(f"no space; they are kept as '{store / wanted.name}'")
    assert (store / wanted.name).read_text() == "learned"
    assert train._save("again", tmp_path / "w.safetensors", store) is None


def test_too_few_simulations_are_told_before_frames_are_read(tmp_path, capsys):
    words = ["train", "membrane", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "m.safetensors")]
    assert main([*words, "--simulations", "20"]) == 2
    assert "20 simulations are too few for 9 pressures, of 2^9 corners: expected 32 or more" in capsys.readouterr().err


@pytest.mark.parametrize(("out", "told"), [("/proc/x.safetensors", "No such file"), ("taken", "it is a folder")])
def test_where_weights_cannot_go_is_told_before_anything_else(tmp_path, monkeypatch, capsys, out, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    assert main(["train", "no_such_robot", "--data", "nowhere", "--out", out]) == 2
    assert re.search(f"cannot write the weights '{out}': .*{told}", capsys.readouterr().err)
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--out", "not/there/w.txt"), "--out not/there/w.txt: expected a file that ends in .safetensors"),
        (("--out", "not/there/w.safetensors", "--workers", "-1"), "--workers -1: expected 1 or more, or 0 for one on"),
        (("--out", "not/there/w.safetensors"), "no_such_robot"),
    ],
)
def test_what_cannot_be_trained_leaves_nothing_behind(tmp_path, monkeypatch, capsys, options, told):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "no_such_robot", "--data", "nowhere", *options]) == 2
    assert told in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_bags_folder_is_a_recording_unless_it_has_frames(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["train", "membrane", "--out", "w.safetensors", "--data"]
    for name in ("whole", "without metadata", "frames"):
        (tmp_path / name).mkdir()
        recorder = synthetic.Recorder(tmp_path / name / f"{name}_0.mcap")
        recorder.add("other", "std_msgs/msg/Bool", 0.0, {"data": True})
        recorder.writer.close()
    (tmp_path / "whole" / "metadata.yaml").write_text(
        "rosbag2_bagfile_information: {version: 5, relative_file_paths: [whole_0.mcap]}"
    )
    (tmp_path / "frames" / "frames.csv").write_text("nothing\n")
    for name in ("whole", "without metadata", "whole/whole_0.mcap"):
        assert main([*words, name]) == 2
        assert "expected one topic of soft_twin_msgs/msg/Pressures called chambers/state" in capsys.readouterr().err
    assert main([*words, "frames"]) == 2
    assert "frames.csv: its columns are nothing" in capsys.readouterr().err


def test_recordings_that_are_not_there_and_topics_of_folders_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["train", "membrane", "--out", "w.safetensors", "--data"]
    assert main([*words, "nothing.mcap"]) == 2
    assert "nothing.mcap" in capsys.readouterr().err
    for option in ("scan", "markers"):
        assert main([*words, "scans", f"--{option}", "/seen"]) == 2
        assert f"--{option} /seen: 'scans' is no recording of topics" in capsys.readouterr().err


def test_networks_are_trained_on_the_device_that_is_asked_for():
    import jax

    before = jax.config.jax_default_device
    try:
        assert use_device("cpu") == "cpu" and jax.config.jax_default_device.platform == "cpu"
        try:
            jax.devices("gpu")
        except RuntimeError:
            with pytest.raises(UsageError, match="no gpu for JAX, which has cpu: install its wheels for yours"):
                use_device("gpu")
    finally:
        jax.config.update("jax_default_device", before)
