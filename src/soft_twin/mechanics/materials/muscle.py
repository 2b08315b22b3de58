"""Muscles: fibres in a solid that shorten when they are activated."""

import copy

import numpy as np

from soft_twin.checks import checked_number, checked_numbers
from soft_twin.errors import InputError, MaterialError
from soft_twin.linear_algebra.compiled import kernel, part
from soft_twin.mechanics.materials.assembly import VECTOR, deformation_gradients, scatter_products
from soft_twin.mechanics.materials.base import NO_ADDRESSES, NO_DATA, Energy
from soft_twin.mechanics.materials.tensors import IDENTITY

SHORTEST = np.finfo(float).tiny  # length of a fibre


class Muscle(Energy):
    """W = k/2 (‖F m‖ − (1 − a))²: fibres along m with stiffness k [Pa], which activation a makes shorter by a share a.

    It acts beside a solid: `solid + muscle`, or two materials of one volume. a = 0 is at rest where the solid is,
    a > 0 contracts, a < 0 expands.

    SORS, eq. 16, has W = k/2 ‖(1 − a) F m‖² instead. Its minimum is F m = 0 whatever a is; its stress
    k (1 − a)² F m ⊗ m pulls at rest too, and pulls less the more it is activated. Here the stress is
    k (‖F m‖ − (1 − a)) n ⊗ m with n = F m/‖F m‖: none at ‖F m‖ = 1 − a, and more of it with more a.

    Where fibres are longer than they want to be the tangent is positive; shorter ones buckle, which the solid prevents.

    Attributes:
        activation: a, one number or one of each cell of the mesh (m,); may be set at any time.
    """

    _name = "muscle"
    _pushes = True  # where it is shorter than it wants to be

    def __init__(self, stiffness: float, direction: np.ndarray, activation: float | np.ndarray = 0.0):
        """`direction`: m (3,), or (m, 3) one of each cell of the mesh; its length does not matter.

        Raises:
            InputError: what are no numbers, or an activation that is not finite.
            MaterialError: k is not positive and finite, or a direction has no length.
        """
        direction = checked_numbers(direction, "numbers (3,) or (cells, 3)", f"{self._name}'s direction")
        stiffness = checked_number(stiffness, f"{self._name}'s stiffness", "Pa")
        length = np.linalg.norm(direction, axis=-1, keepdims=True)
        if not 0.0 < stiffness < np.inf:
            raise MaterialError(f"{self._name}: stiffness {stiffness:g} Pa is not positive and finite")
        if direction.shape[-1:] != (3,) or direction.ndim > 2 or not ((length > 0.0) & (length < np.inf)).all():
            raise MaterialError(
                f"{self._name}: expected directions (3,) or (cells, 3) that are not zero, found {direction}"
            )
        self.stiffness, self.direction = stiffness, direction / length
        self.activation = activation

    @property
    def activation(self) -> float | np.ndarray:
        return self._activation

    @activation.setter
    def activation(self, value: float | np.ndarray) -> None:
        if not np.isfinite(checked_numbers(value, "a number, or one of each cell", f"{self._name}'s activation")).all():
            raise InputError(f"{self._name}: activation {value} is not finite")
        self._activation = value

    @property
    def modulus(self) -> float:
        """How stiff the fibres are [Pa], whatever their directions."""
        return self.stiffness

    def at(self, cells):
        if self.direction.ndim == 1 and np.ndim(self._activation) == 0:
            return self
        own = copy.copy(self)
        if self.direction.ndim == 2:
            own.direction = self._of_cells("directions", self.direction, cells)
        if np.ndim(self._activation) == 1:
            own.activation = self._of_cells("activations", np.asarray(self._activation), cells)
        return own

    def _of_cells(self, what: str, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        if len(cells) and len(values) <= cells.max():
            raise InputError(f"{self._name}: {len(values)} {what} for a mesh with a cell {cells.max()}")
        return values[cells]

    def energy(self, F):
        return 0.5 * self.stiffness * self._fibres(F)[3] ** 2

    def stress(self, F):
        m, n, _, stretch = self._fibres(F)
        return self.stiffness * stretch[:, None, None] * n[:, :, None] * m[:, None, :]

    def tangent(self, F):
        m, n, length, stretch = self._fibres(F)
        along = n[:, :, None] * n[:, None, :]
        across = (stretch / length)[:, None, None] * (IDENTITY - along)
        return self.stiffness * np.einsum("pik,pj,pl->pijkl", along + across, m, m)

    def assemble(self, x, cells, gradients, volumes, force, offsets=NO_ADDRESSES, strides=NO_ADDRESSES, data=NO_DATA):
        """See `Energy.assemble`. With c = m · ∂N/∂X, a node's share of F m, the stiffness between two nodes is
        V cₐ cᵦ ∂(k stretch n)/∂(F m): a twentieth of the work that a tangent of 81 numbers makes."""
        F = np.empty((*volumes.shape, 3, 3))
        determinants = deformation_gradients(x, cells, gradients, F)
        directions = np.ascontiguousarray(np.broadcast_to(self.direction, (len(cells), 3)))
        lengths = 1.0 - np.broadcast_to(np.asarray(self._activation, dtype=float), len(cells))
        law = directions, np.ascontiguousarray(lengths), self.stiffness, self._pushes
        energy = _assemble(cells, gradients, volumes, F, *law, force, offsets, strides, data)
        worst = int(determinants.min(axis=1).argmin())
        return energy, float(determinants[worst].min()), worst

    def activation_stress(self, F: np.ndarray) -> np.ndarray:
        """∂P/∂a (p, 3, 3) [Pa]: k n ⊗ m."""
        m, n, _, _ = self._fibres(F)
        return self.stiffness * n[:, :, None] * m[:, None, :]

    def _fibres(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """m (p, 3), n (p, 3), ‖F m‖ (p,) and ‖F m‖ − (1 − a) (p,) at points F."""
        m = _at_points(self.direction, len(F), 2)
        fibre = np.einsum("pij,pj->pi", F, m)
        length = np.maximum(np.linalg.norm(fibre, axis=1), SHORTEST)
        rest = 1.0 - _at_points(np.asarray(self._activation), len(F), 1)
        return m, fibre / length[:, None], length, length - rest


def _at_points(values: np.ndarray, count: int, ndim: int) -> np.ndarray:
    """Values of the law or of each cell at `count` points, those of a cell one after the other."""
    if values.ndim < ndim:
        return np.broadcast_to(values, (count, *values.shape))
    return np.repeat(values, count // len(values), axis=0)


@part()
def _new_products(k, q):
    """As `assembly.new_rows`, where a point has one number of each node, not three; the depth is a multiple of 3."""
    depth = 3 * ((q + 2) // 3)
    width = VECTOR * ((k + VECTOR - 1) // VECTOR)
    return np.empty((k, 9, width)), np.zeros((depth, width)), np.zeros((k, 9, depth))


@kernel(fastmath={"contract"})
def _assemble(cells, gradients, volumes, F, directions, lengths, stiffness, pushes, force, offsets, strides, data):
    """Energy of threads along `directions` (m, 3) that want to be `lengths` (m,) of what they were, whose forces and,
    unless `offsets` is empty, stiffness are added; those that do not push are slack where they are shorter."""
    (m, q), k = volumes.shape, cells.shape[1]
    n, B, energy = np.empty(3), np.empty((3, 3)), 0.0
    K, G, M = _new_products(k, q)
    for e in range(m):
        taut = False
        for p in range(q):
            along, A = directions[e], F[e, p]
            for i in range(3):
                n[i] = A[i, 0] * along[0] + A[i, 1] * along[1] + A[i, 2] * along[2]
            length = max(np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), SHORTEST)
            stretch = length - lengths[e]
            pulls = pushes or stretch > 0.0
            taut = taut or pulls
            weight = stiffness * volumes[e, p] if pulls else 0.0
            energy += 0.5 * weight * stretch * stretch
            across = stretch / length
            for i in range(3):
                n[i] /= length
            for i in range(3):
                for j in range(3):
                    B[i, j] = weight * (1.0 - across) * n[i] * n[j]
                B[i, i] += weight * across
            for a in range(k):
                g = gradients[e, p, a]
                share = g[0] * along[0] + g[1] * along[1] + g[2] * along[2]
                for i in range(3):
                    force[cells[e, a], i] += weight * stretch * share * n[i]
                if len(offsets):
                    G[p, a] = share
                    for i in range(3):
                        for j in range(3):
                            M[a, 3 * i + j, p] = share * B[i, j]
        if taut and len(offsets):
            scatter_products(K, G, M, offsets[e], strides[e], data)
    return energy
