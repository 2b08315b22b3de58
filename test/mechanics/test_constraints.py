"""Constraints: distances and normals of obstacles, contact that carries and slips, plates, prescribed nodes."""

import numpy as np
import pytest

from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import Prescribed, RigidPlate
from soft_twin.mechanics.contact import Box, Contact, Cylinder, Plane, Sphere
from soft_twin.mechanics.loads import Gravity, NodalLoad
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import make_mesh
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson

RNG = np.random.default_rng(3)
TURNED = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
OBSTACLES = {
    "plane": Plane([0.1, 0.2, 0.3], [1.0, 2.0, 2.0]),
    "sphere": Sphere([0.1, -0.2, 0.0], 0.3),
    "cylinder": Cylinder([0.0, 0.1, 0.0], 0.2, 0.4, TURNED),
    "box": Box([0.0, 0.1, 0.2], [0.2, 0.3, 0.4], TURNED),
}
GRAVITY = 9.81


def block(clamped=False, cells=(2, 2, 2)) -> Body:
    mesh = voxel_mesh(np.ones(cells, bool), 0.05, "hex8")
    material = Material(energy_named("stable_neo_hookean", 2e4, 0.3), 1000.0)
    return Body(mesh, material, mesh.nodes[:, 2] < 1e-9 if clamped else None)


@pytest.mark.parametrize("name", OBSTACLES)
def test_normals_are_the_gradients_of_distances(name):
    obstacle, step = OBSTACLES[name], 1e-6
    points = RNG.uniform(-0.8, 0.8, (200, 3))
    distances, normals = obstacle.distance(points)
    shifts = step * np.eye(3)
    numeric = [(obstacle.distance(points + s)[0] - obstacle.distance(points - s)[0]) / (2.0 * step) for s in shifts]
    assert np.stack(numeric, axis=1) == pytest.approx(normals, abs=1e-6)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)
    foot = points - distances[:, None] * normals
    assert np.abs(obstacle.distance(foot)[0]).max() < 1e-12


@pytest.mark.parametrize("name", OBSTACLES)
def test_gaps_have_their_derivatives_and_the_sign_of_the_distance(name):
    obstacle, step = OBSTACLES[name], 1e-6
    points = RNG.uniform(-0.8, 0.8, (200, 3))
    gaps, normals = obstacle.gap(points)
    distances = obstacle.distance(points)[0]
    assert (np.sign(gaps) == np.sign(distances)).all() and (gaps <= distances + 1e-12).all()
    curvature = obstacle.curvature(points)
    for axis, shift in enumerate(step * np.eye(3)):
        (ahead, lean), (behind, back) = obstacle.gap(points + shift), obstacle.gap(points - shift)
        assert (ahead - behind) / (2.0 * step) == pytest.approx(normals[:, axis], abs=1e-6)
        assert (lean - back) / (2.0 * step) == pytest.approx(curvature[:, :, axis], abs=1e-4)


@pytest.mark.parametrize("name", ["sphere", "cylinder", "box"])
def test_solid_obstacles_are_negative_inside_and_positive_outside(name):
    obstacle = OBSTACLES[name]
    assert obstacle.distance(obstacle.position[None] + 1e-3)[0][0] < 0.0
    assert obstacle.distance(obstacle.position[None] + 2.0)[0][0] > 0.0


