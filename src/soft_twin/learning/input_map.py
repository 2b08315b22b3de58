"""What a robot makes of its pressures, in front of the network that stands for the simulations.

Leaks, a softer material, thinner walls, and how long a pressure has stood, are, to the surface, for the most part other
pressures: those that are p times a factor, or a part of their neighbours'. With q the pressures over the largest of
each chamber, the twin is asked at

    q' = q + Σ_m c_m φ_m(q, t)

where φ_m are products of powers of q, and of the time t under pressure, and c_m say what they do to each chamber. So
few numbers carry over to pressures that were never tried, which the warp of space (hundreds of coefficients of each
frame) does not do from 40 frames. It is not in the paper, which gives the whole of the difference to the warp.
`input_fit` finds it. Whoever asks has shares of inflation, and gets some: `Filling` leads there and back.

Elastomers creep by about the same in each decade of time: t = ln(1 + s / s₀) − ln 2 of s seconds under pressure, s₀
being the median of the frames'; it is 0 there, and where nobody tells s. What it does for longer than in any frame
nobody has seen: what stands for longer counts as the longest of the frames' times.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from soft_twin.learning.samples import Inflation

HIGHEST = 3  # power of a pressure


class Filling(eqx.Module):
    """How chambers fill: shares of inflation, −1…1 within the limits, of pressures over the largest, and the other way
    round. Beyond the limits both go on straight.

    Attributes:
        pressures, shares: (k, a), rising in each column.
    """

    pressures: np.ndarray = eqx.field(converter=np.float32)
    shares: np.ndarray = eqx.field(converter=np.float32)

    @classmethod
    def of(cls, inflation: Inflation) -> "Filling":
        """Of a twin's chambers."""
        return cls(inflation.pressures / inflation.largest, 2.0 * inflation.filled - 1.0)

    @classmethod
    def straight(cls, actuators: int) -> "Filling":
        """Shares are pressures."""
        ends = np.array([[-1.0], [1.0]]) * np.ones(actuators)
        return cls(ends, ends)

    def shares_of(self, pressures: jax.Array) -> jax.Array:
        """(a,) of pressures (a,) over the largest."""
        return _extended(pressures, self.pressures, self.shares)

    def pressures_of(self, shares: jax.Array) -> jax.Array:
        """(a,) over the largest, of shares (a,)."""
        return _extended(shares, self.shares, self.pressures)


class InputMap(eqx.Module):
    """See the module's docstring.

    Attributes:
        degrees: (m, a + 1) of each term: the power of each pressure, at most 3, and 1 if it is times t.
        coefficients: (m, a) by chambers; zeros change nothing.
        filling: of the chambers.
        reference: s₀ [s]; None: the frames did not tell how long pressures had stood, or always as long.
        longest: of the frames' times [s].
    """

    degrees: jax.Array
    coefficients: jax.Array
    filling: Filling
    reference: float | None = eqx.field(static=True, default=None)
    longest: float = eqx.field(static=True, default=np.inf)

    @classmethod
    def none(cls, actuators: int) -> "InputMap":
        """The one that changes nothing."""
        return cls(jnp.zeros((0, actuators + 1), int), jnp.zeros((0, actuators)), Filling.straight(actuators))

    def __call__(self, inputs: jax.Array, held: jax.Array | float | None = None) -> jax.Array:
        """(a,) shares of shares (a,), held for so many seconds [s]."""
        if not len(self.degrees):
            return inputs
        told = self.filling.pressures_of(inputs)
        added = terms(self.degrees, told, self.time(held)) @ self.coefficients
        return self.filling.shares_of(told + added)

    def time(self, held: jax.Array | float | None) -> jax.Array | float:
        """t of seconds under pressure [s]."""
        if held is None or self.reference is None:
            return 0.0
        return logarithmic(jnp.minimum(held, self.longest), self.reference)


def logarithmic(held: jax.Array | float, reference: float) -> jax.Array:
    """t of seconds under pressure, see the module's docstring."""
    return jnp.log1p(held / reference) - jnp.log(2.0)


def terms(degrees: jax.Array, pressures: jax.Array, time: jax.Array | float) -> jax.Array:
    """(m,) values of terms of these degrees (m, a + 1), of pressures (a,) over the largest and t."""
    powers = jnp.stack([pressures**power for power in range(HIGHEST + 1)])
    each = powers[degrees[:, :-1], np.arange(len(pressures))]
    return each.prod(axis=1) * jnp.where(degrees[:, -1] > 0, time, 1.0)


def _extended(values: jax.Array, known: np.ndarray, others: np.ndarray) -> jax.Array:
    """(a,) linear in between (k, a), each by its own column, and straight on beyond."""
    inside = jnp.clip(values, known[0], known[-1])
    found = jnp.stack([jnp.interp(inside[i], known[:, i], others[:, i]) for i in range(known.shape[1])])
    slopes = jnp.diff(others, axis=0) / jnp.diff(known, axis=0)
    return found + jnp.where(values > inside, slopes[-1], slopes[0]) * (values - inside)
