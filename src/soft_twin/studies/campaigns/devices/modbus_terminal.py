"""A valve terminal on Modbus TCP, after the protocol's public specification.

A message is a header, big-endian: transaction id, protocol id 0, length of what follows, unit id; then the function
code and its data. Functions: 3 and 4 read holding and input registers, 6 and 16 write one or several. A request that
cannot be served is answered by the function code + 0x80 and one byte: 1 illegal function, 2 illegal address, 3
illegal value, 6 busy. Holding registers 0…n−1 are the set points, input registers 0…n−1 the measured values, both in
millibar gauge, uint16, or int16 where its regulators go below the ambient pressure. The terminal's own watchdog takes
the pressure away when no request comes.
"""

import math
import struct
from random import Random

from soft_twin.studies.campaigns.devices.chambers import Chambers
from soft_twin.studies.campaigns.devices.device import Device, Ear

MILLIBAR = 100.0  # [Pa]
RESOLUTION = MILLIBAR
WHOLE, SIGN = 0x10000, 0x8000
VACUUM = -95e3  # [Pa] gauge, of an ejector
ILLEGAL_FUNCTION, ILLEGAL_ADDRESS, ILLEGAL_VALUE, FAILURE, BUSY = 1, 2, 3, 4, 6
ANSWER_TIME = 0.001  # [s]


class ModbusEar(Ear):
    """The requests that a host sends.

    Attributes:
        measure: gives the registers of the measured values.
        exception: code that requests are refused with while `refuses` says so.
        reads_back: it knows function 3.
        requests: how many there were.
    """

    reads_back = True

    def __init__(self, count: int):
        super().__init__(count)
        self.measure = lambda: [0] * count
        self.exception = BUSY
        self.forget()

    def forget(self) -> None:
        self.connect()
        self.requests = 0
        self.targets = [0.0] * len(self.targets)

    def connect(self) -> None:
        """A new connection begins: what came on the last one is no part of a message any more."""
        self._buffer = b""

    def hear(self, data: bytes) -> list[bytes]:
        self._buffer += data
        answers = []
        while len(self._buffer) >= 8:
            transaction, protocol, length, unit = struct.unpack(">HHHB", self._buffer[:7])
            if protocol != 0 or not 2 <= length <= 254:
                self._buffer = b""  # no Modbus: a terminal drops it
                break
            if len(self._buffer) < 6 + length:
                break
            request, self._buffer = self._buffer[7 : 6 + length], self._buffer[6 + length :]
            self.requests += 1
            answer = self._serve(request)
            answers.append(struct.pack(">HHHB", transaction, 0, len(answer) + 1, unit) + answer)
        return answers

    def _serve(self, request: bytes) -> bytes:
        function, code = request[0], self.exception if self.refuses() else 0
        if code == 0:
            serve = {3: self._read, 4: self._read, 6: self._write_one, 16: self._write}.get(function)
            if serve is None or (function == 3 and not self.reads_back):
                code = ILLEGAL_FUNCTION
            elif (answer := serve(function, request[1:])) is not None:
                return answer
            else:
                code = ILLEGAL_ADDRESS
        return bytes((function | 0x80, code))

    def _read(self, function: int, data: bytes) -> bytes | None:
        if len(data) != 4:
            return None
        start, count = struct.unpack(">HH", data)
        registers = self.measure() if function == 4 else [self.register(target) for target in self.targets]
        if not 1 <= count <= 125 or start + count > len(registers):
            return None
        return struct.pack(f">BB{count}H", function, 2 * count, *registers[start : start + count])

    def _write_one(self, function: int, data: bytes) -> bytes | None:
        if len(data) != 4 or struct.unpack(">H", data[:2])[0] >= len(self.targets):
            return None
        address, value = struct.unpack(">HH", data)
        self._tell(address, self.pressure(value))
        return bytes((function,)) + data

    def _write(self, function: int, data: bytes) -> bytes | None:
        if len(data) < 5:
            return None
        start, count, size = struct.unpack(">HHB", data[:5])
        if start + count > len(self.targets) or size != 2 * count or len(data) != 5 + size:
            return None
        for i, value in enumerate(struct.unpack(f">{count}H", data[5:])):
            self._tell(start + i, self.pressure(value))
        return bytes((function,)) + data[:4]

    def register(self, pressure: float) -> int:
        """A pressure [Pa] as it fits into a register; a sensor without a number shows the largest one."""
        if math.isnan(pressure):
            return WHOLE - 1
        return max(0, min(WHOLE - 1, round(pressure / MILLIBAR)))

    def pressure(self, register: int) -> float:
        """Of a register [Pa]."""
        return register * MILLIBAR


