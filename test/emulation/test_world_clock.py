"""The emulated robot's clock against a real time that the test turns by hand."""

import math

import numpy as np
import pytest

from soft_twin.emulation.world_clock import MOST_BEHIND, WorldClock

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
    """Ticks as a thread would live them that sleeps in between, with stalls {when: how long}: the times at which it
    was awake, the robot's time then, and for how long it stood still in all."""
    stalls, end, standing, lived = dict(stalls), hand.now + seconds, 0.0, []
    while hand.now < end:
        hand.now += max(-clock.ago(clock.time + TICK), 0.0)
        for start in [start for start in stalls if hand.now >= start]:
            hand.now += stalls.pop(start)
        standing += clock.give_up()
        while clock.time + TICK <= clock.due() + 1e-9:
            clock.move(clock.time + TICK)
        lived.append((hand.now, clock.time))
    return np.array(lived), standing


def test_a_robot_that_keeps_up_lives_in_real_time(hand):
    clock = WorldClock(hand)
    _, standing = live(clock, hand, 5.0)
    assert clock.time == pytest.approx(5.0, abs=2 * TICK)
    assert standing == clock.pace.lost == 0.0
    assert clock.pace.slowest == pytest.approx(1.0, abs=0.01)


def test_a_short_stall_is_caught_up_with(hand):
    clock = WorldClock(hand)
    _, standing = live(clock, hand, 2.0, stalls={100.5: MOST_BEHIND - 2 * TICK})
    assert clock.time == pytest.approx(2.0, abs=2 * TICK)
    assert standing == clock.pace.lost == 0.0


def test_a_long_stall_slows_time_and_is_told(hand):
    clock = WorldClock(hand)
    lived, standing = live(clock, hand, 4.0, stalls={101.2: 0.6})
    lost = 0.6 - MOST_BEHIND
    assert clock.pace.lost == pytest.approx(lost, abs=2 * TICK)
    assert standing == pytest.approx(lost, abs=2 * TICK)  # is what the motors are told that they stood still for
    assert clock.time == pytest.approx(4.0 - lost, abs=2 * TICK)
    assert clock.pace.slowest < 0.8
    assert 0.9 < clock.pace.slow_for < 2.1
    assert (lived[:, 1] <= lived[:, 0] - 100.0 + 1e-9).all()  # never ahead of real time


def test_a_body_that_leaves_time_out_makes_the_robot_slow(hand):
    clock = WorldClock(hand)
    for _ in range(500):
        hand.now += TICK
        clock.move(clock.due())
        clock.body_steps(0.25 * TICK, until=math.inf)
    assert clock.pace.last == pytest.approx(0.75, abs=0.01)
    assert clock.pace.lost_by_body == pytest.approx(0.5)
    assert clock.pace.lost == 0.0


def test_a_body_that_stays_in_one_step_is_told_while_it_does(hand):
    clock = WorldClock(hand)
    clock.body_steps(0.0, until=1.0)
    live(clock, hand, 5.0)
    assert clock.pace.last == clock.pace.slowest == pytest.approx(0.0, abs=0.01)
    assert clock.pace.slow_for == pytest.approx(4.0, abs=0.1)
    clock.body_steps(clock.time - 1.0, until=math.inf)
    assert clock.pace.lost_by_body == pytest.approx(4.0, abs=0.1)
    live(clock, hand, 2.0)
    assert clock.pace.last == pytest.approx(1.0, abs=0.02)
