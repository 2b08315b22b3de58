"""rosbag2's .db3 files, read by the library rosbags as if they were MCAP."""

import contextlib
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from mcap.records import Channel, Message, Schema

from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import one_line
from soft_twin.recording.definitions import definition, installed_share_folders

LAST_TIME = 5 * 10**18  # [ns] since the epoch of any message: in 2128


def stored(
    file: Path, topics: Collection[str] | None, tell: Callable[[float], None]
) -> Iterator[tuple[Schema, Channel, Message]]:
    """The messages of `topics` (all where None), not decoded. A message was sent when it was received: no more is told.
    `tell` is called with the share of them that is read.

    Raises:
        RecordingError: it is not readable.
        UsageError: the package rosbags is not installed.
    """
    with _opened(file) as reader:
        chosen = [one for one in reader.connections if topics is None or one.topic in topics]
        declared = {one.id: _declared(one) for one in chosen}
        count = sum(one.msgcount for one in chosen)
        for number, (connection, time, data) in enumerate(reader.messages(chosen) if chosen else (), 1):
            tell(number / count)
            _check_row(connection.topic, time, data)
            message = Message(connection.id, log_time=time, data=data, publish_time=time, sequence=0)
            yield *declared[connection.id], message


def topics(file: Path) -> list[tuple[str, str]]:
    """Topics that have messages, and their types.

    Raises:
        RecordingError, UsageError: as `stored`.
    """
    with _opened(file) as reader:
        declared = [_declared(one) for one in reader.connections if one.msgcount]
    return [(channel.topic, schema.name) for schema, channel in declared]


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """The library's reader of the file, whose errors are told as those of the file."""
    try:
        from rosbags.rosbag2 import Reader
    except ImportError:
        raise UsageError(f"{file}: to read .db3 files, pip install rosbags") from None
    with _plainly_called(file) as path:
        try:
            with Reader(path) as reader:
                yield reader
        except Exception as error:  # the library and its SQLite raise anything on a broken file
            wrong = one_line(error).replace(str(path), str(file))
            raise RecordingError(f"'{file}' is not readable as a .db3 of rosbag2: {wrong}") from error


@contextlib.contextmanager
def _plainly_called(file: Path) -> Iterator[Path]:
    """Another name of the file: the library puts its path into a URI, where #, ? and % mean something else."""
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, "bag.db3")
        link.symlink_to(file.resolve())
        yield link


def _check_row(topic: str, time: Any, data: Any) -> None:
    """SQLite keeps in a column whatever it is given."""
    if not isinstance(time, int) or not isinstance(data, bytes):
        raise TypeError(f"a message of '{one_line(topic)}' has no bytes, or no time")
    if not 0 <= time <= LAST_TIME:
        raise ValueError(f"a message of '{one_line(topic)}' is of {time} ns since the epoch")


def _declared(connection: Any) -> tuple[Schema, Channel]:
    """What MCAP says of a topic; a schema of no encoding stands for a type whose definition is not known."""
    kind, told = connection.msgtype, connection.msgdef
    if not (isinstance(connection.topic, str) and isinstance(kind, str)):
        raise TypeError(f"a topic is called {shortened(connection.topic)}, of type {shortened(kind)}: expected text")
    known = told.format.name != "NONE"
    encoding, text = (f"ros2{told.format.name.lower()}", told.data) if known else _definition(kind)
    schema = Schema(connection.id, text.encode(), encoding, kind)
    return schema, Channel(connection.id, connection.topic, "cdr", {}, connection.id)


def _definition(type_name: str) -> tuple[str, str]:
    """Encoding and text of a type in a file that does not tell it (Humble's): as installed, else as Humble had it."""
    from rosbags.typesys import Stores, TypesysError, get_typestore

    with contextlib.suppress(RecordingError):
        return "ros2msg", definition(type_name, installed_share_folders())
    with contextlib.suppress(TypesysError):
        return "ros2msg", get_typestore(Stores.ROS2_HUMBLE).generate_msgdef(type_name, ros_version=2)[0]
    return "", ""
