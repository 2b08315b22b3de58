"""Goals, limits and priorities: Jacobians by differences, orders that are kept, and bodies that are not tubes."""

import numpy as np
import pytest
from test_actuators import LENGTH, SIDEWAYS, finger

import soft_twin
from soft_twin.errors import InputError
from soft_twin.inverse.goals import (
    ActuationGoal,
    CurveGoal,
    DirectionGoal,
    EffortGoal,
    OrientationGoal,
    PositionGoal,
    SurfaceGoal,
)
from soft_twin.inverse.inverse import Inverse
from soft_twin.inverse.limits import CoordinateLimit, CoordinateRate, EffortLimit, EffortRate
from soft_twin.inverse.priorities import Bounds, Level, solve_levels
from soft_twin.twins.finite_element import FemTwin
from soft_twin.twins.frames import NodesFrame, PointFrame, SectionFrame

EFFORTS = np.array([0.4, 0.2, 4e3, 0.3])
LIMITS = (EffortLimit(0.0, [2.0, 2.0, 12e3, 2.0]), CoordinateLimit([-0.01] * 4, [0.02, 0.02, 2e-6, 0.02]))


@pytest.fixture(scope="module")
def twin():
    return FemTwin(finger(), LENGTH)


@pytest.fixture(scope="module")
def plate(twin):
    rest = twin.body.mesh.nodes
    return NodesFrame(np.flatnonzero(rest[:, 2] > LENGTH - 1e-9), rest)


def tilted(angle, axis):
    turn = np.eye(3)
    i, j = [k for k in range(3) if k != axis]
    turn[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
    return turn


def goals_of(plate, rest):
    section = SectionFrame(0.05)
    top = plate.nodes
    heights = [SectionFrame(z) for z in (0.02, 0.04, 0.06)]
    curve = np.array([[0.01 + 0.2 * z**2 / 0.06, 0.0075, z] for z in np.linspace(0.0, 0.07, 30)])
    return {
        "position": PositionGoal(plate, [0.012, 0.008, 0.058], weight=2.0),
        "orientation": OrientationGoal(plate, tilted(0.6, 2)),
        "direction": DirectionGoal(plate, [0.0, 0.0, 1.0], [-0.27, 0.3, 1.0]),
        "orientation of a section": OrientationGoal(section, tilted(0.4, 0)),
        "direction of a section": DirectionGoal(section, [0.0, 0.0, 1.0], [-0.2, 0.3, 1.0]),
        "curve": CurveGoal(heights, curve),
        "surface": SurfaceGoal(top, rest[top] + [0.0, 0.0, 0.001], np.tile([0.0, 0.0, 1.0], (len(top), 1))),
    }


@pytest.mark.parametrize("direction", [[-0.3, 0.0, 1.0], [0.3, 0.0, 1.0]])
def test_a_direction_beside_a_place_out_of_reach_costs_it_what_its_weight_says(direction):
    """By a radian for a millimetre nothing, by a radian for a metre more than half a millimetre."""
    robot, place = soft_twin.load_robot("finger"), [-0.0103, 0.001, 0.0766]

    def error(*weights):
        inverse = robot.build_inverse()
        tip = inverse.twin.frames["tip"]
        later = [DirectionGoal(tip, [0, 0, 1], direction, priority=2, weight=weight) for weight in weights]
        found = inverse.solve([0.0, 0.0, -9.81], goals=[PositionGoal(tip, place), *later])
        assert found.converged and not found.reachable
        return found.error

    alone = error()
    assert alone == pytest.approx(1.1938857e-3, abs=1e-9)  # as scipy's least_squares finds over whole equilibria
    assert error(1e-3) == pytest.approx(alone, abs=2e-8)
    assert error(1.0) > alone + 5e-4


ORIENTED = ("orientation", "direction", "orientation of a section", "direction of a section")


STEPS = (1e-3, 1e-3, 1.0, 1e-3)  # of each effort, for differences


@pytest.fixture(scope="module")
def equilibria(twin):
    """States of the twin with some efforts, and with a little more and less of each."""

    def state(efforts):
        twin.equilibrium(SIDEWAYS, efforts=efforts)
        return twin.state(), efforts

    return state(EFFORTS), [(state(EFFORTS + change), state(EFFORTS - change)) for change in np.diag(STEPS)]


@pytest.mark.parametrize("name", ["position", *ORIENTED, "curve", "surface"])
def test_a_goal_foretells_what_equilibria_do(twin, plate, equilibria, name):
    """At an equilibrium r + J e is the residual at its efforts, and J its slope by whole equilibria."""
    goal = goals_of(plate, twin.body.mesh.nodes)[name]

    def residual(state, efforts):
        twin.restore(state)
        r, J = goal.residual_and_jacobian(twin, twin.linearise(SIDEWAYS))
        return r + J @ efforts, J, goal.miss(twin)

    middle, sides = equilibria
    here, J, miss = residual(*middle)
    exact = name == "position" or name.startswith("orientation")
    rough = 1e-4 if exact else 0.1 if name.startswith("direction") else 0.03  # what is across a direction turns with it
    if name in ("position", *ORIENTED):
        assert np.linalg.norm(here) == pytest.approx(miss, rel=1e-6)
    for i, (more, less) in enumerate(sides):
        slope = (residual(*more)[0] - residual(*less)[0]) / (2.0 * STEPS[i])
        np.testing.assert_allclose(J[:, i], slope, atol=rough * np.abs(J).max(axis=0)[i] + 1e-9)


@pytest.mark.parametrize("frame", ["plate", "section", "between layers of nodes"])
def test_how_a_frame_turns_is_the_slope_of_its_rotation(twin, plate, frame):
    """Of nodes that are strained by a fifth and turned by a radian, not of a rigid set."""
    chosen = {"plate": plate, "section": SectionFrame(0.05), "between layers of nodes": SectionFrame(0.0521)}[frame]
    rng, rest = np.random.default_rng(7), twin.body.mesh.nodes
    stretched = np.eye(3) + 0.2 * rng.normal(size=(3, 3))
    there = rest @ (tilted(1.0, 1) @ stretched).T + rng.normal(0.0, 5e-4, rest.shape)
    steps, h = rng.normal(size=(*rest.shape, 2)), 1e-6

    def rotation(points):
        twin.points = points
        return chosen.rotation(twin)

    for k in range(2):
        slope = (rotation(there + h * steps[..., k]) - rotation(there - h * steps[..., k])) / (2.0 * h)
        spin = slope @ rotation(there).T
        found = chosen.turn(twin, steps)[:, k]
        np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], found, atol=1e-6 * np.abs(found).max())
    twin.reset()


