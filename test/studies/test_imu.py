"""The IMU's experiment in small: what the paper found holds, and the tables say it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from soft_twin.app.cli import main
from soft_twin.errors import RecordingError
from soft_twin.studies import imu
from soft_twin.studies.imu_ablation import cases, make_motion, temperature_error

DATA = Path(os.environ.get("SOFT_TWIN_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="module")
def ablation():
    return {(case.motion, case.heated, case.filtered): case for case in cases(duration=40.0, rate=50.0)}


@pytest.fixture
def broad(tmp_path):
    """A folder like BROAD's with one trial that stands still, tilted, and turns about the vertical."""
    folder = tmp_path / "broad"
    folder.mkdir()
    count, rate, tilt = 4000, 200.0, 0.3
    turning = np.arange(count) > 1000
    heading = np.cumsum(0.5 * turning) / rate
    up = np.array([0.0, np.sin(tilt), np.cos(tilt)])
    rng = np.random.default_rng(1)
    x, z = np.array([np.cos(tilt / 2), np.sin(tilt / 2)]), np.stack([np.cos(heading / 2), np.sin(heading / 2)], axis=1)
    quaternion = np.column_stack([z[:, 0] * x[0], z[:, 0] * x[1], z[:, 1] * x[1], z[:, 1] * x[0]])
    savemat(
        folder / "01_still.mat",
        {
            "imu_gyr": 0.5 * turning[:, None] * up + 1e-3 * rng.standard_normal((count, 3)),
            "imu_acc": 9.81 * up + 0.02 * rng.standard_normal((count, 3)),
            "opt_quat": quaternion,
            "movement": turning,
            "sampling_rate": rate,
        },
    )
    published = {"trials": {"01_still": {"tagp_parameters": {"inclination_rmse_deg": 1.25}}}}
    (folder / "results_mahony_average_rmse.json").write_text(json.dumps(published))
    return tmp_path


def test_each_measure_helps_as_in_the_paper(ablation):
    drift = {key: np.degrees(np.abs(case.yaw).max()) for key, case in ablation.items()}
    assert drift["static", True, True] < 0.5
    assert drift["swings", True, True] < 0.5
    assert drift["static", False, False] > 3.0 * drift["static", False, True]
    assert drift["static", False, False] > 3.0 * drift["static", True, False]


def test_inclination_needs_the_filter(ablation):
    for motion in ("static", "swings"):
        filtered = imu.rms(ablation[motion, True, True].inclination)
        assert np.degrees(filtered) < 0.3
        assert imu.rms(ablation[motion, False, False].inclination) > filtered


def test_ablation_has_a_row_for_each_case(ablation):
    lines = imu.ablation_table(list(ablation.values())).splitlines()
    assert len(lines) == 9
    assert lines[-1].split()[:3] == ["swings", "controlled", "on"]


def test_swings_go_through_a_right_angle_at_the_papers_rate():
    motion = make_motion("swings", duration=30.0, rate=200.0)
    angle = 2.0 * np.arctan2(motion.quaternion_wxyz[:, 1], motion.quaternion_wxyz[:, 0])
    assert np.degrees(np.ptp(angle)) == pytest.approx(90.0, abs=1.0)
    assert np.degrees(np.abs(motion.angular_velocity).max()) == pytest.approx(23.0, abs=0.1)
    np.testing.assert_allclose(np.gradient(angle, 1 / 200.0), motion.angular_velocity[:, 0], atol=0.02)


def test_temperature_is_rejected_when_the_air_cools():
    error = temperature_error(step=-10.0, duration=120.0)
    assert np.abs(error[3000:6000]).max() < 0.1
    assert np.abs(error[6000:]).max() < 0.3


def test_trials_are_compared_with_what_is_published(broad):
    [row] = imu.trial_rows(broad)
    assert row.name == "01_still"
    assert row.ekf < 0.3
    assert row.mahony == 1.25
    assert np.isnan(row.madgwick)
    assert row.within > 0.95
    assert "mean of 1" in imu.trial_table([row])


@pytest.mark.skipif(not (DATA / "broad").is_dir(), reason=f"no BROAD recordings at {DATA / 'broad'}")
def test_on_real_recordings_the_filter_is_better_than_vqf():
    pytest.importorskip("vqf")
    rows = imu.trial_rows(DATA)
    mean = imu.mean_row(rows)
    assert mean.ekf <= 0.95 * mean.vqf
    assert np.mean([row.ekf < row.vqf for row in rows]) >= 8 / 11


def test_a_foreign_result_file_is_named(broad):
    path = broad / "broad" / "results_mahony_average_rmse.json"
    path.write_text("[]")
    with pytest.raises(RecordingError, match="not a result file of BROAD"):
        imu.trial_rows(broad)


def test_experiment_prints_its_tables_and_draws_its_pictures(broad, tmp_path, capsys, monkeypatch, ablation):
    monkeypatch.setattr(imu, "cases", lambda: list(ablation.values()))
    assert main(["experiment", "imu", "--out", str(tmp_path / "out"), "--data", str(broad)]) == 0
    out = capsys.readouterr().out
    assert "01_still" in out
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == {"ablation.png", "recordings.png"}


def test_without_recordings_the_experiment_says_so(tmp_path, capsys, monkeypatch, ablation):
    monkeypatch.setattr(imu, "cases", lambda: list(ablation.values()))
    assert main(["experiment", "imu", "--out", str(tmp_path / "out"), "--data", str(tmp_path)]) == 0
    assert "no BROAD trials" in capsys.readouterr().out
