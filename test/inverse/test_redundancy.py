"""Six chambers for the three coordinates of a tip: what the goals leave open is decided, and not by the way there."""

import numpy as np
import pytest

import soft_twin.inverse.inverse
from soft_twin import load_robot
from soft_twin.errors import InputError
from soft_twin.inverse.controller import Controller
from soft_twin.inverse.goals import EffortGoal, PositionGoal
from soft_twin.inverse.priorities import Bounds, Level, solve_levels

UPRIGHT, LEANING = np.array([0.0, 0.0, -9.81]), np.array([3.0, 2.0, -9.12])
TARGETS = ([0.0, 0.0, 0.287], [0.025, 0.01, 0.275])
APART = 20.0  # [Pa] by which answers may differ that have moved no node by 5 µm in their last step


@pytest.fixture(scope="module")
def inverse():
    return load_robot("arm").build_inverse()


@pytest.mark.parametrize("target", TARGETS)
def test_whole_solves_and_the_loop_agree_whatever_the_way(coarse_arm, target):
    inverse = coarse_arm.build_inverse()
    alone = inverse.solve(UPRIGHT, target)  # as solve_ik does: from rest
    assert alone.converged and alone.reachable
    controller = Controller(inverse, [-0.05, 0.06, 0.26])
    controller.reset()
    controller.enable(True)
    for aim, gravity in (([-0.05, 0.06, 0.26], LEANING), ([0.02, -0.06, 0.27], UPRIGHT)):
        controller.set_target(aim)
        for _ in range(12):
            controller.update(gravity)
    controller.set_target(target)
    looped = [controller.update(UPRIGHT) for _ in range(30)][-1]
    assert looped.converged and looped.error < 1e-5
    np.testing.assert_allclose(looped.efforts, alone.efforts, atol=APART)
    warm = inverse.solve(UPRIGHT, target)
    np.testing.assert_allclose(warm.efforts, alone.efforts, atol=APART)


def test_of_all_pressures_that_hold_a_tip_the_least_are_taken(inverse):
    """Others that hold it, which a goal of its own asks for, are larger; and the tip does not pay for it."""
    inverse.twin.reset()
    least = inverse.solve(UPRIGHT, TARGETS[1])
    tip = inverse.twin.frames["tip"]
    rng = np.random.default_rng(4)
    for _ in range(2):
        wanted = EffortGoal(rng.uniform(0.0, 3e4, 6), 1e-6)
        other = inverse.solve(UPRIGHT, goals=[PositionGoal(tip, TARGETS[1]), wanted])
        assert other.reachable
        assert np.abs(other.efforts - least.efforts).max() > 100.0 * APART
        assert np.linalg.norm(least.efforts) < np.linalg.norm(other.efforts)
    assert least.error < 1e-7


@pytest.mark.parametrize(
    "gravity, pressures",
    [
        ([3.2237, -0.367, -9.2579], [0.0, 3052.0, 0.0, 0.0, 0.0, 30309.0]),
        ([-4.9365, -7.8477, 3.2062], [11972.5, 0.0, 3998.1, 27992.3, 0.0, 0.0]),
        ([8.83217391, -3.82957206, 1.88763923], [31845.2, 0.0, 0.0, 0.0, 18745.9, 0.0]),  # also from half of the range
    ],
)
def test_a_tip_that_feasible_pressures_make_is_not_called_unreachable_from_the_nearest_place_on_the_way(
    inverse, gravity, pressures
):
    """With one chamber's lowest pressure in the way, the tip rests 0.16 to 0.23 mm beside it: more pressure in any
    chamber that has none would lead away from it at first."""
    target = inverse.twin.equilibrium(gravity, efforts=pressures).tip
    inverse.twin.reset()
    found = inverse.solve(gravity, target)
    assert found.converged and found.reachable and found.iterations < 120
    np.testing.assert_allclose(found.efforts, pressures, atol=APART)
    np.testing.assert_allclose(inverse.twin.tip, target, atol=1e-6)


class Looks:
    """A clock that goes on by a second with each look at it."""

    def __init__(self):
        self.count = 0

    def monotonic(self):
        self.count += 1
        return float(self.count)


def test_a_time_limit_ends_the_search_with_the_nearest_equilibrium_so_far(inverse, monkeypatch):
    gravity, pressures = [4.4228, 6.0958, 6.2862], [18513.0, 0.0, 16848.0, 0.0, 0.0, 24189.0]
    target = inverse.twin.equilibrium(gravity, efforts=pressures).tip
    monkeypatch.setattr(soft_twin.inverse.inverse, "time", Looks())
    found = {}
    for limit in (0.5, 40.0, 1000.0):
        inverse.twin.reset()
        found[limit] = inverse.solve(gravity, target, time_limit=limit)
        np.testing.assert_array_equal(inverse.twin.efforts, found[limit].efforts)
    assert not found[0.5].complete and not found[0.5].converged and found[0.5].iterations == 1
    near = found[40.0]  # at the place on the way that the search sets out from
    assert near.converged and not near.complete and not near.reachable and 1e-4 < near.error < 3e-4
    np.testing.assert_allclose(inverse.twin.equilibrium(gravity, efforts=near.efforts).tip, near.tip, atol=1e-6)
    found = found[1000.0]
    assert found.complete and found.converged and found.reachable and found.iterations < 120
    np.testing.assert_allclose(found.efforts, pressures, atol=APART)
    warm = inverse.solve(gravity, target)
    assert warm.complete and warm.reachable


