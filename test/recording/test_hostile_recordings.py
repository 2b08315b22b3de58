"""Recordings that lie: about sizes, definitions and each other. Each one is named; nothing is unpacked beforehand."""

import io
import resource
import struct
import zipfile

import lz4.frame
import numpy as np
import pytest
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.records import Channel, Chunk, Header, Message, Schema
from mcap.writer import MCAP0_MAGIC
from scipy.io import savemat
from synthetic import EPOCH, Recorder, joints, pose, solver_status, xyz, xyzw

from soft_twin import load_robot
from soft_twin.app.cli import main
from soft_twin.errors import RecordingError
from soft_twin.recording import reader
from soft_twin.recording.c3d_files import read_markers
from soft_twin.recording.chunks import MAX_CHUNK_SIZE, TAIL_SIZE
from soft_twin.recording.evaluation import evaluate
from soft_twin.recording.imu import read_imu_recording
from soft_twin.recording.npz import read_npz
from soft_twin.recording.reader import BLOCK, arrays, read_messages
from soft_twin.recording.robots import METADATA, recorded_robot, robot_metadata
from soft_twin.recording.storage import is_complete, metadata

ZEROS = 500_000_000  # [bytes] in a bomb


@pytest.fixture
def write(tmp_path):
    def write(*records):
        builder = RecordBuilder()
        Header(profile="ros2", library="test").write(builder)
        for record in records:
            record.write(builder)
        (tmp_path / "run.mcap").write_bytes(MCAP0_MAGIC + builder.end())
        return tmp_path / "run.mcap"

    return write


def schema(text, name="std_msgs/msg/String"):
    return Schema(id=1, data=text.encode(), encoding="ros2msg", name=name)


def channel(schema_id=1, encoding="cdr"):
    return Channel(id=1, topic="/slender/x", message_encoding=encoding, metadata={}, schema_id=schema_id)


WITH = b"\x00\x01\x00\x00" + struct.pack("<I", 5) + b"with\x00"


def message(data=WITH, channel_id=1):
    return Message(channel_id=channel_id, log_time=EPOCH, data=data, publish_time=EPOCH, sequence=0)


def chunk(compression, data, size):
    return Chunk(compression, data, EPOCH, EPOCH, 0, size)


def bomb(kind):
    if kind == "lz4":
        return lz4.frame.compress(bytes(ZEROS // 10))
    return zstandard.ZstdCompressor(level=1).compress(bytes(ZEROS))


@pytest.mark.parametrize("kind", ["zstd", "lz4"])
def test_a_bomb_is_not_unpacked(write, kind):
    data, before = bomb(kind), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RecordingError, match="bytes unpacks to"):
        arrays(write(schema("string data\n"), channel(), chunk(kind, data, ZEROS)))
    assert arrays(write(schema("string data\n"), channel(), chunk(kind, data, 1000))) == {}
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 4 * MAX_CHUNK_SIZE


@pytest.mark.parametrize("data", [b"", b"\x00" * 50])
@pytest.mark.parametrize("compression", ["zstd", "lz4", "", "brotli"])
def test_a_chunk_that_is_no_chunk_ends_the_recording(write, compression, data):
    path = write(schema("string data\n"), channel(), message(), chunk(compression, data, 2000))
    assert len(arrays(path)["/slender/x"]) == 1
    assert not is_complete(path)


def test_a_length_inside_a_record_is_not_believed(write):
    path = write(schema("string data\n"), channel(), message(), chunk("", b"abc", 3))
    data = bytearray(path.read_bytes())
    data[-11:-3] = struct.pack("<Q", 2**40)
    path.write_bytes(data)
    assert len(arrays(path)["/slender/x"]) == 1


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([message()], "channel 1 is declared nowhere"),
        ([channel(), message()], "schema 1 is declared nowhere"),
        ([channel(0), message()], "schema 0 is declared nowhere"),
        ([schema("string data\n"), channel(1, "json"), message()], "encoding 'json'"),
        ([schema("garbage {"), channel(), message()], "cannot decode"),
        ([schema("std_msgs/Nothing x\n"), channel(), message()], "is no std_msgs/msg/String"),
        ([schema("float64[1000000000] x\n"), channel(), message()], "an array of 1000000000 items"),
        ([schema("string data\n"), channel(), message(b"")], "is no std_msgs/msg/String"),
        ([schema("float64 other\n"), channel(), message(b"\x00\x01\x00\x00" + bytes(8))], "has what no std_msgs"),
        ([schema("x" * 300_000), channel(), message()], "characters long"),
    ],
)
def test_what_contradicts_itself_is_named(write, records, found):
    with pytest.raises(RecordingError, match=found):
        arrays(write(*records))


