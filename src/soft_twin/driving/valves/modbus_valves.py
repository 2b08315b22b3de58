"""Valve terminals on Modbus TCP (Festo CPX and the like).

Holding registers 0…n−1 take set points, input registers 0…n−1 give measured values, both uint16 in millibar gauge.
A terminal's own bus watchdog must be set to less than a second: it has to relax the valves when the host is gone. So
nobody knows what a terminal holds that was just found, or was silent: its set points are read back before it is told
any. One that does not say them is told new ones after a while all the same, and then nothing beyond the ambient
pressure is taken for sure.

One request is on its way at a time, a write and a read in turn. Nobody waits for a slow terminal: its answer is taken
at a later tick. What comes after the next request was sent still says what was written, and what is held if nothing was
written since.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.driving.tcp_port import TcpPort
from soft_twin.driving.valves.modbus_frames import (
    ACKNOWLEDGED,
    BUSY,
    EXCEPTIONS,
    READ,
    READ_BACK,
    UNIT,
    WRITE,
    Answer,
    AnswerDecoder,
    confirms,
    encode_read,
    encode_write,
    registers_of,
)
from soft_twin.driving.valves.valves import Port, Valves
from soft_twin.errors import DeviceError

MILLIBAR = 100.0  # [Pa]
RANGE = (0.0, 1e6)  # [Pa]
MAX_REGISTERS = 120
PORT = 502
CONNECT_TIME = 0.2  # [s]
PATIENCE = 0.004  # [s] in which a terminal that is quick has answered
POLL = 0.001  # [s]
ANSWER_TIME = 0.4  # [s] after which an answer is not waited for any more
UNCONFIRMED = 0.5  # [s] after which a set point that is not confirmed is trouble
SILENT = 0.3  # [s] without any answer, and what was measured before, or told, is not relied on any more
UNSAID = 1.0  # [s] in which a terminal has said what it holds, if it ever does
LOST = 1.0  # [s] without any answer, and the terminal is gone

DOING = {READ: "read", WRITE: "written"}


@dataclass(frozen=True)
class _Request:
    """What is on its way, since when [s]."""

    transaction: int
    function: int
    sent: float


class ModbusValves(Valves):
    """Valves of a terminal; see the module's docstring."""

    range = RANGE
    step = MILLIBAR

    def __init__(
        self,
        port: Port,
        count: int,
        where: str = "the given port",
        clock: Clock = SYSTEM,
        reopen: Callable[[], Port] | None = None,
    ):
        if not 1 <= count <= MAX_REGISTERS:
            raise DeviceError(f"{count} valves on a Modbus terminal: one message carries {MAX_REGISTERS}")
        super().__init__(port, count, clock, reopen)
        self._where = where
        self._transaction = self._spoiled = 0
        self._wanted: np.ndarray | None = None
        self._begin_again()

    @property
    def garbage(self) -> int:
        return self._spoiled + self._decoder.garbage

    @property
    def told_until(self) -> float:
        return self._told_until

    @property
    def trouble(self) -> str:
        if self._refusals:
            return "; ".join(self._refusals.values())
        since = self._unconfirmed_since
        if since is None or self._clock.monotonic() - since <= UNCONFIRMED:
            return ""
        return (
            f"the valve terminal at {self._where} has not confirmed its set points for {UNCONFIRMED:g} s: check its "
            "load, its network and its register map"
        )

    def write(self, pressures: np.ndarray) -> None:
        self._wanted = self._registers(pressures)
        if self._unconfirmed_since is None:
            self._unconfirmed_since = self._clock.monotonic()
        self._take_answers()
        if self._waiting is not None:
            return
        if self._last == WRITE or self._doubts():  # it was without power, perhaps: look first, then tell
            self._look()
        else:
            self._ask(WRITE)
            self.told = np.array(pressures)

    def read(self) -> np.ndarray | None:
        self._doubt()
        self._take_answers()
        if self._waiting is None and (self._last != READ or self._wanted is None or self._doubts()):
            self._look()
        self._wait(PATIENCE)
        measured, self._measured = self._measured, None
        return measured

    def shut_down(self, rest: np.ndarray) -> None:
        self._wanted = self._registers(rest)
        self._waiting = None
        start = self._clock.monotonic()
        end = start + ANSWER_TIME
        while self._told_until < start:
            if self._clock.monotonic() > end:
                raise DeviceError(f"the valve terminal at {self._where} does not confirm that it rests")
            if self._waiting is None:
                self._ask(WRITE)
            self._wait(PATIENCE)

    @property
    def _ambient(self) -> np.ndarray:
        """(n,) [Pa]."""
        return np.full(self.count, self.rests_at)

    def _registers(self, pressures: np.ndarray) -> np.ndarray:
        """(n,) uint16 of pressures (n,) [Pa], clipped to the device's range."""
        return np.rint(np.clip(pressures, *self.range) / MILLIBAR)

    def _pressures(self, registers: np.ndarray) -> np.ndarray:
        """(n,) [Pa] of registers (n,) uint16."""
        return MILLIBAR * registers

    def _look(self) -> None:
        """Ask what it measures, and where that is not known, in turn with what it holds."""
        self._ask(READ_BACK if self._doubts() and self._last != READ_BACK else READ)

    def _doubts(self) -> bool:
        """Whether it may hold something else than it was told last."""
        return self._doubted_since is not None

    def _doubt(self) -> None:
        """After a silence, until it has said what it holds, or is not waited for to say it any more."""
        now = self._clock.monotonic()
        if self._doubted_since is None:
            self._doubted_since = now if now - self._heard > SILENT else None
        elif now - self._doubted_since > UNSAID:
            self._take_pressures(READ_BACK, self._ambient)
            self._tell_next()

    def _begin_again(self) -> None:
        self._decoder = AnswerDecoder()
        self._waiting: _Request | None = None
        self._late: dict[int, _Request] = {}  # that are not waited for any more; of those to read back, since a write
        self._last = WRITE
        self._doubted_since: float | None = self._clock.monotonic()  # [s]; None: it holds what it was told last
        self._measured: np.ndarray | None = None
        self._told_until = -np.inf  # when the newest write was sent that is confirmed [s]
        self._unconfirmed_since: float | None = None
        self._refusals: dict[int, str] = {}
        self._heard = self._clock.monotonic()

    def _ask(self, function: int) -> None:
        self._transaction = self._transaction % 0xFFFF + 1
        self._decoder.forget()  # nothing is on its way
        if function == WRITE:
            self._late = {number: late for number, late in self._late.items() if late.function != READ_BACK}
            self._port.write(encode_write(self._transaction, self._wanted))
        else:
            self._port.write(encode_read(self._transaction, self.count, function))
        self._waiting = _Request(self._transaction, function, self._clock.monotonic())
        self._last = function

    def _wait(self, seconds: float) -> None:
        end = self._clock.monotonic() + seconds
        while self._waiting is not None and self._clock.monotonic() < end:
            self._clock.sleep(POLL)
            self._take_answers()

    def _take_answers(self) -> None:
        for answer in self._decoder.feed(self._port.read()):
            self._heard = self._clock.monotonic()
            request = self._waiting
            if request is not None and answer.transaction == request.transaction:
                self._waiting = None
                self._take(request, answer)
            elif late := self._late.pop(answer.transaction, None):
                self._take(late, answer)
                if late.function == READ_BACK and not self._doubts():
                    self._tell_next()  # before it is silent for too long again
            else:
                self._spoiled += 1
        now = self._clock.monotonic()
        if self._waiting is not None and now - self._waiting.sent > ANSWER_TIME:
            self._give_up()
        if now - self._heard > LOST:
            stranger = self._decoder.stranger
            why = (
                "does not answer: check its power and its network"
                if stranger is None
                else f"is asked as unit {UNIT}, and unit {stranger} answers: check its unit's number, and its gateway"
            )
            raise DeviceError(f"the valve terminal at {self._where} {why}")

    def _give_up(self) -> None:
        """Wait for no answer any more; a late one is still taken, unless it says what was measured long ago."""
        waiting, self._waiting = self._waiting, None
        self._decoder.forget()
        if waiting is not None and waiting.function != READ:
            known = {number: late for number, late in self._late.items() if waiting.sent - late.sent < LOST}
            self._late = known | {waiting.transaction: waiting}

    def _tell_next(self) -> None:
        """Tell it something next, whatever else is waited for."""
        self._give_up()
        self._last = READ

    def _take(self, request: _Request, answer: Answer) -> None:
        """An answer to what was asked; one that fits no question is counted, and the question is asked again."""
        if answer.refusal:
            self._take_refusal(request, answer)
            return
        if request.function == WRITE:
            fits = confirms(answer, self.count)
            if fits:
                self._told_until, self._unconfirmed_since = max(self._told_until, request.sent), None
        else:
            registers = registers_of(answer, request.function, self.count)
            fits = registers is not None
            if fits:
                self._take_pressures(request.function, self._pressures(registers))
        self._spoiled += not fits
        if fits:
            self._refusals.pop(request.function, None)

    def _take_pressures(self, function: int, pressures: np.ndarray) -> None:
        if function == READ:
            self._measured = pressures
        else:
            self.told, self._doubted_since = pressures, None

    def _take_refusal(self, request: _Request, answer: Answer) -> None:
        """A terminal that is busy is asked again; what else it says is for a person to know.

        But for its set points: where it does not say them, nothing beyond the ambient pressure is certain.
        """
        if answer.refusal in (BUSY, ACKNOWLEDGED):
            return
        if request.function == READ_BACK:
            self._take_pressures(READ_BACK, self._ambient)
            return
        why = EXCEPTIONS.get(answer.refusal, "unknown exception")
        self._refusals[request.function] = (
            f"the valve terminal at {self._where} refuses to be {DOING[request.function]}: {why} "
            f"(exception {answer.refusal}); check its register map and its diagnosis"
        )


def open_device(
    device: str, count: int, clock: Clock = SYSTEM, kind: type[ModbusValves] = ModbusValves
) -> ModbusValves:
    """The terminal of that kind at `device`, host or host:port.

    Raises:
        DeviceError: nobody answers there.
    """
    host, _, port = device.partition(":")
    if "/" in host:
        raise DeviceError(
            f"no valve terminal at '{device}': an emulated one appears once its robot has started, or give host or "
            "host:port"
        )
    if not host or port and not (port.isdecimal() and 0 < int(port) < 65536):
        raise DeviceError(f"Modbus device '{device}': expected host or host:port, with a port of 1…65535")

    def connect() -> TcpPort:
        return TcpPort(host, int(port or PORT), CONNECT_TIME)

    return kind(connect(), count, device, clock, connect)
