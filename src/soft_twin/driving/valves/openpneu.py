"""OpenPneu (Tian et al., AIM 2023): pumps and valves for ten channels behind a serial line of text: `openpneu_lines`.

The line has no checksum and the device no watchdog: it goes on for ever when its host is gone, so leaving it must stop
it. Nor can it be asked for its targets. So each is sent again and again in turn, also when nothing has changed, and
only to a channel whose selection the device has just confirmed.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.driving.serial_port import SerialPort
from soft_twin.driving.valves.openpneu_lines import (
    CONTROL,
    CONTROLS,
    END,
    EXHAUST,
    EXHAUSTS,
    KILOPASCAL,
    NAME,
    PAIRS,
    PAUSE,
    PAUSES,
    StreamDecoder,
    select,
    selected,
    target,
)
from soft_twin.driving.valves.openpneu_talk import Talk
from soft_twin.driving.valves.valves import Port, Valves
from soft_twin.errors import DeviceError

BAUD_RATE = 115_200  # [bit/s]
STEP = 0.1 * KILOPASCAL  # [Pa] to which it is told pressures
RANGE = (-50e3, 95e3)  # [Pa]; its firmware does not control a channel beyond 100 kPa, whose pump goes on as it was
PATIENCE = 0.006  # [s] in a tick to wait for answers
POLL = 0.001  # [s]
GREETING_TIME = 2.0  # [s]
MOST_HEARD = 40  # [bytes] that people are told of what was no greeting
REFRESH = 3  # every so-manieth exchange tells a pair in turn, whatever it is known to hold
ROUND = REFRESH * PAIRS  # exchanges after which control is started anew: the device may have been without power
FROZEN, MOVED = 12, 5.0  # telegrams that say the same though a target has moved by so much [kPa]
LOOPLESS = 0.2  # [s] without a telegram, and the loop does not run
UNCONFIRMED = 0.6  # [s] after which a target that is not confirmed is trouble
FAREWELL_TIME = 1.0  # [s]
FAR = 20.0  # [kPa] from its target, and a pressure that stays the same is not under control
PAUSE_TIME = 2.0  # [s] to let out the air of a chamber that is not under control …
LOOK_TIME = 1.0  # [s] … and then to look whether it is again …
LOOKS = 2  # … so many times: meanwhile it is perhaps pumped on


class OpenPneuValves(Valves):
    """The pairs of an OpenPneu as chambers: chamber k is the channels 2k and 2k+1, measured at 2k.

    It measures nothing before its control loop is started, and that is not done before every pair has a new target.
    """

    range = RANGE
    step = STEP

    def __init__(self, port: Port, count: int, clock: Clock = SYSTEM, reopen: Callable[[], Port] | None = None):
        """Wake the device up.

        Raises:
            DeviceError: it does not answer as an OpenPneu does, or has fewer pairs.
        """
        if not 1 <= count <= PAIRS:
            raise DeviceError(f"{count} chambers on an OpenPneu: it has {PAIRS} pairs of channels")
        super().__init__(port, count, clock, reopen)
        self._wanted: np.ndarray | None = None  # (PAIRS,) [kPa]; pairs that are no chambers are without pressure
        self._pressures = np.full(count, np.nan)  # [Pa] as they are wanted
        self._begin_again()
        self._greet()

    @property
    def garbage(self) -> int:
        return self._decoder.garbage

    @property
    def told_until(self) -> float:
        if self._rests():
            return self._clock.monotonic()  # paused, it obeys no target
        return float(self._told_until[: self.count].min()) if self._controls else -np.inf

    @property
    def rested(self) -> bool:
        """Its loop does not run: it is paused, or answers but measures nothing any more."""
        return self._paused() or self._controls and self._heard - self._measured_at > LOOPLESS

    @property
    def pausing(self) -> bool:
        return self._rests()

    @property
    def trouble(self) -> str:
        return "; ".join(text for text in (self._unconfirmed(), self._rest_on_purpose()) if text)

    def write(self, pressures: np.ndarray) -> None:
        if self.rested:  # it has forgotten its targets, or knows old ones
            self._controls = False
            self._held[:] = np.nan  # every target is told again before the loop is started
        self._pressures = np.array(pressures)
        wanted = np.zeros(PAIRS)
        wanted[: self.count] = np.round(np.clip(pressures, *RANGE) / KILOPASCAL, 1)  # to a STEP
        self._wanted = wanted
        unheld = ((self._held != wanted) | (not self._controls)) & (not self._paused())
        begins = np.isnan(self._unheld_since) & unheld
        self._unheld_since = np.where(begins, self._clock.monotonic(), self._unheld_since)
        self._tell()

    def tell_again(self) -> None:
        self._held[: self.count] = np.nan

    def read(self) -> np.ndarray | None:
        self._listen()
        measured, self._measured = self._measured, None
        return measured

    def let_out(self, driven: bool, pressed: bool) -> None:
        """Pause the control now and then: it leaves a channel whose sensor is out of its reach pumping as it was.

        One that after LOOKS is not measured yet has a sensor that is broken: then it stays paused until it is opened
        anew.
        """
        now, blind = self._clock.monotonic(), self._blind.any()
        if not blind:
            self._looks = 0
        if not pressed and (driven or not blind):
            self._paused_until = -np.inf
        elif now > self._paused_until + LOOK_TIME:
            if blind and np.isfinite(self._paused_until):
                self._looks += 1
            self._paused_until = np.inf if self._looks >= LOOKS else now + PAUSE_TIME

    def shut_down(self, rest: np.ndarray) -> None:
        """It keeps no pressure without its pumps: whatever the chambers are to rest at, their air is let out."""
        done: list[bool] = []
        end = self._clock.monotonic() + FAREWELL_TIME
        self._talk.find()
        while done != [True]:
            if self._clock.monotonic() > end:
                raise DeviceError("the OpenPneu does not confirm that it lets the air out: switch it off")
            if self._talk.idle:
                done.clear()
                self._talk.say((PAUSE, EXHAUST), (*PAUSES, EXHAUSTS), done.append)
            self._clock.sleep(POLL)
            self._listen()

    def _begin_again(self) -> None:
        self._decoder = StreamDecoder()
        self._talk = Talk(self._port.write, self._decoder, self._clock)
        self._measured: np.ndarray | None = None
        self._said = np.full(self.count, np.nan)  # [Pa] in the newest telegram …
        self._same = np.zeros(self.count)  # … and for so many before it
        self._blind = np.zeros(self.count, dtype=bool)  # chambers that are perhaps not under control
        self._wanted_then = np.zeros(self.count)  # [kPa] when it was said first
        self._measured_at = self._heard = -np.inf  # [s] the newest telegram, and the question of the newest answer
        self._held = np.full(PAIRS, np.nan)  # [kPa] that the device has confirmed
        self._unheld_since = np.full(PAIRS, np.nan)  # [s]; NaN: it holds what is wanted
        self._told_until = np.full(PAIRS, -np.inf)  # when each pair's newest target was sent that is confirmed [s]
        self._said_at = np.full(PAIRS, -np.inf)  # [s] each pair's newest target
        self._paused_until = self._pauses = -np.inf  # [s] as wanted, and as the device has confirmed
        self._looks = 0  # after a pause, in vain
        self._controls = False
        self._selected: int | None = None
        self._refreshed = PAIRS - 1
        self._exchanges = 0

    def _greet(self) -> None:
        self._talk.find()
        end = self._clock.monotonic() + GREETING_TIME
        while not self._talk.idle:
            if self._clock.monotonic() > end:
                raise DeviceError(
                    f"no OpenPneu answers to AT+ADDRESS within {GREETING_TIME:g} s{self._heard_instead()}: check its "
                    f"power, the port, and {BAUD_RATE} baud"
                )
            self._clock.sleep(POLL)
            self._listen()

    def _heard_instead(self) -> str:
        heard = self._decoder.unknown or self._decoder.unfinished
        said, right = (each[-MOST_HEARD:].decode("latin-1") for each in (heard, NAME + END))
        return f", but {said!a}, expected {right!a}" if heard else ""

    def _listen(self) -> None:
        telegrams = self._decoder.feed(self._port.read())
        if telegrams:
            self._measured = self._alive(telegrams[-1][: 2 * self.count : 2])
            self._measured_at = self._clock.monotonic()
        self._talk.listen()

    def _alive(self, said: np.ndarray) -> np.ndarray:
        """(n,) what is said [Pa]; NaN where it is the same to the last digit while targets move.

        The firmware skips a channel whose sensor reads beyond 100 kPa: it says its last pressure again and again.
        """
        wanted = np.zeros(self.count) if self._wanted is None else self._wanted[: self.count]
        same = (said == self._said) | (np.isnan(said) & np.isnan(self._said))
        self._same = np.where(same, self._same + 1, 0)
        self._wanted_then = np.where(same, self._wanted_then, wanted)
        self._said = said
        lasting = self._same >= FROZEN
        frozen = lasting & (np.abs(wanted - self._wanted_then) > MOVED)
        near = np.abs(said / KILOPASCAL - wanted) <= FAR  # false for NaN
        self._blind = frozen | (lasting & ~near)
        return np.where(frozen, np.nan, said)

    def _tell(self) -> None:
        """Say what is to be said; wait a moment for the answers only where something has changed."""
        end = self._clock.monotonic() + PATIENCE
        while True:
            if self._talk.idle and not self._paused():
                self._say_next()
            elif self._talk.idle and self._pauses < self._paused_until:
                self._say_pause()
            if self._paused() or self._holds() or self._clock.monotonic() >= end:
                return
            self._clock.sleep(POLL)
            self._listen()

    def _holds(self) -> bool:
        """Whether the device is known to hold what is wanted."""
        return self._controls and bool(np.array_equal(self._held, self._wanted))

    def _paused(self) -> bool:
        return self._clock.monotonic() < self._paused_until

    def _rests(self) -> bool:
        """Whether it is paused, and says so."""
        return self._paused() and self._pauses == self._paused_until

    def _rest_on_purpose(self) -> str:
        if not self._rests():
            return ""
        paused = "the OpenPneu is paused, which lets out the air of all its chambers: one"
        if np.isinf(self._paused_until):
            return f"{paused} is not measured any more; mend its sensor, then deactivate and activate the driver"
        return (
            f"{paused} keeps its pressure though told to vent, or is not measured any more and may be pumped on; check "
            "its valve and its sensor"
        )

    def _unconfirmed(self) -> str:
        late = self._clock.monotonic() - self._unheld_since[: self.count] > UNCONFIRMED  # false for NaN
        if not late.any():
            return ""
        refused = self._talk.refused.decode("ascii", "replace")
        said = f", it refuses '{refused}'" if refused else ""
        return (
            f"the OpenPneu has not confirmed its targets for {UNCONFIRMED:g} s{said}: check its line, switch it off if "
            "its chambers stay under pressure"
        )

    def _say_pause(self) -> None:
        self._controls, self._selected = False, None
        self._talk.say((PAUSE, EXHAUST), (*PAUSES, EXHAUSTS), self._take_pause)

    def _take_pause(self, well: bool) -> None:
        if well:
            self._pauses = self._paused_until
            self._unheld_since[:] = np.nan

    def _say_next(self) -> None:
        """The target of the pair that is selected, and the selection of the next, whose answer confirms both."""
        lines, answers = [], []
        told, value = self._selected, 0.0
        if told is not None:
            value = float(self._wanted[told])
            lines.append(target(value))
            self._said_at[told] = self._clock.monotonic()
            if told < self.count:
                self.told[told] = self._pressures[told]
        starts = np.isfinite(self._held).all() and (not self._controls or self._exchanges % ROUND == 0)
        if starts:  # not before every pair has its target: the loop would pump to old ones
            lines.append(CONTROL)
            answers.append(CONTROLS)
        self._exchanges += 1
        chosen = self._choose()
        lines.append(select(chosen))
        answers.append(selected(chosen))
        self._selected = None
        now = self._clock.monotonic()
        self._talk.say(lines, answers, partial(self._finish, told, value, chosen, bool(starts), now))

    def _choose(self) -> int:
        """The pair whose turn it is: of those that do not hold what is wanted the one that was told longest ago; else,
        and now and then in any case, simply the next."""
        unheld = self._held != self._wanted
        if self._exchanges % REFRESH and unheld.any():
            return int(np.argmin(np.where(unheld, self._said_at, np.inf)))
        self._refreshed = (self._refreshed + 1) % PAIRS
        return self._refreshed

    def _finish(self, told: int | None, value: float, chosen: int, starts: bool, said: float, well: bool) -> None:
        """An exchange has ended; after one that went wrong, nobody knows what the pair that was told holds."""
        if not well:
            if told is not None:
                self._held[told] = np.nan
            return
        self._selected = chosen
        self._heard = said
        if starts and not self._controls:
            self._controls, self._measured_at = True, said
        if told is not None:
            self._held[told], self._told_until[told] = value, said
        if starts:
            self._unheld_since[:] = np.nan
        elif told is not None and self._controls:
            self._unheld_since[told] = np.nan


def open_device(device: str, count: int, clock: Clock = SYSTEM) -> OpenPneuValves:
    """The OpenPneu on a serial port.

    Raises:
        DeviceError: see SerialPort and OpenPneuValves.
    """

    def connect() -> SerialPort:
        return SerialPort(device, BAUD_RATE)

    port = connect()
    try:
        return OpenPneuValves(port, count, clock, connect)
    except DeviceError:
        port.close()
        raise
