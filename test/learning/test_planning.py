"""Planning with a tube of constant curvature: past a stick, with the clearance that was asked for, or told why not."""

import numpy as np
import pytest
from curved_tube import LENGTH, RADIUS, TIP, tube

from soft_twin.errors import ConvergenceError, InputError
from soft_twin.learning.planning import Ball, Options, Planner, Scene, Stick

START = np.zeros(6)
START[4] = 0.7  # bent away from where it shall go
BALL = Ball((-0.165, 0.02, 0.13), 0.02)
STICK = Stick((-0.075, -0.4, 0.245), (-0.075, 0.4, 0.245), 0.005)


def fine(plan, shapes, count=800):
    return shapes(plan.along(count))


def test_distances_are_those_to_round_ended_rods_and_balls():
    stick = Stick((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.1)
    points = np.array([[0.3, 0.0, 0.5], [0.0, 0.4, 1.3], [0.0, 0.0, -0.5], [0.05, 0.0, 0.2]])
    np.testing.assert_allclose(stick.distance(points), [0.2, 0.4, 0.4, -0.05])
    np.testing.assert_allclose(Ball((0.0, 0.0, 1.0), 0.5).distance(points[1]), 0.0, atol=1e-12)
    scene = Scene((stick, Stick((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.1)), BALL)
    np.testing.assert_allclose(scene.clearances(np.array([points[:2], points[2:]])), [0.2, -0.05])
    assert Scene((), BALL).clearances(points[None])[0] == np.inf


def test_the_tube_is_as_long_and_thick_as_it_should_be():
    rest = tube()(np.zeros((1, 6)))[0]
    np.testing.assert_allclose(np.hypot(*rest[:, :2].T), RADIUS)
    np.testing.assert_allclose(rest[TIP].mean(axis=0), [0.0, 0.0, LENGTH], atol=1e-12)
    bent = tube()(np.array([[1.0, 0, 0, 0, 0, 0], [0, 0, 0, 0.5, 0, 0]]))[:, TIP].mean(axis=1)
    quarter = LENGTH / np.pi  # radius of an arc of 90°
    np.testing.assert_allclose(bent[0], [-quarter - 0.5 * LENGTH, 0.0, quarter], atol=1e-12)


def test_without_a_stick_the_way_is_straight():
    plan = Planner(tube(), TIP, Scene((), BALL), seed=1).plan(START)
    assert len(plan.waypoints) == 2
    np.testing.assert_array_equal(plan.waypoints[0], START)
    tip = tube()(plan.waypoints[-1:])[0, TIP].mean(axis=0)
    assert np.linalg.norm(tip - BALL.centre) <= 0.25 * BALL.radius
    assert plan.tried > 0 and plan.length == pytest.approx(np.linalg.norm(plan.waypoints[1] - START))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_stick_is_passed_with_the_clearance_that_was_asked_for(seed):
    shapes, scene = tube(), Scene((STICK,), BALL, clearance=0.008)
    free = Planner(shapes, TIP, Scene((), BALL), seed=seed).plan(START)
    assert scene.clearances(fine(free, shapes)).min() < 0.0  # the straight way hits it
    plan = Planner(shapes, TIP, scene, seed=seed).plan(START)
    assert scene.clearances(fine(plan, shapes)).min() >= 0.008 - 1e-4
    assert ((plan.waypoints >= 0.0) & (plan.waypoints <= 1.0)).all()
    np.testing.assert_array_equal(plan.waypoints[0], START)
    assert np.linalg.norm(shapes(plan.waypoints[-1:])[0, TIP].mean(axis=0) - BALL.centre) <= 0.25 * BALL.radius
    again = Planner(shapes, TIP, scene, seed=seed).plan(START)
    np.testing.assert_array_equal(again.waypoints, plan.waypoints)


def test_shortcuts_make_ways_shorter():
    scene = Scene((STICK,), BALL)
    long = Planner(tube(), TIP, scene, Options(shortcuts=0), seed=3).plan(START)
    short = Planner(tube(), TIP, scene, Options(shortcuts=80), seed=3).plan(START)
    assert short.length < 0.9 * long.length


def test_points_along_a_way_are_equally_far_apart():
    plan = Planner(tube(), TIP, Scene((STICK,), BALL), seed=0).plan(START)
    points = plan.along(200)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.max() <= plan.length / 199 + 1e-12
    np.testing.assert_allclose(points[[0, -1]], plan.waypoints[[0, -1]])
    for count in (0, -1, 2.5):
        with pytest.raises(InputError, match=f"points along a plan: {count}: expected 1 or more"):
            plan.along(count)


@pytest.mark.parametrize("place", np.linspace(0.531, 0.539, 9))
def test_nothing_slips_through_a_thin_stick_between_two_shapes(place):
    """A body that is one point and moves along x, 1 m a share, a stick of 2 mm across its way."""
    stick = Stick((place, -1.0, 0.0), (place, 1.0, 0.0), 0.001)
    scene = Scene((stick,), Ball((1.0, 0.0, 0.0), 0.1), clearance=0.0)

    def point(shares):
        return np.pad(shares[:, :1], ((0, 0), (0, 2)))[:, None]

    with pytest.raises(ConvergenceError, match="no way to the ball"):
        Planner(point, np.array([0]), scene, Options(samples=20)).plan(np.zeros(1))


def test_a_plan_by_a_wrong_model_may_hit_the_stick_and_one_by_the_right_model_does_not():
    reality, scene, least = tube(1.0), Scene((STICK,), BALL), []
    for seed in range(4):
        wrong = Planner(tube(1.4), TIP, scene, seed=seed).plan(START)
        right = Planner(reality, TIP, scene, seed=seed).plan(START)
        least.append([scene.clearances(fine(plan, reality)).min() for plan in (wrong, right)])
    least = np.array(least)
    assert (least[:, 0] < 0.0).any() and (least[:, 1] >= scene.clearance - 1e-4).all()


def test_what_cannot_be_planned_is_told():
    far = Ball((0.0, 0.0, 0.6), 0.02)
    with pytest.raises(ConvergenceError, match=r"no posture touches the ball .* the tip came within .* mm"):
        Planner(tube(), TIP, Scene((), far)).plan(START)
    through = Stick((0.0, -0.4, 0.1), (0.0, 0.4, 0.1), 0.005)
    with pytest.raises(InputError, match="at the start already"):
        Planner(tube(), TIP, Scene((through,), BALL)).plan(START)
    with pytest.raises(InputError, match="expected shares of inflation"):
        Planner(tube(), TIP, Scene((), BALL)).plan(np.full(6, 1.2))
    cage = tuple(
        Stick((-0.165, 0.02 + dy, 0.0), (-0.165, 0.02 + dy, 0.4), 0.005) for dy in (-0.045, -0.025, 0.025, 0.045)
    ) + (Stick((-0.135, -0.4, 0.25), (-0.135, 0.4, 0.25), 0.005),)
    with pytest.raises(ConvergenceError, match="no posture|no way"):
        Planner(tube(), TIP, Scene(cage, BALL), Options(samples=20)).plan(START)


@pytest.mark.parametrize(
    ("scene", "options", "told"),
    [
        (Scene((), Ball((np.nan, 0.0, 0.1), 0.02)), Options(), r"centre of the ball \[m\]: .* not finite"),
        (Scene((), Ball((0.0, 0.1), 0.02)), Options(), r"centre of the ball \[m\]: expected 3 numbers"),
        (Scene((), Ball((0.0, 0.1, 0.2) * 2, 0.02)), Options(), r"centre of the ball \[m\]: expected 3 numbers"),
        (Scene((), Ball((0.0, 0.0, 0.1), -0.02)), Options(), "radius of the ball: -0.02 m: expected 0 or more"),
        (
            Scene((STICK, Stick((0.0, 0.0), (0.0, 1.0, 0.0), 0.01)), BALL),
            Options(),
            r"start of sticks.1 \[m\]: expected 3 numbers",
        ),
        (Scene((Stick((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), np.inf),), BALL), Options(), "radius of sticks.0: inf m"),
        (Scene((), BALL, clearance=np.nan), Options(), "clearance: nan m"),
        (Scene((), BALL, clearance=-1.0), Options(), "clearance: -1.0 m"),
        (Scene((), BALL), Options(goals=0), "goals: 0: expected 1 or more"),
        (Scene((), Ball("x", 0.02)), Options(), r"centre of the ball \[m\]: expected 3 numbers, found 'x'"),
        (Scene((), Ball((0.0, 0.0, 0.1), "x")), Options(), "radius of the ball: expected metres, 0 or more, found 'x'"),
        (Scene((), (0.0, 0.0, 0.1)), Options(), "ball: expected a Ball, found a tuple"),
        (Scene(STICK, BALL), Options(), r"sticks: expected a tuple of sticks, \(Stick\(…\),\) for a single one"),
        (Scene((STICK, BALL), BALL), Options(), "sticks.1: expected a Stick, found a Ball"),
        ((STICK,), Options(), "scene: expected a Scene, found a tuple"),
    ],
)
def test_scenes_that_cannot_be_are_told_before_anything_is_searched(scene, options, told):
    with pytest.raises(InputError, match=told):
        Planner(tube(), TIP, scene, options)


@pytest.mark.parametrize(("tip", "start"), [(TIP, np.zeros(3)), (np.array([10**6]), START)])
def test_a_start_or_a_tip_that_the_shapes_do_not_have_is_told(tip, start):
    with pytest.raises(InputError, match="no shape of [36] shares, or no such tip"):
        Planner(tube(), tip, Scene((), BALL)).plan(start)
    with pytest.raises(InputError, match="tip: expected the numbers of one point or more"):
        Planner(tube(), np.array([], dtype=int), Scene((), BALL))
    with pytest.raises(InputError, match="start: expected shares of inflation, 0…1 each, found 'ab'"):
        Planner(tube(), TIP, Scene((), BALL)).plan("ab")


def test_who_touches_the_ball_already_stays():
    there = Planner(tube(), TIP, Scene((), BALL), seed=1).plan(START).waypoints[-1]
    plan = Planner(tube(), TIP, Scene((), BALL), seed=2).plan(there)
    np.testing.assert_array_equal(plan.along(5), [there] * 5)
    assert plan.tried == 1 and plan.length == 0.0


def test_learned_surfaces_are_evaluated_in_batches():
    pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
    from test_shape_control import corrected, model

    from soft_twin.learning.batches import batched
    from soft_twin.learning.layer import lattice

    shapes, uv = corrected(model()), lattice(25)
    shares = np.random.default_rng(0).uniform(size=(300, 2))
    found = batched(shapes.surface(uv))(shares)
    assert found.shape == (300, 25, 3)
    for i in (0, 7, 255, 256, 299):
        pressures = shapes.shapes.inflation.pressures_of(shares[i : i + 1])[0]
        np.testing.assert_allclose(found[i], shapes(pressures, uv), atol=2e-6)