def test_the_second_goal_chooses_only_among_what_is_best_for_the_first():
    rng = np.random.default_rng(3)
    bounds = Bounds(np.zeros(5), np.full(5, 2.0), np.zeros((0, 5)), np.zeros(0), np.zeros(0))
    for _ in range(50):
        J1, J2 = rng.normal(size=(2, 5)), rng.normal(size=(4, 5))
        r1, r2 = rng.normal(size=2), rng.normal(size=4)
        first = Level(J1.T @ J1 + 1e-8 * np.eye(5), J1.T @ r1, r1, J1, 1e-3)
        second = Level(J2.T @ J2 + 1e-8 * np.eye(5), J2.T @ r2, r2, J2, 1e-3)
        alone, both = solve_levels([first], bounds)[0], solve_levels([first, second], bounds, strict=True)[0]
        assert (both >= 0.0).all() and (both <= 2.0).all()
        np.testing.assert_allclose(J1 @ both, J1 @ alone, atol=1e-6)
        assert np.linalg.norm(r2 + J2 @ both) <= np.linalg.norm(r2 + J2 @ alone) + 1e-9


def test_levels_that_leave_nothing_free_are_skipped():
    bounds = Bounds(np.full(2, -9.0), np.full(2, 9.0), np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    first = Level(np.eye(2), np.array([-1.0, 2.0]), np.array([-1.0, 2.0]), np.eye(2), 1e-3)
    second = Level(np.eye(2), np.array([5.0, 5.0]), np.array([5.0, 5.0]), np.eye(2), 1e-3)
    np.testing.assert_allclose(solve_levels([first, second], bounds)[0], [1.0, -2.0], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_what_feasible_efforts_reach_is_reached_by_cables_and_a_chamber_together(twin, plate, seed):
    rng = np.random.default_rng(seed)
    gravity = rng.normal(size=3)
    gravity *= 9.81 / np.linalg.norm(gravity)
    target = plate.position(_at(twin, gravity, rng.uniform(0.1, 0.6, 4) * [1.5, 1.5, 8e3, 1.5]))
    twin.reset()
    solution = Inverse(twin, LIMITS, twin.actuators.names).solve(gravity, goals=[PositionGoal(plate, target)])
    assert solution.converged and solution.reachable
    assert solution.error < 1e-5
    held = twin.equilibrium(gravity, coordinates=solution.coordinates)
    np.testing.assert_allclose(held.points[plate.nodes].mean(axis=0), target, atol=2e-5)


def _at(twin, gravity, efforts):
    twin.equilibrium(gravity, efforts=efforts)
    return twin


def test_an_orientation_is_reached(twin, plate):
    _at(twin, SIDEWAYS, np.array([0.9, 0.2, 3e3, 0.0]))
    wanted = plate.rotation(twin) @ [0.0, 0.0, 1.0]
    twin.reset()
    goal = DirectionGoal(plate, [0.0, 0.0, 1.0], wanted)
    solution = Inverse(twin, LIMITS, twin.actuators.names).solve(SIDEWAYS, goals=[goal])
    assert solution.reachable
    np.testing.assert_allclose(plate.rotation(twin) @ [0.0, 0.0, 1.0], wanted, atol=1e-4)


def test_limits_of_efforts_coordinates_and_their_rates_hold(twin, plate):
    limits = [*LIMITS, EffortRate([0.5, 0.5, 2e3, 0.5], 0.1), CoordinateRate([0.02, 0.02, 2e-6, 0.02], 0.1)]
    inverse = Inverse(twin, limits, twin.actuators.names)
    twin.equilibrium(SIDEWAYS)
    goals = [PositionGoal(plate, [0.03, 0.0075, 0.05])]
    for _ in range(12):
        before = twin.efforts.copy(), twin.coordinates()
        inverse.step(SIDEWAYS, goals)
        assert (np.abs(twin.efforts - before[0]) <= np.array([0.05, 0.05, 200.0, 0.05]) * (1 + 1e-9)).all()
        assert (twin.efforts >= 0.0).all()
    solution = Inverse(twin, LIMITS, twin.actuators.names).solve(
        SIDEWAYS, goals=[PositionGoal(plate, [0.06, 0.0, 0.03])]
    )
    assert not solution.reachable
    assert solution.active_limits
    assert (solution.efforts <= np.array([2.0, 2.0, 12e3, 2.0]) * (1 + 1e-9)).all()


@pytest.mark.parametrize("rest", [(-1.0, 4.0), (0.0, 4.0), (-1.0, 0.5), (-1e-6, 0.5), (0.0, 0.5)])
def test_a_limit_of_the_volume_is_named_where_it_binds_however_wide_its_range_is(twin, rest):
    """A chamber takes in 50 mm³: a cubic metre of range says nothing of how near a limit is."""
    volume = _at(twin, SIDEWAYS, EFFORTS).coordinates()[2]
    low, high = rest[0], rest[1] * volume
    limits = [LIMITS[0], CoordinateLimit([-0.01, -0.01, low, -0.01], [0.02, 0.02, high, 0.02])]
    twin.reset()
    found = Inverse(twin, limits, twin.actuators.names).solve(SIDEWAYS, goals=[EffortGoal(EFFORTS, 1.0)])
    assert found.converged
    named = "air coordinate max" in found.active_limits
    assert named == (found.coordinates[2] > 0.999999 * high) == (rest[1] < 1.0)
    assert twin.coordinates()[2] < 1.00001 * high  # of the body itself, not what is told
    assert "air coordinate min" not in found.active_limits


def test_the_lowest_effort_is_named_of_a_vacuum_and_not_of_a_slack_cable():
    limit = EffortLimit([0.0, -5e3, -5e3, -np.inf], [4.0, 3e4, 3e4, 3e4], "effort")
    told = np.array([0.0, -5e3, -4.9e3, -1e5])
    assert limit.active(list("abcd"), told, np.zeros(4)) == ["b effort min"]


def test_limits_at_rest_or_without_an_end_are_named_where_they_bind():
    limit = CoordinateLimit([-1.0, -1.0, -np.inf, -np.inf, -1.0], [0.0, 0.0, 0.0, np.inf, np.inf])
    told = np.array([-1e-8, -1e-12, 0.0, 5.0, 7.0])
    assert limit.active(list("abcde"), np.zeros(5), told) == ["b coordinate max", "c coordinate max"]
    assert CoordinateLimit(0.0, 1e-12).active(["a", "b"], np.zeros(2), np.array([5e-13, 1e-12])) == ["b coordinate max"]


def test_each_actuator_s_limit_is_called_by_its_own_word():
    told, names = np.array([4.0, 3e4, 2.0]), ["cable", "air", "other"]
    efforts = EffortLimit([0.0, 0.0, 0.0], [4.0, 3e4, 4.0], ["tension", "pressure", "tension"])
    assert efforts.active(names, told, np.zeros(3)) == ["cable tension max", "air pressure max"]
    with pytest.raises(InputError, match=r"^tension or pressure: the lower limit \[0.0, 9.0, 0.0\] is not below"):
        EffortLimit([0.0, 9.0, 0.0], [4.0, 3.0, 4.0], ["tension", "pressure", "tension"])


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        (EffortRate([0.5, 0.5, 2e3, 0.5], 0.1), "effort rate"),
        (CoordinateRate([1e-3, 1e-3, 1e-7, 1e-3], 0.1, "displacement"), "displacement rate"),
    ],
)
def test_rates_that_bind_are_named_on_the_way_and_no_longer_at_its_end(twin, plate, limit, word):
    twin.equilibrium(SIDEWAYS, efforts=[0.4, 0.3, 3e3, 0.1])
    goals = [PositionGoal(plate, plate.position(twin))]
    twin.equilibrium(SIDEWAYS)
    inverse = Inverse(twin, [*LIMITS, limit], twin.actuators.names)
    found = [inverse.solution(goals, *inverse.step(SIDEWAYS, goals), 1) for _ in range(60)]
    assert not found[0].reachable and found[0].active_limits
    assert all(name.endswith(word) for name in found[0].active_limits)
    assert found[-1].converged and found[-1].reachable and not found[-1].active_limits


