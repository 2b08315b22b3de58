"""Bodies in a moving base whose actuators are driven: closed forms of rotation, energy, contact, refusals."""

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.contact import Contact, Plane
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers import driven
from soft_twin.solvers.driven import minimise_driven
from soft_twin.solvers.time.driven_euler import FEWEST, HALVINGS, ITERATIONS, DrivenEuler

MODULUS, DENSITY, SIZE, LENGTH = 3e5, 1100.0, 0.01, 0.1
STILL = np.zeros(3)


def bar(constraints=(), cells=10, chamber=False, poisson=0.0):
    """A bar of 10 × 10 × 100 mm along z, its lower end at the origin, with a cable along its side x = −4 mm."""
    occupied = np.ones((3, 3, cells), dtype=bool)
    if chamber:
        occupied[1, 1, 1:-1] = False
    mesh = voxel_mesh(occupied, np.array([SIZE / 3.0, SIZE / 3.0, LENGTH / cells]), "hex20r")
    mesh.nodes[:, :2] -= 0.5 * SIZE
    body = Body(mesh, Material(energy_named("stable_neo_hookean", MODULUS, max(poisson, 1e-3)), DENSITY), "base")
    side = Cables(mesh, np.array([[-0.004, 0.0, 0.0]]), np.array([[-0.004, 0.0, LENGTH]]))
    parts = [CableActuators(side, 2000.0, ["side"], friction=0.1)]
    parts += [Chambers(["chamber 1"], ["air"])] if chamber else []
    return Model(body, [Gravity(STILL)], constraints, actuators=parts)


def moved(dynamics, steps, base, wound=-1.0, dt=0.02):
    dynamics.base = base
    dynamics.drive(np.atleast_1d(wound))
    for _ in range(steps):
        dynamics.step(dt)
    return dynamics.pose.points - dynamics.model.rest.points


def end(model, displacements):
    """(3,) mean displacement of the end face."""
    return displacements[model.body.mesh.nodes[:, 2] > LENGTH - 1e-9].mean(axis=0)


def test_a_turning_base_stretches_its_bar_by_the_centrifugal_force():
    """u(L) = ρ ω² L³/(3 E) of a bar that turns about x through its clamped end."""
    model, rate = bar(), 5.0
    dynamics = DrivenEuler(model, 0.02, mass_damping=5.0, stiffness_damping=0.01)
    stretched = end(model, moved(dynamics, 150, MovingBase(STILL, np.array([rate, 0.0, 0.0]))))
    assert stretched[2] == pytest.approx(DENSITY * rate**2 * LENGTH**3 / (3.0 * MODULUS), rel=0.03)


def test_coriolis_turns_a_bodys_motion_aside():
    """What moves with v in a base that turns with ω is pushed aside by −2 m ω × v."""
    model = bar(cells=4)
    points = model.rest.points
    velocities = np.tile([0.0, 0.0, 0.7], (len(points), 1))
    base = MovingBase(STILL, np.array([3.0, 0.0, 0.0]))
    force = base.inertial_forces(model.mass, points, velocities)
    still = base.inertial_forces(model.mass, points, np.zeros_like(points))
    expected = -2.0 * model.body.mass * np.cross([3.0, 0.0, 0.0], [0.0, 0.0, 0.7])
    np.testing.assert_allclose((force - still).sum(axis=0), expected, rtol=1e-9, atol=1e-12)


def test_a_base_that_begins_to_turn_leaves_its_body_behind():
    """Euler's force −ρ ω̇ x z bends a cantilever by 11 ρ A ω̇ L⁵/(120 E I), z from the clamp."""
    model, acceleration = bar(cells=12), 5.0
    dynamics = DrivenEuler(model, 0.02, mass_damping=5.0, stiffness_damping=0.01)
    base = MovingBase(STILL, STILL, np.array([acceleration, 0.0, 0.0]))
    bent = end(model, moved(dynamics, 200, base))
    inertia = SIZE**4 / 12.0
    expected = 11.0 * DENSITY * SIZE**2 * acceleration * LENGTH**5 / (120.0 * MODULUS * inertia)
    assert bent[1] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("plate", [False, True], ids=["free", "plate"])
