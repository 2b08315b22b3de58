"""The networks' layers: perceptrons with ReLU and batch normalisation (Sec. V-B), and what is left of them afterwards.

One that stands for simulations is smooth instead: with GELU and no normalisation, see `docs/learning.md`.

While it is trained, a hidden layer normalises its outputs by their mean and variance over the batch. Afterwards it does
so by those over all training data, which is one linear map with the layer's own: `folded` networks have weights and
biases only. Batches are rows.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

NOTHING = 1e-5  # added to variances


class Normalisation(eqx.Module):
    """What batch normalisation learns, of n outputs."""

    scale: jax.Array
    shift: jax.Array

    def __init__(self, size: int):
        self.scale, self.shift = (jnp.asarray(fill(size, np.float32)) for fill in (np.ones, np.zeros))

    def __call__(self, values: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
        """Values (…, n), normalised by their mean and variance (n,)."""
        return self.scale_of(variance) * (values - mean) + self.shift

    def scale_of(self, variance: jax.Array) -> jax.Array:
        """(n,) by which values of these variances (n,) are scaled."""
        return self.scale * jax.lax.rsqrt(variance + NOTHING)


class Perceptron(eqx.Module):
    """Hidden layers with normalisation and ReLU, and a linear one behind them.

    Attributes:
        weights: (out, in) of each layer; the last has no normalisation.
        biases: of each layer.
        normalisations: of the hidden layers; none where they are smooth.
        smooth: GELU takes the place of both.
    """

    weights: list[jax.Array]
    biases: list[jax.Array]
    normalisations: list[Normalisation]
    smooth: bool = eqx.field(static=True)

    def __init__(self, sizes: Sequence[int], key: jax.Array, quiet: bool = False, smooth: bool = False):
        """`sizes`: of inputs, hidden layers and outputs; `quiet`: its outputs are 0 before it is trained."""
        random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
        # He's uniform initialisation, as in torch's Linear
        weights = [random.uniform(-1, 1, s) / np.sqrt(s[1]) for s in shapes]
        biases = [random.uniform(-1, 1, s[0]) / np.sqrt(s[1]) for s in shapes]
        if quiet:
            weights[-1], biases[-1] = 0.0 * weights[-1], 0.0 * biases[-1]
        self.weights, self.biases = (
            [jnp.asarray(each.astype(np.float32)) for each in own] for own in (weights, biases)
        )
        self.normalisations = [] if smooth else [Normalisation(size) for size in sizes[1:-1]]
        self.smooth = smooth

    def __call__(self, inputs: jax.Array, first: jax.Array | float = 0.0) -> jax.Array:
        """(…, out) of (…, in) in training; `first` is added before the first normalisation."""
        if self.smooth:
            return Folded(self.weights, self.biases, True)(inputs)
        return self._outputs(inputs, first)[0]

    def folded(self, inputs: jax.Array, first: jax.Array | float = 0.0) -> "Folded":
        """The network as it is used, normalised by what all training inputs make of it."""
        if self.smooth:
            return Folded(self.weights, self.biases, True)
        statistics = self._outputs(inputs, first)[1]
        weights, biases = [], []
        for W, b, own, (mean, variance) in zip(
            self.weights, self.biases, self.normalisations, statistics, strict=False
        ):
            scale = own.scale_of(variance)
            weights.append(scale[:, None] * W)
            biases.append(scale * (b - mean) + own.shift)
        return Folded([*weights, self.weights[-1]], [*biases, self.biases[-1]])

    def scales(self, inputs: jax.Array, first: jax.Array | float = 0.0) -> list[jax.Array]:
        """(n,) by which normalisations scale the outputs of each hidden layer, see `folded`."""
        statistics = self._outputs(inputs, first)[1]
        return [own.scale_of(variance) for own, (_, variance) in zip(self.normalisations, statistics, strict=True)]

    def _outputs(self, values: jax.Array, first: jax.Array | float) -> tuple[jax.Array, list]:
        statistics = []
        for W, b, normalised in zip(self.weights, self.biases, self.normalisations, strict=False):
            values = values @ W.T + b + first
            axes = tuple(range(values.ndim - 1))
            statistics.append((values.mean(axes), values.var(axes)))
            values, first = jax.nn.relu(normalised(values, *statistics[-1])), 0.0
        return values @ self.weights[-1].T + self.biases[-1], statistics


class Folded(eqx.Module):
    """A perceptron that is not trained any more.

    Attributes:
        weights, biases: of each layer.
        smooth: GELU between them, otherwise ReLU.
    """

    weights: list[jax.Array]
    biases: list[jax.Array]
    smooth: bool = eqx.field(static=True, default=False)

    def __call__(self, inputs: jax.Array, first: jax.Array | float = 0.0) -> jax.Array:
        """(…, out) of (…, in); `first` is added to what the first layer makes of them."""
        bent = jax.nn.gelu if self.smooth else jax.nn.relu
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            inputs, first = bent(inputs @ W.T + b + first), 0.0
        return inputs @ self.weights[-1].T + self.biases[-1]
