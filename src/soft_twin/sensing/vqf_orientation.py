"""Orientation by VQF (Laidig & Seel, Information Fusion 2023; package `vqf`), behind the same face as the EKF."""

import math

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.sensing.ekf import checked_recording
from soft_twin.sensing.orientation import OrientationFilter, OrientationTrack
from soft_twin.sensing.samples import ImuSample

try:
    from vqf import VQF
except ImportError:  # an optional dependency
    VQF = None

_TILT_STD = math.radians(1.0)  # VQF gives none; its rms on BROAD's eleven trials is 0.8 deg
_SAMPLES_FOR_RATE = 20


class VqfOrientation(OrientationFilter):
    """VQF with its defaults, without magnetometer.

    VQF wants equal steps: the step is the median of the first twenty, during which there is no answer.

    Raises:
        UsageError: the package `vqf` is not installed.
    """

    covariance_is_learnt = False

    def __init__(self) -> None:
        require_vqf()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._filter = None
        self._first: list[ImuSample] = []
        self._heading_std = 0.0
        self._time = math.nan

    def update(self, sample: ImuSample) -> None:
        if self._filter is None:
            self._first.append(sample)
            if len(self._first) > _SAMPLES_FOR_RATE:
                self._start()
            return
        self._filter.update(*_contiguous(sample))
        dt = sample.time - self._time
        self._time = sample.time
        if not self._filter.getRestDetected():
            self._heading_std += dt * self._filter.getBiasEstimate()[1]

    def update_batch(
        self,
        angular_velocity: np.ndarray,
        specific_force: np.ndarray,
        rate: float,
        temperature: np.ndarray | None = None,
        time: np.ndarray | None = None,
    ) -> OrientationTrack:
        """VQF's own C++ batch, from its beginning, with equal steps and without temperature."""
        gyr, acc = checked_recording(angular_velocity, specific_force, rate)
        answer = VQF(1.0 / rate).updateBatch(gyr, acc)
        heading_std = np.cumsum(np.where(answer["restDetected"], 0.0, answer["biasSigma"])) / rate
        tilt_std = np.full(len(gyr), _TILT_STD)
        return OrientationTrack(
            answer["quat6D"], answer["bias"], np.column_stack([tilt_std, tilt_std, heading_std]), np.empty(0)
        )

    def relevel(self, turn_std: float) -> None:
        if self._filter is not None:
            bias, sigma = self._filter.getBiasEstimate()
            self._filter.resetState()
            self._filter.setBiasEstimate(bias, sigma)
        self._heading_std += turn_std

    def disturb(self, angle: float, forget_velocity: bool) -> None:
        self._heading_std += angle

    def warm(self, change: float) -> None:
        """VQF's own bias walk has to do."""

    @property
    def quaternion_wxyz(self) -> np.ndarray:
        return np.full(4, np.nan) if self._filter is None else self._filter.getQuat6D()

    @property
    def gyroscope_bias(self) -> np.ndarray:
        return np.full(3, np.nan) if self._filter is None else self._filter.getBiasEstimate()[0]

    @property
    def covariance(self) -> np.ndarray:
        return np.diag([_TILT_STD**2, _TILT_STD**2, self._heading_std**2])

    @property
    def consistency(self) -> float:
        return math.nan

    def _start(self) -> None:
        times = [sample.time for sample in self._first]
        self._filter = VQF(float(np.median(np.diff(times))))
        for sample in self._first:
            self._filter.update(*_contiguous(sample))
        self._time = times[-1]
        self._first = []


def require_vqf() -> None:
    """Raises UsageError, with what to install, where the package is missing."""
    if VQF is None:
        raise UsageError("estimator 'vqf' needs the Python package vqf: pip install vqf, or choose 'ekf'")


def _contiguous(sample: ImuSample) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.ascontiguousarray(sample.angular_velocity, dtype=float),
        np.ascontiguousarray(sample.specific_force, dtype=float),
    )
