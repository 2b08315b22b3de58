"""The loop in simulated time, in small: it holds a robot straight that sags without it, as its twin says."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.recording.reader import arrays
from soft_twin.studies.slender import loop, poses

STRAIGHT = (0.0, 0.0, 0.1)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(poses, "SAGGING", 0.4)
    monkeypatch.setattr(poses, "TAKEN", 0.3)
    monkeypatch.setattr(poses, "RAMP", 0.3)
    monkeypatch.setattr(poses, "HELD", 0.2)
    monkeypatch.setattr(poses, "LAST", 0.1)
    monkeypatch.setattr(loop, "SETTLED", 2.0)


def test_a_robot_that_sags_is_held_straight_by_a_twin_of_the_same_body(same, short, tmp_path):
    pose = poses.BaseAttitude(0.0, 60.0)
    history, virtual = poses.stand(str(same.path), str(same.path), STRAIGHT, (pose, False))
    found = poses.row(pose, STRAIGHT, history, virtual, history, poses.nearest_possible(str(same.path), STRAIGHT, pose))
    assert 0.5 < found.possible_mm < found.twin_error_mm < found.error_mm  # it does not keep any tension
    assert found.sag_mm > 2.0 and found.lateral_mm < 0.3 * found.sag_mm
    assert found.correlation > 0.998
    assert 0.0 < found.delay_s < 0.05
    sideways = np.array([np.sin(np.radians(60.0)), np.cos(np.radians(60.0))])  # where gravity pulls, seen rolled
    sagged = history.after(0.4, 0.4).tips[0, :2]
    assert np.allclose(-sideways, sagged / np.linalg.norm(sagged), atol=0.15)
    json.dumps(asdict(found))
    poses.draw(tmp_path / "poses.png", STRAIGHT, [pose], [(history, virtual)])
    poses.record(tmp_path / "poses.mcap", same, {str(pose): history})
    assert (tmp_path / "poses.png").exists()
    twin, moment = same.build_twin(), 6
    twin.equilibrium(history.gravity[moment], coordinates=np.zeros(len(same.cable_names)))
    recorded = arrays(tmp_path / "poses.mcap")["/slender/twin/tip"]
    assert np.allclose(recorded["position"][moment], twin.tip, atol=2e-4)
    axis = Rotation.from_quat(recorded["orientation_xyzw"][moment]).apply([0.0, 0.0, 1.0])
    assert np.allclose(axis, twin.section_normal(twin.span[1]), atol=1e-3)  # it falls at once; the robot swings
    assert np.linalg.norm(axis - history.axes[moment]) > 0.03
    assert str(pose) in poses.table([found])


def test_a_tip_sensor_takes_off_what_the_twin_does_not_know(same, small, short, monkeypatch):
    monkeypatch.setattr(poses, "HELD", 1.2)
    softer = small(
        "softer", emulated={"young_modulus_scale": 0.7, "density_scale": 1.0, "cable_friction": 0.0, "motor_lag": 0.02}
    )
    off = []
    for sensed in (False, True):
        history, _ = poses.stand(str(softer.path), str(same.path), STRAIGHT, (poses.BaseAttitude(0.0), sensed))
        off.append(float(np.linalg.norm(history.tips[-5:, :2].mean(axis=0))))
    assert off[0] > 5e-4
    assert off[1] < 0.25 * off[0]


def test_a_delay_is_found_between_samples_and_a_correlation_is_pearsons():
    t = np.arange(0.0, 4.0, 0.02)
    wave = np.column_stack([np.sin(2.0 * t), np.cos(3.0 * t)])
    late = np.column_stack([np.sin(2.0 * (t - 0.05)), np.cos(3.0 * (t - 0.05))])
    assert loop.delay(wave, late, 0.02, 0.2) == pytest.approx(0.05, abs=1e-3)
    assert loop.correlation(wave[:, :1], late[:, :1]) == pytest.approx(np.corrcoef(wave[:, 0], late[:, 0])[0, 1])
    assert loop.correlation(wave, -wave) == pytest.approx(-1.0)


def test_a_damped_robot_turns_back_later_than_its_twin_that_knows_no_time(small, short):
    damping = {"rayleigh_mass": 0.42, "rayleigh_stiffness": 0.1}
    damped = small(
        "damped",
        body__damping=damping,
        emulated={"young_modulus_scale": 1.0, "density_scale": 1.0, "cable_friction": 0.0, "motor_lag": 0.02},
    )
    case = poses.BaseAttitude(0.0), False
    history, virtual = poses.stand(str(damped.path), str(damped.path), STRAIGHT, case)
    assert 0.02 < poses.row(case[0], STRAIGHT, history, virtual, history, 0.0).peak_s < 0.3


def test_the_peak_of_a_tip_is_where_it_begins_to_come_back():
    times = np.arange(0.0, 3.0, 0.02)
    sag = np.where(times < 1.0, np.minimum(1.1 * times, 1.0), np.exp(1.0 - times))
    tips = np.array(STRAIGHT) - 1e-2 * np.outer(sag, [0.0, 1.0, 0.0])
    assert loop.peak(times, tips, np.array(STRAIGHT)) == pytest.approx(1.0, abs=0.021)
    ringing = tips - 1e-4 * np.outer(np.abs(times - 0.5) < 0.011, [0.0, 1.0, 0.0])
    assert loop.peak(times, ringing, np.array(STRAIGHT)) == pytest.approx(1.0, abs=0.021)


def test_winches_keep_their_rate_and_lag():
    winches = loop.Winches(rate=0.05, lag=0.02, wound=np.zeros(1))
    reached = [winches.step(np.array([0.01]), 0.02)[0] for _ in range(30)]
    assert max(np.diff(reached)) <= 0.05 * 0.02 + 1e-12
    assert reached[0] == pytest.approx(0.001 * (1.0 - np.exp(-1.0))) and reached[-1] == pytest.approx(0.01, rel=1e-3)
