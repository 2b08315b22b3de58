"""What every bank of pressure valves is to its driver. A new kind is one module and one line in BACKENDS."""

import contextlib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np

from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.errors import DescriptionError, DeviceError

BACKENDS = {
    "openpneu": "soft_twin.driving.valves.openpneu",
    "dac_board": "soft_twin.driving.valves.dac_board",
    "modbus": "soft_twin.driving.valves.modbus_valves",
    "modbus_vacuum": "soft_twin.driving.valves.modbus_vacuum",
}


class Port(Protocol):
    """A line to a device; every failure is a DeviceError.

    `read` gives what has come in and never waits for more.
    """

    def read(self) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class Valves(ABC):
    """Valves that hold chambers at gauge pressures [Pa]; units and reference of a device are converted in here.

    `read` and `write` are called in turn, tick by tick, and take some milliseconds at the most however slow the device
    is; `write`, `read` and `shut_down` raise DeviceError when the device is gone.

    Attributes:
        count: number of chambers.
        range: lowest and highest gauge pressure that the device can be told [Pa].
        step: from one that it can be told to the next; what it is told is rounded to the nearest [Pa].
        garbage: how often the device said what cannot be understood.
        told: (n,) gauge pressures that the device was told last, or says that it holds, NaN where neither yet [Pa].
        rests_after: a device that hears nothing for so long relaxes its chambers by itself [s]; inf: it does not.
        rests_at: gauge pressure of chambers that the device lets rest [Pa].
    """

    count: int
    range: tuple[float, float]
    step: float
    garbage: int = 0
    rests_after: float = np.inf
    rests_at: float = 0.0

    def __init__(self, port: Port, count: int, clock: Clock = SYSTEM, reopen: Callable[[], Port] | None = None):
        """On an open port; `reopen` opens it once more."""
        self.count = count
        self.told = np.full(count, np.nan)
        self._port = port
        self._clock = clock
        self._reopen = reopen

    def rounded_inwards(self, lowest: np.ndarray, highest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest pressure within limits that the device can be told [Pa].

        Of limits between two of them both are the lower one.
        """
        first, slack = self.range[0], 1e-9  # steps by which floating numbers are off
        low = first + self.step * np.ceil((lowest - first) / self.step - slack)
        high = first + self.step * np.floor((highest - first) / self.step + slack)
        return np.minimum(low, high), high

    @property
    def told_until(self) -> float:
        """Whatever was told before this time has arrived [s]: the device says so, or, where it never does, was sent."""
        return self._clock.monotonic()

    @property
    def rested(self) -> bool:
        """Whether the device has let its chambers rest of itself, as after it was without power."""
        return False

    @property
    def trouble(self) -> str:
        """What the device refuses, or has not confirmed for too long, in words; "" if all is well."""
        return ""

    def tell_again(self) -> None:  # noqa: B027
        """Let every chamber be told soon, whatever it is known to hold; most devices are told all at once anyway."""

    @abstractmethod
    def write(self, pressures: np.ndarray) -> None:
        """Tell the device the pressures (n,) [Pa] that it should hold; those beyond its range are clipped."""

    @property
    def pausing(self) -> bool:
        """Whether it measures nothing because it lets the air out: see `let_out`."""
        return False

    def let_out(self, driven: bool, pressed: bool) -> None:
        """Do what else there is to let out the air of a chamber that does not obey, where there is anything.

        Args:
            driven: whether the chambers are driven, not relaxed.
            pressed: whether one keeps its pressure though told to vent.
        """
        return

    @abstractmethod
    def read(self) -> np.ndarray | None:
        """The newest measured pressures (n,) [Pa] since the last call; None if nothing new has come."""

    @abstractmethod
    def shut_down(self, rest: np.ndarray) -> None:
        """Last words before the device is left alone: rest at these pressures (n,) [Pa], pump no more.

        Raises:
            DeviceError: the device is gone, or does not confirm it.
        """

    def last_words(self, rest: np.ndarray) -> None:
        """Shut down on whatever line there is: the present one, or the same opened once more.

        Raises:
            DeviceError: neither has brought it to the device.
        """
        try:
            self.shut_down(rest)
        except DeviceError:
            if self._reopen is None:
                raise
            self.release()
            self._port = self._reopen()
            self._begin_again()
            self.shut_down(rest)

    def release(self) -> None:
        """Let go of the device; never raises."""
        with contextlib.suppress(DeviceError):
            self._port.close()

    def close(self, rest: np.ndarray | None = None) -> None:
        """Shut down, at the lowest pressures that are not below the ambient's if at no others; let go of the device."""
        with contextlib.suppress(DeviceError):
            self.shut_down(np.full(self.count, max(self.range[0], 0.0)) if rest is None else rest)
        self.release()

    def _begin_again(self) -> None:
        """Forget what belonged to the connection before this one."""
        return


def require_backend(backend: str) -> None:
    """See that there are valves of that kind.

    Raises:
        DescriptionError: there are none, with the kinds that there are.
    """
    if backend not in BACKENDS:
        raise DescriptionError(f"no valve backend '{backend}': there are {', '.join(BACKENDS)}")


def open_valves(backend: str, device: str, count: int, clock: Clock = SYSTEM) -> Valves:
    """Valves of that kind on that device.

    Args:
        backend: one of BACKENDS.
        device: a serial port, or host:port for Modbus over TCP.
        count: number of chambers.
        clock: by which the device is waited for.

    Raises:
        DescriptionError: see `require_backend`.
        DeviceError: no such device, or it does not answer; with the remedy.
    """
    require_backend(backend)
    return importlib.import_module(BACKENDS[backend]).open_device(device, count, clock)
