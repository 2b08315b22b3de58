"""How fast a base may move, in small: speeds are what they are called, errors grow with them, limits are between."""

import numpy as np
import pytest

from soft_twin.studies.slender import carried, loop, speed


@pytest.mark.parametrize("peak", [60.0, 240.0])
def test_a_turn_and_a_travel_are_as_fast_as_they_are_called(peak):
    motion = speed.turn(peak)
    times = np.linspace(0.0, motion.duration, 2001)
    rates = [np.degrees(np.linalg.norm(motion.angular_velocity(t))) for t in times]
    assert max(rates) == pytest.approx(peak, rel=1e-3)
    motion = speed.travel(0.01 * peak)
    times = np.linspace(0.0, motion.duration, 2001)
    places = np.array([motion.place(t) for t in times])
    assert np.abs(np.gradient(places[:, 1], times)).max() == pytest.approx(0.01 * peak, rel=0.02)
    assert places[:, 1].max() == pytest.approx(speed.DISTANCE) and abs(places[-1, 1]) < 1e-9


def test_where_an_error_has_doubled_is_between_the_speeds():
    speeds = np.array([10.0, 20.0, 40.0])
    assert carried.doubled_at(speeds, np.array([1.0, 1.5, 2.5])) == pytest.approx(30.0)
    assert carried.doubled_at(speeds, np.array([1.0, 1.5, 1.9])) is None
    assert carried.doubled_at(speeds, np.array([0.0, 0.5, 1.0])) is None


def test_a_base_that_turns_fast_costs_more_than_one_that_stays_and_compensation_pays(same, monkeypatch):
    monkeypatch.setattr(loop, "SETTLED", 2.0)
    monkeypatch.setattr(carried, "BEFORE", 0.2)
    monkeypatch.setattr(speed, "PAUSE", 0.1)
    path, errors = str(same.path), {}
    for name, way in (("held", speed.NOW), ("let be", carried.Way("let be", compensate=False))):
        history = carried.carry(path, path, carried.STRAIGHT, way, speed.turn(480.0), 0.0)
        assert history.times[0] == pytest.approx(0.02 - carried.BEFORE)
        assert history.times[-1] >= speed.turn(480.0).duration - 0.021
        errors[name] = carried.errors_mm(history, carried.STRAIGHT)
    assert errors["held"].max() > 1.2 * errors["held"][0]
    assert errors["let be"].max() > 2.0 * errors["held"].max()
