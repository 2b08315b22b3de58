"""A board's clock seen from a host that is busy at times, whichever way the clock drifts."""

import numpy as np
import pytest

from soft_twin.sensing.clock import BoardClock

DRIFTS = [1.007, 0.993, 0.998, 0.9995, 0.9999]


def told_delays(true, board, arrivals):
    """What the clock tells a board's times to be later than they were [s]."""
    clock, told = BoardClock(), []
    for time, arrival in zip(board, arrivals, strict=True):
        clock.observe(time, arrival)
        told.append(clock.to_host(time))
    return np.array(told) - true


@pytest.mark.parametrize("drift", DRIFTS)
def test_times_are_the_least_delay_behind_for_clocks_that_are_fast_and_slow(drift):
    rng = np.random.default_rng(0)
    true = np.arange(1, 12000) / 400.0
    arrivals = 1000.0 + true + 2e-3 + np.abs(rng.normal(0.0, 3e-4, len(true)))
    delays = told_delays(1000.0 + true, drift * true, arrivals)
    assert np.abs(delays - 2e-3)[true < 1.0].max() < 4e-3
    assert np.abs(delays - 2e-3)[true > 1.0].max() < 2e-4
    assert np.abs(np.diff(delays))[true[1:] > 1.0].max() < 2e-4


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("seed", range(3))
def test_a_host_that_stalls_for_seconds_says_nothing_of_the_drift(drift, seed):
    rng = np.random.default_rng(seed)
    true = np.arange(1, 4000) / 100.0
    arrivals = true + 1e-3 + rng.exponential(5e-4, len(true))
    begins = 1.0
    while begins < true[-1]:
        ends = begins + np.exp(rng.uniform(np.log(0.05), np.log(3.0)))
        arrivals[(arrivals > begins) & (arrivals < ends)] = ends
        begins = ends + rng.exponential(4.0)
    delays = told_delays(true, 500.0 + drift * true, np.maximum.accumulate(arrivals))
    assert np.abs(delays - 1e-3)[true > 1.0].max() < 2e-3


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_drift_that_changes_with_the_temperature_is_followed(drift):
    rng = np.random.default_rng(1)
    true = np.arange(1, 6000) / 200.0
    board = drift * true + 0.5e-4 * true**2
    delays = told_delays(true, board, true + 1e-3 + rng.exponential(1e-3, len(true)))
    assert np.abs(delays - 1e-3)[true > 1.0].max() < 2e-3


def test_a_frame_that_comes_after_a_later_one_says_nothing():
    true = np.arange(1, 2000) / 100.0
    board = true.copy()
    board[1000:1030] -= 0.5
    delays = told_delays(true, board, true + 1e-3)
    np.testing.assert_allclose(np.delete(delays, slice(1000, 1030)), 1e-3, atol=1e-4)
