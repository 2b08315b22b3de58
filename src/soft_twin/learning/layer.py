"""B-spline surfaces as a differentiable layer: points and normals by control points (eq. 1), at fixed parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from soft_twin.learning.knots import Knots
from soft_twin.learning.surfaces import bases


class SurfaceLayer(eqx.Module):
    """A surface's points and normals at parameters that stay.

    Attributes:
        values: N(u) (p, Mu) and N(v) (p, Mv).
        slopes: their derivatives.
    """

    values: tuple[np.ndarray, np.ndarray]
    slopes: tuple[np.ndarray, np.ndarray]

    def __init__(self, uv: np.ndarray, knots: Knots, dtype: type = np.float32):
        """`uv`: (p, 2) in the unit square; `knots`: of the surface."""
        self.values, self.slopes = (
            tuple(each.astype(dtype) for each in bases(uv, knots, derivative)) for derivative in (0, 1)
        )

    def points(self, control: jax.Array) -> jax.Array:
        """(p, 3) of a surface (Mu, Mv, 3)."""
        return _sum(*self.values, control)

    def points_and_normals(self, control: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(p, 3) each; normals are of length 1 and point to where the triangles of the mesh are counter-clockwise."""
        tangents = self.tangents(control)
        return self.points(control), unit(jnp.cross(*tangents))

    def tangents(self, control: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(p, 3) derivatives of the points by u and by v."""
        (u, v), (du, dv) = self.values, self.slopes
        return _sum(du, v, control), _sum(u, dv, control)


def unit(vectors: jax.Array) -> jax.Array:
    """(…, 3) of length 1; of what has no length, nothing, with a derivative that is finite."""
    squared = (vectors**2).sum(axis=-1, keepdims=True)
    return vectors / jnp.sqrt(jnp.maximum(squared, 1e-30))


def grid(count: int) -> np.ndarray:
    """(n², 2) parameters in the middles of n x n equal cells of the unit square; n² is the square nearest to count."""
    n = max(1, round(np.sqrt(count)))
    ticks = (np.arange(n) + 0.5) / n
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


def lattice(count: int) -> np.ndarray:
    """(n², 2) parameters on n x n equally spaced lines of the unit square, its border among them; as many as `grid`."""
    ticks = np.linspace(0.0, 1.0, max(2, round(np.sqrt(count))))
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


def highest_edge(points: np.ndarray) -> np.ndarray:
    """(n,) which points (n², 3) of a `lattice` are on the side of the unit square that is highest: the rim of a tip."""
    numbers = np.arange(len(points)).reshape(2 * [round(np.sqrt(len(points)))])
    sides = numbers[0], numbers[-1], numbers[:, 0], numbers[:, -1]
    return max(sides, key=lambda side: points[side, 2].mean())


def _sum(u: np.ndarray, v: np.ndarray, control: jax.Array) -> jax.Array:
    """Σ N_i(u) N_j(v) c_ij."""
    return jnp.einsum("pj,pjd->pd", v, jnp.einsum("pi,ijd->pjd", u, control))