def test_definitions_that_take_no_bytes_are_not_followed(write):
    hollow = f"Hollow[90000] x\n{'=' * 80}\nMSG: std_msgs/Hollow\nuint8[1] y\n"
    recursive = f"Self x\n{'=' * 80}\nMSG: std_msgs/Self\nSelf x\n"
    with pytest.raises(RecordingError, match="a type of bytes alone, std_msgs/Hollow"):
        list(read_messages(write(schema(hollow), channel(), message())))
    with pytest.raises(RecordingError, match="is no std_msgs/msg/String"):
        list(read_messages(write(schema(recursive), channel(), message())))


def test_many_messages_become_the_same_arrays_as_few(tmp_path):
    recorder = Recorder(tmp_path / "run.mcap")
    count = 2 * BLOCK + 3
    for i in range(count):
        recorder.add("cables/state", "sensor_msgs/msg/JointState", 0.01 * i, joints(["a", "b"], [i, -i]))
    recorder.close()
    series = arrays(tmp_path / "run.mcap")["/slender/cables/state"]
    assert series.names == ("a", "b")
    np.testing.assert_array_equal(series["position"], np.column_stack([np.arange(count), -np.arange(count)]))
    assert (np.diff(series.stamp) == 10**7).all()


@pytest.mark.parametrize(
    ("topic", "kind", "content"),
    [
        ("robot_description", "std_msgs/msg/String", {"data": "x" * 20_000}),
        ("solver/status", "soft_twin_msgs/msg/SolverStatus", solver_status(0.0, limits=["x" * 20_000])),
    ],
)
def test_long_texts_count_towards_the_most_that_is_read(tmp_path, monkeypatch, topic, kind, content):
    monkeypatch.setattr(reader, "BLOCK", 2)
    monkeypatch.setattr(reader, "MAX_ARRAYS", 100_000)
    recorder = Recorder(tmp_path / "run.mcap")
    for time in range(10):
        recorder.add(topic, kind, time, content)
    recorder.close()
    with pytest.raises(RecordingError, match="more than 0.1 MB of arrays"):
        arrays(tmp_path / "run.mcap")


def test_huge_texts_are_not_all_decoded_before_they_count(tmp_path, monkeypatch):
    recorder = Recorder(tmp_path / "run.mcap")
    for time in range(40):
        recorder.add(f"text_{time % 8}", "std_msgs/msg/String", time, {"data": "x" * 2**20})
    recorder.close()
    read, read_stored = [], reader.read_stored
    monkeypatch.setattr(reader, "read_stored", lambda *of: (read.append(each) or each for each in read_stored(*of)))
    monkeypatch.setattr(reader, "MAX_ARRAYS", 8 * 2**20)
    with pytest.raises(RecordingError, match="more than 8.38861 MB of arrays"):
        arrays(tmp_path / "run.mcap")
    assert len(read) <= 12


