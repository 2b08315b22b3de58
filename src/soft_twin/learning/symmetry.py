"""Turns and mirrors under which a twin is the same: each simulation is then worth as many as there are of them.

Only those that leave gravity alone: about the upright line through the middle of the surface, by multiples of 30°, and
mirrors through that line. They are found in the simulations themselves: a turn has to bring every point at rest onto
another one, chambers are exchanged as what they do to the surface is turned, and simulations under pressures that are
exchanged have to be turned shapes of each other. Corners of the pressures always have such partners.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

STEP_DEG = 30.0
SAME_PLACE, SAME_SHAPE = 1e-6, 1e-4  # of the surface's size
SAME_INPUT = 1e-4  # of shares −1…1


@dataclass(frozen=True)
class Symmetry:
    """One turn, or mirror.

    Attributes:
        matrix: (3, 3).
        centre: (3,) which stays where it is.
        points: (p,) numbers of the points onto which each comes.
        chambers: (a,) numbers of the chambers onto which each comes.
    """

    matrix: np.ndarray
    centre: np.ndarray
    points: np.ndarray
    chambers: np.ndarray

    def shapes(self, shapes: np.ndarray) -> np.ndarray:
        """(…, p, 3) turned."""
        found = np.empty_like(shapes)
        found[..., self.points, :] = (shapes - self.centre) @ self.matrix.T + self.centre
        return found

    def inputs(self, inputs: np.ndarray) -> np.ndarray:
        """(…, a) exchanged."""
        found = np.empty_like(inputs)
        found[..., self.chambers] = inputs
        return found


def symmetries(at_rest: np.ndarray, inputs: np.ndarray, shapes: np.ndarray) -> list[Symmetry]:
    """All but the one that changes nothing.

    Args:
        at_rest: (p, 3) the surface without pressure.
        inputs: (m, a) shares of inflation of the simulations.
        shapes: (m, p, 3) their surfaces.
    """
    centre, size = at_rest.mean(axis=0), np.ptp(at_rest, axis=0).max()
    places, known = cKDTree(at_rest), cKDTree(inputs)
    linear = np.column_stack([np.ones(len(inputs)), inputs])
    moved = np.linalg.lstsq(linear, shapes.reshape(len(shapes), -1), rcond=None)[0][1:].reshape(-1, *at_rest.shape)
    found = []
    for matrix in _candidates():
        away, points = places.query((at_rest - centre) @ matrix.T + centre)
        if away.max() > SAME_PLACE * size or len(np.unique(points)) < len(points):
            continue
        turned = np.empty_like(moved)
        turned[:, points] = moved @ matrix.T
        costs = [[np.linalg.norm(one - other) for other in moved] for one in turned]
        candidate = Symmetry(matrix, centre, points, linear_sum_assignment(costs)[1])
        off, partner = known.query(candidate.inputs(inputs))
        paired = np.flatnonzero(off < SAME_INPUT)
        if len(paired) > inputs.shape[1] and all(
            np.abs(candidate.shapes(shapes[i]) - shapes[partner[i]]).max() < SAME_SHAPE * size for i in paired
        ):
            found.append(candidate)
    return found


def _candidates() -> list[np.ndarray]:
    """(3, 3) matrices, without that which changes nothing."""
    found = []
    for angle in np.radians(np.arange(0.0, 360.0, STEP_DEG)):
        cos, sin = np.cos(angle), np.sin(angle)
        found += [np.array([[cos, -sin * side, 0.0], [sin, cos * side, 0.0], [0.0, 0.0, 1.0]]) for side in (1.0, -1.0)]
    return found[1:]
