"""The valves of an emulated robot's chambers, behind the device that its description names."""

import threading
from dataclasses import replace
from typing import Protocol

import numpy as np

from soft_twin.descriptions.drives import Mismatch, ValveDrive
from soft_twin.emulation.chambers import ChamberParameters, Chambers
from soft_twin.emulation.dac_board import EmulatedDacBoard
from soft_twin.emulation.modbus_terminal import VALVES, EmulatedModbusTerminal
from soft_twin.emulation.openpneu import PUMPS, EmulatedOpenPneu


class ValveDevice(Protocol):
    """An emulated valve device.

    Attributes:
        address: what a driver opens.
        chambers: what its channels fill.
        channels_each: how many of its channels a chamber has.
    """

    address: str
    chambers: Chambers
    channels_each: int

    def step(self, dt: float) -> None: ...

    def stand_still(self, dt: float) -> None: ...

    def close(self) -> None: ...


class ValveBank:
    """A robot's chambers on their device. The device fills them as if their volumes stayed as they are; the body tells
    how much of that its movement has taken away.

    Attributes:
        device: what the driver talks to.
    """

    def __init__(self, drive: ValveDrive, mismatch: Mismatch, seed: int = 0):
        own = {"valve_lag": mismatch.valve_lag, "fill_rate": mismatch.fill_rate, "leak": mismatch.leak}
        self.device = _device(drive, own, seed)
        self._channels = self.device.channels_each * np.array(drive.channels)
        self._changes = np.zeros(len(self._channels))
        self._lock = threading.Lock()

    @property
    def pressures(self) -> np.ndarray:
        """(p,) true gauge pressures of the robot's chambers, in their order [Pa]."""
        return self.device.chambers.pressures[self._channels]

    def change(self, pressures: np.ndarray) -> None:
        """Change the chambers' pressures by (p,) [Pa] with the device's next step; from any thread."""
        with self._lock:
            self._changes += pressures

    def step(self, dt: float) -> None:
        """Let the device live for `dt` [s]."""
        with self._lock:
            changes, self._changes = self._changes, np.zeros_like(self._changes)
        self.device.chambers.pressures[self._channels] += changes
        self.device.step(dt)

    def stand_still(self, dt: float) -> None:
        """The device answers for `dt` [s] in which nothing moves."""
        self.device.stand_still(dt)

    def close(self) -> None:
        """Unplug the device."""
        self.device.close()


def _device(drive: ValveDrive, own: dict[str, float], seed: int) -> ValveDevice:
    """The device of a drive."""
    count = len(drive.channels)
    if drive.backend == "openpneu":
        return EmulatedOpenPneu(seed, parameters=replace(PUMPS, **own))
    if drive.backend == "dac_board":
        return EmulatedDacBoard(count, seed, parameters=ChamberParameters(**own))
    return EmulatedModbusTerminal(count, seed, replace(VALVES, **own), vacuum=drive.backend == "modbus_vacuum")
