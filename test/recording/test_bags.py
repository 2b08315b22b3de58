"""Bags: folders with metadata.yaml and .db3 files, ours and those of rosbag2, read by us and by others."""

import contextlib
import re
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import yaml
from synthetic import Recorder, share_folder, solver_status, xyz

from soft_twin.app.cli import main
from soft_twin.errors import RecordingError
from soft_twin.recording import db3
from soft_twin.recording.bag_metadata import write_metadata
from soft_twin.recording.definitions import definition
from soft_twin.recording.evaluation import evaluate
from soft_twin.recording.imu import read_imu_recording
from soft_twin.recording.reader import arrays, read_messages, topic_types
from soft_twin.recording.robots import recorded_robot
from soft_twin.recording.storage import files, is_complete, stored
from soft_twin.recording.writer import BagWriter, McapWriter, Qos, open_recording

rosbag2 = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")

TRUE = b"\x00\x01\x00\x00\x01"  # std_msgs/Bool in little-endian CDR


def _bag(folder):
    with BagWriter(folder) as bag:
        channels = [bag.register(topic, "std_msgs/msg/Bool", "bool data\n", Qos(topic == "/a", topic == "/a"))
                    for topic in ("/a", "/b", "/silent")]  # fmt: skip
        for i in range(5):
            bag.write(channels[i % 2], TRUE, 1_700_000_000_000_000_000 + i * 10**9)
    return folder


def _converted(path, folder, version=9):
    """A recording as rosbag2 writes .db3 files."""
    store = typesys.get_typestore(typesys.Stores.EMPTY)
    texts = {kind: definition(kind, [share_folder(folder.parent / "share")]) for kind in topic_types(path).values()}
    for kind, text in texts.items():
        store.register(typesys.get_types_from_msg(text.partition("=" * 80)[0], kind))
        for part in text.split("=" * 80 + "\nMSG: ")[1:]:
            name, _, body = part.partition("\n")
            store.register(typesys.get_types_from_msg(body, name.replace("/", "/msg/")))
    with rosbag2.Writer(folder, version=version, storage_plugin=rosbag2.StoragePlugin.SQLITE3) as bag:
        added = {topic: bag.add_connection(topic, kind, typestore=store) for topic, kind in topic_types(path).items()}
        for _, channel, message in stored(path, None):
            bag.write(added[channel.topic], message.log_time, message.data)
    return folder


@pytest.fixture(scope="module")
def converted(run_path, tmp_path_factory):
    return _converted(run_path, tmp_path_factory.mktemp("db3") / "bag")


def test_another_reader_takes_our_bag(tmp_path):
    with rosbag2.Reader(_bag(tmp_path / "first")) as reader:
        assert (reader.message_count, reader.duration) == (5, 4 * 10**9 + 1)
        assert {name: topic.msgcount for name, topic in reader.topics.items()} == {"/a": 3, "/b": 2, "/silent": 0}
        (told,) = reader.topics["/a"].connections[0].ext.offered_qos_profiles
        assert (told.reliability.name, told.durability.name) == ("RELIABLE", "TRANSIENT_LOCAL")
        assert [bytes(data) for _, _, data in reader.messages()] == [TRUE] * 5


