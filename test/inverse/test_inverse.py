"""The inverse against brute force, closed forms, and its own limits."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize

import soft_twin
from soft_twin.errors import InputError
from soft_twin.inverse.goals import (
    ActuationGoal,
    EffortGoal,
    OrientationGoal,
    PositionGoal,
    StayGoal,
    SurfaceGoal,
    arc_through,
)
from soft_twin.inverse.inverse import CONTRADICT, Inverse
from soft_twin.inverse.limits import CoordinateLimit, CoordinateRate, EffortLimit, EffortRate
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp, solve_qp
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.twins.frames import NodesFrame, PointFrame, SectionFrame

SIDEWAYS, DOWN = np.array([0.0, -9.81, 0.0]), np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("slender")


@pytest.fixture(scope="module")
def twin(robot):
    tube = sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 4))
    return robot.build_twin(mesh=(tube.nodes, tube.cells), element="hex20r")


def without_pretension(robot):
    cables = tuple(cable.model_copy(update={"pretension": 0.0}) for cable in robot.description.cables)
    return dataclasses.replace(robot, description=robot.description.model_copy(update={"cables": cables}))


@pytest.fixture
def inverse(robot, twin):
    twin.reset()
    return robot.build_inverse(twin)


def test_no_search_over_tensions_comes_closer_than_the_solver(robot):
    """Brute force on a small mesh: the tip's distance over the tensions, by whole equilibria and a simplex search."""
    tube, target = sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 2)), np.array([0.0, 0.0, 0.1])
    twin = robot.build_twin(mesh=(tube.nodes, tube.cells), element="hex20r")
    robot = without_pretension(robot)
    solution = Inverse(twin, robot.limits(), robot.cable_names, posture=None).solve(SIDEWAYS, target)

    def distance(tensions):
        return 1e3 * np.linalg.norm(twin.equilibrium(SIDEWAYS, tensions=np.maximum(tensions, 0.0)).tip - target)

    start = solution.tensions + np.random.default_rng(0).uniform(0.0, 0.1, 6)
    best = minimize(distance, start, bounds=[(0.0, 2.0)] * 6, method="Nelder-Mead", options={"maxfev": 250})
    assert best.fun < distance(start)
    assert 1e3 * solution.error <= best.fun + 1e-3


def test_the_solution_is_an_equilibrium_of_the_twin(inverse, twin):
    """The displacements and the tensions each reproduce the tip."""
    solution = inverse.solve(SIDEWAYS, [0.02, 0.01, 0.09])
    assert solution.converged
    np.testing.assert_allclose(twin.equilibrium(SIDEWAYS, tensions=solution.tensions).tip, solution.tip, atol=1e-6)
    np.testing.assert_allclose(
        twin.equilibrium(SIDEWAYS, displacements=solution.displacements).tip, solution.tip, atol=1e-6
    )


def test_targets_within_reach_are_met(inverse):
    solution = inverse.solve(SIDEWAYS, [0.0, 0.0, 0.098])
    assert solution.reachable
    assert solution.error < 1e-4
    assert solution.active_limits == ()


@pytest.mark.parametrize(
    "gravity, target",
    [
        ([4.05448, 7.142928, 5.364315], [-0.03601143, 0.000282, 0.08952058]),
        ([0.743461, 9.092956, 3.605761], [-0.00908979, 0.04889207, 0.08197568]),
    ],
)
def test_targets_near_the_edge_of_reach_are_come_to_not_crept_to(robot, gravity, target):
    """Three cables are left with more than their pretension, and their pulls nearly lie in a plane: a weight of staying
    that does not get less let each step be 0.97 of the one before, and 200 of them end 1 and 4 µm beside it."""
    inverse = robot.build_inverse(robot.build_twin(backend="rod"))
    solution = inverse.solve(gravity, target)
    assert solution.converged and solution.iterations <= 60
    assert solution.error < 1e-8


def test_straight_is_a_millimetre_short_since_cables_only_pull(inverse):
    solution = inverse.solve(SIDEWAYS, [0.0, 0.0, 0.1])
    assert solution.converged
    assert not solution.reachable
    assert 0.5e-3 < solution.error < 1.3e-3
    assert abs(solution.tip[1]) < 2e-4


