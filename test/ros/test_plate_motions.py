"""How a motion of a plate ends, by what holds it."""

from types import SimpleNamespace

import pytest
from soft_twin_msgs.action import MoveTo

from soft_twin.errors import InputError
from soft_twin_ros.plate_motions import SETTLING, PlateMotions
from soft_twin_ros.plate_targets import Aimed


@pytest.fixture
def motions():
    """One that has just arrived."""
    result = PlateMotions.__new__(PlateMotions)
    result.node, result._heard, result._arrived = SimpleNamespace(steady_now=lambda: 0.0), 0.0, 0.02
    return result


def test_steered_by_cables_that_follow_it_is_done_when_they_have_arrived(motions):
    motions._held = SimpleNamespace(open_because="the IMU of the plate is silent", follows=True)
    assert motions.ending() == (True, "steered, and not held by what is seen: the IMU of the plate is silent")


def test_cables_that_do_not_follow_are_given_time_and_are_no_success(motions):
    motions._held = SimpleNamespace(open_because="the cables do not follow, by 6.6 mm", follows=False)
    assert motions.ending() is None
    motions._arrived = 1.01 * SETTLING
    success, told = motions.ending()
    assert not success and "do not follow, by 6.6 mm" in told


@pytest.mark.parametrize(
    ("goal", "message"),
    [({"frame": "nail", "use_orientation": True}, "target of the frame 'nail'"), ({}, "set use_orientation")],
)
def test_what_is_not_held_of_a_plate_is_named(motions, goal, message):
    motions._stops, motions._held = SimpleNamespace(refuse_if_stopped=lambda: None), SimpleNamespace()
    with pytest.raises(InputError, match=message):
        motions.begin("move_to", MoveTo.Goal(**goal)).send(None)


def test_a_target_a_hair_below_zero_is_told_without_a_sign():
    assert str(Aimed((0.1, -1e-9), (0.1, -1e-9))) == "pitch 5.7°, roll 0.0°"
