"""Kernels of the estimators, compiled before samples come that would have to wait for them."""

import numpy as np

from soft_twin.compiling import compiled_by_one
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.sensing.gravity import GravityEstimator
from soft_twin.sensing.samples import ImuSample

PERIOD = 0.01  # [s]
UPRIGHT = np.array([0.0, 0.0, STANDARD_GRAVITY])


def warm_up(estimator: GravityEstimator) -> None:
    """Let an estimator have two samples of an IMU at rest. It takes a second or, for the first time after an
    installation, up to a minute; the estimator is not to be used afterwards."""
    with compiled_by_one("imu"):
        for count in range(2):
            estimator.update(ImuSample(count * PERIOD, np.zeros(3), UPRIGHT, 25.0))