def test_distances_in_closed_form():
    cylinder, box = Cylinder([0.0, 0.0, 0.0], 1.0, 2.0), Box([0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
    assert cylinder.distance(np.array([[4.0, 0.0, 6.0], [0.0, 0.0, 1.5], [0.9, 0.0, 0.0]]))[0] == pytest.approx(
        [5.0, -0.5, -0.1]
    )
    assert box.distance(np.array([[4.0, 6.0, 0.0], [0.0, 0.0, 4.0], [0.0, 1.5, 0.0]]))[0] == pytest.approx(
        [5.0, 1.0, -0.5]
    )


def test_moved_obstacles_carry_their_distances_along():
    obstacle = Box([0.0, 0.0, 0.0], [0.1, 0.2, 0.3])
    points = RNG.uniform(-0.5, 0.5, (20, 3))
    before = obstacle.distance(points)[0]
    obstacle.position, obstacle.rotation = np.array([1.0, 2.0, 3.0]), TURNED
    assert obstacle.distance(points @ TURNED.T + obstacle.position)[0] == pytest.approx(before)


@pytest.mark.parametrize("rotation", [2.0 * np.eye(3), np.nan * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.eye(2), "up"])
def test_what_is_no_rotation_is_refused_at_the_start_and_later(rotation):
    box = Box([0.0, 0.0, 0.0], [0.1, 0.1, 0.1], np.round(TURNED @ TURNED, 3))
    with pytest.raises(InputError, match="obstacle's rotation: "):
        Box([0.0, 0.0, 0.0], [0.1, 0.1, 0.1], rotation)
    with pytest.raises(InputError, match="obstacle's rotation: "):
        box.rotation = rotation
    with pytest.raises(InputError, match="obstacle's position: .* is not finite"):
        box.position = [np.nan, 0.0, 0.0]


def test_the_floor_carries_the_weight():
    body = block()
    floor = Contact(Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    model = Model(body, [Gravity([0.0, 0.0, -GRAVITY])], [floor])
    integrator = BackwardEuler(model, 0.01, mass_damping=50.0)
    integrator.advance(0.5)
    force = floor.forces(integrator.pose.points, integrator.solved.multipliers[0])
    assert force == pytest.approx([0.0, 0.0, body.mass * GRAVITY], rel=1e-3, abs=1e-6)
    assert floor.penetration(integrator.pose.points) < 1e-8


def acceleration_along_x(integrator, duration):
    """Mean [m/s²] of the nodes, over a duration [s] from now."""
    before = integrator.velocities[:, 0].mean()
    integrator.advance(duration)
    return (integrator.velocities[:, 0].mean() - before) / duration


@pytest.mark.parametrize(("tangent", "sticks"), [(0.25, True), (0.5, False)])
def test_friction_sticks_below_mu_and_slips_above(tangent, sticks):
    """On a slope of μ 0.4 a body slides with g (sin θ − μ cos θ), or stays."""
    mu, body = 0.4, block(cells=(2, 2, 1))
    slope = np.arctan(tangent)
    gravity = GRAVITY * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    floor = Contact(Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]), friction=mu)
    integrator = BackwardEuler(Model(body, [Gravity(gravity)], [floor]), 0.01, stiffness_damping=5e-3)
    integrator.advance(0.3)
    acceleration = acceleration_along_x(integrator, 0.2)
    expected = 0.0 if sticks else GRAVITY * (np.sin(slope) - mu * np.cos(slope))
    assert acceleration == pytest.approx(expected, abs=0.02 * GRAVITY * mu)
    force = floor.forces(integrator.pose.points, integrator.solved.multipliers[0])
    share = tangent if sticks else mu
    assert -force[0] / force[2] == pytest.approx(share, rel=0.02)


class Slab:
    """Lies on a plane of any normal, with what is along a direction in the plane and across it; 0° is any."""

    def __init__(self, normal, azimuth, slope=0.0, mu=0.3):
        self.normal = np.array(normal) / np.linalg.norm(normal)
        level = np.cross(self.normal, [0.3, 0.5, 0.8])
        level /= np.linalg.norm(level)
        angle = np.radians(azimuth)
        self.along = np.cos(angle) * level + np.sin(angle) * np.cross(self.normal, level)
        self.across = np.cross(self.normal, self.along)
        flat = voxel_mesh(np.ones((2, 2, 1), bool), 0.02, "hex8")
        nodes = flat.nodes @ np.array([level, np.cross(self.normal, level), self.normal])
        body = Body(make_mesh(nodes, flat.cells, flat.element), Material(energy_named("neo_hookean", 1e6, 0.3), 1000.0))
        self.plane = Plane([0.0, 0.0, 0.0], self.normal)
        gravity = GRAVITY * (np.sin(slope) * self.along - np.cos(slope) * self.normal)
        touch = Contact(self.plane, flat.nodes[:, 2] < 1e-9, friction=mu)
        self.model = Model(body, [Gravity(gravity)], [touch])

    def speeds(self, integrator):
        """Mean [m/s] along and across."""
        mean = integrator.velocities.mean(axis=0)
        return np.array([mean @ self.along, mean @ self.across])


NORMALS = {"level": (0.0, 0.0, 1.0), "leaning": (0.4, -0.3, 0.7)}


@pytest.mark.parametrize("azimuth", [0.0, 45.0])
@pytest.mark.parametrize("normal", NORMALS)
@pytest.mark.parametrize("tangent", [0.27, 0.33])
def test_what_slides_down_a_slope_is_no_matter_of_its_azimuth(tangent, normal, azimuth):
    """By g (sin θ − μ cos θ) t, straight down, where tan θ > μ."""
    mu, slope, duration = 0.3, np.arctan(tangent), 0.05
    slab = Slab(NORMALS[normal], azimuth, slope, mu)
    integrator = BackwardEuler(slab.model, 0.0025)
    integrator.advance(duration)
    expected = max(GRAVITY * (np.sin(slope) - mu * np.cos(slope)) * duration, 0.0)
    assert slab.speeds(integrator) == pytest.approx([expected, 0.0], abs=1e-3 * GRAVITY * mu * duration)


@pytest.mark.parametrize("azimuth", [0.0, 45.0])
@pytest.mark.parametrize("normal", NORMALS)
def test_a_plane_drags_by_mu_g_the_way_it_moves(normal, azimuth):
    mu, dt, steps = 0.3, 0.0025, 20
    slab = Slab(NORMALS[normal], azimuth, 0.0, mu)
    integrator = BackwardEuler(slab.model, dt)
    for _ in range(steps):
        slab.plane.position = slab.plane.position + dt * slab.along
        integrator.step()
    expected = mu * GRAVITY * steps * dt
    assert slab.speeds(integrator) == pytest.approx([expected, 0.0], abs=1e-3 * expected)


@pytest.mark.parametrize(("scheme", "near"), [(BackwardEuler, 1e-6), (CrankNicolson, 5e-3)])
@pytest.mark.parametrize("normal", NORMALS)
def test_what_slides_does_not_leave_its_line(normal, scheme, near):
    """Crank–Nicolson's slab trembles where it is put down unloaded."""
    mu, speed, duration = 0.3, 0.5, 0.05
    slab = Slab(NORMALS[normal], 30.0, 0.0, mu)
    integrator = scheme(slab.model, 0.0025, velocities=speed * slab.along)
    integrator.advance(duration)
    expected = speed - mu * GRAVITY * duration
    assert slab.speeds(integrator) == pytest.approx([expected, 0.0], abs=near * speed)


@pytest.mark.parametrize("azimuth", [0.0, 30.0, 45.0])
def test_at_rest_a_body_is_pulled_by_mu_the_way_its_stop_was_dragged(azimuth):
    mu, body = 0.3, block(clamped=True)
    stop = Plane([0.0, 0.0, body.mesh.size[2] - 0.001], [0.0, 0.0, -1.0])
    touch = Contact(stop, body.mesh.nodes[:, 2] > body.mesh.size[2] - 1e-9, friction=mu)
    model = Model(body, [], [touch])
    pressed = equilibrium(model).pose
    way = np.array([np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth)), 0.0])
    stop.position = stop.position + 0.05 * way
    solved = equilibrium(model, pressed)
    force = touch.forces(solved.pose.points, solved.multipliers[0])
    assert force / -force[2] == pytest.approx(mu * way + [0.0, 0.0, -1.0], abs=0.01 * mu)


