"""Training: first the network that stands for the simulations, then the warp and the confidence together (Sec. V-B).

Lengths are in millimetres. The warp: Adam with the rate 1e-3, at most 150 epochs; the simulations: from 1e-2 down to
nothing along a cosine, 1000 epochs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.spatial import cKDTree

from soft_twin.learning.confidence import Confidence, ConfidenceMap
from soft_twin.learning.descent import Descent
from soft_twin.learning.layer import SurfaceLayer
from soft_twin.learning.left_out import simplest_alike
from soft_twin.learning.losses import (
    CONFIDENCE,
    GEOMETRY,
    NORMALS,
    Cloud,
    cloud_loss,
    marker_loss,
    nearest,
    squared_distances,
)
from soft_twin.learning.matching import MarkerMatch, ScanMatch
from soft_twin.learning.networks import Folded, Perceptron
from soft_twin.learning.symmetry import SAME_INPUT
from soft_twin.learning.warp import WIDTH, incompatibility, warped
from soft_twin.parallel import Say

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Learning

SHAPE_RATE = 1e-2
EPOCHS, SHAPE_EPOCHS = 150, 1000
SHAPES_IN_BATCH, FRAMES_IN_BATCH = 32, 4
LEFT_OUT, LEAST_FRAMES = 4, 8  # one of so many frames is left out and watched; fewer than so many teach no warp
WATCHED, PATIENCE = 10, 5  # epochs between looks at them; so many without gain, one after the other, are enough
TRAINED = 0.7  # share of the simulations
SHAPE_NEURONS = 128
SURE_STEPS = 600  # of the confidence where there is no warp


class Warper(eqx.Module):
    """What is trained together."""

    coefficients: Perceptron
    confidence: Confidence


class TrainedWarp(NamedTuple):
    """What training comes to: N_rbf, and N_conf where it is of scans without correspondences, which it may doubt."""

    coefficients: Folded
    confidence: ConfidenceMap | None


@dataclass(frozen=True)
class Weights:
    """Of the losses (eq. 12), and the radius of discs [mm] of `squared_distances`.

    `confidence` None: every point is believed (w_c = 1), the paper's ablation. `watched`: radius of the discs [mm] by
    which frames that are left out judge how long to train; None: all epochs, as the paper does.
    """

    confidence: float | None = CONFIDENCE
    normals: float = NORMALS
    geometry: float = GEOMETRY
    patch: float = 0.0
    watched: float | None = None


@dataclass(frozen=True)
class WarpTraining:
    """How a warp is trained, and how large its network is.

    Attributes:
        kernels: of the warp, a square number.
        layers, neurons: hidden ones of N_rbf, and of each.
        width: c of the kernels [1/mm²].
        weights: of the losses; None: the paper's, with discs as wide as the samples are apart where there are scans,
            and frames left out that say when the warp is trained enough.
        seed: of networks and batches.
        epochs: at the most.
    """

    kernels: int
    layers: int
    neurons: int
    width: float = WIDTH
    weights: Weights | None = None
    seed: int = 0
    epochs: int = EPOCHS

    @classmethod
    def described(cls, learning: "Learning", **others) -> "WarpTraining":
        """With the sizes of a description."""
        return cls(learning.kernels, learning.warp_layers, learning.warp_neurons, learning.kernel_width, **others)


class Frames(NamedTuple):
    """What the warp is trained on, of f frames [mm].

    Attributes:
        shapes: (f, s) normalised control points, N_rbf's inputs.
        control: (f, Mu, Mv, 3).
        kernels: (f, N, 3).
        clouds: arrays (f, k, …); of markers, their points and which were seen, in the order of the layer's parameters.
        markers: whether they are markers.
    """

    shapes: jax.Array
    control: jax.Array
    kernels: jax.Array
    clouds: Cloud
    markers: bool = False

    def chosen(self, rows: np.ndarray | jax.Array) -> "Frames":
        """Some of them."""
        clouds = jax.tree.map(lambda each: each[rows], self.clouds)
        return Frames(self.shapes[rows], self.control[rows], self.kernels[rows], clouds, self.markers)


def train_shapes(
    inputs: np.ndarray,
    outputs: np.ndarray,
    layers: int,
    seed: int = 0,
    epochs: int = SHAPE_EPOCHS,
    say: Say | None = None,
    turned: Sequence[tuple[np.ndarray, np.ndarray]] = (),
    neurons: int = SHAPE_NEURONS,
) -> tuple[Folded, np.ndarray]:
    """N_fk on 7 of 10 of its pairs (m, a), (m, s), all of order 1, and the numbers of those that it does not know.

    Args:
        inputs: (m, a).
        outputs: (m, s).
        layers: hidden ones.
        seed: of the network, its batches, and which pairs are trained on.
        epochs: with n times as many pairs by symmetries, by √n fewer.
        say: is called with a line of progress.
        turned: the same pairs as each symmetry has them; those of pairs that are trained on are trained on, too.
        neurons: of each hidden layer.

    Raises:
        ConvergenceError: it diverges.
    """
    random = np.random.default_rng(seed)
    own, unseen = parted(len(inputs), random)
    pairs = [(inputs, outputs), *turned]
    x, y = (jnp.asarray(np.vstack([each[own] for each in kind]), jnp.float32) for kind in zip(*pairs, strict=True))
    epochs = max(1, round(epochs / np.sqrt(len(pairs))))
    sizes = [inputs.shape[1], *[neurons] * layers, outputs.shape[1]]
    network = Perceptron(sizes, jax.random.key(seed), smooth=True)

    def loss(network: Perceptron, batch: jax.Array) -> jax.Array:
        return ((network(x[batch]) - y[batch]) ** 2).mean()

    batch = min(SHAPES_IN_BATCH, len(x))
    rate = optax.cosine_decay_schedule(SHAPE_RATE, epochs * (len(x) // batch))
    network = Descent(loss, len(x), batch, "shapes", rate).trained(network, epochs, random, say)
    return eqx.filter_jit(lambda network: network.folded(x))(network), np.sort(_unknown(inputs, unseen, np.asarray(x)))


def parted(count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the simulations that N_fk is trained on, and of the others; those of `train_shapes` by its seed."""
    return tuple(np.split(random.permutation(count), [max(2, round(TRAINED * count))]))


