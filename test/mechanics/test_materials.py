"""Strain energies: derivatives, objectivity, and Hooke's law at small strains."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bodies import body_of, dense, distorted_block
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.mechanics.materials import ENERGIES, energy_named
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.rotations import LANES
from soft_twin.mesh.elements import ELEMENTS

YOUNG, POISSON = 2.0e5, 0.4
LAWS = sorted(ENERGIES)


@pytest.fixture(params=LAWS)
def law(request):
    return energy_named(request.param, YOUNG, POISSON)


def some_deformations(count=30, size=0.15):
    return np.eye(3) + np.random.default_rng(0).uniform(-size, size, (count, 3, 3))


def test_stress_and_tangent_are_the_derivatives(law):
    stress_error, tangent_error = law.check_derivatives()
    assert stress_error < 1e-7
    assert tangent_error < 1e-7


def test_at_rest_there_is_no_energy_and_no_stress(law):
    rest = np.eye(3)[None]
    assert law.energy(rest)[0] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(law.stress(rest)).max() < 1e-9


def test_at_small_strains_it_is_hookes(law):
    linear = energy_named("linear", YOUNG, POISSON)
    np.testing.assert_allclose(
        law.tangent(np.eye(3)[None]), linear.tangent(np.eye(3)[None]), atol=1e-6 * linear.modulus
    )


def test_uniaxial_tension_is_youngs_modulus():
    """Small strain e with lateral −ν e: the axial stress is E e, the lateral ones vanish."""
    e = 1e-7
    F = np.diag([1 + e, 1 - POISSON * e, 1 - POISSON * e])[None]
    for name in LAWS:
        stress = energy_named(name, YOUNG, POISSON).stress(F)[0]
        np.testing.assert_allclose(np.diag(stress), [YOUNG * e, 0, 0], atol=1e-5 * YOUNG * e)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "linear"])
def test_rotating_the_body_changes_no_energy(name):
    law, F = energy_named(name, YOUNG, POISSON), some_deformations()
    R = Rotation.random(len(F), np.random.default_rng(1)).as_matrix()
    np.testing.assert_allclose(law.energy(R @ F), law.energy(F), rtol=1e-10)
    np.testing.assert_allclose(law.energy(F @ R), law.energy(F), rtol=1e-10)


def test_only_stable_neo_hookean_has_a_way_back_from_inversion():
    inverted = np.diag([1.0, 1.0, -0.2])[None]
    assert energy_named("neo_hookean", YOUNG, POISSON).energy(inverted)[0] == np.inf
    stable = energy_named("stable_neo_hookean", YOUNG, POISSON)
    assert np.isfinite(stable.energy(inverted)[0])
    assert stable.stress(inverted)[0, 2, 2] < 0.0


@pytest.mark.parametrize("name", LAWS)
def test_assembled_force_and_stiffness_are_the_derivatives_of_the_energy(name):
    body = body_of(distorted_block("hex8"), law=name)
    rng, h = np.random.default_rng(5), 1e-6
    x = body.mesh.nodes + rng.normal(0, 0.05, body.mesh.nodes.shape)
    direction = body.spread(rng.normal(size=body.degrees_of_freedom))
    matrix = body.new_factorisation()
    force = body.assemble(x, matrix)[1].copy()
    numeric = (body.assemble(x + h * direction)[0] - body.assemble(x - h * direction)[0]) / (2 * h)
    assert (force * direction).sum() == pytest.approx(numeric, rel=1e-6)
    numeric = (body.assemble(x + h * direction)[1].copy() - body.assemble(x - h * direction)[1]) / (2 * h)
    exact = dense(matrix) @ body.free_values(direction)
    assert np.abs(exact - body.free_values(numeric)).max() < 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize("element", ["tet4", "hex8", "hex20", "hex20r", "tet10"])
def test_the_corotational_kernel_agrees_with_singular_values_even_inverted(element):
    body = body_of(distorted_block(element))
    (part,), rng = body.parts, np.random.default_rng(7)
    x = body.mesh.nodes + rng.normal(0, 0.6, body.mesh.nodes.shape)
    results = []
    for assemble in (part.law.assemble, partial(Energy.assemble, part.law)):
        matrix, force = body.new_factorisation(), np.zeros_like(x)
        arguments = x, part.cells, part.gradients, part.volumes, force, *matrix.addresses(part.cells), matrix.data
        energy, worst, _ = assemble(*arguments)
        assert worst < 0.0
        results.append((energy, force, dense(matrix)))
    for kernels, generic in zip(*results, strict=True):
        np.testing.assert_allclose(kernels, generic, atol=1e-9 * np.abs(generic).max())
    alone = np.zeros_like(x)
    assert part.law.assemble(x, part.cells, part.gradients, part.volumes, alone)[0] == results[0][0]
    np.testing.assert_array_equal(alone, results[0][1])


def test_the_points_of_any_element_fit_into_the_lanes_of_the_corotational_kernel():
    assert max(len(element.points) for element in ELEMENTS.values()) <= LANES


class OnlyEnergy(Energy):
    """Neo-Hookean, with nothing but its energy."""

    def __init__(self, as_real):
        self._law = energy_named("neo_hookean", YOUNG, POISSON)
        self._as_real = as_real

    def energy(self, F):
        return self._law.energy(F.real if self._as_real else F)


@pytest.mark.parametrize(("as_real", "stress_error", "tangent_error"), [(False, 1e-12, 1e-7), (True, 1e-7, 1e-3)])
def test_missing_derivatives_are_completed(as_real, stress_error, tangent_error):
    law, exact, F = OnlyEnergy(as_real), energy_named("neo_hookean", YOUNG, POISSON), some_deformations()
    stress, tangent = exact.stress(F), exact.tangent(F)
    assert np.abs(law.stress(F) - stress).max() < stress_error * np.abs(stress).max()
    assert np.abs(law.tangent(F) - tangent).max() < tangent_error * np.abs(tangent).max()


LOSING = {
    "norms": lambda F: 5e4 * (np.linalg.norm(F[:, :, 0], axis=1) - 1.0) ** 2,
    "absolute values": lambda F: 5e4 * np.abs(np.trace(F, axis1=1, axis2=2)),
    "singular values": lambda F: 5e4 * np.linalg.svd(F, compute_uv=False)[:, 0] ** 3,
    "principal stretches": lambda F: 5e4 * np.linalg.eigvalsh(F.swapaxes(1, 2) @ F)[:, 0] ** 2,
}


@pytest.mark.parametrize("what", LOSING)
def test_formulas_that_lose_complex_steps_are_completed_all_the_same(what):
    class Lossy(OnlyEnergy):
        def energy(self, F):
            return super().energy(F) + LOSING[what](F)

    assert max(Lossy(False).check_derivatives(some_deformations())) < 1e-4


def test_completed_derivatives_are_not_checked_against_themselves():
    assert min(OnlyEnergy(True).check_derivatives()) > 0.0


@pytest.mark.parametrize("name", ENERGIES)
def test_lame_constants_may_be_set(name):
    law, twice = energy_named(name, YOUNG, POISSON), energy_named(name, 2.0 * YOUNG, POISSON)
    law.mu, law.lam = 2.0 * law.mu, 2.0 * law.lam
    np.testing.assert_allclose(law.energy(some_deformations()), twice.energy(some_deformations()))


def test_wrong_derivatives_are_found():
    class Wrong(OnlyEnergy):
        def stress(self, F):
            return 1.01 * super().stress(F)

    assert Wrong(False).check_derivatives()[0] == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize("name", ["st_venant_kirchhoff", "neo_hookean", "stable_neo_hookean"])
def test_laws_agree_on_the_slender_robot_whose_strains_are_small(name):
    robot = soft_twin.load_robot("slender")
    gravity = [0.0, -9.81, 0.0]
    tip = robot.build_twin(material=name).equilibrium(gravity).tip
    np.testing.assert_allclose(tip, robot.build_twin().equilibrium(gravity).tip, atol=4e-4)


def test_the_documented_rubber_works(capsys):
    """Mooney–Rivlin with μ = 2 (c₁ + c₂) and K of the robot's own material: the same sag."""
    text = (Path(__file__).parents[2] / "docs" / "twin.md").read_text()
    example = next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "MooneyRivlin" in block)
    names = {}
    exec(example, names)
    assert max(names["rubber"].check_derivatives()) < 1e-6
    tip = soft_twin.load_robot("slender").build_twin().equilibrium([0.0, -9.81, 0.0]).tip
    np.testing.assert_allclose(names["twin"].tip, tip, atol=5e-4)
