"""The neck's experiments, in small."""

import json
from dataclasses import asdict

import numpy as np
import pytest

import soft_twin
from soft_twin.studies import neck

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
    held = neck.sweep([(25.0, 40.0)], ("pcc_chord", True, 0.5))
    assert held.closed and held.mean < 0.6
