"""A body that touches itself: closed forms, action and reaction, derivatives by differences."""

import numpy as np
import pytest

import soft_twin
from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import Prescribed
from soft_twin.mechanics.contact import SelfContact
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh
from soft_twin.solvers.equilibrium import equilibrium

SIDE, E = 0.01, 1e5


def columns(element):
    """Two square columns, two sides high, one above the other with a gap of one side."""
    full = voxel_mesh(np.ones((2, 2, 5), dtype=bool), np.array([SIDE / 2, SIDE / 2, SIDE]), element)
    middles = full.nodes[full.cells].mean(axis=1)[:, 2]
    cells = full.cells[np.abs(middles - 2.5 * SIDE) > 0.5 * SIDE]
    kept, cells = np.unique(cells, return_inverse=True)
    nodes = full.nodes[kept]
    ends = {"base": nodes[:, 2] < 1e-9, "tip": nodes[:, 2] > 5.0 * SIDE - 1e-9}
    groups = {name: np.flatnonzero(which) for name, which in ends.items()}
    mesh = Mesh(nodes, cells.reshape(-1, full.cells.shape[1]), full.element, groups=groups)
    return Body(mesh, Material(energy_named("stable_neo_hookean", E, 0.0), 1000.0), "base")


def pressed(body, by, contact):
    """The upper column's top pushed down by that much [m]."""
    model = Model(body, [], [Prescribed("tip", velocity=[0.0, 0.0, -1.0]), contact])
    return model, equilibrium(model, time=by)


def pushing(model, solved):
    """Rows that push, and their multipliers."""
    (rows,) = (each for each in model.rows(solved.pose.points, solved.multipliers) if each is not None)
    forces = rows.multipliers(solved.multipliers[1])
    pushing = forces > 1e-6 * forces.max()
    return rows.take(pushing), forces[pushing]


@pytest.mark.parametrize("element", ["hex8", "hex20r", "tet10"])
def test_columns_that_meet_are_one_column(element):
    """ν = 0, so each is pressed together evenly, by what is left of the way once the gap is closed."""
    body = columns(element)
    squeezed = 0.002
    contact = SelfContact()
    model, solved = pressed(body, SIDE + squeezed, contact)
    stretch = 1.0 - squeezed / (4.0 * SIDE)
    alone = voxel_mesh(np.ones((1, 1, 1), dtype=bool), SIDE, "hex8")
    one = Body(alone, Material(energy_named("stable_neo_hookean", E, 0.0), 1000.0), "base")
    force = -one.assemble(alone.nodes * [1.0, 1.0, stretch])[1][alone.nodes[:, 2] > 0.5 * SIDE, 2].sum()
    _, forces = pushing(model, solved)
    assert forces.sum() == pytest.approx(force, rel=5e-3)
    moved = solved.pose.points - body.mesh.nodes
    lower = body.mesh.nodes[:, 2] < 2.5 * SIDE
    np.testing.assert_allclose(moved[lower, 2], (stretch - 1.0) * body.mesh.nodes[lower, 2], atol=3e-5)
    assert contact.penetration(solved.pose.points) < 1e-7


def test_a_gap_that_is_open_does_nothing_and_own_walls_are_no_obstacle():
    body = columns("hex20r")
    contact = SelfContact()
    model = Model(body, [Gravity([0.0, 0.0, -9.81])], [Prescribed("tip"), contact])
    solved = equilibrium(model)
    assert contact.rows(solved.pose.points, {}) is None
    assert contact.rows(0.9 * body.mesh.nodes, {}) is None  # the gap is nine tenths of what it was
    assert contact.rows(np.full_like(body.mesh.nodes, np.nan), {}) is None


@pytest.fixture(scope="module")
def aslant():
    """Columns pressed on each other askew."""
    body = columns("hex20r")
    turned = np.array([[1.0, 0.0, 0.0], [0.0, 0.98, -0.199], [0.0, 0.199, 0.98]])
    top = body.mesh.nodes[body.mesh.group("tip")]
    ways = (top - top.mean(axis=0)) @ turned.T + top.mean(axis=0) - [0.0004, 0.0007, SIDE + 0.001] - top
    contact = SelfContact()
    model = Model(body, [], [Prescribed("tip", motion=lambda time: top + time * ways), contact])
    return model, contact, equilibrium(model, time=1.0)


def test_what_pushes_is_pushed_as_much(aslant):
    model, _, solved = aslant
    rows, forces = pushing(model, solved)
    assert len(forces) >= 3
    on_nodes = (rows.jacobian.T @ forces).reshape(-1, 3)
    np.testing.assert_allclose(on_nodes.sum(axis=0), 0.0, atol=1e-9 * forces.sum())
    torque = np.cross(solved.pose.points, on_nodes).sum(axis=0)
    np.testing.assert_allclose(torque, 0.0, atol=1e-6 * SIDE * forces.sum())


def test_rows_have_the_gradients_of_their_gaps(aslant):
    model, contact, solved = aslant
    x, step = solved.pose.points, 1e-7
    rows, forces = pushing(model, solved)
    for seed in range(4):
        way = np.random.default_rng(seed).normal(size=x.shape)
        there = [contact.rows(x + sign * step * way, {}) for sign in (1.0, -1.0)]
        ahead, behind = ({key: each.values[i] for i, key in enumerate(each.keys)} for each in there)
        slopes = np.array([(ahead[key] - behind[key]) / (2.0 * step) for key in rows.keys])
        np.testing.assert_allclose(rows.jacobian @ way.ravel(), slopes, atol=1e-5 * np.abs(slopes).max())


def test_their_curvature_is_that_of_the_forces_where_gaps_stay(aslant):
    model, contact, solved = aslant
    x, step = solved.pose.points, 1e-6
    rows, forces = pushing(model, solved)
    known = dict(zip(rows.keys.tolist(), forces.tolist(), strict=True))
    free = np.linalg.svd(rows.jacobian.toarray())[2][len(forces) :]
    first, second = (free.T @ np.random.default_rng(seed).normal(size=len(free)) for seed in range(2))

    def work(x):
        own = contact.rows(x, {})
        return -(own.jacobian @ second) @ own.multipliers(known)

    slope = (work(x + step * first.reshape(x.shape)) - work(x - step * first.reshape(x.shape))) / (2.0 * step)
    places, blocks = contact.curvature(x, known)
    nodes = contact.groups[places]
    parts = np.einsum("gabij,gai,gbj->", blocks, second.reshape(-1, 3)[nodes], first.reshape(-1, 3)[nodes])
    assert parts == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize(
    ("choices", "error", "told"),
    [
        ({"margin": 0.0}, InputError, "margin 0 m is not positive"),
        ({"nodes": "links"}, MeshError, "no node group 'links'"),
        ({"nodes": [0, 1, 2]}, MeshError, "no face of the body's surface is between the nodes"),
    ],
)
def test_what_cannot_be_is_named(choices, error, told):
    with pytest.raises(error, match=told):
        SelfContact(**choices).attach(columns("hex8"))


@pytest.mark.parametrize("name", ["membrane", "finger", "arm", "slender"])
def test_undeformed_robots_touch_nothing(name):
    """Walls of 2 mm in a body of 320 mm, bellows, tubes: all faces are watched."""
    body = soft_twin.load_robot(name).build_model().body
    contact = SelfContact()
    contact.attach(body)
    assert contact.rows(body.mesh.nodes, {}) is None
    assert contact.penetration(body.mesh.nodes * [1.02, 0.98, 1.01]) == 0.0
