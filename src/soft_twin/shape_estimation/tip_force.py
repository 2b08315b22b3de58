"""The energy estimator for loaded arms: the force at the tip is unknown too.

At the right force the measured inclinations cost nothing: ∂E/∂φ vanishes. With g = ∂E/∂φ at the constrained minimum
and S its total derivative (the Hessian, positions and yaws eliminated), S⁻¹ g says how far the inclinations are from
the equilibrium that the model predicts. The force minimises a least squares of g in which an inclination's noise and
the model's own error in a strut's moment both count: Σ = σ_φ² S Sᵀ + σ_g² I.
"""

import numpy as np

from soft_twin.checks import check_positive, checked_count
from soft_twin.shape_estimation.estimator import EnergyEstimator
from soft_twin.shape_estimation.faults import Situation
from soft_twin.shape_estimation.readings import Readings
from soft_twin.twins.tensegrity.model import ArmModel
from soft_twin.twins.tensegrity.newton import Laws, Minimum, StrutPlacement, Surroundings
from soft_twin.twins.tensegrity.sensitivity import inclination_sensitivity
from soft_twin.twins.tensegrity.shape import Shape


class TipForceEstimator(EnergyEstimator):
    """The energy estimator with a tip force that the inclinations reveal.

    Args:
        model: of the arm.
        inclination_noise: σ_φ, standard deviation of an inclination [rad].
        moment_error: σ_g, standard deviation of the model's error in a strut's moment divided by its length [N].
        force_scale: standard deviation of the force before anything was measured [N].
        rounds: Gauss–Newton steps of a cold start at most; a warm update makes one.
        tries, tolerance: as in EnergyEstimator.
    """

    def __init__(
        self, model: ArmModel, inclination_noise: float = 0.0122, moment_error: float = 1.0,
        force_scale: float = 5.0, rounds: int = 12, **choices,
    ):  # fmt: skip
        self.moment_error = moment_error
        self.force_scale = force_scale
        self.rounds = checked_count(rounds, "rounds")
        check_positive(moment_error, "moment_error", "N")
        check_positive(force_scale, "force_scale", "N")
        super().__init__(model, inclination_noise=inclination_noise, **choices)

    def _forget(self) -> None:
        super()._forget()
        self._force = np.zeros(3)

    def _estimate(self, readings: Readings) -> Shape:
        self._select(readings.measured)
        laws = self.model.laws.at(readings.pressures)
        cold = self._situation is None
        minimum = self._solve(readings, laws, self._around())
        iterations = minimum.iterations
        for _ in range(self.rounds if cold or not self._tracked else 1):
            step = self._force_step(minimum.pose, readings.measured, laws)
            self._force += step
            minimum = self._solve(readings, laws, self._around())
            iterations += minimum.iterations
            if np.abs(step).max() < 1e-3:
                break
        return self._shape(minimum, laws, readings, tip_force=self._force.copy(), iterations=iterations)

    def _around(self) -> Surroundings:
        return Surroundings.of_loads(self.model.loads(self._force))

    def settle(self, situation: Situation, factor: np.ndarray | None = None) -> Minimum:
        """As `enforce`: the force's least squares has the inclinations' noise in it."""
        return self.enforce(situation, factor)

    def _force_step(self, pose: StrutPlacement, measured: np.ndarray, laws: Laws) -> np.ndarray:
        """The Gauss–Newton step of the force (3,) in base_link [N]."""
        found = inclination_sensitivity(self.minimiser, self.all_free, pose, measured, laws, self._around())
        by_force = found.by_load @ self._tip_spread()
        noise = (self.inclination_noise * self.model.structure.strut_lengths[measured].mean()) ** 2
        weight = np.linalg.inv(
            noise * found.stiffness @ found.stiffness.T + self.moment_error**2 * np.eye(len(by_force))
        )
        prior = np.eye(3) / self.force_scale**2
        normal = by_force.T @ weight @ by_force + prior
        return -np.linalg.solve(normal, by_force.T @ weight @ found.moments + prior @ self._force)

    def _tip_spread(self) -> np.ndarray:
        """(6 s, 3) nodes' loads of a unit tip force in base_link."""
        spread = np.zeros((2 * self.model.structure.strut_count, 3, 3))
        tip = self.model.structure.top_nodes
        spread[tip] = self.model.level / len(tip)
        return spread.reshape(-1, 3)