def test_a_curve_whose_points_are_given_twice_is_the_curve_without_them(twin):
    heights = [SectionFrame(z) for z in (0.02, 0.04, 0.06)]
    points = np.array([[0.01 + 0.2 * z**2 / 0.06, 0.0075, z] for z in np.linspace(0.0, 0.07, 8)])
    twin.equilibrium(SIDEWAYS, efforts=EFFORTS)
    step = twin.linearise(SIDEWAYS)
    once, twice = CurveGoal(heights, points), CurveGoal(heights, np.repeat(points, [2, 1, 3, 1, 1, 1, 1, 2], axis=0))
    for one, other in zip(*(goal.residual_and_jacobian(twin, step) for goal in (once, twice)), strict=True):
        np.testing.assert_array_equal(one, other)
    assert twice.miss(twin) == once.miss(twin) > 1e-3
    twin.reset()
    assert Inverse(twin, LIMITS, twin.actuators.names).solve(SIDEWAYS, goals=[twice]).converged


def test_normals_of_a_surface_count_by_their_direction(twin, plate):
    top, rng = plate.nodes, np.random.default_rng(5)
    places, normals = twin.body.mesh.nodes[top] + [0.0, 0.0, 0.001], np.tile([0.0, 0.0, 1.0], (len(top), 1))
    twin.equilibrium(SIDEWAYS, efforts=EFFORTS)
    unit, long = SurfaceGoal(top, places, normals), SurfaceGoal(top, places, rng.uniform(0.1, 9.0) * normals)
    assert long.miss(twin) == pytest.approx(unit.miss(twin), rel=1e-12)


