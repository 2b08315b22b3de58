"""Recordings of an IMU, whatever file they are in: BROAD's .mat, bags with sensor_msgs/Imu, .npz."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import RecordingError
from soft_twin.files import checked_file
from soft_twin.recording.npz import read_npz
from soft_twin.recording.reader import arrays, topic_types
from soft_twin.recording.storage import MAX_RECORDING
from soft_twin.sensing.broad import FASTEST, check_plausible, read_broad

_MAX_SIZE = 200_000_000  # [bytes] of an .npz and of its arrays
_IMU_TYPE = "sensor_msgs/msg/Imu"
_TEMPERATURE_TYPE = "sensor_msgs/msg/Temperature"


@dataclass(frozen=True)
class ImuRecording:
    """Samples of one IMU.

    Attributes:
        angular_velocity, specific_force: (n, 3) [rad/s], [m/s²].
        rate: samples per second, the median one where they come unevenly.
        time: (n,) of each sample [s], None where the steps are all 1/rate.
        temperature: (n,) of the chip [°C], None where it was not recorded.
    """

    angular_velocity: np.ndarray
    specific_force: np.ndarray
    rate: float
    time: np.ndarray | None = None
    temperature: np.ndarray | None = None

    @property
    def steps(self) -> np.ndarray:
        """(n,) time from each sample to the next [s]; to one after the last, the usual time."""
        if self.time is None:
            return np.full(len(self.angular_velocity), 1.0 / self.rate)
        return np.append(np.diff(self.time), 1.0 / self.rate)


def read_imu_recording(path: str | Path, topic: str | None = None) -> ImuRecording:
    """The recording in a file; its ending says what it is.

    Args:
        path: .mat of BROAD, .mcap, .db3 or the folder of a bag, or .npz with `gyr` (n, 3) [rad/s], `acc` (n, 3) [m/s²]
            and `rate` [Hz].
        topic: of the samples in a bag; by default the only one, or the only one that ends in data_raw.

    Raises:
        RecordingError: the file is missing, unreadable, or has no such samples; a topic of what is no bag.
    """
    path = Path(path)
    if os.path.isdir(path):
        read = _read_bag
    elif path.suffix in READERS:
        read = READERS[checked_file(path, "recording", MAX_RECORDING, RecordingError).suffix]
    else:
        raise RecordingError(f"{path}: expected a bag's folder, or a recording that ends in {', '.join(READERS)}")
    if topic is not None and read is not _read_bag:
        raise RecordingError(f"{path}: no bag, it has no topics: leave out topic {shortened(topic)}")
    recording = read(path, topic)
    check_plausible(str(path), recording.angular_velocity, recording.specific_force)
    return recording


def _read_mat(path: Path, topic: str | None) -> ImuRecording:
    trial = read_broad(path)
    return ImuRecording(trial.angular_velocity, trial.specific_force, trial.rate)


def _read_npz(path: Path, topic: str | None) -> ImuRecording:
    content = read_npz(path, ("gyr", "acc", "rate"), _MAX_SIZE)
    gyr, acc, rate = content["gyr"], content["acc"], content["rate"]
    if gyr.ndim != 2 or gyr.shape[1] != 3 or gyr.shape != acc.shape or len(gyr) < 2:
        raise RecordingError(f"{path}: gyr {gyr.shape}, acc {acc.shape}: expected (n, 3), (n, 3), at least two rows")
    if rate.size != 1 or not 0.0 < float(rate.ravel()[0]) <= FASTEST:
        raise RecordingError(f"{path}: rate {shortened(rate.tolist())}: expected one number up to {FASTEST:g} Hz")
    return ImuRecording(gyr, acc, float(rate.ravel()[0]))


def _read_bag(path: Path, topic: str | None) -> ImuRecording:
    types = topic_types(path)
    chosen = _choose_topic(path, [name for name, kind in types.items() if kind == _IMU_TYPE], topic)
    temperatures = [name for name, kind in types.items() if kind == _TEMPERATURE_TYPE and _beside(name, chosen)]
    series = arrays(path, [chosen, *temperatures])
    samples = series[chosen]
    time = 1e-9 * (samples.stamp - samples.stamp[0])
    kept = np.concatenate([[True], np.diff(np.maximum.accumulate(time)) > 0.0])
    kept &= np.isfinite(samples["angular_velocity"] + samples["linear_acceleration"]).all(axis=1)
    if kept.sum() < 2 or not np.median(np.diff(time[kept])) >= 1.0 / FASTEST:
        raise RecordingError(f"{path}: '{chosen}' has fewer than two usable samples")
    temperature = None
    if len(temperatures) == 1:
        celsius = series[temperatures[0]]
        since = 1e-9 * (celsius.stamp - samples.stamp[0])
        known = np.isfinite(celsius["temperature"]) & (np.diff(np.maximum.accumulate(since), prepend=-np.inf) > 0.0)
        temperature = np.interp(time[kept], since[known], celsius["temperature"][known]) if known.any() else None
    rate = 1.0 / float(np.median(np.diff(time[kept])))
    return ImuRecording(
        samples["angular_velocity"][kept], samples["linear_acceleration"][kept], rate, time[kept], temperature
    )


def _choose_topic(path: Path, topics: list[str], wanted: str | None) -> str:
    if not topics:
        raise RecordingError(f"{path}: there are no messages of {_IMU_TYPE} in it")
    chosen = [name for name in topics if name == wanted] if wanted else topics
    if not wanted and len(topics) > 1:
        chosen = [name for name in topics if name.endswith("data_raw")]
    if len(chosen) != 1:
        raise RecordingError(
            f"{path}: which {_IMU_TYPE}? There are: {', '.join(sorted(topics))}; name one with --topic"
        )
    return chosen[0]


def _beside(name: str, other: str) -> bool:
    """Whether two topics have one and the same namespace."""
    return name.rpartition("/")[0] == other.rpartition("/")[0]


READERS = {".mat": _read_mat, ".npz": _read_npz, ".mcap": _read_bag, ".db3": _read_bag}
