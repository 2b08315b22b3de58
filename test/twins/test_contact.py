"""A twin in contact: closed forms of beams on planes, derivatives by differences, targets that lie on the floor."""

import numpy as np
import pytest

import soft_twin
from soft_twin.inverse.goals import PositionGoal
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.contact import Contact, Plane, Sphere
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.twins.contact import ContactTwin
from soft_twin.twins.finite_element import FemTwin

LENGTH, SIDE, DENSITY = 0.1, 0.006, 1000.0
SIDEWAYS = np.array([-0.2, 0.0, 0.0])  # [m/s²] so little that the beam hardly bends
HEAVY = np.array([-9.81, 0.0, 0.0])


def beam(*obstacles, kind=ContactTwin, plate=False, edge=False):
    """A square beam along +z with one cable on its lower side, in contact with obstacles; `edge`: with its tip's lower
    edge alone."""
    mesh = voxel_mesh(np.ones((1, 2, 12), dtype=bool), np.array([SIDE, SIDE / 2, LENGTH / 12]), "hex20r")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 1e6, 0.3), DENSITY), "base")
    x, y = 0.25 * SIDE, 0.5 * SIDE
    cables = CableActuators(Cables(mesh, np.array([[x, y, 0.0]]), np.array([[x, y, LENGTH]])), 5e3)
    constraints = [RigidPlate("tip")] if plate else []
    lower = np.flatnonzero((mesh.nodes[:, 2] > LENGTH - 1e-9) & (mesh.nodes[:, 0] < 1e-9))
    constraints += [Contact(each, lower if edge else None, margin=0.004) for each in obstacles]
    return kind(Model(body, [Gravity()], constraints, actuators=[cables]), LENGTH)


@pytest.mark.parametrize("plate", [False, True])
def test_a_propped_beam_rests_with_three_eighths_of_its_weight(plate):
    """Of a clamped beam under its own weight, its tip held where it was."""
    twin = beam(Plane([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]), plate=plate, edge=True)
    twin.equilibrium(SIDEWAYS)
    weight = DENSITY * SIDE**2 * LENGTH * np.linalg.norm(SIDEWAYS)
    assert twin.contact_force[0] == pytest.approx(0.375 * weight, rel=0.03)
    np.testing.assert_allclose(twin.contact_force[1:], 0.0, atol=1e-9)


def test_what_the_floor_does_not_carry_the_clamp_does():
    twin = beam(Plane([-0.002, 0.0, 0.0], [1.0, 0.0, 0.0]))
    twin.equilibrium(HEAVY)
    inner = twin.body.assemble(twin.points)[1]
    clamp = inner[twin.body.place < 0].sum(axis=0)  # its own nodes' weight left out
    carried = twin.body.weight(HEAVY)[twin.body.place >= 0].sum(axis=0)
    np.testing.assert_allclose(clamp + twin.contact_force + carried, 0.0, atol=1e-9)
    assert twin.contact_force[0] > 0.3 * twin.body.mass * 9.81
    assert twin.points[:, 0].min() == pytest.approx(-0.002, abs=1e-8)


def test_a_floor_far_away_changes_nothing():
    free, far = beam(kind=FemTwin), beam(Plane([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]))
    efforts = [0.1]
    np.testing.assert_allclose(
        far.equilibrium(HEAVY, efforts=efforts).points, free.equilibrium(HEAVY, efforts=efforts).points, atol=1e-9
    )
    ours, theirs = far.linearise(SIDEWAYS), free.linearise(SIDEWAYS)
    np.testing.assert_allclose(ours.step_per_effort, theirs.step_per_effort, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(far.contact_force, np.zeros(3))


@pytest.mark.parametrize(
    ("obstacle", "within"),  # points of a ball between nodes leave a little of their faces' curvature out
    [(Plane([-0.001, 0.0, 0.0], [1.0, 0.0, 0.1]), 1e-4), (Sphere([-0.042, 0.003, 0.07], 0.04), 2e-3)],
    ids=["plane", "ball"],
)
def test_sensitivities_in_contact_are_those_of_differences(obstacle, within):
    twin, efforts, d = beam(obstacle, plate=True), 0.15, 1e-4
    high, low = (twin.equilibrium(HEAVY, efforts=[efforts + sign * d]) for sign in (1.0, -1.0))
    twin.equilibrium(HEAVY, efforts=[efforts])
    assert np.linalg.norm(twin.contact_force) > 1e-3
    step = twin.linearise(HEAVY)
    assert np.abs(step.free_step + step.step_per_effort @ [efforts]).max() < 1e-9
    slope = (high.points - low.points) / (2.0 * d)
    np.testing.assert_allclose(step.step_per_effort[:, :, 0], slope, atol=within * np.abs(slope).max())
    assert step.compliance[0, 0] == pytest.approx((high.coordinates - low.coordinates)[0] / (2.0 * d), rel=within)
    assert np.abs(step.newton.steps[:, 1:]).max() > 1.5 * np.abs(step.steps[:, 1:]).max()


def test_ticks_settle_where_the_equilibrium_is():
    twin = beam(Plane([-0.001, 0.0, 0.0], [1.0, 0.0, 0.0]), plate=True)
    still = twin.equilibrium(HEAVY, efforts=[0.2])
    force = twin.contact_force
    again = twin.equilibrium(HEAVY, coordinates=still.coordinates)
    np.testing.assert_allclose(again.points, still.points, atol=1e-7)
    twin.reset()
    for _ in range(30):
        moved = twin.advance(twin.relinearise(HEAVY), np.array([0.2]), 0.005)
    assert moved < 1e-9
    np.testing.assert_allclose(twin.points, still.points, atol=1e-8)
    np.testing.assert_allclose(twin.contact_force, force, rtol=1e-5, atol=1e-9)


def test_a_tip_that_presses_is_held_where_feasible_efforts_put_it():
    robot = soft_twin.load_robot("finger")
    inverse = robot.build_inverse()
    twin, gravity = inverse.twin, np.array([2.0, 1.0, -9.5])
    target = twin.equilibrium(gravity, efforts=[1.9, 1.5, 9e3]).tip
    pressed = twin.contact_force[0]
    assert pressed > 0.1
    twin.reset()
    solution = inverse.solve(gravity, goals=[PositionGoal(twin.frames["tip"], target)])
    assert solution.reachable
    assert solution.error < 1e-5
    assert twin.contact_force[0] > 0.01
    held = twin.equilibrium(gravity, coordinates=solution.coordinates)
    np.testing.assert_allclose(held.tip, target, atol=2e-5)