def test_a_free_swing_never_gains_energy(plate):
    """Let go of a bent bar in a base at rest, without gravity: kinetic, elastic and cable's energy only fall."""
    probe = bar()
    top = probe.body.mesh.nodes[:, 2] > LENGTH - 1e-9
    model = bar([RigidPlate(np.flatnonzero(top))]) if plate else probe
    dynamics = DrivenEuler(model, 0.01)
    moved(dynamics, 30, MovingBase(STILL), 0.004, dt=0.01)
    dynamics.drive(np.array([-0.01]))
    energies = []
    for _ in range(80):
        dynamics.step(0.01)
        energies.append(dynamics.energy())
    assert np.diff(energies).max() <= 2e-3 * energies[0]
    assert energies[-1] < 0.5 * energies[0]
    assert dynamics.damped_steps == 0


def test_a_bar_that_is_pulled_onto_a_wall_stops_there_and_pushes():
    wall = Contact(Plane((-0.012, 0.0, 0.0), (1.0, 0.0, 0.0)))
    model = bar([wall])
    dynamics = DrivenEuler(model, 0.02, mass_damping=1.0, stiffness_damping=0.01)
    moved(dynamics, 20, MovingBase(STILL), 0.003)
    light = dynamics.efforts[0]
    points = moved(dynamics, 40, MovingBase(STILL), 0.006) + model.rest.points
    assert points[:, 0].min() == pytest.approx(-0.012, abs=2e-7)
    assert wall.forces(points, dynamics.solved.multipliers[0])[0] > 0.03
    assert dynamics.efforts[0] > light
    assert dynamics.damped_steps == 0


def test_a_chamber_and_a_cable_are_driven_by_one_law():
    """e = (d − c)/s at the end of a step, of both."""
    model = bar(chamber=True, cells=6)
    dynamics = DrivenEuler(model, 0.02, mass_damping=1.0, stiffness_damping=0.01)
    dynamics.base = MovingBase(STILL)
    wound, softness = np.array([0.003, 3e-7]), np.array([1.0 / 2000.0, 5e-11])
    dynamics.drive(wound, softness)
    for _ in range(40):
        dynamics.step()
    coordinates = model.actuators.coordinates(dynamics.pose.points)
    assert (dynamics.efforts > 0.0).all()
    np.testing.assert_allclose(dynamics.efforts, (wound - coordinates) / softness, rtol=2e-3)


