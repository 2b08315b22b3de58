"""Direct learning, the baseline without simulations: pressures → points of the surface, from scans alone (Sec. V-C1).

A perceptron with two hidden layers of 128 gives 200 points or so, trained with the distances of Hausdorff and Chamfer
to the scans (eqs. 18–20); the surface between them is the mean surface, bent by radial basis functions. The paper does
not say from where the points begin: here from the mean surface, which is more than scans alone tell.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.interpolate import RBFInterpolator

from soft_twin.learning.correction import MM, ShapeModel
from soft_twin.learning.descent import RATE, Descent
from soft_twin.learning.frames import Recording
from soft_twin.learning.layer import SurfaceLayer, lattice
from soft_twin.learning.losses import Cloud, nearest
from soft_twin.learning.networks import Folded, Perceptron
from soft_twin.learning.teaching import clouds_of
from soft_twin.learning.training import FRAMES_IN_BATCH
from soft_twin.parallel import Say

POINTS, NEURONS, LAYERS = 200, 128, 2
CHAMFER = 5.0  # weight of the Chamfer distance beside Hausdorff's
STEPS = 6000  # of training, however many frames there are


@dataclass(frozen=True)
class DirectSurface:
    """A surface that is learned without simulations.

    Attributes:
        shapes: whose mean surface is bent, and which says what inputs are.
        uv: (n, 2) parameters of the points on it.
        network: shares of inflation −1…1 → offsets of the points (3 n,) [mm].
    """

    shapes: ShapeModel
    uv: np.ndarray
    network: Folded

    def __call__(self, pressures: np.ndarray, uv: np.ndarray) -> np.ndarray:
        """(p, 3) points [m] at parameters (p, 2), under pressures (a,) [Pa].

        Raises:
            InputError: another number of pressures, or beyond their limits.
        """
        pressures = self.shapes.checked(pressures)
        offsets = np.asarray(self.network(self.shapes.inputs_of(pressures[None])[0]), float).reshape(-1, 3)
        bend = RBFInterpolator(self.uv, offsets, kernel="thin_plate_spline")
        mean = SurfaceLayer(uv, self.shapes.knots, float).points(self.shapes.mean)
        return (np.asarray(mean) + bend(uv)) / MM


def learn_directly(
    shapes: ShapeModel, recording: Recording, seed: int = 0, steps: int = STEPS, say: Say | None = None
) -> DirectSurface:
    """What a recording of scans teaches without simulations.

    Raises:
        ConvergenceError: training diverges.
    """
    uv, clouds = lattice(POINTS), clouds_of(recording)
    inputs, mean = shapes.inputs_of(recording.pressures), SurfaceLayer(uv, shapes.knots).points(shapes.mean)
    sizes = [inputs.shape[1], *[NEURONS] * LAYERS, 3 * len(uv)]
    network = Perceptron(sizes, jax.random.key(seed), quiet=True)

    def loss(network: Perceptron, batch: jax.Array) -> jax.Array:
        points = mean + network(inputs[batch]).reshape(len(batch), -1, 3)
        return jax.vmap(direct_loss)(points, jax.tree.map(lambda each: each[batch], clouds)).mean()

    count, random = len(inputs), np.random.default_rng(seed)
    batch = min(FRAMES_IN_BATCH, count)
    epochs = max(1, steps * batch // count)
    rate = optax.cosine_decay_schedule(RATE, epochs * (count // batch))
    network = Descent(loss, count, batch, "points", rate).trained(network, epochs, random, say)
    return DirectSurface(shapes, uv, eqx.filter_jit(Perceptron.folded)(network, inputs))


def direct_loss(points: jax.Array, cloud: Cloud) -> jax.Array:
    """Hausdorff's distance and five times Chamfer's (eqs. 18–20) of points (p, 3) to one scan."""
    seen, own = nearest(points, cloud.points, cloud.there), nearest(cloud.points, points)
    there = ((points - cloud.points[seen]) ** 2).sum(axis=1)
    back = cloud.there * ((cloud.points - points[own]) ** 2).sum(axis=1)
    furthest = jnp.sqrt(jnp.maximum(jnp.maximum(there.max(), back.max()), 1e-12))
    return furthest + CHAMFER * (there.mean() + back.sum() / cloud.there.sum())
