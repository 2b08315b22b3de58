"""Calibrations a person does by hand: accelerometer in six positions, mounting in two poses of the base."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError, RecordingError
from soft_twin.files import is_missing, output_file, whole_file
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.rotations import checked_rotation
from soft_twin.sensing.samples import ImuSample

FACES = ("+x", "-x", "+y", "-y", "+z", "-z")
_FACE_ANGLE = math.radians(30.0)  # by which an axis may miss the vertical to count as that face
_FULL_MODEL = 9  # positions from which angles between the axes are found as well
_MAX_SCALE_ERROR = 0.2
_MAX_OFFSET = 0.2 * STANDARD_GRAVITY


@dataclass(frozen=True)
class StillParameters:
    """What counts as held still.

    Attributes:
        duration: of the rest that is averaged [s].
        rate_std, force_std: of each axis, largest [rad/s], [m/s²].
    """

    duration: float = 1.0
    rate_std: float = math.radians(0.5)
    force_std: float = 0.15


class StillCollector:
    """The mean specific force over the last moments, if the board was held still."""

    def __init__(self, parameters: StillParameters | None = None):
        self.parameters = parameters or StillParameters()
        self._samples: list[ImuSample] = []

    def add(self, sample: ImuSample) -> None:
        """Take in a sample; old ones are forgotten, all with one that is no number, or as the clock is set back."""
        if not np.isfinite([sample.time, *sample.angular_velocity, *sample.specific_force]).all():
            self._samples = []
            return
        if self._samples and sample.time < self._samples[-1].time:
            self._samples = []
        self._samples.append(sample)
        while sample.time - self._samples[0].time > self.parameters.duration:
            self._samples.pop(0)

    def mean_force(self) -> np.ndarray:
        """(3,) [m/s²].

        Raises:
            InputError: too few samples, or the board moved.
        """
        p = self.parameters
        span = self._samples[-1].time - self._samples[0].time if self._samples else 0.0
        if span < 0.9 * p.duration:
            raise InputError(f"{span:.1f} s of samples: expected {p.duration:g} s, is the IMU running?")
        forces = np.array([sample.specific_force for sample in self._samples])
        rates = np.array([sample.angular_velocity for sample in self._samples])
        if not (forces.std(axis=0).max() < p.force_std and rates.std(axis=0).max() < p.rate_std):
            raise InputError(f"the board moved in the last {p.duration:g} s: hold it still and try again")
        return forces.mean(axis=0)


def face_up(force: np.ndarray) -> str:
    """Which of the board's axes points up at a resting specific force (3,): "+x", "-x", …

    Raises:
        InputError: no axis is within 30° of the vertical.
    """
    if not _shows_face(force):
        raise InputError(f"specific force {np.round(force, 2).tolist()} m/s²: put one of the board's axes upright")
    k = int(np.argmax(np.abs(force)))
    return f"{'+' if force[k] > 0.0 else '-'}{'xyz'[k]}"


@dataclass(frozen=True)
class AccelerometerFit:
    """Result of calibrate_accelerometer: matrix A (3, 3) and offset o (3,) of A (f − o), and the rms of ‖A (f − o)‖ − g
    over the positions [m/s²]."""

    matrix: np.ndarray
    offset: np.ndarray
    residual: float


def calibrate_accelerometer(forces: np.ndarray) -> AccelerometerFit:
    """Offsets and scales, from nine positions on also the angles between the axes, by ‖A (f − o)‖ = g at rest.

    The positions need not be exact: each of the six faces up once, within 30°, is enough. Further ones may have any
    attitude. What an angle between axes i and j changes goes with f_i f_j: best seen with the edge between both up.

    Args:
        forces: (n, 3) mean specific force in n >= 6 positions at rest [m/s²].

    Raises:
        InputError: not (n, 3) finite numbers, a face is missing, or the answer is no plausible accelerometer.
    """
    forces = np.asarray(forces, dtype=float)
    if forces.ndim != 2 or forces.shape[1] != 3 or not np.isfinite(forces).all():
        raise InputError(f"accelerometer calibration by forces of shape {forces.shape}: expected (n, 3) finite numbers")
    taken = {face_up(force) for force in forces if _shows_face(force)}
    missing = [face for face in FACES if face not in taken]
    if missing:
        raise InputError(f"accelerometer calibration lacks the positions with {', '.join(missing)} up")
    full = len(forces) >= _FULL_MODEL
    start = np.concatenate([np.ones(3), np.zeros(6 if full else 3)])
    from scipy.optimize import least_squares  # loaded when something is calibrated: a second at a node's start

    answer = least_squares(lambda x: _norms(forces, x) - STANDARD_GRAVITY, start, method="lm", xtol=1e-14, ftol=1e-14)
    matrix, offset = _unpack(answer.x)
    if np.abs(answer.x[:3] - 1.0).max() > _MAX_SCALE_ERROR or np.abs(offset).max() > _MAX_OFFSET:
        length = float(np.median(np.linalg.norm(forces, axis=1)))
        in_g = abs(length - 1.0) < _MAX_SCALE_ERROR
        cause = f"forces are {length:.3g} long, expected 9.8 m/s²: g instead of m/s²?"
        raise InputError(
            f"scales {np.round(answer.x[:3], 3).tolist()}, offsets {np.round(offset, 2).tolist()} m/s²: "
            f"not plausible, {cause if in_g else 'were all positions held still?'}"
        )
    return AccelerometerFit(matrix, offset, float(np.sqrt(np.mean(answer.fun**2))))


def calibrate_mounting(forces: Sequence[np.ndarray], ups_in_base: Sequence[np.ndarray]) -> np.ndarray:
    """(3, 3) rotation board → base_link from resting poses of the base whose "up" is known.

    Args:
        forces: (n, 3) mean specific force in each pose, in the board's frame.
        ups_in_base: (n, 3) "up" in base_link in the same poses.

    Raises:
        InputError: fewer than two poses, poses with one and the same "up", or readings that do not fit them.
    """
    measured, known = (_directions(vectors) for vectors in (forces, ups_in_base))
    if len(measured) < 2 or np.linalg.matrix_rank(known, tol=0.1) < 2:
        raise InputError("mounting calibration needs two poses that are turned against each other")
    from scipy.spatial.transform import Rotation

    rotation, _ = Rotation.align_vectors(known, measured)
    miss = np.degrees(np.max(np.linalg.norm(rotation.apply(measured) - known, axis=1)))
    if miss > 10.0:
        raise InputError(f"the poses contradict each other by {miss:.0f}°: was the base held as asked?")
    return rotation.as_matrix()


@dataclass(frozen=True)
class StoredCalibration:
    """What a calibration file holds: the IMU's corrections, and its mounting if that was calibrated."""

    imu: ImuCalibration = ImuCalibration()
    mounting: np.ndarray | None = None


