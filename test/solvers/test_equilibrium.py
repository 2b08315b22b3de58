"""The solver: Hessians against differences of gradients, equilibria with plates, cables and contact, failures."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bodies import dense, distorted_block
from scipy.special import ellipe, ellipk
from test_loads import outer_faces

from soft_twin.errors import ConvergenceError, InputError, MaterialError, MeshError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import Driven, Multipliers, Prescribed, RigidPlate
from soft_twin.mechanics.constraints.rows import stacked
from soft_twin.mechanics.contact import Contact, Plane, Sphere
from soft_twin.mechanics.loads import Effort, Gravity, NodalLoad, Pressure
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import make_mesh
from soft_twin.robots import load_robot
from soft_twin.solvers.equilibrium import RUNAWAY, _Outlook, equilibrium, minimise
from soft_twin.solvers.time.integrators import BackwardEuler

RNG = np.random.default_rng(4)


def body_of_block(law="neo_hookean", clamped=True, young_modulus=2e5, element="hex8"):
    mesh = distorted_block(element)
    return Body(
        mesh, Material(energy_named(law, young_modulus, 0.35), 1000.0), mesh.nodes[:, 2] < 1e-9 if clamped else None
    )


def rich_model():
    """Everything at once: pressure, cables inside and outside, a plate, a sphere in contact, a consistent mass."""
    body = body_of_block()
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 2.0 - 1e-9)
    inside = Cables(body.mesh, np.array([[0.5, 0.5, 0.0]]), np.array([[0.5, 0.5, 2.0]]))
    outside = Cables.outside(body.mesh, np.array([[4.0, 1.0, 0.0]]), top, np.array([[3.2, 1.0, 2.0]]))
    pressure = Pressure(outer_faces(body.mesh), 3e3)
    pull = Driven(CableActuators(outside, 1e5), [0.1])
    constraints = [RigidPlate(top), pull, Contact(Sphere([1.5, 2.5, 1.0], 0.6))]
    return Model(
        body, [Gravity(), Effort(CableActuators(inside, np.inf), [300.0]), pressure], constraints, consistent_mass=True
    )


def test_the_hessian_is_the_slope_of_the_gradient_with_everything_at_once():
    model = rich_model()
    pose = model.unknowns.move(model.rest, RNG.uniform(-0.02, 0.02, model.unknowns.size))
    nodes = model.body.mesh.nodes
    increment = Increment(0.7, 0.5, 20.0, nodes + 0.01, RNG.normal(size=nodes.shape))
    known = Multipliers([{}, {0: 400.0}, dict.fromkeys(model.rows(pose.points, model.idle)[2].keys, 50.0)])

    def slope_of_lagrangian(step):
        there = model.unknowns.move(pose, step)
        assembled = model.assemble(there, increment, known)
        balance = assembled.gradient - known.reactions(assembled.rows, there.points)
        return model.unknowns.transform(there).T @ balance.ravel()

    model.assemble(pose, increment, known, with_matrix=True)
    hessian = dense(model.unknowns.matrix)
    for _ in range(3):
        direction = RNG.normal(size=model.unknowns.size)
        numeric = (slope_of_lagrangian(1e-6 * direction) - slope_of_lagrangian(-1e-6 * direction)) / 2e-6
        turned = hessian @ direction
        # the exponential's second derivative is symmetric: half of the commutator of a plate's turning is not in it
        free = np.abs(numeric - turned)
        plate = 3 * model.unknowns._place[len(nodes) + 1] + np.arange(3)
        assert np.delete(free, plate).max() < 1e-6 * np.abs(numeric).max()


def test_the_rows_jacobian_is_the_slope_of_their_values():
    model = rich_model()
    pose = model.unknowns.move(model.rest, RNG.uniform(-0.01, 0.01, model.unknowns.size))
    known = model.idle

    def values(step):
        there = model.unknowns.move(pose, step)
        rows = stacked(model.rows(there.points, known), model.unknowns.transform(there))
        return dict(zip(rows.keys, rows.values, strict=True)), rows

    _, rows = values(np.zeros(model.unknowns.size))
    direction = RNG.normal(size=model.unknowns.size)
    ahead, behind = values(1e-6 * direction)[0], values(-1e-6 * direction)[0]
    numeric = [(ahead[key] - behind[key]) / 2e-6 for key in rows.keys]
    assert rows.jacobian @ direction == pytest.approx(numeric, rel=1e-5, abs=1e-7)


def test_everything_at_once_has_an_equilibrium_that_newton_finds_quadratically():
    model = rich_model()
    solved = equilibrium(model)
    assert solved.multipliers[1][0] > 100.0
    tail = np.array(solved.history[-3:])
    assert tail[-1] < 1e-3 * tail[-2] < 1e-3 * tail[-3]
    assert model.constraints[2].penetration(solved.pose.points) < 1e-7


def test_a_plate_stays_rigid_and_its_body_is_stiffer_than_without():
    body, force = body_of_block(), [2e3, 0.0, 0.0]
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 2.0 - 1e-9)
    alone = equilibrium(Model(body_of_block(), [NodalLoad(top, force)])).pose.points
    solved = equilibrium(Model(body, [NodalLoad(top, force)], [RigidPlate(top)]))
    points = solved.pose.points
    before, after = (np.linalg.norm(x[top][:, None] - x[top], axis=2) for x in (body.mesh.nodes, points))
    assert np.abs(before - after).max() < 1e-12
    assert np.linalg.norm(solved.pose.rotations[0] - np.eye(3)) > 1e-3
    shift = [(x[top] - body.mesh.nodes[top])[:, 0].mean() for x in (points, alone)]
    assert 0.5 * shift[1] < shift[0] < shift[1]


def test_a_body_on_a_floor_presses_with_its_weight():
    body = body_of_block(clamped=False)
    floor = Contact(Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]), friction=0.5)
    solved = equilibrium(Model(body, [Gravity()], [floor]))
    assert floor.forces(solved.pose.points, solved.multipliers[0]) == pytest.approx([0, 0, 9.81 * body.mass], abs=1e-3)
    assert floor.penetration(solved.pose.points) < 1e-7


def test_a_stiff_cable_is_as_short_as_it_is_wound_and_a_slack_one_pulls_nothing():
    body = body_of_block()
    cables = Cables(
        body.mesh, np.array([[0.4, 0.6, 0.0], [2.6, 1.4, 0.0]]), np.array([[0.4, 0.6, 2.0], [2.6, 1.4, 2.0]])
    )
    pull = Driven(CableActuators(cables, np.inf), [0.05, -0.2])
    solved = equilibrium(Model(body, [], [pull]))
    assert cables.lengths(solved.pose.points)[0] == pytest.approx(1.95, abs=1e-7)
    assert solved.multipliers[0].get(0, 0.0) > 100.0
    assert abs(solved.multipliers[0].get(1, 0.0)) < 1e-6


def test_prescribed_nodes_go_where_they_are_told_in_load_steps_if_need_be():
    body = body_of_block()
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 2.0 - 1e-9)
    turned = body.mesh.nodes[top] @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) + [2.5, -0.5, 0.5]
    solved = equilibrium(Model(body, [], [Prescribed(top, motion=lambda time: turned)]))
    assert np.array_equal(solved.pose.points[top], turned)
    assert solved.assembled.worst > 0.1


@pytest.mark.parametrize("element", ["hex8", "hex8f", "hex20r"])
def test_prescribed_nodes_that_pass_whole_cells_at_once_compress_the_body(element):
    """The first guess, in which only they have moved, is inverted."""
    mesh = voxel_mesh(np.ones((3, 3, 8)), 0.01, element)
    body = Body(mesh, Material(energy_named("neo_hookean", 1e5, 0.3), 1000.0), "base")
    top = mesh.group("tip")
    solved = equilibrium(Model(body, [], [Prescribed(top, velocity=[0.0, 0.0, -0.02])]), time=1.0)
    middle = np.abs(mesh.nodes[:, 2] - 0.04) < 1e-9
    assert solved.pose.points[middle, 2] == pytest.approx(0.03, rel=0.03)
    assert solved.assembled.worst > 0.5 and np.isfinite(solved.assembled.energy)


@pytest.mark.parametrize("walled", [False, True])
def test_a_column_beyond_its_critical_load_buckles_as_the_elastica_does(walled):
    """Straight, its forces balance, too, but at a saddle. Between walls, at its tip, it does not."""
    mesh = voxel_mesh(np.ones((2, 2, 20)), 0.01, "hex20r")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 1e5, 0.3), 1000.0), "base")
    tip, m = mesh.group("tip"), np.sin(np.radians(40.0)) ** 2  # its end leans by 80 degrees
    stiffness = 1e5 * 0.02**4 / 12.0
    force = stiffness * (ellipk(m) / 0.2) ** 2
    walls = [Plane([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]), Plane([0.02, 0.0, 0.0], [-1.0, 0.0, 0.0])] if walled else []
    walls += [Plane([0.0, 0.0, 0.0], [0.0, 1.0, 0.0]), Plane([0.0, 0.02, 0.0], [0.0, -1.0, 0.0])] if walled else []
    model = Model(body, [NodalLoad(tip, [0.0, 0.0, -force])], [Contact(wall, nodes=tip) for wall in walls])
    moved = (equilibrium(model).pose.points - mesh.nodes)[tip].mean(axis=0)
    if walled:
        assert np.abs(moved[:2]).max() < 1e-3 * 0.2 and -moved[2] < 0.02 * 0.2
    else:
        assert np.hypot(*moved[:2]) == pytest.approx(2.0 * np.sqrt(m * stiffness / force), rel=0.01)
        assert 0.2 + moved[2] == pytest.approx(0.2 * (2.0 * ellipe(m) / ellipk(m) - 1.0), rel=0.01)


def test_several_materials_share_a_mesh_and_the_softer_one_gives_more():
    mesh = distorted_block("hex8")
    low = mesh.nodes[mesh.cells][:, :, 2].mean(axis=1) < 1.0
    laws = [energy_named("neo_hookean", modulus, 0.3) for modulus in (1e6, 1e5)]
    materials = [Material(laws[0], 1000.0, np.flatnonzero(low)), Material(laws[1], 1000.0, np.flatnonzero(~low))]
    body = Body(mesh, materials, mesh.nodes[:, 2] < 1e-9)
    drop = mesh.nodes[:, 2] - equilibrium(Model(body, [Gravity()])).pose.points[:, 2]
    at = [drop[np.abs(mesh.nodes[:, 2] - z) < 1e-9].mean() for z in (1.0, 2.0)]
    # the lower half carries three times as much on ten times the modulus
    assert (at[1] - at[0]) / at[0] == pytest.approx(10.0 / 3.0, rel=0.25)
    with pytest.raises(MaterialError, match="6 of 12 cells are of no material"):
        Body(mesh, materials[:1])


def test_what_is_no_model_and_no_number_of_steps_is_told():
    model = Model(body_of_block(), [Gravity()])
    with pytest.raises(InputError, match=r"equilibrium: expected a Model: Model\(body, forces, constraints, …\)"):
        equilibrium(model.body)
    for steps in (0, 2.5):
        with pytest.raises(InputError, match="load_steps"):
            equilibrium(model, load_steps=steps)


@pytest.mark.parametrize("seed", range(5))
def test_round_off_of_the_merit_function_does_not_stop_the_last_steps(seed):
    """So near the minimum that the energy's last digits decide nothing, every step of Newton's is taken whole."""
    model = Model(body_of_block(young_modulus=2e7), [Gravity()])
    found = equilibrium(model)
    off = np.random.default_rng(seed).normal(0.0, 1e-9, model.unknowns.size)
    again = minimise(model, model.unknowns.move(found.pose, off), Increment())
    assert again.iterations <= 2
    np.testing.assert_allclose(again.pose.points, found.pose.points, atol=1e-9)


def test_a_piece_that_floats_is_named_and_a_plate_holds_it():
    mesh, n = distorted_block("hex8"), len(distorted_block("hex8").nodes)
    nodes, cells = np.vstack([mesh.nodes, mesh.nodes + [5.0, 0.0, 0.0]]), np.vstack([mesh.cells, mesh.cells + n])
    twins = make_mesh(nodes, cells, mesh.element, check=False)
    body = Body(twins, Material(energy_named("neo_hookean", 1e5, 0.3), 10.0), np.flatnonzero(mesh.nodes[:, 2] < 1e-9))
    with pytest.raises(MeshError, match=rf"floats: nothing of the {n} nodes around \(6494, 1002, 1005\) mm"):
        equilibrium(Model(body, [Gravity()]))
    top = np.flatnonzero(nodes[:, 2] > 2.0 - 1e-9)
    assert equilibrium(Model(body, [Gravity()], [RigidPlate(top)])).shift == 0.0


def test_what_floats_or_is_held_twice_is_said():
    with pytest.raises(MeshError, match="floats"):
        equilibrium(Model(body_of_block(clamped=False), [Gravity()]))
    body = body_of_block()
    with pytest.raises(InputError, match="0 nodes are prescribed twice, 12 are prescribed and clamped"):
        Model(body, [], [Prescribed(body.place < 0)])
    with pytest.raises(MeshError, match="shares nodes"):
        Model(body, [], [RigidPlate(body.mesh.nodes[:, 0] < 1e-9)])
    with pytest.raises(MeshError, match="nothing is left"):
        Model(body, [], [Prescribed(body.place >= 0)])
    with pytest.raises(InputError, match="rigid plate: no nodes"):
        Model(body, [], [RigidPlate([])])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pose: pose.points, r"pose: expected a Pose, such as solved.pose, found an array of shape \(36, 3\)"),
        (lambda pose: replace(pose, points=pose.points[1:]), r"expected finite points \(36, 3\), found \(35, 3\)"),
        (
            lambda pose: replace(pose, points=np.vstack([pose.points, np.zeros(3)])),
            r"points \(36, 3\), found \(37, 3\)",
        ),
        (lambda pose: replace(pose, points=np.full((36, 3), np.nan)), r"expected finite points \(36, 3\)"),
        (lambda pose: replace(pose, centres=np.zeros((0, 3))), r"expected finite centres \(1, 3\), found \(0, 3\)"),
        (lambda pose: replace(pose, rotations="none"), r"pose: expected rotations \(1, 3, 3\), found 'none'"),
    ],
)
def test_a_pose_of_another_model_is_refused(change, message):
    body = body_of_block()
    model = Model(body, [Gravity()], [RigidPlate(body.mesh.nodes[:, 2] > 2.0 - 1e-9)])
    bad = change(model.rest)
    moving = BackwardEuler(model, 0.01)
    for use in (
        lambda: equilibrium(model, bad),
        lambda: BackwardEuler(model, 0.01, bad),
        lambda: moving.restart(bad, np.zeros(3), 0.0),
    ):
        with pytest.raises(InputError, match=message):
            use()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"forces": Gravity()}, "forces: expected a list of forces, found a Gravity"),
        ({"forces": ["gravity"]}, "forces: expected forces, such as a Gravity, found 'gravity'"),
        ({"forces": [Prescribed("tip")]}, "forces: expected forces, .* found a Prescribed"),
        ({"constraints": [Gravity()]}, "constraints: expected constraints, .* found a Gravity"),
        ({"constraints": Prescribed("tip")}, "constraints: expected a list of constraints, found a Prescribed"),
        ({"actuators": Chambers(["chamber 1"])}, "actuators: expected a list of actuators, found a Chambers"),
        ({"body": distorted_block("hex8")}, "body: expected a Body, found a Mesh"),
    ],
)
def test_parts_of_a_model_in_the_wrong_place_are_named(parts, message):
    with pytest.raises(InputError, match=message):
        Model(**{"body": body_of_block(), **parts})


def test_a_pose_may_be_of_lists_and_of_single_precision():
    model = Model(body_of_block(), [Gravity()])
    found = equilibrium(model).pose
    for points in (found.points.tolist(), found.points.astype(np.float32), np.asfortranarray(found.points)):
        again = equilibrium(model, replace(found, points=points))
        assert again.pose.points == pytest.approx(found.points, abs=1e-9)


def test_a_load_that_nothing_can_hold_ends_in_an_error_with_its_history():
    """Neo-Hooke's law softens when it is blown up: beyond some suction there is no equilibrium."""
    body = body_of_block(young_modulus=1e3)
    with pytest.raises(ConvergenceError, match="is deformed most") as error:
        equilibrium(Model(body, [Pressure(outer_faces(body.mesh), -1e5)]), load_steps=2)
    assert len(error.value.history) > 1
    assert error.value.worst_element is not None


