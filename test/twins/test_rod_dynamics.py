"""The moving rod: its potential's derivatives, beam theory, rest, energy, and the moving finite element body."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from soft_twin.errors import InputError, UsageError
from soft_twin.twins.rod import RodDynamics
from soft_twin.twins.rod.minimum import Potential

DOWN, SIDEWAYS = np.array([0.0, 0.0, -9.81]), np.array([0.0, -9.81, 0.0])


@pytest.fixture
def moving(slender):
    return slender.build_dynamics(0.01, "rod")


def energy(dynamics, gravity):
    kinetic = 0.5 * (dynamics.rod.masses * (dynamics.velocities**2).sum(axis=1)).sum()
    rod = dynamics.rod
    return kinetic + 0.5 * (rod.stiffness * rod.strains**2).sum() - rod.masses @ (rod.middles @ gravity)


@pytest.mark.parametrize("wound", [np.full(6, np.nan), np.array([0.003, np.nan, 0.001, -0.001, 0.004, 0.002])])
def test_gradient_and_curvature_are_those_of_the_incremental_potential(moving, wound):
    rng = np.random.default_rng(0)
    shape = moving.rod.strains.shape
    moving.rod.restore((rng.normal(size=shape) * [6.0, 6.0, 6.0, 0.03], np.zeros(6)))
    moving.velocities = rng.normal(size=(shape[0], 3))
    step = Potential(moving.rod, SIDEWAYS, np.array([0.3, 0.1, 0.2, 0.1, 0.3, 0.2]), wound, moving._motion(moving.dt))
    strains = moving.rod.strains + rng.normal(size=shape) * [2.0, 2.0, 2.0, 0.01]
    scale = np.tile([1e-4, 1e-4, 1e-4, 1e-7], shape[0])

    def along(values):
        return step.at((strains.ravel() + scale * values).reshape(shape)).value

    place = step.at(strains)
    numeric = approx_fprime(np.zeros(strains.size), along, 1e-3)
    np.testing.assert_allclose(scale * place.gradient, numeric, atol=2e-4 * np.abs(numeric).max())
    direction = scale * rng.normal(size=strains.size)
    change = [step.at(strains + s * direction.reshape(shape)).gradient for s in (0.05, -0.05)]
    curved = place.hessian() @ direction
    np.testing.assert_allclose(curved, 10.0 * (change[0] - change[1]), atol=1e-3 * np.abs(curved).max())


def test_small_swings_have_the_first_frequency_of_a_clamped_beam(slender):
    rod = slender.build_twin("rod")
    rod.equilibrium([0.0, -0.02, 0.0])
    dynamics, dt = RodDynamics(rod, dt=5e-4), 5e-4
    tips = []
    for _ in range(700):
        dynamics.step(np.zeros(3))
        tips.append(rod.tip[1])
    crossings = np.flatnonzero(np.diff(np.sign(tips)))
    assert len(crossings) >= 2
    body, law = slender.body, slender.body.material
    outer, inner = 0.5 * body.outer_diameter, 0.5 * body.lumen_diameter
    bending, mass = law.young_modulus * np.pi / 4.0 * (outer**4 - inner**4), law.density * np.pi * (outer**2 - inner**2)
    period = 2.0 * np.pi / (1.87510407**2 * np.sqrt(bending / mass) / body.length**2)
    assert 2.0 * dt * np.diff(crossings).mean() == pytest.approx(period, rel=0.015)


@pytest.mark.parametrize("wound", [None, [0.004, 0.0, 0.0, 0.002, 0.0, 0.0]])
def test_it_comes_to_rest_where_forces_balance(slender, wound):
    dynamics = slender.build_dynamics(0.02, "rod")
    for _ in range(400):
        dynamics.step(SIDEWAYS, coordinates=wound)
    rest = slender.build_twin("rod").equilibrium(SIDEWAYS, coordinates=wound)
    np.testing.assert_allclose(dynamics.rod.points[-1], rest.points[-1], atol=1e-6)
    if wound is not None:
        np.testing.assert_allclose(dynamics.rod.efforts, rest.efforts, atol=1e-4)


@pytest.mark.parametrize("dt", [0.001, 0.01, 0.5])
def test_a_swing_without_damping_never_gains_energy(slender, dt):
    dynamics = RodDynamics(slender.build_twin("rod"), dt)
    energies = []
    for _ in range(60):
        dynamics.step(SIDEWAYS)
        energies.append(energy(dynamics, SIDEWAYS))
    assert np.max(np.diff([0.0, *energies])) < 1e-9
    assert dynamics.time == pytest.approx(60 * dt)


def test_finer_steps_halve_the_error(slender):
    def tip_after(dt):
        dynamics = slender.build_dynamics(dt, "rod")
        for _ in range(round(0.08 / dt)):
            dynamics.step(SIDEWAYS)
        return dynamics.rod.tip

    finest, errors = tip_after(0.0005), []
    for dt in (0.008, 0.004):
        errors.append(np.linalg.norm(tip_after(dt) - finest))
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.2)


def test_a_release_goes_as_that_of_the_finite_element_body(slender):
    dynamics, body = slender.build_dynamics(0.01, "rod"), slender.build_dynamics(0.01)
    body.model.forces[0].vector = SIDEWAYS
    tips = []
    top = body.model.body.mesh.nodes[:, 2] > 0.0999
    for _ in range(30):
        dynamics.step(SIDEWAYS)
        body.step()
        tips.append((dynamics.rod.tip, body.pose.points[top].mean(axis=0)))
    ours, theirs = np.swapaxes(tips, 0, 1)
    fall = np.linalg.norm(theirs - [0.0, 0.0, 0.1], axis=1).max()
    assert np.max(np.linalg.norm(ours - theirs, axis=1)) < 0.03 * fall


def test_bad_input_is_refused_and_changes_nothing(slender, moving):
    moving.step(SIDEWAYS)
    before, velocities = moving.rod.strains.copy(), moving.velocities.copy()
    for wrong in (
        {"efforts": [-1.0, 0, 0, 0, 0, 0]},
        {"efforts": [1.0]},
        {"coordinates": [np.nan] * 6},
        {"efforts": np.zeros(6), "coordinates": np.zeros(6)},
        *({"dt": dt} for dt in (0.0, -0.01, np.nan, np.inf)),
    ):
        with pytest.raises(InputError):
            moving.step(SIDEWAYS, **wrong)
    with pytest.raises(InputError, match="gravity"):
        moving.step([0.0, np.inf, 0.0])
    np.testing.assert_array_equal(moving.rod.strains, before)
    np.testing.assert_array_equal(moving.velocities, velocities)
    for wrong in ({"dt": 0.0}, {"dt": 0.01, "mass_damping": -1.0}):
        with pytest.raises(InputError):
            RodDynamics(moving.rod, **wrong)
    with pytest.raises(UsageError, match="no dynamics 'soft'"):
        slender.build_dynamics(0.01, "soft")