def test_metadata_is_what_humble_writes_and_all_read(tmp_path):
    told = yaml.safe_load((_bag(tmp_path / "first") / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert (told["version"], told["storage_identifier"], told["compression_mode"]) == (5, "mcap", "")
    assert told["relative_file_paths"] == [told["files"][0]["path"]] == ["first_0.mcap"]
    assert told["topics_with_message_count"][0]["topic_metadata"]["offered_qos_profiles"].startswith("- history: 1\n")
    assert all(isinstance(row["message_count"], int) for row in told["topics_with_message_count"])
    assert told["starting_time"]["nanoseconds_since_epoch"] == 1_700_000_000_000_000_000


def test_a_folder_reads_as_its_file_does(tmp_path):
    folder = _bag(tmp_path / "first")
    both = ([(one.topic, one.log_time) for one in read_messages(path)] for path in (folder, folder / "first_0.mcap"))
    assert next(both) == next(both)
    assert is_complete(folder)


def test_a_bag_that_was_split_is_read_in_the_order_of_its_metadata(tmp_path):
    folder = _bag(tmp_path / "bag")
    with McapWriter(folder / "bag_1.mcap") as more:
        more.write(more.register("/c", "std_msgs/msg/Bool", "bool data\n"), TRUE, 7)
    told = yaml.safe_load((folder / "metadata.yaml").read_text())
    told["rosbag2_bagfile_information"]["relative_file_paths"] = ["bag/bag_1.mcap", "bag_0.mcap"]
    (folder / "metadata.yaml").write_text(yaml.safe_dump(told))
    assert [message.topic for message in read_messages(folder)] == ["/c", "/a", "/b", "/a", "/b", "/a"]


def test_files_that_the_metadata_does_not_name_are_told_once(tmp_path, caplog):
    folder = _bag(tmp_path / "bag")
    shutil.copy(folder / "bag_0.mcap", folder / "bag_1.mcap")
    assert [len(list(read_messages(folder))) for _ in range(2)] == [5, 5]
    assert caplog.text.count("metadata.yaml: it does not name bag_1.mcap: not read") == 1


def test_files_without_metadata_are_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 9, 2):
        shutil.copy(_bag(tmp_path / "bag") / "bag_0.mcap", tmp_path / f"run_{number}.mcap")
    assert [file.name for file in files(tmp_path)] == ["run_2.mcap", "run_9.mcap", "run_10.mcap"]


def test_a_message_of_another_century_is_told(tmp_path):
    with McapWriter(tmp_path / "late.mcap") as late:
        late.write(late.register("/a", "std_msgs/msg/Bool", "bool data\n"), TRUE, 2**63)
    _refused(tmp_path / "late.mcap", "a message is of 9.* ns since the epoch")


def test_a_bag_is_a_bag_without_its_metadata_too(tmp_path):
    folder = _bag(tmp_path / "bag")
    (folder / "metadata.yaml").unlink()
    assert len(list(read_messages(folder))) == 5


def test_a_path_that_ends_in_mcap_is_one_plain_file(tmp_path):
    open_recording(tmp_path / "run.mcap").close()
    open_recording(tmp_path / "run").close()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["metadata.yaml", "run", "run.mcap", "run_0.mcap"]


def test_a_recording_that_begins_takes_old_metadata_away(tmp_path):
    bag = BagWriter(_bag(tmp_path / "first"))
    assert not (tmp_path / "first" / "metadata.yaml").exists()
    bag.close()
    with rosbag2.Reader(tmp_path / "first") as reader:
        assert reader.message_count == 0


@pytest.mark.parametrize("name", ["first", "first.mcap"])
def test_a_recording_in_progress_is_not_overwritten(tmp_path, name):
    first = open_recording(tmp_path / name)
    first.describe("mine", {"kept": "yes"})
    before = first.path.read_bytes()
    with pytest.raises(RecordingError, match="is being recorded to: end that recording first, or give this one"):
        open_recording(tmp_path / name)
    assert first.path.read_bytes() == before
    first.close()
    open_recording(tmp_path / name).close()


def test_of_what_was_cut_off_or_never_begun_nothing_is_told(tmp_path):
    data = (_bag(tmp_path / "bag") / "bag_0.mcap").read_bytes()
    (tmp_path / "bag" / "bag_0.mcap").write_bytes(data[: len(data) // 2])
    assert not write_metadata(tmp_path / "bag" / "bag_0.mcap")
    assert not write_metadata(tmp_path / "none.mcap")
    assert not (tmp_path / "bag" / "metadata.yaml").exists()


def test_a_db3_holds_the_same_as_the_mcap(converted, run_path):
    from_db3, from_mcap = arrays(converted), arrays(run_path)
    assert from_db3.keys() == from_mcap.keys()
    for topic, series in from_mcap.items():
        for name, values in series.fields.items():
            np.testing.assert_array_equal(from_db3[topic][name], values)
    assert arrays(next(converted.glob("*.db3")), ["/slender/gravity"]).keys() == {"/slender/gravity"}


def test_a_db3_is_reported(converted, capsys):
    assert main(["report", str(converted)]) == 0
    assert (converted / "report.json").is_file()
    assert "135.0" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["run #2", "which?", "50%20", "%41"])
def test_a_db3_is_read_wherever_it_lies(converted, tmp_path, name):
    (tmp_path / name).mkdir()
    path = Path(shutil.copy(next(converted.glob("*.db3")), tmp_path / name))
    assert arrays(path, ["/slender/gravity"]).keys() == {"/slender/gravity"}
    path.write_bytes(path.read_bytes()[:20_000])
    _refused(path, f"Cannot open database {re.escape(str(path))}")


def test_of_a_killed_recorders_db3_what_sqlite_had_not_put_in_is_told(converted, tmp_path, caplog):
    whole = len(arrays(converted, ["/slender/gravity"])["/slender/gravity"])
    (tmp_path / "killed").mkdir()
    with contextlib.closing(sqlite3.connect(shutil.copy(next(converted.glob("*.db3")), tmp_path / "b.db3"))) as bag:
        bag.execute("PRAGMA journal_mode=WAL")
        bag.execute("UPDATE messages SET timestamp = timestamp + 1")
        bag.commit()
        for left in tmp_path.glob("b.db3*"):
            shutil.copy(left, tmp_path / "killed")
    assert is_complete(tmp_path / "b.db3")
    path = tmp_path / "killed" / "b.db3"
    assert len(arrays(path, ["/slender/gravity"])["/slender/gravity"]) == whole
    assert caplog.text.count("was cut off, what is in b.db3-wal is not read: `sqlite3 b.db3") == 1
    assert not is_complete(path)
    with contextlib.closing(sqlite3.connect(path)) as bag:
        bag.execute("PRAGMA journal_mode=DELETE")
    assert is_complete(path)


@pytest.mark.parametrize("plugin", list(rosbag2.StoragePlugin))
def test_what_rosbag2_has_compressed_is_refused_without_its_metadata_too(tmp_path, plugin):
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    for mode in (rosbag2.CompressionMode.FILE, rosbag2.CompressionMode.MESSAGE):
        bag = rosbag2.Writer(tmp_path / mode.name, version=9, storage_plugin=plugin)
        bag.set_compression(mode, rosbag2.CompressionFormat.ZSTD)
        with bag:
            bag.write(bag.add_connection("/a", "std_msgs/msg/Bool", typestore=store), 1, TRUE)
        (tmp_path / mode.name / "metadata.yaml").unlink()
    _refused(tmp_path / "FILE", "is compressed: `zstd -d` it first")
    _refused(next((tmp_path / "FILE").iterdir()), "is compressed: `zstd -d` it first")
    _refused(tmp_path / "MESSAGE", "is no std_msgs/msg/Bool: rosbag2 has compressed it, `ros2 bag convert` the bag")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("update topics set name = x'2f61ff' where name = '/slender/gravity'", "a topic is called b'/a.xff'"),
        ("update topics set type = x'00' where name = '/slender/gravity'", ""),
        ("update messages set timestamp = 'noon' where id = 5", "has no bytes, or no time"),
        ("update messages set data = 'text' where id = 5", "has no bytes, or no time"),
        ("update messages set data = 12 where id = 5", "has no bytes, or no time"),
        ("update messages set timestamp = 9223372036854775807 where id = 5", "is of 9.* ns since the epoch"),
        ("update messages set timestamp = -1 where id = 5", "is of -1 ns since the epoch"),
    ],
)
def test_columns_of_a_db3_that_hold_something_else_are_told(converted, tmp_path, change, told):
    path = shutil.copy(next(converted.glob("*.db3")), tmp_path / "bag.db3")
    database = sqlite3.connect(path)
    assert database.execute(change).rowcount == 1
    database.commit()
    database.close()
    with pytest.raises(RecordingError, match=f"not readable as a .db3 of rosbag2: .*{told}"):
        arrays(path)


