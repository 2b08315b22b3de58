"""Modbus on TCP as bytes: the three requests that valves need, and what may come back.

A frame is `transaction | 0 | length | unit | function | data`, big-endian, where length counts from the unit on.
Functions 3 and 4 read holding and input registers, 16 writes holding registers; an answer that refuses has the highest
bit of the function set and a code as its data (Modbus Application Protocol 1.1b3, Modbus Messaging on TCP/IP 1.0b).
"""

import struct
from dataclasses import dataclass

import numpy as np

READ_BACK, READ, WRITE = 3, 4, 16
UNIT = 1
BUSY, ACKNOWLEDGED = 6, 5
EXCEPTIONS = {
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    ACKNOWLEDGED: "acknowledged, still working",
    BUSY: "busy",
    8: "memory parity error",
    10: "gateway path unavailable",
    11: "gateway target does not answer",
}
LONGEST = 254  # unit, function and data [bytes]

_HEADER = struct.Struct(">HHHBB")
_BEFORE_UNIT = 6  # [bytes] that the length does not count


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        transaction: of the request that it answers.
        function: READ_BACK, READ or WRITE, without the bit that refuses.
        refusal: code of the exception, 0 if there is none.
        data: behind the function.
    """

    transaction: int
    function: int
    refusal: int
    data: bytes


def encode_read(transaction: int, count: int, function: int = READ) -> bytes:
    """Ask for the registers 0…count−1: by READ the input ones, by READ_BACK the holding ones."""
    return _frame(transaction, function, struct.pack(">HH", 0, count))


def encode_write(transaction: int, registers: np.ndarray) -> bytes:
    """Set the holding registers 0…n−1 to uint16 (n,)."""
    data = np.asarray(registers).astype(">u2").tobytes()
    return _frame(transaction, WRITE, struct.pack(">HHB", 0, len(registers), len(data)) + data)


def registers_of(answer: Answer, function: int, count: int) -> np.ndarray | None:
    """The registers (count,) that an answer to this function, READ or READ_BACK, carries; None if there is another."""
    size = 2 * count
    if answer.function != function or answer.refusal or len(answer.data) != 1 + size or answer.data[0] != size:
        return None
    return np.frombuffer(answer.data, ">u2", count, 1).astype(float)


def confirms(answer: Answer, count: int) -> bool:
    """Whether an answer says that registers 0…count−1 are written."""
    return answer.function == WRITE and not answer.refusal and answer.data == struct.pack(">HH", 0, count)


class AnswerDecoder:
    """Answers out of what a connection brings.

    Attributes:
        garbage: pieces that are no frame, where the stream is taken up with the next that comes; and answers of other
            units, which are left out.
        stranger: the unit that has answered last, where that is another than UNIT; else None.
    """

    def __init__(self) -> None:
        self.garbage = 0
        self.stranger: int | None = None
        self._buffer = b""

    def forget(self) -> None:
        """Drop half an answer whose rest nobody waits for any more."""
        self.garbage += bool(self._buffer)
        self._buffer = b""

    def feed(self, data: bytes) -> list[Answer]:
        """The answers that `data` completes."""
        self._buffer += data
        result = []
        while len(self._buffer) >= _HEADER.size:
            transaction, protocol, length, unit, function = _HEADER.unpack_from(self._buffer)
            if protocol or not 2 <= length <= LONGEST:
                self.forget()
                break
            if len(self._buffer) < _BEFORE_UNIT + length:
                break
            content = self._buffer[_HEADER.size : _BEFORE_UNIT + length]
            self._buffer = self._buffer[_BEFORE_UNIT + length :]
            self.stranger = None if unit == UNIT else unit
            if unit == UNIT:
                result.append(_answer(transaction, function, content))
            else:
                self.garbage += 1
        return result


def _answer(transaction: int, function: int, content: bytes) -> Answer:
    if function & 0x80:
        return Answer(transaction, function & 0x7F, content[0] if content else -1, b"")
    return Answer(transaction, function, 0, content)


def _frame(transaction: int, function: int, data: bytes) -> bytes:
    return _HEADER.pack(transaction, 0, 2 + len(data), UNIT, function) + data
