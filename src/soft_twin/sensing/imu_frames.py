"""Bytes of the serial IMU board: samples one way, heater duty the other (docs/imu_protocol.md).

A frame is `A5 5A | kind | payload length | payload | CRC`, little-endian; the CRC is CRC-16/CCITT-FALSE over kind,
length and payload. Nothing here opens a port.
"""

import binascii
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import InputError
from soft_twin.sensing.samples import ImuSample

SYNC = b"\xa5\x5a"
KIND_SAMPLE = 0x01
KIND_HEATER = 0x02

_HEADER = struct.Struct("<2sBB")
_CRC = struct.Struct("<H")
_SAMPLE = struct.Struct("<HQ7f")  # sequence, board time [us], rates [rad/s], specific force [m/s^2], temperature [degC]
_HEATER = struct.Struct("<H")  # duty in 1/65535
_PAYLOAD_LENGTHS = {KIND_SAMPLE: _SAMPLE.size, KIND_HEATER: _HEATER.size}
_SEQUENCES = 1 << 16
_FULL_DUTY = 65535


@dataclass
class FrameErrors:
    """What went wrong on the line so far.

    Attributes:
        discarded_bytes: bytes that belong to no valid frame.
        bad_crc: frames whose checksum does not match.
        lost_frames: gaps in the sequence numbers.
    """

    discarded_bytes: int = 0
    bad_crc: int = 0
    lost_frames: int = 0


def encode_sample(sample: ImuSample, sequence: int) -> bytes:
    """The frame of one sample; its time is the board's clock, rounded to microseconds.

    Raises:
        InputError: the time is negative or not finite.
    """
    if not (math.isfinite(sample.time) and sample.time >= 0.0):
        raise InputError(f"board time {sample.time!r} s: expected a finite number, 0 or more")
    microseconds = round(1e6 * sample.time)
    values = (*sample.angular_velocity, *sample.specific_force, sample.temperature)
    return _frame(KIND_SAMPLE, _SAMPLE.pack(sequence % _SEQUENCES, microseconds, *values))


def encode_heater(duty: float) -> bytes:
    """The frame that sets the heater.

    Args:
        duty: share of the time that the heater is on, 0…1.

    Raises:
        InputError: the duty is outside 0…1 or not finite.
    """
    if not 0.0 <= duty <= 1.0:
        raise InputError(f"heater duty {duty!r}: expected 0…1")
    return _frame(KIND_HEATER, _HEATER.pack(round(_FULL_DUTY * duty)))


class FrameDecoder:
    """The host's ear: samples out of a stream of bytes that may start anywhere and be damaged.

    Attributes:
        errors: counters of what went wrong.
    """

    def __init__(self) -> None:
        self.errors = FrameErrors()
        self._deframer = _Deframer(KIND_SAMPLE, self.errors)
        self._next_sequence: int | None = None

    def feed(self, data: bytes) -> list[tuple[int, ImuSample]]:
        """The samples completed by `data`, each with its sequence number; their time is the board's clock."""
        return [self._sample(payload) for payload in self._deframer.feed(data)]

    def _sample(self, payload: bytes) -> tuple[int, ImuSample]:
        sequence, microseconds, *values = _SAMPLE.unpack(payload)
        if self._next_sequence is not None:
            self.errors.lost_frames += (sequence - self._next_sequence) % _SEQUENCES
        self._next_sequence = (sequence + 1) % _SEQUENCES
        return sequence, ImuSample(1e-6 * microseconds, np.array(values[0:3]), np.array(values[3:6]), values[6])


class HeaterDecoder:
    """The board's ear: heater duties out of a stream of bytes.

    Attributes:
        errors: counters of what went wrong.
    """

    def __init__(self) -> None:
        self.errors = FrameErrors()
        self._deframer = _Deframer(KIND_HEATER, self.errors)

    def feed(self, data: bytes) -> list[float]:
        """The duties (0…1) completed by `data`, in the order of their arrival."""
        return [_HEATER.unpack(payload)[0] / _FULL_DUTY for payload in self._deframer.feed(data)]


class _Deframer:
    """Finds the payloads of one kind in a stream of bytes; after damage it goes on at the next whole frame."""

    def __init__(self, kind: int, errors: FrameErrors) -> None:
        self._head = SYNC + bytes([kind, _PAYLOAD_LENGTHS[kind]])
        self._frame_length = len(self._head) + _PAYLOAD_LENGTHS[kind] + _CRC.size
        self._errors = errors
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._buffer += data
        while self._find_head() and len(self._buffer) >= self._frame_length:
            frame = bytes(self._buffer[: self._frame_length])
            if _CRC.unpack_from(frame, self._frame_length - _CRC.size)[0] == _checksum(frame[2 : -_CRC.size]):
                del self._buffer[: self._frame_length]
                yield frame[_HEADER.size : -_CRC.size]
            else:
                self._errors.bad_crc += 1
                self._discard(1)

    def _find_head(self) -> bool:
        """Drop what comes before the next frame's head; whether a whole head is there."""
        start = self._buffer.find(self._head)
        if start >= 0:
            self._discard(start)
            return True
        possible = max(n for n in range(len(self._head)) if self._buffer.endswith(self._head[:n]))
        self._discard(len(self._buffer) - possible)
        return False

    def _discard(self, count: int) -> None:
        self._errors.discarded_bytes += count
        del self._buffer[:count]


def _frame(kind: int, payload: bytes) -> bytes:
    content = bytes([kind, len(payload)]) + payload
    return SYNC + content + _CRC.pack(_checksum(content))


def _checksum(content: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xFFFF."""
    return binascii.crc_hqx(content, 0xFFFF)
