"""Contact between nodes: points of obstacles before faces, against finite differences and finely sampled faces."""

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.contact import Box, Contact, Cylinder, Plane, Sphere
from soft_twin.mechanics.contact.edges import EdgeContacts
from soft_twin.mechanics.contact.lines import EXTENSION
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.faces import FaceShape, face_rule
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import BackwardEuler

TURNED = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
OBSTACLES = {
    "sphere": Sphere([0.02, 0.01, 0.045], 0.05),
    "cylinder": Cylinder([0.02, 0.01, 0.03], 0.03, 0.05, TURNED),
    "box": Box([0.02, 0.01, 0.035], [0.03, 0.02, 0.05], TURNED),
}


def face_of(nodes: int) -> np.ndarray:
    """Nodes (k, 3) of a face of about 0.2 m across z, its middle near the origin, that is warped a little."""
    corners = np.array([[-1.0, -1.0], [2.0, -1.0], [-1.0, 2.0]]) if nodes in (3, 6) else np.array(
        [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
    )  # fmt: skip
    middles = 0.5 * (corners + np.roll(corners, -1, axis=0))
    places = corners if nodes < 6 else np.vstack([corners, middles])
    warp = np.random.default_rng(nodes).normal(size=(nodes, 3))
    return np.column_stack([0.1 * places, np.zeros(nodes)]) + 0.003 * warp


def met_by(obstacle, nodes):
    x = face_of(nodes)
    edges = EdgeContacts(obstacle, np.arange(nodes)[None], 0.02, 0.03)
    return edges, x, edges.meet(x)


@pytest.mark.parametrize("nodes", [3, 4, 6, 8])
def test_shape_functions_are_one_at_their_node_and_have_their_derivatives(nodes):
    shape, step = FaceShape(nodes), 1e-6
    places = np.random.default_rng(0).uniform(0.1, 0.4, (5, 2))
    assert shape.values(places).sum(axis=1) == pytest.approx(1.0)
    for axis, shift in enumerate(step * np.eye(2)):
        ahead, behind = places + shift, places - shift
        slopes = (shape.values(ahead) - shape.values(behind)) / (2.0 * step)
        assert shape.gradients(places)[:, :, axis] == pytest.approx(slopes, abs=1e-8)
        bends = (shape.gradients(ahead) - shape.gradients(behind)) / (2.0 * step)
        assert shape.bends(places)[:, :, :, axis] == pytest.approx(bends, abs=1e-8)
    weights, values = face_rule(nodes).weights, face_rule(nodes).values
    corners = face_of(nodes)
    corners[:, 2] = 0.0
    points = shape.polynomials(corners[None])[0]
    assert points[0] == pytest.approx(shape.values(np.zeros((1, 2)))[0] @ corners)
    assert weights @ values == pytest.approx(weights @ values @ np.eye(nodes))


@pytest.mark.parametrize("spacing", [0.01, 0.03])
@pytest.mark.parametrize("name", OBSTACLES)
def test_edge_points_lie_on_their_shapes_and_are_as_dense_as_they_are_told(name, spacing):
    obstacle = OBSTACLES[name]
    points, directions = (each @ obstacle.rotation.T for each in obstacle.edge_points(spacing))
    assert np.linalg.norm(directions, axis=1) == pytest.approx(1.0)
    assert np.abs(obstacle.distance(obstacle.position + points)[0]).max() < 1e-12
    outside = obstacle.distance(obstacle.position + points + 1e-3 * directions)[0]
    assert (outside > 0.5e-3).all(), "directions point outwards"
    apart = np.linalg.norm(points[:, None] - points, axis=2) + np.eye(len(points))
    assert apart.min() > 1e-6 and apart.min(axis=1).max() <= spacing * (1.0 + 1e-9)


@pytest.mark.parametrize("radius", [0.01, 0.05])
def test_flat_faces_that_touch_a_ball_between_points_cut_off_little(radius):
    directions = Sphere([0.0, 0.0, 0.0], radius).edge_points(0.01)[1]
    faces = np.random.default_rng(0).normal(size=(2000, 3))
    nearest = (faces / np.linalg.norm(faces, axis=1)[:, None] @ directions.T).max(axis=1)
    assert radius * (1.0 - nearest.min()) < 1.5 * min(0.01 / 60.0, radius / 250.0)


def test_what_is_flat_has_no_edge_points():
    assert len(Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]).edge_points(0.01)[0]) == 0
    assert len(Sphere([0.0, 0.0, 0.0], 100.0).edge_points(0.01)[0]) == 0
    heights = np.unique(Cylinder([0.0, 0.0, 0.0], 100.0, 0.1).edge_points(1.0)[0][:, 2])
    assert heights == pytest.approx([-0.1, 0.1]), "its rims"


