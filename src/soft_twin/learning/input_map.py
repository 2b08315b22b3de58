"""What a robot makes of its pressures, in front of the network that stands for the simulations.

Leaks, a softer material and thinner walls are, to the surface, for the most part other pressures. With x the shares of
inflation, −1…1, the twin is asked at

    x' = x + a + b x + c (x² − 1)

with a, b and c of each chamber's own, found by the same scans or markers as the warp, before it. So few numbers carry
over to pressures that were never tried, which the warp of space (hundreds of coefficients of each frame) does not do
from 40 frames. It is not in the paper, which gives the whole of the difference to the warp.
"""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from soft_twin.errors import ConvergenceError
from soft_twin.learning.layer import unit
from soft_twin.learning.losses import Cloud, nearest, squared_distances

ROUNDS, STEPS = 40, 5  # of matching, and of descent between
RATE = 0.02
RIDGE = 0.01  # [mm²] by which a share of 1 costs
REACH = 1.5  # of a patch: a point whose nearest one is further aside is opposite a hole
Surface = Callable[[jax.Array], tuple[jax.Array, jax.Array]]
Say = Callable[[str], None]


class InputMap(eqx.Module):
    """See the module's docstring.

    Attributes:
        coefficients: (3, a): a, b and c; zeros change nothing.
    """

    coefficients: jax.Array

    @classmethod
    def none(cls, actuators: int) -> "InputMap":
        """The one that changes nothing."""
        return cls(jnp.zeros((3, actuators)))

    def __call__(self, inputs: jax.Array) -> jax.Array:
        """(…, a) of shares (…, a)."""
        offset, slope, bend = self.coefficients
        return inputs + offset + slope * inputs + bend * (inputs**2 - 1.0)


@dataclass(frozen=True)
class ScanMatch:
    """How far surfaces (f, p, 3) [mm] are from scans without correspondences.

    A point counts by its distance along the mean of both surfaces' normals, which is none where both lie on one sphere,
    and by what it is aside by more than a patch. A point of the surface opposite a hole of the scan does not count.

    Attributes:
        clouds: of f frames.
        patch: radius [mm] of what a sample stands for.
    """

    clouds: Cloud
    patch: float

    def matched(self, points: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Of each point the nearest of the scan (f, p), and of each of the scan the nearest point (f, k)."""
        seen = jax.lax.map(lambda each: nearest(*each), (points, self.clouds.points, self.clouds.there))
        own = jax.lax.map(lambda each: nearest(*each), (self.clouds.points, points))
        return seen, own

    def distance(self, points: jax.Array, normals: jax.Array, matched: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Mean squared distance [mm²] there and back."""
        (seen, own), clouds, fixed = matched, self.clouds, jax.lax.stop_gradient(normals)
        opposite, across = _taken(clouds.points, seen), _taken(clouds.normals, seen)
        measure = jax.vmap(lambda *each: squared_distances(*each, self.patch))
        there = measure(points, opposite, unit(fixed + across))
        back = measure(clouds.points, _taken(points, own), unit(_taken(fixed, own) + clouds.normals))
        away = points - opposite
        aside = (away**2).sum(axis=-1) - (away * across).sum(axis=-1) ** 2
        counts = jax.lax.stop_gradient(aside < (REACH * self.patch) ** 2)
        return (counts * there).mean() + (clouds.there * back).sum() / clouds.there.sum()


@dataclass(frozen=True)
class MarkerMatch:
    """How far surfaces' points (f, k, 3) [mm] are from the markers that were seen of them."""

    clouds: Cloud

    def matched(self, points: jax.Array) -> tuple:
        """Nothing: it is known which is which."""
        return ()

    def distance(self, points: jax.Array, normals: jax.Array, matched: tuple) -> jax.Array:
        """Mean squared distance [mm²]."""
        there = self.clouds.there
        return (there * ((points - self.clouds.points) ** 2).sum(axis=-1)).sum() / there.sum()


def fit_inputs(
    surface: Surface, inputs: np.ndarray, match: ScanMatch | MarkerMatch, say: Say | None = None
) -> InputMap:
    """The map under which surfaces are nearest to what was seen.

    Args:
        surface: shares (a,) → points and normals (p, 3) [mm].
        inputs: (f, a) shares of the frames, −1…1.
        match: what was seen in them.

    Raises:
        ConvergenceError: it diverges.
    """
    inputs = jnp.asarray(inputs, jnp.float32)
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, ROUNDS * STEPS))
    surfaces = jax.vmap(surface)

    @jax.jit
    def descended(own: InputMap, state):
        matched = match.matched(surfaces(own(inputs))[0])

        def loss(own: InputMap) -> jax.Array:
            return match.distance(*surfaces(own(inputs)), matched) + RIDGE * (own.coefficients**2).sum()

        def step(carry, _):
            own, state = carry
            value, slope = jax.value_and_grad(loss)(own)
            updates, state = optimiser.update(slope, state)
            return (optax.apply_updates(own, updates), state), value

        (own, state), values = jax.lax.scan(step, (own, state), None, STEPS)
        return own, state, values[-1]

    own = InputMap.none(inputs.shape[1])
    state = optimiser.init(own)
    for number in range(1, ROUNDS + 1):
        own, state, value = descended(own, state)
        if not np.isfinite(float(value)):
            raise ConvergenceError(f"the map of the inputs diverged in round {number} of {ROUNDS}: the loss is {value}")
        if say is not None:
            say(f"fitting the inputs: round {number} of {ROUNDS}, loss {float(value):.4g}")
    return own


def _taken(values: jax.Array, chosen: jax.Array) -> jax.Array:
    """(f, p, 3) rows of values (f, k, 3) by numbers (f, p)."""
    return jnp.take_along_axis(values, chosen[..., None], axis=1)