def test_a_db3_without_definitions_is_read_with_those_that_are_installed(run_path, tmp_path, monkeypatch):
    folder = _converted(run_path, tmp_path / "bag", version=8)
    with sqlite3.connect(next(folder.glob("*.db3"))) as database:
        database.execute("UPDATE schema SET schema_version = 3")
        database.execute("DROP TABLE message_definitions")
    gravity = arrays(folder, ["/slender/gravity"])["/slender/gravity"]
    np.testing.assert_array_equal(gravity["vector"], arrays(run_path)["/slender/gravity"]["vector"])
    monkeypatch.setattr(db3, "installed_share_folders", list)
    assert len(arrays(folder, ["/slender/gravity"])["/slender/gravity"]) == len(gravity)
    with pytest.raises(RecordingError, match="SolverStatus is neither in it nor installed: source the workspace"):
        arrays(folder, ["/slender/solver/status"])


def _refused(path, match):
    with pytest.raises(RecordingError, match=match) as caught:
        list(read_messages(path))
    assert "\n" not in str(caught.value)


def test_broken_bags_are_one_line(tmp_path):
    _refused(tmp_path, "a folder without metadata.yaml, .mcap or .db3 in it")
    (tmp_path / "x.db3").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)
    _refused(tmp_path / "x.db3", "is not readable as a .db3 of rosbag2")
    _refused(tmp_path / "none.db3", "no recording at")
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(40))
    endless = f"{bomb}rosbag2_bagfile_information: {{relative_file_paths: *a40}}"
    many = "a: [" + "[]," * 220_000 + "]"
    for text in ("[", "rosbag2_bagfile_information: 3", "{}", "a: " + "[" * 1200, endless, many):
        (tmp_path / "metadata.yaml").write_text(text)
        _refused(tmp_path, "not the metadata of a bag")
    told = {"version": 5, "relative_file_paths": ["x.db3"], "compression_mode": "FILE"}
    (tmp_path / "metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": told}))
    _refused(tmp_path, "compressed by FILE: `ros2 bag convert` it first")
    told |= {"compression_mode": "", "relative_file_paths": ["../../etc/gone.mcap"]}
    (tmp_path / "metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": told}))
    _refused(tmp_path, f"no recording at '{tmp_path}/gone.mcap'")
    for names, wrong in (([], "names no file of the bag"), (["x.db3", "y.db3", "bag/x.db3"], "names 'x.db3' 2 times")):
        told["relative_file_paths"] = names
        (tmp_path / "metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": told}))
        _refused(tmp_path, wrong)


