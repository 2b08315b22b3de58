"""What a report says of an emulated robot that did not keep up with real time."""

import json

import synthetic_run
from synthetic import Recorder

from soft_twin import load_robot
from soft_twin.recording.evaluation import evaluate
from soft_twin.recording.report import summary, table


def _report(path, paces):
    recorder = Recorder(path)
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "without"})
    for second, pace in enumerate(paces):
        recorder.add("truth/pace", "std_msgs/msg/Float64", float(second + 1), {"data": pace})
    recorder.close()
    return summary(evaluate(path, load_robot("slender")))


def test_a_run_that_fell_behind_is_marked_and_says_by_how_much(tmp_path):
    report = _report(tmp_path / "run.mcap", [1.0, 1.0, 0.9, 0.7, 1.0, 0.8, 1.0])
    assert report["emulation"] == {"degraded": True, "slow_for_s": 3.0, "pace": 0.8}
    assert "ran at 0.80 of real time for 3.0 s" in table(report)
    json.dumps(report, allow_nan=False)


def test_a_run_that_kept_up_is_not_marked(tmp_path):
    report = _report(tmp_path / "run.mcap", [1.0, 0.99, 1.01])
    assert report["emulation"] == {"degraded": False, "slow_for_s": 0.0, "pace": 1.0}
    assert "degraded" not in table(report)


def test_of_a_robot_without_a_pace_nothing_is_said(tmp_path):
    synthetic_run.write(tmp_path / "run.mcap")
    report = summary(evaluate(tmp_path / "run.mcap", load_robot("slender")))
    assert report["emulation"] is None
