"""The records of an MCAP file one after the other, each size checked before anything is unpacked."""

import dataclasses
import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO

import lz4.frame
import zstandard
from mcap.exceptions import McapError
from mcap.reader import FOOTER_SIZE, MAGIC_SIZE, SeekingReader, Summary
from mcap.records import Chunk, Footer, McapRecord
from mcap.stream_reader import CRCValidationError, StreamReader, breakup_chunk

MAX_RECORD_SIZE = 64 * 2**20  # [bytes]
MAX_CHUNK_SIZE = 32 * 2**20  # [bytes] unpacked
SMALL_CHUNK = 4 * 2**20  # [bytes] up to which no ratio is suspicious
TAIL_SIZE = FOOTER_SIZE + MAGIC_SIZE  # [bytes] of a file that was ended properly
SUM_SIZE = 4 + MAGIC_SIZE  # [bytes] of it that the summary's checksum does not count
MAX_RATIO = 200  # of unpacked to packed size; what robots record packs 2 to 20 times


class BombError(Exception):
    """A chunk unpacks to more than a recording has any reason for."""


class DamagedChunkError(McapError):
    """A chunk does not unpack to what its header says."""


class MoreBytesError(Exception):
    """A file goes on behind the end of its recording."""


def records(stream: IO[bytes], tell: Callable[[float], None]) -> Iterator[McapRecord]:
    """All records, those in chunks too; `tell` is called with the share of the file that is read.

    Raises:
        BombError: see there.
        MoreBytesError: see there; after the last record.
        McapError and what else the libraries raise on damage.
    """
    for record in packed_records(stream, tell):
        if isinstance(record, Chunk):
            yield from breakup_chunk(unpacked(record), validate_crc=True)
        else:
            yield record


def packed_records(stream: IO[bytes], tell: Callable[[float], None]) -> Iterator[McapRecord]:
    """As `records`, chunks as they are."""
    bounded = Bounded(stream)
    reader = StreamReader(bounded, validate_crcs=True, record_size_limit=MAX_RECORD_SIZE, emit_chunks=True)
    for record in reader.records:
        tell(bounded.share)
        yield record
    if stream.read(1):
        raise MoreBytesError


def summary(stream: IO[bytes]) -> Summary | None:
    """What a file that was ended properly tells of itself at its end; None: it does not.

    Raises:
        McapError, OSError and what else the libraries raise on damage.
    """
    end = stream.seek(-TAIL_SIZE, io.SEEK_END)
    footer = next(StreamReader(stream, skip_magic=True, record_size_limit=MAX_RECORD_SIZE).records)
    if not isinstance(footer, Footer) or not 0 < footer.summary_start <= end:
        return None
    if end - footer.summary_start > MAX_RECORD_SIZE:
        return None
    stream.seek(footer.summary_start)
    calculated = zlib.crc32(stream.read()[:-SUM_SIZE])
    if footer.summary_crc not in (0, calculated):  # 0: who wrote it did not calculate it
        raise CRCValidationError(footer.summary_crc, calculated, footer)
    stream.seek(0)
    return SeekingReader(stream, record_size_limit=MAX_RECORD_SIZE).get_summary()


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
