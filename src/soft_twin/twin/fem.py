"""The finite element twin of a body that cables pull: equilibria and exact sensitivities.

At positions x with tensions T the nodal forces f_ext − ∂W/∂x − Jᵀ T vanish, J = ∂ℓ/∂x being the gradients of the
cables' lengths. Newton's step with the tangent K = ∂²W/∂x² + Σ T ∂²ℓ/∂x² is linear in the new tensions,
dx = K⁻¹ (f_ext − ∂W/∂x) − K⁻¹ Jᵀ T: one factorisation and 1 + c right-hand sides give both the step and the
sensitivities (Coevoet et al. 2017; Lai et al. 2025, eq. 11). A cable is a unilateral spring: when the winch has
wound in d, T = k (ℓ − ℓ₀ + d)₊, so that d = ℓ₀ − ℓ + T/k.
"""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import ConvergenceError, InputError
from soft_twin.twin.base import Equilibrium, Linearisation, Twin, checked_vector
from soft_twin.twin.body import Body
from soft_twin.twin.cables import Cables
from soft_twin.twin.mesh import surface_triangles
from soft_twin.twin.qp import solve_box_qp
from soft_twin.twin.sections import section_normal, section_weights

LARGEST_STEP = 0.02  # [m] no node moves further in one Newton step of an equilibrium
SMALLEST_DETERMINANT = 0.05  # det F below which a step is refused
TOLERANCE = 1e-9  # of the loads, for the residual
ROUND_OFF = 1e-15  # of the elastic modulus times the squared length, likewise
LENGTH_TOLERANCE = 1e-9  # [m] for a cable's stretch
MAX_ITERATIONS = 100