@pytest.mark.parametrize("load", [1e160, 1e300])
def test_loads_whose_squares_are_beyond_all_numbers_balance_nothing(load):
    twin = load_robot("slender").build_twin()
    with pytest.raises(ConvergenceError, match="forces are not finite"):
        twin.equilibrium([0.0, 0.0, -9.81], efforts=np.full(twin.actuator_count, load))


def test_the_documentation_s_example_runs(capsys):
    text = (Path(__file__).parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    assert names["solved"].pose.points[:, 0].min() < -0.0004, "the chamber bends the finger"
    assert names["touch"].forces(names["solved"].pose.points, names["solved"].multipliers[1])[0] > 0.01
    assert capsys.readouterr().out.count("\n") == 4


@pytest.mark.parametrize(("growth", "far", "hopeless"), [(1.1, 1.0, True), (0.9, 1.0, False), (1.1, np.inf, False)])
def test_a_body_at_rest_that_goes_away_from_balance_without_stiffness_is_given_up(growth, far, hopeless):
    """Near its undeformed shape, too; a step in time, for which nothing is far, goes on."""
    here = Pose(np.zeros((1, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    there = Pose(np.full((1, 3), 0.01), here.centres, here.rotations)
    outlook = _Outlook(here, 1.0, far)
    for k in range(RUNAWAY):
        assert not outlook.hopeless
        outlook.note(here, there, growth**k, shifted=True)
    assert outlook.hopeless == hopeless
    outlook.note(here, there, growth**RUNAWAY, shifted=False)
    assert not outlook.hopeless


def test_a_body_of_stiff_threads_turns_far_in_few_steps():
    """Every step of a turn stretches them; where none may raise the energy, there are 66."""
    twin = load_robot("bellows").build_twin()
    down, least, most = np.array([0.0, 0.0, -9.81]), -65e3, 10e3
    twin.equilibrium(down, efforts=np.full(9, 0.5 * (least + most)))
    pressures = [least, most, most, most, least, most, least, most, most]
    found = twin.equilibrium(down, efforts=pressures)
    assert found.iterations < 40
    twin.reset()
    np.testing.assert_allclose(twin.equilibrium(down, efforts=pressures).points, found.points, atol=1e-7)
