import numpy as np
import pytest
from synthetic import Recorder, joints, solver_status

from soft_twin.app.cli import main
from soft_twin.recording.diff import diff, table


@pytest.fixture
def write(tmp_path):
    def recording(name, values, start=0.0, duration=0.004, extra=()):
        recorder = Recorder(tmp_path / name)
        for i, value in enumerate(values):
            recorder.add("cables/state", "sensor_msgs/msg/JointState", start + i, joints(["a", "b"], [value, 0.0]))
            recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", start + i, solver_status(duration))
        for topic in extra:
            recorder.add(topic, "std_msgs/msg/String", 0.0, {"data": "x"})
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
