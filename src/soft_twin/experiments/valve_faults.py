"""Random faults at the chambers' driver, with each kind of valves: see fault_campaign."""

import numpy as np

from soft_twin.driving.dac_board import DacValves
from soft_twin.driving.modbus_valves import ModbusValves
from soft_twin.driving.openpneu import OpenPneuValves
from soft_twin.driving.pressures import ChamberLimits
from soft_twin.driving.valve_control import ValveControl
from soft_twin.driving.valves import Valves
from soft_twin.emulation.dac_board import EmulatedDacBoard
from soft_twin.emulation.line_faults import LINE_FAULTS
from soft_twin.emulation.modbus_terminal import EmulatedModbusTerminal
from soft_twin.emulation.openpneu import EmulatedOpenPneu
from soft_twin.errors import DeviceError
from soft_twin.experiments.fault_campaign import Campaign, MemoryLine

COUNT = 4
DEVICE_PERIOD = 0.005  # [s]
HOLD = 2.5  # [s] that the commanded pressures stay
RUNAWAY = 2.0  # times the rate limit is an uncontrolled motion
RUNAWAY_TIME = 0.06  # [s]
MARGIN = 0.1  # of the pressures' range, above the limit or above what a relaxed chamber has fallen to


class HostEnd:
    """The host's end of a memory line, as drivers know serial ports; reading lets the device live a little."""

    def __init__(self, line: MemoryLine, live):
        self._line, self._live = line, live
        self.plugged = True

    def read(self) -> bytes:
        self._check()
        self._live()
        return self._line.take()

    def write(self, data: bytes) -> None:
        self._check()
        self._line.to_device += data

    def close(self) -> None:
        """There is nothing to close."""

    def _check(self) -> None:
        if not self.plugged:
            raise DeviceError("the device is gone: unplugged")


class MemoryModbus:
    """A connection to a terminal without a network; its answers are there at once."""

    def __init__(self, terminal: EmulatedModbusTerminal):
        self._terminal = terminal
        self._answers = b""
        self.plugged = True

    def read(self) -> bytes:
        self._check()
        data, self._answers = self._answers, b""
        return data

    def write(self, data: bytes) -> None:
        self._check()
        self._answers += b"" if self._terminal.silent else self._terminal.answer(data)

    def close(self) -> None:
        """There is nothing to close."""

    def _check(self) -> None:
        if not self.plugged:
            raise DeviceError("the device is gone: unplugged")


class OnSerialLine:
    """A serial device and its driver's end."""

    line_faults = LINE_FAULTS

    def __init__(self, device, line: MemoryLine, driver, channels_per_chamber: int = 1):
        self.device, self._line, self._driver, self._each = device, line, driver, channels_per_chamber
        self.chambers = device.chambers

    @property
    def pressures(self) -> np.ndarray:
        """(n,) of the chambers, truly [Pa]."""
        return self.chambers.pressures[:: self._each][:COUNT]

    @property
    def targets(self) -> np.ndarray:
        """(n,) what the device was told [Pa]."""
        return self.chambers.targets[:: self._each][:COUNT]

    def open(self) -> Valves:
        """A driver's valves, on the device as it is plugged in."""
        self._line.to_device = self._line.to_host = b""
        self._end = HostEnd(self._line, lambda: self.device.step(0.0))
        return self._driver(self._end, COUNT)

    def unplug(self) -> None:
        self._end.plugged = False

    def break_line(self, kind: str | None) -> None:
        self.device.line.fault = kind


class OnNetwork(OnSerialLine):
    """A Modbus terminal, whose TCP loses and spoils nothing: it answers or it does not."""

    line_faults = ("silence",)

    def __init__(self, terminal: EmulatedModbusTerminal):
        super().__init__(terminal, MemoryLine(), None)

    def open(self) -> Valves:
        self._end = MemoryModbus(self.device)
        return ModbusValves(self._end, COUNT, "memory")

    def break_line(self, kind: str | None) -> None:
        self.device.silent = kind is not None


def openpneu(seed: int) -> OnSerialLine:
    """An OpenPneu; each of its chambers is a pair of channels."""
    line = MemoryLine()
    return OnSerialLine(EmulatedOpenPneu(seed, line), line, OpenPneuValves, channels_per_chamber=2)


def dac_board(seed: int) -> OnSerialLine:
    """A DAC board."""
    line = MemoryLine()
    return OnSerialLine(EmulatedDacBoard(COUNT, seed, line), line, DacValves)


def modbus(seed: int) -> OnSerialLine:
    """A Modbus terminal."""
    return OnNetwork(EmulatedModbusTerminal(COUNT, seed))