def _robots(path, *namespaces):
    recorders = [Recorder(path, namespaces[0])]
    for namespace in namespaces[1:]:
        other = Recorder.__new__(Recorder)
        vars(other).update(vars(recorders[0]), _namespace=namespace, _encoders={})
        recorders.append(other)
    for i, recorder in enumerate(recorders):
        status = solver_status(0.004 + i)
        recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", 1.0, status)
        recorder.add("gravity", "geometry_msgs/msg/Vector3Stamped", 1.0, {"vector": xyz([0.0, 0.0, -9.81])})
    recorders[0].close()
    return path


def test_the_only_namespace_is_found(tmp_path, robot):
    assert evaluate(_robots(tmp_path / "run.mcap", "lab/left"), robot).solves == 1
    assert evaluate(_robots(tmp_path / "own.mcap", "slender", "left"), robot).solves == 1
    assert evaluate(_robots(tmp_path / "below.mcap", "slender/left"), robot).solves == 1
    with pytest.raises(RecordingError, match="say which by --namespace: 'slender/left', 'slender/right'"):
        evaluate(_robots(tmp_path / "two.mcap", "slender/left", "slender/right"), robot)


def test_a_robots_topics_may_have_names_within_its_namespace(tmp_path, robot):
    recorder = Recorder(tmp_path / "run.mcap", "lab/left")
    recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", 1.0, solver_status(0.004))
    for topic in ("gravity", "plate/gravity", "truth/gravity"):
        recorder.add(topic, "geometry_msgs/msg/Vector3Stamped", 1.0, {"vector": xyz([0.0, 0.0, -9.81])})
    recorder.close()
    assert evaluate(tmp_path / "run.mcap", robot).solves == 1


def test_of_two_robots_one_is_to_be_named(tmp_path, robot):
    path = _robots(tmp_path / "run.mcap", "left", "right")
    with pytest.raises(RecordingError, match="several robots in it, say which by --namespace: 'left', 'right'"):
        evaluate(path, robot)
    right = evaluate(path, robot, namespace="/right/")
    np.testing.assert_allclose(right.solve_time.values, [1.004])
    with pytest.raises(RecordingError, match="no topic of 'middle' in it: it has 'left', 'right'"):
        evaluate(path, robot, namespace="middle")


def test_of_two_robots_the_other_is_not_read(tmp_path, robot):
    path = _robots(tmp_path / "bag" / "run_0.mcap", "slender", "right")
    with McapWriter(path.with_name("run_1.mcap")) as more:
        more.write(more.register("/right/gravity", "std_msgs/msg/Bool", "bool data\n"), TRUE, 7)
    assert evaluate(path.parent, robot).solves == 1
    with pytest.raises(RecordingError, match="'/right/gravity' has messages of"):
        evaluate(path.parent, robot, namespace="right")


def test_a_namespace_around_that_of_a_robot_is_not_taken_for_its_own(tmp_path, robot):
    path = _robots(tmp_path / "run.mcap", "lab/left")
    assert evaluate(path, robot, namespace="lab/left").solves == 1
    for asked, told in (("lab", "'lab'"), ("", "a robot without a namespace"), ("/", "a robot without a namespace")):
        with pytest.raises(RecordingError, match=f"no topic of {told} in it: it has 'lab/left': say --namespace"):
            evaluate(path, robot, namespace=asked)


