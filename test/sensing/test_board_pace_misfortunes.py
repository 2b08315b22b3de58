"""Boards, lines and hosts of random misfortune: times between samples stay those at which they were taken."""

import numpy as np
import pytest

from soft_twin.sensing.board_pace import BoardPace
from soft_twin.sensing.clock import BoardClock

DURATION = 25.0
ADAPTER_BUFFER = 93  # frames of 44 bytes in 4 KiB


def random_frames(rng, misfortune):
    """What a board sends in DURATION: true times, sequence numbers, stamps, arrivals, and which get through."""
    period = rng.choice([0.0025, 0.005, 0.01, 0.02])
    true = period * np.arange(int(DURATION / period)) + rng.uniform(0.0, 0.05 * period, int(DURATION / period))
    at, lasts = rng.uniform(4.0, 15.0), float(np.exp(rng.uniform(np.log(0.05), np.log(3.0))))
    after = true > at
    if misfortune in ("no samples are taken", "board restarts"):
        true = true + after * (lasts + 0.3)
    sequences, delivered = np.arange(len(true)) + rng.integers(0, 65536), np.ones(len(true), dtype=bool)
    stamps = (1.0 + 1e-4 * rng.normal()) * true + rng.uniform(0.0, 1000.0)
    first, during = int(np.argmax(after)), after & (true <= at + lasts)
    if misfortune == "clock jumps":
        stamps[first:] += rng.choice([-1.0, 1.0]) * np.exp(rng.uniform(np.log(0.02), np.log(1000.0)))
    if misfortune == "clock stands still":
        stamps[during] = stamps[first]
    if misfortune == "board restarts":
        sequences[first:] = np.arange(len(true) - first)
        stamps[first:] += 0.2 - stamps[first]
    if misfortune == "frames are lost":
        delivered[during] = False
    arrivals = true + 1e-3 + rng.exponential(5e-4, len(true))
    if rng.random() < 0.4:  # an adapter that hands on what came in 16 ms
        arrivals = np.ceil(arrivals / 0.016) * 0.016
    if misfortune == "host stalls":
        late = np.flatnonzero((arrivals > at) & (arrivals <= at + lasts))
        arrivals[late] = at + lasts
        delivered[late[ADAPTER_BUFFER:]] = False
    return true, sequences % 65536, stamps, np.maximum.accumulate(arrivals), delivered


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "misfortune",
    ["clock jumps", "clock stands still", "no samples are taken", "board restarts", "frames are lost", "host stalls"],
)
def test_times_between_samples_are_those_at_which_they_were_taken(misfortune, seed):
    true, sequences, stamps, arrivals, delivered = random_frames(np.random.default_rng(seed), misfortune)
    pace, clock, told, taken = BoardPace(), BoardClock(), [], []
    for k in np.flatnonzero(delivered):
        time = pace.advance(int(sequences[k]), float(stamps[k]), float(arrivals[k]))
        if time is None:
            continue
        if pace.restarted:
            clock.restart()
        clock.observe(time, float(arrivals[k]))
        told.append(clock.to_host(time))
        taken.append(true[k])
    assert len(told) > 0.98 * delivered.sum()
    assert np.abs(np.diff(told) - np.diff(taken)).sum() < 0.1
    assert np.abs(np.array(told) - taken).max() < 0.05


@pytest.mark.parametrize("asleep", [0.5, 5.0, 60.0, 3600.0])
@pytest.mark.parametrize("begins", [150, 1000, 1030, 2000])
def test_a_board_that_sleeps_with_its_clock_goes_on_where_it_was(asleep, begins):
    """As with a host whose lid is closed: no frame is missing, no stamp jumps, and all is later from then on."""
    rng = np.random.default_rng(0)
    stamps = 7.0 + 0.01 * np.arange(4000)
    true = stamps + asleep * (np.arange(4000) >= begins)
    pace, clock, told, faults, restarts = BoardPace(), BoardClock(), [], set(), []
    for k, arrival in enumerate(true + 50.0 + rng.exponential(2e-3, 4000)):
        time = pace.advance(k, stamps[k], arrival)
        if pace.restarted:
            clock.restart()
        restarts.append(pace.restarted)
        faults.add(pace.fault)
        clock.observe(time, arrival)
        told.append(clock.to_host(time) - 50.0)
    told = np.array(told)
    assert np.abs(told - true)[:begins].max() < 0.02
    assert told[:begins].max() < told[begins:].min()
    assert np.abs(told - true)[begins + 250 :].max() < 0.02
    assert faults == {"", f"board and its clock stood still for {asleep:g} s: did it sleep?"}
    assert np.flatnonzero(restarts)[0] == 0 and begins < np.flatnonzero(restarts)[1] < begins + 250
    assert sum(restarts) == 2


