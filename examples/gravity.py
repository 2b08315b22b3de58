"""Where down is, from the samples of an emulated IMU on a base that turns."""

import numpy as np

from soft_twin.emulation.base_motion import InclinationProfile
from soft_twin.emulation.imu import EmulatedImu
from soft_twin.sensing.gravity import GravityEstimator

DT = 0.01  # [s]
motion = InclinationProfile([135.0, 45.0, -45.0], move_time=2.0, hold_time=1.0)
imu, estimator = EmulatedImu(seed=0), GravityEstimator(np.eye(3))  # its board is turned as the base is


def angle(a, b):
    """Between two vectors [°]."""
    return np.degrees(np.arccos(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0)))


turned, errors = 0.0, []
for time in np.arange(0.0, motion.duration, DT):
    force = motion.specific_force(time)
    estimate = estimator.update(imu.sample(time, motion.angular_velocity(time), force, 25.0, 0.0, DT))
    turned = max(turned, angle(force, motion.specific_force(0.0)))
    if time > 1.0:
        errors.append(angle(estimate.gravity_in_base, -force))
print(f"the base turned by: {turned:.1f} deg")
print(f"gravity, mean: {np.mean(errors):.4f} deg off")
print(f"gravity, at most: {np.max(errors):.4f} deg off")