def test_limits_hold_and_are_named(robot, twin):
    tight = [EffortLimit(0.0, 0.2, "tension"), CoordinateLimit(-0.002, 0.003, "displacement")]
    twin.reset()
    inverse = Inverse(twin, tight, robot.cable_names)
    solution = inverse.solve(SIDEWAYS, [0.0, 0.06, 0.07])
    assert solution.tensions.min() >= 0.0
    assert solution.tensions.max() <= 0.2 + 1e-9
    assert (solution.displacements <= 0.003).all()
    assert (solution.displacements >= -0.002).all()
    assert "cable_1 tension max" in solution.active_limits
    assert not solution.reachable


@pytest.mark.parametrize("limits", [[], [CoordinateLimit(-1.0, 0.01)], [EffortRate(1e3, 1.0)]])
def test_cables_only_pull_whether_or_not_efforts_are_limited(robot, twin, limits):
    target, gravity = [0.02, 0.01, 0.09], [1.0, -6.0, -7.0]
    twin.reset()
    solution = Inverse(twin, limits, robot.actuator_names).solve(gravity, target)
    assert solution.reachable
    assert solution.efforts.min() >= 0.0
    assert twin.equilibrium(gravity, efforts=solution.efforts).tip == pytest.approx(target, abs=1e-6)


