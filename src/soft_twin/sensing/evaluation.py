"""How wrong an orientation is, split as BROAD does (its PROVENANCE, and Laidig et al., Data 2021)."""

import numpy as np

from soft_twin.sensing.optical_trial import OpticalTrial
from soft_twin.sensing.orientation import OrientationFilter


def inclination_errors(estimated: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(n,) angle between estimated and true "up" [rad], of quaternions (n, 4) w, x, y, z sensor → world.

    With q_e = q_est ⊗ conj(q_true) it is 2 acos √(w² + z²): what is left when the heading is free.
    """
    w, x, y, z = _error(estimated, truth)
    return 2.0 * np.arctan2(np.hypot(x, y), np.hypot(w, z))


def heading_errors(estimated: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(n,) turn about "up" between truth and estimate, −π…π [rad], of quaternions (n, 4) w, x, y, z."""
    w, _, _, z = _error(estimated, truth)
    angle = 2.0 * np.arctan2(z, w)
    return np.arctan2(np.sin(angle), np.cos(angle))


def rms(errors: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def inclination_rmse(orientation: OrientationFilter, trial: OpticalTrial) -> float:
    """A fresh filter's inclination error over the part of a trial that counts, root mean square [rad]."""
    track = orientation.update_batch(trial.angular_velocity, trial.specific_force, trial.rate)
    return rms(inclination_errors(track.quaternion_wxyz[trial.counted], trial.quaternion_wxyz[trial.counted]))


def _error(estimated: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, ...]:
    """The four parts of q_est ⊗ conj(q_true)."""
    aw, ax, ay, az = np.asarray(estimated).T
    bw, bx, by, bz = np.asarray(truth).T
    return (
        aw * bw + ax * bx + ay * by + az * bz,
        -aw * bx + ax * bw - ay * bz + az * by,
        -aw * by + ax * bz + ay * bw - az * bx,
        -aw * bz - ax * by + ay * bx + az * bw,
    )
