"""What training minimises: the confidence-weighted Chamfer distance and its regularisations (eqs. 6–13).

Lengths are in millimetres. The paper prints the losses of confidence and normals as sums over points; they are means
here, as the Chamfer distance's are. With a sum over 1000 points and its weight 12, a point 10 mm from everything would
keep a confidence of 0.996, and the confidence would say nothing.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

CONFIDENCE, NORMALS, GEOMETRY = 12.0, 0.5, 1.5e-4  # ω_cr, ω_nc, ω_gr


class Cloud(NamedTuple):
    """What was seen of a surface.

    Attributes:
        points, normals: (k, 3) [mm], of length 1.
        there: (k,) 1 for a point, 0 for what only fills the array.
    """

    points: jax.Array
    normals: jax.Array
    there: jax.Array


def nearest(points: jax.Array, others: jax.Array, there: jax.Array | None = None) -> jax.Array:
    """(p,) number of the nearest of others (k, 3) of points (p, 3); of those that are there, (k,)."""
    squared = (others**2).sum(axis=1) - 2.0 * jnp.matmul(points, others.T, precision="highest")
    if there is not None:
        squared = jnp.where(there > 0.0, squared, jnp.inf)
    return jnp.argmin(jax.lax.stop_gradient(squared), axis=1)


def squared_distances(points: jax.Array, others: jax.Array, normals: jax.Array, patch: float) -> jax.Array:
    """(p,) |x − y|² of pairs (p, 3), where y stands for a disc of radius `patch` [mm], across its normal (p, 3).

    0 is the paper's: a point is a point. Samples of a surface are sparse; with discs that reach to the next sample,
    what counts is how far a point is from the surface, not from where it happened to be sampled.
    """
    away = points - others
    if patch == 0.0:
        return (away**2).sum(axis=1)
    off = (away * normals).sum(axis=1)
    across = jnp.sqrt(jnp.maximum((away**2).sum(axis=1) - off**2, 1e-12))
    return off**2 + jnp.maximum(across - patch, 0.0) ** 2


def cloud_loss(
    points: jax.Array, normals: jax.Array, confidence: jax.Array, cloud: Cloud, patch: float
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """D̃ (eq. 6) [mm²], the confidence's and the normals' losses (eqs. 8, 9) of one frame.

    Args:
        points, normals: (p, 3) of the corrected surface.
        confidence: (p,) 0…1.
        cloud: what was scanned.
        patch: see `squared_distances`.
    """
    seen, count = nearest(points, cloud.points, cloud.there), cloud.there.sum()
    forth = squared_distances(points, cloud.points[seen], cloud.normals[seen], patch)
    own = nearest(cloud.points, points)
    back = squared_distances(cloud.points, points[own], jax.lax.stop_gradient(normals)[own], patch)
    alike = (cloud.normals * normals[own]).sum(axis=1)
    distance = (confidence * forth).mean() + (cloud.there * back).sum() / count
    return distance, ((1.0 - confidence) ** 2).mean(), (cloud.there * (1.0 - alike)).sum() / count


def marker_loss(points: jax.Array, markers: jax.Array, there: jax.Array) -> jax.Array:
    """D̃ with known correspondences (eq. 13) [mm²]: points and markers (k, 3); there (k,): 0 for one not seen."""
    return (there * ((points - markers) ** 2).sum(axis=1)).mean()
