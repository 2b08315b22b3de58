"""The finite element twin of a body that cables pull: equilibria and exact sensitivities.

At positions x with tensions T the nodal forces f_ext − ∂W/∂x − Jᵀ T vanish, J = ∂ℓ/∂x being the gradients of the
cables' lengths. Newton's step with the tangent K = ∂²W/∂x² + Σ T ∂²ℓ/∂x² is linear in the new tensions,
dx = K⁻¹ (f_ext − ∂W/∂x) − K⁻¹ Jᵀ T: one factorisation and 1 + c right-hand sides give both the step and the
sensitivities (Coevoet et al. 2017; Lai et al. 2025, eq. 11). A cable is a unilateral spring: when the winch has
wound in d, T = k (ℓ − ℓ₀ + d)₊, so that d = ℓ₀ − ℓ + T/k.
"""

import numpy as np

from soft_twin.twin.base import Linearisation, checked_vector
from soft_twin.twin.body import Body
from soft_twin.twin.cables import Cables
from soft_twin.twin.mesh import surface_triangles
from soft_twin.twin.sections import section_normal, section_weights
from soft_twin.twin.statics import StaticTwin

SMALLEST_DETERMINANT = 0.05  # det F below which a step is refused
ROUND_OFF = 1e-15  # of the elastic modulus times the squared length, for the residual


class FemTwin(StaticTwin):
    """See the module's docstring and Twin."""

    def __init__(self, body: Body, cables: Cables, length: float, cable_stiffness: float):
        """A twin of `length` [m] with cables of `cable_stiffness` [N/m]."""
        self.body, self.cables, self.length = body, cables, length
        self.rest_lengths, self.give = cables.rest_lengths, 1.0 / cable_stiffness
        self.round_off = ROUND_OFF * body.modulus * length**2
        self._matrix = body.new_factorisation()
        self._cable_addresses = self._matrix.addresses(cables.nodes)
        self._sections: dict[float, tuple[np.ndarray, np.ndarray]] = {}
        self._surface: np.ndarray | None = None
        self.reset()

    def reset(self) -> None:
        self.points = self.body.mesh.nodes.copy()
        self.tensions = np.zeros(self.cable_count)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.points, self.tensions

    def restore(self, state: tuple[np.ndarray, np.ndarray]) -> None:
        self.points, self.tensions = state

    def lengths(self) -> np.ndarray:
        return self.cables.lengths(self.points)

    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        near, weights = self._section(z)
        return (weights @ field[near].reshape(len(near), -1)).reshape(field.shape[1:])

    def _section(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes near the section at z [m] and their weights."""
        if z not in self._sections:
            weights = section_weights(self.body.mesh, z)
            near = np.flatnonzero(weights)
            self._sections[z] = near, weights[near]
        return self._sections[z]

    def section_normal(self, z: float) -> np.ndarray:
        return section_normal(self.body.mesh, self.points, self._section(z)[0])

    @property
    def surface(self) -> np.ndarray:
        if self._surface is None:
            self._surface = surface_triangles(self.body.mesh)
        return self._surface

    def linearise(self, gravity: np.ndarray) -> Linearisation:
        weight = self.body.weight(checked_vector(gravity, 3, "gravity"))
        energy, force = self._assemble_tangent()
        unbalanced = weight - force
        lengths, gradients = self.cables.lengths_and_gradients(self.points)
        rest, pulls = self.body.free_values(unbalanced), self.body.free_values(gradients)
        solution = self._matrix.factorise_and_solve(self._assemble_tangent, np.column_stack([rest, pulls]))
        sensitivities = pulls.T @ solution
        steps = self.body.spread(solution)
        return Linearisation(
            drift=steps[:, :, 0],
            pull=steps[:, :, 1:],
            displacements=self.rest_lengths - lengths,
            drift_displacements=-sensitivities[:, 0],
            compliance=sensitivities[:, 1:] + self.give * np.eye(self.cable_count),
            residual=float(np.linalg.norm(rest - pulls @ self.tensions)),
            energy=energy,
        )

    def advance(self, step: Linearisation, tensions: np.ndarray, largest_step: float) -> float:
        move = step.drift - step.pull @ tensions
        largest = float(np.sqrt((move**2).sum(axis=1).max()))
        fraction = min(1.0, largest_step / max(largest, 1e-300))
        self.points = self.points + fraction * move
        self.tensions = self.tensions + fraction * (tensions - self.tensions)
        return largest

    def residual(self, gravity: np.ndarray, tensions: np.ndarray) -> float:
        unbalanced = self.body.weight(gravity) - self.body.assemble(self.points)[1]
        unbalanced -= self.cables.lengths_and_gradients(self.points)[1] @ tensions
        return float(np.linalg.norm(self.body.free_values(unbalanced)))

    def weight_norm(self, gravity: np.ndarray) -> float:
        return float(np.linalg.norm(self.body.weight(gravity)))

    def potential(self, gravity: np.ndarray) -> tuple[float, bool, int]:
        energy, _, determinant, cell = self.body.assemble(self.points)
        work = (self.body.weight(gravity) * (self.points - self.body.mesh.nodes)).sum()
        return energy - work, determinant > SMALLEST_DETERMINANT, cell

    def _assemble_tangent(self) -> tuple[float, np.ndarray]:
        """Fill the matrix; elastic energy [J] and forces (n, 3) [N]."""
        energy, force, _, _ = self.body.assemble(self.points, self._matrix)
        self.cables.add_stiffness(self.points, self.tensions, *self._cable_addresses, self._matrix.data)
        return energy, force
