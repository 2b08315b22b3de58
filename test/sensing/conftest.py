"""Motions and chips that the tests of sensing share."""

import numpy as np
import pytest

from soft_twin.emulation.imu import EmulatedImu
from soft_twin.sensing.samples import ImuSample

DT = 0.01
GRAVITY = 9.81


@pytest.fixture
def still_samples():
    """Function (duration, tilt about x [rad], start, seed) → samples of a chip at rest, with noise and nothing else."""

    def make(duration, tilt=0.0, start=0.0, seed=0):
        rng = np.random.default_rng(seed)
        up = GRAVITY * np.array([0.0, np.sin(tilt), np.cos(tilt)])
        return [
            ImuSample(start + DT * i, 2e-3 * rng.standard_normal(3), up + 0.02 * rng.standard_normal(3), 30.0)
            for i in range(round(duration / DT))
        ]

    return make


@pytest.fixture
def emulated_samples():
    """Function (motion, duration, seed, ambient) → samples of an emulated BMI088 without heating on a BaseMotion."""

    def make(motion, duration, seed=0, ambient=25.0):
        imu = EmulatedImu(seed=seed)
        return [
            imu.sample(t, motion.angular_velocity(t), motion.specific_force(t), ambient, 0.0, DT)
            for t in DT * np.arange(round(duration / DT))
        ]

    return make
