"""OpenPneu (Tian et al., AIM 2023): pumps and valves for ten channels behind a serial line of text.

Commands end with CR LF: `AT+ADDRESS` is answered by `OpenPneu2.0`, `AT` by `OK;Successful`; `SC=<channel>` selects
a channel, `T=<kPa>` sets the gauge pressure of the selected channel and of its pair (2k and 2k+1), `C` starts the
control, `V` pauses it, `PP` stops everything. The device streams `T<p0>,…,<p9>;` in kPa at 30 Hz between its answers.
There is no checksum, and it goes on for ever when its host is gone: leaving it must send `PP`.
"""

import re
import time

import numpy as np

from soft_twin.driving.serial_port import SerialPort
from soft_twin.driving.valves import Valves
from soft_twin.errors import DeviceError

BAUD_RATE = 115_200  # [bit/s]
CHANNELS = 10
KILOPASCAL = 1000.0  # [Pa]
RANGE = (-50e3, 150e3)  # [Pa] of its pumps
RESOLUTION = 0.1  # [kPa] of a command
ANSWER_TIME = 1.0  # [s]
LONGEST_LINE = 256  # [bytes]
IMPLAUSIBLE = 1000.0  # [kPa]

ANSWERS = (b"", b"OK;Successful", b"Error command", b"OpenPneu2.0")

_TELEMETRY = re.compile(rb"T([-+0-9.eE,]*);")
_BROKEN = re.compile(rb"T[-+0-9.eE,]+")
_BEGINNING = re.compile(rb"T[-+0-9.eE,]*\Z")


def encode_target(pair: int, pressure: float) -> bytes:
    """Set the channels 2·pair and 2·pair + 1 to a gauge pressure [Pa]."""
    return f"SC={2 * pair}\r\nT={pressure / KILOPASCAL:.1f}\r\n".encode("ascii")


class TelemetryDecoder:
    """Pressures out of the device's stream.

    Attributes:
        garbage: telegrams that were not ten plausible numbers, and text that is no answer.
        text: what has come between the telegrams lately.
    """

    def __init__(self) -> None:
        self.garbage = 0
        self.text = b""
        self._rest = self._line = b""

    def feed(self, data: bytes) -> list[np.ndarray]:
        """Gauge pressures (10,) [Pa] of each telegram completed by `data`."""
        self._rest += data
        result, end = [], 0
        for match in _TELEMETRY.finditer(self._rest):
            self._take_text(self._rest[end : match.start()])
            end = match.end()
            pressures = self._parse(match[1])
            if pressures is not None:
                result.append(pressures)
        beginning = _BEGINNING.search(self._rest, end)
        start = beginning.start() if beginning else len(self._rest)
        self._take_text(self._rest[end:start])
        self._rest = self._rest[start:][-LONGEST_LINE:]
        return result

    def _take_text(self, text: bytes) -> None:
        """Lines of answers, which may be cut by the end of what has come in."""
        text, broken = _BROKEN.subn(b"", text)
        self.garbage += broken
        *lines, self._line = (self._line + text).split(b"\r\n")
        self._line = self._line[-LONGEST_LINE:]
        self.garbage += sum(line not in ANSWERS for line in lines)
        self.text = (self.text + text)[-LONGEST_LINE:]

    def _parse(self, numbers: bytes) -> np.ndarray | None:
        try:
            values = np.array([float(number) for number in numbers.split(b",")])
        except ValueError:
            values = np.array([])
        if len(values) != CHANNELS or not (np.abs(values) < IMPLAUSIBLE).all():
            self.garbage += 1
            return None
        return KILOPASCAL * values


class OpenPneuValves(Valves):
    """The pairs of an OpenPneu as chambers: chamber k is the channels 2k and 2k+1, measured at 2k."""

    range = RANGE

    def __init__(self, port: SerialPort, count: int):
        """Wake the device up.

        Raises:
            DeviceError: it does not answer as an OpenPneu does, or has fewer pairs.
        """
        if not 1 <= count <= CHANNELS // 2:
            raise DeviceError(f"{count} chambers on an OpenPneu: it has {CHANNELS // 2} pairs of channels")
        self.count = count
        self._port = port
        self._decoder = TelemetryDecoder()
        self._told = np.full(count, np.nan)
        self._greet()
        self._port.write(b"C\r\n")

    @property
    def garbage(self) -> int:
        return self._decoder.garbage

    def write(self, pressures: np.ndarray) -> None:
        wanted = np.round(np.clip(pressures, *RANGE) / KILOPASCAL, 1)
        changed = np.flatnonzero(~(np.abs(wanted - self._told) < RESOLUTION / 2))
        self._port.write(b"".join(encode_target(pair, KILOPASCAL * wanted[pair]) for pair in changed))
        self._told[changed] = wanted[changed]

    def read(self) -> np.ndarray | None:
        telegrams = self._decoder.feed(self._port.read())
        return telegrams[-1][: 2 * self.count : 2] if telegrams else None

    def shut_down(self) -> None:
        self._port.write(b"PP\r\n")

    def release(self) -> None:
        self._port.close()

    def _greet(self) -> None:
        self._port.write(b"\r\nAT+ADDRESS\r\n")
        end = time.monotonic() + ANSWER_TIME
        while b"OpenPneu" not in self._decoder.text:
            if time.monotonic() > end:
                raise DeviceError(
                    f"no OpenPneu answers to AT+ADDRESS within {ANSWER_TIME:g} s: check its power, the port, and "
                    f"{BAUD_RATE} baud"
                )
            self._decoder.feed(self._port.read())
            time.sleep(0.005)


def open_device(device: str, count: int) -> OpenPneuValves:
    """The OpenPneu on a serial port.

    Raises:
        DeviceError: see SerialPort and OpenPneuValves.
    """
    port = SerialPort(device, BAUD_RATE)
    try:
        return OpenPneuValves(port, count)
    except DeviceError:
        port.close()
        raise
