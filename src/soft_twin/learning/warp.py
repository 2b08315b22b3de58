"""The warp of space that corrects simulated surfaces: Gaussian kernels on the surface (eq. 2).

    p* = Φ(p) = α₀ + A p + Σ βᵢ exp(−c |p − qᵢ|²),   qᵢ = B(uᵢ, vᵢ, S^c)

Networks work in millimetres, as the paper's do: c = 3e-5 is in mm⁻², and the weights of the losses belong to mm². What
N_rbf says is (N + 4, 3): α₀, A − 1 times the surface's size, and βᵢ, in millimetres; 0 is no warp.
"""

import jax
import jax.numpy as jnp

WIDTH = 3e-5  # c [1/mm²]


def warped(points: jax.Array, kernels: jax.Array, coefficients: jax.Array, width: float, size: float) -> jax.Array:
    """(p, 3) points [mm] warped.

    Args:
        points: (p, 3) [mm].
        kernels: q (N, 3) [mm].
        coefficients: (N + 4, 3) of N_rbf.
        width: c [1/mm²].
        size: of the surface [mm].
    """
    shift, linear, weights = coefficients[0], coefficients[1:4], coefficients[4:]
    return points + shift + points @ linear / size + bells(points, kernels, width) @ weights


def bells(points: jax.Array, kernels: jax.Array, width: float) -> jax.Array:
    """(p, N) exp(−c |p − q|²), by |p|² − 2 p·q + |q|²: (p, N, 3) would be many times slower, with slopes above all."""
    products = jnp.matmul(points, kernels.T, precision="highest")  # on a GPU, fewer digits are the default
    squared = (points**2).sum(axis=1)[:, None] - 2.0 * products + (kernels**2).sum(axis=1)
    return jnp.exp(-width * squared)


def incompatibility(kernels: jax.Array, coefficients: jax.Array) -> jax.Array:
    """|Σ βᵢ|² + |Σ βᵢ (qᵢ)ₓ|² + … of one warp: one term of the geometric regularisation (eqs. 10, 11)."""
    weights = coefficients[4:]
    moments = kernels.T @ weights
    return (weights.sum(axis=0) ** 2).sum() + (moments**2).sum()
