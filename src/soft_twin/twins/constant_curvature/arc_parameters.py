"""The neck's paper's own angles (Lipa et al. 2025, equations 1 to 5), for who compares with it.

α: inclination, β: orientation of the bending plane, γ: angle of a cable over the section, σ: angle of a winch. β is
the azimuth of what equation 4 gives, which is the base's z in the plate's frame (`plate_orientation.py`), and γ is
counted against it: a cable at the azimuth ψ of `ConstantCurvature` has γ = −ψ, and a bend θ (cos φ, sin φ) is α = θ and
β = φ in equations 1 and 2. All take numbers or arrays.
"""

import numpy as np

STRAIGHT = 1e-4  # [rad] below which an arc's place is its series: its relative error is α²/12


def z_in_plate(pitch: np.ndarray, roll: np.ndarray, yaw: np.ndarray = 0.0) -> np.ndarray:
    """(…, 3) equation 4: the base's z in the frame of a plate that Rx(roll) Ry(pitch) Rz(yaw) turns [rad]."""
    pitch, roll, yaw = np.broadcast_arrays(pitch, roll, yaw)
    x, y = -np.cos(roll) * np.sin(pitch), np.sin(roll)
    return np.stack(
        [x * np.cos(yaw) + y * np.sin(yaw), y * np.cos(yaw) - x * np.sin(yaw), np.cos(roll) * np.cos(pitch)], axis=-1
    )


def inclination_and_orientation(
    pitch: np.ndarray, roll: np.ndarray, yaw: np.ndarray = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Equations 3 and 4: α and β [rad]; at yaw 0 β is about 180° from the azimuth of the plate's axis."""
    x, y, z = np.moveaxis(z_in_plate(pitch, roll, yaw), -1, 0)
    return np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)


def place(alpha: np.ndarray, beta: np.ndarray, length: float) -> np.ndarray:
    """(…, 3) equation 1: the end of an arc of that length [m], also where it is straight."""
    alpha, beta = np.broadcast_arrays(np.asarray(alpha, dtype=float), beta)
    straight = np.abs(alpha) < STRAIGHT
    radius = length / np.where(straight, 1.0, alpha)
    out = np.where(straight, 0.5 * length * alpha, radius * (1.0 - np.cos(alpha)))
    up = np.where(straight, length, radius * np.sin(alpha))
    return np.stack([out * np.cos(beta), out * np.sin(beta), up], axis=-1)


def cable_displacements(alpha: np.ndarray, beta: np.ndarray, distance: float, gammas: np.ndarray) -> np.ndarray:
    """(…, c) equation 2: what cables at that distance from the axis [m] and at angles γ (c,) are pulled in [m]."""
    alpha, beta = (np.asarray(each, dtype=float)[..., None] for each in (alpha, beta))
    return distance * alpha * np.cos(beta + np.asarray(gammas))


def winch_angles(displacements: np.ndarray, radius: float) -> np.ndarray:
    """Equation 5: angles σ [rad] of winches of that radius [m]."""
    return np.asarray(displacements) / radius