def calibration_beside(recording: str | Path) -> Path:
    """Where a run puts the calibration of the IMU that it was recorded with: RUN.imu.yaml beside RUN.mcap."""
    return Path(recording).with_suffix(".imu.yaml")


def read_calibration(path: str | Path) -> StoredCalibration:
    """A calibration from its YAML file.

    Raises:
        RecordingError: there is no such file.
        DescriptionError: it is malformed.
        InputError: its mounting is not a rotation.
    """
    # Imported here: pydantic takes longer to import than the rest of the estimator.
    from soft_twin.descriptions.imu_calibration import ImuCalibrationFile
    from soft_twin.descriptions.load import read_part

    content = read_part(Path(path), ImuCalibrationFile, "IMU calibration", RecordingError)
    known = content.model_dump(exclude_none=True, exclude={"mounting"})
    if content.accelerometer_matrix is not None:
        known["accelerometer_matrix"] = _rows(content.accelerometer_matrix)
    mounting = None
    if content.mounting is not None:
        mounting = checked_rotation(np.reshape(content.mounting, (3, 3)))
    return StoredCalibration(ImuCalibration(**known), mounting)


def write_calibration(path: str | Path, calibration: StoredCalibration) -> None:
    """Write a calibration as YAML, matrices row by row.

    Raises:
        RecordingError: the file cannot be written.
    """
    imu = calibration.imu
    content = {
        "accelerometer_matrix": np.ravel(imu.accelerometer_matrix).tolist(),
        "accelerometer_offset": np.asarray(imu.accelerometer_offset, dtype=float).tolist(),
        "gyroscope_bias": np.asarray(imu.gyroscope_bias, dtype=float).tolist(),
        "gyroscope_bias_per_kelvin": np.asarray(imu.gyroscope_bias_per_kelvin, dtype=float).tolist(),
        "reference_temperature": float(imu.reference_temperature),
    }
    if calibration.mounting is not None:
        content["mounting"] = calibration.mounting.ravel().tolist()
    text = "# IMU calibration, SI units, °C; f = A (f_measured - offset), mounting: board to base_link\n"
    try:
        with whole_file(Path(path)) as partial:
            partial.write_text(text + yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"IMU calibration cannot be written to '{path}': {error.strerror}") from error


