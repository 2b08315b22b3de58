"""A plate that goes elsewhere than it is pulled opens the loop before it runs away; pushes and weights do not."""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.inverse.plate_controller import CommandLimits, PlateController
from soft_twin.inverse.plate_holder import PlateHolder
from soft_twin.inverse.plate_response import PlateResponse
from soft_twin.inverse.plate_rest import Measured
from soft_twin.inverse.plate_sight import Sight, rotation_of
from soft_twin.twins.constant_curvature.kernels import bend_of

CHORD = soft_twin.load_robot("neck").build_twin("pcc_chord")
DOWN, DT = np.array([0.0, 0.0, -9.81]), 0.02
LAG = 0.1  # [s] of the body
CAUSES = "are the IMUs of base and plate swapped, mounted otherwise than described, or cables mixed up?"


def sane(base, plate):
    return Measured(base, plate)


def swapped(base, plate):
    return Measured(plate, base)


def turned(degrees):
    return lambda base, plate: Measured(base, Rotation.from_euler("z", degrees, degrees=True).apply(plate))


class Neck:
    """Stands where its cables have it by chords, after a lag, and by `pushed` (2,) elsewhere; `order` of its cables."""

    def __init__(self, wrong=sane, order=(0, 1, 2)):
        limits = CommandLimits((-0.05, 0.05), 0.05)
        self.holder = PlateHolder(PlateController(CHORD, limits=limits))
        self.wrong, self.order, self.answer = wrong, list(order), CHORD.orientation
        self.bend, self.pushed = np.radians([0.2, -0.1]), np.zeros(2)  # cables are never quite alike
        self.furthest, self.gravity = 0.0, DOWN

    def run(self, seconds, push=None):
        """The last of what the holder did; `push`: (2,) by time [s]."""
        for k in range(round(seconds / DT)):
            self.pushed = self.pushed if push is None else push(DT * k)
            held = self.holder.update(self.wrong(self.gravity, rotation_of(self.bend).T @ self.gravity), DT)
            led = np.array(bend_of(*self.answer(held.tick.displacements[self.order])))
            self.bend = self.bend - np.expm1(-DT / LAG) * (led + self.pushed - self.bend)
            self.furthest = max(self.furthest, np.degrees(np.hypot(*self.bend)))
        return held

    def go(self, pitch, roll, seconds=2.0):
        self.holder.controller.aim(*np.radians([pitch, roll]))
        return self.run(seconds)

    @property
    def off(self):
        """[°] from where it shall be."""
        return np.degrees(np.hypot(*(self.bend - self.holder.controller.target_bend)))


@pytest.mark.parametrize("wrong", [swapped, turned(180.0), turned(-150.0)], ids=["swapped", "180", "-150"])
def test_a_straight_plate_that_runs_away_comes_back(wrong):
    neck = Neck(wrong)
    assert neck.run(4.0).open_because == f"what is corrected takes the plate further off: {CAUSES}"
    assert neck.furthest < 10.0, "a correction may be 17°"
    assert neck.off < 0.1


@pytest.mark.parametrize(
    ("wrong", "order", "aside"),
    [
        (swapped, (0, 1, 2), 180),
        (turned(90.0), (0, 1, 2), 90),
        (turned(-120.0), (0, 1, 2), 120),
        (sane, (1, 2, 0), 120),
    ],
    ids=["swapped", "90", "-120", "cables"],
)
def test_a_plate_that_is_seen_to_go_elsewhere_than_it_is_pulled_opens_the_loop_on_its_first_way(wrong, order, aside):
    neck = Neck(wrong, order)
    words = neck.go(14.0, 8.0, 0.5).open_because
    assert words.endswith(CAUSES)
    assert float(words.split("turns ")[1].split("°")[0]) == pytest.approx(aside, abs=12)
    neck.run(1.5)
    assert neck.off < 0.5 if order == (0, 1, 2) else neck.off > 10.0
    np.testing.assert_allclose(neck.holder.controller.correction, 0.0, atol=1e-3)


