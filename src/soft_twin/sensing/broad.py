"""Trials of BROAD, a public data set of IMU recordings with optical truth (Laidig et al., Data 2021)."""

from pathlib import Path

import numpy as np
from scipy.io import loadmat

from soft_twin.errors import RecordingError
from soft_twin.sensing.optical_trial import OpticalTrial

_FIELDS = {"imu_gyr": 3, "imu_acc": 3, "opt_quat": 4}
_MAX_SIZE = 200_000_000  # [bytes]


def read_broad(path: str | Path) -> OpticalTrial:
    """A trial from its .mat file.

    Raises:
        RecordingError: the file is missing, too large, unreadable, or not a BROAD trial.
    """
    path = Path(path)
    content = _load(path)
    for field, width in _FIELDS.items():
        shape = np.shape(content.get(field))
        if len(shape) != 2 or shape[1] != width or shape[0] < 2:
            raise RecordingError(f"{path}: field '{field}' has shape {shape}, a BROAD trial has (n, {width})")
    count = len(content["imu_gyr"])
    movement = np.asarray(content.get("movement", np.ones(count)), dtype=bool)
    rate = float(content.get("sampling_rate", 0.0))
    if rate <= 0.0 or not all(len(content[field]) == count for field in _FIELDS) or movement.shape != (count,):
        raise RecordingError(f"{path}: sampling_rate {rate:g} Hz, or fields of unequal length: not a BROAD trial")
    quaternions = np.asarray(content["opt_quat"], dtype=float)
    if np.isfinite(quaternions).all(axis=1).sum() < 2:
        raise RecordingError(f"{path}: opt_quat has no valid rows, a trial with optical truth is needed")
    return OpticalTrial(
        path.stem,
        rate,
        np.ascontiguousarray(content["imu_gyr"], dtype=float),
        np.ascontiguousarray(content["imu_acc"], dtype=float),
        quaternions,
        movement,
    )


def _load(path: Path) -> dict:
    if not path.is_file():
        raise RecordingError(f"no recording at '{path}'")
    if path.stat().st_size > _MAX_SIZE:
        raise RecordingError(f"{path}: larger than {_MAX_SIZE} bytes, not a BROAD trial")
    try:
        return loadmat(path, squeeze_me=True)
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise RecordingError(f"{path}: not readable as a .mat file: {' '.join(str(error).split())}") from error