def _unknown(inputs: np.ndarray, rows: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """Those of rows whose inputs are not among the trained ones, which symmetries may have brought there; all, where
    there are none."""
    away, _ = cKDTree(trained).query(inputs[rows])
    return rows[away > SAME_INPUT] if (away > SAME_INPUT).any() else rows


def train_warp(
    frames: Frames, layer: SurfaceLayer, size: float, training: WarpTraining, say: Say | None = None
) -> TrainedWarp:
    """N_rbf, together with the confidence where the frames are scans.

    A warp that is trained for long fits its own frames at the cost of others. If `weights.watched` is given, it is
    first trained on three of four frames, and then on all for as many epochs as the others were best after; that may be
    none, which is no warp, and is none where frames are few: normalised by two or three shapes, a network says anything
    of others, and too few can be left out to tell. Then the confidence is trained by itself.

    Args:
        frames: what was seen.
        layer: at the parameters where the surface is compared; of markers, theirs.
        size: of the surface [mm].
        training: its sizes, weights and seed.

    Raises:
        ConvergenceError: it diverges.
    """
    weights = training.weights or Weights()
    training = replace(training, weights=weights)
    lesson, epochs = _Lesson(frames, layer, size, training, say), training.epochs
    if weights.watched is not None:
        epochs = 0 if len(frames.shapes) < LEAST_FRAMES else lesson.best_epochs()
    warper = lesson.trained(epochs)
    coefficients = lesson.folded(warper)
    if frames.markers or weights.confidence is None:
        return TrainedWarp(coefficients, None)
    confidence = warper.confidence
    if epochs == 0:
        confidence = lesson.sure(confidence, coefficients, SURE_STEPS * (training.epochs or EPOCHS) // EPOCHS)
    return TrainedWarp(coefficients, eqx.filter_jit(Confidence.folded)(confidence, lesson.points, frames.shapes))


class _Lesson:
    """What a warp and its confidence are trained on, and how; compiled once for some of the frames and for all.

    Args:
        frames, layer, size, training, say: see `train_warp`; of `training`, the weights are given.

    Attributes:
        points: (f, p, 3) of simulated surfaces as N_conf is given them.
    """

    def __init__(self, frames: Frames, layer: SurfaceLayer, size: float, training: WarpTraining, say: Say | None):
        self._frames, self._training, self._say = frames, training, say
        self._bent = partial(_bent, layer=layer, size=size, width=training.width)
        self.points = jax.jit(jax.vmap(lambda control: 2.0 * layer.points(control) / size))(frames.control)
        self._batch = min(FRAMES_IN_BATCH, len(frames.shapes))
        self._descent = Descent(self._loss, len(frames.shapes), self._batch, "warp")
        self._folded = eqx.filter_jit(lambda network, shapes: network.folded(shapes))

    def trained(self, epochs: int, rows: np.ndarray | None = None, watch=None) -> Warper:
        """The networks after so many epochs on the frames of these numbers, by default all; every few `watch` is told
        the epoch and N_rbf, until it says enough.

        Raises:
            ConvergenceError: training diverges.
        """
        training, (count, shape_size) = self._training, self._frames.shapes.shape
        one, other = jax.random.split(jax.random.key(training.seed))
        outputs = 3 * (self._frames.kernels.shape[1] + 4)
        sizes = [shape_size, *[training.neurons] * training.layers, outputs]
        warper = Warper(Perceptron(sizes, one, quiet=True), Confidence(shape_size, other))
        rows = np.arange(count) if rows is None else rows

        def look(epoch: int, warper: Warper) -> bool:
            if watch is None or (epoch % WATCHED and epoch < epochs):
                return False
            return watch(epoch, self.folded(warper, rows))

        random = np.random.default_rng(training.seed)
        return self._descent.trained(warper, epochs, random, self._say, look, rows)

    def folded(self, warper: Warper, rows: np.ndarray | slice = slice(None)) -> Folded:
        """N_rbf as it is used, by the frames that it was trained on."""
        return self._folded(warper.coefficients, self._frames.shapes[rows])

    def best_epochs(self) -> int:
        """After how many epochs on the other frames those that are left out are met best, see `simplest_alike`.

        Raises:
            ConvergenceError: training diverges.
        """
        left_out = np.arange(len(self._frames.shapes)) % LEFT_OUT == LEFT_OUT - 1
        own, other = np.flatnonzero(~left_out), self._frames.chosen(np.flatnonzero(left_out))
        watched = self._training.weights.watched

        @jax.jit
        def distances(frames: Frames, coefficients: Folded) -> jax.Array:  # not of constants: XLA would fold them
            match = MarkerMatch(frames.clouds) if other.markers else ScanMatch(frames.clouds, watched)
            return match.distances(*self._bent(frames, coefficients(frames.shapes)))

        found = {0: np.asarray(distances(other, self.folded(self.trained(0), own)))}

        def best() -> int:
            return min(found, key=lambda epoch: found[epoch].mean())

        def watch(epoch: int, network: Folded) -> bool:
            found[epoch] = np.asarray(distances(other, network))
            return epoch - best() >= PATIENCE * WATCHED

        self.trained(self._training.epochs, own, watch)
        return simplest_alike(found)

    def sure(self, confidence: Confidence, coefficients: Folded, steps: int) -> Confidence:
        """The confidence of surfaces that stay as they are, trained by itself in so many steps.

        Of a point that stays d away, w_c d² + ω (1 − w_c)² is least at w_c = 1 − d²/2ω, or 0 beyond; that is what the
        network is taught. The loss itself has slopes as large as d² is opposite holes, and few steps are left for the
        rest.

        Raises:
            ConvergenceError: training diverges.
        """
        weights, count = self._training.weights, len(self.points)

        def wanted(bent: jax.Array, cloud: Cloud) -> jax.Array:
            seen = nearest(bent, cloud.points, cloud.there)
            off = squared_distances(bent, cloud.points[seen], cloud.normals[seen], weights.patch)
            return jnp.maximum(1.0 - 0.5 * off / weights.confidence, 0.0)

        @jax.jit
        def wanted_of(frames: Frames, coefficients: Folded) -> jax.Array:  # not of constants: XLA would fold them
            bent, _ = self._bent(frames, coefficients(frames.shapes))
            return jax.lax.map(lambda own: wanted(*own), (bent, frames.clouds))

        shapes, sure = self._frames.shapes, wanted_of(self._frames, coefficients)

        def loss(confidence: Confidence, batch: jax.Array) -> jax.Array:
            return ((confidence(self.points[batch], shapes[batch]) - sure[batch]) ** 2).mean()

        random, epochs = np.random.default_rng(self._training.seed), max(1, steps * self._batch // count)
        return Descent(loss, count, self._batch, "confidence").trained(confidence, epochs, random, self._say)

    def _loss(self, warper: Warper, batch: jax.Array) -> jax.Array:
        part, weights = self._frames.chosen(batch), self._training.weights
        coefficients, clouds = warper.coefficients(part.shapes).reshape(len(batch), -1, 3), part.clouds
        bent, normals = self._bent(part, coefficients)
        regular = weights.geometry * jax.vmap(incompatibility)(part.kernels, coefficients).mean()
        if part.markers:
            return jax.vmap(marker_loss)(bent, clouds.points, clouds.there).mean() + regular
        believed = jnp.ones(bent.shape[:2])
        if weights.confidence is not None:
            believed = warper.confidence(self.points[batch], part.shapes)
        near, sure, along = jax.vmap(lambda *each: cloud_loss(*each, weights.patch))(bent, normals, believed, clouds)
        return near.mean() + (weights.confidence or 0.0) * sure.mean() + weights.normals * along.mean() + regular


def _bent(
    frames: Frames, coefficients: jax.Array, layer: SurfaceLayer, size: float, width: float
) -> tuple[jax.Array, jax.Array]:
    """Points and normals (f, p, 3) of warped surfaces."""
    coefficients = coefficients.reshape(len(frames.shapes), -1, 3)
    points = jax.vmap(layer.points)(frames.control)
    bent = jax.vmap(lambda p, q, b: warped(p, q, b, width, size))(points, frames.kernels, coefficients)
    normals = jax.vmap(lambda c, q, b: _bent_normals(layer, c, q, b, width, size))
    return bent, normals(frames.control, frames.kernels, coefficients)


def _bent_normals(layer: SurfaceLayer, control, kernels, coefficients, width: float, size: float) -> jax.Array:
    """(p, 3) normals of a warped surface: of its tangents, which the warp's derivative turns."""

    def bend(points: jax.Array) -> jax.Array:
        return warped(points, kernels, coefficients, width, size)

    points, tangents = layer.points(control), layer.tangents(control)
    turned = [jax.jvp(bend, (points,), (tangent,))[1] for tangent in tangents]
    across = jnp.cross(*turned)
    return across / jnp.sqrt(jnp.maximum((across**2).sum(axis=-1, keepdims=True), 1e-12))
