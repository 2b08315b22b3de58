import os
import signal
import subprocess
import sys
import textwrap

import pytest
import yaml
from mcap.reader import make_reader

from soft_twin.errors import RecordingError
from soft_twin.recording import writer
from soft_twin.recording.reader import read_messages
from soft_twin.recording.storage import is_complete
from soft_twin.recording.writer import McapWriter, Qos

TRUE = b"\x00\x01\x00\x00\x01"  # std_msgs/Bool in little-endian CDR


def test_what_rosbag2_looks_for_is_there(tmp_path):
    path = tmp_path / "new" / "folder" / "run.mcap"
    with McapWriter(path) as recording:
        channel = recording.register("/a", "std_msgs/msg/Bool", "bool data\n", Qos(transient_local=True), "RIHS01_0")
        recording.write(channel, TRUE, 20, 10)
    with path.open("rb") as stream:
        reader = make_reader(stream)
        schema, channel, message = next(reader.iter_messages())
        assert reader.get_header().profile == "ros2"
        assert [record.name for record in reader.iter_metadata()] == ["rosbag2"]
    assert (schema.name, schema.encoding, schema.data) == ("std_msgs/msg/Bool", "ros2msg", b"bool data\n")
    assert (channel.topic, channel.message_encoding) == ("/a", "cdr")
    assert channel.metadata["topic_type_hash"] == "RIHS01_0"
    assert (message.log_time, message.publish_time, message.data) == (20, 10, TRUE)


def test_qos_profiles_are_the_numbers_that_every_rosbag2_reads():
    (profile,) = yaml.safe_load(Qos(reliable=False, depth=3).offered())
    assert profile == {
        "history": 1,
        "depth": 3,
        "reliability": 2,
        "durability": 2,
        "deadline": {"sec": 9223372036, "nsec": 854775807},
        "lifespan": {"sec": 9223372036, "nsec": 854775807},
        "liveliness": 1,
        "liveliness_lease_duration": {"sec": 9223372036, "nsec": 854775807},
        "avoid_ros_namespace_conventions": False,
    }
    (latched,) = yaml.safe_load(Qos(transient_local=True).offered())
    assert (latched["reliability"], latched["durability"]) == (1, 1)


def test_a_topic_has_one_channel_and_a_type_one_schema(tmp_path):
    with McapWriter(tmp_path / "run.mcap") as recording:
        first = recording.register("/a", "std_msgs/msg/Bool", "bool data\n")
        second = recording.register("/b", "std_msgs/msg/Bool", "bool data\n")
        assert recording.register("/a", "std_msgs/msg/Bool", "bool data\n") == first != second
        recording.write(first, TRUE, 1)
        recording.write(second, TRUE, 2)
    with (tmp_path / "run.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert (len(summary.schemas), len(summary.channels)) == (1, 2)


def test_a_killed_process_leaves_what_it_wrote_before_the_last_half_second(tmp_path):
    path = tmp_path / "run.mcap"
    program = f"""
        from soft_twin.recording import writer
        writer.FLUSH_INTERVAL = 0.0
        recording = writer.McapWriter({str(path)!r})
        channel = recording.register("/a", "std_msgs/msg/Bool", "bool data\\n")
        for i in range(5):
            recording.write(channel, {TRUE!r}, i)
        writer.FLUSH_INTERVAL = 1e9
        recording.write(channel, {TRUE!r}, 5)
        print("written", flush=True)
        input()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"written\n"
        os.kill(process.pid, signal.SIGKILL)
    assert [message.log_time for message in read_messages(path)] == [0, 1, 2, 3, 4]
    assert not is_complete(path)


def test_writes_are_flushed_by_time(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(writer.time, "monotonic", lambda: now[0])
    recording = McapWriter(tmp_path / "run.mcap")
    channel = recording.register("/a", "std_msgs/msg/Bool", "bool data\n")
    recording.write(channel, TRUE, 1)
    assert list(read_messages(recording.path)) == []
    now[0] = writer.FLUSH_INTERVAL
    recording.write(channel, TRUE, 2)
    assert [message.log_time for message in read_messages(recording.path)] == [1, 2]


def test_closing_twice_is_closing_once(tmp_path):
    recording = McapWriter(tmp_path / "run.mcap")
    recording.close()
    recording.close()
    assert is_complete(recording.path)


def test_an_unwritable_path_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"cannot write the recording '.*run\.mcap': "):
        McapWriter(tmp_path / "file" / "run.mcap")
    with pytest.raises(RecordingError, match="Is a directory"):
        McapWriter(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_one_clear_error():
    with pytest.raises(RecordingError, match="No space left on device"):
        McapWriter("/dev/full")
