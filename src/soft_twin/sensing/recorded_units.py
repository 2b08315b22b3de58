"""Whether a recording's numbers are rad/s and m/s², as physics sees it: at rest the specific force is g long, and what
the gyroscope says turns its direction."""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.sensing.sample_check import SampleCheckParameters

WINDOW = 0.5  # [s]
STEADY = 0.02  # share of the force that it scatters by in a window at rest
CALM = 0.05  # share by which a force's length may differ from the usual one where its direction is compared
TURNED = np.radians(3.0)  # by which a force's direction must turn within a window to be compared
APART = np.radians(10.0)  # median angle between a force's direction and the gyroscope's, of another unit
MUCH_NEARER = 0.3  # times that angle is what is left of it in the right unit


def unit_doubts(angular_velocity: np.ndarray, specific_force: np.ndarray, steps: np.ndarray) -> list[str]:
    """What speaks against (n, 3) [rad/s], (n, 3) [m/s²], in words.

    Args:
        angular_velocity, specific_force: a recording, finite.
        steps: (n,) time from each sample to the next [s].
    """
    size = max(round(WINDOW / float(np.median(steps))), 2)
    count = len(steps) // size
    if count == 0:
        return []
    forces = specific_force[: count * size].reshape(count, size, 3)
    turns = (angular_velocity * steps[:, None])[: count * size].reshape(count, size, 3)
    return [*_of_force(forces), *_of_rates(forces, turns)]


def _of_force(forces: np.ndarray) -> list[str]:
    """Of windows (k, m, 3)."""
    limits = SampleCheckParameters()
    means = forces.mean(axis=1)
    lengths = np.linalg.norm(means, axis=1)
    scatter = np.sqrt(((forces - means[:, None]) ** 2).sum(axis=2).mean(axis=1))
    steady = scatter < STEADY * lengths
    if steady.any():
        where, tolerance, length = "at rest", limits.rest_force_tolerance, float(np.median(lengths[steady]))
    else:
        where, tolerance = "in the middle", limits.force_tolerance
        length = float(np.median(np.linalg.norm(forces, axis=2)))
    if abs(length - STANDARD_GRAVITY) <= tolerance:
        return []
    cause = "g instead of m/s²?" if abs(length - 1.0) < 0.1 else "another unit, or an accelerometer that is off?"
    return [f"the specific force {where} is {length:.3g} m/s², expected {STANDARD_GRAVITY:.2f}: {cause}"]


def _of_rates(forces: np.ndarray, turns: np.ndarray) -> list[str]:
    """Of windows (k, m, 3), with what each sample turns by."""
    if len(forces) < 2:
        return []
    before, after, turns = forces[:-1, 0], forces[1:, 0], turns[:-1]
    lengths = np.linalg.norm(forces[:, 0], axis=1)
    calm = np.abs(lengths / max(float(np.median(lengths)), 1e-9) - 1.0) < CALM
    turning = calm[:-1] & calm[1:] & (_angles(before, after) > TURNED)
    if not turning.any():
        return []
    before, after, turns = before[turning], after[turning], turns[turning]
    as_told, in_degrees = (float(np.median(_apart(before, after, scale * turns))) for scale in (1.0, np.radians(1.0)))
    if as_told < APART or in_degrees > MUCH_NEARER * as_told:
        return []
    return [
        f"the gyroscope turns the specific force otherwise than the accelerometer: by {np.degrees(as_told):.0f}° in "
        f"{WINDOW:g} s, and by {np.degrees(in_degrees):.1f}° were it in °/s: °/s instead of rad/s?"
    ]


def _apart(before: np.ndarray, after: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """(k,) angles between the directions (k, 3) after, and those before that turns (k, m, 3) of the sensor lead to."""
    turned = Rotation.identity(len(turns))
    for step in range(turns.shape[1]):
        turned = turned * Rotation.from_rotvec(turns[:, step])
    return _angles(turned.inv().apply(before), after)


def _angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(k,) between vectors (k, 3) [rad]."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(axis=1))