def test_turns_and_places_that_are_none_do_not_count(tmp_path):
    """Of quaternions without length and tips at infinity, nothing is said; of the others, what they say."""
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    for i in range(100):
        turn, tip = ([0.0] * 4, [1e300, 0.0, 0.0]) if i % 3 == 0 else ([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.1])
        recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", 0.05 * i, {"quaternion": xyzw(turn)})
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", 0.05 * i, pose(tip))
        down = {"vector": xyz([0.0, 0.0, np.nan if i % 5 == 0 else -9.81])}
        recorder.add("gravity", "geometry_msgs/msg/Vector3Stamped", 0.05 * i, down)
    recorder.close()
    evaluation = evaluate(tmp_path / "run.mcap", load_robot("slender"))
    assert evaluation.tip_error.values.max() == 0.0
    assert evaluation.gravity_error.values.max() == 0.0
    assert [pose.stands["with"].error for pose in evaluation.poses] == [0.0]


def test_a_recording_knows_its_robot(tmp_path):
    robot = load_robot("tm40")
    recorder = Recorder(tmp_path / "run.mcap", "arm")
    recorder.writer.describe(METADATA, robot_metadata(robot))
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    recorder.close()
    assert metadata(tmp_path / "run.mcap", METADATA)["robot"] == "tm40"
    assert recorded_robot(tmp_path / "run.mcap").name == "tm40"
    assert recorded_robot(tmp_path / "run.mcap", "slender").name == "slender"


def test_a_killed_recorders_file_knows_its_robot(tmp_path):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.writer.describe(METADATA, robot_metadata(load_robot("tm40")))
    assert recorded_robot(tmp_path / "run.mcap").name == "tm40"
    recorder.close()


def test_damage_is_told_once_whatever_is_read_of_a_recording(tmp_path, caplog):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("a", "std_msgs/msg/Float64", 0, {"data": 1.0})
    recorder.close()
    data = (tmp_path / "run.mcap").read_bytes()
    (tmp_path / "run.mcap").write_bytes(data[:-TAIL_SIZE] + data[-TAIL_SIZE:][:7])  # in the length of a record
    assert metadata(tmp_path / "run.mcap", "none") == {} and "/slender/a" in arrays(tmp_path / "run.mcap")
    assert caplog.text.count("cut off") == 1


def test_an_old_recording_is_of_the_robot_in_its_namespace(tmp_path):
    for name in ("tm40", "nobody"):
        recorder = Recorder(tmp_path / f"{name}.mcap", name)
        recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
        recorder.close()
    assert recorded_robot(tmp_path / "tm40.mcap").name == "tm40"
    with pytest.raises(RecordingError, match="says not which robot it is of .*'nobody'.*: say --robot"):
        recorded_robot(tmp_path / "nobody.mcap")


def test_a_recording_without_messages_is_not_asked_for_its_robot(tmp_path, robot, capsys):
    path = tmp_path / "run.mcap"
    Recorder(path).close()
    for command in ([], ["--robot", "slender"]):
        assert main(["replay", str(path), *command]) == 2
        told = capsys.readouterr().err
        assert "there are no messages in it" in told and "say" not in told


def test_a_description_that_has_changed_is_told(tmp_path, caplog):
    text = load_robot("slender").path.read_text(encoding="utf-8")
    mine = tmp_path / "mine.yaml"
    mine.write_text(text, encoding="utf-8")
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.writer.describe(METADATA, robot_metadata(load_robot(mine)))
    recorder.close()
    assert recorded_robot(tmp_path / "run.mcap").path == mine
    assert not caplog.records
    mine.write_text(text.replace("density: 1150.0", "density: 1151.0"), encoding="utf-8")
    assert recorded_robot(tmp_path / "run.mcap").body.material.density == 1151.0
    assert "has changed since" in caplog.text
    mine.write_text(text.replace("name: slender", "name: other"), encoding="utf-8")
    with pytest.raises(RecordingError, match="recorded of 'slender', but .* is of 'other'"):
        recorded_robot(tmp_path / "run.mcap")


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("gyr", np.full((9, 3), np.nan), "angular velocity of sample 0"),
        ("acc", np.full((9, 3), 1e30), "specific force of sample 0"),
        ("rate", np.inf, "rate inf"),
        ("rate", "100", "expected numbers"),
        ("gyr", np.zeros((9, 4)), "expected"),
        ("gyr", np.array([[None] * 3] * 9), "expected numbers"),
    ],
)
def test_no_orientation_is_written_for_samples_that_are_none(tmp_path, capsys, name, value, found):
    good = {"gyr": np.zeros((9, 3)), "acc": np.tile([0.0, 0.0, 9.81], (9, 1)), "rate": 100.0}
    np.savez(tmp_path / "in.npz", **(good | {name: value}))
    assert main(["estimate", str(tmp_path / "in.npz"), "--out", str(tmp_path / "out.npz")]) == 2
    assert found in capsys.readouterr().err
    assert not (tmp_path / "out.npz").exists()


