"""Trials of BROAD, a public data set of IMU recordings with optical truth (Laidig et al., Data 2021)."""

from pathlib import Path

import numpy as np

from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import RecordingError
from soft_twin.files import checked_file, one_line
from soft_twin.sensing.mat_file import mat_arrays
from soft_twin.sensing.optical_trial import OpticalTrial

_FIELDS = {"imu_gyr": 3, "imu_acc": 3, "opt_quat": 4}
_OTHERS = ("movement", "sampling_rate")
_MAX_SIZE = 100_000_000  # [bytes]
_MAX_ARRAY = 100_000_000  # [bytes] of one field
FASTEST = 100_000.0  # [Hz]
MOST_RATE, MOST_FORCE = 1000.0, 10_000.0  # [rad/s], [m/s²]; sensors end at 70 and 4000


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
    movement = np.asarray(content.get("movement", np.ones(count)))
    rate = content.get("sampling_rate", np.zeros(()))
    if rate.size != 1 or not 0.0 < float(rate.ravel()[0]) <= FASTEST:
        raise RecordingError(f"{path}: sampling_rate {shortened(rate.tolist())} Hz: expected one up to {FASTEST:g} Hz")
    if not all(len(content[field]) == count for field in _FIELDS) or movement.shape != (count,):
        raise RecordingError(f"{path}: fields of unequal length: not a BROAD trial")
    quaternions = np.asarray(content["opt_quat"], dtype=float)
    if np.isfinite(quaternions).all(axis=1).sum() < 2:
        raise RecordingError(f"{path}: opt_quat has no valid rows, a trial with optical truth is needed")
    rates, forces = (np.ascontiguousarray(content[name], dtype=float) for name in ("imu_gyr", "imu_acc"))
    check_plausible(str(path), rates, forces)
    return OpticalTrial(path.stem, float(rate.ravel()[0]), rates, forces, quaternions, movement.astype(bool))


def check_plausible(where: str, angular_velocity: np.ndarray, specific_force: np.ndarray) -> None:
    """Refuse samples (n, 3), (n, 3) that no IMU gives: not finite, or beyond any sensor's range.

    Raises:
        RecordingError: with the first of them.
    """
    for what, values, most, unit in (
        ("angular velocity", angular_velocity, MOST_RATE, "rad/s"),
        ("specific force", specific_force, MOST_FORCE, "m/s²"),
    ):
        wrong = np.flatnonzero(~(np.abs(values) <= most).all(axis=1))
        if len(wrong):
            raise RecordingError(
                f"{where}: the {what} of sample {wrong[0]} is {shortened(values[wrong[0]].tolist())} {unit}: "
                f"expected numbers within ±{most:g} ({len(wrong)} samples are like this)"
            )


def _load(path: Path) -> dict[str, np.ndarray]:
    """The wanted fields that are there, all of them arrays of numbers."""
    checked_file(path, "recording", _MAX_SIZE, RecordingError)
    try:
        return mat_arrays(path.read_bytes(), (*_FIELDS, *_OTHERS), _MAX_ARRAY)
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: not readable as a .mat file: {one_line(error)}") from error
