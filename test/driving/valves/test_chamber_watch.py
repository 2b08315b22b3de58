"""Chambers that do not have the pressure that they were told, and sensors that say nothing now and then."""

import numpy as np
import pytest

from soft_twin.driving.valves.chamber_watch import ChamberWatch

DT, TOLD = 0.02, np.array([50e3])


@pytest.fixture
def watch():
    return ChamberWatch(["left"], tolerance=20e3, response=0.5, patience=1.5)


def verdicts(watch, pressures):
    return [watch.update(np.array([pressure]), TOLD, DT, True) for pressure in pressures]


def test_a_chamber_astray_is_named_though_its_sensor_is_at_its_end_now_and_then(watch):
    heard = [np.nan if i % 20 < 6 else 100e3 for i in range(150)]  # 3 s
    assert ("chambers", "left is +50 kPa from its command: valve stuck, or chamber leaks; check both") in verdicts(
        watch, heard
    )


@pytest.mark.parametrize("pressure", [0.0, 25e3])
def test_a_relaxed_chamber_that_is_vented_sooner_than_its_valve_is_told_is_not_astray(watch, pressure):
    assert not any(watch.update(np.array([pressure]), TOLD, DT, False)[0] for _ in range(150))
    assert not any(watch.update(np.array([-pressure]), -TOLD, DT, False)[0] for _ in range(150))


def test_silence_accuses_nobody_and_clears_nobody(watch):
    assert not any(key for key, _ in verdicts(watch, [100e3] * 60 + [np.nan] * 500))
    assert any(key for key, _ in verdicts(watch, [100e3] * 30))
    assert not any(key for key, _ in verdicts(watch, [50e3] * 30 + [100e3] * 60))
