"""The neck's experiments, in small."""

import json

import numpy as np
import pytest

import soft_twin
from soft_twin.emulation.plant import Plant
from soft_twin.studies import neck


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("neck")


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(neck, "RAMP", 0.8)
    monkeypatch.setattr(neck, "HOLD", 0.4)


def test_steered_by_finite_elements_the_neck_comes_nearer_than_by_chords(robot, short):
    plant, target = Plant(robot), (29.5, 35.0)
    rows, off = [], {}
    for name in ("pcc_chord", "fem"):
        trace, ik_ms = neck.follow(plant, robot, robot.build_twin(name), target, closed=False, homed=True)
        rows.append(neck.row(3, target, name, False, True, trace, ik_ms))
        off[name] = np.hypot(*(trace[-1] - target))
    assert off["fem"] < 0.3 < 2.0 < off["pcc_chord"]
    assert np.hypot(rows[1].rms_pitch, rows[1].rms_roll) < np.hypot(rows[0].rms_pitch, rows[0].rms_roll)
    lines = neck.table(rows).splitlines()
    assert len(lines) == 1 + len(neck.PAPER) + 2


def test_the_emulated_neck_is_another_one_than_the_models(robot):
    ours, emulated = robot.build_model(), robot.build_emulated_model()
    assert emulated.unknowns.size > ours.unknowns.size
    assert emulated.body.modulus < 0.95 * ours.body.modulus


def test_the_sweep_tells_models_that_know_of_the_payload(robot):
    models = {name: robot.build_twin(name) for name in ("pcc_chord", "fem")}
    swept = neck.sweep(robot, models, [(25.0, 40.0)])
    by = {(each["payload"], each["model"]): each["largest"] for each in swept}
    assert len(by) == 2 * len(neck.PAYLOADS)
    assert all(by[payload, "fem"] < 0.2 < 1.0 < by[payload, "pcc_chord"] for payload in neck.PAYLOADS)
    assert models["fem"].payload == 0.0
    json.dumps(swept)
    assert len(neck.sweep_table(swept).splitlines()) == 1 + len(swept)


def test_traces_are_drawn(tmp_path):
    trace = np.zeros((350, 2))
    neck.draw(tmp_path / "picture.png", {("fem", False, True): trace, ("pcc_arc", True, False): trace}, (44.4, 0.0))
    assert (tmp_path / "picture.png").exists()
