"""Leaving one trial out: it is not looked at, data sets count alike, the table says what was reached."""

import numpy as np
import pytest
from scipy.io import savemat
from scipy.spatial.transform import Rotation

from soft_twin.sensing.ekf import EkfParameters
from soft_twin.studies import imu_parameters as experiment


@pytest.fixture
def pool():
    return experiment.parameter_pool(64, seed=3)


def ratios(pool, best):
    """(count, 3) errors that are least at the parameters `best`, the same for every trial."""
    distance = np.linalg.norm(np.log(pool / best), axis=1)
    return np.exp(distance)[:, None] * np.array([[0.5, 1.0, 2.0]])


def test_the_pool_spans_the_ranges_and_is_seeded(pool):
    low, high = np.array(list(experiment.RANGES.values())).T
    assert np.all((pool >= low) & (pool <= high))
    assert np.all(pool.min(axis=0) < 1.3 * low)
    assert np.all(pool.max(axis=0) > high / 1.3)
    np.testing.assert_array_equal(pool, experiment.parameter_pool(64, seed=3))
    assert set(experiment.RANGES) <= set(vars(EkfParameters()))


def test_the_best_region_is_chosen(pool):
    best = np.sqrt(np.prod(np.array(list(experiment.RANGES.values())), axis=1))
    chosen = experiment.choose(pool, ratios(pool, best), np.array(["a", "a", "a"]))
    assert np.all(np.abs(np.log(chosen / best)) < 0.6)


def test_the_trial_left_out_changes_nothing(pool):
    sets = np.array(["a", "a", "b"])
    values = ratios(pool, pool[5])
    other = values.copy()
    other[:, 1] = np.random.default_rng(0).random(len(pool)) * 100.0
    np.testing.assert_array_equal(
        experiment.choose(pool, values, sets, left_out=1), experiment.choose(pool, other, sets, left_out=1)
    )
    assert not np.array_equal(experiment.choose(pool, values, sets), experiment.choose(pool, other, sets))


def test_data_sets_count_alike_whatever_their_number_of_trials(pool):
    values = np.repeat(ratios(pool, pool[7])[:, :1], 4, axis=1)
    values[:, 3] = ratios(pool, pool[40])[:, 0]
    many = experiment.choose(pool, values, np.array(["a", "a", "a", "b"]))
    one = experiment.choose(pool, values[:, [0, 3]], np.array(["a", "b"]))
    np.testing.assert_allclose(many, one)


def test_the_table_has_every_trial_once(tmp_path, monkeypatch):
    pytest.importorskip("vqf")
    monkeypatch.setattr(experiment, "POOL", 16)
    (tmp_path / "broad").mkdir()
    rate, count = 100.0, 2000
    t = np.arange(count) / rate
    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = Rotation.from_euler("yx", 0.4 * np.sin(rng.uniform(0.5, 1.0, 2) * t[:, None]))
        rates = rate * (truth[:-1].inv() * truth[1:]).as_rotvec()
        savemat(
            tmp_path / "broad" / f"{seed}.mat",
            {
                "imu_gyr": np.vstack([rates[:1], rates]) + 2e-3 * rng.standard_normal((count, 3)),
                "imu_acc": truth.inv().apply([0.0, 0.0, 9.81]) + 0.3 * rng.standard_normal((count, 3)),
                "opt_quat": np.roll(truth.as_quat(), 1, axis=1),
                "movement": t > 2.0,
                "sampling_rate": rate,
            },
        )
    table = experiment.run(tmp_path, tmp_path)
    lines = table.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["0", "1", "2"]
    assert lines[4].startswith("BROAD: mean of 3")
    *told, gap, absent = lines
    assert [line.split()[0] for line in told[-len(experiment.RANGES) :]] == list(experiment.RANGES)
    assert (gap, absent) == ("", f"no trial of RepoIMU in {tmp_path / 'repoimu'}: all is chosen without it")
    assert (tmp_path / "left_out.png").is_file()


def test_too_few_trials_are_said(tmp_path):
    pytest.importorskip("vqf")
    assert "fewer than three trials" in experiment.run(tmp_path, tmp_path)