def test_an_array_is_not_allocated_because_its_header_says_so(tmp_path):
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**10, 3)}
    np.lib.format.write_array_header_1_0(stream, header)
    with zipfile.ZipFile(tmp_path / "in.npz", "w") as archive:
        archive.writestr("gyr.npy", stream.getvalue() + bytes(24))
    with pytest.raises(RecordingError, match=r"'gyr' is \(10000000000, 3\) of float64 in \d+ bytes"):
        read_npz(tmp_path / "in.npz", ["gyr"], 10**9)
    with pytest.raises(RecordingError, match="no array 'acc'"):
        read_imu_recording(tmp_path / "in.npz")


def mat(**fields):
    good = {"imu_gyr": np.zeros((9, 3)), "imu_acc": np.ones((9, 3)), "opt_quat": np.tile([1.0, 0.0, 0.0, 0.0], (9, 1))}
    stream = io.BytesIO()
    savemat(stream, good | {"sampling_rate": 100.0} | fields, do_compression=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (mat(imu_gyr="text"), "'imu_gyr' holds text"),
        (mat(imu_gyr=1j * np.ones((9, 3))), "holds complex numbers"),
        (mat(imu_acc=np.full((9, 3), np.inf)), "specific force of sample 0 is"),
        (mat(sampling_rate=-1.0), "sampling_rate -1"),
        (mat(sampling_rate=[1.0, 2.0]), "sampling_rate"),
        (mat(sampling_rate="fast"), "holds text, expected numbers"),
        (mat(imu_gyr=np.array([[{}] * 3] * 9, dtype=object)), "holds cells, expected numbers"),
        (mat(movement={"a": 1}), "expected numbers"),
        (mat(movement=np.ones((3, 3))), "unequal length"),
        (mat()[:220], "has shape|not readable"),
        (mat()[:200] + b"\xff" * 40 + mat()[240:], "not readable"),
        (mat(imu_gyr=np.zeros((3_000_000, 3), np.int8)), "unequal"),
        (mat(imu_gyr=np.zeros((120_000_000, 1), np.int8)), "unpacks to more than"),
        (b"", "not readable"),
    ],
)
def test_mat_files_that_are_no_trials_are_named(tmp_path, data, found):
    (tmp_path / "trial.mat").write_bytes(data)
    with pytest.raises(RecordingError, match=found) as error:
        read_imu_recording(tmp_path / "trial.mat")
    assert "\n" not in str(error.value)


def test_a_mat_file_that_is_a_trial_is_read(tmp_path):
    (tmp_path / "trial.mat").write_bytes(mat(movement=np.ones((9, 1), bool), notes="of no concern"))
    assert read_imu_recording(tmp_path / "trial.mat").rate == 100.0


@pytest.mark.parametrize("data", [b"", b"\x02\x50" + bytes(1000), b"\x02\x50" + b"\xff" * 2000, bytes(range(256)) * 8])
def test_c3d_files_that_are_none_are_named(tmp_path, data):
    pytest.importorskip("c3d")
    (tmp_path / "beam.c3d").write_bytes(data)
    with pytest.raises(RecordingError, match="not readable as a C3D file"):
        read_markers(tmp_path / "beam.c3d")
