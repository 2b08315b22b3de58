import logging
import re
import struct

import numpy as np
import pytest
import synthetic
from mcap.writer import CompressionType, Writer
from synthetic import EPOCH, Recorder, joints, pose, shape, solver_status, xyz, xyzw

from soft_twin import parallel
from soft_twin.errors import RecordingError
from soft_twin.recording import chunks, reader
from soft_twin.recording.reader import arrays, read_messages, topic_types
from soft_twin.recording.storage import is_complete
from soft_twin.recording.writer import McapWriter

STAMPED_VECTOR = f"""std_msgs/Header header
geometry_msgs/Vector3 vector
{80 * "="}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{80 * "="}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
{80 * "="}
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path / "run.mcap")


def one(recorder, type_name, *contents):
    for i, content in enumerate(contents):
        recorder.add("a", type_name, 0.5 + i, content, delay=0.25)
    recorder.close()
    return arrays(recorder.writer.path)["/slender/a"]


def test_imu(recorder):
    imu = {
        "orientation": xyzw((0.1, 0.2, 0.3, 0.4)),
        "orientation_covariance": list(range(9)),
        "angular_velocity": xyz((1, 2, 3)),
        "angular_velocity_covariance": [0.0] * 9,
        "linear_acceleration": xyz((4, 5, 6)),
        "linear_acceleration_covariance": [0.0] * 9,
    }
    series = one(recorder, "sensor_msgs/msg/Imu", imu)
    np.testing.assert_array_equal(series["orientation_xyzw"], [[0.1, 0.2, 0.3, 0.4]])
    np.testing.assert_array_equal(series["orientation_covariance"][0, 2], [6, 7, 8])
    np.testing.assert_array_equal(series["angular_velocity"], [[1, 2, 3]])
    np.testing.assert_array_equal(series["linear_acceleration"], [[4, 5, 6]])


def test_times_are_whole_nanoseconds(recorder):
    series = one(recorder, "sensor_msgs/msg/Temperature", {"temperature": 40.5, "variance": 0.0})
    np.testing.assert_array_equal(series["temperature"], [40.5])
    np.testing.assert_array_equal(series.stamp, [EPOCH + 500_000_000])
    np.testing.assert_array_equal(series.log_time, [EPOCH + 750_000_000])
    np.testing.assert_array_equal(series.publish_time, series.log_time)


@pytest.mark.parametrize(("begin", "order"), [(b"\0\1\0\0", "<"), (b"\0\0\0\0", ">")])
def test_of_times_alone_what_follows_the_stamp_is_not_decoded(tmp_path, begin, order):
    with McapWriter(tmp_path / "run.mcap") as recording:
        stamped = recording.register("/a", "geometry_msgs/msg/Vector3Stamped", STAMPED_VECTOR)
        recording.write(stamped, begin + struct.pack(f"{order}iI", 1_700_000_000, 123_456_789), 30, 20)
        bare = recording.register("/b", "std_msgs/msg/Float64", "float64 data\n")
        recording.write(bare, begin + struct.pack(f"{order}d", 8.0), 30, 20)
    series = arrays(tmp_path / "run.mcap", times_alone=["/a", "/b", "/not_there"])
    assert series["/a"].stamp.tolist() == [1_700_000_000_123_456_789] and series["/a"].fields == {}
    assert series["/b"].stamp.tolist() == [20] and series["/b"]["data"].tolist() == [8.0]
    assert [each.log_time.tolist() + each.publish_time.tolist() for each in series.values()] == [[30, 20]] * 2


@pytest.mark.parametrize("data", [b"", b"\x28\xb5\x2f\xfd", b"\0\1\0\0\0\0\0"])
def test_of_times_alone_a_message_without_them_is_refused(tmp_path, data):
    with McapWriter(tmp_path / "run.mcap") as recording:
        recording.write(recording.register("/a", "geometry_msgs/msg/Vector3Stamped", STAMPED_VECTOR), data, 30)
    with pytest.raises(RecordingError, match="a message of '/a' is no geometry_msgs/msg/Vector3Stamped"):
        arrays(tmp_path / "run.mcap", times_alone=["/a"])


def test_a_type_without_a_header_is_stamped_by_its_publication(tmp_path):
    one, eight = (b"\x00\x01\x00\x00" + value for value in (b"\0\0\0\0\0\0\xf0\x3f", b"\0\0\0\0\0\0\x20\x40"))
    with McapWriter(tmp_path / "run.mcap") as recording:
        channel = recording.register("/a", "std_msgs/msg/Float64", "float64 data\n")
        recording.write(channel, one, 20, 10)
        recording.write(channel, eight, 30)
    series = arrays(tmp_path / "run.mcap")["/a"]
    np.testing.assert_array_equal(series["data"], [1.0, 8.0])
    np.testing.assert_array_equal(series.log_time, [20, 30])
    np.testing.assert_array_equal(series.stamp, [10, 30])


def test_rows_are_in_the_order_of_their_log_times_whatever_the_files_have(tmp_path):
    for number, times in ((10, [70, 60, 60]), (2, [20, 40, 30])):
        with McapWriter(tmp_path / f"first_{number}.mcap") as recording:
            channel = recording.register("/a", "std_msgs/msg/Float64", "float64 data\n")
            for place, time in enumerate(times):
                recording.write(channel, struct.pack("<4sd", b"\0\1\0\0", time + 0.1 * place), time)
    series = arrays(tmp_path)["/a"]
    np.testing.assert_array_equal(series.log_time, [20, 30, 40, 60, 60, 70])
    np.testing.assert_array_equal(series["data"], [20.0, 30.2, 40.1, 60.1, 60.2, 70.0])


@pytest.mark.parametrize(("step", "told"), [(-2.5, ["2.5 s"]), (-0.5, []), (2.5, [])])
def test_a_clock_that_was_set_back_is_told(recorder, step, told, caplog):
    for time in (0.0, 1.0, 2.0, 2.0 + step, 3.0 + step):
        recorder.add("a", "std_msgs/msg/Float64", time, {"data": time})
    recorder.close()
    assert list(arrays(recorder.writer.path)["/slender/a"]["data"]) == sorted((0.0, 1.0, 2.0, 2.0 + step, 3.0 + step))
    assert re.findall("log times go back by (.*) in it", caplog.text) == told


@pytest.fixture
def unpackings(monkeypatch):
    """Sizes of the chunks that are unpacked."""
    sizes, unpacked = [], chunks.unpacked
    monkeypatch.setattr(chunks, "unpacked", lambda chunk: sizes.append(chunk.uncompressed_size) or unpacked(chunk))
    return sizes


def floats(path, topics):
    """A recording of one number on each topic; a name that ends in ? has none."""
    with McapWriter(path) as recording:
        for name in topics:
            channel = recording.register(name.strip("?"), "std_msgs/msg/Float64", "float64 data\n")
            if not name.endswith("?"):
                recording.write(channel, struct.pack("<4sd", b"\0\1\0\0", 1.0), 20)
    return path


def test_topics_are_known_from_the_summary_and_each_chunk_is_unpacked_once(tmp_path, unpackings):
    path = floats(tmp_path / "run.mcap", ["/a", "/b?", "/c"])
    assert topic_types(path) == dict.fromkeys(["/a", "/c"], "std_msgs/msg/Float64")
    assert unpackings == []
    assert list(arrays(path)) == ["/a", "/c"]
    assert len(unpackings) == 1


def test_a_summary_that_is_damaged_or_cut_off_is_not_believed(tmp_path):
    whole = floats(tmp_path / "run.mcap", ["/a"]).read_bytes()
    before, _, behind = whole.rpartition(b"/a")
    renamed = before + b"/b" + behind
    for data in (whole, renamed, whole[:-30], whole + floats(tmp_path / "other.mcap", ["/c"]).read_bytes()):
        (tmp_path / "run.mcap").write_bytes(data)
        assert list(topic_types(tmp_path / "run.mcap")) == ["/a"]


def test_long_reading_says_how_far_it_is_in_all_files(tmp_path, monkeypatch, capsys):
    for name in ("run_0.mcap", "run_1.mcap"):
        floats(tmp_path / name, [f"/{i}" for i in range(9)])
    arrays(tmp_path)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(parallel, "LONG", 0.0)
    monkeypatch.setattr(parallel, "LOG_PERIOD", 0.0)
    arrays(tmp_path)
    told = re.findall(rf"^reading {tmp_path.name}: (\d+) %, 0:00 to go$", capsys.readouterr().err, re.MULTILINE)
    shares = list(map(int, told))
    assert shares == sorted(shares) and shares[-1] == 100 and any(40 < share < 60 for share in shares)


@pytest.mark.parametrize("kinds", [("Float64", "Bool"), ("Bool", "Float64")])
def test_a_topic_of_two_types_is_told_whichever_comes_first(tmp_path, kinds, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK", 2)
    for i, kind in enumerate(kinds):
        with McapWriter(tmp_path / f"run_{i}.mcap") as writer:
            channel = writer.register("/a", f"std_msgs/msg/{kind}", f"{kind.lower()} data\n")
            for time in range(3):
                writer.write(channel, b"\x00\x01\x00\x00" + bytes(8), time)
    with pytest.raises(RecordingError, match="'/a' has messages of std_msgs/msg/Bool and std_msgs/msg/Float64"):
        arrays(tmp_path)


def test_poses_vectors_quaternions_and_text(tmp_path, recorder):
    recorder.add("pose", "geometry_msgs/msg/PoseStamped", 0, pose((1, 2, 3), (0, 0, 1, 0)))
    recorder.add("vector", "geometry_msgs/msg/Vector3Stamped", 0, {"vector": xyz((1, 2, 3))})
    recorder.add("quaternion", "geometry_msgs/msg/QuaternionStamped", 0, {"quaternion": xyzw((1, 0, 0, 0))})
    recorder.add("text", "std_msgs/msg/String", 0, {"data": "with"})
    recorder.add("switch", "std_msgs/msg/Bool", 0, {"data": True})
    recorder.close()
    found = arrays(recorder.writer.path)
    np.testing.assert_array_equal(found["/slender/pose"]["position"], [[1, 2, 3]])
    np.testing.assert_array_equal(found["/slender/pose"]["orientation_xyzw"], [[0, 0, 1, 0]])
    np.testing.assert_array_equal(found["/slender/vector"]["vector"], [[1, 2, 3]])
    np.testing.assert_array_equal(found["/slender/quaternion"]["quaternion_xyzw"], [[1, 0, 0, 0]])
    assert list(found["/slender/text"]["data"]) == ["with"]
    assert "/slender/switch" not in found
    assert list(arrays(recorder.writer.path, ["/slender/text"])) == ["/slender/text"]


def test_joints_keep_the_order_of_the_first_message_and_miss_what_is_left_out(recorder):
    series = one(
        recorder,
        "sensor_msgs/msg/JointState",
        joints(["a", "b"], [1, 2], [3, 4]),
        joints(["b", "a"], [5, 6]),
        joints(["a"], [7]),
    )
    assert series.names == ("a", "b")
    np.testing.assert_array_equal(series["position"], [[1, 2], [6, 5], [7, np.nan]])
    np.testing.assert_array_equal(series["effort"], [[3, 4], [np.nan, np.nan], [np.nan, np.nan]])
    assert np.isnan(series["velocity"]).all()


def test_what_another_publisher_names_is_told(recorder, caplog):
    messages = [joints(["a"], [1.0]), joints(["b"], [2.0]), joints(["a"], [3.0]), joints(["b"], [4.0])]
    series = one(recorder, "sensor_msgs/msg/JointState", *messages)
    np.testing.assert_array_equal(series["position"], [[1.0], [np.nan], [3.0], [np.nan]])
    assert caplog.text.count("'/slender/a': not read, as its first message has none: ['b']") == 1


def test_solver_status(recorder):
    status = solver_status(0.004, error=0.001, converged=False, limits=["cable_1 tension low"])
    series = one(recorder, "soft_twin_msgs/msg/SolverStatus", status, solver_status(0.005))
    np.testing.assert_array_equal(series["duration"], [0.004, 0.005])
    np.testing.assert_array_equal(series["converged"], [False, True])
    np.testing.assert_array_equal(series["compensating"], [True, True])
    np.testing.assert_array_equal(series["target"], [(0.0, 0.0, 0.1)] * 2)
    assert list(series["active_limits"]) == [("cable_1 tension low",), ()]
    assert list(series["frame"]) == ["tip", "tip"]


def test_solver_status_names_its_actuators(recorder):
    turn = {"position": {"x": 0.0, "y": 0.0, "z": 0.1}, "orientation": {"x": 0.0, "y": 0.6, "z": 0.0, "w": 0.8}}
    told = {"actuators": ["left", "air"], "efforts": [1.0, 5e3], "coordinates": [0.001, 2e-6], "holding": True}
    status = solver_status(0.004, target=turn["position"].values(), **told, use_orientation=True, frame="nail")
    series = one(recorder, "soft_twin_msgs/msg/SolverStatus", status | {"target": turn})
    assert series.names == ("left", "air")
    np.testing.assert_array_equal(series["efforts"], [[1.0, 5e3]])
    np.testing.assert_array_equal(series["coordinates"], [[0.001, 2e-6]])
    np.testing.assert_array_equal(series["target_xyzw"], [[0.0, 0.6, 0.0, 0.8]])
    assert (series["frame"][0], series["use_orientation"][0], series["holding"][0]) == ("nail", True, True)


def test_solver_status_of_an_older_recording(tmp_path, monkeypatch):
    monkeypatch.setitem(synthetic.TYPES, "soft_twin_msgs/SolverStatus", synthetic.OLD_SOLVER_STATUS)
    recorder = Recorder(tmp_path / "run.mcap")
    status = synthetic.old_solver_status(0.004, (0.01, 0.0, 0.09), limits=["cable_1 tension low"])
    series = one(recorder, "soft_twin_msgs/msg/SolverStatus", status)
    np.testing.assert_array_equal(series["target"], [(0.01, 0.0, 0.09)])
    assert (series.names, series["frame"][0], series["use_orientation"][0]) == ((), "tip", False)


def test_pressures(recorder):
    messages = ({"names": ["a", "b"], "pressures": [1e3, 2e3]}, {"names": ["b"], "pressures": [3e3]})
    series = one(recorder, "soft_twin_msgs/msg/Pressures", *messages)
    np.testing.assert_array_equal(series["pressures"], [[1e3, 2e3], [np.nan, 3e3]])


def test_shape(recorder):
    series = one(recorder, "soft_twin_msgs/msg/Shape", shape([(0, 0, 0), (0, 0, 0.1)]))
    assert series.names == ("axis_0", "axis_1")
    np.testing.assert_array_equal(series["points"], [[(0, 0, 0), (0, 0, 0.1)]])


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9, 0.999])
def test_a_truncated_recording_is_read_as_far_as_it_goes(run_path, tmp_path, kept, caplog):
    data = run_path.read_bytes()
    path = tmp_path / "cut.mcap"
    path.write_bytes(data[: int(kept * len(data))])
    whole = [message.log_time for message in read_messages(run_path)]
    with caplog.at_level(logging.WARNING):
        cut, again = ([message.log_time for message in read_messages(path)] for _ in range(2))
    assert cut == again == whole[: len(cut)]
    assert len(cut) > 0.5 * kept * len(whole)
    assert not is_complete(path)
    assert caplog.text.count("cut off") == 1


@pytest.mark.parametrize("joined", [b"", b"\x28\xb5\x2f\xfd", b"\n", None])
def test_what_lies_behind_a_recording_in_its_file_is_told_not_read(run_path, tmp_path, joined, caplog):
    data = run_path.read_bytes()
    path = tmp_path / "joined.mcap"
    path.write_bytes(data + (data if joined is None else joined))
    whole = [message.log_time for message in read_messages(run_path)]
    with caplog.at_level(logging.WARNING):
        assert [message.log_time for message in read_messages(path)] == whole
    assert is_complete(path)
    assert caplog.text.count("after the end of the recording are not read") == (joined != b"")


def test_every_cut_of_a_small_recording_is_read_without_an_error(recorder):
    for i in range(3):
        recorder.add("a", "std_msgs/msg/Float64", i, {"data": i})
        recorder.writer.flush()
    recorder.close()
    data = recorder.writer.path.read_bytes()
    counts = []
    for size in range(8, len(data), 3):
        recorder.writer.path.write_bytes(data[:size])
        counts.append(len(list(read_messages(recorder.writer.path))))
    assert counts == sorted(counts)
    assert counts[-1] == 3


def test_damage_in_a_chunk_ends_the_recording_there(run_path, tmp_path):
    data = bytearray(run_path.read_bytes())
    middle = slice(len(data) // 2, len(data) // 2 + 20_000)
    data[middle] = bytes(byte ^ 0xFF for byte in data[middle])
    path = tmp_path / "damaged.mcap"
    path.write_bytes(data)
    whole = [message.log_time for message in read_messages(run_path)]
    damaged = [message.log_time for message in read_messages(path)]
    assert damaged == whole[: len(damaged)]
    assert 0 < len(damaged) < len(whole)


def test_a_chunk_whose_checksum_is_wrong_is_not_believed(tmp_path):
    path = tmp_path / "run.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream, compression=CompressionType.NONE)
        writer.start("ros2")
        schema = writer.register_schema("std_msgs/msg/Float64", "ros2msg", b"float64 data\n")
        channel = writer.register_channel("/a", "cdr", schema)
        writer.add_message(channel, 1, b"\x00\x01\x00\x00ABCDEFGH", 1)
        writer.finish()
    assert len(list(read_messages(path))) == 1
    path.write_bytes(path.read_bytes().replace(b"ABCDEFGH", b"ABCDEFGX"))
    assert list(read_messages(path)) == []


def test_no_file_and_no_mcap_are_clear_errors(tmp_path):
    with pytest.raises(RecordingError, match="recording: expected the path of a file, found None"):
        list(read_messages(None))
    with pytest.raises(RecordingError, match="no recording at .*gone.mcap.: No such file"):
        arrays(tmp_path / "gone.mcap")
    (tmp_path / "text.mcap").write_text("not a recording at all")
    with pytest.raises(RecordingError, match="is not an MCAP recording"):
        arrays(tmp_path / "text.mcap")
    (tmp_path / "empty.mcap").write_bytes(b"")
    with pytest.raises(RecordingError, match="is not an MCAP recording"):
        arrays(tmp_path / "empty.mcap")


def test_a_message_that_is_not_of_its_type_is_a_clear_error(tmp_path):
    with McapWriter(tmp_path / "run.mcap") as recording:
        recording.write(recording.register("/a", "std_msgs/msg/Float64", "float64 data\n"), b"\x00\x01\x00\x00\x01", 1)
    with pytest.raises(RecordingError, match="a message of '/a' is no std_msgs/msg/Float64"):
        list(read_messages(tmp_path / "run.mcap"))


def test_another_encoding_is_a_clear_error(tmp_path):
    with (tmp_path / "run.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("a", "jsonschema", b"{}")
        writer.add_message(writer.register_channel("/a", "json", schema), 1, b"{}", 1)
        writer.finish()
    with pytest.raises(RecordingError, match="encoding 'json' with schema 'jsonschema', expected cdr with ros2msg"):
        list(read_messages(tmp_path / "run.mcap"))
