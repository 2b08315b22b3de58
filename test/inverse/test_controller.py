"""The controller's ticks: targets of any frame, and what is held when there is no equilibrium."""

from contextlib import suppress

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.controller import Controller
from soft_twin.inverse.inverse import Inverse
from soft_twin.inverse.limits import CoordinateRate, EffortRate
from soft_twin.inverse.stride import LARGEST_STEP, LEAST_STEP, Stride
from soft_twin.inverse.targets import PoseTarget, actuation_target, pose_target

SIDEWAYS, DOWN = np.array([0.0, -9.81, 0.0]), np.array([0.0, 0.0, -9.81])


@pytest.fixture
def controller(ringed_twin):
    ringed_twin.reset()
    result = soft_twin.load_robot("slender").build_controller(ringed_twin)
    result.enable(True)
    return result


def settled(controller, gravity, ticks=40):
    return [controller.update(gravity) for _ in range(ticks)][-1]


def test_any_frame_can_be_aimed_at(controller):
    controller.aim(pose_target(controller.inverse, [0.004, 0.0, 0.049], "ring"))
    tick = settled(controller, DOWN)
    np.testing.assert_allclose(tick.reached, [0.004, 0.0, 0.049], atol=1e-4)
    assert tick.error < 1e-4
    assert tick.reachable
    assert np.isnan(tick.orientation_error)


def test_nothing_binds_actuators_that_were_let_go(controller):
    """Above the body nothing but lower tensions would bring it nearer to the target, while it is held."""
    controller.set_target([0.0, 0.0, 0.12])
    assert set(settled(controller, DOWN).active_limits) == {f"cable_{i} tension min" for i in range(1, 7)}
    controller.enable(False)
    assert settled(controller, DOWN).active_limits == ()


def test_an_orientation_counts_where_it_is_given(controller):
    """Six cables: where the ring in the middle is when the tip is held aside, can be asked for, position and all."""
    controller.set_target([0.015, 0.0, 0.097])
    settled(controller, DOWN)
    ring = controller.twin.frames["ring"]
    position, rotation = ring.position(controller.twin), ring.rotation(controller.twin)
    controller.reset()
    controller.aim(PoseTarget(position, "ring", rotation))
    tick = settled(controller, DOWN, 80)
    assert tick.error < 2e-4
    assert tick.orientation_error < 5e-3
    assert Rotation.from_matrix(tick.reached_rotation @ rotation.T).magnitude() == pytest.approx(tick.orientation_error)


@pytest.mark.parametrize("tensions", [[0.6, 0.1, 0.2, 0.1, 0.5, 0.1], [0.1, 0.7, 0.1, 0.4, 0.1, 0.3]])
def test_a_slender_bodys_tip_is_a_section_that_can_be_told_how_to_be_turned(controller, tensions):
    """Place and orientation that six tensions give it, found again from straight on by other ones."""
    twin, tip = controller.twin, controller.twin.frames["tip"]
    twin.equilibrium(SIDEWAYS, tensions=tensions)
    position, rotation = tip.position(twin), tip.rotation(twin)
    np.testing.assert_allclose(rotation[:, 2], twin.section_normal(twin.length), atol=1e-9)
    controller.reset()
    controller.aim(pose_target(controller.inverse, position, rotation=rotation))
    tick = settled(controller, SIDEWAYS, 60)
    assert tick.error < 1e-4
    assert tick.orientation_error < 1e-3 < Rotation.from_matrix(rotation).magnitude()
    np.testing.assert_allclose(tick.tip_rotation, tick.reached_rotation)
    assert tick.reachable


@pytest.mark.parametrize(
    ("frame", "position", "rotation", "cause"),
    [
        ("nail", [0.0, 0.0, 0.1], None, "there is no frame 'nail': there are tip, spot, ring"),
        ("spot", [0.0, 0.0, 0.1], np.eye(3), "a point has no orientation"),
        ("ring", [0.0, 0.0, 98.0], None, "is it in metres, in base_link?"),
        ("ring", [0.0, np.nan, 0.1], None, "target"),
    ],
)
def test_what_cannot_be_aimed_at_is_said_in_one_line(controller, frame, position, rotation, cause):
    with pytest.raises(InputError, match="target|orientation") as error:
        pose_target(controller.inverse, position, frame, rotation)
    assert cause in str(error.value)
    assert "\n" not in str(error.value)