class CalibrationDesk:
    """Calibrations done pose by pose, as a person at the robot does them; results go into a file.

    Attributes:
        stored: what is calibrated so far; a new object after each calibration that was completed.

    Args:
        path: of the calibration file, which need not be there yet.

    Raises:
        DescriptionError, InputError: the file is malformed.
    """

    def __init__(self, path: str | Path):
        self._path = Path(path)
        self.stored = StoredCalibration() if is_missing(path) else read_calibration(path)
        self._still = StillCollector()
        self._positions: dict[str, np.ndarray] = {}
        self._poses: list[np.ndarray] = []

    def add(self, sample: ImuSample) -> None:
        """Take in a sample of the board, as it came."""
        self._still.add(sample)

    def take_position(self) -> str:
        """The present position of the accelerometer's six; what to do next, in words.

        Raises:
            InputError: the board moves, is on an edge, or the six positions make no sense (they start over).
            UsageError: the file cannot be written there; nothing is taken.
            RecordingError: it cannot be written any more.
        """
        output_file(self._path, "IMU calibration")
        force = self._still.mean_force()
        self._positions[face_up(force)] = force
        missing = [face for face in FACES if face not in self._positions]
        if missing:
            return f"{face_up(force)} up taken; still to come: {', '.join(missing)}"
        forces, self._positions = np.array(list(self._positions.values())), {}
        fit = calibrate_accelerometer(forces)
        matrix = _rows(fit.matrix.ravel())
        self._store(
            replace(
                self.stored,
                imu=replace(
                    self.stored.imu, accelerometer_matrix=matrix, accelerometer_offset=tuple(fit.offset.tolist())
                ),
            )
        )
        return f"accelerometer calibrated: offset {np.round(fit.offset, 3).tolist()} m/s², written to {self._path}"

    def take_pose(self) -> str:
        """The present pose of the mounting's two: base +z up, then base +x up; what to do next, in words.

        Raises:
            InputError: the base moves, or the poses contradict each other (they start over).
            UsageError, RecordingError: as take_position.
        """
        output_file(self._path, "IMU calibration")
        self._poses.append(self._still.mean_force())
        if len(self._poses) < len(_POSES):
            return "base +z up taken; now turn the base until its +x axis points up, hold it still, and call again"
        poses, self._poses = np.array(self._poses), []
        imu = self.stored.imu
        forces = (poses - imu.accelerometer_offset) @ np.transpose(imu.accelerometer_matrix)
        self._store(replace(self.stored, mounting=calibrate_mounting(forces, _POSES)))
        return f"mounting calibrated, written to {self._path}"

    def _store(self, calibration: StoredCalibration) -> None:
        write_calibration(self._path, calibration)
        self.stored = calibration


_POSES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # "up" in base_link


def _shows_face(force: np.ndarray) -> bool:
    return bool(np.abs(force).max() > math.cos(_FACE_ANGLE) * np.linalg.norm(force))


def _norms(forces: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    matrix, offset = _unpack(parameters)
    return np.linalg.norm((forces - offset) @ matrix.T, axis=1)


def _unpack(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A: scales on the diagonal, angles below it (x stays x); offset."""
    matrix = np.diag(parameters[:3])
    if len(parameters) > 6:
        matrix[[1, 2, 2], [0, 0, 1]] = parameters[6:]
    return matrix, parameters[3:6]


def _directions(vectors: Sequence[np.ndarray]) -> np.ndarray:
    array = np.asarray(vectors, dtype=float)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def _rows(values: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in np.reshape(values, (3, 3)))