@pytest.mark.parametrize("pause", [0.1, 0.5, 2.0])
def test_a_board_that_takes_no_samples_for_a_while_is_named(pause):
    true = 0.01 * np.arange(600) + pause * (np.arange(600) > 400)
    pace, faults = BoardPace(), set()
    for k, time in enumerate(true):
        pace.advance(k, time + 7.0, time + 50.0)
        faults.add(pace.fault)
    named = f"board took no samples for {pause + 0.01:.2g} s: look at its firmware and its bus to the chip"
    assert faults == {"", named}


def test_a_board_that_restarts_where_its_count_could_have_gone_on_is_another():
    sequences = [*range(65200, 65500), *range(300)]
    true = 0.01 * np.arange(600) + 3.0 * (np.arange(600) >= 300)
    pace = BoardPace()
    restarts = []
    for k in range(600):
        pace.advance(sequences[k], true[k] % 6.0 + 700.0 * (k < 300), 50.0 + true[k])
        restarts.append(pace.restarted)
    assert np.flatnonzero(restarts).tolist() == [0, 300]


@pytest.mark.parametrize("rate", [100.0, 400.0, 1000.0])
@pytest.mark.parametrize("phase", [0.0, 0.003, 0.007])
def test_an_adapter_that_hands_on_what_came_in_16_ms_is_no_clock_of_wrong_speed(rate, phase):
    true = np.arange(int(10.0 * rate)) / rate
    lost = (true > 4.0) & (true < 4.41)
    pace, faults = BoardPace(), set()
    for k in np.flatnonzero(~lost):
        pace.advance(int(k), true[k], np.ceil((true[k] + phase) / 0.016) * 0.016)
        faults.add(pace.fault)
    assert faults == {""}


def busy_host(rng, true, mean_pause, sleeps):
    """Arrivals at a host that looks after random pauses, and sleeps at times for up to 1.5 s."""
    pauses = rng.exponential(mean_pause, int(2.0 * true[-1] / mean_pause) + 50)
    pauses += rng.uniform(0.3, 1.5, len(pauses)) * (rng.random(len(pauses)) < sleeps)
    looks = np.cumsum(pauses)
    return looks[np.searchsorted(looks, true + 1e-3)]


@pytest.mark.parametrize("sleeps", [0.0, 0.05])
@pytest.mark.parametrize("mean_pause", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("speed", [1.0, 0.98, 0.8, 0.6, 0.2, 1.2])
def test_a_busy_host_says_nothing_of_a_good_clock_and_finds_a_bad_one(speed, mean_pause, sleeps):
    rng = np.random.default_rng(0)
    true = 0.01 * np.arange(4500)
    stamps = np.where(true < 15.0, true, 15.0 + speed * (true - 15.0))
    pace, clock, told, restarts, faults = BoardPace(), BoardClock(), [], 0, set()
    for k, arrival in enumerate(busy_host(rng, true, mean_pause, sleeps)):
        time = pace.advance(k, stamps[k], arrival)
        if pace.restarted:
            clock.restart()
        restarts += pace.restarted
        faults.add(pace.fault)
        clock.observe(time, arrival)
        told.append(clock.to_host(time))
    late = true > 38.0
    assert np.abs(np.array(told) - true)[late].max() < 0.1
    np.testing.assert_allclose(np.polyfit(true[late], np.array(told)[late], 1)[0], 1.0, atol=0.02)
    if speed == 1.0:
        assert (restarts, faults) == (1, {""})
    else:
        assert restarts <= 4 and any("board clock" in fault for fault in faults)
