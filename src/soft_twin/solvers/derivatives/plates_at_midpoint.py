"""Derivatives of what balances rigid plates in a step of Crank–Nicolson (see `integrators.CrankNicolson`).

With b = ∂Φ/∂x − Jᵀ λ, the forces balance at the midpoint, F = T_mᵀ b = 0, where the arms of T_m are ½ (r₀ + r₁). Of
the moment about an axis e that is Σ r₁ × b · e − w·b, with w = ½ e × (r₁ − r₀) at the plate's nodes. So the unknowns'
Hessian K, which has Σ r₁ × b for its moments, and of their derivative the symmetric part, loses in the row of e

    wᵀ (∂b/∂x) T + ½ Σ dr₁·(b × e) − ½ (M × e)·dω,    M = Σ r₁ × b,

and by what lies before the step, F has ½ Σ dr₀·(b × e) more. Arms do not change where a plate moves as a whole: of the
forces ½ b × e, their mean is taken away.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.mechanics.model import Model
from soft_twin.mechanics.unknowns import Pose


@dataclass(frozen=True)
class PlatesAtMidpoint:
    """A step whose plates' forces balance at its midpoint.

    Attributes:
        before, after: where everything was and is.
        balance: b (n, 3) [N].
    """

    model: Model
    before: Pose
    after: Pose
    balance: np.ndarray

    @property
    def testing(self) -> csr_matrix:
        """T_m (3 n, size)."""
        return self.model.unknowns.transform(midpoint(self.before, self.after))

    @property
    def turned(self) -> np.ndarray:
        """w (3 p, n, 3) [m] of each axis of each plate."""
        return self._of_axes(lambda plate, axis: 0.5 * np.cross(axis, self._arms(plate)[1] - self._arms(plate)[0]))

    @property
    def pulled(self) -> np.ndarray:
        """½ b × e (3 p, n, 3) [N] of each axis of each plate, without the mean of its nodes."""

        def forces(plate: int, axis: np.ndarray) -> np.ndarray:
            own = 0.5 * np.cross(self.balance[self.model.unknowns.plates[plate]], axis)
            return own - own.mean(axis=0)

        return self._of_axes(forces)

    @property
    def rotations(self) -> np.ndarray:
        """(3 p, size) the plates' rotations among the unknowns."""
        unknowns = self.model.unknowns
        return np.eye(unknowns.size)[unknowns.rotations.ravel()]

    def lost(self, products: np.ndarray) -> np.ndarray:
        """(3 p, size) what K loses, of the products wᵀ ∂b/∂x (3 p, n, 3)."""
        transform = self.model.unknowns.transform(self.after)
        fields = (products + self.pulled).reshape(len(products), -1)
        lost, places = (transform.T @ fields.T).T, self.model.unknowns.rotations
        for plate, nodes in enumerate(self.model.unknowns.plates):
            moment = np.cross(self._arms(plate)[1], self.balance[nodes]).sum(axis=0)
            lost[3 * plate : 3 * plate + 3, places[plate]] -= 0.5 * np.cross(moment, np.eye(3))
        return lost

    def _arms(self, plate: int) -> tuple[np.ndarray, np.ndarray]:
        nodes = self.model.unknowns.plates[plate]
        return tuple(pose.points[nodes] - pose.centres[plate] for pose in (self.before, self.after))

    def _of_axes(self, field) -> np.ndarray:
        result = np.zeros((len(self.model.unknowns.plates), 3, *self.balance.shape))
        for plate, nodes in enumerate(self.model.unknowns.plates):
            for axis in range(3):
                result[plate, axis, nodes] = field(plate, np.eye(3)[axis])
        return result.reshape(-1, *self.balance.shape)


def midpoint(before: Pose, after: Pose) -> Pose:
    """Where a plate's arms are halfway between two poses: it is not rigid there."""
    return Pose(
        0.5 * (before.points + after.points),
        0.5 * (before.centres + after.centres),
        0.5 * (before.rotations + after.rotations),
    )
