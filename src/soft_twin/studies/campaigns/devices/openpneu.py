"""An OpenPneu, after its firmware's commands: lines of text, a selected channel, a control loop.

Commands end with CR LF. `AT` is answered by `OK;Successful`, `AT+ADDRESS` by `OpenPneu2.0`, `SC=` by `Global Channel
is N`, `C` by `Timer Starts...`, `V` by `Timer Pauses...` and `Stop All Motors`, `PP` by `Stop all`, `T=` by nothing,
other lines by `Error command`, a line without CR by `Error end check`. `SC=` selects a channel for all that follows;
`T=` sets the target [kPa] of it and of the other one of its pair. Numbers are read as far as they are numbers, and are
0 where they are none. The control loop runs between `C` and `V`; at each of its turns, 30 a second, it says
`T<p0>,…,<p9>;`, in the middle of an answer if need be. `V` stops the motors and lets the chambers exhaust. So does
`PP`, but a loop that runs starts the motors again at its next turn. A channel whose sensor reads beyond ±100 kPa is
left out of the loop: its motors go on as they were, and its last value is said again.
"""

import re
from random import Random

from soft_twin.studies.campaigns.devices.chambers import Chambers
from soft_twin.studies.campaigns.devices.device import Device, Ear

CHANNELS = 10
BAUD_RATE = 115_200
KILOPASCAL = 1000.0  # [Pa]
PERIOD = 1.0 / 30.0  # [s] of the control loop
REACH = 100e3  # [Pa] that a sensor may read
RESOLUTION = 100.0  # [Pa] of a command with one decimal

_NUMBER = re.compile(rb"\s*([-+]?\d*\.?\d*)")


class OpenPneuEar(Ear):
    """The lines that a host sends, as the firmware reads them.

    Attributes:
        running: the control loop runs.
    """

    def __init__(self, count: int):
        super().__init__(count)
        self.forget()

    def forget(self) -> None:
        self.running = False
        self._channel = 0
        self._line = b""
        self.targets = [0.0] * len(self.targets)

    def hear(self, data: bytes) -> list[bytes]:
        self._line += data
        *lines, self._line = self._line.split(b"\n")
        return [self._obey(line) for line in lines]

    @property
    def resting(self) -> bool:
        return not self.running

    def set_points(self) -> list[float]:
        return list(self.targets) if self.running else [0.0] * len(self.targets)

    def _obey(self, line: bytes) -> bytes:
        if not line.endswith(b"\r"):
            return b"Error end check\r\n"
        line = line[:-1]
        if self.refuses():
            return b"Error command\r\n"
        if line.startswith(b"SC="):
            self._channel = int(_number(line[3:]))
            return b"Global Channel is %d\r\n" % self._channel
        if line.startswith(b"T="):
            self._tell(self._channel // 2, _number(line[2:]) * KILOPASCAL)
            return b""
        return self._obey_word(line)

    def _obey_word(self, line: bytes) -> bytes:
        if line == b"C":
            self.running = True
        elif line == b"V":
            self.running = False
        return _ANSWERS.get(line, b"Error command\r\n")


_ANSWERS = {
    b"AT": b"OK;Successful\r\n",
    b"AT+ADDRESS": b"OpenPneu2.0\r\n",
    b"C": b"Timer Starts...\r\n",
    b"V": b"Timer Pauses...\r\nStop All Motors\r\n",
    b"PP": b"Stop all\r\n",
}


class OpenPneu(Device):
    """The device; its chambers are the pairs of channels."""

    ear: OpenPneuEar

    def __init__(self, rng: Random, count: int, start: float):
        chambers = Chambers(rng, start, count, supply=115e3, vacuum=-60e3, band=3e3)
        super().__init__(OpenPneuEar(count), chambers, rest=0.0)
        self._rng = rng
        self._next = 0.0
        self._last = [0.0] * count  # what was measured last [Pa]
        self._unsaid = b""  # the rest of an answer that a telegram cut

    def hear(self, data: bytes, now: float) -> list[bytes]:
        return self._cut([answer for answer in self.ear.hear(data) if answer])

    def step(self, dt: float) -> None:
        if self.ear.resting:
            self.chambers.uncontrolled = [False] * len(self.chambers.uncontrolled)  # its motors stand
        super().step(dt)

    def speak(self, now: float) -> bytes:
        if now < self._next:
            return b""
        self._next = max(self._next + PERIOD, now)
        unsaid, self._unsaid = self._unsaid, b""
        return (self._telegram(now) if self.ear.running else b"") + unsaid

    def reboot(self) -> None:
        super().reboot()
        self._unsaid = b""

    def _cut(self, answers: list[bytes]) -> list[bytes]:
        """Now and then the loop's turn comes within an answer."""
        if answers and self.ear.running and not self._unsaid and self._rng.random() < 0.05:
            place = self._rng.randrange(1, len(answers[-1]))
            answers[-1], self._unsaid = answers[-1][:place], answers[-1][place:]
            self._next = 0.0
        return answers

    def _controlled(self, chamber: int, value: float) -> float:
        """What the loop takes for a chamber's pressure; a value out of its reach stops the control of that chamber."""
        beyond = abs(value) > REACH
        self.chambers.uncontrolled[chamber] = beyond
        return self._last[chamber] if beyond else self._remember(chamber, round(value, -1))

    def _remember(self, chamber: int, value: float) -> float:
        self._last[chamber] = value
        return value

    def _telegram(self, now: float) -> bytes:
        values = [self._controlled(chamber, value) for chamber, value in enumerate(self._measure())]
        self.said = (now, values)
        channels = [f"{values[i // 2] / KILOPASCAL:.2f}" if i // 2 < len(values) else "0.02" for i in range(CHANNELS)]
        return b"T" + ",".join(channels).encode() + b";\r\n"


def _number(text: bytes) -> float:
    """A number as far as it is one, otherwise 0: what the firmware's toFloat and toInt do."""
    digits = _NUMBER.match(text).group(1)
    return float(digits) if re.search(rb"\d", digits) else 0.0
