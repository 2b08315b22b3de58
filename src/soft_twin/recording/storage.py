"""What a recording holds, record by record: MCAP files, rosbag2's .db3 files, and folders of them, which are bags."""

import contextlib
import logging
import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache, partial
from pathlib import Path, PurePath
from typing import IO, Any

from mcap.exceptions import EndOfFile, InvalidMagic, McapError
from mcap.records import Channel, Footer, Message, Metadata, Schema
from mcap.stream_reader import CRCValidationError
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from soft_twin.descriptions.yaml_file import read_document
from soft_twin.errors import DescriptionError, RecordingError
from soft_twin.files import checked_file, checked_path, is_missing, one_line
from soft_twin.parallel import long_work
from soft_twin.recording import db3
from soft_twin.recording.chunks import BombError, MoreBytesError, packed_records, records, summary

MAX_RECORDING = 50 * 10**9  # [bytes]
MAX_METADATA, MAX_METADATA_VALUES = 10**6, 200_000  # [bytes] and values of a bag's metadata.yaml
METADATA_FILE = "metadata.yaml"
KINDS = (".mcap", ".db3")
PACKED = tuple(f"{kind}.zstd" for kind in KINDS)  # by rosbag2 or by hand
UNFINISHED = ("-wal", "-journal")  # files beside a .db3 with what SQLite had not put into it when its writer was killed
DAMAGE = (
    McapError,
    EndOfFile,
    CRCValidationError,
    ZstdError,
    struct.error,
    UnicodeDecodeError,
    ValueError,
    OverflowError,
)

Tell = Callable[[float], None]
logger = logging.getLogger(__name__)


def files(path: str | Path) -> list[Path]:
    """The files of a recording: itself, or those of a bag's folder in the order of its metadata; without one by name,
    and of names that differ in a number by that. What else of recordings lies in the folder, the log says.

    Raises:
        RecordingError: no path, a folder that is no bag, or files that rosbag2 has compressed as a whole.
    """
    path = checked_path(path, "recording", RecordingError)
    found = [path]
    if os.path.isdir(path):
        found = sorted((file for end in (*KINDS, *PACKED) for file in path.glob(f"*{end}")), key=_place)
        if not is_missing(path / METADATA_FILE):
            found = _named(path / METADATA_FILE, found)
    if not found:
        raise RecordingError(f"no recording at '{path}': a folder without {METADATA_FILE}, .mcap or .db3 in it")
    for file in found:
        if file.name.endswith(PACKED):
            raise RecordingError(f"the recording '{file}' is compressed: `zstd -d` it first")
    return found


def _place(file: Path) -> list[tuple[int, str]]:
    """By which bag_2.mcap comes before bag_10.mcap."""
    return [(int(number or 0), text) for text, number in re.findall(r"(\D*)(\d*)", file.name)]


def _named(told: Path, there: Collection[Path]) -> list[Path]:
    """The files that a bag's metadata names; the log says which of those that are there it does not."""
    found = [told.parent / PurePath(name).name for name in _named_files(told)]
    if others := [file.name for file in there if file not in found]:
        _tell(told, f"it does not name {one_line(', '.join(others))}: not read; `ros2 bag reindex` makes it anew")
    return found


def is_recording(path: str | Path) -> bool:
    """Whether a path is called as a recording's file is, or is a bag's folder."""
    path = Path(path)
    if not os.path.isdir(path):
        return path.suffix in KINDS
    return not is_missing(path / METADATA_FILE) or any(file.suffix in KINDS for file in path.iterdir())


def _named_files(path: Path) -> list[str]:
    try:
        told = read_document(path, "bag's metadata", RecordingError, MAX_METADATA, MAX_METADATA_VALUES)
        told = told["rosbag2_bagfile_information"]
        names, compression = list(told["relative_file_paths"]), told.get("compression_mode") or ""
    except DescriptionError as error:
        raise RecordingError(f"{error}: not the metadata of a bag") from error
    except (LookupError, TypeError, AttributeError) as error:
        raise RecordingError(f"{path}: not the metadata of a bag: it has no list of its files") from error
    if not all(isinstance(value, str) for value in (*names, compression)):
        raise RecordingError(f"{path}: not the metadata of a bag: expected names of files and of a compression mode")
    if not names:
        raise RecordingError(f"{path}: it names no file of the bag: `ros2 bag reindex` makes it anew")
    ((most, count),) = Counter(PurePath(name).name for name in names).most_common(1)
    if count > 1:
        raise RecordingError(f"{path}: it names '{one_line(most)}' {count} times: its messages would be read as often")
    if compression.lower() not in ("", "none"):
        raise RecordingError(f"{path}: the bag is compressed by {one_line(compression)}: `ros2 bag convert` it first")
    return names


def each_file(path: str | Path) -> Iterator[tuple[Path, Tell]]:
    """The files of a recording, each with a function to be told the share of it that is read: terminals are told what
    is read of the recording, and how long the rest takes.

    Raises:
        RecordingError: see `files`.
    """
    found = files(path)
    sizes = [os.path.getsize(file) if os.path.isfile(file) else 0 for file in found]
    with long_work(f"reading {Path(path).name}") as tell:
        for place, file in enumerate(found):
            yield file, partial(_tell_share, tell, sum(sizes[:place]), sizes[place], sum(sizes))


def _tell_share(tell: Tell, before: int, size: int, whole: int, share: float) -> None:
    tell((before + share * size) / max(whole, 1))


