"""Cubic B-spline surfaces fitted to shapes of one mesh: the compact description S^c of a shape (eq. 1).

The parameters of the mesh's points are those of the undeformed body, so that fitting is linear: control points c
minimise |A c − x|²/n + w |D c|², which says what no point of the mesh does. D are second differences along u and v, and
mixed; those along u and v are second derivatives by the Greville abscissae, times their spacings. Inside of uniform
knots they are c₀ − 2 c₁ + c₂, and with any knots an even sheet costs nothing.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline, LinearNDInterpolator
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix, diags, eye, kron, vstack

from soft_twin.errors import InputError
from soft_twin.learning.flattening import Disc, flattened, opened
from soft_twin.learning.knots import DEGREE, Knots, placed_knots, samples

CONTROL_POINTS = (30, 30)
SMOOTHNESS = 1e-6  # w


@dataclass(frozen=True)
class SurfaceFit:
    """How shapes of a mesh become control points.

    Attributes:
        uv: (p, 2) parameters of the disc's points.
        disc: the mesh, opened.
        knots: along u and v.
        smoothness: the weight w.
    """

    uv: np.ndarray
    disc: Disc
    knots: Knots
    smoothness: float = SMOOTHNESS

    @classmethod
    def at_rest(
        cls, points: np.ndarray, triangles: np.ndarray, shape: tuple[int, int] = CONTROL_POINTS
    ) -> "SurfaceFit":
        """Of the undeformed surface, with uniform knots: points (n, 3) [m], triangles (t, 3) outward.

        Raises:
            MeshError: it cannot be flattened.
            InputError: fewer than 4 control points along an edge.
        """
        disc, knots = opened(points, triangles), Knots.uniform(shape)
        return cls(flattened(points, disc), disc, knots)

    def adapted(self, points: np.ndarray) -> "SurfaceFit":
        """With as many knots where shapes (m, n, 3) [m] of the mesh want them; see `soft_twin.learning.knots`.

        No span is narrower than half of what the mesh's points are apart: between points there is nothing to fit.
        """
        at = [samples(count) for count in self.knots.shape]
        values = np.moveaxis(np.asarray(points, float)[:, self.disc.source], 0, 1).reshape(len(self.uv), -1)
        grid = np.stack(np.meshgrid(*at, indexing="ij"), axis=-1)
        lines = LinearNDInterpolator(self.uv, values)(grid)  # (ku, kv, 3 m)
        apart = np.median(np.ptp(self.uv[self.disc.triangles], axis=1), axis=0)
        along = (np.moveaxis(lines, axis, 0).reshape(len(at[axis]), -1) for axis in (0, 1))
        found = map(placed_knots, along, self.knots.shape, 0.5 * apart)
        return replace(self, knots=Knots(*found))

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
        return np.moveaxis(control, 0, -2).reshape(*points.shape[:-2], *self.knots.shape, 3)

    def at_points(self, control: np.ndarray) -> np.ndarray:
        """(…, p, 3) where surfaces (…, Mu, Mv, 3) have the disc's points [m]."""
        flat = np.moveaxis(np.asarray(control).reshape(*control.shape[:-3], -1, 3), -2, 0)
        found = self._design @ flat.reshape(len(flat), -1)
        return np.moveaxis(found.reshape(-1, *flat.shape[1:]), 0, -2)

    @cached_property
    def _design(self) -> csr_matrix:
        return design(self.uv, self.knots)

    @cached_property
    def _factor(self):
        rows = differences(self.knots)
        normal = self._design.T @ self._design / len(self.uv) + self.smoothness * rows.T @ rows
        return cho_factor(normal.toarray())


def bases(uv: np.ndarray, knots: Knots, derivative: int = 0) -> list[np.ndarray]:
    """N_i(u) (p, Mu) and N_j(v) (p, Mv) at parameters (p, 2) in the unit square, or their derivatives."""
    found = []
    for values, own, count in zip(np.clip(np.asarray(uv, float), 0.0, 1.0).T, knots, knots.shape, strict=True):
        splines = BSpline(own, np.eye(count), DEGREE)
        found.append((splines.derivative(derivative) if derivative else splines)(values))
    return found


def design(uv: np.ndarray, knots: Knots) -> csr_matrix:
    """(p, Mu Mv) what each control point contributes at parameters (p, 2) in the unit square."""
    along = [
        BSpline.design_matrix(np.clip(values, 0.0, 1.0), own, DEGREE).tocsr()
        for values, own in zip(np.asarray(uv).T, knots, strict=True)
    ]
    width, shape = DEGREE + 1, knots.shape
    u, v = (each.data.reshape(-1, width) for each in along)
    iu, iv = (each.indices.reshape(-1, width) for each in along)
    values = (u[:, :, None] * v[:, None, :]).ravel()
    columns = (iu[:, :, None] * shape[1] + iv[:, None, :]).ravel()
    starts = np.arange(0, len(values) + 1, width**2)
    return csr_matrix((values, columns, starts), shape=(len(uv), shape[0] * shape[1]))


def differences(knots: Knots) -> csr_matrix:
    """Of the control points: second ones along u, along v, and mixed ones."""
    ones = [eye(count, format="csr") for count in knots.shape]
    first = [one[1:] - one[:-1] for one in ones]
    second = [second_differences(own) for own in knots]
    parts = [kron(second[0], ones[1]), kron(ones[0], second[1]), np.sqrt(2.0) * kron(first[0], first[1])]
    return vstack(parts).tocsr()


def second_differences(knots: np.ndarray) -> csr_matrix:
    """(M − 2, M) second derivatives by the Greville abscissae, times the spacings before and after: where these are
    equal, c₀ − 2 c₁ + c₂."""
    greville = sum(knots[i : len(knots) - DEGREE - 1 + i] for i in range(1, DEGREE + 1)) / DEGREE
    before, after = np.diff(greville)[:-1], np.diff(greville)[1:]
    share = 2.0 * after / (before + after)
    return diags([share, np.full(len(share), -2.0), 2.0 - share], [0, 1, 2], shape=(len(share), len(share) + 2)).tocsr()
