import numpy as np
import pytest
from synthetic import Recorder, joints, solver_status

from soft_twin.app.cli import main
from soft_twin.recording.diff import diff, table

JOINTS = "sensor_msgs/msg/JointState"


@pytest.fixture
def write(tmp_path):
    def recording(name, values, start=0.0, duration=0.004, extra=(), step=1.0):
        recorder = Recorder(tmp_path / name)
        for i, value in enumerate(values):
            time = start + step * i
            recorder.add("cables/state", JOINTS, time, joints(["a", "b"], [value, 0.0]))
            recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", time, solver_status(duration))
        for topic in extra:
            recorder.add(topic, "std_msgs/msg/String", 0.0, {"data": "x"})
        recorder.close()
        return recorder.writer.path

    return recording


@pytest.fixture
def recorded(tmp_path):
    def recording(name, messages):
        recorder = Recorder(tmp_path / name)
        for topic, kind, content in messages:
            recorder.add(topic, kind, 0.0, content)
        recorder.close()
        return recorder.writer.path

    return recording


def found(rows):
    return {(row.topic.removeprefix("/slender/"), row.field): row for row in rows if not row.same}


def test_a_recording_is_the_same_as_itself(write):
    path = write("a.mcap", [1, 2, np.nan])
    assert found(diff(path, path)) == {}
    assert table(diff(path, path)).endswith("fields are the same to the bit")


def test_the_largest_difference_of_each_field(write):
    rows = found(diff(write("a.mcap", [1, 2, 3]), write("b.mcap", [1, 2.5, 2.9])))
    assert list(rows) == [("cables/state", "position")]
    assert rows["cables/state", "position"].largest == pytest.approx(0.5)
    assert rows["cables/state", "position"].pairs == 3


def test_a_number_against_none_differs_without_bound(write):
    rows = found(diff(write("a.mcap", [1, 2]), write("b.mcap", [1, np.nan])))
    assert rows["cables/state", "position"].largest == np.inf


def test_messages_of_one_alone_are_counted(write):
    rows = found(diff(write("a.mcap", [1, 2, 3]), write("b.mcap", [1, 2, 3, 4], extra=["new"])))
    assert rows["cables/state", "position"].only_second == 1
    assert (rows["new", "-"].only_first, rows["new", "-"].only_second) == (0, 1)


def test_runs_at_other_times_are_paired_by_order(write):
    rows = found(diff(write("a.mcap", [1, 2]), write("b.mcap", [1, 3], start=1000.0)))
    assert rows["cables/state", "position"].largest == pytest.approx(1.0)


def test_wall_times_count_only_on_request(write):
    first, second = write("a.mcap", [1]), write("b.mcap", [1], duration=0.005)
    assert found(diff(first, second)) == {}
    assert list(found(diff(first, second, timing=True))) == [("solver/status", "duration")]


def test_the_exit_status_tells(write, capsys):
    first, second = write("a.mcap", [1]), write("b.mcap", [2])
    assert main(["diff", str(first), str(first)]) == 0
    assert main(["diff", str(first), str(second)]) == 1
    assert "/slender/cables/state position" in capsys.readouterr().out


def test_a_recording_with_equal_stamps_is_the_same_as_itself(write):
    first, second = write("a.mcap", [1, 2, 3], step=0.0), write("b.mcap", [1, 2, 4, 5], step=0.0)
    assert found(diff(first, first)) == {}
    row = found(diff(first, second))["cables/state", "position"]
    assert (row.pairs, row.only_first, row.only_second, row.largest) == (3, 0, 1, 1.0)


def test_columns_are_compared_by_name(recorded):
    first = recorded("a.mcap", [("cables/state", JOINTS, joints(["a", "b"], [1.0, 2.0]))])
    turned = recorded("b.mcap", [("cables/state", JOINTS, joints(["b", "a"], [2.0, 1.0]))])
    other = recorded("c.mcap", [("cables/state", JOINTS, joints(["a", "c"], [1.0, 2.0]))])
    assert found(diff(first, turned)) == {}
    assert found(diff(first, other))["cables/state", "position"].largest == np.inf


def test_a_topic_of_another_type_is_another_topic(recorded):
    first = recorded("a.mcap", [("load", "std_msgs/msg/Float64", {"data": 1.0})] * 2)
    second = recorded("b.mcap", [("load", JOINTS, joints(["a"], [1.0]))])
    row = found(diff(first, second))["load", "-"]
    assert (row.pairs, row.only_first, row.only_second) == (0, 2, 1)


def test_topics_of_types_that_are_not_known_are_told(recorded, capsys):
    load = ("load", "std_msgs/msg/Float64", {"data": 1.0})
    first = recorded("a.mcap", [load, ("stopped", "std_msgs/msg/Bool", {"data": True})])
    second = recorded("b.mcap", [load, ("stopped", "std_msgs/msg/Bool", {"data": False})])
    assert main(["diff", str(first), str(second)]) == 0
    assert "not compared, of types that are not known: /slender/stopped" in capsys.readouterr().out


def test_events_are_counted(recorded):
    reset = ("gravity/reset", "std_msgs/msg/Empty", {})
    once, twice = recorded("a.mcap", [reset]), recorded("b.mcap", [reset] * 2)
    assert found(diff(once, once)) == {}
    assert found(diff(once, twice))["gravity/reset", "-"].only_second == 1
