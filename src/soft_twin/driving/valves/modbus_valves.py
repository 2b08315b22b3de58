"""Valve terminals on Modbus TCP (Festo CPX and the like).

Holding registers 0…n−1 take set points, input registers 0…n−1 give measured values, both uint16 in millibar gauge.
A terminal's own bus watchdog must be set to less than a second: it has to relax the valves when the host is gone. So
nobody knows what a terminal holds that was just found, or was silent: its set points are read back before it is told
any.

One request is on its way at a time, a write and a read in turn. Nobody waits for a slow terminal: its answer is taken
at a later tick.
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
        if self._last == WRITE or self._doubted or self._is_silent():  # without power, perhaps: look first, then tell
            self._look()
        else:
            self._ask(WRITE)
            self.told = np.array(pressures)

    def read(self) -> np.ndarray | None:
        self._doubted = self._doubted or self._is_silent()
        self._take_answers()
        if self._waiting is None and (self._last != READ or self._wanted is None or self._doubted):
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

    def _registers(self, pressures: np.ndarray) -> np.ndarray:
        """(n,) uint16 of pressures (n,) [Pa], clipped to the device's range."""
        return np.rint(np.clip(pressures, *self.range) / MILLIBAR)

    def _pressures(self, registers: np.ndarray) -> np.ndarray:
        """(n,) [Pa] of registers (n,) uint16."""
        return MILLIBAR * registers

    def _look(self) -> None:
        """Ask what it measures, and where that is not known, in turn with what it holds."""
        self._ask(READ_BACK if self._doubted and self._last != READ_BACK else READ)

    def _is_silent(self) -> bool:
        return self._clock.monotonic() - self._heard > SILENT

    def _begin_again(self) -> None:
        self._decoder = AnswerDecoder()
        self._waiting: _Request | None = None
        self._last = WRITE
        self._doubted = True  # whether it may hold something else than it was told last
        self._measured: np.ndarray | None = None
        self._told_until = -np.inf  # when the newest write was sent that is confirmed [s]
        self._unconfirmed_since: float | None = None
        self._refusals: dict[int, str] = {}
        self._heard = self._clock.monotonic()

    def _ask(self, function: int) -> None:
        self._transaction = self._transaction % 0xFFFF + 1
        self._decoder.forget()  # nothing is on its way
        if function == WRITE:
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
            if request is None or answer.transaction != request.transaction:
                self._spoiled += 1  # late: nobody waits for it any more
                continue
            self._waiting = None
            self._take(request, answer)
        now = self._clock.monotonic()
        if self._waiting is not None and now - self._waiting.sent > ANSWER_TIME:
            self._waiting = None
            self._decoder.forget()
        if now - self._heard > LOST:
            raise DeviceError(f"the valve terminal at {self._where} does not answer: check its power and its network")

    def _take(self, request: _Request, answer: Answer) -> None:
        """An answer to what was asked; one that fits no question is counted, and the question is asked again."""
        if answer.refusal:
            self._take_refusal(request, answer)
            return
        if request.function == WRITE:
            fits = confirms(answer, self.count)
            if fits:
                self._told_until, self._unconfirmed_since = request.sent, None
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
            self.told, self._doubted = pressures, False

    def _take_refusal(self, request: _Request, answer: Answer) -> None:
        """A terminal that is busy is asked again; what else it says is for a person to know.

        But for its set points: where it does not say them, nothing above the lowest is certain.
        """
        if answer.refusal in (BUSY, ACKNOWLEDGED):
            return
        if request.function == READ_BACK:
            self._take_pressures(READ_BACK, np.full(self.count, self.range[0]))
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
    if port and not (port.isdigit() and 0 < int(port) < 65536):
        raise DeviceError(f"Modbus device '{device}': expected host or host:port, with a port of 1…65535")

    def connect() -> TcpPort:
        return TcpPort(host, int(port or PORT), CONNECT_TIME)

    return kind(connect(), count, device, clock, connect)