@pytest.mark.parametrize("spacing", [None, 0.03, 0.003], ids=["fitting", "corners", "fine"])
@pytest.mark.parametrize(("tangent", "sticks"), [(0.25, True), (0.5, False)])
def test_friction_does_not_depend_on_how_many_points_share_it(tangent, sticks, spacing):
    """On a tilted pedestal that is smaller than the body: faces rest on points of its edges, nodes between them."""
    mu, mesh = 0.4, voxel_mesh(np.ones((3, 3, 1), bool), 0.02, "hex8")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 1e6, 0.3), 1000.0))
    slope = np.arctan(tangent)
    gravity = GRAVITY * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    pedestal = Contact(Box([0.028, 0.03, -0.05], [0.015, 0.015, 0.05]), "base", friction=mu, spacing=spacing)
    integrator = BackwardEuler(Model(body, [Gravity(gravity)], [pedestal]), 0.005, stiffness_damping=5e-3)
    integrator.advance(0.05)
    acceleration = acceleration_along_x(integrator, 0.02)
    expected = 0.0 if sticks else GRAVITY * (np.sin(slope) - mu * np.cos(slope))
    assert acceleration == pytest.approx(expected, abs=0.02 * GRAVITY * mu)
    known = integrator.solved.multipliers[0]
    assert sum(key >= 16 and pedestal.bound(key) is None for key in known) >= 4, "points of faces"
    force = pedestal.forces(integrator.pose.points, known)
    assert -force[0] / force[2] == pytest.approx(tangent if sticks else mu, rel=0.01)
    assert abs(force[1]) < 0.01 * force[2]
    assert pedestal.penetration(integrator.pose.points) < 1e-7


