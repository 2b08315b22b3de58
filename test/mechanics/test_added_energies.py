"""Energies beside the isotropic laws: muscles, soft volume, Mooney–Rivlin, sums, mean dilatation."""

import numpy as np
import pytest
from bodies import body_of, dense, distorted_block
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError, MaterialError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.base import Energy, Sum
from soft_twin.mechanics.materials.invariants import InvariantEnergy, Response
from soft_twin.mechanics.materials.mean_dilatation import MeanDilatation
from soft_twin.mechanics.materials.mooney_rivlin import MooneyRivlin
from soft_twin.mechanics.materials.muscle import Muscle
from soft_twin.mechanics.materials.ogden import Ogden
from soft_twin.mechanics.materials.volume import Volume
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium


class Isochoric(InvariantEnergy):
    """c (J^(−2/3) I − 3) + κ/2 (J − 1)²: with mixed derivatives."""

    c, bulk_modulus = 1.0e5, 1.0e6

    def response(self, I, J):
        W = self.c * (J ** (-2 / 3) * I - 3.0) + 0.5 * self.bulk_modulus * (J - 1.0) ** 2
        by_J = -2 / 3 * self.c * J ** (-5 / 3) * I + self.bulk_modulus * (J - 1.0)
        mixed, twice = -2 / 3 * self.c * J ** (-5 / 3), 10 / 9 * self.c * J ** (-8 / 3) * I + self.bulk_modulus
        return Response(W, self.c * J ** (-2 / 3), by_J, 0.0, mixed, twice)


REST = np.eye(3)[None]
LAWS = {
    "volume": Volume(2.0e6),
    "invariants": Isochoric(),
    "rubber": MooneyRivlin(1.0e5, 3.8e4, 2.67e6),
    "ogden": Ogden([6.3e5, 1.2e3, -1.0e4], [1.3, 5.0, -2.0], 2.0e6),
    "muscle": Muscle(1.0e4, [1.0, 2.0, -0.5], 0.3),
    "sum": energy_named("neo_hookean", 1.0e5, 0.45) + Muscle(1.0e4, [0.0, 0.0, 1.0], 0.2) + Volume(1.0e6),
}


def deformations(count=30, size=0.15):
    return np.eye(3) + np.random.default_rng(0).uniform(-size, size, (count, 3, 3))


@pytest.fixture(params=LAWS)
def law(request):
    return LAWS[request.param]


def test_stress_and_tangent_are_the_derivatives(law):
    assert max(law.check_derivatives()) < 1e-8


def test_tangents_are_symmetric(law):
    tangent = law.tangent(deformations()).reshape(-1, 9, 9)
    np.testing.assert_allclose(tangent, tangent.swapaxes(1, 2), atol=1e-12 * np.abs(tangent).max())


def test_rotating_the_body_changes_no_energy(law):
    F = deformations()
    R = Rotation.random(len(F), np.random.default_rng(1)).as_matrix()
    np.testing.assert_allclose(law.energy(R @ F), law.energy(F), rtol=1e-10)


@pytest.mark.parametrize("name", ["volume", "rubber", "ogden", "invariants"])
def test_at_rest_there_is_no_energy_and_no_stress(name):
    assert LAWS[name].energy(REST)[0] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(LAWS[name].stress(REST)).max() < 1e-8


def test_rubber_is_hookes_at_small_strains():
    rubber, mu = LAWS["rubber"], 2.0 * 1.38e5
    poisson = (3.0 * 2.67e6 - 2.0 * mu) / (2.0 * (3.0 * 2.67e6 + mu))
    linear = energy_named("linear", 2.0 * mu * (1.0 + poisson), poisson)
    np.testing.assert_allclose(rubber.tangent(REST), linear.tangent(REST), atol=1e-9 * linear.modulus)


def test_rubber_in_uniaxial_tension_is_mooney_and_rivlins():
    """Incompressible: the axial stress P = 2 (λ − λ⁻²) (c₁ + c₂/λ) that the lateral pressure leaves."""
    c1, c2, stretch = 1.0e5, 3.8e4, 1.7
    F = np.diag([stretch, stretch**-0.5, stretch**-0.5])[None]
    P = MooneyRivlin(c1, c2, 1.0).stress(F)[0]
    pressure = P[1, 1] / F[0, 1, 1] ** -1
    axial = P[0, 0] - pressure / stretch
    assert axial == pytest.approx(2.0 * (stretch - stretch**-2) * (c1 + c2 / stretch), rel=1e-12)


