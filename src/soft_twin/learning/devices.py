"""On what JAX computes."""

import jax

from soft_twin.errors import UsageError
from soft_twin.files import one_line

DEVICES = ("cpu", "gpu")


def use_device(name: str | None) -> str:
    """Let JAX compute on the first device of a kind from now on; None: on what it takes by itself. What it is called.

    Raises:
        UsageError: there is none of that kind.
    """
    if name is not None:
        try:
            jax.config.update("jax_default_device", jax.devices(name)[0])
        except RuntimeError as error:
            there = ", ".join(sorted({each.platform for each in jax.devices()}))
            raise UsageError(
                f"no {name} for JAX, which has {there}: install its wheels for yours, or leave --device out "
                f"({one_line(error)})"
            ) from None
    device = jax.config.jax_default_device or jax.devices()[0]
    return f"{device.platform} ({device.device_kind})" if device.platform != "cpu" else "cpu"