def test_an_obstacle_that_moves_takes_what_sticks_to_it_along():
    body = block(cells=(2, 2, 1))
    plate = Box([0.05, 0.05, -0.1], [1.0, 1.0, 0.1])
    integrator = BackwardEuler(Model(body, [Gravity()], [Contact(plate, friction=0.8)]), 0.01, stiffness_damping=5e-3)
    integrator.advance(0.2)
    before = integrator.pose.points[:, 0].mean()
    for _ in range(50):
        plate.position = plate.position + np.array([1e-3, 0.0, 0.0])
        integrator.step()
    assert integrator.pose.points[:, 0].mean() - before == pytest.approx(0.05, abs=2e-3)


def test_a_rigid_plate_stays_rigid_and_gives_way_as_a_whole():
    body = block(clamped=True)
    top = body.mesh.nodes[:, 2] > 0.1 - 1e-9
    model = Model(body, [NodalLoad(np.flatnonzero(top)[:3], [3.0, 1.0, -4.0])], [RigidPlate(top)])
    x, rest = equilibrium(model).pose.points[top], body.mesh.nodes[top]
    distances = [np.linalg.norm(points[:, None] - points, axis=2) for points in (x, rest)]
    assert np.abs(distances[0] - distances[1]).max() < 1e-12
    assert np.abs(x - rest).max() > 1e-3


def test_prescribed_nodes_are_where_they_are_told():
    body = block(clamped=True)
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 0.1 - 1e-9)
    still = body.mesh.nodes[top]
    held = Prescribed(top, motion=lambda time: still + [0.0, 0.0, -0.1 * time])
    model = Model(body, [], [held])
    assert equilibrium(model, time=0.2).pose.points[top] == pytest.approx(still - [0.0, 0.0, 0.02])
    integrator = BackwardEuler(model, 0.02)
    integrator.advance(0.1)
    assert integrator.pose.points[top] == pytest.approx(still - [0.0, 0.0, 0.01])
    assert integrator.velocities[top][:, 2] == pytest.approx(-0.1)


def test_what_is_wrong_is_named():
    with pytest.raises(InputError, match="normal: is zero"):
        Plane([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="radius"):
        Sphere([0.0, 0.0, 0.0], -1.0)
    with pytest.raises(InputError, match="half size"):
        Box([0.0, 0.0, 0.0], [1.0, 0.0, 1.0])
    with pytest.raises(InputError, match="cylinder's half length: inf m"):
        Cylinder([0.0, 0.0, 0.0], 0.1, np.inf)
    for friction in (-1.0, np.inf):
        with pytest.raises(InputError, match=f"friction {friction:g}"):
            Contact(OBSTACLES["plane"], friction=friction)
    for margin in (-1.0, np.nan):
        with pytest.raises(InputError, match=f"contact's margin: {margin} m is not positive"):
            Contact(OBSTACLES["plane"], margin=margin)
    with pytest.raises(MeshError, match="no node group 'nose'"):
        Model(block(), [], [Contact(OBSTACLES["plane"], "nose")])
    with pytest.raises(InputError, match="rigid plate: no nodes"):
        Model(block(), [], [RigidPlate(np.zeros(27, bool))])
    with pytest.raises(MeshError, match="floats"):
        equilibrium(Model(block(), [Gravity()]))
    with pytest.raises(InputError, match="prescribed motion"):
        moving = Prescribed(np.arange(3), motion=lambda time: np.zeros((2, 3)))
        equilibrium(Model(block(), [], [moving]))
