"""A tube felt from inside: gaps and their derivatives, closed forms of tubes and tori, what rests and slides in it."""

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.contact import Contact, Lumen
from soft_twin.mechanics.contact.surroundings import Surroundings
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import BackwardEuler

RNG = np.random.default_rng(16)
TURNED = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
STRAIGHT = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 0.3]])
WINDING = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.03], [0.015, 0.0, 0.06], [0.03, 0.015, 0.09], [0.03, 0.05, 0.11]])
HAUSTRA = [0.012, 0.010, 0.013, 0.009, 0.012]


def winding() -> Lumen:
    return Lumen(WINDING, HAUSTRA, position=[0.01, 0.02, 0.03], rotation=TURNED)


def around(lumen: Lumen, count: int, furthest: float) -> np.ndarray:
    """Points about the centre line and its mouths."""
    return lumen.axis(RNG.uniform(-0.0, 1.0, count)) + RNG.uniform(-furthest, furthest, (count, 3))


def test_gaps_have_their_derivatives():
    lumen, step = winding(), 1e-7
    points = around(lumen, 400, 0.009)
    gaps, slopes = lumen.gap(points)
    curvature = lumen.curvature(points)
    far = lumen.along(points)[1] > 5e-4  # on the centre line every direction leads to the wall
    for axis, shift in enumerate(step * np.eye(3)):
        (ahead, lean), (behind, back) = lumen.gap(points + shift), lumen.gap(points - shift)
        np.testing.assert_allclose(((ahead - behind) / (2.0 * step))[far], slopes[far, axis], atol=1e-5)
        smooth = far & (np.abs(lean - back).max(axis=1) < 1e-3)
        numeric = (lean - back) / (2.0 * step)
        np.testing.assert_allclose(numeric[smooth], curvature[smooth][:, :, axis], rtol=1e-3, atol=0.5)
    assert (gaps[far] > 0.0).any() and (gaps < 0.0).any()


def test_on_the_wall_gaps_are_distances():
    """A step along the normal is as long as the gap grows, and the wall is where the radii say."""
    lumen = winding()
    points = lumen.axis(RNG.uniform(0.05, 0.95, 200)) + RNG.uniform(-0.005, 0.005, (200, 3))
    foot = points
    for _ in range(20):
        gaps, slopes = lumen.gap(foot)
        foot = foot - gaps[:, None] * slopes / (slopes**2).sum(axis=1)[:, None]
    np.testing.assert_allclose(lumen.gap(foot)[0], 0.0, atol=1e-12)
    normals = lumen.distance(foot)[1]
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    near = lumen.gap(foot + 1e-5 * normals)[0]
    np.testing.assert_allclose(near, 1e-5, rtol=0.05)
    share, away = lumen.along(foot)
    knots = np.isclose(share[:, None] * lumen.length, lumen._chords, atol=2e-4)
    assert knots.any()
    for point, knot in np.argwhere(knots):
        assert away[point] == pytest.approx(HAUSTRA[knot], abs=1e-4)


def test_straight_and_bent_tubes_in_closed_form():
    straight = Lumen(STRAIGHT, 0.01)
    assert straight.distance(np.array([[0.004, 0.003, 0.2], [0.012, 0.0, 0.1]]))[0] == pytest.approx([0.005, -0.002])
    bend, radius = 0.1, 0.02
    angles = np.linspace(0.0, 1.5, 31)
    torus = Lumen(np.column_stack([bend * (1.0 - np.cos(angles)), 0.0 * angles, bend * np.sin(angles)]), radius)
    middle, sideways = np.array([bend, 0.0, 0.0]), RNG.uniform(-0.018, 0.018, (100, 2))
    at = RNG.uniform(0.1, 1.4, 100)
    out = np.column_stack([-np.cos(at), 0.0 * at, np.sin(at)])
    points = middle + (bend + sideways[:, :1]) * out + sideways[:, 1:] * np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(torus.gap(points)[0], radius - np.linalg.norm(sideways, axis=1), atol=2e-7)


