"""Cubic B-spline surfaces fitted to shapes of one mesh: the compact description S^c of a shape (eq. 1).

The parameters of the mesh's points are those of the undeformed body, so that fitting is linear: control points c
minimise |A c − x|²/n + w |D c|², D being second differences along u and v, which says what no point of the mesh does.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix, eye, kron, vstack

from soft_twin.errors import InputError
from soft_twin.learning.flattening import Disc, flattened, opened

DEGREE = 3
CONTROL_POINTS = (30, 30)
SMOOTHNESS = 1e-6  # w


def knots(count: int) -> np.ndarray:
    """(count + 4,) clamped and uniform in 0…1, of a cubic B-spline with so many control points."""
    inner = np.linspace(0.0, 1.0, count - DEGREE + 1)
    return np.concatenate([np.zeros(DEGREE), inner, np.ones(DEGREE)])


@dataclass(frozen=True)
class SurfaceFit:
    """How shapes of a mesh become control points.

    Attributes:
        uv: (p, 2) parameters of the disc's points.
        disc: the mesh, opened.
        shape: control points along u and v.
        smoothness: the weight w.
    """

    uv: np.ndarray
    disc: Disc
    shape: tuple[int, int] = CONTROL_POINTS
    smoothness: float = SMOOTHNESS

    @classmethod
    def at_rest(
        cls, points: np.ndarray, triangles: np.ndarray, shape: tuple[int, int] = CONTROL_POINTS
    ) -> "SurfaceFit":
        """Of the undeformed surface: points (n, 3) [m], triangles (t, 3) outward.

        Raises:
            MeshError: it cannot be flattened.
            InputError: fewer than 4 control points along an edge.
        """
        if min(shape) < DEGREE + 1:
            raise InputError(f"{shape} control points: a cubic surface needs {DEGREE + 1} or more each way")
        disc = opened(points, triangles)
        return cls(flattened(points, disc), disc, shape)

    def fit(self, points: np.ndarray) -> np.ndarray:
        """(…, Mu, Mv, 3) control points [m] of shapes (…, n, 3) [m] of the mesh.

        Raises:
            InputError: not finite.
        """
        points = np.asarray(points, float)
        if not np.isfinite(points).all():
            raise InputError("a surface to fit has points that are not finite")
        x = np.moveaxis(points[..., self.disc.source, :], -2, 0)
        right = self._design.T @ x.reshape(len(x), -1) / len(x)
        control = cho_solve(self._factor, right).reshape(-1, *x.shape[1:])
        return np.moveaxis(control, 0, -2).reshape(*points.shape[:-2], *self.shape, 3)

    def at_points(self, control: np.ndarray) -> np.ndarray:
        """(…, p, 3) where surfaces (…, Mu, Mv, 3) have the disc's points [m]."""
        flat = np.moveaxis(np.asarray(control).reshape(*control.shape[:-3], -1, 3), -2, 0)
        found = self._design @ flat.reshape(len(flat), -1)
        return np.moveaxis(found.reshape(-1, *flat.shape[1:]), 0, -2)

    @cached_property
    def _design(self) -> csr_matrix:
        return design(self.uv, self.shape)

    @cached_property
    def _factor(self):
        rows = differences(self.shape)
        normal = self._design.T @ self._design / len(self.uv) + self.smoothness * rows.T @ rows
        return cho_factor(normal.toarray())


def bases(uv: np.ndarray, shape: tuple[int, int], derivative: int = 0) -> list[np.ndarray]:
    """N_i(u) (p, Mu) and N_j(v) (p, Mv) at parameters (p, 2) in the unit square, or their derivatives."""
    found = []
    for values, count in zip(np.clip(np.asarray(uv, float), 0.0, 1.0).T, shape, strict=True):
        splines = BSpline(knots(count), np.eye(count), DEGREE)
        found.append((splines.derivative(derivative) if derivative else splines)(values))
    return found


def design(uv: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    """(p, Mu Mv) what each control point contributes at parameters (p, 2) in the unit square."""
    along = [
        BSpline.design_matrix(np.clip(values, 0.0, 1.0), knots(count), DEGREE).tocsr()
        for values, count in zip(np.asarray(uv).T, shape, strict=True)
    ]
    width = DEGREE + 1
    u, v = (each.data.reshape(-1, width) for each in along)
    iu, iv = (each.indices.reshape(-1, width) for each in along)
    values = (u[:, :, None] * v[:, None, :]).ravel()
    columns = (iu[:, :, None] * shape[1] + iv[:, None, :]).ravel()
    starts = np.arange(0, len(values) + 1, width**2)
    return csr_matrix((values, columns, starts), shape=(len(uv), shape[0] * shape[1]))


def differences(shape: tuple[int, int]) -> csr_matrix:
    """Second differences of the control points along u, along v, and mixed, in spans between knots."""
    ones = [eye(count, format="csr") for count in shape]
    first = [one[1:] - one[:-1] for one in ones]
    second = [one[2:] - 2.0 * one[1:-1] + one[:-2] for one in ones]
    parts = [kron(second[0], ones[1]), kron(ones[0], second[1]), np.sqrt(2.0) * kron(first[0], first[1])]
    return vstack(parts).tocsr()
