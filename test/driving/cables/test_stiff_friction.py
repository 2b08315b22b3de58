import numpy as np
import pytest

from soft_twin.driving.cables.stiff_friction import StiffFriction

INERTIA, DT = 0.342, 0.004
STIFF = 25.0  # [A/m] by which a cable pulls more, the more is wound in


def _learned(friction, way, rates, inertia=INERTIA, dry=0.0):
    """What is learned of a winch that starts at `way` [m] and runs at these rates [m/s], one each look."""
    estimate, before = StiffFriction(1, 17.1, INERTIA), 0.0
    for rate in rates:
        mean, acceleration = 0.5 * (before + rate), (rate - before) / DT
        way, before = way + mean * DT, rate
        current = inertia * acceleration + friction * mean + dry * np.sign(mean) + STIFF * max(way, 0.0)
        estimate.update(*(np.array([value]) for value in (current, mean, acceleration, DT)))
    return estimate.values[0]


def _to_and_fro(fastest, times):
    """At rest, then evenly to and fro, turning round with 4 m/s²."""
    turn = round(2.0 * fastest / 4.0 / DT)
    there = np.concatenate([np.linspace(-fastest, fastest, turn), np.full(50, fastest)])
    return np.concatenate([np.zeros(20), np.linspace(0.0, fastest, turn // 2), *([-there, there] * times)])


@pytest.mark.parametrize("friction", [3.0, 11.0, 30.0])
@pytest.mark.parametrize("inertia", [0.85 * INERTIA, INERTIA, 1.15 * INERTIA])
def test_friction_is_told_from_a_pull_that_grows_with_the_way(friction, inertia):
    assert _learned(friction, 0.02, _to_and_fro(0.1, 2), inertia) == pytest.approx(friction, abs=2.0)


def test_dry_friction_looks_like_some_more_of_it_but_no_worse():
    assert 6.0 < _learned(6.0, 0.02, _to_and_fro(0.1, 2), dry=0.2) < 6.0 + 1.5 * 0.2 / 0.1


def test_a_pull_that_grows_while_the_winch_runs_evenly_is_not_taken_for_friction():
    begin = _to_and_fro(0.08, 2)[:-40]
    before = _learned(9.0, 0.0, begin)
    assert _learned(9.0, 0.0, np.concatenate([begin, np.full(200, 0.08)])) == pytest.approx(before, abs=1.0)


def test_a_robot_that_is_caught_teaches_no_friction():
    """The winch stands, and pulls by what it has."""
    estimate = StiffFriction(1, 12.0, INERTIA)
    for k in range(200):
        estimate.update(np.array([min(0.1 * k, 6.0)]), np.zeros(1), np.zeros(1), np.full(1, DT))
    assert estimate.values[0] == pytest.approx(12.0)