PLANE = np.array([[0.0, 0.0, 0.06]]), np.array([[0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda frame: CurveGoal([frame], np.ones((3, 3))), "curve: its 3 points are one place"),
        (lambda frame: CurveGoal([], np.eye(3)), "CurveGoal: expected one frame or more"),
        (lambda frame: CurveGoal(frame, np.eye(3)), "CurveGoal: expected a list of frames, found a NodesFrame"),
        (lambda frame: CurveGoal(["tip"], np.eye(3)), r"CurveGoal: expected a frame, such as twin.*, found 'tip'"),
        (lambda frame: CurveGoal([np.eye(3)], np.eye(3)), "CurveGoal: expected a frame, .*, found an array of shape"),
        (lambda frame: CurveGoal([frame], [["a", "b", "c"]] * 2), "curve: expected at least two points"),
        (lambda frame: PositionGoal("tip", [0.0, 0.0, 0.06]), "PositionGoal: expected a frame, .*, found 'tip'"),
        (lambda frame: OrientationGoal("tip", np.eye(3)), "OrientationGoal: expected a frame, .*, found 'tip'"),
        (lambda frame: OrientationGoal(frame, "up"), "rotation matrix"),
        (lambda frame: DirectionGoal("tip", [0, 0, 1], [0, 0, 1]), "DirectionGoal: expected a frame, .*, found 'tip'"),
        (lambda frame: SurfaceGoal([], *PLANE), "surface: expected numbers of nodes, from 0 on, found an array"),
        (lambda frame: SurfaceGoal([-5], *PLANE), "surface: expected numbers of nodes, from 0 on, found -5"),
        (lambda frame: SurfaceGoal([0.5], *PLANE), "surface: expected numbers of nodes, from 0 on, found .* float64"),
        (lambda frame: SurfaceGoal([3], PLANE[0], [[0.0, 0.0, 0.0]]), "surface: the normal of point 0 is zero"),
        (lambda frame: SurfaceGoal([3], [[0.0, 0.0]], [[0.0, 1.0]]), r"expected points \(m, 3\) and as many normals"),
        (lambda frame: PositionGoal(frame, [0, 0, 0.06], weight="1"), "weight of a goal '1': expected a positive, fin"),
        (lambda frame: PositionGoal(frame, [0, 0, 0.06], priority="1"), "priority of a goal '1': expected a whole num"),
        (lambda frame: PositionGoal(frame, [0, 0, 0.06], tolerance=[1]), r"tolerance of a goal \[1\]: expected a posi"),
        (lambda frame: EffortGoal(0.5), "efforts: expected 1 numbers"),
        (lambda frame: ActuationGoal([0.0, np.nan]), r"values of actuators: \[0.0, nan\] is not finite"),
        (lambda frame: ActuationGoal(["a", 0.0]), "values of actuators: expected 2 numbers, found .*'a'"),
    ],
)
def test_a_goal_that_cannot_be_is_named(plate, make, message):
    with pytest.raises(InputError, match=message):
        make(plate)