class ModbusVacuumEar(ModbusEar):
    """Requests whose registers have a sign."""

    def register(self, pressure: float) -> int:
        if math.isnan(pressure):
            return SIGN - 1
        return max(-SIGN, min(SIGN - 1, round(pressure / MILLIBAR))) % WHOLE

    def pressure(self, register: int) -> float:
        return ((register + SIGN) % WHOLE - SIGN) * MILLIBAR


class ModbusTerminal(Device):
    """The terminal; chamber k is register k.

    Attributes:
        watchdog: time without a request after which the set points are 0 [s].
        wrong: None, "transaction", "length", "short", "function", "unit", "protocol" or "half": what is wrong with its
            answers.
    """

    ear: ModbusEar

    def __init__(self, rng: Random, count: int, start: float):
        super().__init__(self._ear(count), self._chambers(rng, start, count), rest=0.0)
        self.watchdog = rng.choice((0.6, 0.9, math.inf))
        self.wrong: str | None = None
        self._last, self._now = -math.inf, 0.0
        self.ear.measure = self._registers

    def _ear(self, count: int) -> ModbusEar:
        return ModbusEar(count)

    def _chambers(self, rng: Random, start: float, count: int) -> Chambers:
        return Chambers(rng, start, count, supply=1.05e6, vacuum=0.0, band=5e3)

    def hear(self, data: bytes, now: float) -> list[bytes]:
        self._now, before = now, self.ear.requests
        answers = self.ear.hear(data)
        if self.ear.requests != before:
            self._last = now
        return [self._spoil(answer) for answer in answers]

    def speak(self, now: float) -> bytes:
        if now > self._last + self.watchdog:
            self.ear.targets = [0.0] * len(self.ear.targets)
        return b""

    def _registers(self) -> list[int]:
        registers = [self.ear.register(value) for value in self._measure()]
        self.said = (self._now, [self.ear.pressure(register) for register in registers])
        return registers

    def _spoil(self, answer: bytes) -> bytes:
        transaction, _, length, unit = struct.unpack(">HHHB", answer[:7])
        if self.wrong == "transaction":
            return struct.pack(">HHHB", (transaction + 7) % 65536, 0, length, unit) + answer[7:]
        if self.wrong == "length":
            return struct.pack(">HHHB", transaction, 0, length + 2, unit) + answer[7:]
        if self.wrong == "short" and answer[7] in (3, 4):
            shorter = bytes((answer[7], answer[8] - 2)) + answer[9:-2]
            return struct.pack(">HHHB", transaction, 0, length - 2, unit) + shorter
        if self.wrong == "function":
            return answer[:7] + bytes(((answer[7] + 1) % 128,)) + answer[8:]
        if self.wrong == "unit":
            return answer[:6] + bytes(((unit + 1) % 256,)) + answer[7:]
        if self.wrong == "protocol":
            return answer[:2] + b"\x00\x07" + answer[4:]
        if self.wrong == "half":
            return answer[: len(answer) // 2]
        return answer


class ModbusVacuumTerminal(ModbusTerminal):
    """One whose ejectors suck, too."""

    def _ear(self, count: int) -> ModbusEar:
        return ModbusVacuumEar(count)

    def _chambers(self, rng: Random, start: float, count: int) -> Chambers:
        return Chambers(rng, start, count, supply=1.05e6, vacuum=VACUUM, band=5e3, ejector=True)
