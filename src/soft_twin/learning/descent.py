"""Adam over rows of what is trained on, in batches: one compiled loop an epoch."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from soft_twin.errors import ConvergenceError
from soft_twin.parallel import Say

RATE = 1e-3


class Descent:
    """A loss that goes down; compiled once, whichever rows a network is trained on.

    Args:
        loss: network and numbers of rows (b,) → value.
        count: of the rows that there are.
        batch: of them in a step.
        name: of the network, for messages.
        rate: of Adam, or how it goes on.
    """

    def __init__(
        self, loss: Callable, count: int, batch: int, name: str, rate: float | Callable[[jax.Array], jax.Array] = RATE
    ):
        self._loss, self._count, self._batch, self._name = loss, count, batch, name
        self._optimiser = optax.adam(rate)
        self._epoch, self._begin = eqx.filter_jit(self._after_epoch), eqx.filter_jit(self._optimiser.init)

    def trained(
        self,
        network: Any,
        epochs: int,
        random: np.random.Generator,
        say: Say | None = None,
        look: Callable[[int, Any], bool] | None = None,
        rows: np.ndarray | None = None,
    ) -> Any:
        """A network after so many epochs, or fewer, if `look`, which is told their number and the network, has seen
        enough.

        Args:
            network: before.
            epochs: of all batches.
            random: says what is in each.
            say: is called with a line of progress.
            look: see above.
            rows: numbers of those that it is trained on, a batch of them at least; None: all.

        Raises:
            ConvergenceError: its loss is not finite.
        """
        own = np.arange(self._count) if rows is None else rows
        used, batches = len(own) // self._batch, np.zeros((self._count // self._batch, self._batch), int)
        state = self._begin(eqx.filter(network, eqx.is_array))
        for number in range(1, epochs + 1):
            batches[:used] = own[random.permutation(len(own))[: used * self._batch]].reshape(used, -1)
            network, state, value = self._epoch(network, state, jnp.asarray(batches), used)
            if not np.isfinite(float(value)):
                raise ConvergenceError(
                    f"training of the {self._name} diverged in epoch {number} of {epochs}: the loss is {value}"
                )
            if say is not None:
                say(f"training the {self._name}: epoch {number} of {epochs}, loss {float(value):.4g}")
            if look is not None and look(number, network):
                break
        return network

    def _after_epoch(self, network: Any, state: optax.OptState, batches: jax.Array, used: jax.Array):
        """The network, the optimiser's state and the mean loss after the first `used` of the batches (n, b)."""
        parts, static = eqx.partition(network, eqx.is_array)

        def step(number: jax.Array, carry):
            parts, state, total = carry
            value, slope = jax.value_and_grad(lambda own: self._loss(eqx.combine(own, static), batches[number]))(parts)
            updates, state = self._optimiser.update(slope, state)
            return optax.apply_updates(parts, updates), state, total + value

        parts, state, total = jax.lax.fori_loop(0, used, step, (parts, state, jnp.float32(0.0)))
        return eqx.combine(parts, static), state, total / used
