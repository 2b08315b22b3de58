"""The metadata.yaml that makes a folder with one MCAP file a bag for `ros2 bag info` and `ros2 bag play`.

Version 5 is what Humble writes and every later release reads.
"""

from pathlib import Path
from typing import Any

import yaml
from mcap.exceptions import InvalidMagic
from mcap.reader import make_reader
from mcap.records import Statistics
from mcap.summary import Summary

from soft_twin.errors import RecordingError
from soft_twin.files import whole_file
from soft_twin.recording.storage import DAMAGE, METADATA_FILE

VERSION = 5
NEVER = 2**63 - 1  # [ns] when a bag without messages begins


def write_metadata(file: str | Path) -> bool:
    """Describe an MCAP file in its folder's metadata.yaml, in place of what stood there.

    Args:
        file: that McapWriter wrote.

    Returns:
        Whether it did: one that was never begun, or cut off, has no summary; `ros2 bag reindex` describes the latter.

    Raises:
        RecordingError: the folder cannot be written.
    """
    file = Path(file)
    path = file.parent / METADATA_FILE
    try:
        path.unlink(missing_ok=True)
        summary = _summary(file)
        if summary is None:
            return False
        text = yaml.safe_dump({"rosbag2_bagfile_information": _content(file.name, summary)}, sort_keys=False)
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"cannot write '{path}': {error.strerror or error}") from error
    return True


def _summary(file: Path) -> Summary | None:
    try:
        with file.open("rb") as stream:
            return make_reader(stream).get_summary()
    except (*DAMAGE, InvalidMagic, OSError):
        return None


def _content(name: str, summary: Summary) -> dict[str, Any]:
    told = summary.statistics
    span = {
        "duration": {"nanoseconds": told.message_end_time - told.message_start_time},
        "starting_time": {"nanoseconds_since_epoch": told.message_start_time if told.message_count else NEVER},
        "message_count": told.message_count,
    }
    return {
        "version": VERSION,
        "storage_identifier": "mcap",
        **span,
        "topics_with_message_count": _topics(summary, told),
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [name],
        "files": [{"path": name, **span}],
    }


def _topics(summary: Summary, told: Statistics) -> list[dict[str, Any]]:
    return [
        {
            "topic_metadata": {
                "name": channel.topic,
                "type": summary.schemas[channel.schema_id].name,
                "serialization_format": channel.message_encoding,
                "offered_qos_profiles": channel.metadata["offered_qos_profiles"],
            },
            "message_count": told.channel_message_counts.get(channel.id, 0),
        }
        for channel in summary.channels.values()
    ]
