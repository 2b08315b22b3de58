"""The finite element twin of a body that cables pull: equilibria and exact sensitivities.

At positions x with tensions T the nodal forces f_ext − ∂W/∂x − Jᵀ T vanish, J = ∂ℓ/∂x being the gradients of the
cables' lengths. Newton's step with the tangent K = ∂²W/∂x² + Σ T ∂²ℓ/∂x² is linear in the new tensions,
dx = K⁻¹ (f_ext − ∂W/∂x) − K⁻¹ Jᵀ T: one factorisation and 1 + c right-hand sides give both the step and the
sensitivities (Coevoet et al. 2017; Lai et al. 2025, eq. 11). A cable is a unilateral spring: when the winch has
wound in d, T = k (ℓ − ℓ₀ + d)₊, so that d = ℓ₀ − ℓ + T/k.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.twin.base import Linearisation, checked_vector
from soft_twin.twin.body import Body
from soft_twin.twin.cables import Cables
from soft_twin.twin.chord import PAUSE, Chord, is_good, largest_movement, product
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
        self._stations: dict[tuple[float, ...], csr_matrix] = {}
        self._surface: np.ndarray | None = None
        self.reset()

    def reset(self) -> None:
        self.points = self.body.mesh.nodes.copy()
        self.tensions = np.zeros(self.cable_count)
        self._chord: Chord | None = None
        self._moved, self._pause = 0.0, 0

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.points, self.tensions

    def restore(self, state: tuple[np.ndarray, np.ndarray]) -> None:
        self.points, self.tensions = state
        self._chord = None

    def lengths(self) -> np.ndarray:
        return self.cables.lengths(self.points)

    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        near, weights = self._section(z)
        return (weights @ field[near].reshape(len(near), -1)).reshape(field.shape[1:])

    def sections(self, heights: Sequence[float], field: np.ndarray) -> np.ndarray:
        key = tuple(heights)
        if key not in self._stations:
            self._stations[key] = csr_matrix(np.array([section_weights(self.body.mesh, z) for z in heights]))
        return self._stations[key] @ field

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
        self._chord = None
        return self._newton_step(checked_vector(gravity, 3, "gravity"), np.zeros((self.body.degrees_of_freedom, 0)))[0]

    def relinearise(self, gravity: np.ndarray) -> Linearisation:
        gravity = checked_vector(gravity, 3, "gravity")
        chord = self._chord
        step = None if chord is None else self._chord_step(chord, gravity)
        if step is not None:
            chord.used, chord.gravity = True, gravity
            return step
        self._pause = PAUSE if chord is not None and not chord.used else max(0, self._pause - 1)
        if self._pause > 0:
            return self.linearise(gravity)
        masses = np.multiply.outer(self.body.node_masses, np.eye(3))
        step, fall = self._newton_step(gravity, self.body.free_values(masses))
        self._chord = Chord(step.pull, self.body.spread(fall), gravity)
        return step

    def _newton_step(self, gravity: np.ndarray, further: np.ndarray) -> tuple[Linearisation, np.ndarray]:
        """The step, and K⁻¹ of `further` columns (dof, r)."""
        energy, force = self._assemble_tangent()
        lengths, gradients = self.cables.lengths_and_gradients(self.points)
        rest = self.body.free_values(self.body.weight(gravity) - force)
        pulls = self.body.free_values(gradients)
        right = np.column_stack([rest, pulls, further])
        solution = self._matrix.factorise_and_solve(self._assemble_tangent, right)
        solved, further = np.split(solution, [1 + self.cable_count], axis=1)
        sensitivities = pulls.T @ solved
        steps = self.body.spread(solved)
        step = Linearisation(
            drift=steps[:, :, 0],
            pull=np.ascontiguousarray(steps[:, :, 1:]),
            displacements=self.rest_lengths - lengths,
            drift_displacements=-sensitivities[:, 0],
            compliance=sensitivities[:, 1:] + self.give * np.eye(self.cable_count),
            residual=float(np.linalg.norm(rest - pulls @ self.tensions)),
            energy=energy,
        )
        return step, further

    def _chord_step(self, chord: Chord, gravity: np.ndarray) -> Linearisation | None:
        """The step with what was factorised before, or None where that is too old."""
        energy, force, _, _ = self.body.assemble(self.points)
        lengths, directions = self.cables.lengths_and_directions(self.points)
        unbalanced = self._unbalanced(gravity, force, directions, self.tensions)
        correction = self.body.spread(self._matrix.solve(unbalanced))
        if not is_good(chord.left_undone(correction, gravity), self._moved, self.length):  # not a number too
            return None
        drift = correction + product(chord.pull, self.tensions)
        return Linearisation(
            drift=drift,
            pull=chord.pull,
            displacements=self.rest_lengths - lengths,
            drift_displacements=-self.cables.changes(directions, drift[:, :, None])[:, 0],
            compliance=self.cables.changes(directions, chord.pull) + self.give * np.eye(self.cable_count),
            residual=float(np.linalg.norm(unbalanced)),
            energy=energy,
        )

    def _unbalanced(self, gravity, force, directions, tensions) -> np.ndarray:
        """Weight less elastic forces (n, 3) and what cables of these directions pull with: (dof,) [N]."""
        unbalanced = self.body.weight(gravity) - force
        self.cables.add_pull(directions, tensions, unbalanced)
        return self.body.free_values(unbalanced)

    def advance(self, step: Linearisation, tensions: np.ndarray, largest_step: float) -> float:
        move = step.drift - product(step.pull, tensions)
        largest = largest_movement(move)
        fraction = min(1.0, largest_step / max(largest, 1e-300))
        self.points = self.points + fraction * move
        self.tensions = self.tensions + fraction * (tensions - self.tensions)
        self._moved = fraction * largest
        return largest

    def residual(self, gravity: np.ndarray, tensions: np.ndarray) -> float:
        force, directions = self.body.assemble(self.points)[1], self.cables.lengths_and_directions(self.points)[1]
        return float(np.linalg.norm(self._unbalanced(gravity, force, directions, tensions)))

    @property
    def weakness(self) -> str:
        if self._matrix.shift == 0.0:
            return ""
        return "it buckles, or its elements move without energy, as those of a single column of hex20r do"

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
