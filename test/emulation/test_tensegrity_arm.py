import numpy as np
import pytest

import soft_twin
from soft_twin.emulation.tensegrity_arm import EmulatedTensegrityArm
from soft_twin.twins.tensegrity.shape import bend_angle, mean_node_error


@pytest.fixture(scope="module")
def arm():
    return soft_twin.load_robot("tm40")


def test_arm_stands_bends_and_is_pulled(arm):
    emulated = EmulatedTensegrityArm(arm)
    readings = [emulated.step(0.05) for _ in range(240)]
    assert np.degrees(bend_angle(readings[20].truth)) < 5.0
    assert np.degrees(bend_angle(readings[98].truth)) > 30.0
    assert abs(readings[165].truth.tip()[0]) > 0.15


def test_inclinations_are_the_truths_with_the_described_noise(arm):
    emulated = EmulatedTensegrityArm(arm, seed=3)
    readings = [emulated.step(0.05) for _ in range(30)]
    off = np.concatenate([reading.inclinations - reading.truth.inclinations for reading in readings])
    assert off.std() == pytest.approx(arm.emulated.inclination, rel=0.1)


def test_same_seed_gives_the_same_readings(arm):
    first, second = (EmulatedTensegrityArm(arm, seed=5).step(0.05) for _ in range(2))
    assert np.array_equal(first.inclinations, second.inclinations)


def test_estimator_follows_the_emulated_arm(arm):
    emulated, estimator = EmulatedTensegrityArm(arm), arm.build_estimator("energy")
    errors = []
    for _ in range(240):
        reading = emulated.step(0.05)
        errors.append(mean_node_error(estimator.update(reading.inclinations, reading.pressures), reading.truth))
    assert np.median(errors) < 0.015