def test_pretension_is_kept_in_every_cable(robot, twin):
    twin.reset()
    solution = robot.build_inverse(twin).solve(SIDEWAYS, [0.0, 0.0, 0.1])
    assert [cable.pretension for cable in robot.description.cables] == [0.03] * 6
    assert solution.tensions.min() == pytest.approx(0.03, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_random_gravity_and_targets_settle(robot, twin, seed):
    rng = np.random.default_rng(seed)
    gravity = rng.normal(size=3)
    gravity *= 9.81 / np.linalg.norm(gravity)
    angle, bend = rng.uniform(0, 2 * np.pi), rng.uniform(0, 0.6)
    target = arc_through(
        0.097 * np.array([np.sin(bend) * np.cos(angle), np.sin(bend) * np.sin(angle), np.cos(bend)]), 1
    )
    twin.reset()
    solution = robot.build_inverse(twin).solve(gravity, target)
    assert solution.converged
    assert solution.error < 4e-3


def test_goals_predict_what_the_step_does(twin):
    """Residual and Jacobian of a goal against the positions after the step."""
    twin.equilibrium(SIDEWAYS, tensions=[0.2] * 6)
    step = twin.linearise(DOWN)
    tensions = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    goal = PositionGoal(SectionFrame(0.05), np.array([0.001, 0.002, 0.05]))
    residual, jacobian = goal.residual_and_jacobian(twin, step)
    expected = residual + jacobian @ tensions
    assert twin.advance(step, tensions, np.inf) > 0.0
    np.testing.assert_allclose(twin.section(0.05, twin.points) - goal.target, expected, atol=1e-12)
    residual, jacobian = StayGoal(np.full(6, 0.03), 0.1).residual_and_jacobian(twin, step)
    np.testing.assert_allclose(residual + jacobian @ twin.efforts, 0.0, atol=1e-12)


def test_arc_is_a_circle_that_leaves_along_z():
    tip = np.array([0.03, -0.02, 0.08])
    points = np.array([arc_through(tip, s) for s in np.linspace(0, 1, 50)])
    np.testing.assert_allclose(points[-1], tip)
    pieces = np.linalg.norm(np.diff(points, axis=0), axis=1)
    np.testing.assert_allclose(pieces, pieces[0])
    first = points[1] / np.linalg.norm(points[1])
    assert first[2] > 0.999
    np.testing.assert_allclose(arc_through(np.array([0, 0, 0.1]), 0.5), [0, 0, 0.05])


def test_quadratic_programs_with_known_answers():
    np.testing.assert_allclose(solve_box_qp(np.eye(2), np.array([-3.0, 1.0]), 0.0, 2.0), [2.0, 0.0], atol=1e-9)
    soft = solve_qp(np.eye(1), np.zeros(1), -5.0, 5.0, np.ones((1, 1)), np.array([1.0]), np.array([np.inf]))
    assert soft == pytest.approx([1.0], abs=1e-5)
    impossible = solve_qp(np.eye(1), np.zeros(1), -5.0, 5.0, np.ones((1, 1)), np.array([9.0]), np.array([np.inf]))
    assert impossible == pytest.approx([5.0], abs=1e-3)


@pytest.mark.parametrize(
    ("gravity", "target", "message"),
    [
        ([0, 0, np.nan], [0, 0, 0.1], "gravity.*not finite"),
        (DOWN, [0, 0], "target: expected 3"),
        (DOWN, [0, 0, 100.0], "target.*in metres"),
        (DOWN, [0, np.inf, 0.1], "target.*not finite"),
    ],
)
def test_bad_input_is_named(inverse, gravity, target, message):
    with pytest.raises(InputError, match=message):
        inverse.solve(gravity, target)


class TestController:
    @pytest.fixture
    def controller(self, robot, twin):
        twin.reset()
        return without_pretension(robot).build_controller(twin)

    def test_without_compensation_it_follows_the_free_body(self, controller, twin):
        for _ in range(60):
            tick = controller.update(SIDEWAYS)
        assert tick.converged
        assert (tick.tensions == 0.0).all()
        np.testing.assert_allclose(tick.tip, twin.equilibrium(SIDEWAYS).tip, atol=1e-6)

    def test_with_compensation_it_holds_the_target_through_a_quarter_turn(self, controller):
        controller.enable(True)
        for angle in np.linspace(0.0, np.pi / 2, 100):
            tick = controller.update(9.81 * np.array([0.0, -np.sin(angle), -np.cos(angle)]))
            assert tick.error < 2e-3
            assert tick.tip_direction[2] > 0.99
        assert tick.compensating

    def test_a_new_target_is_followed_and_a_bad_one_changes_nothing(self, controller):
        controller.enable(True)
        controller.set_target([0.02, 0.0, 0.093])
        with pytest.raises(InputError):
            controller.set_target([0.02, np.nan, 0.093])
        for _ in range(80):
            tick = controller.update(DOWN)
        assert tick.error < 1e-4

    def test_bad_gravity_leaves_the_state_alone(self, controller, twin):
        controller.update(SIDEWAYS)
        before = twin.points.copy()
        with pytest.raises(InputError):
            controller.update([0.0, np.nan, 0.0])
        assert (twin.points == before).all()

    def test_a_broken_state_is_left_for_a_fresh_start(self, controller, twin):
        controller.update(SIDEWAYS)
        twin.points = np.full_like(twin.points, np.nan)
        tick = controller.update(SIDEWAYS)
        assert np.isfinite(tick.tip).all()

    def test_the_same_inputs_give_the_same_outputs_to_the_bit(self, controller):
        def outputs():
            controller.reset()
            controller.enable(True)
            angles = np.linspace(0, 1, 20)
            return [controller.update(9.81 * np.array([0, -np.sin(a), -np.cos(a)])).displacements for a in angles]

        assert (np.array(outputs()) == np.array(outputs())).all()

    def test_the_centre_line_runs_from_base_to_tip(self, controller):
        tick = controller.update(DOWN)
        np.testing.assert_allclose(tick.centre_line[0], [0, 0, 0], atol=1e-9)
        np.testing.assert_allclose(tick.centre_line[-1], tick.tip, atol=1e-12)
        assert len(controller.surface) > 100


def test_what_keeps_a_tip_from_its_target_is_named_where_it_is_a_lowest_effort(robot, twin):
    """Cables only pull: above the straight body, pushing by each of them would help, and away from it none is named
    that has only nothing to do."""
    inverse = robot.build_inverse(twin)
    above = inverse.solve(DOWN, [0.0, 0.0, 0.12])
    pretension = inverse.limits[0].low[0]
    assert above.efforts == pytest.approx(pretension) and not above.reachable
    assert set(above.active_limits) == {f"{name} tension min" for name in robot.actuator_names}
    nearly = inverse.solve(SIDEWAYS, [0.0, 0.0, 0.1])  # sideways, it is 0.8 mm short: as always, and no news
    assert not nearly.reachable and nearly.active_limits == ()
    reached = inverse.solve(DOWN, [0.008, 0.003, 0.097])
    assert reached.reachable and (reached.efforts < pretension + 1e-6).any() and reached.active_limits == ()


def test_limits_that_contradict_each_other_are_named(robot, twin):
    limits = [EffortLimit(0.0, 1e3), EffortLimit(2e3, 3e3)]
    with pytest.raises(InputError, match="limits of efforts of cable_1: one is not below 2000, another not above 1000"):
        Inverse(twin, limits, robot.actuator_names)


@pytest.mark.parametrize(
    "goal, cause",
    [
        (lambda frame: PositionGoal(frame, [0.0, 0.0, 0.1], weight=float("nan")), "weight of a goal nan"),
        (lambda frame: PositionGoal(frame, [0.0, 0.0, 0.1], weight=-1.0), "weight of a goal -1"),
        (lambda frame: PositionGoal(frame, [0.0, 0.0, 0.1], weight=0.0), "weight of a goal 0.0: expected a positive"),
        (lambda frame: PositionGoal(frame, [0.0, 0.0, 0.1], priority=1.5), "priority of a goal 1.5: expected a whole"),
        (lambda frame: PositionGoal(frame, [0.0, 0.0, 0.1], priority=float("nan")), "priority of a goal nan"),
        (lambda frame: OrientationGoal(frame, np.diag([1.0, 1.0, -1.0])), "a reflection"),
        (lambda frame: SurfaceGoal(np.arange(3), np.full((4, 3), np.nan), np.ones((4, 3))), "must be finite"),
    ],
)
def test_goals_that_make_no_sense_are_refused(twin, goal, cause):
    with pytest.raises(InputError, match=cause):
        goal(twin.frames["tip"])


def test_iterations_are_a_whole_number_and_no_more_are_taken(inverse):
    with pytest.raises(InputError, match="whole"):
        inverse.solve(DOWN, [0.0, 0.0, 0.097], max_iterations=2.5)
    for most in (1, 5):
        inverse.twin.reset()
        found = inverse.solve(DOWN, [0.08, 0.02, 0.06], max_iterations=most)
        assert found.iterations == most and not found.converged


@pytest.mark.parametrize("name", ["settled", "max_iterations", "time_limit"])
@pytest.mark.parametrize("value", ["long", None, [1.0], float("nan"), 0.0])
def test_an_end_of_the_iteration_that_is_no_positive_number_is_refused(inverse, name, value):
    with pytest.raises(InputError, match=r"(settled|iterations|time limit).* must be positive"):
        inverse.solve(DOWN, [0.0, 0.0, 0.097], **{name: value})


@pytest.mark.parametrize("limit", [EffortLimit(0.0, [1.0] * 3), CoordinateLimit([-0.01] * 5, 0.01)])
def test_limits_for_another_number_of_actuators_are_refused(robot, twin, limit):
    with pytest.raises(InputError, match="are for [35] actuators, the body has 6"):
        Inverse(twin, [limit], robot.actuator_names)


@pytest.mark.parametrize("limit", [EffortRate([1.0] * 3, 0.1), CoordinateRate([1.0] * 3, 0.1)])
def test_rates_for_another_number_of_actuators_are_refused(robot, twin, limit):
    twin.reset()
    with pytest.raises(InputError, match="are for 3 actuators, the body has 6"):
        Inverse(twin, [limit], robot.actuator_names).solve(SIDEWAYS, [0.0, 0.0, 0.098])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EffortLimit("none", 1.0), "effort's limit: expected a number, or one of each actuator, found 'none'"),
        (lambda: CoordinateRate("slow", 0.1), "coordinate rate: expected a number, .* found 'slow'"),
    ],
)
def test_what_are_no_limits_is_told(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (EffortLimit(0.0, 1.0), "limits: expected a list of limits, found a EffortLimit"),
        (["effort"], "limits: expected limits, such as an EffortLimit, found 'effort'"),
    ],
)
def test_limits_are_a_list_of_limits(robot, twin, limits, message):
    with pytest.raises(InputError, match=message):
        Inverse(twin, limits, robot.actuator_names)