def test_mouths_are_open_and_round():
    lumen, lip = Lumen(STRAIGHT, 0.01, lip=0.002), 0.002
    ahead = np.array([[0.0, 0.0, -0.05], [0.009, 0.0, -0.03], [0.0, 0.0, 0.35], [0.05, 0.0, 0.1]])
    assert (lumen.distance(ahead)[0] > 0.005).all()
    angles = np.linspace(0.0, 0.5 * np.pi, 10)
    lips = np.column_stack([0.012 - lip * np.cos(angles), 0.0 * angles, -lip * np.sin(angles)])
    np.testing.assert_allclose(lumen.gap(lips)[0], 0.0, atol=1e-12)
    just = 1e-9 * np.array([0.0, 0.0, 1.0])
    rim = np.array([[0.0098, 0.0, 0.0], [0.0, -0.0103, 0.3]])
    np.testing.assert_allclose(lumen.gap(rim - just)[1], lumen.gap(rim + just)[1], atol=1e-5)
    points, directions = lumen.edge_points(1e-3)
    np.testing.assert_allclose(lumen.gap(points)[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(lumen.gap(points)[1], directions, atol=1e-6)


def test_folds_are_felt_between_nodes():
    """A blade whose lower side has nodes at its corners alone hangs on a crest that is below the side's middle; on its
    corners it would lie 9.000 − (8.688² − 1²)^½ = 0.37 mm high, on the crest 0.50 … 0.56 mm."""
    lumen = Lumen(WINDING, HAUSTRA)
    points, directions = lumen.edge_points(1e-3)
    np.testing.assert_allclose(lumen.gap(points)[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(lumen.distance(points)[1], directions, atol=1e-6)
    share, away = lumen.along(points)
    on_folds = (share > 1e-6) & (share < 1.0 - 1e-6)
    assert away[on_folds].min() < 0.0091 and (away[on_folds] < 0.0105).all()
    z = np.linspace(-0.02, 0.02, 9)
    tube = Lumen(np.column_stack([0.001 + 0.0 * z, 0.009 + 0.0 * z, 0.005 + z]), 0.0085 + 0.003 * (z / 0.02) ** 2)
    mesh = voxel_mesh(np.ones((1, 1, 1), dtype=bool), np.array([0.002, 0.01, 0.01]), "hex8")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 1e5, 0.3), 1000.0))
    touch = Contact(tube)
    moving = BackwardEuler(Model(body, [Gravity([0.0, -9.81, 0.0])], [touch]), dt=2e-3, stiffness_damping=0.05)
    for _ in range(60):
        moving.step()
    lower = moving.pose.points[mesh.nodes[:, 1] < 1e-9].mean(axis=0)
    assert 0.48e-3 < lower[1] < 0.58e-3
    weight = 9.81 * body.mass
    assert touch.forces(moving.pose.points, moving.solved.multipliers[0])[1] == pytest.approx(weight, rel=0.02)


@pytest.mark.parametrize(
    ("points", "radii", "message"),
    [
        (STRAIGHT[:1], 0.01, "two or more points"),
        (STRAIGHT, [0.01, 0.01], "expected one for each"),
        (STRAIGHT[[0, 0, 1]], 0.01, "points 0 and 1 are in one place"),
        (STRAIGHT, [0.01, -0.01, 0.01], "is not positive"),
        (WINDING, 0.08, "too tight"),
        ([[0.0, 0.0, np.nan], [0.0, 0.0, 1.0]], 0.01, "finite"),
    ],
)
def test_tubes_that_are_none(points, radii, message):
    with pytest.raises(InputError, match=message):
        Lumen(points, radii)


def beam(length=0.1, side=0.006) -> Body:
    mesh = voxel_mesh(np.ones((2, 2, 12), dtype=bool), np.array([side / 2, side / 2, length / 12]), "hex20r")
    return Body(mesh, Material(energy_named("stable_neo_hookean", 1e6, 0.3), 1000.0), "base")


def test_a_beam_whose_end_lies_in_a_tube_rests_with_three_eighths_of_its_weight():
    body = beam()
    middle = np.array([0.003, 0.003, 0.0])
    half = 0.003 * np.sqrt(2.0)
    tube = Lumen(middle + np.array([[0.0, 0.0, 0.098], [0.0, 0.0, 0.2]]), half, lip=5e-4)
    lower = np.flatnonzero((body.mesh.nodes[:, 2] > 0.1 - 1e-9) & (body.mesh.nodes[:, 1] < 1e-9))
    touch, pull = Contact(tube, lower, spacing=np.inf), np.array([0.0, -0.2, 0.0])
    solved = equilibrium(Model(body, [Gravity(pull)], [touch]))
    force = touch.forces(solved.pose.points, solved.multipliers[0])
    assert force[1] == pytest.approx(0.375 * body.mass * 0.2, rel=0.03)
    np.testing.assert_allclose(force[[0, 2]], 0.0, atol=1e-3 * force[1])


def test_a_base_that_moves_bends_a_beam_whose_end_is_in_a_tube_of_the_world():
    """By d at its end: 3 E I d / L³ (and the shear of a short beam, 1 + 3 E I / (κ G A L²))."""
    body, d, half = beam(), 1e-3, 0.003 * np.sqrt(2.0)
    tube = Lumen(np.array([0.003, 0.003, 0.0]) + np.array([[0.0, 0.0, 0.099], [0.0, 0.0, 0.2]]), half, lip=2e-4)
    end = np.flatnonzero(body.mesh.nodes[:, 2] > 0.1 - 1e-9)
    touch = Contact(tube, end, spacing=np.inf)
    model = Model(body, [Gravity([0.0, 0.0, 0.0])], [touch])
    Surroundings(model).seen_from(np.eye(3), np.array([0.0, d, 0.0]))
    solved = equilibrium(model)
    second_moment = 0.006**4 / 12.0
    shear = 1.0 + 3.0 * 1e6 * second_moment / (5.0 / 6.0 * 1e6 / 2.6 * 0.006**2 * 0.1**2)
    force = touch.forces(solved.pose.points, solved.multipliers[0])
    assert force[1] == pytest.approx(-3.0 * 1e6 * second_moment * d / 0.1**3 / shear, rel=0.03)
    assert touch.pushes(solved.pose.points, solved.multipliers[0]).sum() >= abs(force[1])


def test_what_stands_in_the_world_keeps_its_gaps_to_what_stands_there_too():
    mesh = voxel_mesh(np.ones((2, 2, 2), dtype=bool), 0.005, "hex8")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 1e6, 0.3), 1000.0))
    lumen = winding()
    points = around(lumen, 50, 0.01)
    gaps, slopes = lumen.gap(points)
    place = np.array([0.3, -0.2, 0.1])
    seen = Surroundings(Model(body, [], [Contact(lumen)]))
    seen.seen_from(TURNED, place)
    ours, turned = lumen.gap((points - place) @ TURNED)
    np.testing.assert_allclose(ours, gaps, atol=1e-12)
    np.testing.assert_allclose(turned @ TURNED.T, slopes, atol=1e-9)
    seen.seen_from(np.eye(3), np.zeros(3))
    np.testing.assert_allclose(lumen.gap(points)[0], gaps, atol=1e-12)


