"""Sensitivities of a whole motion: those of differences, and of the adjoint."""

import numpy as np
import pytest

from soft_twin.errors import UsageError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.derivatives.derivatives import record, trajectory_gradient
from soft_twin.solvers.derivatives.forward import trajectory_sensitivities
from soft_twin.solvers.derivatives.parameters import Attribute, Density, Elastic
from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson

STEPS = 6


def beam(plates=()):
    mesh = voxel_mesh(np.ones((3, 1, 1), bool), np.full(3, 0.02), "hex8")
    material = Material(energy_named("corotational", 0.1e6, 0.4), 1000.0)
    gravity = Gravity()
    gravity.vector = np.array([0.0, 0.0, -9.81])
    return Model(Body(mesh, material, mesh.nodes[:, 0] < 1e-9), [gravity], list(plates)), material


@pytest.mark.parametrize("scheme", [BackwardEuler, CrankNicolson])
def test_they_are_those_of_differences_and_of_the_adjoint(scheme):
    model, material = beam()
    integrator = scheme(model, 0.01, mass_damping=2.0, stiffness_damping=0.02)
    parameters = [
        Elastic(material, "young_modulus"),
        Density(model, material),
        Attribute(integrator, "mass_damping"),
        Attribute(integrator, "stiffness_damping"),
        Attribute(model.forces[0], "vector", 2),
    ]

    def moments():
        integrator.restart(model.rest, np.zeros_like(model.rest.points), 0.0)
        return record(integrator, STEPS)

    def points():
        return np.array([moment.solved.pose.points for moment in moments()])

    recorded = moments()
    found = trajectory_sensitivities(integrator, recorded, parameters)
    assert found.shape == (STEPS, *model.rest.points.shape, 5)
    objective = np.random.default_rng(0).normal(size=found.shape[:3])
    adjoint = trajectory_gradient(integrator, recorded, objective, parameters)
    np.testing.assert_allclose(np.einsum("tni,tnip->p", objective, found), adjoint, rtol=1e-6)
    for k, parameter in enumerate(parameters):
        differences = parameter.differences(points)
        np.testing.assert_allclose(found[..., k], differences, atol=1e-6 * np.abs(differences).max())


def test_plates_are_refused():
    free, _ = beam()
    model, material = beam([RigidPlate(np.flatnonzero(free.rest.points[:, 0] > 0.059))])
    integrator = BackwardEuler(model, 0.01)
    with pytest.raises(UsageError, match="plates or driven actuators are known: calibrate a body without them"):
        trajectory_sensitivities(integrator, record(integrator, 1), [Density(model, material)])
