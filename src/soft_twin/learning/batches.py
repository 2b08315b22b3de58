"""Many surfaces at once: a learned surface as a function of arrays, compiled for batches of a few sizes."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

MM = 1e3
SMALLEST, LARGEST = 8, 256  # of a batch: powers of two between them, so that few are compiled


def batched(surface: Callable[[jax.Array], jax.Array]) -> Callable[[np.ndarray], np.ndarray]:
    """Shares of inflation (n, a), 0…1, → points (n, p, 3) [m].

    `surface` is one of `ShapeModel.surface(uv)` and `Correction.surface(uv)`: shares (a,) −1…1 → points (p, 3) [mm].
    """
    compiled = jax.jit(jax.vmap(surface))

    def shapes(shares: np.ndarray) -> np.ndarray:
        inputs, found = 2.0 * np.asarray(shares, np.float32) - 1.0, []
        for first in range(0, len(inputs), LARGEST):
            rows = inputs[first : first + LARGEST]
            size = max(SMALLEST, 1 << (len(rows) - 1).bit_length())
            filled = np.vstack([rows, np.repeat(rows[-1:], size - len(rows), axis=0)])
            found.append(np.asarray(compiled(jnp.asarray(filled)), float)[: len(rows)] / MM)
        return np.concatenate(found)

    return shapes
