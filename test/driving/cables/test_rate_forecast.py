"""A winch that is not heard for a while is where its equation i = b v + m v̇ takes it."""

import numpy as np
import pytest

from soft_twin.driving.cables.rate_forecast import UNSEEN, RateForecast

INERTIA, DT, PERIOD = 0.342, 0.004, 0.002
HEARD, SILENT = np.array([True]), np.array([False])


def _after(ticks, begin, current, friction):
    forecast = RateForecast(1, INERTIA)
    forecast.update(np.array([begin]), HEARD, np.array([current]), np.array([friction]), PERIOD, DT)
    for _ in range(ticks):
        forecast.update(np.array([begin]), SILENT, np.array([current]), np.array([friction]), PERIOD, DT)
    return forecast.rates[0]


@pytest.mark.parametrize("friction", [5.0, 17.1])
@pytest.mark.parametrize("current", [-1.0, 0.0, 0.5])
def test_a_winch_that_is_not_heard_follows_its_equation(friction, current):
    final = current / friction
    exact = final + (0.02 - final) * np.exp(-friction * 5 * DT / INERTIA)
    assert _after(5, 0.02, current, friction) == pytest.approx(exact, abs=0.1 * abs(0.02 - final))


def test_a_winch_that_is_heard_has_the_rate_that_it_says():
    assert _after(0, 0.02, -3.0, 5.0) == 0.02


@pytest.mark.parametrize("ticks", [[0.004] * 5, [0.001] * 20, [0.0003, 0.0037] * 4, [0.03, 0.001]])
def test_what_the_currents_of_the_last_milliseconds_will_have_done_is_foreseen(ticks):
    """At 0.02 m/s as it was measured, and 2 A for longer than feedback takes; currents before that are in it."""
    forecast, friction, current = RateForecast(1, INERTIA), 10.0, 2.0
    for k, dt in enumerate([0.01, *ticks]):
        forecast.update(np.array([0.02]), HEARD, np.array([current if k else -9.0]), np.array([friction]), PERIOD, dt)
    final = current / friction
    exact = final + (0.02 - final) * np.exp(-friction * (UNSEEN + 0.5 * PERIOD) / INERTIA)
    assert forecast.soon[0] == pytest.approx(exact, abs=0.003)


def test_a_current_that_is_over_has_done_its_part():
    forecast = RateForecast(1, INERTIA)
    for k in range(6):
        current = np.array([3.0 if k < 3 else 0.0])
        forecast.update(np.array([0.05]), HEARD, current, np.array([0.0]), PERIOD, 0.004)
    assert forecast.soon[0] == pytest.approx(0.05)