def test_ogden_with_exponents_of_two_is_mooney_and_rivlins():
    """μ₁ = 2 c₁, α₁ = 2, μ₂ = −2 c₂, α₂ = −2; with equal stretches, at rest too."""
    ogden, rubber = Ogden([2.0e5, -7.6e4], [2.0, -2.0], 2.67e6), LAWS["rubber"]
    F = np.vstack([deformations(), REST, np.diag([1.2, 1.2, 0.9])[None], np.diag([0.9, 1.1, 1.1 + 1e-8])[None]])
    np.testing.assert_allclose(ogden.energy(F), rubber.energy(F), atol=1e-9)
    for one, other in ((ogden.stress(F), rubber.stress(F)), (ogden.tangent(F), rubber.tangent(F))):
        np.testing.assert_allclose(one, other, atol=1e-7 * np.abs(other).max())


def test_volume_term_resists_only_changes_of_volume():
    law = Volume(2.0e6)
    F = deformations()
    F /= np.cbrt(np.linalg.det(F))[:, None, None]
    assert np.abs(law.stress(F)).max() < 1e-6
    e = 1e-6
    assert law.stress((1.0 + e) * REST)[0, 0, 0] == pytest.approx(3.0 * e * 2.0e6, rel=1e-5)
    assert np.isfinite(law.energy(np.diag([1.0, 1.0, -0.5])[None])[0])


def test_a_muscle_is_at_rest_where_it_is_as_short_as_it_wants_to_be():
    muscle, m = Muscle(1.0e4, [0.0, 0.0, 2.0]), np.array([0.0, 0.0, 1.0])
    for activation in (0.0, 0.3, -0.2):
        muscle.activation = activation
        short = np.diag([1.1, 0.9, 1.0 - activation])[None]
        assert np.abs(muscle.stress(short)).max() < 1e-9
        np.testing.assert_allclose(muscle.stress(REST)[0], 1.0e4 * activation * np.outer(m, m), atol=1e-9)


def test_a_muscles_stress_grows_with_activation_as_it_says():
    muscle, F, h = Muscle(1.0e4, [1.0, 1.0, 0.0], 0.3), deformations(), 1e-6
    exact = muscle.activation_stress(F)
    muscle.activation = 0.3 + h
    high = muscle.stress(F)
    muscle.activation = 0.3 - h
    np.testing.assert_allclose(exact, (high - muscle.stress(F)) / (2 * h), atol=1e-9 * 1e4)


def block_with_muscle(muscle):
    mesh = voxel_mesh(np.ones((2, 2, 4), bool), 0.01, "hex20r")
    clamped = np.zeros(len(mesh.nodes), bool)
    clamped[mesh.group("base")] = True
    return Body(mesh, [Material(energy_named("corotational", 1e4, 0.3), 1e3), Material(muscle, 0.0)], clamped)


def test_fibres_that_differ_from_cell_to_cell_follow_the_cells_order():
    """Two laws with a direction each, on halves of the cells, are one law with a direction for each cell."""
    mesh = voxel_mesh(np.ones((2, 2, 4), bool), 0.01, "hex20r")
    x = mesh.nodes + np.random.default_rng(2).normal(0, 1e-3, mesh.nodes.shape)
    first = np.arange(16) % 3 == 0
    directions = np.where(first[:, None], [1.0, 0.0, 1.0], [0.0, 1.0, -2.0])
    activations = np.where(first, 0.2, 0.5)
    clamped = mesh.nodes[:, 2] == 0.0
    together = Body(mesh, Material(Muscle(1e4, directions, activations), 1.0), clamped)
    halves = [
        Material(Muscle(1e4, [1.0, 0.0, 1.0], 0.2), 1.0, np.flatnonzero(first)),
        Material(Muscle(1e4, [0.0, 1.0, -2.0], 0.5), 1.0, np.flatnonzero(~first)),
    ]
    apart = Body(mesh, halves, clamped)
    matrices = together.new_factorisation(), apart.new_factorisation()
    results = [body.assemble(x, matrix) for body, matrix in zip((together, apart), matrices, strict=True)]
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-12)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-12 * np.abs(results[1][1]).max())
    np.testing.assert_allclose(dense(matrices[0]), dense(matrices[1]), atol=1e-9)


