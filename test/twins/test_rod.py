"""The rod twin: exact derivatives, the elastica, and three-dimensional elasticity."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp, trapezoid

from soft_twin.errors import InputError, UsageError
from soft_twin.mechanics.loads import NodalLoad
from soft_twin.mechanics.model import Model
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.twins.rod import kernels
from soft_twin.twins.rod.minimum import Potential
from soft_twin.twins.rod.twin import RING

SIDEWAYS = np.array([0.0, -9.81, 0.0])
L, E = 0.1, 0.8e6


@pytest.fixture
def rod(slender):
    return slender.build_twin(backend="rod")


@pytest.fixture(scope="module")
def fem(slender):
    return slender.build_twin()


@pytest.fixture
def bent(rod):
    rng = np.random.default_rng(0)
    rod.restore((rng.normal(size=rod.strains.shape) * [8.0, 8.0, 8.0, 0.05], np.array([0.3, 0.1, 0.2, 0.1, 0.3, 0.2])))
    return rod


def potential_energy(rod, strains, forces, tip_force):
    """Elastic energy, less the work of forces on the elements' middles and on the tip."""
    frames, points = kernels.nodes(strains, rod.element_lengths)
    middles = kernels.middle_points(strains, rod.element_lengths, frames, points)
    return 0.5 * (rod.stiffness * strains**2).sum() - (forces * middles).sum() - tip_force @ points[-1]


def test_gradient_and_hessian_are_those_of_the_potential_energy(bent):
    h, rng = 1e-5, np.random.default_rng(1)
    forces = np.outer(bent.masses, [1.0, -9.0, 3.0]) + 1e-3 * rng.normal(size=(len(bent.masses), 3))
    tip_force, none = np.array([0.01, 0.02, -0.01]), np.zeros(len(bent.masses))
    direction = rng.normal(size=bent.strains.shape) * [1.0, 1.0, 1.0, 0.01]

    def slope(strains):
        motion = kernels.motions(strains, bent.element_lengths)
        return (bent.stiffness * strains).ravel() - kernels.work_gradient(motion, forces, tip_force)

    ahead, behind = bent.strains + h * direction, bent.strains - h * direction
    numeric = (potential_energy(bent, ahead, forces, tip_force) - potential_energy(bent, behind, forces, tip_force)) / (
        2 * h
    )
    assert slope(bent.strains) @ direction.ravel() == pytest.approx(numeric, rel=1e-8)
    motion = kernels.motions(bent.strains, bent.element_lengths)
    hessian = kernels.stiffness_matrix(
        bent.strains, bent.element_lengths, motion, bent.stiffness, forces, tip_force, none
    )
    change, exact = slope(ahead) - slope(behind), hessian @ direction.ravel()
    assert np.abs(change / (2 * h) - exact).max() < 1e-7 * np.abs(exact).max()
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-15)


def test_inertia_is_felt_as_far_as_the_middles_move(bent):
    """Jᵀ diag(m) J, J the derivatives of the middles by finite differences."""
    inertia, h = np.random.default_rng(3).uniform(1.0, 2.0, len(bent.masses)), 1e-6
    nothing = np.zeros_like(bent.stiffness), np.zeros((len(inertia), 3)), np.zeros(3)
    motion = kernels.motions(bent.strains, bent.element_lengths)
    felt = kernels.stiffness_matrix(bent.strains, bent.element_lengths, motion, *nothing, inertia)
    columns = []
    for k in range(bent.strains.size):
        change = (h * np.eye(bent.strains.size)[k]).reshape(bent.strains.shape)
        high, low = (kernels.motions(bent.strains + way * change, bent.element_lengths)[2] for way in (1.0, -1.0))
        columns.append(((high - low) / (2 * h)).ravel())
    J = np.array(columns).T
    np.testing.assert_allclose(felt, J.T @ (np.repeat(inertia, 3)[:, None] * J), atol=1e-7 * np.abs(felt).max())


def test_cables_are_as_long_as_the_curves_they_follow(bent, slender):
    """Each offset curve, drawn finely with the frames of the rod."""
    fine = 400
    strains = np.repeat(bent.strains, fine, axis=0)
    steps = np.repeat(bent.element_lengths / fine, fine)
    frames, points = kernels.nodes(strains, steps)
    for cable, length in zip(slender.description.cables, bent.rest_lengths - bent.body_coordinates(), strict=True):
        curve = points + frames @ np.array(cable.start)
        passed = int(round(cable.end[2] / bent.length * len(steps)))
        drawn = np.linalg.norm(np.diff(curve[: passed + 1], axis=0), axis=1).sum()
        assert length == pytest.approx(drawn, rel=1e-6)