def test_goals_are_a_list_of_goals(twin, plate):
    inverse, goal = Inverse(twin, LIMITS, twin.actuators.names), PositionGoal(plate, [0.01, 0.0075, 0.059])
    with pytest.raises(InputError, match="goals: expected a list of goals, found a PositionGoal"):
        inverse.solve(SIDEWAYS, goals=goal)
    with pytest.raises(InputError, match="goals: expected goals, such as a PositionGoal, found 'tip'"):
        inverse.solve(SIDEWAYS, goals=[goal, "tip"])


def test_what_makes_no_sense_is_named(twin, plate):
    inverse = Inverse(twin, LIMITS, twin.actuators.names)
    with pytest.raises(InputError, match="a target of the tip or goals"):
        inverse.solve(SIDEWAYS)
    with pytest.raises(InputError, match="0 iterations must be positive"):
        inverse.solve(SIDEWAYS, [0.0, 0.0, 0.05], max_iterations=0)
    with pytest.raises(InputError, match="is not below the upper"):
        EffortLimit(1.0, 0.5)
    with pytest.raises(InputError, match="rotation matrix"):
        OrientationGoal(plate, np.ones((3, 3)))
    with pytest.raises(InputError, match="a point has no orientation"):
        OrientationGoal(PointFrame(twin.body.mesh, [0.003, 0.004, 0.05]), np.eye(3)).miss(twin)
    with pytest.raises(InputError, match="in a line or a point"):
        NodesFrame([0, 1], twin.body.mesh.nodes)