@pytest.mark.parametrize(
    "beside", [Material, lambda law, density: Material(law + energy_named("linear", 10.0, 0.3), density)]
)
def test_fibres_that_differ_from_cell_to_cell_reach_an_equilibrium(beside):
    mesh = voxel_mesh(np.ones((2, 2, 4), bool), 0.01, "hex8")
    directions = np.where(np.arange(16)[:, None] % 2, [0.0, 0.0, 1.0], [0.1, 0.0, 1.0])
    body = Body(
        mesh,
        [Material(energy_named("corotational", 1e4, 0.3), 1e3), beside(Muscle(1e3, directions, 0.3), 0.0)],
        mesh.nodes[:, 2] == 0.0,
    )
    shape = equilibrium(Model(body)).pose.points
    assert np.ptp(shape[:, 2]) < 0.99 * np.ptp(mesh.nodes[:, 2])


def test_a_sum_is_two_materials_in_one_place():
    solid, muscle = energy_named("corotational", 1e4, 0.3), Muscle(1e4, [0.0, 1.0, 1.0], 0.2)
    two = block_with_muscle(muscle)
    one = Body(two.mesh, Material(solid + muscle, 1e3), two.place < 0)
    x = two.mesh.nodes + np.random.default_rng(2).normal(0, 1e-3, two.mesh.nodes.shape)
    energy, force, worst, _ = two.assemble(x)
    assert one.assemble(x)[0] == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(one.assemble(x)[1], force, atol=1e-12)
    assert one.assemble(x)[2] == worst
    assert len(Sum(solid, solid + muscle).parts) == 3


def test_a_muscle_shortens_a_bar_until_it_balances_the_solid():
    """Uniaxial, ν = 0: E (λ − 1) + k (λ − (1 − a)) = 0 of the corotational law, so that λ = 1 − a k/(E + k)."""
    mesh = voxel_mesh(np.ones((2, 2, 4), bool), 0.01, "hex20r")
    muscle = Muscle(3e4, [0.0, 0.0, 1.0])
    body = Body(mesh, Material(energy_named("corotational", 1e4, 0.0) + muscle, 1e3), mesh.nodes[:, 2] == 0.0)
    for activation in (0.3, 0.5, -0.2):
        muscle.activation = activation
        tip = equilibrium(Model(body)).pose.points[mesh.group("tip")]
        np.testing.assert_allclose(tip[:, 2], 0.04 * (1.0 - activation * 3e4 / 4e4), rtol=1e-6)


def test_moduli_that_are_infinite_are_refused():
    laws = (
        lambda modulus: energy_named("neo_hookean", modulus, 0.3),
        lambda modulus: MooneyRivlin(modulus, 1.0, 1.0),
        lambda modulus: MooneyRivlin(1.0, 1.0, modulus),
        lambda modulus: Ogden([modulus], [2.0], 1.0),
        lambda modulus: Ogden([1.0], [2.0], modulus),
        Volume,
        lambda modulus: Muscle(modulus, [0.0, 0.0, 1.0]),
    )
    for law in laws:
        law(1.0)
        with pytest.raises(MaterialError, match="positive and finite"):
            law(np.inf)