def stored(
    file: Path, topics: Collection[str] | None, tell: Tell = lambda share: None
) -> Iterator[tuple[Schema, Channel, Message]]:
    """The messages of `topics` (all where None) in one file, not decoded, in the order in which they are stored.

    Args:
        file, topics: which.
        tell: is called with the share of the file that is read.

    Raises:
        RecordingError: see `reader.read_messages`.
    """
    if file.suffix != ".db3":
        return _in_mcap(file, topics, tell)
    _check_db3(file)
    return db3.stored(file, topics, tell)


def topics_in(file: Path, tell: Tell) -> list[tuple[str, str]]:
    """Topics of one file that have messages, and their types, each pair once: as a table or a summary in it tells them;
    of a file that was cut off, as all its messages do, for which `tell` is called as by `stored`.

    Raises:
        RecordingError: see `stored`.
    """
    if file.suffix == ".db3":
        _check_db3(file)
        found = db3.topics(file)
    else:
        found = _summarized(file) or [(channel.topic, schema.name) for schema, channel, _ in _in_mcap(file, None, tell)]
    return list(dict.fromkeys(found))


def _summarized(file: Path) -> list[tuple[str, str]]:
    """Topics and types as the file's summary tells them; none where it does not, or contradicts itself."""
    with _open(file) as stream:
        try:
            told = summary(stream)
        except (*DAMAGE, OSError):
            return []
    counts = {} if told is None or told.statistics is None else told.statistics.channel_message_counts
    if not counts or sum(counts.values()) != told.statistics.message_count:
        return []
    used = [told.channels.get(number) for number, count in counts.items() if count]
    if not all(channel and channel.schema_id in told.schemas for channel in used):
        return []
    return [(channel.topic, told.schemas[channel.schema_id].name) for channel in used]


def _check_db3(file: Path) -> None:
    """See that there is such a file; the log says what of it is not read."""
    checked_file(file, "recording", MAX_RECORDING, RecordingError)
    if beside := _unfinished(file):
        remedy = f"`sqlite3 {file.name} 'PRAGMA journal_mode=DELETE'` puts it in"
        _tell(file, f"the recording was cut off, what is in {beside.name} is not read: {remedy}")


def _unfinished(file: Path) -> Path | None:
    """What a killed recorder left beside a .db3."""
    beside = (file.with_name(file.name + end) for end in UNFINISHED)
    return next((path for path in beside if os.path.isfile(path) and path.stat().st_size), None)


def is_complete(path: str | Path) -> bool:
    """Whether the recording was ended properly and is undamaged, rather than cut off."""
    whole = (
        not _unfinished(file) if file.suffix == ".db3" else _is_ended(file, tell) for file, tell in each_file(path)
    )
    return all(whole)


def _is_ended(file: Path, tell: Tell) -> bool:
    try:
        with _open(file) as stream:
            return any(isinstance(record, Footer) for record in records(stream, tell))
    except (*DAMAGE, InvalidMagic, BombError):
        return False


def metadata(path: str | Path, name: str) -> dict[str, str]:
    """The first metadata record of that name, without one an empty dictionary.

    Raises:
        RecordingError: no such recording, or not one of MCAP or .db3 files; these have no such records.
    """
    for file, tell in each_file(path):
        if file.suffix != ".db3" and (found := _metadata(file, name, tell)):
            return found
    return {}


def _metadata(file: Path, name: str, tell: Tell) -> dict[str, str]:
    with _open(file) as stream:
        for record in _until_damage(packed_records(stream, tell), file):
            if isinstance(record, Metadata) and record.name == name:
                return record.metadata
    return {}


@contextlib.contextmanager
def _open(path: str | Path) -> Iterator[IO[bytes]]:
    """The file, at its beginning, where MCAP's magic bytes are.

    Raises:
        RecordingError: they are not, or there is no such file.
    """
    checked_file(path, "recording", MAX_RECORDING, RecordingError)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise RecordingError(f"cannot read the recording '{path}': {error.strerror}") from error
        if stream.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
            raise RecordingError(f"'{path}' is not an MCAP recording: its first bytes are not MCAP's")
        stream.seek(0)
        yield stream


def _in_mcap(path: Path, topics: Collection[str] | None, tell: Tell) -> Iterator[tuple[Schema, Channel, Message]]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    with _open(path) as stream:
        for record in _until_damage(records(stream, tell), path):
            if isinstance(record, Message):
                channel = _declared(channels, record.channel_id, "channel", path)
                if record.log_time > db3.LAST_TIME:
                    raise RecordingError(f"{path}: a message is of {record.log_time} ns since the epoch")
                if topics is None or channel.topic in topics:
                    yield _declared(schemas, channel.schema_id, "schema", path), channel, record
            elif isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record


def _declared(known: dict[int, Any], number: int, what: str, path: str | Path) -> Any:
    if number not in known:
        raise RecordingError(f"{path}: a message's {what} {number} is declared nowhere before it")
    return known[number]


def _until_damage(found: Iterator[Any], path: str | Path) -> Iterator[Any]:
    """What is found, up to where the file is damaged."""
    try:
        yield from found
    except InvalidMagic:
        _tell(path, "bytes after the end of the recording are not MCAP's")
    except MoreBytesError:
        _tell(path, "bytes after the end of the recording are not read: give recordings one by one, or a bag's folder")
    except BombError as error:
        raise RecordingError(f"{path}: {error} bytes: no recording does that") from error
    except DAMAGE as error:
        _tell(path, f"the recording was cut off, read up to there ({type(error).__name__})")


def _tell(path: str | Path, wrong: str) -> None:
    _tell_once(str(path), os.stat(path).st_mtime_ns, wrong)


@lru_cache(maxsize=256)
def _tell_once(path: str, changed: int, wrong: str) -> None:
    """Say what is wrong with a file once, however often it is read, until it has `changed` [ns]."""
    logger.warning("%s: %s", path, wrong)
