"""An OpenPneu that is not there: its text protocol (see driving.openpneu), its pumps and valves."""

import numpy as np

from soft_twin.emulation.chambers import ChamberParameters, Chambers
from soft_twin.emulation.line_faults import LineFaults
from soft_twin.emulation.ports import PseudoTerminal

CHANNELS = 10
TELEMETRY_PERIOD = 1.0 / 30.0  # [s]
PUMPS = ChamberParameters(supply=150e3, valve_lag=0.05, fill_rate=8.0)
MAX_LINE = 64  # [bytes]
DONE = b"OK;Successful\r\n"


class EmulatedOpenPneu:
    """Ten channels in five pairs on a pseudo-terminal.

    Attributes:
        port: what the driver opens.
        line: between device and port, for faults on purpose.
        chambers: the channels; without control they keep their air but for the leak, stopped they are open.
        state: "idle", "control" or "stopped".
    """

    def __init__(self, seed: int = 0, port: PseudoTerminal | None = None):
        self.port = port or PseudoTerminal()
        self.line = LineFaults(self.port, seed)
        self.chambers = Chambers(CHANNELS, PUMPS, seed)
        self.state = "idle"
        self._targets = np.zeros(CHANNELS)
        self._selected = 0
        self._text = b""
        self._since_telemetry = 0.0

    def step(self, dt: float) -> None:
        """Take the commands that came, let `dt` seconds pass, stream."""
        *lines, self._text = (self._text + self.line.read()).split(b"\r\n")
        self._text = self._text[-MAX_LINE:]
        for line in lines:
            if line:
                self.line.write(self._answer(line))
        if self.state == "control":
            self.chambers.targets = self._targets.copy()
        elif self.state == "stopped":
            self.chambers.targets = np.zeros(CHANNELS)
        self.chambers.step(dt)
        self._since_telemetry += dt
        if self._since_telemetry >= TELEMETRY_PERIOD:
            self._since_telemetry %= TELEMETRY_PERIOD
            numbers = ",".join(f"{1e-3 * pressure:.2f}" for pressure in self.chambers.measured())
            self.line.write(f"T{numbers};".encode("ascii"))

    def close(self) -> None:
        """Unplug it."""
        self.port.close()

    def _answer(self, line: bytes) -> bytes:
        if line == b"AT+ADDRESS":
            return b"OpenPneu2.0\r\n"
        if line == b"AT":
            return DONE
        if line in (b"C", b"V", b"PP"):
            self.state = {b"C": "control", b"V": "idle", b"PP": "stopped"}[line]
            return DONE
        return DONE if self._take_number(line) else b"Error command\r\n"

    def _take_number(self, line: bytes) -> bool:
        name, _, text = line.partition(b"=")
        try:
            number = float(text)
        except ValueError:
            return False
        if name == b"SC" and 0 <= number < CHANNELS:
            self._selected = int(number)
        elif name == b"T" and abs(number) < 1000.0:
            first = self._selected - self._selected % 2
            self._targets[first : first + 2] = 1e3 * number
        else:
            return False
        return True
