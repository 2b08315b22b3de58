"""The emulated robot's clock against a real time that the test turns by hand."""

import numpy as np
import pytest

from soft_twin.emulation.world_clock import CATCHING_UP, MOST_BEHIND, WorldClock, in_words

TICK = 0.004


class Hand:
    """Real time that only moves when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def hand():
    return Hand()


def live(clock, hand, seconds, stalls=()):
    """Ticks as a thread would live them that sleeps in between, with stalls {when: how long}; when each was lived."""
    stalls, end, lived = dict(stalls), hand.now + seconds, []
    while hand.now < end:
        tick = clock.time + TICK
        hand.now += max(clock.until(tick), 0.0)
        for start in [start for start in stalls if hand.now >= start]:
            hand.now += stalls.pop(start)
        clock.move(tick)
        lived.append(hand.now)
    return np.array(lived)


def test_a_robot_that_keeps_up_lives_in_real_time(hand):
    clock = WorldClock(hand)
    live(clock, hand, 5.0)
    assert clock.time == pytest.approx(5.0, abs=2 * TICK)
    assert clock.pace.lost == 0.0
    assert clock.pace.slowest == pytest.approx(1.0, abs=0.01)
    assert in_words(clock.pace) == ""


def test_a_short_stall_is_caught_up_with_in_spaced_ticks(hand):
    clock = WorldClock(hand)
    lived = live(clock, hand, 2.0, stalls={100.5: 0.08})
    assert clock.time == pytest.approx(2.0, abs=2 * TICK)
    assert clock.pace.lost == 0.0
    assert np.diff(lived).min() > TICK / CATCHING_UP - 1e-9


def test_a_long_stall_slows_time_and_is_told(hand):
    clock = WorldClock(hand)
    lived = live(clock, hand, 4.0, stalls={101.2: 0.6})
    lost = 0.6 - MOST_BEHIND
    assert clock.pace.lost == pytest.approx(lost, abs=2 * TICK)
    assert clock.time == pytest.approx(4.0 - lost, abs=2 * TICK)
    assert clock.time == pytest.approx(TICK * len(lived))  # no tick was left out
    assert clock.pace.slowest < 0.65
    assert 0.9 < clock.pace.slow_for < 2.1
    assert "too busy" in in_words(clock.pace)


def test_it_never_runs_ahead_of_real_time(hand):
    clock = WorldClock(hand)
    for _ in range(200):
        tick = clock.time + TICK
        hand.now += max(clock.until(tick), 0.0)
        clock.move(tick)
        assert clock.ago(tick) >= -1e-9
