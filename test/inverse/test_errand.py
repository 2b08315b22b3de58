"""Paths of targets, and errands that lead a controller along them, in simulated time."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.errand import LOST, SETTLING, Errand
from soft_twin.inverse.paths import SMOOTH_PEAK, path_of_actuation, path_through, path_to
from soft_twin.inverse.targets import PoseTarget, actuation_target, pose_target

DOWN, PERIOD = np.array([0.0, 0.0, -9.81]), 0.02
MIDST = np.full((1, 3), 0.05)  # a place beside the body [m]


@pytest.fixture
def controller(ringed_twin):
    ringed_twin.reset()
    result = soft_twin.load_robot("slender").build_controller(ringed_twin)
    result.enable(True)
    for _ in range(20):
        result.update(DOWN)
    return result


def run(controller, errand, longest=20.0):
    """Ticks of an errand until it ends: its ending, and where the frame was at what time."""
    places = []
    for _ in range(round(longest / PERIOD)):
        errand.lead()
        tick = controller.update(DOWN)
        places.append((errand.time, *tick.reached))
        if (ending := errand.take(tick, PERIOD)) is not None:
            return ending, np.array(places)
    raise AssertionError("it never ends")


def test_a_tip_is_led_to_a_pose_in_a_time_and_held_there(controller):
    target = pose_target(controller.inverse, [0.01, 0.0, 0.098])
    ending, places = run(controller, Errand(controller, path_to(controller, target, duration=1.0)))
    assert ending.success, ending
    assert 1.0 <= places[-1, 0] < 1.2
    np.testing.assert_allclose(places[-1, 1:], [0.01, 0.0, 0.098], atol=1e-3)
    speeds = np.linalg.norm(np.diff(places[:, 1:], axis=0), axis=1) / PERIOD
    assert speeds[:5].max() < 0.2 * speeds.max()  # from rest
    assert speeds.max() == pytest.approx(SMOOTH_PEAK * 0.0102, rel=0.15)
    assert controller.aimed_at.position == pytest.approx([0.01, 0.0, 0.098])


def test_what_is_missed_is_the_paths_end_not_what_is_aimed_at_on_the_way(controller):
    place = np.array([0.01, 0.0, 0.098])
    errand = Errand(controller, path_to(controller, pose_target(controller.inverse, place), duration=1.0))
    for _ in range(25):
        errand.lead()
        errand.take(controller.update(DOWN), PERIOD)
    distance, angle = errand.miss
    assert distance == pytest.approx(np.linalg.norm(controller.twin.tip - place)) and 3e-3 < distance < 7e-3
    assert np.isnan(angle)
    controller.lead_by(np.array([0.0, 0.0, -1e-3]))  # by what the robot differs from its twin
    assert errand.miss[0] == pytest.approx(np.linalg.norm(controller.twin.tip - place - [0.0, 0.0, -1e-3]))
    led = Errand(controller, path_of_actuation(controller, [1.0], np.full((1, 6), 1e-3)))
    assert np.isnan(led.miss).all()  # nobody knows


def test_a_path_to_a_target_with_a_line_keeps_the_line(controller):
    line = np.array([[0.0, 0.0, 0.0], [0.004, 0.0, 0.05], [0.01, 0.0, 0.098]])
    path = path_to(controller, pose_target(controller.inverse, line[-1], line=line), duration=1.0)
    for time in (0.0, 0.5, 1.0):
        np.testing.assert_array_equal(path.target(time).line, line)


def test_a_speed_says_how_long_it_takes(controller):
    target = pose_target(controller.inverse, [0.01, 0.0, 0.1])
    assert path_to(controller, target, speed=0.01).duration == pytest.approx(SMOOTH_PEAK)


def test_a_path_through_places_begins_where_the_robot_aims_and_passes_each_at_its_time(controller):
    positions = np.array([[0.01, 0.0, 0.098], [0.0, 0.01, 0.098]])
    path = path_through(controller, [0.5, 1.5], positions, "tip")
    assert path.target(0.0).position == pytest.approx([0.0, 0.0, 0.1])
    assert path.target(0.5).position == pytest.approx(positions[0])
    assert path.target(1.0).position == pytest.approx(positions.mean(axis=0))
    assert path.target(9.0).position == pytest.approx(positions[1])
    ending, places = run(controller, Errand(controller, path, 0.002))
    assert ending.success and places[-1, 0] >= 1.5


def test_rates_at_the_points_of_a_path_are_kept(controller):
    rates = np.array([[0.0, 0.0, 0.0], [0.02, 0.0, 0.0]])
    path = path_through(controller, [0.0, 1.0], np.array([[0.0, 0, 0.1], [0.01, 0, 0.1]]), "tip", velocities=rates)
    slope = (path.target(1.0).position - path.target(1.0 - 1e-4).position) / 1e-4
    assert slope == pytest.approx([0.02, 0.0, 0.0], abs=1e-4)


@pytest.mark.parametrize("times", [[1e-6, 2e-6], [5e-4, 1e-3], [1e-4, 2e-4, 1.0], [0.0, 1e-9], [0.0]])
@pytest.mark.parametrize("turned", [False, True])
def test_points_however_close_in_time_are_passed_one_after_the_other(controller, times, turned):
    frame = "ring" if turned else "tip"
    start = controller.twin.frames[frame].position(controller.twin)
    positions = start + np.outer(np.linspace(0.0, 1.0, len(times)), [2e-3, 0.0, 0.0])
    turns = Rotation.from_rotvec(np.outer(np.linspace(0.0, 0.1, len(times)), [0.0, 1.0, 0.0])).as_matrix()
    path = path_through(controller, times, positions, frame, turns if turned else None)
    told = path_of_actuation(controller, times, np.outer(np.linspace(0.0, 1.0, len(times)), np.full(6, 1e-3)))
    for time, position, turn in zip(times, positions, turns, strict=True):
        if len(times) > 1:
            np.testing.assert_allclose(path.target(time).position, position, atol=1e-12)
            assert not turned or path.target(time).rotation == pytest.approx(turn, abs=1e-12)
    between = np.linspace(0.0, 2.0 * times[-1], 50)
    assert all(np.isfinite(path.target(time).position).all() for time in between)
    assert all(np.isfinite(told.target(time).values).all() for time in between)
    np.testing.assert_allclose(path.target(1.0).position, positions[-1], atol=1e-12)


def test_orientations_turn_along_the_shortest_way(controller):
    half = Rotation.from_euler("x", 5.0, degrees=True).as_matrix()
    whole = Rotation.from_euler("x", 10.0, degrees=True).as_matrix()
    place = controller.twin.frames["ring"].position(controller.twin)
    controller.aim(PoseTarget(place, "ring", np.eye(3)))
    path = path_to(controller, PoseTarget(place, "ring", whole), duration=2.0)
    np.testing.assert_allclose(path.target(1.0).rotation, half, atol=1e-9)
    np.testing.assert_allclose(path.target(2.0).rotation, whole, atol=1e-9)


def test_actuators_are_told_their_values_and_the_twin_follows(controller):
    start, end = controller.told.copy(), np.array([0.004, 0.0, 0.0, 0.002, 0.0, 0.0])
    path = path_of_actuation(controller, [1.0], end[None])
    np.testing.assert_allclose(path.target(0.5).values, 0.5 * (start + end))
    ending, _ = run(controller, Errand(controller, path))
    assert ending.success
    for _ in range(40):
        tick = controller.update(DOWN)
    np.testing.assert_array_equal(tick.coordinates, end)
    assert np.isnan(tick.error)
    mesh = controller.twin.body.mesh
    still = soft_twin.load_robot("slender").build_twin(mesh=(mesh.nodes, mesh.cells), element="hex20r")
    np.testing.assert_allclose(tick.tip, still.equilibrium(DOWN, list(end)).tip, atol=4e-4)  # without pretension
    controller.set_target([0.0, 0.0, 0.1])
    for _ in range(60):
        tick = controller.update(DOWN)
    assert tick.error < 1e-3


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        (lambda c, t: path_to(c, t), "duration 0 s and speed 0 m/s: expected one of the two above 0"),
        (lambda c, t: path_to(c, t, 1.0, 1.0), "expected one of the two above 0"),
        (lambda c, t: path_to(c, t, speed=np.inf), "speed inf m/s: expected one of the two above 0"),
        (lambda c, t: path_to(c, t, np.nan), "expected one of the two above 0"),
        (lambda c, t: path_to(c, t, 1e5), "expected at most 3600 s"),
        (lambda c, t: path_through(c, [1.0, 1.0], np.full((2, 3), 0.05), "tip"), "expected rising ones from 0"),
        (lambda c, t: path_through(c, [-1.0], np.full((1, 3), 0.05), "tip"), "expected rising ones from 0"),
        (lambda c, t: path_through(c, [], np.empty((0, 3)), "tip"), "0 points"),
        (lambda c, t: path_through(c, [1.0], np.array([[0.0, 0.0, 98.0]]), "tip"), "is it in metres"),
        (lambda c, t: path_through(c, [1.0], MIDST, "tip", None, [[np.nan, 0, 0]]), "finite ones"),
        (lambda c, t: path_through(c, [1.0], MIDST, "tip", None, [[0.0, 1e306, 0]]), "finite ones"),
        (
            lambda c, t: path_through(c, [1.0], MIDST, "tip", None, [[20.0, 0, 0]]),
            "lead it too far: target",
        ),
        (lambda c, t: path_through(c, [1.0], MIDST, "tip", None, [[0, 0, 1.0]]), "is behind the base"),
        (
            lambda c, t: path_through(c, [1.0], MIDST, "tip", None, np.zeros((2, 3))),
            "as many as values",
        ),
        (lambda c, t: path_of_actuation(c, [1.0], np.zeros((1, 6)), np.full((1, 6), np.inf)), "path: rates [[inf"),
        (lambda c, t: path_of_actuation(c, [1.0], np.full((1, 6), 0.5)), "cable_1 at 0.5: expected -0.002 … 0.012"),
        (lambda c, t: path_of_actuation(c, [1.0], np.zeros((1, 5))), "actuation: expected 6 numbers"),
        (lambda c, t: path_through(c, [0.0, 1.0], np.array([[0.02, 0, 0.1], [0, 0, 0.1]]), "tip"), "begins 20.0 mm"),
        (lambda c, t: path_of_actuation(c, [0.0, 1.0], np.array([[0.008] + [0.0] * 5, [0.0] * 6])), "begins "),
    ],
)
def test_what_cannot_be_followed_is_said_in_one_line(controller, call, cause):
    with pytest.raises(InputError) as error:
        call(controller, pose_target(controller.inverse, [0.01, 0.0, 0.1]))
    assert cause in str(error.value)


def test_what_is_out_of_reach_ends_with_what_binds(controller):
    far = pose_target(controller.inverse, [0.09, 0.0, 0.03])
    ending, places = run(controller, Errand(controller, path_to(controller, far, duration=1.0)))
    assert not ending.success and "limits bind" in ending.message and "mm from the target" in ending.message
    assert places[-1, 0] == pytest.approx(1.0 + SETTLING, abs=3 * PERIOD)


def test_time_stands_still_without_an_equilibrium_and_in_long_pauses(controller, monkeypatch):
    target = pose_target(controller.inverse, [0.01, 0.0, 0.098])
    errand = Errand(controller, path_to(controller, target, duration=1.0))
    errand.lead()
    assert errand.take(controller.update(DOWN), 30.0) is None
    assert errand.time < 0.2

    def break_down(gravity):
        raise ConvergenceError("a cell is inside out")

    monkeypatch.setattr(controller.twin, "linearise", break_down)
    before, endings = errand.time, []
    while not endings or endings[-1] is None:
        endings.append(errand.take(controller.update(DOWN), PERIOD))
    assert errand.time == before and len(endings) == pytest.approx(LOST / PERIOD, abs=2)
    assert not endings[-1].success and "lost its equilibrium" in endings[-1].message


def test_chambers_are_told_pressures_and_cables_displacements():
    finger = soft_twin.load_robot("finger").build_controller()
    low, high = finger.inverse.told_limits
    np.testing.assert_allclose(low, [-0.005, -0.005, 0.0])
    np.testing.assert_allclose(high, [0.020, 0.020, 30e3])
    finger.enable(True)
    finger.aim(actuation_target(finger.inverse, [0.0, 0.0, 20e3]))
    for _ in range(30):
        tick = finger.update(DOWN)
    assert tick.efforts[2] == 20e3
    twin = soft_twin.load_robot("finger").build_twin()
    np.testing.assert_allclose(tick.tip, twin.equilibrium(DOWN, efforts=[0.0, 0.0, 20e3]).tip, atol=1e-6)


@pytest.mark.parametrize("wound", [np.zeros(6), 1e-3 * np.array([2.0, 0.0, 0.0, 1.0, -1.0, 0.0])])
def test_winches_that_are_told_where_to_be_keep_no_tension_in_a_slack_cable(ringed_twin, wound):
    """With the description's pretension of 0.03 N in them the tip would hang 3 mm lower than the robot's."""
    ringed_twin.reset()
    inverse = soft_twin.load_robot("slender").build_inverse(ringed_twin)
    assert all((each.efforts(ringed_twin)[0] >= 0.03).all() for each in inverse.limits[:1])
    found = inverse.solve([0.0, -9.81, 0.0], goals=actuation_target(inverse, wound).goals(inverse))
    gaps = found.coordinates - wound
    assert found.converged and found.reachable
    assert (found.efforts >= 0.0).all() and gaps.min() > -1e-7 and np.abs(found.efforts * gaps).max() < 1e-7
    assert (found.efforts < 1e-9).sum() >= 3 and gaps.max() > 5e-4


@pytest.mark.parametrize(
    ("error", "turn", "words"),
    [(0.007, 0.03, "not within 1.1 deg"), (0.03, 0.01, "not within 20 mm"), (0.03, 0.03, "20 mm and 1.1 deg")],
)
def test_an_errand_that_fails_says_by_which_tolerance(error, turn, words):
    path = SimpleNamespace(duration=1.0, target=lambda time: None)
    errand = Errand(SimpleNamespace(aim=lambda target: None), path, 0.02)
    errand.lead()
    tick = SimpleNamespace(error=error, orientation_error=turn, active_limits=(), converged=True, holding=False)
    for _ in range(round((path.duration + SETTLING) / PERIOD) + 3):
        if (ending := errand.take(tick, PERIOD)) is not None:
            break
    assert not ending.success and ending.message.endswith(words)


@pytest.mark.parametrize("gap", [0.02, 0.105])
def test_a_path_whose_ticks_come_in_time_says_nothing_of_that(controller, gap):
    assert "instead of" not in late_by_ticks_of(controller, gap).message


def test_a_path_whose_ticks_come_late_says_how_long_it_took(controller):
    """Its time goes on by a tenth of a second a tick: at a tick each 0.3 s it takes three times as long."""
    ending = late_by_ticks_of(controller, 0.3)
    took = re.search(r"in (.*) s instead of 1 s, as ticks came late", ending.message)
    assert ending.success and float(took[1]) == pytest.approx(3.0, abs=0.3)


def late_by_ticks_of(controller, gap):
    target = pose_target(controller.inverse, [0.004, 0.0, 0.0995])
    errand, ending = Errand(controller, path_to(controller, target, duration=1.0)), None
    while ending is None:
        errand.lead()
        ending = errand.take(controller.update(DOWN), gap)
    return ending