def test_which_of_two_robots_in_config_it_is_of_is_to_be_named(tmp_path):
    path = _robots(tmp_path / "run.mcap", "finger", "slender")
    with pytest.raises(RecordingError, match="namespaces: 'finger', 'slender'.*: say --namespace"):
        recorded_robot(path)
    assert recorded_robot(path, namespace="finger").name == "finger"


def _of_others(path, namespace, *messages):
    """A recording that says nothing of its robot but by messages of its nodes."""
    recorder = Recorder(path, namespace)
    recorder.add("gravity", "geometry_msgs/msg/Vector3Stamped", 1.0, {"vector": xyz([0.0, 0.0, -9.81])})
    for topic, kind, content in messages:
        recorder.add(topic, kind, 2.0, content)
    recorder.close()
    return path


def _health(name, robot):
    status = {"level": 0, "name": name, "message": "ok", "hardware_id": robot, "values": []}
    return "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", {"status": [status]}


def _urdf(robot):
    return "robot_description", "std_msgs/msg/String", {"data": f"<?xml version='1.0'?>\n<robot name=\"{robot}\"/>"}


@pytest.mark.parametrize("told", [_health("lab/right/imu_to_gravity", "finger"), _urdf("finger")])
def test_nodes_tell_of_which_robot_a_namespace_is(tmp_path, told):
    path = _of_others(tmp_path / "run.mcap", "lab/right", told)
    assert recorded_robot(path).name == recorded_robot(path, namespace="lab/right").name == "finger"
    with pytest.raises(RecordingError, match="no topic of 'left' in it: it has 'lab/right': say --namespace"):
        recorded_robot(path, namespace="left")


@pytest.mark.parametrize(
    "told",
    [
        _health("other/imu_to_gravity", "finger"),
        _health("right/x", "/etc/a.yaml"),
        _urdf("x"),
        ("/diagnostics", *_urdf("finger")[1:]),
        ("robot_description", "std_msgs/msg/Bool", {"data": True}),
    ],
)
def test_what_says_nothing_of_a_namespace_is_not_believed(tmp_path, told):
    path = _of_others(tmp_path / "run.mcap", "right", told)
    with pytest.raises(RecordingError, match="namespaces: 'right'.*: say --robot"):
        recorded_robot(path, namespace="right")


def test_of_two_namespaces_that_nodes_tell_of_one_is_to_be_named(tmp_path):
    recorder = Recorder(tmp_path / "run.mcap", "left")
    for name, robot in (("left", "slender"), ("right", "finger")):
        gravity = {"vector": xyz([0.0, 0.0, -9.81])}
        recorder.add(f"/{name}/gravity", "geometry_msgs/msg/Vector3Stamped", 1.0, gravity)
        topic, kind, content = _health(f"{name}/imu_to_gravity", robot)
        recorder.add(topic, kind, 2.0, content)
    recorder.close()
    with pytest.raises(RecordingError, match="namespaces: 'left', 'right'.*: say --namespace"):
        recorded_robot(tmp_path / "run.mcap")
    assert recorded_robot(tmp_path / "run.mcap", namespace="right").name == "finger"


def test_a_bag_of_something_else_says_how_a_robot_s_is_made(tmp_path, capsys):
    recorder = Recorder(tmp_path / "cam.mcap", "cam")
    recorder.add("image", "std_msgs/msg/Bool", 1.0, {"data": True})
    recorder.close()
    for command in ("replay", "report"):
        assert main([command, str(tmp_path / "cam.mcap"), "--robot", "slender"]) == 2
        said = capsys.readouterr().err
        assert "no topic of 'slender' in it: it has 'cam': record the robot's topics, by recording:=" in said


def test_samples_of_an_imu_are_read_from_a_bag(tmp_path):
    recorder = Recorder(tmp_path / "bag_0.mcap")
    zeros, turn = [0.0] * 9, {"orientation": dict.fromkeys("xyzw", 0.5)}
    turn |= {f"{name}_covariance": zeros for name in ("orientation", "angular_velocity", "linear_acceleration")}
    for i in range(5):
        motion = {"angular_velocity": xyz([0.0, 0.0, 0.1]), "linear_acceleration": xyz([0.0, 0.0, 9.81])}
        recorder.add("imu/data_raw", "sensor_msgs/msg/Imu", 0.01 * i, turn | motion)
    recorder.close()
    assert read_imu_recording(tmp_path).rate == pytest.approx(100.0)


def test_a_bag_without_topics_of_the_robot_says_so(tmp_path, capsys):
    folder = _bag(tmp_path / "bag")
    assert main(["report", str(folder), "--robot", "slender"]) == 2
    assert "no topic of 'slender' in it: it has none that is known" in capsys.readouterr().err
