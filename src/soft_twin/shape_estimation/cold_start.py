"""Finding the shape from nothing: yaws of all struts from their inclinations alone.

With force densities w = T/m instead of the members' laws the energy is ½ Σ w |x_a − x_c|², quadratic in the struts'
positions, which are eliminated. What is left is an XY model in the yaws, E(θ) = Σ_{i<j} Q_ij s_i s_j cos(θ_i − θ_j) +
Σ s_i l_i·e(θ_i), with s = sin(inclination) and the anchors in l. Lifting each direction e(θ_i) from the circle to the
sphere opens ways around the circle's poor minima; block descent there, rounding back to the circle, and block descent
on the circle give a start from which Newton's method on the true energy goes on.
"""

from dataclasses import dataclass

import numpy as np

from soft_twin.linear_algebra.compiled import kernel
from soft_twin.twins.tensegrity.newton import StrutPlacement
from soft_twin.twins.tensegrity.structure import Structure

SWEEPS = 400
SETTLED = 1e-5  # the largest change of a direction in the last sweep


@dataclass(frozen=True)
class PlaneModel:
    """The energy ½ uᵀQu + l·u of the struts' horizontal halves u = s e(θ), positions eliminated.

    Attributes:
        coupling: (s, s) Q [N/m · m²].
        pull: (s, 2) l, of the anchors [N].
        recovery: (f, s) and anchored (f, 3): free bottoms are recovery @ directions + anchored.
        free: (f,) struts that are not anchored.
    """

    coupling: np.ndarray
    pull: np.ndarray
    recovery: np.ndarray
    anchored: np.ndarray
    free: np.ndarray

    @classmethod
    def of_densities(cls, structure: Structure, densities: np.ndarray) -> "PlaneModel":
        """The model for force densities (m,) of the members [N/m]."""
        count = structure.strut_count
        laplacian = np.zeros((2 * count, 2 * count))
        a, c = structure.members.T
        np.add.at(laplacian, (a, a), densities)
        np.add.at(laplacian, (c, c), densities)
        np.add.at(laplacian, (a, c), -densities)
        np.add.at(laplacian, (c, a), -densities)
        free = np.setdiff1d(np.arange(count), structure.anchors)
        shift = np.vstack([np.eye(count), np.eye(count)])  # nodes from bottoms
        lever = np.vstack([np.zeros((count, count)), np.diag(structure.strut_lengths)])  # nodes from directions
        fixed = shift[:, structure.anchors] @ structure.anchor_points
        inverse = np.linalg.solve(
            shift[:, free].T @ laplacian @ shift[:, free], shift[:, free].T @ laplacian @ np.hstack([lever, fixed])
        )
        reduced = laplacian @ (np.hstack([lever, fixed]) - shift[:, free] @ inverse)
        projected = lever.T @ reduced
        return cls(
            projected[:, :count], projected[:, count : count + 2], -inverse[:, :count], -inverse[:, count:], free
        )

    def pose(self, structure: Structure, directions: np.ndarray) -> StrutPlacement:
        """The pose with those directions (s, 3) whose positions minimise the quadratic energy."""
        bottoms = np.empty_like(directions)
        bottoms[structure.anchors] = structure.anchor_points
        bottoms[self.free] = self.recovery @ directions + self.anchored
        return StrutPlacement(bottoms, directions)


def plane_minima(plane: PlaneModel, inclinations: np.ndarray, starts: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Distinct minima (energy, yaws (s,)) that the lifted starts (k, s, 3) lead to, lowest first."""
    sines = np.maximum(np.sin(inclinations), 1e-6)
    found = []
    for start in starts:
        lifted = start / np.linalg.norm(start, axis=1, keepdims=True)
        descend(plane.coupling, plane.pull, sines, lifted, SWEEPS // 8, 1e-3)
        flat = lifted[:, :2] / np.maximum(np.linalg.norm(lifted[:, :2], axis=1, keepdims=True), 1e-9)
        descend(plane.coupling, plane.pull, sines, flat, SWEEPS, SETTLED)
        u = sines[:, None] * flat
        energy = float(0.5 * np.sum(u * (plane.coupling @ u)) + np.sum(plane.pull * u))
        found.append((energy, np.arctan2(flat[:, 1], flat[:, 0])))
    return _distinct(sorted(found, key=lambda pair: pair[0]))


def _distinct(found: list[tuple[float, np.ndarray]]) -> list[tuple[float, np.ndarray]]:
    kept: list[tuple[float, np.ndarray]] = []
    for energy, yaws in found:
        if all(np.abs(np.exp(1j * yaws) - np.exp(1j * other)).max() > 0.02 for _, other in kept):
            kept.append((energy, yaws))
    return kept


@kernel()
def descend(coupling, pull, sines, directions, sweeps, settled):
    """Block descent in place: each direction (s, 2 or 3) in turn to its own minimum, the others held."""
    count, dimension = directions.shape
    new = np.empty(dimension)
    for _ in range(sweeps):
        change = 0.0
        for i in range(count):
            for d in range(dimension):
                new[d] = -pull[i, d] if d < 2 else 0.0
            for j in range(count):
                if j != i:
                    weight = coupling[i, j] * sines[j]
                    for d in range(dimension):
                        new[d] -= weight * directions[j, d]
            square = 0.0
            for d in range(dimension):
                square += new[d] * new[d]
            norm = np.sqrt(square)
            if norm > 0.0:
                for d in range(dimension):
                    value = new[d] / norm
                    change = max(change, abs(value - directions[i, d]))
                    directions[i, d] = value
        if change < settled:
            return
