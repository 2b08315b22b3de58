import json
import signal

import numpy as np
import pytest
import synthetic_run
from PIL import Image
from synthetic import Recorder, xyz

from soft_twin.app.cli import main
from soft_twin.errors import RecordingError
from soft_twin.recording import report_picture
from soft_twin.recording.report import table, write_report
from soft_twin.recording.simulated import SimulatedRecording


@pytest.fixture(scope="module")
def folder(run_path, robot, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(run_path, folder / "new", robot)
    return folder / "new"


def test_the_faces_that_others_script_against(folder):
    report = json.loads((folder / "report.json").read_text())
    assert (report["robot"], report["source"]) == ("slender", "profile")
    assert [pose["inclination_deg"] for pose in report["poses"]] == [135.0, 90.0, 45.0, 0.0, -45.0]
    level = report["poses"][3]
    assert level["tip_error_mm"]["without"] == pytest.approx(1e3 * synthetic_run.tip_error(0.0, "without"), abs=1e-3)
    assert level["tip_error_mm"]["with"] == pytest.approx(1e3 * synthetic_run.tip_error(0.0, "with"), abs=1e-3)
    assert level["tilt_deg"]["with"] == pytest.approx(1.719, abs=1e-3)
    assert report["latency_ms"]["median"] == 12.0
    assert 4.0 < report["tick_ms"]["median"] <= report["tick_ms"]["p99"] < 5.0
    assert report["correlation"] == pytest.approx(1.0, abs=1e-4)


def test_binding_limits_are_counted(folder):
    report = json.loads((folder / "report.json").read_text())
    assert report["binding_limits"] == {"cable_1 tension low": -(-report["solves"] // 4)}


def test_the_picture_is_a_picture(folder):
    with Image.open(folder / "report.png") as picture:
        picture.verify()
        assert min(picture.size) > 800


def test_the_table_has_a_line_a_pose_and_the_delays(folder):
    lines = table(json.loads((folder / "report.json").read_text())).splitlines()
    assert [line.split()[0] for line in lines[2:7]] == ["135.0", "90.0", "45.0", "0.0", "-45.0"]
    assert any(line.startswith("IMU sample to command [ms]") and "- / -" in line for line in lines)


@pytest.mark.parametrize("namespace", ["slender", "finger"])
def test_a_recording_with_nothing_to_report_leaves_an_old_report_as_it_was(tmp_path, robot, namespace):
    recorder = Recorder(tmp_path / "run.mcap", namespace)
    recorder.add("gravity", "geometry_msgs/msg/Vector3Stamped", 1.0, {"vector": xyz([0.0, 0.0, -9.81])})
    recorder.close()
    for name in ("report.json", "report.png"):
        (tmp_path / name).write_text("good")
    wanted = "nothing to report" if namespace == "slender" else "no topic of 'slender' in it: it has 'finger'"
    with pytest.raises(RecordingError, match=wanted):
        write_report(tmp_path / "run.mcap", tmp_path, robot)
    assert [(tmp_path / name).read_text() for name in ("report.json", "report.png")] == ["good", "good"]


def test_a_recording_of_other_phases_is_told_which_are_reported(tmp_path, robot):
    with SimulatedRecording(tmp_path / "static.mcap", robot) as recording:
        recording.text("run/phase", 0.0, "45°")
        recording.pose("truth/tip", 0.02, np.array([0.0, 0.0, 0.1]), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(RecordingError, match="no solves in it, and no phase 'without' or 'with' of which the truth is"):
        write_report(tmp_path / "static.mcap", tmp_path, robot)


def test_a_cut_off_recording_is_reported_as_far_as_it_goes(run_path, tmp_path, robot):
    data = run_path.read_bytes()
    (tmp_path / "run.mcap").write_bytes(data[: 3 * len(data) // 4])
    report = write_report(tmp_path / "run.mcap", tmp_path, robot)
    assert not report["recording_complete"]
    assert report["poses"][0]["tip_error_mm"]["without"] > 10.0
    assert "cut off" in table(report)


def test_the_command_makes_the_report_anew(run_path, tmp_path, capsys):
    assert main(["report", str(run_path), "--out", str(tmp_path), "--source", "trial"]) == 0
    printed = capsys.readouterr().out
    assert "tip error [mm]" in printed
    assert str(tmp_path / "report.png") in printed
    assert json.loads((tmp_path / "report.json").read_text())["source"] == "trial"


def test_a_missing_recording_is_one_line(tmp_path, capsys):
    assert main(["report", str(tmp_path / "gone.mcap")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_interruption_that_the_drawing_library_turns_into_another_error_is_still_one(
    run_path, tmp_path, robot, monkeypatch
):
    def interrupted(*of):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("Invalid bounding box") from None

    monkeypatch.setattr(report_picture, "draw_errors", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(run_path, tmp_path, robot)
    assert not [*tmp_path.iterdir()]


def test_an_unwritable_folder_is_one_clear_error(run_path, tmp_path, robot):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot write the report into '.*file'"):
        write_report(run_path, tmp_path / "file", robot)
