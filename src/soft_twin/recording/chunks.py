"""The records of an MCAP file one after the other, each size checked before anything is unpacked."""

import dataclasses
import io
from collections.abc import Iterator
from typing import IO

import lz4.frame
import zstandard
from mcap.exceptions import McapError
from mcap.records import Chunk, McapRecord
from mcap.stream_reader import StreamReader, breakup_chunk

MAX_RECORD_SIZE = 64 * 2**20  # [bytes]
MAX_CHUNK_SIZE = 32 * 2**20  # [bytes] unpacked
SMALL_CHUNK = 4 * 2**20  # [bytes] up to which no ratio is suspicious
MAX_RATIO = 200  # of unpacked to packed size; what robots record packs 2 to 20 times


class BombError(Exception):
    """A chunk unpacks to more than a recording has any reason for."""


class DamagedChunkError(McapError):
    """A chunk does not unpack to what its header says."""


class MoreBytesError(Exception):
    """A file goes on behind the end of its recording."""


def records(stream: IO[bytes]) -> Iterator[McapRecord]:
    """All records, those in chunks too.

    Raises:
        BombError: see there.
        MoreBytesError: see there; after the last record.
        McapError and what else the libraries raise on damage.
    """
    reader = StreamReader(Bounded(stream), validate_crcs=True, record_size_limit=MAX_RECORD_SIZE, emit_chunks=True)
    for record in reader.records:
        if isinstance(record, Chunk):
            yield from breakup_chunk(unpacked(record), validate_crc=True)
        else:
            yield record
    if stream.read(1):
        raise MoreBytesError


class Bounded:
    """A file of which no more is read at once than there is, whatever a record inside says of its own length."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream
        place = stream.tell()
        self._left = stream.seek(0, io.SEEK_END) - place
        stream.seek(place)

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
