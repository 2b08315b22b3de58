"""Recordings in other units than rad/s and m/s² are named, by what gravity and turning do; true ones are not."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.app.cli import main
from soft_twin.sensing.recorded_units import unit_doubts

RATE, SECONDS = 100.0, 20.0


def _recording(rest, seed=0):
    """Rates [rad/s] and forces [m/s²] of a sensor that turns about all axes, but for `rest` [s] in the beginning."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(RATE * SECONDS)) / RATE
    rates = np.where(times < rest, 0.0, 1.0)[:, None] * np.sin(times[:, None] * [0.7, 1.1, 0.4] + [0.0, 1.0, 2.0])
    attitude, forces = Rotation.identity(), []
    for rate in rates:
        forces.append(attitude.inv().apply([0.0, 0.0, 9.81]))
        attitude = attitude * Rotation.from_rotvec(rate / RATE)
    return rates + rng.normal(0.0, 2e-3, rates.shape), np.array(forces) + rng.normal(0.0, 0.03, rates.shape)


def _doubts(rates, forces):
    return unit_doubts(rates, forces, np.full(len(rates), 1.0 / RATE))


@pytest.mark.parametrize("rest", [0.0, 5.0, SECONDS])
def test_true_units_are_not_doubted(rest):
    rates, forces = _recording(rest)
    assert _doubts(rates, forces) == []
    assert _doubts(rates + 0.02, 1.03 * forces) == []  # of a chip that is not calibrated


@pytest.mark.parametrize("rest", [0.0, 5.0])
def test_other_units_are_named_whether_the_sensor_rests_or_not(rest):
    rates, forces = _recording(rest)
    (told,) = _doubts(rates, forces / 9.81)
    assert told.endswith(" is 1 m/s², expected 9.81: g instead of m/s²?") and ("at rest" in told) == (rest > 0.0)
    (told,) = _doubts(rates, 1e2 * forces)
    assert told.endswith(" is 981 m/s², expected 9.81: another unit, or an accelerometer that is off?")
    (told,) = _doubts(np.degrees(rates), forces)
    assert told.endswith("°/s instead of rad/s?")
    assert len(_doubts(np.degrees(rates), forces / 9.81)) == 2


def test_what_says_nothing_is_not_doubted():
    rates, forces = _recording(SECONDS)
    assert _doubts(np.degrees(rates), forces) == []
    assert _doubts(rates[:10], forces[:10] / 9.81) == []
    assert len(_doubts(rates, 0.0 * forces)) == 1


def test_a_command_that_estimates_tells_it(tmp_path, capsys):
    rates, forces = _recording(5.0)
    for gyr, told in ((rates, 0), (np.degrees(rates), 1)):
        np.savez(tmp_path / "imu.npz", gyr=gyr, acc=forces, rate=RATE)
        assert main(["estimate", str(tmp_path / "imu.npz"), "--out", str(tmp_path / "track.npz")]) == 0
        assert capsys.readouterr().out.count("note: the gyroscope turns the specific force otherwise") == told
