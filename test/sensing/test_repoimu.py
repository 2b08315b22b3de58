"""RepoIMU's trials: the reference is the sensor's orientation in a level world, and broken files are named."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import RecordingError
from soft_twin.sensing.repoimu import RATE, read_repoimu, repoimu_paths

COUNT = 700
HEAD = (
    "Time (s);Vicon Orientation;;;;IMU Acceleration;;;IMU Gyroscope;;;IMU Magnetometer;;;\n"
    ";W;X;Y;Z;X;Y;Z;X;Y;Z;X;Y;Z;\n"
)


def write(path, content):
    rows = "\n".join(";".join(f"{value:.10g}" for value in row) for row in content)
    path.write_text(HEAD + rows + "\n", encoding="utf-8")
    return path


@pytest.fixture
def table():
    """(n, 14) a sensor at rest whose "up" is 20° from its z axis; the reference begins as no turn at all."""
    content = np.zeros((COUNT, 14))
    content[:, 0] = np.arange(COUNT) / RATE
    content[:, 1] = 1.0
    content[:, 5:8] = 9.81 * np.array([np.sin(np.radians(20.0)), 0.0, np.cos(np.radians(20.0))])
    content[:, 8:11] = 1e-3 * np.arange(COUNT)[:, None]
    return content


def test_the_mean_force_points_up_in_the_references_world(tmp_path, table):
    trial = read_repoimu(write(tmp_path / "TStick_Test02_Trial1.csv", table))
    world = Rotation.from_quat(np.roll(trial.quaternion_wxyz, -1, axis=1)).apply(trial.specific_force)
    np.testing.assert_allclose(world, np.tile([0.0, 0.0, 9.81], (COUNT, 1)), atol=1e-6)
    np.testing.assert_allclose(trial.angular_velocity, table[:, 8:11], atol=1e-9)
    assert (trial.name, trial.rate, trial.counted.sum()) == ("TStick_Test02_Trial1", 100.0, COUNT - 500)


def test_turns_of_the_reference_are_turns_of_the_sensor(tmp_path, table):
    angle = np.radians(30.0) * np.linspace(0.0, 1.0, COUNT)
    table[:, 1], table[:, 4] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    table[:, 5:8] = [0.0, 0.0, 9.81]
    trial = read_repoimu(write(tmp_path / "TStick_Test02_Trial1.csv", table))
    orientation = Rotation.from_quat(np.roll(trial.quaternion_wxyz, -1, axis=1))
    turns = (orientation * orientation[0].inv()).magnitude()
    np.testing.assert_allclose(turns, angle, atol=1e-6)


def test_only_sound_trials_are_listed(tmp_path, table):
    for name in ("02_Trial1", "05_Trial1", "11_Trial3"):
        write(tmp_path / f"TStick_Test{name}.csv", table[:1])
    assert [path.stem for path in repoimu_paths(tmp_path)] == ["TStick_Test02_Trial1", "TStick_Test11_Trial3"]
    assert repoimu_paths(tmp_path / "none") == []


def test_what_is_no_trial_is_named(tmp_path, table):
    with pytest.raises(RecordingError, match="no trial of RepoIMU at"):
        read_repoimu(tmp_path / "none.csv")
    (tmp_path / "ragged.csv").write_text(HEAD + "1;2;3\n1;2\n", encoding="utf-8")
    with pytest.raises(RecordingError, match="not a table of RepoIMU"):
        read_repoimu(tmp_path / "ragged.csv")
    with pytest.raises(RecordingError, match="100 rows"):
        read_repoimu(write(tmp_path / "short.csv", table[:100]))
    table[600, 6] = np.nan
    with pytest.raises(RecordingError, match="all to be finite"):
        read_repoimu(write(tmp_path / "nan.csv", table))
    table[600, 6], table[:, 1] = 0.0, 0.0
    with pytest.raises(RecordingError, match="no unit quaternions"):
        read_repoimu(write(tmp_path / "static.csv", table))
