"""Pitch and roll of a plate, and the axis that they stand for.

The convention is that of the neck's paper: R = Rx(roll) Ry(pitch) Rz(yaw) turns the plate's frame into the base's. Its
third column is the plate's axis in the base frame, whatever the yaw is,

    z' = R e₃ = (sin pitch, −sin roll cos pitch, cos roll cos pitch),

and its third row is the base's z in the plate's frame, what an accelerometer on the plate sees. Equation 4 of the paper
is this *row*, though it is called z'; its azimuth β at yaw 0 is therefore about 180° from that of the axis: exactly
where pitch or roll is 0, or where the plate has not turned about its own axis, and else off by that turn, because
Rx(roll) Ry(pitch) alone is not a pure bend. The inclination α of equation 3 is the same from both.
"""

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError


def checked_pitch_roll(pitch: float, roll: float) -> tuple[float, float]:
    """Pitch and roll [rad] as floats.

    Raises:
        InputError: not finite, or no orientation of this convention, as degrees are.
    """
    pitch, roll = checked_vector([pitch, roll], 2, "pitch and roll").tolist()
    refuse_no_orientation(np.array([pitch]), np.array([roll]))
    return pitch, roll


def refuse_no_orientation(pitch: np.ndarray, roll: np.ndarray) -> None:
    """Pitches and rolls (n,) [rad] are orientations of this convention.

    Raises:
        InputError: one of them is not finite, a pitch is beyond ±π/2 or a roll beyond ±π.
    """
    bad = ~((np.abs(pitch) <= 0.5 * np.pi) & (np.abs(roll) <= np.pi))
    if bad.any():
        worst = pitch[bad][0], roll[bad][0]
        expected = "expected a pitch within ±π/2 and a roll within ±π rad"
        hint = ": are they in degrees?" if np.isfinite(worst).all() else ""
        raise InputError(f"pitch {worst[0]:g} rad, roll {worst[1]:g} rad: {expected}{hint}")


def axis_of(pitch: float, roll: float) -> np.ndarray:
    """(3,) unit axis of the plate in the base frame, of pitch and roll [rad]."""
    return np.array([np.sin(pitch), -np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch)])


def axis_at(bend: np.ndarray) -> np.ndarray:
    """(3,) unit axis of the plate at a bend (2,) θ (cos φ, sin φ) [rad]."""
    angle = np.hypot(*bend)
    return np.array([*(np.sinc(angle / np.pi) * np.asarray(bend)), np.cos(angle)])


def pitch_roll_of(axis: np.ndarray) -> tuple[float, float]:
    """Pitch in ±π/2 and roll in ±π [rad] of a plate's axis (3,) in the base frame, of any length.

    Raises:
        InputError: it is no direction.
    """
    x, y, z = checked_vector(axis, 3, "axis")
    if not np.any(axis):
        raise InputError("axis: (0, 0, 0) is no direction")
    return float(np.arctan2(x, np.hypot(y, z))), float(np.arctan2(-y, z))
