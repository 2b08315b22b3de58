"""Young's modulus from a photograph of a body that sags: a loss, its exact gradient, and few solves."""

import numpy as np
from scipy.optimize import minimize

from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.solvers.derivatives.derivatives import gradient
from soft_twin.solvers.derivatives.parameters import Elastic
from soft_twin.solvers.equilibrium import equilibrium

TRUE, GUESS, NOISE = 6.2e5, 2e5, 3e-4  # [Pa], [Pa], [m]

tube = sweep_tube(0.0015, 0.0045, 0.1, (1, 6, 8))


def hanging(young_modulus):
    """The tube under gravity, what it is made of, and its equilibrium."""
    material = Material(energy_named("stable_neo_hookean", young_modulus, 0.45), 1100.0)
    model = Model(Body(tube, material, "base"), [Gravity([0.0, -9.81, 0.0])])
    return model, material, equilibrium(model)


seen = np.unique(tube.surfaces["outside"])  # what a camera sees of it
photograph = hanging(TRUE)[2].pose.points[seen] + NOISE * np.random.default_rng(0).normal(size=(len(seen), 3))


def loss(logarithm):
    """½ Σ |x − photograph|² [mm²], and its derivative by log E."""
    model, material, solved = hanging(np.exp(logarithm[0]))
    away = np.zeros_like(solved.pose.points)
    away[seen] = solved.pose.points[seen] - photograph
    slope = gradient(model, solved, away, [Elastic(material, "young_modulus")])[0]
    return 1e6 * 0.5 * (away**2).sum(), [1e6 * slope * np.exp(logarithm[0])]


found = minimize(loss, [np.log(GUESS)], jac=True, method="BFGS", options={"gtol": 1e-2})
print(f"{found.nfev} solves, from E = {1e-6 * GUESS:.3f} MPa")
print(f"found: {1e-6 * np.exp(found.x[0]):.4f} MPa")
print(f"true: {1e-6 * TRUE:.4f} MPa")
print(f"noise left: {1e-3 * np.sqrt(2 * found.fun / (3 * len(seen))) * 1e3:.3f} mm")