class FemTwin(Twin):
    """See the module's docstring and Twin."""

    def __init__(self, body: Body, cables: Cables, length: float, cable_stiffness: float):
        """A twin of `length` [m] with cables of `cable_stiffness` [N/m]."""
        self.body, self.cables, self.length = body, cables, length
        self._give = 1.0 / cable_stiffness
        self._round_off = ROUND_OFF * body.energy_law.modulus * length**2
        self._matrix = body.new_factorisation()
        self._sections: dict[float, tuple[np.ndarray, np.ndarray]] = {}
        self._surface: np.ndarray | None = None
        self.reset()

    @property
    def cable_count(self) -> int:
        return self.cables.count

    def reset(self) -> None:
        self.points = self.body.mesh.nodes.copy()
        self.tensions = np.zeros(self.cable_count)

    def displacements(self) -> np.ndarray:
        return self._wound(self.tensions)

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
        return self._linearise(self.body.weight(checked_vector(gravity, 3, "gravity")))

    def advance(self, step: Linearisation, tensions: np.ndarray, largest_step: float) -> float:
        move = step.drift - step.pull @ tensions
        largest = float(np.sqrt((move**2).sum(axis=1).max()))
        fraction = min(1.0, largest_step / max(largest, 1e-300))
        self.points = self.points + fraction * move
        self.tensions = self.tensions + fraction * (tensions - self.tensions)
        return largest

    def equilibrium(
        self,
        gravity: np.ndarray,
        displacements: Sequence[float | None] | None = None,
        tensions: Sequence[float] | None = None,
    ) -> Equilibrium:
        weight = self.body.weight(checked_vector(gravity, 3, "gravity"))
        held, targets, loads = self._actuation(displacements, tensions)
        self.reset()
        history: list[float] = []
        cell = 0
        for iteration in range(MAX_ITERATIONS):
            step = self._linearise(weight)
            goal = loads.copy()
            goal[held] = self._holding_tensions(step, held, targets, loads)
            residual = self._residual(weight, goal)
            history.append(residual)
            missing = np.where(held, targets - self._wound(goal), 0.0)
            stretch_error = np.abs(np.where(goal > 0.0, missing, np.maximum(missing, 0.0))).max(initial=0.0)
            small = TOLERANCE * (np.linalg.norm(weight) + goal.sum()) + self._round_off
            if residual <= small and stretch_error <= LENGTH_TOLERANCE:
                self.tensions = goal
                return Equilibrium(
                    self.points.copy(), self.tip, self.displacements(), self.tensions.copy(), residual, iteration
                )
            cell = self._search(step, goal, weight, held, targets, loads)
        raise ConvergenceError(
            f"no equilibrium after {MAX_ITERATIONS} steps: the residual is {history[-1]:.3g} N, "
            f"cell {cell} is deformed most",
            tuple(history),
            cell,
        )

    def _actuation(self, displacements, tensions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which cables are held (c,), at what displacement (c,), and the tensions of the others (c,)."""
        c = self.cable_count
        if displacements is not None and tensions is not None:
            raise InputError("equilibrium: give displacements or tensions, not both")
        loads = np.zeros(c) if tensions is None else checked_vector(tensions, c, "tensions")
        if (loads < 0.0).any():
            raise InputError(f"tensions: {loads.tolist()} has a negative one, a cable never pushes")
        given = [None] * c if displacements is None else list(displacements)
        held = np.array([value is not None for value in given], dtype=bool)
        targets = checked_vector([0.0 if value is None else value for value in given], c, "displacements")
        return held, targets, loads

    def _wound(self, tensions: np.ndarray) -> np.ndarray:
        """Displacements (c,) that hold the current lengths at the given tensions [m]."""
        return self.cables.rest_lengths - self.cables.lengths(self.points) + self._give * tensions

    def _linearise(self, weight: np.ndarray) -> Linearisation:
        energy, force = self._assemble_tangent()
        unbalanced = weight - force
        lengths, gradients = self.cables.lengths_and_gradients(self.points)
        rest, pulls = self.body.free_values(unbalanced), self.body.free_values(gradients)
        self._matrix.factorise(self._assemble_tangent)
        solution = self._matrix.solve(np.column_stack([rest, pulls]))
        sensitivities = pulls.T @ solution
        steps = self.body.spread(solution)
        return Linearisation(
            drift=steps[:, :, 0],
            pull=steps[:, :, 1:],
            displacements=self.cables.rest_lengths - lengths,
            drift_displacements=-sensitivities[:, 0],
            compliance=sensitivities[:, 1:] + self._give * np.eye(self.cable_count),
            residual=float(np.linalg.norm(rest - pulls @ self.tensions)),
            energy=energy,
        )

    def _assemble_tangent(self) -> tuple[float, np.ndarray]:
        """Fill the matrix; elastic energy [J] and forces (n, 3) [N]."""
        energy, force, _, _ = self.body.assemble(self.points, self._matrix)
        self.cables.add_stiffness(self.points, self.tensions, self.body.place, self._matrix.rows)
        return energy, force

    def _residual(self, weight: np.ndarray, tensions: np.ndarray) -> float:
        unbalanced = weight - self.body.assemble(self.points)[1]
        unbalanced -= self.cables.lengths_and_gradients(self.points)[1] @ tensions
        return float(np.linalg.norm(self.body.free_values(unbalanced)))

    def _holding_tensions(self, step, held, targets, loads) -> np.ndarray:
        """Tensions of the held cables after the step: T ≥ 0, and the displacement is the target where T > 0."""
        before = step.displacements + step.drift_displacements + step.compliance[:, ~held] @ loads[~held]
        missing = (targets - before)[held]
        return solve_box_qp(step.compliance[np.ix_(held, held)], -missing, np.zeros(held.sum()), np.inf)

    def _search(self, step, goal, weight, held, targets, loads) -> int:
        """Take as much of the step as lowers the potential energy of body, loads and stretched cables.

        Returns the cell that is deformed most.
        """
        start, before = self.points, self.tensions

        def merit() -> tuple[float, float, int]:
            energy, _, determinant, cell = self.body.assemble(self.points)
            lengths = self.cables.lengths(self.points)
            stretch = np.maximum(lengths - (self.cables.rest_lengths - targets), 0.0)[held]
            work = (weight * (self.points - self.body.mesh.nodes)).sum()
            return energy - work + loads @ lengths + 0.5 / self._give * (stretch @ stretch), determinant, cell

        reference, _, _ = merit()
        largest = LARGEST_STEP
        for _ in range(30):
            self.points, self.tensions = start, before
            asked = self.advance(step, goal, largest)
            value, determinant, cell = merit()
            if determinant > SMALLEST_DETERMINANT and value <= reference + 1e-12 * (1.0 + abs(reference)):
                return cell
            largest = 0.5 * min(largest, asked)
        return cell
