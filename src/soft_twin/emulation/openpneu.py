"""An OpenPneu that is not there: its firmware's text (see driving.openpneu_lines), its pumps and valves."""

import numpy as np

from soft_twin.emulation.chambers import ChamberParameters, Chambers
from soft_twin.emulation.line_faults import LineFaults
from soft_twin.emulation.ports import PseudoTerminal

CHANNELS = 10
CHANNELS_A_PAIR = 2
TELEMETRY_PERIOD = 1.0 / 30.0  # [s]
PUMPS = ChamberParameters(supply=150e3, valve_lag=0.05, fill_rate=8.0)
MAX_LINE = 64  # [bytes]
ANSWERS = {
    b"AT": b"OK;Successful\r\n",
    b"AT+ADDRESS": b"OpenPneu2.0\r\n",
    b"C": b"Timer Starts...\r\n",
    b"V": b"Timer Pauses...\r\nStop All Motors\r\n",
    b"PP": b"Stop all\r\n",
}
REFUSAL = b"Error command\r\n"


class EmulatedOpenPneu:
    """Ten channels in five pairs on a pseudo-terminal.

    Attributes:
        port: what the driver opens.
        line: between device and port, for faults on purpose.
        chambers: the channels; while the control loop does not run they are open.
        channels_each: how many of them a chamber has: the first of each pair has its pressure.
        running: whether the control loop runs: the pumps work and the pressures are said.
    """

    channels_each = CHANNELS_A_PAIR

    def __init__(self, seed: int = 0, port: PseudoTerminal | None = None, parameters: ChamberParameters = PUMPS):
        self.port = port or PseudoTerminal()
        self.line = LineFaults(self.port, seed)
        self.chambers = Chambers(CHANNELS, parameters, seed)
        self.running = False
        self._targets = np.zeros(CHANNELS)
        self._selected = 0
        self._text = b""
        self._since_telemetry = 0.0

    @property
    def address(self) -> str:
        """What a driver opens."""
        return self.port.path

    def step(self, dt: float) -> None:
        """Take the commands that came, let `dt` seconds pass, stream."""
        self._obey()
        self.chambers.targets = self._targets.copy() if self.running else np.zeros(CHANNELS)
        self.chambers.step(dt)
        self._stream(dt)

    def stand_still(self, dt: float) -> None:
        """Take the commands that came and stream as in `dt` seconds; the pressures stay."""
        self._obey()
        self._stream(dt)

    def close(self) -> None:
        """Unplug it."""
        self.port.close()

    def answer(self, line: bytes) -> bytes:
        """Do what a line says, which is without its LF; what the device says to it."""
        if not line.endswith(b"\r"):
            return b"Error end check\r\n"
        line = line[:-1]
        if line in (b"C", b"V"):
            self.running = line == b"C"
        if line in ANSWERS:
            return ANSWERS[line]
        name, _, text = line.partition(b"=")
        if name == b"SC":
            self._selected = int(_number(text))
            return b"Global Channel is %d\r\n" % self._selected
        if name == b"T":
            first = self._selected - self._selected % 2
            self._targets[first : first + 2] = 1e3 * _number(text)
            return b""
        return REFUSAL

    def _obey(self) -> None:
        *lines, self._text = (self._text + self.line.read()).split(b"\n")
        self._text = self._text[-MAX_LINE:]
        for line in lines:
            answer = self.answer(line)
            if answer:
                self.line.write(answer)

    def _stream(self, dt: float) -> None:
        self._since_telemetry += dt
        if self._since_telemetry >= TELEMETRY_PERIOD:
            self._since_telemetry %= TELEMETRY_PERIOD
            if self.running:
                self.line.write(self._telegram())

    def _telegram(self) -> bytes:
        numbers = ",".join(f"{1e-3 * pressure:.2f}" for pressure in self.chambers.measured())
        return f"T{numbers};\r\n".encode("ascii")


def _number(text: bytes) -> float:
    """A number as far as it is one, as the firmware reads it; else 0."""
    for end in range(len(text), 0, -1):
        try:
            return float(text[:end])
        except ValueError:
            continue
    return 0.0
