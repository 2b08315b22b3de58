"""A relaxing body against the standard linear solid of one degree of freedom."""

import numpy as np
import pytest
from bodies import body_of, distorted_block
from scipy.linalg import expm

from soft_twin.errors import InputError, UsageError
from soft_twin.mechanics.loads import NodalLoad
from soft_twin.mechanics.model import Model
from soft_twin.solvers import equilibrium as solve
from soft_twin.solvers.derivatives.derivatives import record, trajectory_gradient
from soft_twin.solvers.derivatives.parameters import Attribute, Elastic
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import CrankNicolson
from soft_twin.solvers.time.relaxation import RelaxingCrankNicolson

SHARE, TIME = 0.5, 0.3


def loaded(law="linear"):
    body = body_of(distorted_block("hex8"), density=1.0, law=law)
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 2.0 - 1e-9)
    return Model(body, [NodalLoad(top, [0.0, 0.0, 20.0])])


def test_every_mode_is_a_standard_linear_solid():
    """All modes of a linear body under a constant load: u̇ = v, v̇ = ω² (ū − u) − q, q̇ = γ ω² u̇ − q/τ."""
    model = loaded()
    integrator = RelaxingCrankNicolson(model, 0.002, SHARE, TIME)
    found = [integrator.step().pose.points - model.rest.points for _ in range(250)]
    static = equilibrium(model).pose.points - model.rest.points
    mass, weights = model.mass.diagonal()[:, None], static  # the mean by the load's own work
    shapes, squares = _modes(model)
    start = np.einsum("pni,ni->p", shapes, mass * static)
    expected = np.zeros_like(np.array(found))
    for shape, square, amplitude in zip(shapes, squares, start, strict=True):
        if abs(amplitude) > 1e-9:
            expected += _oscillation(square, amplitude, 0.002, 250)[:, None, None] * shape
    along = np.einsum("tni,ni->t", np.array(found) - expected, mass * weights)
    assert np.abs(along).max() < 0.02 * np.einsum("ni,ni->", static, mass * weights)


def _modes(model):
    n = model.rest.points.size
    x, free = model.rest.points, np.repeat(model.body.place >= 0, 3)
    unit = np.eye(n)[free].reshape(-1, *x.shape)
    K = np.array([model.body.assemble(x + each)[1].ravel()[free].copy() for each in unit])
    root = np.sqrt(np.repeat(model.mass.diagonal(), 3)[free])
    squares, vectors = np.linalg.eigh(0.5 * (K + K.T) / np.outer(root, root))
    shapes = np.zeros((len(squares), n))
    shapes[:, free] = (vectors / root[:, None]).T
    return shapes.reshape(-1, *x.shape), squares


def _oscillation(square, amplitude, dt, count):
    """(count,) u after each step, from rest; the load is a fourth state, which stays 1."""
    rates = [
        [0.0, 1.0, 0.0, 0.0],
        [-square, 0.0, -1.0, square * amplitude],
        [0.0, SHARE * square, -1.0 / TIME, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    one_step, state, found = expm(dt * np.array(rates)), np.array([0.0, 0.0, 0.0, 1.0]), np.empty(count)
    for k in range(count):
        state = one_step @ state
        found[k] = state[0]
    return found


def test_rest_is_the_elastic_one_and_no_share_is_crank_nicolson():
    model = loaded("corotational")
    relaxing = RelaxingCrankNicolson(model, 0.05, SHARE, TIME, mass_damping=20.0)
    relaxing.advance(8.0)
    static = equilibrium(model).pose.points
    assert np.abs(relaxing.pose.points - static).max() < 1e-3 * np.abs(static - model.rest.points).max()
    assert np.abs(relaxing.overstress).max() < 1e-3 * 20.0
    plain, none = CrankNicolson(model, 0.01), RelaxingCrankNicolson(model, 0.01, 0.0, TIME)
    plain.advance(0.1)
    none.advance(0.1)
    assert np.allclose(plain.pose.points, none.pose.points)


def test_what_a_relaxing_body_cannot_do_is_refused():
    model = loaded()
    for share, time in ((-0.1, 1.0), (0.1, 0.0)):
        with pytest.raises(InputError, match="relaxation"):
            RelaxingCrankNicolson(model, 0.01, share, time)
    integrator = RelaxingCrankNicolson(model, 0.01, SHARE, TIME)
    with pytest.raises(UsageError, match="no tolerance"):
        integrator.advance(0.1, tolerance=1e-3)


def test_gradients_through_time(monkeypatch):
    """By the load, and by what the material and its relaxation are, one step as long as the relaxation."""
    monkeypatch.setattr(solve, "TOLERANCE", 1e-12)
    model = loaded("neo_hookean")
    integrator = RelaxingCrankNicolson(model, 0.1, SHARE, TIME, mass_damping=2.0, stiffness_damping=1e-3)
    start = integrator.pose, integrator.velocities, 0.0
    parameters = [
        Attribute(model.forces[0], "value", 2),
        Elastic(model.body.parts[0].material, "young_modulus"),
        Attribute(integrator, "share"),
        Attribute(integrator, "relaxation_time"),
    ]
    objective = np.random.default_rng(2).normal(size=(4, *model.rest.points.shape))

    def value():
        integrator.restart(*start)
        return float((objective * np.array([moment.solved.pose.points for moment in record(integrator, 4)])).sum())

    expected = [parameter.differences(value) for parameter in parameters]
    integrator.restart(*start)
    moments = record(integrator, 4)
    overstress = integrator.overstress
    assert trajectory_gradient(integrator, moments, objective, parameters) == pytest.approx(expected, rel=1e-6)
    assert np.array_equal(integrator.overstress, overstress)


def test_gradients_through_time_of_another_integrator_are_refused():
    class Other(CrankNicolson):
        differentiable = False

    with pytest.raises(UsageError, match="the steps of a Other"):
        trajectory_gradient(Other(loaded(), 0.01), [], np.zeros((0, 1, 3)), [])


def test_recorded_steps_go_on_from_the_overstress_that_there_is():
    found = []
    for actuate in ([], [lambda time: None]):
        integrator = RelaxingCrankNicolson(loaded(), 0.01, SHARE, TIME)
        for _ in range(5):
            integrator.step()
        found.append(record(integrator, 3, *actuate)[-1].solved.pose.points)
    np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-9)