def test_what_was_told_last_is_what_the_last_tick_said(controller):
    """Also of a body that is on its way after gravity has jumped, which is told what it is not sure of yet."""
    settled(controller, DOWN)
    for _ in range(3):
        tick = controller.update(SIDEWAYS)
        assert not tick.holding
        np.testing.assert_array_equal(controller.told, tick.coordinates)


def test_a_ticks_arrays_cannot_be_written_to(controller):
    """In millimetres for a picture, say: they are what the loop starts from next, and what it holds."""
    tick, (points, efforts, told) = controller.update(SIDEWAYS), arrays_of(controller)
    arrays = [value for value in vars(tick).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 9
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array *= 1e3
    target = controller.target
    target *= 1e3
    np.testing.assert_allclose(1e3 * controller.target, target)
    for found, before in zip(arrays_of(controller), (points, efforts, told), strict=True):
        np.testing.assert_array_equal(found, before)


def test_a_target_stays_where_it_was_put(controller):
    position, rotation = np.array([0.01, 0.0, 0.097]), np.eye(3)
    line = np.array([[0.0, 0.0, 0.0], [0.004, 0.0, 0.05], [0.01, 0.0, 0.097]])
    given = [each.copy() for each in (position, rotation, line)]
    target = pose_target(controller.inverse, position, rotation=rotation, line=line)
    controller.set_target(position)
    for each in (position, rotation, line):
        each += 5.0
    for kept, before in zip((target.position, target.rotation, target.line), given, strict=True):
        np.testing.assert_array_equal(kept, before)
    np.testing.assert_array_equal(controller.target, given[0])


def arrays_of(controller):
    return controller.twin.points.copy(), controller.twin.efforts.copy(), controller.told


def break_down(monkeypatch, controller, times):
    """Let the next linearisations fail, as those of a torn body do."""
    left, linearise = [times], controller.twin.linearise

    def linearised(gravity):
        if left[0] > 0:
            left[0] -= 1
            raise ConvergenceError("a cell is inside out")
        return linearise(gravity)

    monkeypatch.setattr(controller.twin, "linearise", linearised)


def test_a_tick_without_equilibrium_holds_the_last_safe_command_until_the_twin_is_found_again(monkeypatch, controller):
    before = settled(controller, SIDEWAYS)
    break_down(monkeypatch, controller, 4)  # two ticks, and each of them again from the undeformed body
    ticks = [controller.update(SIDEWAYS) for _ in range(40)]
    held = [tick.holding for tick in ticks]
    assert held[:3] == [True] * 3
    assert not held[-1]
    assert held == sorted(held, reverse=True)
    for tick in ticks[: sum(held)]:
        np.testing.assert_array_equal(tick.coordinates, before.coordinates)
        np.testing.assert_array_equal(tick.efforts, before.efforts)
    assert not any(tick.converged for tick in ticks[:2])
    np.testing.assert_allclose(ticks[-1].coordinates, before.coordinates, atol=2e-5)


def test_without_a_safe_command_there_is_nothing_to_hold(monkeypatch, controller):
    break_down(monkeypatch, controller, 2)
    with pytest.raises(ConvergenceError, match="inside out"):
        controller.update(SIDEWAYS)
    assert not controller.update(SIDEWAYS).holding


def test_more_weight_of_staying_is_slower_and_comes_as_near(controller):
    """Gravity turns at once; what is set applies from the next tick on."""
    calm = []
    controller.set_target([0.005, 0.0, 0.097])
    for weight in (controller.inverse.stay, 0.3):
        controller.reset()
        controller.inverse.stay = weight
        settled(controller, DOWN)
        first = controller.update(SIDEWAYS)
        calm.append((first.efforts, settled(controller, SIDEWAYS, 60).error))
    (quick, error), (slow, late_error) = calm
    assert np.abs(quick - slow).max() > 1e-2  # [N]
    assert max(error, late_error) < 1e-4


@pytest.mark.parametrize("weight", [0.0, 0.02, np.nan, np.inf])
def test_a_weight_of_staying_that_lets_efforts_go_to_and_fro_is_refused(controller, weight):
    with pytest.raises(InputError, match="weight of staying .*: expected a finite number, 0.03 or more"):
        controller.inverse.stay = weight


def test_how_long_a_body_has_rested_does_not_slow_what_comes_next():
    """At rest efforts change by round-off, to and fro, as if they had to be damped."""
    controller, errors = soft_twin.load_robot("finger").build_controller(), []
    controller.enable(True)
    for rest in (20, 90):
        controller.reset()
        controller.set_target([-0.0092, 0.001, 0.0792])
        settled(controller, [0.0, 0.0, -9.81], rest)
        controller.set_target([-0.0129, 0.0098, 0.0765])
        errors.append([controller.update([0.0, 0.0, -9.81]).error for _ in range(4)])
    np.testing.assert_allclose(*errors, atol=1e-4)
    assert errors[0][-1] < 5e-4


@pytest.mark.parametrize(("reuse", "target"), [(True, [0.0, 0.0, 0.1]), (True, [0.0, 0.0, 0.098]),
                                               (False, [0.0, 0.0, 0.098]), (False, [0.0, 0.03, 0.11])])  # fmt: skip
def test_gravity_that_jumps_leaves_no_to_and_fro(reuse, target):
    """Each of these went on by millimetres a tick for good after one of the jumps, while only the weight of staying
    grew."""
    controller = soft_twin.load_robot("slender").build_controller(reuse=reuse)
    controller.enable(True)
    controller.set_target(target)
    for before in ([0.0, -9.81, 0.0], [0.0, 6.9, -6.9], [-5.0, 5.0, 6.7]):
        for gravity in (np.array(before), DOWN):
            tips = [controller.update(gravity).tip for _ in range(60)]
            assert np.abs(np.diff(tips[-10:], axis=0)).max() < 2e-5


def ends_at(stride, asked):
    """Where a tip is in the end that asks (t,) to go along one way, and may go as far as a stride says [m]."""
    place = 0.0
    for step in asked:
        way = np.clip(step(place), -stride.length, stride.length)
        stride.note(np.array([way, 0.0, 0.0]))
        place += way
    return place


@pytest.mark.parametrize("between", [0, 1, 2])
def test_a_tip_that_jumps_to_and_fro_is_allowed_less_whatever_it_does_between(between):
    """From either side it asks to go ten millimetres beyond its place; after a jump it creeps back a little."""

    def jump(place):
        return -place - 0.01 * np.sign(place or 1.0)

    stride = Stride(0.1)
    place = ends_at(stride, ([jump] + [lambda place: -0.05 * place] * between) * 80)
    assert abs(place) < 2.0 * LEAST_STEP * 0.1
    assert ends_at(stride, [lambda place: 0.01] * 60) > 10.0 * LARGEST_STEP * 0.1  # who goes on may go further again


def test_a_target_out_of_reach_is_come_to_rest_at_with_factorisations_that_are_kept():
    """With the sensitivities of where it was factorised last the tip crept away from its best place, was fetched back
    by the next factorisation, and so on, for more than 200 ticks. By round-off it takes some 60 or 120."""
    controller = soft_twin.load_robot("slender").build_controller(reuse=True)
    controller.enable(True)
    controller.set_target([-0.02869, 0.02539, 0.08769])
    gravity = np.array([-2.0, -5.36, 7.969])
    settled(controller, np.array([1.103, 8.21, -5.255]), 60)
    tips = [controller.update(gravity).tip for _ in range(150)]
    assert np.linalg.norm(np.diff(tips[-10:], axis=0), axis=1).max() < 2e-5
    found = soft_twin.load_robot("slender").build_inverse().solve(gravity, controller.target)
    assert not found.reachable
    assert np.linalg.norm(tips[-1] - found.tip) < 1e-5


@pytest.mark.parametrize("target", [[0.0, 0.0, -0.05], [0.03, 0.01, -0.001]], ids=["on the axis", "beside it"])
def test_a_target_behind_the_base_is_refused_in_one_line_and_the_one_before_stays(controller, target):
    before = controller.aimed_at
    with pytest.raises(InputError, match="behind the base") as error:
        controller.set_target(target)
    assert "\n" not in str(error.value)
    assert controller.aimed_at is before
    with pytest.raises(InputError, match="behind the base"):
        controller.inverse.solve(DOWN, target)
    assert controller.update(DOWN).error == pytest.approx(np.linalg.norm(controller.twin.tip - before.position))


def test_a_target_that_nobody_has_filled_in_does_not_pull_the_tip_to_its_base(controller):
    before = controller.aimed_at
    with pytest.raises(InputError, match="was its position left out"):
        controller.set_target([0.0, 0.0, 0.0])
    assert controller.aimed_at is before


def test_a_target_that_no_goals_can_be_made_of_changes_nothing(controller):
    settled(controller, DOWN)
    before, command = controller.aimed_at, controller.update(DOWN).coordinates
    with pytest.raises(KeyError):
        controller.aim(PoseTarget(np.array([0.0, 0.02, 0.09]), "no such frame"))
    assert controller.aimed_at is before
    np.testing.assert_allclose(controller.update(DOWN).coordinates, command, atol=1e-8)


def test_feedback_that_leads_behind_the_base_does_not_end_the_loop(controller):
    controller.lead_by(np.array([0.0, 0.0, -0.2]))
    assert np.isfinite(controller.update(DOWN).efforts).all()


NEWTONS, METRES = 0.02, 2e-4  # by which commands may change in a tick


@pytest.fixture
def limited(ringed_twin):
    """Efforts and coordinates may change so much in a tick."""
    ringed_twin.reset()
    robot = soft_twin.load_robot("slender")
    base, rates = robot.build_inverse(ringed_twin), [EffortRate(NEWTONS, 1.0), CoordinateRate(METRES, 1.0)]
    inverse = Inverse(ringed_twin, [*base.limits, *rates], base.names, base.posture)
    result = Controller(inverse, [0.02, 0.01, 0.093])
    result.enable(True)
    return result


def check_rates(ticks):
    """Of the commands alone."""
    told = [tick for tick in ticks if tick.compensating]
    assert np.abs(np.diff([tick.efforts for tick in told], axis=0)).max() <= NEWTONS * (1 + 1e-9)
    assert np.abs(np.diff([tick.coordinates for tick in told], axis=0)).max() <= METRES * (1 + 1e-9)


def test_rates_count_from_what_was_told_last_when_a_command_is_held_no_longer(monkeypatch, limited):
    """A twin that starts again from its undeformed body counted them from there: commands fell by 0.8 N."""
    before = settled(limited, SIDEWAYS, 150)
    break_down(monkeypatch, limited, 4)
    ticks = [before, *(limited.update(SIDEWAYS) for _ in range(150))]
    check_rates(ticks)
    assert ticks[1].holding and not ticks[-1].holding
    assert max(np.abs(tick.efforts - before.efforts).max() for tick in ticks) < 0.1
    np.testing.assert_allclose(ticks[-1].efforts, before.efforts, atol=1e-4)
    assert ticks[-1].converged


@pytest.mark.parametrize("change", ["reset", "let go", "actuation"])
def test_rates_count_from_what_was_told_last_whatever_came_between(limited, change):
    ticks = [settled(limited, SIDEWAYS, 60)]
    if change == "reset":
        limited.reset()
    elif change == "let go":
        limited.enable(False)
        settled(limited, DOWN)
        limited.enable(True)
    else:
        limited.aim(actuation_target(limited.inverse, limited.told + 5 * METRES))
    ticks += [limited.update(SIDEWAYS) for _ in range(200)]
    check_rates(ticks)
    assert ticks[-1].converged
    np.testing.assert_allclose(ticks[-1].coordinates, limited.twin.coordinates(), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_no_sequence_of_faults_and_targets_makes_commands_jump(monkeypatch, limited, seed):
    """Targets, gravity that jumps or makes no sense, a body that breaks down, cables let go, resets."""
    rng, gravity, ticks = np.random.default_rng(seed), DOWN, []
    for _ in range(60):
        chance = rng.random()
        if chance < 0.05:
            limited.set_target([*rng.uniform(-0.04, 0.04, 2), rng.uniform(0.06, 0.1)])
        elif chance < 0.1:
            gravity = 9.81 * Rotation.random(random_state=rng).apply([0.0, 0.0, 1.0])
        elif chance < 0.13:
            break_down(monkeypatch, limited, rng.integers(1, 8))
        elif chance < 0.16:
            with pytest.raises(InputError):
                limited.update([np.nan, 0.0, 0.0])
        elif chance < 0.24:
            limited.enable(chance > 0.19)
        elif chance < 0.26:
            limited.reset()
        elif chance < 0.29:
            limited.aim(actuation_target(limited.inverse, rng.uniform(-0.002, 0.01, 6)))
        with suppress(ConvergenceError):
            ticks.append(limited.update(gravity))
    check_rates(ticks)
