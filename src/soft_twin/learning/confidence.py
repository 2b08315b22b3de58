"""N_conf: how much a point of a surface is to be believed to be seen, by the point and its surface's control points.

The first layer's two parts are apart, so that what it makes of the control points is computed once a surface. Points
are normalised: over half of the surface's size.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from soft_twin.learning.networks import Folded, Perceptron

SIZES = (128, 128, 128)


class Confidence(eqx.Module):
    """While it is trained.

    Attributes:
        of_shape: (128, s) first layer of the control points.
        of_point: the rest.
    """

    of_shape: jax.Array
    of_point: Perceptron

    def __init__(self, shape_size: int, key: jax.Array):
        random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        self.of_shape = jnp.asarray(
            random.uniform(-1, 1, (SIZES[0], shape_size)) / np.sqrt(shape_size + 3), jnp.float32
        )
        self.of_point = Perceptron([3, *SIZES, 1], key)

    def __call__(self, points: jax.Array, shapes: jax.Array) -> jax.Array:
        """(b, p) 0…1 of points (b, p, 3) and shapes (b, s), both normalised."""
        return jax.nn.sigmoid(self.of_point(points, self._first(shapes))[..., 0])

    def folded(self, points: jax.Array, shapes: jax.Array) -> "ConfidenceMap":
        """As it is used, normalised by what all training points (f, p, 3) and shapes (f, s) make of it."""
        first = self._first(shapes)
        scale = self.of_point.scales(points, first)[0]
        return ConfidenceMap(scale[:, None] * self.of_shape, self.of_point.folded(points, first))

    def _first(self, shapes: jax.Array) -> jax.Array:
        return (shapes @ self.of_shape.T)[:, None]


class ConfidenceMap(eqx.Module):
    """What is left of it afterwards.

    Attributes:
        of_shape: (128, s).
        of_point: the rest.
    """

    of_shape: jax.Array
    of_point: Folded

    def __call__(self, points: jax.Array, shape: jax.Array) -> jax.Array:
        """(p,) 0…1 of points (p, 3) of one shape (s,), both normalised."""
        return jax.nn.sigmoid(self.of_point(points, self.of_shape @ shape)[..., 0])
