"""Knots of cubic B-spline surfaces: uniform, or where the simulated surfaces want them.

A surface that has creases needs narrow spans there, and can spare them elsewhere (de Boor, A Practical Guide to
Splines, ch. XII). Knots are moved one at a time, to wherever least squares then leave least of the lines of the shapes
along u, and along v. In a tensor product these are apart: with P and Q the projections onto splines along u and v,
|x − P x Q|² = |x − P x|² + |P (x − x Q)|².
"""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline

from soft_twin.errors import InputError

DEGREE = 3
NARROWEST, WIDEST = 1.0 / 3.0, 2.0  # span, of a uniform one
PLACES = 6  # where a knot may be, in a uniform span; as many samples of a line
LEAST_GAIN = 1e-3  # of what uniform knots leave: a move that gains less is not made
NOTHING = 1e-12  # of the lines' squares: what is left of a line that is a spline
MOST_SWEEPS = 30
ROUNDING = 1e-9


class Knots(NamedTuple):
    """Of a surface with Mu x Mv control points, clamped, 0…1.

    Attributes:
        u: (Mu + 4,)
        v: (Mv + 4,)
    """

    u: np.ndarray
    v: np.ndarray

    @classmethod
    def uniform(cls, shape: tuple[int, int]) -> "Knots":
        """Of so many control points along u and v.

        Raises:
            InputError: fewer than 4.
        """
        if min(shape) < DEGREE + 1:
            raise InputError(f"{shape} control points: a cubic surface needs {DEGREE + 1} or more each way")
        return cls(*map(_uniform, shape))

    @property
    def shape(self) -> tuple[int, int]:
        """Control points along u and v."""
        return len(self.u) - DEGREE - 1, len(self.v) - DEGREE - 1


def samples(count: int) -> np.ndarray:
    """(k,) where lines are asked for whose spline has so many control points: the middles of equal parts of 0…1."""
    k = PLACES * (count - DEGREE)
    return (np.arange(k) + 0.5) / k


def placed_knots(lines: np.ndarray, count: int, narrowest: float = 0.0) -> np.ndarray:
    """(count + 4,) knots of the splines with so many control points that come nearest to lines, all together.

    The search begins at uniform knots, so that no others leave more than these, and only goes where much is gained.

    Args:
        lines: (k, r) r lines at `samples(count)`.
        count: control points.
        narrowest: span that the lines allow. None is narrower than a third of a uniform one, or wider than two.
    """
    spans, at = count - DEGREE, samples(count)
    places = np.arange(1, PLACES * spans) / (PLACES * spans)
    kinks = np.maximum(at[:, None] - places, 0.0) ** DEGREE  # what a knot at each place adds to splines
    narrowest = (1.0 - ROUNDING) * max(narrowest, NARROWEST / spans)
    widest = (1.0 + ROUNDING) * WIDEST / spans
    lines = lines - lines.mean(axis=0)
    products = lines @ lines.T
    knots = _uniform(count)
    left = _left(products, _basis(at, knots))
    least = max(LEAST_GAIN * left, NOTHING * np.trace(products))
    for _ in range(MOST_SWEEPS):
        before = left
        for i in range(DEGREE + 1, count):
            others = np.delete(knots, i)
            basis = _basis(at, others)
            added = kinks - basis @ (basis.T @ kinks)
            gained = (added * (products @ added)).sum(axis=0) / (added**2).sum(axis=0)
            apart = np.diff(np.sort(np.column_stack([np.tile(others[DEGREE:-DEGREE], (len(places), 1)), places])))
            free = (apart.min(axis=1) >= narrowest) & (apart.max(axis=1) <= widest)
            found = np.where(free, _left(products, basis) - gained, np.inf)
            if found.min() < left - least:
                left, knots = found.min(), np.sort(np.append(others, places[found.argmin()]))
        if left == before:
            break
    return knots


def _basis(at: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(k, M) orthonormal, of the splines at places (k,)."""
    return np.linalg.qr(BSpline.design_matrix(at, knots, DEGREE).toarray())[0]


def _left(products: np.ndarray, basis: np.ndarray) -> float:
    """What least squares leave of lines: Σ |x − P x|², by their products Σ x xᵀ (k, k)."""
    return float(np.trace(products) - (basis * (products @ basis)).sum())


def _uniform(count: int) -> np.ndarray:
    """(count + 4,), clamped."""
    inner = np.linspace(0.0, 1.0, count - DEGREE + 1)
    return np.concatenate([np.zeros(DEGREE), inner, np.ones(DEGREE)])
