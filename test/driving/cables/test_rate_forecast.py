"""A winch that is not heard for a while is where its equation i = b v + m v̇ takes it."""

import numpy as np
import pytest

from soft_twin.driving.cables.rate_forecast import RateForecast

INERTIA, DT = 0.342, 0.004
HEARD, SILENT = np.array([True]), np.array([False])


def _after(ticks, begin, current, friction):
    forecast = RateForecast(1, INERTIA)
    forecast.update(np.array([begin]), HEARD, np.array([current]), np.array([friction]), DT)
    for _ in range(ticks):
        forecast.update(np.array([begin]), SILENT, np.array([current]), np.array([friction]), DT)
    return forecast.rates[0]


@pytest.mark.parametrize("friction", [5.0, 17.1])
@pytest.mark.parametrize("current", [-1.0, 0.0, 0.5])
def test_a_winch_that_is_not_heard_follows_its_equation(friction, current):
    final = current / friction
    exact = final + (0.02 - final) * np.exp(-friction * 5 * DT / INERTIA)
    assert _after(5, 0.02, current, friction) == pytest.approx(exact, abs=0.1 * abs(0.02 - final))


def test_a_winch_that_is_heard_has_the_rate_that_it_says():
    assert _after(0, 0.02, -3.0, 5.0) == 0.02
