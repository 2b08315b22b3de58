"""Recordings of an IMU from every kind of file, and `soft-twin estimate` over them."""

import os
from pathlib import Path

import numpy as np
import pytest
import synthetic
from scipy.spatial.transform import Rotation

from soft_twin.app.cli import main
from soft_twin.errors import RecordingError
from soft_twin.recording.imu import read_imu_recording
from soft_twin.sensing.ekf import OrientationEkf

TRIAL = (
    Path(os.environ.get("SOFT_TWIN_DATA", Path(__file__).parents[3] / "shared" / "data"))
    / "broad"
    / "01_undisturbed_slow_rotation_A.mat"
)
N, RATE = 500, 100.0


@pytest.fixture
def still():
    """Rates and forces of a board at rest, tilted by 30° about x."""
    rng = np.random.default_rng(1)
    up = 9.81 * np.array([0.0, np.sin(np.radians(30.0)), np.cos(np.radians(30.0))])
    return 1e-3 * rng.standard_normal((N, 3)), up + 0.01 * rng.standard_normal((N, 3))


@pytest.fixture
def npz(tmp_path, still):
    path = tmp_path / "run.npz"
    np.savez(path, gyr=still[0], acc=still[1], rate=RATE)
    return path


def test_npz_is_read_as_it_was_written(npz, still):
    recording = read_imu_recording(npz)
    np.testing.assert_array_equal(recording.angular_velocity, still[0])
    np.testing.assert_array_equal(recording.specific_force, still[1])
    assert recording.rate == RATE


@pytest.mark.parametrize("estimator", ["ekf", "vqf"])
def test_estimate_writes_what_the_filter_says(npz, tmp_path, capsys, estimator):
    if estimator == "vqf":
        pytest.importorskip("vqf")
    out = tmp_path / "answer.npz"
    assert main(["estimate", str(npz), "--estimator", estimator, "--out", str(out)]) == 0
    assert "500 samples, 5.0 s at 100.0 Hz" in capsys.readouterr().out
    answer = np.load(out)
    assert {name: answer[name].shape for name in answer} == {"quat": (N, 4), "bias": (N, 3), "std": (N, 3)}
    up = Rotation.from_quat(np.roll(answer["quat"][-1], -1)).inv().apply([0.0, 0.0, 1.0])
    assert np.degrees(np.arctan2(up[1], up[2])) == pytest.approx(30.0, abs=0.3)


@pytest.mark.skipif(not TRIAL.is_file(), reason=f"no BROAD recording at {TRIAL}")
def test_estimate_on_a_real_recording_is_the_filter_of_the_nodes(tmp_path):
    out = tmp_path / "answer.npz"
    assert main(["estimate", str(TRIAL), "--out", str(out)]) == 0
    recording = read_imu_recording(TRIAL)
    track = OrientationEkf().update_batch(recording.angular_velocity, recording.specific_force, recording.rate)
    np.testing.assert_array_equal(np.load(out)["quat"], track.quaternion_wxyz)


def test_missing_and_broken_recordings_are_named(tmp_path, still):
    with pytest.raises(RecordingError, match="no recording at"):
        read_imu_recording(tmp_path / "none.npz")
    with pytest.raises(RecordingError, match="ends in .mat, .npz, .mcap"):
        read_imu_recording(tmp_path / "run.csv")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(RecordingError, match="not readable"):
        read_imu_recording(tmp_path / "bad.npz")
    np.savez(tmp_path / "part.npz", gyr=still[0])
    with pytest.raises(RecordingError, match="no array 'acc': expected the arrays gyr, acc, rate"):
        read_imu_recording(tmp_path / "part.npz")
    np.savez(tmp_path / "odd.npz", gyr=still[0], acc=still[1][1:], rate=RATE)
    with pytest.raises(RecordingError, match=r"expected \(n, 3\)"):
        read_imu_recording(tmp_path / "odd.npz")


def test_a_topic_of_what_is_no_bag_is_refused(npz):
    with pytest.raises(RecordingError, match="no bag, it has no topics: leave out topic '/imu/data_raw'"):
        read_imu_recording(npz, "/imu/data_raw")