def test_derivatives_of_the_cables(bent):
    arguments, h = bent.geometry, 1e-6
    direction = np.random.default_rng(2).normal(size=bent.strains.shape) * [1.0, 1.0, 1.0, 0.01]
    high = kernels.cable_lengths(bent.strains + h * direction, *arguments)
    low = kernels.cable_lengths(bent.strains - h * direction, *arguments)
    _, gradients = kernels.cable_lengths(bent.strains, *arguments)
    np.testing.assert_allclose(gradients @ direction.ravel(), (high[0] - low[0]) / (2 * h), rtol=1e-6)
    stiffness, firmness = np.zeros((direction.size, direction.size)), np.array([0.0, 50.0, 0.0, 0.0, 20.0, 0.0])
    kernels.add_cable_stiffness(bent.strains, *arguments, bent.tensions, firmness, stiffness)
    numeric = (bent.tensions @ (high[1] - low[1]) + (firmness * (high[0] - low[0])) @ gradients) / (2 * h)
    assert np.abs(stiffness @ direction.ravel() - numeric).max() < 1e-6 * np.abs(numeric).max()


def test_sensitivities_are_the_derivatives_of_the_equilibrium(rod):
    tensions, h = np.array([0.3, 0.1, 0.2, 0.15, 0.05, 0.25]), 1e-4
    rod.equilibrium(SIDEWAYS, tensions=tensions)
    step = rod.linearise(SIDEWAYS)
    for cable in range(6):
        change = h * np.eye(6)[cable]
        high = rod.equilibrium(SIDEWAYS, tensions=tensions + change)
        low = rod.equilibrium(SIDEWAYS, tensions=tensions - change)
        tip_by_tension = rod.section(L, step.step_per_effort)[:, cable]
        np.testing.assert_allclose(tip_by_tension, (high.tip - low.tip) / (2 * h), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(
            step.compliance[:, cable], (high.displacements - low.displacements) / (2 * h), rtol=1e-5, atol=1e-9
        )


def test_it_is_the_elastica(rod, slender):
    """Within the error of ten straightened weights: EI θ'' = −w (L − s) cos θ, inextensible."""
    outer, inner = 0.5 * slender.body.outer_diameter, 0.5 * slender.body.lumen_diameter
    area, inertia = np.pi * (outer**2 - inner**2), np.pi / 4 * (outer**4 - inner**4)
    ratio = 1150.0 * area * 9.81 / (E * inertia)
    s = np.linspace(0, L, 200)
    result = solve_bvp(
        lambda s, y: np.vstack([y[1], -ratio * (L - s) * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        np.zeros((2, s.size)),
        tol=1e-8,
    )
    assert -rod.equilibrium(SIDEWAYS).tip[1] == pytest.approx(trapezoid(np.sin(result.sol(s)[0]), s), rel=0.006)


def test_a_load_on_the_tip_is_in_its_energy_and_derivatives(bent):
    bent.tip_force, gravity, h = [0.05, -0.02, 0.03], np.array([1.0, -9.0, 3.0]), 1e-5
    potential = Potential(bent, gravity, np.zeros(6), np.full(6, np.nan))
    direction = np.random.default_rng(1).normal(size=bent.strains.shape) * [1.0, 1.0, 1.0, 0.01]
    place = potential.at(bent.strains)
    beside = [potential.at(bent.strains + step * direction) for step in (h, -h)]
    energies = [potential_energy(bent, each.strains, np.outer(bent.masses, gravity), bent.tip_force) for each in beside]
    assert [each.value for each in beside] == pytest.approx(energies, rel=1e-12)
    assert place.gradient @ direction.ravel() == pytest.approx((energies[0] - energies[1]) / (2 * h), rel=1e-7)
    exact = place.hessian() @ direction.ravel()
    change = (beside[0].gradient - beside[1].gradient) / (2 * h)
    assert np.abs(change - exact).max() < 1e-7 * np.abs(exact).max()


def test_a_load_across_the_tip_bends_it_as_the_elastica(rod, slender):
    """EI θ'' = −F cos θ, inextensible; and the same as a three-dimensional body within its own stiffening."""
    outer, inner = 0.5 * slender.body.outer_diameter, 0.5 * slender.body.lumen_diameter
    ratio = 0.04 / (E * np.pi / 4 * (outer**4 - inner**4))
    s = np.linspace(0, L, 200)
    result = solve_bvp(
        lambda s, y: np.vstack([y[1], -ratio * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        np.zeros((2, s.size)),
        tol=1e-8,
    )
    rod.tip_force = [0.04, 0.0, 0.0]
    expected = trapezoid(np.sin(result.sol(s)[0]), s)
    tip = rod.equilibrium(np.zeros(3)).tip
    assert tip[0] == pytest.approx(expected, rel=0.006) and expected > 0.02
    body = slender.build_model().body
    solid = equilibrium(Model(body, [NodalLoad("tip", rod.tip_force)]))
    end = np.unique(body.mesh.surfaces["tip"])
    np.testing.assert_allclose(solid.pose.points[end].mean(axis=0), tip, atol=1e-3)


@pytest.mark.parametrize("gravity", [SIDEWAYS, [0.0, 0.0, -9.81], [3.0, 4.0, 8.0]])
@pytest.mark.parametrize("tensions", [None, [0.4, 0.0, 0.0, 0.3, 0.2, 0.1]])
def test_it_is_within_a_millimetre_of_three_dimensions(rod, fem, gravity, tensions):
    thin, thick = rod.equilibrium(gravity, tensions=tensions), fem.equilibrium(gravity, tensions=tensions)
    np.testing.assert_allclose(thin.tip, thick.tip, atol=1e-3)
    np.testing.assert_allclose(thin.displacements, thick.displacements, atol=1.5e-4)


def test_displacements_lead_back_to_tensions(rod):
    driven = rod.equilibrium(SIDEWAYS, tensions=[0.4, 0.0, 0.0, 0.3, 0.2, 0.1])
    held = [d if t > 0 else None for d, t in zip(driven.displacements, driven.tensions, strict=True)]
    np.testing.assert_allclose(rod.equilibrium(SIDEWAYS, displacements=held).tensions, driven.tensions, atol=1e-6)


def test_the_inverse_and_the_controller_run_on_it(rod, slender):
    solution = slender.build_inverse(rod).solve(SIDEWAYS, [0.0, 0.0, 0.098])
    assert solution.reachable
    rod.reset()
    controller = slender.build_controller(rod)
    controller.enable(True)
    for angle in np.linspace(0.0, np.pi / 2, 50):
        tick = controller.update(9.81 * np.array([0.0, -np.sin(angle), -np.cos(angle)]))
    assert tick.error < 2e-3


def test_its_surface_encloses_the_tube(rod, slender):
    a, b, c = np.moveaxis(rod.points[rod.surface], 1, 0)
    polygon = 0.5 * RING * np.sin(2 * np.pi / RING) * (0.5 * slender.body.outer_diameter) ** 2
    assert np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0 == pytest.approx(polygon * L)


def test_what_a_rod_does_not_take_is_refused(slender, rod):
    with pytest.raises(UsageError, match="a rod twin takes no mesh and no material"):
        slender.build_twin(backend="rod", mesh="tet4", material="linear")
    with pytest.raises(InputError, match="not finite"):
        rod.equilibrium([0.0, np.nan, 0.0])


def test_sections_at_once_are_those_one_by_one(bent):
    heights = np.array([0.0, 0.013, 0.05, bent.length])
    one_by_one = [bent.section(z, bent.points) for z in heights]
    np.testing.assert_allclose(bent.sections(heights, bent.points), one_by_one, atol=1e-15)


def test_its_sections_have_no_orientation_that_can_be_aimed_at(rod):
    with pytest.raises(InputError, match="RodTwin: no orientation of its cross sections can be aimed at"):
        rod.frames["tip"].rotation(rod)


@pytest.mark.parametrize("backend", ["rod", "fem"])
def test_a_twins_arrays_cannot_be_written_to(slender, backend):
    twin = slender.build_twin(backend=backend)
    kept = [] if backend == "rod" else [twin.softness, twin.base, twin.surface]
    for array in (twin.points, twin.rest, twin.efforts, twin.tensions, twin.least_effort, *kept):
        with pytest.raises(ValueError, match="read-only"):
            array += 1
    np.testing.assert_allclose(twin.tip, [0.0, 0.0, 0.1], atol=1e-12)
