import numpy as np
import pytest

from soft_twin.descriptions.drives import CableLimits
from soft_twin.driving.limits import cable_limiter

LIMITS = CableLimits(tension=(0.0, 2.0), displacement=(-0.002, 0.012), rate=0.05)
ACCELERATION = 3.0
DT = 0.004


@pytest.fixture
def limiter():
    return cable_limiter(["left", "right"], LIMITS)


def _run(limiter, target, ticks, dt=DT):
    path = [limiter.positions]
    for _ in range(ticks):
        limiter.advance(np.asarray(target), LIMITS.rate, ACCELERATION, dt)
        path.append(limiter.positions)
    return np.array(path)


def test_a_step_takes_the_time_of_a_trapezoid_and_does_not_overshoot(limiter):
    path = _run(limiter, [0.005, 0.0], 60)
    # distance / rate + rate / acceleration = 0.117 s
    arrived = DT * np.argmax(path[:, 0] > 0.005 - 1e-6)
    assert arrived == pytest.approx(0.1167, abs=2 * DT)
    assert path.max() <= 0.005 * (1 + 1e-9)
    assert np.all(path[:, 1] == 0.0)


def test_no_target_is_overshot_however_far_it_is(limiter):
    for target in np.linspace(0.0, 0.012, 101):
        path = _run(limiter, [target, 0.0], 120)
        steps = np.diff(path[:, 0])
        assert np.all(steps * (target - path[0, 0]) >= -1e-15)
        assert path[-1, 0] == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_targets_rate_and_acceleration_stay_within_limits(limiter, seed):
    rng = np.random.default_rng(seed)
    rates = np.zeros(2)
    for _ in range(300):
        limiter.advance(rng.uniform(-0.002, 0.012, 2), LIMITS.rate, ACCELERATION, DT)
        assert np.all(np.abs(limiter.rates) <= LIMITS.rate * (1 + 1e-9))
        assert np.all(np.abs(limiter.rates - rates) <= ACCELERATION * DT * (1 + 1e-9))
        rates = limiter.rates


def test_ticks_of_uneven_length_end_at_the_target_too(limiter):
    rng = np.random.default_rng(0)
    for _ in range(200):
        limiter.advance(np.array([0.01, -0.001]), LIMITS.rate, ACCELERATION, rng.uniform(0.0002, 0.02))
    np.testing.assert_allclose(limiter.positions, [0.01, -0.001], atol=1e-7)


@pytest.mark.parametrize("rate", [0.003, -0.02, 0.045])
def test_a_line_is_followed_at_its_rate_whenever_ticks_come(limiter, rate):
    """A tick that comes at once behind another has less way to go, but not less time for it."""
    rng, now = np.random.default_rng(1), 0.0
    for tick in range(150):
        dt = DT if tick < 90 else rng.choice([0.0001, 0.0007, 0.0033, DT])
        now += dt
        limiter.advance(np.full(2, 0.006 + rate * (now - 0.4)), LIMITS.rate, ACCELERATION, dt)
        if tick >= 90:
            np.testing.assert_allclose(limiter.rates, rate, rtol=1e-3)


def test_with_ticks_of_any_length_in_between_no_target_is_overshot(limiter):
    rng = np.random.default_rng(2)
    for target in rng.uniform(-0.002, 0.012, 30):
        start = limiter.positions[0]
        for _ in range(200):
            dt = rng.choice([0.0001, 0.001, 0.003, DT])
            limiter.advance(np.full(2, target), LIMITS.rate, ACCELERATION, dt)
            assert (limiter.positions[0] - target) * (target - start) <= 1e-15
        np.testing.assert_allclose(limiter.positions, target, atol=1e-9)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_what_is_beyond_its_range_is_not_led_farther_out(limiter, way):
    limiter.reset(np.full(2, way * 0.02))
    for _ in range(50):
        limiter.advance(np.full(2, way * 0.03), 0.05, 2.0, 0.004)
        assert np.all(limiter.positions == way * 0.02)
        assert np.all(limiter.rates == 0.0) and np.all(limiter.accelerations == 0.0)


def test_displacements_are_clipped_and_counted(limiter):
    np.testing.assert_array_equal(limiter.clip([0.5, -0.5]), [0.012, -0.002])
    np.testing.assert_array_equal(limiter.clip([0.001, 0.002]), [0.001, 0.002])
    assert limiter.counters["displacement"] == 1


def test_what_is_far_beyond_its_range_is_named_with_where_it_goes(limiter):
    low, high = LIMITS.displacement
    hair = 0.005 * (high - low)
    assert limiter.beyond([low - hair, high + hair]) == ""
    assert f": right goes to {high:g} metres instead" in limiter.beyond([low, 12.0])
    assert limiter.beyond([-12.0, 12.0]).count(" goes to ") == 2


@pytest.mark.parametrize("command", [[float("nan"), 0.0], [0.0, float("inf")], [0.0], [0.0, 0.0, 0.0], 0.0])
def test_unusable_commands_are_refused_and_counted(limiter, command):
    assert "refused" in limiter.check(command)
    assert limiter.counters["not_finite"] + limiter.counters["size"] == 1


@pytest.mark.parametrize("mask", [[False, True], [True, True]])
def test_what_is_under_a_mask_is_not_commanded(limiter, mask):
    assert "right" in limiter.check(np.ma.array([0.001, 0.002], mask=mask))
    assert limiter.counters["not_finite"] == 1
    assert limiter.check(np.ma.array([0.001, 0.002])) == ""


def test_a_refusal_names_the_cable():
    limiter = cable_limiter(["left", "right"], LIMITS)
    assert "right = nan" in limiter.check([0.0, float("nan")])


def test_limits_that_bind_are_counted(limiter):
    _run(limiter, [0.005, 0.0], 60)
    assert limiter.counters["rate"] > 10
    assert limiter.counters["acceleration"] > 2
    before = dict(limiter.counters)
    _run(limiter, [0.005, 0.0], 10)
    assert dict(limiter.counters) == before


def test_no_time_moves_nothing():
    limiter = cable_limiter(["a", "b"], LIMITS)
    limiter.advance(np.array([0.01, 0.0]), 0.05, 1.0, DT)
    before = limiter.positions.copy()
    limiter.advance(np.array([0.01, 0.0]), 0.05, 1.0, 0.0)
    np.testing.assert_array_equal(limiter.positions, before)
    assert np.isfinite(limiter.accelerations).all()
