"""The records of an MCAP file one after the other, each size checked before anything is unpacked."""

import dataclasses
import io
import struct
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import IO

import lz4.frame
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, InvalidMagic, McapError, RecordLengthLimitExceeded
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, DataEnd, Footer, McapRecord, Message, Metadata, Schema, Statistics
from mcap.stream_reader import CRCValidationError
from mcap.writer import MCAP0_MAGIC

MAX_RECORD_SIZE = 64 * 2**20  # [bytes]
MAX_CHUNK_SIZE = 32 * 2**20  # [bytes] unpacked
SMALL_CHUNK = 4 * 2**20  # [bytes] up to which no ratio is suspicious
MAX_RATIO = 200  # of unpacked to packed size; what robots record packs 2 to 20 times
HEAD = struct.Struct("<BQ")  # of a record: its kind and length
MESSAGE = struct.Struct("<HIQQ")  # of a message: channel, number, log time, publish time; its bytes follow
KINDS: dict[int, type[McapRecord]] = {
    Opcode.SCHEMA: Schema,
    Opcode.CHANNEL: Channel,
    Opcode.CHUNK: Chunk,
    Opcode.DATA_END: DataEnd,
    Opcode.FOOTER: Footer,
    Opcode.METADATA: Metadata,
    Opcode.STATISTICS: Statistics,
}  # what is read beside messages
INSIDE = (Opcode.MESSAGE, Opcode.SCHEMA, Opcode.CHANNEL)  # what chunks hold
TOLD = (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.STATISTICS)  # what of a summary is read
FOOTER_SIZE = HEAD.size + 20 + len(MCAP0_MAGIC)  # [bytes] with the magic behind it
SUM_SIZE = 4 + len(MCAP0_MAGIC)  # [bytes] of it that its checksum does not count


class BombError(Exception):
    """A chunk unpacks to more than a recording has any reason for."""


class DamagedChunkError(McapError):
    """A chunk does not unpack to what its header says."""


class MoreBytesError(Exception):
    """A file goes on behind the end of its recording."""


def records(stream: IO[bytes], tell: Callable[[float], None]) -> Iterator[McapRecord]:
    """Schemas, channels and messages, those in chunks too, metadata, statistics and the footer, in their order; `tell`
    is called with the share of the file that is read.

    Raises:
        BombError: see there.
        MoreBytesError: see there; after the last record.
        McapError and what else the libraries raise on damage.
    """
    for record in packed_records(stream, tell):
        if isinstance(record, Chunk):
            whole = unpacked(record)
            _check_sum(whole.uncompressed_crc, zlib.crc32(whole.data), whole)
            yield from _apart(whole.data, INSIDE)
        else:
            yield record


def packed_records(stream: IO[bytes], tell: Callable[[float], None]) -> Iterator[McapRecord]:
    """As `records`, chunks as they are."""
    bounded = Bounded(stream)
    checksum = zlib.crc32(_magic(bounded))
    kind = None
    while kind != Opcode.FOOTER:
        head = _whole(bounded, HEAD.size)
        kind, length = HEAD.unpack(head)
        if length > MAX_RECORD_SIZE:
            raise RecordLengthLimitExceeded(kind, length, MAX_RECORD_SIZE)
        body = _whole(bounded, length)
        record = _record(kind, body)
        tell(bounded.share)
        if isinstance(record, DataEnd):
            _check_sum(record.data_section_crc, checksum, record)
        elif record is not None:
            yield record
        checksum = zlib.crc32(body, zlib.crc32(head, checksum))
    _magic(bounded)
    if stream.read(1):
        raise MoreBytesError


