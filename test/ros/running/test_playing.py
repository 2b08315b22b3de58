"""A motion is over when the emulated robot says so: what it tells of its time comes late on a busy machine."""

import pytest

from soft_twin.errors import RunError
from soft_twin_ros.running.playing import PATIENCE, Parts, Playing


def test_a_robot_that_is_behind_is_waited_for_though_it_has_not_said_so_yet():
    playing = Playing(10.0, now=100.0, lost=2.0)
    assert not playing.over(105.0, "hold 0", 2.0)
    assert not playing.over(110.5, "hold 0", 2.0)
    assert not playing.over(112.0, "return", 4.0)
    assert playing.over(112.5, "over", 4.0)


def test_what_it_has_said_of_the_motion_before_ends_none():
    playing = Playing(10.0, now=100.0, lost=0.0)
    assert not playing.over(100.1, "over", 0.0)
    assert not playing.over(100.2, "move 45", 0.0)
    assert playing.over(110.0, "over", 0.0)


def test_a_motion_that_never_ends_is_an_error_after_the_time_that_the_robot_has_lost():
    playing = Playing(10.0, now=100.0, lost=0.0)
    assert not playing.over(109.0 + PATIENCE + 50.0, "hold 0", 50.0)
    with pytest.raises(RunError, match="hold 0"):
        playing.over(111.0 + PATIENCE + 50.0, "hold 0", 50.0)


def test_a_robot_without_a_time_of_its_own_is_waited_for_by_the_clock():
    playing = Playing(10.0, now=100.0, lost=None)
    assert not playing.over(109.9, "over", None)
    assert playing.over(110.0, "bending", None)


def test_the_error_of_a_part_is_the_last_within_it_however_late_the_next_part_is_told():
    """Tips leave a hold at 10 s; the diagnostics say so at 10.4 s, when the tip is 20 mm further."""
    parts = Parts()
    assert parts.take(9.0, 3.0, "hold 45", 8.0) == ("", 3.0)
    told = [parts.take(at, 1.0 if at < 10.0 else 50.0 * (at - 10.0), "hold 45", 8.0) for at in (9.5, 9.98, 10.2, 10.39)]
    assert told == [None] * 4
    assert parts.take(10.4, 20.0, "move 0", 10.0) == ("hold 45", 1.0)
    assert parts.take(10.5, 21.0, "move 0", 10.0) is None


def test_where_nobody_says_when_a_part_began_its_error_is_the_newest():
    parts = Parts()
    parts.take(9.0, 3.0, "part_1", None)
    parts.take(9.5, 1.0, "part_1", None)
    assert parts.take(10.0, 2.0, "part_2", None) == ("part_1", 2.0)