def test_a_beam_that_sags_into_a_tube_is_carried_by_wall_and_clamp():
    body = beam()
    tube = Lumen(np.array([[0.003, 0.003, 0.02], [0.003, 0.003, 0.2]]), 0.006)
    touch, weight = Contact(tube), Gravity([0.0, -9.81, 0.0])
    solved = equilibrium(Model(body, [weight], [touch]))
    points = solved.pose.points
    force = touch.forces(points, solved.multipliers[0])
    clamped = body.place < 0
    carried = body.weight(weight.vector)[~clamped].sum(axis=0)
    np.testing.assert_allclose(body.assemble(points)[1][clamped].sum(axis=0) + force + carried, 0.0, atol=1e-8)
    assert force[1] > 0.2 * body.mass * 9.81
    assert touch.penetration(points) < 1e-8


@pytest.mark.parametrize("friction", [0.1, 0.6])
def test_a_block_slides_down_a_leaning_tube(friction):
    """It lies on the wall with the middle of its lower side: a = g (sin θ − μ cos θ), or it stays."""
    mesh = voxel_mesh(np.ones((2, 2, 2), dtype=bool), 0.005, "hex8")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 1e6, 0.3), 1000.0))
    half, radius, lean = 0.005, 0.008, np.radians(25.0)
    tube = Lumen(np.array([half, radius, 0.0]) + np.array([[0.0, 0.0, -0.1], [0.0, 0.0, 0.3]]), radius)
    x, y, _ = mesh.nodes.T
    touch = Contact(tube, (np.abs(x - half) < 1e-9) & (y < 1e-9), friction)
    gravity = 9.81 * np.array([0.0, -np.cos(lean), np.sin(lean)])
    moving = BackwardEuler(Model(body, [Gravity(gravity)], [touch]), dt=1e-3, stiffness_damping=2e-3)
    speeds = []
    for _ in range(80):
        moving.step()
        speeds.append((moving.model.mass @ moving.velocities).sum(axis=0)[2] / body.mass)
    expected = max(9.81 * (np.sin(lean) - friction * np.cos(lean)), 0.0)
    assert (speeds[-1] - speeds[39]) / 0.040 == pytest.approx(expected, rel=0.01, abs=1e-3)
    force = touch.forces(moving.pose.points, moving.solved.multipliers[0])
    assert force[1] == pytest.approx(body.mass * 9.81 * np.cos(lean), rel=0.02)
