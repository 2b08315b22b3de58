"""OpenPneu's bytes, after its firmware (version 2): lines that end with CR LF, and a stream of telegrams.

| line | does | is answered by |
|---|---|---|
| `AT` | | `OK;Successful` |
| `AT+ADDRESS` | | `OpenPneu2.0` |
| `SC=<n>` | selects channel n for all that follows | `Global Channel is <n>` |
| `T=<kPa>` | sets the gauge pressure of that channel and of its pair (2k and 2k+1) | nothing |
| `C` | starts the control loop | `Timer Starts...` |
| `V` | ends it and lets the chambers exhaust | `Timer Pauses...`, `Stop All Motors` |
| `PP` | lets the chambers exhaust, until the loop's next turn | `Stop all` |
| any other | | `Error command`, or `Error end check` without CR |

While the loop runs, each of its 30 turns a second says `T<p0>,…,<p9>;` in kPa and CR LF, in the middle of an answer if
need be. There is no checksum, and a number is read as far as it is one.
"""

import re

import numpy as np

CHANNELS = 10
PAIRS = CHANNELS // 2
KILOPASCAL = 1000.0  # [Pa]
IMPLAUSIBLE = 1000.0  # [kPa]
LONGEST_LINE = 256  # [bytes]

END = b"\r\n"
HELLO, WHO, CONTROL, PAUSE, EXHAUST = b"AT", b"AT+ADDRESS", b"C", b"V", b"PP"
WELL, NAME, CONTROLS, EXHAUSTS = b"OK;Successful", b"OpenPneu2.0", b"Timer Starts...", b"Stop all"
PAUSES = (b"Timer Pauses...", b"Stop All Motors")
REFUSALS = (b"Error command", b"Error end check")

_ANSWER = re.compile(
    rb"OpenPneu2\.0|Timer Starts\.\.\.|Timer Pauses\.\.\.|Stop All Motors|Stop all|"
    rb"Error command|Error end check|OK;Successful|Global Channel is -?\d+"
)
_NUMBER = rb"(?:[-+0-9.,]|[eE](?=[-+0-9])|nan|inf|ovf)"  # a piece of a telegram's; no answer goes on like that
_TELEGRAM = re.compile(rb"T(" + _NUMBER + rb"+);")
_BROKEN = re.compile(rb"T" + _NUMBER + rb"+")
_BEGINNING = re.compile(rb"T" + _NUMBER + rb"*[a-zE]{0,2}\Z")


def select(pair: int) -> bytes:
    """The line that selects the channels 2·pair and 2·pair + 1."""
    return b"SC=%d" % (2 * pair)


def selected(pair: int) -> bytes:
    """The answer to `select`."""
    return b"Global Channel is %d" % (2 * pair)


def target(kilopascals: float) -> bytes:
    """The line that sets the selected pair's gauge pressure [kPa]."""
    return f"T={kilopascals:.1f}".encode("ascii")


class StreamDecoder:
    """Pressures and answers out of the device's stream.

    Attributes:
        broken_telegrams: that were not ten plausible numbers.
        unknown_lines: that are no answer.
        answers: that have come since somebody took them out, oldest first.
        unknown: the newest of the lines that are no answer, with its end; b"" if there was none.
    """

    def __init__(self) -> None:
        self.broken_telegrams = self.unknown_lines = 0
        self.answers: list[bytes] = []
        self.unknown = b""
        self._rest = self._line = b""
        self._swallow = b""  # the end of line that belongs to a telegram

    @property
    def garbage(self) -> int:
        return self.broken_telegrams + self.unknown_lines

    @property
    def unfinished(self) -> bytes:
        """Of an answer, what has come before its end."""
        return self._line

    def feed(self, data: bytes) -> list[np.ndarray]:
        """Gauge pressures (10,) [Pa] of each telegram completed by `data`; NaN where a sensor's is none."""
        self._rest += data
        result, end = [], 0
        for match in _TELEGRAM.finditer(self._rest):
            self._take_text(self._rest[end : match.start()])
            end = match.end()
            self._swallow = END
            pressures = self._parse(match[1])
            if pressures is not None:
                result.append(pressures)
        beginning = _BEGINNING.search(self._rest, end)
        start = beginning.start() if beginning else len(self._rest)
        self._take_text(self._rest[end:start])
        self._rest = self._rest[start:][-LONGEST_LINE:]
        return result

    def _take_text(self, text: bytes) -> None:
        """Lines of answers, which may be cut by telegrams and by the end of what has come in."""
        while text and self._swallow:
            text, self._swallow = (text[1:], self._swallow[1:]) if text[0] == self._swallow[0] else (text, b"")
        text, broken = _BROKEN.subn(b"", text)
        self.broken_telegrams += broken
        *lines, self._line = (self._line + text).split(END)
        self._line = self._line[-LONGEST_LINE:]
        for line in filter(None, lines):
            if _ANSWER.fullmatch(line):
                self.answers.append(line)
            else:
                self.unknown_lines += 1
                self.unknown = line + END

    def _parse(self, numbers: bytes) -> np.ndarray | None:
        try:
            values = np.array([float(number) for number in numbers.split(b",")])
        except ValueError:
            values = np.array([])
        if len(values) != CHANNELS:
            self.broken_telegrams += 1
            return None
        plausible = np.abs(values) < IMPLAUSIBLE
        self.broken_telegrams += not plausible.all()
        return KILOPASCAL * np.where(plausible, values, np.nan)
