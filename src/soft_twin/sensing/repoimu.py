"""Trials of RepoIMU's T-stick: another chip (Xsens MTi-G, 100 Hz) against Vicon (Szczęsna et al., ICCVG 2016).

The published reference is the stick's orientation from its pose at the start, not the sensor's in a level world. Two
constant rotations, found without any orientation filter, put that right. The sensor in the stick: the one that makes
the turns over 2 s by the gyroscope those of the reference, the median over the trials. The world: the one that makes
the mean specific force of a trial point up.
"""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.errors import RecordingError
from soft_twin.files import checked_file, one_line
from soft_twin.sensing.optical_trial import OpticalTrial

SOUND = (
    *("02_Trial1", "02_Trial2", "03_Trial3", "04_Trial1", "04_Trial2", "04_Trial3", "06_Trial2", "07_Trial1"),
    *("07_Trial2", "07_Trial3", "08_Trial1", "08_Trial2", "08_Trial3", "09_Trial1", "09_Trial2", "09_Trial3"),
    *("11_Trial1", "11_Trial2", "11_Trial3"),
)
"""The trials in which reference and gyroscope, with its best matrix, differ by less than 1° over 2 s.

In the others (1.4° to 50°) the reference jumps or the gyroscope is at its range.
"""

RATE = 100.0  # [Hz]
_SENSOR_TO_STICK = Rotation.from_rotvec(np.radians([2.68, -0.15, -0.55]))
_SETTLING = 5.0  # [s] at the start that do not count
_COLUMNS = 14  # time, quaternion w x y z, acceleration, angular rate, magnetic field
_MAX_SIZE = 50_000_000  # [bytes]


def repoimu_paths(folder: Path) -> list[Path]:
    """The sound trials that are in the folder."""
    paths = [folder / f"TStick_Test{name}.csv" for name in SOUND]
    return [path for path in paths if path.is_file()]


def read_repoimu(path: str | Path) -> OpticalTrial:
    """A trial from its .csv file.

    Raises:
        RecordingError: the file is missing, too large, unreadable, or not a trial of the T-stick.
    """
    path = Path(path)
    content = _load(path)
    stick = Rotation.from_quat(np.roll(content[:, 1:5], -1, axis=1))
    sensor = stick * _SENSOR_TO_STICK
    specific_force = np.ascontiguousarray(content[:, 5:8])
    levelled = _to_vertical(sensor.apply(specific_force).mean(axis=0)) * sensor
    return OpticalTrial(
        path.stem,
        RATE,
        np.ascontiguousarray(content[:, 8:11]),
        specific_force,
        np.roll(levelled.as_quat(), 1, axis=1),
        np.arange(len(content)) >= _SETTLING * RATE,
    )


def _to_vertical(force: np.ndarray) -> Rotation:
    """The shortest turn that makes the force (3,) point up."""
    up = force / np.linalg.norm(force)
    axis = np.cross(up, [0.0, 0.0, 1.0])
    sine = np.linalg.norm(axis)
    return Rotation.from_rotvec(axis / sine * np.arctan2(sine, up[2]) if sine > 0.0 else axis)


def _load(path: Path) -> np.ndarray:
    """(n, 14) the file's numbers, all finite, with a reference in every row."""
    checked_file(path, "trial of RepoIMU", _MAX_SIZE, RecordingError)
    try:
        content = np.loadtxt(path, delimiter=";", skiprows=2, usecols=range(_COLUMNS), ndmin=2)
    except (ValueError, OverflowError, IndexError) as error:  # the last by an old numpy, of a short row
        raise RecordingError(f"{path}: not a table of RepoIMU: {one_line(error)}") from error
    if len(content) <= _SETTLING * RATE or not np.isfinite(content).all():
        raise RecordingError(f"{path}: {len(content)} rows, all to be finite and more than {_SETTLING:g} s of them")
    if np.abs(np.linalg.norm(content[:, 1:5], axis=1) - 1.0).max() > 0.01:
        raise RecordingError(f"{path}: orientations that are no unit quaternions, a trial with optical truth is needed")
    return content