@pytest.mark.parametrize("inclination", [20.0, 40.0, 65.0])
def test_on_a_leaning_base_a_board_that_is_the_wrong_way_round_keeps_the_loop_open(inclination):
    neck = Neck(turned(180.0))
    neck.gravity = Rotation.from_euler("y", 90.0 - inclination, degrees=True).apply(DOWN)
    for target in ((15.0, 10.0), (-10.0, 20.0), (0.0, 0.0)):
        held = neck.go(*target, 3.0)
        assert held.open_because.endswith(CAUSES) and neck.off < 0.5


def test_once_the_plate_goes_where_it_is_pulled_again_the_loop_is_closed():
    neck = Neck(swapped)
    assert neck.go(0.0, 15.0).open_because
    neck.wrong = sane
    neck.go(12.0, 0.0)
    assert neck.go(0.0, -10.0).open_because == ""
    assert neck.run(2.0).tick.closed and neck.off < 0.1


def test_whoever_aligns_or_begins_anew_closes_it_too():
    neck = Neck(swapped)
    assert neck.run(4.0).open_because
    neck.wrong = sane
    assert neck.run(1.0).open_because, "nothing has told that it is right now"
    neck.holder.begin_at(np.zeros(3))
    assert neck.run(1.0).open_because == ""


@pytest.mark.parametrize("seconds", [0.1, 0.5, 2.0])
def test_a_push_is_held_against_and_not_taken_for_swapped_imus(seconds):
    neck = Neck()
    neck.go(10.0, 5.0)

    def push(time):
        return np.radians([12.0, -6.0]) * min(time / seconds, 1.0)

    assert neck.run(4.0, push).open_because == ""
    assert neck.off < 0.1
    assert neck.run(4.0, lambda time: np.zeros(2)).open_because == "" and neck.off < 0.1


def test_a_plate_that_bends_by_half_as_much_as_its_model_leaves_the_loop_closed():
    neck = Neck()
    neck.answer = lambda told: 0.6 * np.array(CHORD.orientation(told))
    for target in ((15.0, 0.0), (-10.0, 12.0), (3.0, 3.0)):
        assert neck.go(*target).open_because == ""
    assert neck.off < 0.2


def test_a_plate_that_something_holds_is_told_as_that_and_not_as_swapped():
    neck = Neck()
    neck.holder.controller.aim(*np.radians([25.0, 0.0]))
    for _ in range(150):
        held = neck.holder.update(Measured(DOWN, DOWN), DT)
    assert held.open_because == "" and held.tick.at_largest


@cache
def that_has_followed(share):
    """A neck that bends by a share of what it is told, after two motions; to be copied."""
    neck = Neck()
    neck.answer = lambda told: share * np.array(CHORD.orientation(told))
    neck.go(20.0, 0.0)
    neck.go(-10.0, 12.0)
    return neck


@pytest.mark.parametrize("target", [(25.0, -5.0), (10.0, 12.0), (-30.0, 20.0)])
@pytest.mark.parametrize("share", [0.8, 1.0, 1.2])
def test_a_plate_that_is_held_all_at_once_where_it_has_followed_is_not_taken_for_swapped(target, share):
    neck = deepcopy(that_has_followed(share))
    neck.holder.controller.aim(*np.radians(target))
    for _ in range(150):
        held = neck.holder.update(Measured(DOWN, rotation_of(neck.bend).T @ DOWN), DT)
        assert CAUSES not in held.open_because


@pytest.mark.parametrize("late", [0.06, 0.2, 0.3])
@pytest.mark.parametrize("wait", [0.5, 1.5])
def test_a_plate_that_was_moved_before_and_sets_off_late_is_not_taken_for_swapped(wait, late):
    def share(time, duration):
        return np.clip(time / duration, 0.0, 1.0)

    response, set_off = PlateResponse(), 1.0 + wait
    for time in np.arange(0.0, 5.0, DT):
        expected = np.array([0.4 * (1.0 - share(time - set_off, 0.4)), 0.0])
        seen = np.array([0.4 * (share(time - 0.5, 0.5) - share(time - set_off - late, 0.4)), 0.0])
        assert response.update(expected, np.zeros(2), Sight(seen, None, 0.0), DT) == ""
