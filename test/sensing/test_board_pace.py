"""A board's time goes on steadily, whatever its clock does."""

import numpy as np
import pytest

from soft_twin.sensing.board_pace import BoardPace

DT = 0.01


def run(stamps, sequences=None, arrivals=None, seed=0):
    """Steady times of frames, and the faults told."""
    rng = np.random.default_rng(seed)
    count = len(stamps)
    sequences = np.arange(count) if sequences is None else sequences
    arrivals = 50.0 + DT * np.arange(count) + rng.exponential(1e-3, count) if arrivals is None else arrivals
    pace, times, faults = BoardPace(), [], set()
    for sequence, stamp, arrival in zip(sequences, stamps, arrivals, strict=True):
        times.append(pace.advance(int(sequence) % 65536, float(stamp), float(arrival)))
        faults.add(pace.fault)
    return times, faults - {""}


def test_a_good_clock_is_believed():
    stamps = 3.0 + DT * np.arange(1000)
    times, faults = run(stamps)
    np.testing.assert_allclose(times, stamps, atol=1e-9)
    assert not faults


@pytest.mark.parametrize("jump", [-500.0, -0.9, -0.05, 0.1, 1000.0])
def test_a_clock_that_jumps_is_named_and_time_goes_on(jump):
    stamps = 600.0 + DT * np.arange(1000) + np.where(np.arange(1000) > 500, jump, 0.0)
    times, faults = run(stamps)
    np.testing.assert_allclose(np.diff(times), DT, atol=1e-4)
    assert any("jumps by" in fault for fault in faults)


def test_a_frozen_clock_is_named_and_time_goes_on():
    stamps = 3.0 + DT * np.arange(1000)
    stamps[400:550] = stamps[400]
    times, faults = run(stamps)
    np.testing.assert_allclose(np.diff(times), DT, atol=1e-4)
    assert any("stands still" in fault for fault in faults)


@pytest.mark.parametrize("pace", [0.1, 0.5, 0.98, 1.1, 2.0])
def test_a_clock_of_wrong_speed_is_named_and_arrivals_count(pace):
    times, faults = run(3.0 + pace * DT * np.arange(1500))
    np.testing.assert_allclose(np.diff(times)[600:].mean(), DT, rtol=0.03)
    assert any("times as fast" in fault for fault in faults)


def test_a_host_that_sleeps_is_no_fault_of_the_clock():
    arrivals = 50.0 + DT * np.arange(1500)
    arrivals[500:590] = arrivals[590]
    stamps = 3.0 + DT * np.arange(1500)
    times, faults = run(stamps, arrivals=arrivals)
    np.testing.assert_allclose(times, stamps, atol=1e-9)
    assert not faults


def test_late_and_double_frames_are_left_out():
    times, faults = run(
        3.0 + DT * np.array([*range(20), 18, 20, 20, 21]),
        sequences=[*range(20), 18, 20, 20, 21],
        arrivals=50.0 + DT * np.arange(24),
    )
    assert [i for i, time in enumerate(times) if time is None] == [20, 22]
    assert not faults