BACKENDS = {
    "openpneu": (openpneu, ChamberLimits((0.0, 90e3), rate=200e3, vent_rate=100e3)),
    "dac_board": (dac_board, ChamberLimits((0.1e6, 0.4e6), rate=400e3, vent_rate=400e3, vented=0.1e6)),
    "modbus": (modbus, ChamberLimits((0.0, 0.3e6), rate=400e3, vent_rate=400e3)),
}


class ValveCampaign(Campaign):
    """Four chambers behind one kind of valves."""

    harmless = ("duplicates", "reordered")
    traces = (*Campaign.traces, "stale")
    # silence is a fault after half a second; a stuck valve shows once its command has been elsewhere for two
    longer = {"no commands": 1.0, "silence": 0.6, "stuck": 3.0 * HOLD, "supply lost": 2.0 * HOLD}
    period = 0.02
    count = COUNT

    def __init__(self, backend: str, seed: int):
        make, self._limits = BACKENDS[backend]
        self._plant = make(seed)
        self.kinds = (*self._plant.line_faults, "stuck", "supply lost", "no commands", "nonsense", "unplugged")
        self._supply = self._plant.chambers.supply
        self._lowest = np.full(COUNT, self._limits.vented)
        self._fast = np.zeros(COUNT)
        self._levels = np.random.default_rng(seed).uniform(0.0, 1.0, 64)
        super().__init__(seed)
        self._last = self._plant.pressures.copy()

    def _new_driver(self) -> ValveControl:
        self._told = self._told_before = None  # by this driver
        self._valves: Valves | None = self._plant.open()
        return ValveControl([f"chamber_{i + 1}" for i in range(COUNT)], self._limits)

    def _counters(self) -> dict[str, float]:
        return super()._counters() | {"garbage": self._valves.garbage if self._valves else 0}

    def _wanted(self) -> np.ndarray:
        """Every chamber goes up and down through most of its range, each at its own time."""
        low, high = self._limits.pressure
        turn = np.floor(self._now / HOLD + 0.25 * np.arange(COUNT)).astype(int)
        share = np.where(turn % 2 == 0, 0.1, 0.85) + 0.1 * self._levels[(turn + np.arange(COUNT)) % 64]
        return low + share * (high - low)

    def _tick(self) -> None:
        """As the driver's thread does: read, decide, write; a device that fails is let go."""
        self._exchange()
        for _ in range(round(self.period / DEVICE_PERIOD)):
            self._plant.device.step(DEVICE_PERIOD)

    def _exchange(self) -> None:
        if self._valves is None:
            self._control.update(None, self.period)
            return
        try:
            pressures = self._control.update(self._valves.read(), self.period)
            if self._control.ready:
                self._valves.write(pressures)
                self._told = pressures
        except DeviceError as error:
            self._control.lose_device(str(error))
            self._valves = None

    def _break(self, kind: str) -> None:
        if kind in LINE_FAULTS:
            self._plant.break_line(kind)
        elif kind == "stuck":
            self._plant.chambers.stuck[:: len(self._plant.chambers.stuck) // COUNT][self._rng.integers(COUNT)] = True
        elif kind == "supply lost":
            self._plant.chambers.supply = 0.0
        elif kind == "unplugged":
            self._plant.unplug()

    def _mend(self) -> None:
        self._plant.break_line(None)
        self._plant.chambers.stuck[:] = False
        self._plant.chambers.supply = self._supply

    def _prepare(self) -> None:
        """A device that is gone gets a new driver."""
        if self._valves is None:
            self._control = self._new_driver()

    def _judge(self) -> None:
        true = self._plant.pressures
        low, high = self._limits.pressure
        enabled = self._control.enabled
        self.outcome.over_limit += self._told is not None and self._is_over(self._told, true, enabled)
        self._told_before = self._told
        # a device that is out of reach goes on to what it was told last
        bound = np.maximum(true, self._plant.targets)
        self._lowest = np.where(enabled, np.inf, np.minimum(self._lowest, bound))
        speed = (true - self._last) / self.period
        self._fast = np.where(speed > RUNAWAY * self._limits.rate, self._fast + self.period, 0.0)
        highest = np.clip(self._lowest, self._limits.vented, high) + MARGIN * (high - low)
        if np.any(true > highest) or np.any(self._fast > RUNAWAY_TIME):
            self.outcome.runaways += 1
        self._last = true.copy()

    def _is_over(self, told: np.ndarray, true: np.ndarray, enabled: bool) -> bool:
        """Whether the device was told a pressure out of range, or to rise too fast, or at all without need."""
        low, high = self._limits.pressure
        rise = told - (true if self._told_before is None else self._told_before)
        highest = self._limits.rate * self.period if enabled and self._told_before is not None else 0.0
        stays = (told <= np.maximum(true, self._limits.vented) + MARGIN * (high - low)) & (
            not enabled or self._told_before is None
        )  # where the chamber is
        return bool(np.any((told < low - 1.0) | (told > high + 1.0) | ((rise > highest + 1.0) & ~stays)))
