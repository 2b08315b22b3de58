"""What a run leaves in its folder, without its nodes."""

import re
from types import SimpleNamespace

import pytest
import yaml

from soft_twin import load_robot
from soft_twin.app import run
from soft_twin.app.cli import main
from soft_twin.errors import RunError
from soft_twin.recording.writer import claimed

pytest.importorskip("rclpy", reason="ROS 2 is not there")

OLD = ("run.mcap", "metadata.yaml", "report.json", "report.png", "frames/frames.csv")


@pytest.fixture
def before(tmp_path):
    """A folder in which a robot has run, and a note of the user's."""
    (tmp_path / "frames").mkdir()
    for name in (*OLD, "note.txt"):
        (tmp_path / name).write_text("old")
    return tmp_path


def _left(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("end", "error"), [(RunError("a node ended"), RunError), (KeyboardInterrupt(), BaseException)])
@pytest.mark.parametrize("begun", [True, False])
def test_nothing_of_the_run_before_stays_beside_a_new_recording(before, monkeypatch, capsys, end, error, begun):
    def run_robot(robot, sequence, recording, *_):
        if begun:
            recording.write_bytes(b"new")
        raise end

    monkeypatch.setattr("soft_twin_ros.running.run.run", run_robot)
    with pytest.raises(error) as raised:
        run._recorded_run(SimpleNamespace(name="slender"), None, before, False)
    assert _left(before) == {"note.txt"} | ({"run.mcap"} if begun else set())
    told = f"{raised.value}{capsys.readouterr().out}"
    assert ("run.mcap" in told) == begun


def eight_cables(robot):
    cable = robot["cables"][0]
    for k in range(8 - len(robot["cables"])):
        start, end = ([x + 1e-4 * (k + 1), y, z] for x, y, z in (cable["start"], cable["end"]))
        robot["cables"].append(cable | {"name": f"more_{k}", "start": start, "end": end, "motor_id": 3 + k})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda robot: robot["imus"].pop(0), "robot.imus: none is in the base, which gravity is measured in"),
        (eight_cables, "8 motors do not fit on a bus"),
    ],
)
def test_what_nodes_would_end_for_is_told_before_they_are_started(tmp_path, capsys, change, message):
    content = yaml.safe_load(load_robot("finger").path.read_text(encoding="utf-8"))
    change(content["robot"])
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    assert main(["run", str(tmp_path / "mine.yaml"), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.out == ""


def test_a_run_beside_another_one_of_the_robot_leaves_its_files_alone(before, monkeypatch, capsys):
    from soft_twin_ros import only_one

    monkeypatch.setenv("ROS_DOMAIN_ID", "199")
    monkeypatch.setattr(only_one, "PATIENCE", 0.0)
    with only_one.claim_name("/slender/imu_to_gravity"):
        assert main(["run", "slender", "--quick", "--out", str(before)]) == 2
    told = capsys.readouterr().err
    assert "/slender/imu_to_gravity runs already in ROS domain 199" in told and "recorded until then" not in told
    assert _left(before) == {*OLD, "note.txt"}


def test_a_run_into_a_folder_that_is_recorded_into_leaves_its_files_alone(before, capsys):
    with claimed(before / "run.mcap"):
        assert main(["run", "slender", "--quick", "--out", str(before)]) == 2
    assert "run.mcap' is being recorded to" in capsys.readouterr().err
    assert _left(before) == {*OLD, "note.txt"}


@pytest.mark.parametrize("quick", [[], ["--quick"]])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inclinations_deg", 90.0),
        ("inclinations_deg", ["up", "down"]),
        ("inclinations_deg", []),
        ("hold_time", "2 s"),
        ("hold_time", -5.0),
        ("move_time", [1.0]),
        ("move_time", True),
    ],
)
def test_turns_of_the_base_that_are_none_are_named_before_anything_runs(tmp_path, capsys, quick, name, value):
    description = yaml.safe_load(load_robot("slender").path.read_text(encoding="utf-8"))
    description["nodes"]["emulated_robot"] = {name: value}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(description), encoding="utf-8")
    assert main(["run", str(tmp_path / "mine.yaml"), *quick, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert re.search(rf"mine.yaml:\d+: nodes.emulated_robot.{name}: .* (expected|is not positive)", told), told
    assert not (tmp_path / "out").exists()
