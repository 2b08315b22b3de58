"""A living sensor may repeat itself as often as its resolution makes it; a dead one is found."""

import numpy as np
import pytest

from soft_twin.sensing.sensor_life import SensorLife


def _readings(spread: float, count: int = 5000, seed: int = 3) -> list[float]:
    """Noise of `spread` steps, rounded to whole steps."""
    return np.round(spread * np.random.default_rng(seed).standard_normal(count)).tolist()


@pytest.mark.parametrize("spread", [0.3, 0.5, 1.0, 30.0])
def test_a_living_sensor_lives(spread):
    life = SensorLife()
    assert all(life.update(reading) for reading in _readings(spread))


@pytest.mark.parametrize(("spread", "longest"), [(0.5, 60), (1.0, 30), (30.0, 15)])
def test_a_dead_one_is_found_within_the_run_that_no_living_one_has(spread, longest):
    life = SensorLife()
    for reading in _readings(spread):
        life.update(reading)
    alive = [life.update(123.0) for _ in range(longest)]
    assert alive[0]
    assert not alive[-1]


def test_a_sensor_that_was_dead_from_the_first_reading_on_is_found():
    life = SensorLife()
    assert not all(life.update(0.0) for _ in range(60))


def test_doubt_comes_before_death_and_both_end_with_the_next_new_reading():
    life = SensorLife()
    for reading in _readings(30.0):
        life.update(reading)
    states = [(life.update(7.0), life.doubtful) for _ in range(15)]
    assert (True, True) in states
    assert states[-1][0] is False
    assert life.update(8.0)
    assert not life.doubtful
    assert life.run == 0
