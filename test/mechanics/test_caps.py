"""Caps that cables end at: affine fields exactly, the beam's closed form on every mesh, and slopes by differences."""

import numpy as np
import pytest

from soft_twin.errors import MeshError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.caps import cap_weights
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium

INNER, OUTER, LENGTH, RADIUS = 0.0018, 0.0045, 0.1, 0.0032  # m
MODULUS, POISSON = 0.7e6, 0.45
UP = np.array([0.0, 0.0, 1.0])


def tube(*divisions, element="hex20r"):
    return sweep_tube(INNER, OUTER, LENGTH, divisions=divisions, element=element)


def cable_at(mesh, caps, degrees=20.0, end=LENGTH):
    angle = np.radians(degrees)
    place = RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])
    return Cables(mesh, place[None], place[None] + end * UP, caps=caps)


def given(cables, mesh):
    """How much a small tension pulls in [m/N]."""
    body = Body(mesh, [Material(energy_named("corotational", MODULUS, POISSON), 1150.0, None)], "base")
    actuators = CableActuators(cables, np.inf)
    model = Model(body, [], [], actuators=[actuators])
    model.efforts = np.array([1e-4])
    return float(actuators.coordinates(equilibrium(model).pose.points)[0]) / 1e-4


@pytest.mark.parametrize("mesh", [tube(1, 6, 4), tube(2, 8, 4), voxel_mesh(np.ones((3, 3, 4), bool), 0.0025, "hex8f")])
def test_a_cap_moves_as_every_affine_motion_of_its_section(mesh):
    height = 0.5 * mesh.bounds[1][2]
    point = np.array([0.0011, -0.0007, height]) + [*mesh.nodes[:, :2].mean(axis=0), 0.0]
    nodes, weights = cap_weights(mesh, point, UP)
    assert np.ptp(mesh.nodes[nodes, 2]) < 1e-12 and weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ mesh.nodes[nodes], point, atol=1e-12)


def test_a_pull_at_a_cap_is_that_of_bending_over_the_section():
    """Of a warp w = r², which no affine motion has, the linear tractions see ∫ t r² dA / T: the section's mean."""
    mesh = tube(2, 12, 4)
    nodes, weights = cap_weights(mesh, np.array([RADIUS, 0.0, LENGTH]), UP)
    warp = (mesh.nodes[nodes, :2] ** 2).sum(axis=1)
    assert weights @ warp == pytest.approx(0.5 * (INNER**2 + OUTER**2), rel=2e-3)


@pytest.mark.parametrize("divisions", [(1, 6, 10), (1, 8, 14), (2, 8, 10)])
def test_a_capped_cable_gives_as_a_beam_on_every_mesh(divisions):
    """L/(E A) + r² L/(E I), by Euler and Bernoulli; that the clamp holds the section across takes some 0.5 % off."""
    area, second = np.pi * (OUTER**2 - INNER**2), 0.25 * np.pi * (OUTER**4 - INNER**4)
    beam = LENGTH / (MODULUS * area) + RADIUS**2 * LENGTH / (MODULUS * second)
    mesh = tube(*divisions)
    assert given(cable_at(mesh, True), mesh) == pytest.approx(beam, rel=0.01)
    assert given(cable_at(mesh, False), mesh) > 1.03 * beam  # a point gives way, the more the finer the cells


def test_cables_along_points_and_cables_that_end_elsewhere_have_caps_too():
    mesh = tube(1, 6, 10)
    place = np.array([RADIUS, 0.0, 0.0])
    straight = Cables(mesh, [place], [place + LENGTH * UP], caps=True)
    bent = Cables.through(mesh, [[place, place + 0.04 * UP, place + LENGTH * UP]], caps=True)
    both = Cables.joined([cable_at(mesh, True, end=0.5 * LENGTH), cable_at(mesh, False, degrees=200.0), bent])
    x = mesh.nodes + 1e-4 * np.random.default_rng(0).normal(size=mesh.nodes.shape)
    np.testing.assert_allclose(bent.lengths(x), straight.lengths(x), rtol=1e-5)
    assert both.lengths(x)[2] == bent.lengths(x)[0]
    with pytest.raises(MeshError, match=r"a cap at \(.*, 43\) mm: no cells end in the plane across the cable there"):
        cable_at(mesh, True, end=0.043)


def test_slopes_of_a_capped_cable_are_those_of_differences():
    mesh, rng = tube(1, 6, 4), np.random.default_rng(1)
    cables = Cables.joined([cable_at(mesh, True), cable_at(mesh, False, 140.0), cable_at(mesh, True, 260.0, 0.05)])
    x = mesh.nodes + 3e-4 * rng.normal(size=mesh.nodes.shape)
    way, step = rng.normal(size=x.shape), 1e-7
    there, back = (cables.lengths(x + sign * step * way) for sign in (1.0, -1.0))
    slopes = np.tensordot(cables.lengths_and_gradients(x)[1], way, axes=((0, 1), (0, 1)))
    np.testing.assert_allclose(slopes, (there - back) / (2.0 * step), rtol=1e-6)
    np.testing.assert_allclose(cables.jacobian(x) @ way.ravel(), slopes, rtol=1e-9)
    tensions = np.array([0.4, 0.9, 0.2])[cables.owners]
    blocks = cables.blocks(x, tensions)
    pulled = np.zeros_like(x)
    np.add.at(pulled, cables.nodes, np.einsum("sabij,sbj->sai", blocks, way[cables.nodes]))
    forces = []
    for sign in (1.0, -1.0):
        force = np.zeros_like(x)
        cables.add_pull(cables.lengths_and_directions(x + sign * step * way)[1], tensions, force)
        forces.append(force)
    np.testing.assert_allclose(pulled, (forces[1] - forces[0]) / (2.0 * step), atol=1e-6 * np.abs(pulled).max())