def test_a_place_that_is_held_is_an_answer_though_nine_pressures_are_on_a_long_way_to_their_least():
    inverse, gravity, target = load_robot("bellows").build_inverse(), [0.0, 0.0, 9.81], [0.2, 0.0, 0.8]
    held = inverse.solve(gravity, target, max_iterations=60)
    assert held.converged and held.reachable and not held.complete
    assert held.optimality < 1e-7 and held.error < 1e-9
    tip = inverse.twin.equilibrium(gravity, efforts=held.efforts).tip
    np.testing.assert_allclose(tip, target, atol=1e-6)


def test_a_time_limit_is_positive(inverse):
    with pytest.raises(InputError, match="time limit of 0.0 s: it must be positive"):
        inverse.solve(UPRIGHT, TARGETS[0], time_limit=0.0)


@pytest.mark.parametrize(
    "gravity, target",
    [
        ([-5.37990324, -6.5953933, 4.87786104], [-0.0248128, -0.01281325, 0.27953758]),
        ([0.599498, -7.44868761, -6.35560815], [0.03568244, -0.14905348, 0.2224659]),
    ],
)
def test_a_whole_solve_ends_where_fibres_slacken(inverse, gravity, target):
    """The least pressures that hold these tips are where a fibre slackens, and the Jacobian jumps."""
    inverse.twin.reset()
    found = inverse.solve(gravity, target)
    assert found.reachable and found.converged and found.iterations < 100
    np.testing.assert_allclose(inverse.twin.equilibrium(gravity, efforts=found.efforts).tip, target, atol=1e-6)


@pytest.mark.parametrize("far", [0.0, 50.0])
def test_little_effort_is_never_weighed_against_goals(far):
    """Neither where the first of them can be reached, nor where it cannot and the others are weighed against it."""
    rng = np.random.default_rng(5)
    bounds = Bounds(np.zeros(6), np.full(6, 2.0), np.zeros((0, 6)), np.zeros(0), np.zeros(0))
    rest = Level(np.eye(6), np.zeros(6), np.zeros(6), np.eye(6), 1e-3)
    for _ in range(20):
        J1, J2 = rng.normal(size=(3, 6)), rng.normal(size=(1, 6))
        r1, r2 = -J1 @ rng.uniform(0.5, 1.0, 6) + far, rng.normal(size=1)
        levels = [Level(J.T @ J + 1e-8 * np.eye(6), J.T @ r, r, J, 1e-3) for J, r in ((J1, r1), (J2, r2))]
        open_, decided = solve_levels(levels, bounds)[0], solve_levels(levels, bounds, rest=rest)[0]
        np.testing.assert_allclose(J1 @ decided, J1 @ open_, atol=1e-6)
        np.testing.assert_allclose(J2 @ decided, J2 @ open_, atol=1e-6)
        assert np.linalg.norm(decided) <= np.linalg.norm(open_) + 1e-9


BAR = """
robot:
  name: bar
  kind: fem
  body:
    mesh: {voxels: {cells: [2, 2, 6], size: [0.02, 0.02, 0.12], element: hex20r}}
    materials: [{model: neo_hookean, young_modulus: 500000.0, poisson_ratio: 0.3, density: 1000.0}]
    damping: {rayleigh_mass: 1.0, rayleigh_stiffness: 0.01}
    clamped: base
    plates: [{name: lid, nodes: tip}]
  cables:
"""
CABLE = """    - {{name: c{0}, start: [{1}, 0.0, 0.0], end: [{1}, 0.0, 0.12], tension: [0.0, 6.0],
       displacement: [-0.02, 0.03], stiffness: 4000.0}}
"""
END = "  frames: {tip: {plate: lid}}\n  target: {tip: [0.0, 0.0, 0.119]}\n"


@pytest.mark.parametrize("places", [(-0.008, 0.002, 0.008), (-0.008, 0.002, 0.008, -0.004)])
def test_cables_in_one_plane_hold_a_tip_with_least_tension_whatever_the_way(tmp_path, places):
    """A tip's third coordinate is none of theirs: three tensions have one way, and four two, in which nothing moves."""
    path = tmp_path / "bar.yaml"
    path.write_text(BAR + "".join(CABLE.format(i, x) for i, x in enumerate(places)) + END, encoding="utf-8")
    robot = load_robot(path)
    others = np.array([2.0, 0.5, 1.0, 0.3])[: len(places)]
    tip = robot.build_twin().equilibrium(UPRIGHT, efforts=others).tip
    inverse = robot.build_inverse()
    least = inverse.solve(UPRIGHT, tip)
    assert least.converged and least.reachable
    assert np.linalg.norm(least.efforts) < 0.97 * np.linalg.norm(others)
    for aim in ([0.02, 0.0, 0.115], [0.0, 0.0, 0.118]):
        inverse.solve(UPRIGHT, aim)
    np.testing.assert_allclose(inverse.solve(UPRIGHT, tip).efforts, least.efforts, atol=2e-4)
    np.testing.assert_allclose(inverse.solve(UPRIGHT, tip).efforts, least.efforts, atol=2e-4)
    hurried = inverse.solve(UPRIGHT, tip, time_limit=1e-9)
    np.testing.assert_allclose(hurried.efforts, least.efforts, atol=2e-4)
    assert hurried.reachable
