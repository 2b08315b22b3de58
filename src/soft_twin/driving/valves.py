"""What every bank of pressure valves is to its driver. A new kind is one module and one line in BACKENDS."""

import contextlib
import importlib
from abc import ABC, abstractmethod

import numpy as np

from soft_twin.errors import DeviceError

BACKENDS = {
    "openpneu": "soft_twin.driving.openpneu",
    "dac_board": "soft_twin.driving.dac_board",
    "modbus": "soft_twin.driving.modbus_valves",
}


class Valves(ABC):
    """Valves that hold chambers at gauge pressures [Pa]; units and reference of a device are converted in here.

    `write`, `read` and `shut_down` raise DeviceError when the device is gone or talks nonsense.

    Attributes:
        count: number of chambers.
        range: lowest and highest gauge pressure that the device can be told [Pa].
        garbage: how often the device said what cannot be understood.
    """

    count: int
    range: tuple[float, float]
    garbage: int = 0

    @abstractmethod
    def write(self, pressures: np.ndarray) -> None:
        """Tell the device the pressures (n,) [Pa] that it should hold; those beyond its range are clipped."""

    @abstractmethod
    def read(self) -> np.ndarray | None:
        """The newest measured pressures (n,) [Pa] since the last call; None if nothing new has come."""

    @abstractmethod
    def shut_down(self) -> None:
        """Last words before the device is left alone: let nothing be pumped any more."""

    @abstractmethod
    def release(self) -> None:
        """Let go of the device; never raises."""

    def close(self) -> None:
        """Shut down and let go of the device, be it there or not."""
        with contextlib.suppress(DeviceError):
            self.shut_down()
        self.release()


def open_valves(backend: str, device: str, count: int) -> Valves:
    """Valves of that kind on that device.

    Args:
        backend: one of BACKENDS.
        device: a serial port, or host:port for Modbus over TCP.
        count: number of chambers.

    Raises:
        DeviceError: no such backend or device, or it does not answer; with the remedy.
    """
    if backend not in BACKENDS:
        raise DeviceError(f"no valve backend '{backend}': there are {', '.join(BACKENDS)}")
    return importlib.import_module(BACKENDS[backend]).open_device(device, count)