def test_another_robots_twin_is_refused(twin):
    with pytest.raises(InputError, match="the twin has 6 actuators, not 3 .*: is it another robot's?"):
        Inverse(twin, [], ["cable_1", "cable_2", "chamber"])


def test_another_robots_twin_is_refused_with_as_many_actuators(robot):
    other = dataclasses.replace(robot, name="longer").build_twin(backend="rod")
    with pytest.raises(InputError, match="inverse of robot 'slender': the twin is of robot 'longer'"):
        robot.build_inverse(other)


@pytest.mark.parametrize(("kind", "what"), [(EffortGoal, "efforts"), (ActuationGoal, "values of actuators")])
def test_what_is_wanted_of_another_number_of_actuators_is_refused(inverse, kind, what):
    with pytest.raises(InputError, match=rf"{what} \[0.1, 0.2\] are for 2 actuators, the body has 6"):
        inverse.solve(SIDEWAYS, goals=[kind([0.1, 0.2])])


def test_a_place_in_millimetres_is_refused_among_goals_as_it_is_as_a_target(inverse):
    goals = [PositionGoal(inverse.twin.frames["tip"], [10.0, 0.0, 95.0])]
    with pytest.raises(InputError, match="is it in metres, in base_link"):
        inverse.solve(SIDEWAYS, goals=goals)


