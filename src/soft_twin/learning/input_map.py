"""What a robot makes of its pressures, in front of the network that stands for the simulations.

Leaks, a softer material, thinner walls, and how long a pressure has stood, are, to the surface, for the most part other
pressures. With x the shares of inflation, −1…1, the twin is asked at

    x' = x + Σ_m c_m φ_m(x, t)

where φ_m are products of Chebyshev polynomials of shares, and of the time t under pressure, and c_m say what they do to
each chamber. So few numbers carry over to pressures that were never tried, which the warp of space (hundreds of
coefficients of each frame) does not do from 40 frames. It is not in the paper, which gives the whole of the difference
to the warp. `input_fit` finds it.

Elastomers creep by about the same in each decade of time: t = ln(1 + s / s₀) − ln 2 of s seconds under pressure, s₀
being the median of the frames'; it is 0 there, and where nobody tells s.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

HIGHEST = 3  # degree of a polynomial


class InputMap(eqx.Module):
    """See the module's docstring.

    Attributes:
        degrees: (m, a + 1) of each term: that of each share's Chebyshev polynomial, at most 3, and 1 if it is times t.
        coefficients: (m, a) by chambers; zeros change nothing.
        reference: s₀ [s]; None: the frames did not tell how long pressures had stood, or always as long.
    """

    degrees: jax.Array
    coefficients: jax.Array
    reference: float | None = eqx.field(static=True, default=None)

    @classmethod
    def none(cls, actuators: int) -> "InputMap":
        """The one that changes nothing."""
        return cls(jnp.zeros((0, actuators + 1), int), jnp.zeros((0, actuators)))

    def __call__(self, inputs: jax.Array, held: jax.Array | float | None = None) -> jax.Array:
        """(a,) of shares (a,), held for so many seconds [s]."""
        return inputs + terms(self.degrees, inputs, self.time(held)) @ self.coefficients

    def time(self, held: jax.Array | float | None) -> jax.Array | float:
        """t of seconds under pressure [s]."""
        return 0.0 if held is None or self.reference is None else logarithmic(held, self.reference)


def logarithmic(held: jax.Array | float, reference: float) -> jax.Array:
    """t of seconds under pressure, see the module's docstring."""
    return jnp.log1p(held / reference) - jnp.log(2.0)


def terms(degrees: jax.Array, inputs: jax.Array, time: jax.Array | float) -> jax.Array:
    """(m,) values of terms of these degrees (m, a + 1), of shares (a,) and t."""
    powers = [jnp.ones_like(inputs), inputs]
    for _ in range(HIGHEST - 1):
        powers.append(2.0 * inputs * powers[-1] - powers[-2])
    each = jnp.stack(powers)[degrees[:, :-1], np.arange(len(inputs))]
    return each.prod(axis=1) * jnp.where(degrees[:, -1] > 0, time, 1.0)