def test_impossible_parameters_are_refused():
    with pytest.raises(MaterialError, match="bulk modulus -1"):
        Volume(-1.0)
    with pytest.raises(MaterialError, match="must be positive"):
        MooneyRivlin(1.0, -2.0, 1.0)
    with pytest.raises(MaterialError, match="as many moduli as exponents"):
        Ogden([1.0, 2.0], [2.0], 1.0)
    with pytest.raises(MaterialError, match="-2 Pa, and the bulk modulus"):
        Ogden([1.0], [-2.0], 1.0)
    with pytest.raises(MaterialError, match="stiffness 0"):
        Muscle(0.0, [1.0, 0.0, 0.0])
    with pytest.raises(MaterialError, match="not zero"):
        Muscle(1.0, [0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="activation nan"):
        Muscle(1.0, [1.0, 0.0, 0.0]).activation = np.nan
    with pytest.raises(InputError, match="2 activations for a mesh with a cell 4"):
        Muscle(1.0, [1.0, 0.0, 0.0], np.zeros(2)).at(np.arange(5))
    with pytest.raises(InputError, match="3 directions for a mesh with a cell 4"):
        Muscle(1.0, np.eye(3)).at(np.arange(5))


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8", "hex20r"])
def test_laws_of_invariants_are_assembled_as_their_tangents_say(element):
    """The kernel against the general assembly, which only knows stress and tangent."""
    mesh = distorted_block(element)
    x = mesh.nodes + np.random.default_rng(2).normal(0, 0.03, mesh.nodes.shape)
    clamped = mesh.nodes[:, 2] == 0.0
    results = []
    for assemble in (Isochoric.assemble, Energy.assemble):
        law = type("Law", (Isochoric,), {"assemble": assemble})()
        body = Body(mesh, Material(law, 1.0), clamped)
        matrix = body.new_factorisation()
        energy, force, worst, cell = body.assemble(x, matrix)
        results.append((energy, force.copy(), dense(matrix), worst, cell))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize("law", ["stable_neo_hookean", "neo_hookean", "corotational", "st_venant_kirchhoff"])
def test_mean_dilatation_has_exact_derivatives_with_any_law(law):
    body = body_of(distorted_block("hex8f"), law=law, poisson_ratio=0.49)
    rng, h = np.random.default_rng(5), 1e-6
    x = body.mesh.nodes + rng.normal(0, 0.05, body.mesh.nodes.shape)
    direction = body.spread(rng.normal(size=body.degrees_of_freedom))
    matrix = body.new_factorisation()
    force = body.assemble(x, matrix)[1].copy()
    energies = [body.assemble(x + sign * h * direction)[0] for sign in (1, -1)]
    assert (force * direction).sum() == pytest.approx((energies[0] - energies[1]) / (2 * h), rel=1e-6)
    forces = [body.assemble(x + sign * h * direction)[1].copy() for sign in (1, -1)]
    numeric = body.free_values(forces[0] - forces[1]) / (2 * h)
    exact = dense(matrix) @ body.free_values(direction)
    assert np.abs(exact - numeric).max() < 1e-6 * np.abs(exact).max()


def test_mean_dilatation_of_one_point_is_the_law_itself():
    law = energy_named("stable_neo_hookean", 1e4, 0.45)
    for name in ("tet4", "hex8"):
        mesh = distorted_block(name)
        x = mesh.nodes @ (np.eye(3) + 0.1 * np.random.default_rng(1).normal(size=(3, 3))).T
        bodies = [Body(mesh, Material(each, 1.0)) for each in (law, MeanDilatation(law))]
        energies = [body.assemble(x)[0] for body in bodies]
        assert energies[0] == pytest.approx(energies[1], rel=1e-12)


def test_an_inverted_cell_with_mean_dilatation_is_never_accepted():
    body = body_of(distorted_block("hex8f"), law="stable_neo_hookean")
    energy, _, worst, _ = body.assemble(body.mesh.nodes * [1.0, 1.0, -1.0])
    assert energy == np.inf
    assert worst == pytest.approx(-1.0)


def sag(element_name, poisson_ratio):
    """Tip deflection of a cantilever 1 × 1 × 5 under a small load at its end, 4 × 4 × 20 cells."""
    mesh = voxel_mesh(np.ones((4, 4, 20), bool), 0.25, element_name)
    clamped = np.zeros(len(mesh.nodes), bool)
    clamped[mesh.group("base")] = True
    body = Body(mesh, Material(energy_named("linear", 1.0, poisson_ratio), 1.0), clamped)
    matrix = body.new_factorisation()
    load = np.zeros_like(mesh.nodes)
    load[mesh.group("tip"), 0] = 1.0 / len(mesh.group("tip"))
    body.assemble(mesh.nodes, matrix)
    moved = matrix.solve_definite(body.free_values(load))
    return body.spread(moved)[mesh.group("tip"), 0].mean()


def test_mean_dilatation_does_not_lock_near_incompressibility():
    """Of Timoshenko's deflection, P (L³/(3 E I) + L/(κ G A)): what the clamp stiffens settles as ν goes to 0.5."""
    ratios = (0.3, 0.49, 0.4995)
    shares = {
        name: [sag(name, nu) / (5**3 / 3 * 12 + 5 / (5 / 6 / (2 * (1 + nu)))) for nu in ratios]
        for name in ("hex8", "hex8f")
    }
    assert shares["hex8"][2] < 0.8
    assert shares["hex8f"][2] == pytest.approx(shares["hex8f"][1], rel=0.01)
    assert 0.93 < shares["hex8f"][2] < shares["hex8f"][0] < 1.0
