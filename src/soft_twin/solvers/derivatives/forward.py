"""Exact derivatives of a whole motion by a few parameters, from the first step to the last.

With R(x₁; x₀, v₀, θ) = 0 in each step, K = ∂R/∂x₁, and v₁ = s (x₁ − x₀)/h − k v₀,

    K dx₁ = −∂R/∂θ − ∂R/∂x₀ dx₀ − ∂R/∂v₀ dv₀,      ∂R/∂v₀ = −s M/h,
    ∂R/∂x₀ = −(s/h² + α/h) M − a ∂²W/∂x₀² − b ∂F/∂x₀,   a and b of `Integrator.forces_at_start`.

One factorisation a step gives the derivatives of everything, everywhere, by all parameters: what least squares want.
For a single objective, or with contacts and plates, take `trajectory_gradient`.
"""

from collections.abc import Sequence

import numpy as np

from soft_twin.checks import checked_list
from soft_twin.errors import UsageError
from soft_twin.solvers.derivatives.derivatives import (
    Moment,
    _by_parameters,
    _factorised,
    _set_state,
    _state,
    _stiffness_products,
)
from soft_twin.solvers.derivatives.parameters import Parameter
from soft_twin.solvers.time.integrators import Integrator

OTHERS = (
    "no sensitivities of motions with contacts, plates or driven actuators are known: calibrate a body without them; "
    "trajectory_gradient, of the library, knows the slopes of one quantity"
)


def trajectory_sensitivities(
    integrator: Integrator, moments: Sequence[Moment], parameters: Sequence[Parameter]
) -> np.ndarray:
    """dx/dθ (steps, n, 3, p) at the end of each recorded step; the state before the first is held fixed.

    The integrator is left at the last state.

    Raises:
        InputError: the model is not as it was in one of the steps, or what are no parameters.
        UsageError: of this kind of integrator, or with constraints at work, no such derivatives are known.
    """
    parameters = checked_list(parameters, Parameter, "parameters, such as an Attribute", "parameters")
    if not integrator.differentiable or integrator.newton_steps is not None or integrator.overstress is not None:
        raise UsageError(f"no sensitivities through the steps of this {type(integrator).__name__} are known")
    if integrator.model.unknowns.plates:
        raise UsageError(OTHERS)
    end, shape = _state(integrator), (*integrator.pose.points.shape, len(parameters))
    moved, speeds, result = np.zeros(shape), np.zeros(shape), []
    for moment in moments:
        moved, speeds = _through(integrator, moment, parameters, moved, speeds)
        result.append(moved)
    _set_state(integrator, *end)
    return np.array(result)


def _through(integrator: Integrator, moment: Moment, parameters: Sequence[Parameter], moved, speeds):
    """dx₁ and dv₁ (n, 3, p) after a step, of dx₀ and dv₀ before it."""
    model, (scale, keep) = integrator.model, integrator.velocity_factors

    def increment():
        _set_state(integrator, moment.pose, moment.velocities, moment.time, None)
        return integrator.increment(moment.dt)

    system = _factorised(model, moment.solved, increment())
    if len(system.rows.compliance):
        raise UsageError(OTHERS)
    slopes = _by_parameters(model, moment.solved, system, parameters, increment, moment.time + moment.dt)
    right = slopes.gradients + _by_start(integrator, moment, moved, speeds).reshape(moved.size // moved.shape[2], -1)
    step, _ = system.solve(-(system.testing.T @ right), slopes.gaps)
    after = (system.transform @ step + slopes.moves).reshape(moved.shape)
    faster = scale / moment.dt * (after - moved) - keep * speeds
    faster[integrator.followed] = 0.0  # functions of time and parameters, which the step is made anew with
    return after, faster


def _by_start(integrator: Integrator, moment: Moment, moved: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """(n, 3, p) ∂R/∂x₀ dx₀ + ∂R/∂v₀ dv₀."""
    dt, model, scale = moment.dt, integrator.model, integrator.velocity_factors[0]
    of_elastic, of_loads = integrator.forces_at_start(dt)
    inertia = scale / dt**2 * moved + scale / dt * speeds
    inertia[integrator.followed] = 0.0
    pushed = inertia + integrator.mass_damping / dt * moved
    result = -(model.mass @ pushed.reshape(len(pushed), -1)).reshape(moved.shape)
    for k in range(moved.shape[2]):
        elastic, loads = _stiffness_products(model, moment.pose.points, moved[:, :, k])
        result[:, :, k] -= of_elastic * elastic + of_loads * loads
    return result
