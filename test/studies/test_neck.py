"""The neck's experiments, in small."""

import json
from dataclasses import asdict

import matplotlib.image
import numpy as np
import pytest

import soft_twin
from soft_twin.parallel import Workers, working_with
from soft_twin.recording.reader import arrays
from soft_twin.studies import neck
from soft_twin.studies.neck_loop import Moments

pytestmark = pytest.mark.usefixtures("settled")
TARGET = (29.5, 35.0)


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("neck")


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(neck, "RAMP", 0.8)
    monkeypatch.setattr(neck, "HOLD", 0.4)


def test_steered_by_finite_elements_the_neck_comes_nearer_than_by_chords_which_holding_mends(short, tmp_path):
    cases = [neck.Case(3, TARGET, name, closed, True) for name, closed in (("pcc_chord", False), ("fem", False),
                                                                          ("pcc_chord", True))]  # fmt: skip
    found = [neck.follow(case) for case in cases]
    rows = [neck.row(case, moments.trace, ik_ms) for case, (moments, ik_ms) in zip(cases, found, strict=True)]
    chords, elements, held = (np.hypot(*(moments.trace[-1] - TARGET)) for moments, _ in found)
    assert elements < 0.3 < 2.0 < chords
    assert held < 0.6 * chords
    assert np.hypot(rows[1].rms_pitch, rows[1].rms_roll) < np.hypot(rows[0].rms_pitch, rows[0].rms_roll)
    assert rows[0].ik_ms < 0.1 < rows[1].ik_ms
    assert len(neck.table(rows).splitlines()) == 1 + len(neck.PAPER) + len(cases)
    json.dumps([asdict(each) for each in rows])
    neck.record(tmp_path / "neck.mcap", cases, [moments for moments, _ in found])
    assert (tmp_path / "neck.mcap").stat().st_size > 10_000
    neck.draw(tmp_path / "picture.png", {("fem", False, True): found[1][0].trace}, TARGET)
    assert (tmp_path / "picture.png").exists()


def test_the_emulated_neck_is_another_one_than_the_models(robot):
    ours, emulated = robot.build_model(), robot.build_emulated_model()
    assert emulated.unknowns.size > ours.unknowns.size
    assert emulated.body.modulus < 0.95 * ours.body.modulus


def test_the_sweep_tells_models_that_know_of_the_payload():
    swept = [
        neck.sweep([(25.0, 40.0)], (name, False, payload)) for name in ("pcc_chord", "fem") for payload in (0.0, 1.0)
    ]
    assert all(each.largest < 0.2 if each.model == "fem" else each.largest > 1.0 for each in swept)
    json.dumps([asdict(each) for each in swept])
    assert len(neck.sweep_table(swept).splitlines()) == 1 + len(swept)


def test_what_is_held_finds_its_payload(monkeypatch):
    monkeypatch.setattr(neck, "TARE", 1.0)
    monkeypatch.setattr(neck, "EACH", 1.0)
    held = neck.sweep([(25.0, 40.0)], ("pcc_chord", True, 0.5))
    assert held.closed and held.mean < 0.6


def lagging(case):
    """A neck that lags by 0.4 s, and is two degrees off where nothing holds it."""
    time = neck.DT * np.arange(1, round((neck.RAMP + neck.HOLD) / neck.DT) + 1)
    shares = np.clip((time - 0.4) / neck.RAMP, 0.0, 1.0)
    trace, nothing = np.outer(shares, case.target), np.zeros((len(time), 3))
    trace[:, 0] += 2.0 * (not case.closed and not case.homed)
    axes = nothing + [0.0, 0.0, 1.0]
    return Moments(trace, nothing, axes, nothing, nothing, nothing, np.full((len(time), 2, 3), np.nan)), 0.5


def swept(poses, case):
    return neck.Swept(case[2], case[0], case[1], float(len(poses)), 99.0)


def test_a_whole_run_tells_draws_and_records(tmp_path, monkeypatch):
    targets = {2: [(0.0, 43.3)], 3: [(29.5, 35.0)]}
    for name, value in (("TARGETS", targets), ("RAMP", 1.0), ("HOLD", 1.0), ("follow", lagging), ("sweep", swept)):
        monkeypatch.setattr(neck, name, value)
    with working_with(Workers(1)):
        told = neck.run(tmp_path, tmp_path)
    content = json.loads((tmp_path / "table.json").read_text())
    rows = content["rows"]
    assert len(rows) == 2 * 3 * 2 * 2 and len(content["sweep"]) == 3 * 2 * 3
    for row in rows:
        off = 2.0 * (not row["closed"] and not row["homed"])
        lag = row["pitch"] * np.maximum(0.4 - neck.DT * np.arange(1, round(1.0 / neck.DT) + 1), 0.0)
        assert row["rms_pitch_last"] == pytest.approx(np.sqrt(((off - lag) ** 2).mean()), abs=1e-6)
    recorded = arrays(tmp_path / "neck.mcap")
    assert len(recorded["/neck/run/phase"]) == len(rows)
    tips = recorded["/neck/truth/tip"]
    assert len(tips) == len(rows) * round(2.0 / neck.DT)
    assert 1e-9 * np.diff(tips.stamp).min() > 0.5 * neck.DT, "one behind the other"
    assert len(told.splitlines()) == 1 + len(neck.PAPER) + len(rows) + 2 + 18
    for number in neck.TARGETS:
        assert np.ptp(matplotlib.image.imread(tmp_path / f"experiment_{number}.png")) > 0.5