@pytest.mark.parametrize("nodes", [3, 4, 6, 8])
@pytest.mark.parametrize("name", OBSTACLES)
def test_gaps_end_on_the_face_and_have_their_derivatives(name, nodes):
    edges, x, met = met_by(OBSTACLES[name], nodes)
    assert len(met.gaps) > 2 and met.gaps.min() < 0.0 < met.gaps.max()
    points, directions = (each @ OBSTACLES[name].rotation.T for each in OBSTACLES[name].edge_points(0.02))
    ends = OBSTACLES[name].position + points[met.points] + met.gaps[:, None] * directions[met.points]
    assert met.values @ x == pytest.approx(ends, abs=1e-12)
    keys, step = edges.keys(met), 1e-5
    slopes = met.values[:, :, None] * met.leaning[:, None]
    curvature = edges.curvature(met, x)
    for node in range(nodes):
        for axis in range(3):
            shift = np.zeros_like(x)
            shift[node, axis] = step
            sides = [edges.meet(x + shift), edges.meet(x - shift)]
            both = np.intersect1d(*(edges.keys(side) for side in sides))
            own = np.flatnonzero(np.isin(keys, both))
            ahead, behind = (side.take(np.isin(edges.keys(side), keys[own])) for side in sides)
            assert len(own) > 2
            numeric = (ahead.gaps - behind.gaps) / (2.0 * step)
            assert slopes[own, node, axis] == pytest.approx(numeric, abs=1e-5)
            lean = [side.values[:, :, None] * side.leaning[:, None] for side in (ahead, behind)]
            numeric = (lean[0] - lean[1]) / (2.0 * step)
            assert curvature[own, :, node, :, axis] == pytest.approx(numeric, rel=1e-4, abs=1e-3)


def test_a_point_by_a_fold_has_a_gap_to_both_faces_and_none_behind_a_ridge():
    ball = Sphere([0.0, 0.0, 0.05], 0.05)
    for height, count in ((0.02, 2), (0.0, 2), (-0.02, 1)):
        x = np.array([[x, y, height * abs(x) / 0.1] for x in (-0.1, 0.0, 0.1) for y in (-0.1, 0.1)])
        faces = np.array([[0, 2, 3, 1], [2, 4, 5, 3]])
        edges = EdgeContacts(ball, faces, 0.01, 0.03)
        met = edges.meet(x)
        places = ball.edge_points(0.01)[0][met.points]
        beside = np.flatnonzero(np.abs(places[:, 0]) > 1e-3)
        point = met.points[beside[np.argmin(places[beside, 2])]]
        assert (met.points == point).sum() == count