def summary(stream: IO[bytes]) -> list[McapRecord]:
    """Schemas, channels and statistics as a file that was ended properly tells them at its end; none: it does not.

    Raises:
        McapError, OSError and what else the libraries raise on damage.
    """
    end = stream.seek(-FOOTER_SIZE, io.SEEK_END)
    tail = stream.read(FOOTER_SIZE)
    if tail[0] != Opcode.FOOTER or not tail.endswith(MCAP0_MAGIC):
        return []
    footer = _record(Opcode.FOOTER, tail[HEAD.size :])
    size = end - footer.summary_start
    if footer.summary_start == 0 or not 0 < size <= MAX_RECORD_SIZE:
        return []
    stream.seek(footer.summary_start)
    data = stream.read(size)
    _check_sum(footer.summary_crc, zlib.crc32(tail[:-SUM_SIZE], zlib.crc32(data)), footer)
    return _apart(data, TOLD)


def _magic(stream: "Bounded") -> bytes:
    """What MCAP files begin and end with."""
    magic = _whole(stream, len(MCAP0_MAGIC))
    if magic != MCAP0_MAGIC:
        raise InvalidMagic(magic)
    return magic


def _whole(stream: "Bounded", size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EndOfFile
    return data


def _record(kind: int, body: bytes) -> McapRecord | None:
    """None: of a kind that nobody asks for, such as an index."""
    if kind == Opcode.MESSAGE:
        channel, number, log_time, publish_time = MESSAGE.unpack_from(body)
        return Message(channel, log_time, body[MESSAGE.size :], publish_time, number)
    return KINDS[kind].read(ReadDataStream(io.BytesIO(body))) if kind in KINDS else None


def _apart(data: bytes, kinds: Collection[int]) -> list[McapRecord]:
    """The records of these kinds among those that are one after the other there."""
    place, found = 0, []
    while place < len(data):
        kind, length = HEAD.unpack_from(data, place)
        place += HEAD.size + length
        if place > len(data):
            raise DamagedChunkError(f"a record of {length} bytes goes on behind its end")
        if kind in kinds:
            found.append(_record(kind, data[place - length : place]))
    return found


def _check_sum(told: int, calculated: int, record: McapRecord) -> None:
    """A sum of 0 was not calculated by who wrote it."""
    if told not in (0, calculated):
        raise CRCValidationError(told, calculated, record)


class Bounded:
    """A file of which no more is read at once than there is, whatever a record inside says of its own length."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream
        place = stream.tell()
        self._size = self._left = stream.seek(0, io.SEEK_END) - place
        stream.seek(place)

    @property
    def share(self) -> float:
        """Of the file that is read, once something is."""
        return 1.0 - self._left / self._size

    def read(self, size: int) -> bytes:
        """At most `size` bytes.

        Raises:
            DamagedChunkError: of a size that no record has.
        """
        if not 0 <= size <= MAX_RECORD_SIZE:
            raise DamagedChunkError(f"{size} bytes of a record, expected at most {MAX_RECORD_SIZE}")
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data


def unpacked(chunk: Chunk) -> Chunk:
    """The chunk with its bytes as they were before they were compressed."""
    size = chunk.uncompressed_size
    if size > MAX_CHUNK_SIZE or size > max(SMALL_CHUNK, MAX_RATIO * len(chunk.data)):
        raise BombError(f"a chunk of {len(chunk.data)} bytes unpacks to {size}")
    if chunk.compression not in _UNPACK:
        raise DamagedChunkError(f"compression {chunk.compression!r:.40}, expected zstd, lz4 or none")
    data = _UNPACK[chunk.compression](chunk.data, size + 1)
    if len(data) != size:
        raise DamagedChunkError(f"a chunk unpacks to another size than the {size} bytes it says")
    return dataclasses.replace(chunk, compression="", data=data)


def _zstd(data: bytes, most: int) -> bytes:
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_CHUNK_SIZE)
    with decompressor.stream_reader(io.BytesIO(data)) as stream:
        return stream.read(most)


def _lz4(data: bytes, most: int) -> bytes:
    try:
        return lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=most)
    except RuntimeError as error:
        raise DamagedChunkError(str(error)) from error


_UNPACK = {"zstd": _zstd, "lz4": _lz4, "": lambda data, most: data}