def test_estimate_says_what_is_wrong_in_one_line(npz, tmp_path, capsys):
    assert main(["estimate", str(npz), "--out", str(tmp_path / "answer.txt")]) == 2
    assert main(["estimate", str(npz), "--out", str(tmp_path / "no" / "answer.npz")]) == 2
    assert main(["estimate", str(tmp_path / "none.mcap"), "--out", str(tmp_path / "a.npz")]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 3
    assert "ends in .npz" in errors[0]
    assert "cannot be written" in errors[1]
    assert "no recording at" in errors[2]


@pytest.fixture
def mcap(tmp_path, still):
    """A recording of two topics of samples, with a stamp that goes back, a NaN and a temperature."""
    path = tmp_path / "run.mcap"
    recorder = synthetic.Recorder(path)
    for i in range(N):
        rates, force = (dict(zip("xyz", map(float, values[i]), strict=True)) for values in still)
        if i == 100:
            force["x"] = float("nan")
        content = {"angular_velocity": rates, "linear_acceleration": force}
        recorder.add("imu/data_raw", "sensor_msgs/msg/Imu", (i if i != 200 else 150) / RATE, content)
        recorder.add("imu/data", "sensor_msgs/msg/Imu", i / RATE, content)
        recorder.add("imu/temperature", "sensor_msgs/msg/Temperature", i / RATE, {"temperature": 20.0 + 0.01 * i})
    recorder.writer.close()
    return path


def test_mcap_gives_the_raw_samples_that_can_be_used_with_their_temperature(mcap, still):
    recording = read_imu_recording(mcap)
    kept = np.delete(np.arange(N), [100, 200])
    np.testing.assert_allclose(recording.angular_velocity, still[0][kept])
    np.testing.assert_allclose(recording.time, kept / RATE, atol=1e-6)
    np.testing.assert_allclose(recording.temperature, 20.0 + 0.01 * kept, atol=1e-6)
    assert recording.rate == pytest.approx(RATE, rel=1e-4)


def test_temperatures_whose_stamps_go_back_do_not_count(tmp_path, still):
    recorder = synthetic.Recorder(tmp_path / "run.mcap")
    for i in range(N):
        rates, force = (dict(zip("xyz", map(float, values[i]), strict=True)) for values in still)
        content = {"angular_velocity": rates, "linear_acceleration": force}
        recorder.add("imu/data_raw", "sensor_msgs/msg/Imu", i / RATE, content)
        back = 40 if 50 <= i < 60 else 0
        stamp, celsius = (i - back) / RATE, 90.0 if back else 20.0 + 0.01 * i
        recorder.add("imu/temperature", "sensor_msgs/msg/Temperature", stamp, {"temperature": celsius}, back / RATE)
    recorder.close()
    found = read_imu_recording(tmp_path / "run.mcap").temperature
    np.testing.assert_allclose(found, 20.0 + 0.01 * np.arange(N), atol=1e-6)


def test_estimate_reads_an_mcap(mcap, tmp_path):
    out = tmp_path / "answer.npz"
    assert main(["estimate", str(mcap), "--out", str(out)]) == 0
    assert np.load(out)["quat"].shape == (N - 2, 4)


def test_estimate_says_how_long_a_recording_with_a_pause_lasts(tmp_path, still, capsys):
    recorder = synthetic.Recorder(tmp_path / "run.mcap")
    for i in range(N):
        rates, force = (dict(zip("xyz", map(float, values[i]), strict=True)) for values in still)
        stamp = i / RATE + (30.0 if i >= N // 2 else 0.0)
        content = {"angular_velocity": rates, "linear_acceleration": force}
        recorder.add("imu/data_raw", "sensor_msgs/msg/Imu", stamp, content)
    recorder.close()
    assert main(["estimate", str(tmp_path / "run.mcap"), "--out", str(tmp_path / "answer.npz")]) == 0
    assert f"{N} samples, 35.0 s at 100.0 Hz" in capsys.readouterr().out


def test_a_recording_without_samples_is_not_asked_for_their_topic(tmp_path):
    recorder = synthetic.Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    recorder.close()
    with pytest.raises(RecordingError, match=r"run\.mcap: there are no messages of sensor_msgs/msg/Imu in it$"):
        read_imu_recording(tmp_path / "run.mcap")


def test_topics_that_are_not_there_are_listed(mcap):
    with pytest.raises(RecordingError, match="There are: /slender/imu/data, /slender/imu/data_raw"):
        read_imu_recording(mcap, "/slender/imu")
