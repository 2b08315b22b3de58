"""Elastic energy, forces, stiffness and mass of bodies against closed forms and finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from bodies import body_of, dense, distorted_block

from soft_twin.errors import InputError, MaterialError, MeshError, UsageError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.loads import Gravity, NodalLoad
from soft_twin.mechanics.materials import ENERGIES, energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import make_mesh
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import CrankNicolson

STRETCH = np.array([[0.05, 0.02, -0.01], [0.0, -0.03, 0.04], [0.03, 0.01, 0.02]]) + np.eye(3)


def rotation(angle, axis=(0.3, -0.5, 0.8)):
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


@pytest.fixture(params=ELEMENTS)
def body(request):
    return body_of(distorted_block(request.param))


def outer_nodes(mesh):
    return ((mesh.nodes == 0) | (mesh.nodes == mesh.nodes.max(axis=0))).any(axis=1)


def block_of_two():
    mesh = distorted_block("hex8")
    return mesh, Material(energy_named("neo_hookean", 1e5, 0.3), 1000.0)


def test_clamps_and_hung_masses_take_names_indices_and_masks():
    mesh, material = block_of_two()
    low = mesh.nodes[:, 2] < 1e-9
    named = make_mesh(mesh.nodes, mesh.cells, mesh.element, groups={"low": low})
    for given in (low, np.flatnonzero(low), np.flatnonzero(low).tolist(), "low"):
        body = Body(named, material, given)
        np.testing.assert_array_equal(body.place < 0, low)
        body.attach_mass(given, 2.0)
        assert body.attached[low] == pytest.approx(2.0 / low.sum()) and body.attached.sum() == pytest.approx(2.0)


def test_a_material_fills_the_cells_of_a_mask():
    mesh, material = block_of_two()
    low = mesh.nodes[mesh.cells][:, :, 2].mean(axis=1) < 1.0
    halves = [Material(material.energy, 1000.0, low), Material(material.energy, 3000.0, ~low)]
    body = Body(mesh, halves)
    np.testing.assert_array_equal(np.sort(body.parts[0].numbers), np.flatnonzero(low))


def test_nodes_cells_and_densities_that_are_none_are_said():
    mesh, material = block_of_two()
    n, m = len(mesh.nodes), len(mesh.cells)
    low = mesh.nodes[:, 2] < 1e-9
    for wrong in ([n], [-1], low[:-1], [0.5]):
        with pytest.raises(MeshError, match=f"clamped: expected indices below {n} or a mask"):
            Body(mesh, material, wrong)
        with pytest.raises(MeshError, match=f"attached mass: expected indices below {n}"):
            Body(mesh, material).attach_mass(wrong, 1.0)
    with pytest.raises(InputError, match="1 of 3 nodes are given twice"):
        Model(Body(mesh, material, low), [NodalLoad([3, 4, 3], [0.0, 0.0, 1.0])])
    with pytest.raises(MeshError, match=f"material's volume: expected indices below {m}"):
        Body(mesh, [material, Material(material.energy, 1.0, [m])])
    for density in (-1.0, np.inf, np.nan):
        with pytest.raises(MaterialError, match="density"):
            Body(mesh, material).set_density(material, density)


def test_patch_a_homogeneous_deformation_is_in_equilibrium_inside(body):
    """The patch test: under x = A X inner nodes carry no force, and the energy is the density times the volume."""
    energy, force, _, _ = body.assemble(body.mesh.nodes @ STRETCH.T)
    assert np.abs(force[~outer_nodes(body.mesh)]).max() < 1e-10
    assert energy == pytest.approx(12.0 * body.parts[0].material.energy.energy(STRETCH[None])[0], rel=1e-12)


def test_a_rigid_motion_costs_nothing(body):
    moved = body.mesh.nodes @ rotation(2.5).T + [3.0, -1.0, 2.0]
    energy, force, _, _ = body.assemble(moved)
    assert energy == pytest.approx(0.0, abs=1e-18)
    assert np.abs(force).max() < 1e-10


def test_forces_and_moments_of_the_whole_body_vanish(body):
    x = body.mesh.nodes + np.random.default_rng(3).normal(0, 0.03, body.mesh.nodes.shape)
    force = body.assemble(x)[1]
    assert np.abs(force.sum(axis=0)).max() < 1e-10
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-10


def test_force_is_the_gradient_of_the_energy(body):
    rng, h = np.random.default_rng(4), 1e-6
    x = body.mesh.nodes @ rotation(1.0).T + rng.normal(0, 0.05, body.mesh.nodes.shape)
    direction = rng.normal(size=x.shape)
    force = body.assemble(x)[1].copy()
    numeric = (body.assemble(x + h * direction)[0] - body.assemble(x - h * direction)[0]) / (2 * h)
    assert (force * direction).sum() == pytest.approx(numeric, rel=1e-7)


def test_stiffness_is_the_gradient_of_the_force(body):
    rng, h = np.random.default_rng(5), 1e-6
    x = body.mesh.nodes @ rotation(1.0).T + rng.normal(0, 0.05, body.mesh.nodes.shape)
    matrix = body.new_factorisation()
    body.assemble(x, matrix)
    direction = body.spread(rng.normal(size=body.degrees_of_freedom))
    numeric = (body.assemble(x + h * direction)[1].copy() - body.assemble(x - h * direction)[1]) / (2 * h)
    exact = dense(matrix) @ body.free_values(direction)
    assert np.abs(exact - body.free_values(numeric)).max() < 1e-7 * np.abs(exact).max()


def test_masses_and_weight_are_those_of_the_block(body):
    assert body.mass == pytest.approx(12.0 * 1000.0)
    assert body.weight(np.array([1.0, 2.0, -9.81])).sum(axis=0) == pytest.approx(12e3 * np.array([1.0, 2.0, -9.81]))
    assert body.lumped_masses().sum() == pytest.approx(body.mass)
    assert body.lumped_masses().min() > 0


def test_small_strain_energy_is_hookes():
    """Uniaxial strain e: W = (λ/2 + μ) e²."""
    law = energy_named("corotational", 2.0e5, 0.4)
    e = 1e-4
    assert law.energy((np.eye(3) + e * np.outer([1, 0, 0], [1, 0, 0]))[None])[0] == pytest.approx(
        (0.5 * law.lam + law.mu) * e**2, rel=1e-9
    )


@pytest.mark.parametrize("law", ENERGIES)
@pytest.mark.parametrize(("young", "poisson"), [(0.0, 0.3), (-1.0, 0.3), (float("nan"), 0.3), (1.0, 0.5), (1.0, -1.0)])
def test_impossible_materials_are_refused(law, young, poisson):
    with pytest.raises(MaterialError):
        energy_named(law, young, poisson)


def test_an_unknown_law_is_named_with_those_there_are():
    with pytest.raises(UsageError, match="no material law 'jelly'.*corotational"):
        energy_named("jelly", 1.0, 0.3)


def test_a_body_that_floats_or_cannot_move_is_refused():
    mesh = distorted_block("hex8")
    for clamped, error in ((np.zeros(len(mesh.nodes), bool), InputError), (np.ones(len(mesh.nodes), bool), MeshError)):
        with pytest.raises(error, match="clamped"):
            Body(mesh, Material(energy_named("corotational", 1.0, 0.3), 1.0), clamped)


@pytest.mark.parametrize("consistent", [False, True])
def test_an_attached_mass_has_weight_and_inertia(consistent):
    mesh = distorted_block("hex20r")
    body = Body(mesh, Material(energy_named("corotational", 1e5, 0.3), 10.0))
    hung = np.flatnonzero(mesh.nodes[:, 0] > 3.0 - 1e-9)
    body.attach_mass(hung, 60.0)
    body.attach_mass(hung[:1], 20.0)
    assert body.mass == pytest.approx(12.0 * 10.0 + 80.0)
    model = Model(body, [Gravity(), NodalLoad(hung, [0.0, 100.0, 0.0])], consistent_mass=consistent)
    assert model.mass.sum() == pytest.approx(body.mass)
    motion = CrankNicolson(model, 0.01)
    motion.step()
    assert motion.solved.iterations <= 4  # the masses are in the Hessian, too
    momentum = (model.mass @ motion.velocities).sum(axis=0)
    assert momentum == pytest.approx([0.0, 100.0 * 0.01, -body.mass * 9.81 * 0.01], abs=1e-9)


def test_a_column_stands_straight_under_a_plate_whatever_its_divisions():
    """m g L/(E A) lower, ν = 0: a mass on a surface is one on its centroid, though most nodes are at one side of it."""
    side, length, modulus, mass = 0.02, 0.06, 1e5, 0.05
    mesh = voxel_mesh(np.ones((4, 2, 3)), np.array([side / 4, side / 2, length / 3]), "hex20r")
    nodes = mesh.nodes.copy()
    nodes[:, 0] = np.interp(nodes[:, 0], side * np.linspace(0.0, 1.0, 5), side * np.array([0.0, 0.1, 0.2, 0.3, 1.0]))
    mesh = replace(mesh, nodes=nodes)
    body = Body(mesh, Material(energy_named("linear", modulus, 0.0), 0.0), "base")
    body.attach_mass("tip", mass)
    tip = np.unique(mesh.surfaces["tip"])
    assert nodes[tip, 0].mean() < 0.4 * side
    moved = equilibrium(Model(body, [Gravity()], [RigidPlate("tip")])).pose.points[tip] - nodes[tip]
    sunk = mass * 9.81 * length / (modulus * side**2)
    assert moved == pytest.approx(np.tile([0.0, 0.0, -sunk], (len(tip), 1)), abs=1e-8 * length)
    body.attach_mass("tip", -mass)
    assert body.mass == 0.0


def test_impossible_masses_are_refused():
    body = body_of(distorted_block("hex8"))
    for nodes, mass in ((np.array([1]), -1.0), (np.array([1]), np.nan), (np.zeros(0, int), 1.0)):
        with pytest.raises(InputError, match="attached mass"):
            body.attach_mass(nodes, mass)


@pytest.mark.parametrize(
    ("layout", "clamped"), [((1, 7, 6), "base"), ((3, 3, 6), "top"), ((2, 2, 3), "base"), ((3, 3, 7), "base")]
)
def test_a_matrix_of_another_layout_is_refused_whatever_its_size(layout, clamped):
    """(3, 3, 6) and (1, 7, 6) both have 112 nodes, and 96 of them are free."""

    def block(shape, held):
        mesh = voxel_mesh(np.ones(shape, dtype=bool), 0.01, "hex8")
        on_top = mesh.nodes[:, 2] > mesh.nodes[:, 2].max() - 1e-9
        rubber = Material(energy_named("corotational", 1e6, 0.4), 1000.0)
        return Body(mesh, rubber, on_top if held == "top" else mesh.nodes[:, 2] < 1e-9)

    own, other = block((3, 3, 6), "base"), block(layout, clamped)
    matrix = other.new_factorisation()
    with pytest.raises(InputError, match="is another body's"):
        own.assemble(own.mesh.nodes, matrix)
    other.assemble(other.mesh.nodes, matrix)
    filled = matrix.data.copy()
    with pytest.raises(InputError, match="is another body's"):
        own.assemble(own.mesh.nodes, matrix)
    np.testing.assert_array_equal(matrix.data, filled)
    own.assemble(own.mesh.nodes, own.new_factorisation())
