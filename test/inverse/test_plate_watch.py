"""What is noticed of a plate that is held."""

import numpy as np
import pytest

from soft_twin.inverse.plate_payload import Payload
from soft_twin.inverse.plate_sight import Sight
from soft_twin.inverse.plate_watch import PlateWatch

NAMES, DT = ["left", "middle", "right"], 0.02
STILL = Sight(np.array([0.2, -0.1]), None, 0.0)


def noticed(watch, seconds, resting=True, tensions=None, wanted=None, payload=None, bend=None):
    """What is told at the end; `bend`: (2,) by time [s]."""
    for k in range(round(seconds / DT)):
        sight = STILL if bend is None else Sight(bend(DT * k), None, 0.0)
        told = watch.update(resting, sight, payload, tensions, wanted, NAMES, DT)
    return told


def test_a_cable_that_does_not_pull_is_named_and_beside_it_what_the_model_has():
    pulls, wanted = np.array([3.0, 0.1, 8.0]), np.array([2.5, 2.0, 9.0])
    watch = PlateWatch()
    assert noticed(watch, 0.8, tensions=pulls, wanted=wanted) == ()
    (told,) = noticed(watch, 0.4, tensions=pulls, wanted=wanted)
    assert told.startswith("middle is slack: 0.1 N, 2.0 N in the model")
    assert noticed(watch, 0.04, tensions=pulls) == ("middle is slack",), "by kinematics, which know of no tension"
    assert noticed(watch, DT, tensions=np.full(3, 2.0)) == ()
    assert noticed(watch, 0.8, tensions=pulls) == (), "taut for a moment: it begins anew"


@pytest.mark.parametrize("how", [{"resting": False, "tensions": np.zeros(3)}, {"tensions": None}])
def test_nobody_is_slack_on_the_way_or_where_tensions_are_not_known(how):
    assert noticed(PlateWatch(), 3.0, **how) == ()


def known(mass, deviation=0.01, steady=True):
    return Payload(mass, deviation, 1.0, steady)


def test_what_is_put_on_or_falls_is_told_for_a_while_by_how_much():
    watch = PlateWatch()
    assert noticed(watch, 1.0, payload=known(0.02)) == ()
    assert noticed(watch, 0.5, payload=known(float("nan"), 2.0)) == ()
    assert noticed(watch, 0.5, payload=known(0.52)) == ("0.50 kg were put on the plate",)
    assert noticed(watch, 9.0, payload=known(0.55)) == ("0.53 kg were put on the plate",)
    assert noticed(watch, 1.0, payload=known(0.55)) == ()
    assert noticed(watch, 0.5, payload=known(0.0)) == ("0.55 kg were taken off the plate, or fell",)


def test_what_was_found_too_heavy_at_first_is_put_right_and_nothing_was_taken_off():
    watch = PlateWatch()
    noticed(watch, 0.5, payload=known(0.02))
    assert noticed(watch, 0.7, payload=known(1.32)) == ("1.30 kg were put on the plate",)
    assert noticed(watch, 7.0, payload=known(1.02)) == ("1.00 kg were put on the plate",)
    assert noticed(watch, 0.5, payload=known(0.72)) == (
        "0.30 kg were taken off the plate, or fell, or what is on it slid",
    )


def test_what_is_found_better_by_and_by_is_told_as_it_is_known_then():
    """Though each look is within what the first one may err by."""
    watch = PlateWatch()
    noticed(watch, 0.5, payload=known(0.0, deviation=0.07))
    for mass, deviation in ((1.48, 0.4), (0.7, 0.2), (0.55, 0.1), (0.5, 0.08)):
        told = noticed(watch, 0.5, payload=known(mass, deviation))
    assert told == ("0.50 kg were put on the plate",)
    assert noticed(watch, 0.5, payload=known(0.8, 0.3)) == told, "known worse"
    elsewhere = Payload(0.8, 0.07, 1.0, True, pose=1)
    assert noticed(watch, 0.5, payload=elsewhere) == told, "another pose, with errors of its own"


def test_what_falls_off_at_once_has_fallen():
    watch = PlateWatch()
    noticed(watch, 0.5, payload=known(0.0))
    noticed(watch, 0.7, payload=known(0.5))
    assert noticed(watch, 0.5, payload=known(0.02)) == ("0.48 kg were taken off the plate, or fell",)


def test_what_is_known_badly_or_while_the_plate_turns_has_not_changed():
    watch = PlateWatch()
    noticed(watch, 0.5, payload=known(0.0))
    assert noticed(watch, 0.5, payload=known(0.5, deviation=0.2)) == ()
    assert noticed(watch, 0.5, payload=known(0.5, steady=False)) == ()
    watch.tare()
    assert noticed(watch, 0.5, payload=known(0.5)) == (), "whatever was told before a tare"


def test_a_plate_that_goes_to_and_fro_swings_and_one_that_creeps_or_trembles_does_not():
    def pulls(amplitude, rate):
        told = PlateWatch()
        for k in range(150):
            swings = 5.0 + np.array([0.5, -0.2, 0.1]) * amplitude * np.sin(2 * np.pi * rate * DT * k)
            words = told.update(True, STILL, None, swings, None, NAMES, DT)
        return words

    assert pulls(1.0, 1.4) == ("what hangs on the plate swings: tensions by 0.5 N, 1.4 times a second",)
    assert pulls(0.2, 1.4) == () and pulls(1.0, 0.3) == ()

    def told(amplitude, rate, creep=0.0):
        way = np.array([0.6, 0.8])
        return noticed(
            PlateWatch(), 3.0, bend=lambda t: way * (np.radians(amplitude) * np.sin(2 * np.pi * rate * t) + creep * t)
        )

    (words,) = told(0.5, 1.5)
    assert words.startswith("the plate swings by 0.5°, 1.5 times a second")
    assert told(0.05, 1.5) == ()
    assert told(0.0, 1.0, creep=np.radians(1.0)) == ()
    assert told(0.5, 0.3) == (), "slower than a thread of two metres"


def test_what_is_put_on_and_rests_does_not_swing_though_tensions_tremble():
    rng, watch, told = np.random.default_rng(5), PlateWatch(), []
    for k in range(500):
        pulls = np.array([5.0, 4.0, 6.0]) + (k >= 250) * np.array([1.2, -0.3, 0.8])
        told += watch.update(True, STILL, None, pulls + 0.03 * rng.standard_normal(3), None, NAMES, DT)
    assert told == []


def test_a_payload_that_looks_heavier_in_another_pose_was_not_put_on_but_in_the_same_pose_it_was():
    """Its centre may be beside the plate's: there 20 mm make half of it, or half more."""
    here, there = ({"leverage": (0.0, side * 25.0, 0.0)} for side in (1.0, -1.0))
    watch = PlateWatch()
    assert noticed(watch, 1.0, payload=Payload(0.75, 0.05, 1.0, True, **here)) == ()
    assert noticed(watch, 1.0, payload=Payload(0.25, 0.05, 1.0, True, **there, pose=1)) == ()
    watch = PlateWatch()
    assert noticed(watch, 1.0, payload=Payload(0.25, 0.05, 1.0, True, **here)) == ()
    assert noticed(watch, 1.0, payload=Payload(0.75, 0.05, 1.0, True, **here)) == (
        "0.50 kg were put on the plate, or what is on it slid",
    )
    noticed(watch, 3.5, payload=Payload(0.75, 0.05, 1.0, True, **here))
    fallen = Payload(0.0, 0.05, 1.0, True, **there)
    assert noticed(watch, 0.5, payload=fallen) == ("0.75 kg were taken off the plate, or fell",)