OTHER = sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 20))
COARSE = sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 2))  # each of whose nodes' numbers the twin has, too


@pytest.mark.parametrize("rest", [OTHER.nodes, COARSE.nodes])
def test_a_frame_of_another_mesh_is_named(inverse, rest):
    frame = NodesFrame(np.flatnonzero(rest[:, 2] > 0.1 - 1e-9), rest)
    with pytest.raises(InputError, match="PositionGoal: its nodes are none of the twin's"):
        inverse.solve(SIDEWAYS, goals=[PositionGoal(frame, [0.0, 0.0, 0.095])])


def test_a_point_of_another_mesh_is_named_and_one_of_its_own_is_not(robot, inverse, twin):
    own = PointFrame(twin.body.mesh, [0.003, 0.0, 0.09])
    assert inverse.solve(SIDEWAYS, goals=[PositionGoal(own, own.position(twin) - [0.0, 0.0, 0.002])]).reachable
    other = PointFrame(robot.build_mesh((COARSE.nodes, COARSE.cells), "hex20r"), [0.003, 0.0, 0.09])
    with pytest.raises(InputError, match="PositionGoal: its nodes are none of the twin's"):
        inverse.solve(SIDEWAYS, goals=[PositionGoal(other, [0.003, 0.0, 0.088])])


@pytest.mark.parametrize("tolerance", [0.0, -1e-4, np.nan, np.inf])
def test_a_tolerance_that_is_none_is_refused(twin, tolerance):
    with pytest.raises(InputError, match="tolerance of a goal .*: expected a positive, finite number"):
        PositionGoal(twin.frames["tip"], [0.0, 0.0, 0.1], tolerance=tolerance)


def test_who_takes_a_wider_tolerance_is_told_that_it_is_met(inverse, twin):
    """Straight is a millimetre out of reach."""
    for tolerance in (None, 2e-3):
        twin.reset()
        goal = PositionGoal(twin.frames["tip"], [0.0, 0.0, 0.1], tolerance=tolerance)
        assert inverse.solve(SIDEWAYS, goals=[goal]).reachable == (tolerance is not None)


@pytest.mark.parametrize("gravity", [[0.0, 0.0, -98.1], [0.6, 0.0, -0.8]], ids=["ten times", "a direction"])
def test_gravity_in_another_unit_is_refused(inverse, twin, gravity):
    for solve in (lambda: inverse.solve(gravity, [0.0, 0.0, 0.098]), lambda: twin.equilibrium(gravity)):
        with pytest.raises(InputError, match=r"gravity: .* long, the earth's is 9.81: is it in m/s²\?"):
            solve()


def test_limits_that_leave_no_room_for_each_other_are_no_solution():
    """A newton in every cable takes up millimetres, of which half a one is allowed."""
    own = soft_twin.load_robot("slender").build_inverse()
    limits = [EffortLimit(1.0, 4.0, "tension"), CoordinateLimit(-0.02, 0.0005, "displacement")]
    found = Inverse(own.twin, limits, own.names).solve(DOWN, [0.0, 0.0, 0.098])
    assert own.twin.coordinates().max() > 0.001
    assert not found.converged and not found.reachable
    assert any(CONTRADICT in each and own.names[0] in each for each in found.active_limits)


def test_narrow_limits_of_coordinates_are_kept_where_efforts_allow_it():
    """A target pulls far beyond them: the finger's volume was 0.15 % of its range beyond its limit."""
    finger = soft_twin.load_robot("finger")
    low, high = np.array([4.5e-3, 7.2e-3, 7.6e-8]), np.array([5.2e-3, 7.4e-3, 8.2e-8])
    efforts = finger.limits()[0]
    inverse = Inverse(finger.build_twin(), [efforts, CoordinateLimit(low, high)], finger.actuator_names, None)
    tip, gravity = inverse.twin.frames["tip"], [9.4, -2.3, -1.7]
    found = inverse.solve(gravity, goals=[PositionGoal(tip, [-0.012, -0.0095, 0.0705])])
    told = inverse.twin.coordinates()
    assert found.converged
    assert not any(CONTRADICT in each for each in found.active_limits)
    assert (np.maximum(low - told, told - high) < 1e-6 * (high - low)).all()
    inside = finger.build_twin().equilibrium(gravity, coordinates=0.1 * low + 0.9 * high)
    assert ((inside.efforts > efforts.low) & (inside.efforts < efforts.high)).all()
