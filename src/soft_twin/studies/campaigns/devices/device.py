"""What every emulated bank of valves is to its line and to the judge."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from soft_twin.studies.campaigns.devices.chambers import Chambers


class Ear(ABC):
    """Listens to what a host says and knows which set points the device must have from it.

    The device has one behind its line; the judge has one at the host's end, where nothing is lost yet.

    Attributes:
        targets: gauge pressure that each chamber is told [Pa].
        told: is called with (chamber, gauge pressure) at each set point that is heard.
        refuses: is asked at each command; what is refused is not obeyed.
    """

    def __init__(self, count: int):
        self.targets = [0.0] * count
        self.told: Callable[[int, float], None] = _nothing
        self.refuses: Callable[[], bool] = _never

    @abstractmethod
    def hear(self, data: bytes) -> list[bytes]:
        """Take bytes; the answers of a device that is well, one for each request or command."""

    @abstractmethod
    def forget(self) -> None:
        """Begin anew, as after power on."""

    @property
    def resting(self) -> bool:
        """Whether the host has let the device rest: it drives nothing then."""
        return False

    def set_points(self) -> list[float]:
        """What a device that has heard this tells its valves [Pa]."""
        return list(self.targets)

    def _tell(self, chamber: int, pressure: float) -> None:
        if 0 <= chamber < len(self.targets):
            self.targets[chamber] = pressure
            self.told(chamber, pressure)


class Device(ABC):
    """An emulated device.

    Attributes:
        ear: its own.
        chambers: behind its valves.
        powered: False: it says and does nothing, and its valves go to rest.
        frozen: its program stands still; its valves stay as they are told.
        floor: lowest gauge pressure that it can say [Pa].
        said: the last measured gauge pressures that it sent, with the time [s], or None.
    """

    def __init__(self, ear: Ear, chambers: Chambers, rest: float):
        """`rest`: gauge pressure that its valves go to when they are told nothing [Pa]."""
        self.ear, self.chambers, self.rest = ear, chambers, rest
        self.powered, self.frozen = True, False
        self.said: tuple[float, list[float]] | None = None

    floor = -math.inf

    @abstractmethod
    def hear(self, data: bytes, now: float) -> list[bytes]:
        """Take bytes from the line; what it answers at once."""

    @abstractmethod
    def speak(self, now: float) -> bytes:
        """What it sends by itself until now."""

    def set_points(self) -> list[float]:
        """What its valves are told now [Pa]."""
        return self.ear.set_points()

    def step(self, dt: float) -> None:
        """Its valves and chambers live for a time [s]."""
        targets = self.set_points() if self.powered else [self.rest] * len(self.chambers.pressures)
        self.chambers.step(dt, targets)

    def reboot(self) -> None:
        """Power comes back: nothing is remembered."""
        self.ear.forget()

    def _measure(self) -> list[float]:
        return [sensor.read() for sensor in self.chambers.sensors]


def _nothing(chamber: int, pressure: float) -> None:
    """A told set point that nobody notes."""


def _never() -> bool:
    return False
