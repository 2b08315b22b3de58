"""Notable changes of temperature: a ramp adds up, noise does not."""

import math

import numpy as np
import pytest

from soft_twin.sensing.temperature_change import TemperatureChange


def test_a_ramp_is_told_in_full():
    watch = TemperatureChange()
    told = sum(watch.update(20.0 + 0.01 * i, 0.01) for i in range(1500))
    assert told == pytest.approx(15.0 - 0.01 * 100, abs=0.1)  # the low-pass lags by a second


def test_noise_and_gaps_are_not_told():
    watch, rng = TemperatureChange(), np.random.default_rng(1)
    assert not any(watch.update(30.0 + 0.05 * rng.standard_normal(), 0.01) for _ in range(5000))
    assert watch.update(math.nan, 0.01) == 0.0