def test_the_faces_of_a_coarse_body_stay_out_of_a_ball_it_rests_on():
    """The weight of a block of 6 cm on one cell a side is carried by a ball of 2 cm under the middle of its face."""
    mesh = voxel_mesh(np.ones((1, 1, 1), bool), 0.06, "hex8")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 3e4, 0.3), 1000.0))
    ball = Sphere([0.03, 0.03, -0.02], 0.02)
    touch = Contact(ball, mesh.nodes[:, 2] < 1e-9, friction=1.0, spacing=0.015)
    integrator = BackwardEuler(Model(body, [Gravity()], [touch]), 0.01, mass_damping=20.0)
    integrator.advance(0.5)
    x, solved = integrator.pose.points, integrator.solved
    assert touch.forces(x, solved.multipliers[0]) == pytest.approx([0.0, 0.0, 9.81 * body.mass], abs=2e-3)
    assert touch.penetration(x) < 2e-7, "points that rub give way a little"
    u = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 61)] * 2), axis=-1).reshape(-1, 2)
    bottom = mesh.surface("base")
    points = FaceShape(4).values(u) @ x[bottom[0]]
    assert -1.2e-4 < ball.distance(points)[0].min() < 1e-5
    alone = Contact(ball, mesh.nodes[:, 2] < 1e-9, spacing=np.inf)
    falling = BackwardEuler(Model(body, [Gravity()], [alone]), 0.01, mass_damping=20.0)
    falling.advance(0.1)
    assert ball.distance(FaceShape(4).values(u) @ falling.pose.points[bottom[0]])[0].min() < -1e-3, "nodes feel nothing"


def test_a_body_folded_around_an_edge_is_found_with_the_rows_support():
    """Its Hessian is indefinite but for the rows that push: without them, each step is shifted and small."""
    mesh = voxel_mesh(np.ones((8, 2, 4), bool), 0.02, "hex8")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 2e4, 0.3), 1000.0), mesh.nodes[:, 2] < 1e-9)
    wedge = Box([0.08, 0.02, 0.08], [0.02, 0.05, 0.02], _turned_about_y(45.0))
    touch = Contact(wedge, mesh.nodes[:, 2] > 0.08 - 1e-9)
    pose, model = None, Model(body, [], [touch])
    for depth in np.linspace(0.002, 0.03, 8):
        wedge.position = np.array([0.083, 0.02, 0.08 + np.hypot(0.02, 0.02) - depth])
        solved = equilibrium(model, pose)
        pose = solved.pose
    assert touch.penetration(pose.points) < 1e-7
    assert solved.shift == 0.0
    assert solved.history[-1] < 1e-3 * solved.history[-2], "Newton's method, to the end"


def test_support_is_the_square_of_the_rows_gradients():
    mesh = voxel_mesh(np.ones((3, 3, 1), bool), 0.02, "hex8")
    body = Body(mesh, Material(energy_named("stable_neo_hookean", 2e4, 0.3), 1000.0), mesh.nodes[:, 2] < 1e-9)
    touch = Contact(Sphere([0.038, 0.038, 0.03], 0.0105), friction=0.4, spacing=0.005)
    model = Model(body, [], [touch])
    rows = model.rows(mesh.nodes, model.idle)[0]
    normal = rows.keys[rows.inequalities]
    assert 1 < (normal >= len(mesh.nodes)).sum() < len(normal) < len(rows.keys)
    total = np.zeros((len(mesh.nodes), len(mesh.nodes), 3, 3))
    for group, blocks in zip(touch.groups, touch.support(rows), strict=True):
        for a, node in enumerate(group):
            for b, other in enumerate(group):
                total[node, other] += blocks[a, b]
    J = rows.jacobian.toarray()
    assert total.transpose(0, 2, 1, 3).reshape(J.shape[1], -1) == pytest.approx(J.T @ J, abs=1e-12)


def test_a_spacing_that_is_none_is_refused():
    with pytest.raises(InputError, match="spacing 0 m"):
        Contact(OBSTACLES["box"], spacing=0.0)


def _turned_about_y(degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def test_extended_faces_are_met_no_further_than_told():
    x = face_of(4)
    met = EdgeContacts(OBSTACLES["sphere"], np.arange(4)[None], 0.005, 0.03).meet(x)
    shape = FaceShape(4)
    assert shape.outside(met.places).max() <= EXTENSION