@pytest.mark.parametrize(
    "wound",
    [[-1.0] * 24, [-0.0008] * 24, [-0.01] * 12 + [0.004] * 12, [0.004] * 12 + [-0.01] * 12],
    ids=["never", "by the shakes", "wound in", "let go"],
)
def test_cables_that_are_slack_cost_nothing_and_change_nothing(monkeypatch, wound):
    """Shaken along x by twice gravity, while the cable is never tightened, by the shakes alone, wound in, let go."""
    asked = []

    def ends(slack):
        monkeypatch.setattr(driven, "SLACK", slack)
        dynamics, found = DrivenEuler(bar(cells=5), 0.02, mass_damping=1.0, stiffness_damping=0.01), []
        solve = dynamics.model.unknowns.matrix.solve_definite
        monkeypatch.setattr(
            dynamics.model.unknowns.matrix, "solve_definite", lambda right: asked.append(right.shape[1]) or solve(right)
        )
        for k, one in enumerate(wound):
            dynamics.base = MovingBase(np.array([20.0 * (-1.0) ** (k // 6), 0.0, 0.0]))
            dynamics.drive(np.array([one]))
            dynamics.step(0.02)
            found.append(np.append(dynamics.pose.points.ravel(), dynamics.efforts))
        return np.array(found)

    few = ends(driven.SLACK)
    own, all_of_them = asked.copy(), ends(np.inf)
    np.testing.assert_allclose(few, all_of_them, atol=1e-9)  # [m], [N]: by the same iterations
    assert np.mean(own) < 2.0 and (wound[0] < -0.1) == (set(own[1:]) == {1})
    assert (few[:, -1] > 0.0).any() == (wound[0] > -0.1)


def test_what_cannot_drive_is_refused():
    model = bar(cells=4)
    dynamics = DrivenEuler(model, 0.02)
    for wound, softness in ((np.zeros(2), None), ([np.nan], None), ([0.0], [0.0])):
        with pytest.raises(InputError):
            dynamics.drive(np.array(wound), None if softness is None else np.array(softness))
    with pytest.raises(InputError, match="angular velocity"):
        MovingBase(STILL, np.full(3, np.inf))
    with pytest.raises(InputError, match="one Gravity"):
        DrivenEuler(Model(model.body, [], actuators=[]), 0.02)


def test_cables_that_are_let_go_leave_a_damped_body_that_grows_and_does_not_buckle():
    """Pressed together far beyond the load at which it would buckle without cables, which hold it straight."""
    model, gravity = slender_bar(), MovingBase(np.array([0.05, 0.0, 0.0]))
    dynamics = DrivenEuler(model, 0.02, stiffness_damping=0.4)
    moved(dynamics, 40, gravity, wound=np.full(4, 0.003))
    buckling = np.pi**2 / 4.0 * MODULUS * (SIZE / 2.0) ** 4 / 12.0 / LENGTH**2
    assert dynamics.efforts.sum() > 3.0 * buckling
    pressed, unsolved = -end(model, dynamics.pose.points - model.rest.points)[2], dynamics.damped_steps
    for wound in (0.002, 0.001, 0.0, -0.01):
        grown = moved(dynamics, 8, gravity, wound=np.full(4, wound))
    assert dynamics.damped_steps == unsolved and (dynamics.efforts < 1e-9).all()
    assert -end(model, grown)[2] < 0.3 * pressed
    assert np.abs(grown[:, :2]).max() < 2e-3


class Balloon:
    """A hollow cube of 30 mm, of walls that soften, whose valve lets in what would bring it to a pressure."""

    def __init__(self):
        occupied = np.ones((4, 4, 4), dtype=bool)
        occupied[1:-1, 1:-1, 1:-1] = False
        mesh = voxel_mesh(occupied, 0.0075, "hex20r")
        body = Body(mesh, Material(energy_named("neo_hookean", 1e5, 0.4), 1e3), "base")
        self.model = Model(body, [Gravity(STILL)], [], actuators=[Chambers(["chamber 1"], ["air"])])
        self.dynamics = DrivenEuler(self.model, 0.02, stiffness_damping=0.002)

    def fill(self, pressure):
        grown = self.model.actuators.at(self.dynamics.pose.points).coordinates
        softness = (0.015**3 + grown) / (1e5 + pressure)
        self.dynamics.drive(softness * pressure + grown, softness)
        self.dynamics.step()


@pytest.fixture(scope="module")
def ballooned():
    """A balloon beyond its limit point, whose tangent with the pressure held is indefinite, while what its valve holds
    is not; and effort, iterations and damped steps of each step there."""
    balloon, steps = Balloon(), []
    for pressure in np.arange(2e3, 63e3, 2e3):
        balloon.fill(pressure)
        dynamics = balloon.dynamics
        steps.append((dynamics.efforts[0], dynamics.solved.iterations, dynamics.damped_steps))
    return balloon, steps[-6:]


def test_a_balloon_beyond_its_limit_point_grows_in_few_iterations(ballooned):
    efforts, iterations, damped = np.transpose(ballooned[1])
    assert (np.diff(efforts) < 0.0).all()
    assert iterations[1:].max() <= 12 and damped.max() == 0


def test_a_step_that_is_not_solved_ends_after_so_many_iterations(ballooned, monkeypatch):
    balloon, taken = ballooned[0], []

    def counted(*arguments):
        reached = minimise_driven(*arguments)
        taken.append(len(reached.history))
        return reached

    monkeypatch.setattr("soft_twin.solvers.time.driven_euler.minimise_driven", counted)
    for pressure in (70e3, 78e3):
        taken.clear()
        balloon.fill(pressure)
        assert sum(taken) <= ITERATIONS + FEWEST * 2**HALVINGS
    assert balloon.dynamics.damped_steps > 0
    for _ in range(50):
        balloon.fill(0.0)
    grown = balloon.model.actuators.at(balloon.dynamics.pose.points).coordinates
    assert abs(grown[0]) < 1e-8 and balloon.dynamics.solved.residual < balloon.dynamics.tolerance


def slender_bar():
    """A bar of 5 × 5 × 100 mm with cables along its four edges."""
    mesh = voxel_mesh(np.ones((1, 1, 8), dtype=bool), np.array([SIZE / 2.0, SIZE / 2.0, LENGTH / 8.0]), "hex20r")
    mesh.nodes[:, :2] -= 0.25 * SIZE
    body = Body(mesh, Material(energy_named("corotational", MODULUS, 0.3), DENSITY), "base")
    corners = 0.002 * np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0]])
    edges = Cables(mesh, corners, corners + [0.0, 0.0, LENGTH])
    return Model(body, [Gravity(STILL)], actuators=[CableActuators(edges, 2000.0, list("abcd"))])
