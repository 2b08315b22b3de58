"""E and damping by a recorded release: the truth comes back, in few simulations; broken recordings are one line."""

import numpy as np
import pytest

from soft_twin.app.cli import main
from soft_twin.calibration.release import Release, read_release, released_twin
from soft_twin.calibration.tune import search_grid, total_error, tune
from soft_twin.errors import RecordingError
from soft_twin.parallel import Workers
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots import load_robot

GRAVITY, DT, STEPS = np.array([0.0, -9.81, 0.0]), 0.1, 10
TRUTH = {"young_modulus": 0.68e6, "mass_damping": 0.5, "stiffness_damping": 0.31, "density": 1150.0}


@pytest.fixture(scope="module")
def robot():
    return load_robot("slender")


@pytest.fixture(scope="module")
def release(robot):
    """What the twin itself does with TRUTH, at the ends of its steps."""
    times = DT * np.arange(STEPS + 1)
    straight = Release(times, np.tile([0.0, 0.0, 0.1], (STEPS + 1, 1)), GRAVITY)
    twin = released_twin(robot.path, straight, DT)
    twin.set(TRUTH)
    return Release(times, np.vstack([straight.tips[:1], twin.positions()[:, 0]]), GRAVITY)


def test_the_truth_comes_back_in_few_simulations_and_what_is_not_seen_stays(robot, release):
    found = tune(robot.path, release, dt=DT)
    assert len(found.history) <= 6
    assert found.error < 1e-4 * found.history[0]
    assert found.values["young_modulus"] / found.values["density"] == pytest.approx(0.68e6 / 1150.0, rel=2e-3)
    assert found.values["stiffness_damping"] == pytest.approx(0.31, rel=2e-3)
    assert found.uncertainties["mass_damping"] > 1.0 > 0.05 > found.uncertainties["stiffness_damping"]


def test_the_grid_is_least_at_its_nearest_trial_and_is_not_simulated_twice(robot, release, tmp_path):
    axes = {"moduli": (0.5e6, 0.68e6), "dampings": (0.31, 0.7), "dt": DT}
    grid = search_grid(robot.path, release, Workers(), tmp_path, **axes)
    assert grid.best[:2] == (0.68e6, 0.31)
    assert grid.best[2] < 1e-3 * np.sort(grid.errors.ravel())[1]
    said = []
    again = search_grid(robot.path, release, Workers(), tmp_path, said.append, **axes)
    assert said == [] and again.seconds == grid.seconds
    np.testing.assert_array_equal(again.errors, grid.errors)


def test_the_total_error_is_the_papers():
    measured, tips = np.zeros((2, 3)), np.array([[0.001, 0.0, 0.0], [0.0, 0.003, 0.0]])
    assert total_error(tips, measured) == pytest.approx((1.0 + 3.0) * 1.0)


def test_a_recorded_release_is_read_from_its_moment_on(robot, tmp_path, capsys):
    path = tmp_path / "release.mcap"
    with SimulatedRecording(path, robot) as recording:
        for step in range(60):
            if step == 10:
                recording.text("run/phase", 0.1, "released")
            tip = np.array([0.0, -1e-4 * max(step - 10, 0), 0.1])
            recording.pose("tip/pose", 0.01 * step, tip, np.array([0.0, 0.0, 1.0]))
            recording.vector("gravity", 0.01 * step, GRAVITY)
    seen = read_release(path, "slender")
    assert seen.times[0] == 0.0 and seen.times[-1] == pytest.approx(0.49)
    np.testing.assert_allclose(seen.gravity, GRAVITY)
    np.testing.assert_allclose(seen.at_steps(0.1)[:, 0, 1], -1e-3 * np.arange(1, 5), atol=1e-9)
    assert main(["calibrate", "slender", str(path), "--dt", "0.1", "--simulations", "1"]) == 0
    assert "material.young_modulus: " in capsys.readouterr().out
    with pytest.raises(RecordingError, match="no topic tip/pose or truth/tip under 'other'"):
        read_release(path, "other")


def test_a_release_that_is_too_short_is_refused(robot, tmp_path):
    path = tmp_path / "short.mcap"
    with SimulatedRecording(path, robot) as recording:
        recording.vector("gravity", 0.0, GRAVITY)
        for step in range(5):
            recording.pose("truth/tip", 0.01 * step, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(RecordingError, match="5 poses of the tip after the release"):
        read_release(path, "slender")
