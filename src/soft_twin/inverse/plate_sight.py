"""What two gravities, one in the base and one on the plate, say of how the plate stands to the base.

A plate stands at the bend b = θ (cos φ, sin φ), turned about its own axis by the twist ψ: its rotation is R(b) Rz(ψ).
Gravity g in base_link and p in the plate's frame obey R(b) Rz(ψ) p = g. That is two equations for three angles, so that
the twist has to be known: a weight beside the axis of a bent body twists it, and where gravity tells a turn with a sine
of 0.5, a twist that nobody knows of tilts what is seen by twice as much. Turned about g the plate sees the same: of the
two components of b that gravity cannot tell is the one about its own direction, all of it where the base lies on its
side.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.plate_orientation import pitch_roll_of

BLIND = 0.2  # sine of the angle between gravity and an axis of turning below which that turn is not seen
MOST_STEPS, ENOUGH = 30, 1e-10  # and the step [rad] at which they end
SMALL = 1e-3  # angle [rad] below which series stand for quotients: exact to 1e-14


@dataclass(frozen=True)
class Sight:
    """How the plate stands, as far as it is seen.

    Attributes:
        bend: (2,) θ (cos φ, sin φ) [rad]; what is not seen of it is what was expected.
        unseen: (2,) unit direction of the bend that gravity does not tell; None: all is seen.
        mismatch: angle [rad] between what the IMUs say and any such bend: they disagree, or the plate is twisted
            otherwise.
        spread: (2, 2) covariance of the bend where gravities err by a radian: more along what they hardly tell.
    """

    bend: np.ndarray
    unseen: np.ndarray | None
    mismatch: float
    spread: np.ndarray = field(default_factory=lambda: np.eye(2))

    @property
    def orientation(self) -> tuple[float, float]:
        """Pitch and roll [rad]."""
        return pitch_roll_of(rotation_of(self.bend)[:, 2])


def look(gravity_in_base: np.ndarray, gravity_in_plate: np.ndarray, expected: np.ndarray, twist: float = 0.0) -> Sight:
    """The bend nearest to the `expected` (2,) [rad] that explains both gravities (3,), of any length.

    `twist` [rad] is the plate's turn about its own axis.

    Raises:
        InputError: a gravity of a wrong size, not finite or zero, or a twist that is not finite.
    """
    base, plate = (_unit(each, name) for each, name in ((gravity_in_base, "base"), (gravity_in_plate, "plate")))
    sine, cosine = (turn(float(checked_vector([twist], 1, "twist")[0])) for turn in (math.sin, math.cos))
    plate = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]]) @ plate
    bend, unseen = np.array(expected, dtype=float), None
    for _ in range(MOST_STEPS):
        turned, slopes = _turned(bend, plate)
        left, sizes, right = np.linalg.svd(slopes, full_matrices=False)
        seen = sizes > BLIND
        unseen = None if seen.all() else right[~seen][0]
        step = right[seen].T @ ((left[:, seen].T @ (base - turned)) / sizes[seen])
        bend += step
        if np.abs(step).max() < ENOUGH:
            break
    off = base - _turned(bend, plate)[0]
    spread = (right.T / np.maximum(sizes, BLIND) ** 2) @ right
    return Sight(bend, unseen, float(2.0 * np.arcsin(min(1.0, 0.5 * np.linalg.norm(off)))), spread)


def rotation_of(bend: np.ndarray) -> np.ndarray:
    """(3, 3) of a plate at a bend (2,) [rad] that is not twisted."""
    x, y = map(float, bend)
    along, square, *_ = _coefficients(x, y)
    return np.array(
        [
            [1.0 - square * x * x, -square * x * y, along * x],
            [-square * x * y, 1.0 - square * y * y, along * y],
            [-along * x, -along * y, 1.0 - square * (x * x + y * y)],
        ]
    )


def twist_of(rotation: np.ndarray) -> float:
    """Turn [rad] about its own axis of a plate that is rotated by (3, 3)."""
    turned = rotation_of(np.array(bend_of(*pitch_roll_of(rotation[:, 2])))).T @ rotation
    return float(np.arctan2(turned[1, 0], turned[0, 0]))


def _turned(bend: np.ndarray, plate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(3,) R(b) p by Rodrigues' formula about (−b_y, b_x, 0), and (3, 2) its slopes by b."""
    (x, y), (px, py, pz) = bend.tolist(), plate.tolist()
    along, square, along_slope, square_slope = _coefficients(x, y)
    lean = x * px + y * py
    share = along * pz - square * lean
    share_slope = along_slope * pz - square_slope * lean
    by_x, by_y = share_slope * x - square * px, share_slope * y - square * py  # of the share
    upright = along * pz + along_slope * lean
    turned = [px + share * x, py + share * y, (1.0 - square * (x * x + y * y)) * pz - along * lean]
    slopes = [
        [share + by_x * x, by_y * x],
        [by_x * y, share + by_y * y],
        [-upright * x - along * px, -upright * y - along * py],
    ]
    return np.array(turned), np.array(slopes)


def _coefficients(x: float, y: float) -> tuple[float, float, float, float]:
    """sin θ / θ and (1 − cos θ) / θ², and s of each, whose slope by the bend b is s b."""
    square = x * x + y * y
    angle = math.sqrt(square)
    if angle < SMALL:
        return 1.0 - square / 6.0, 0.5 - square / 24.0, -1.0 / 3.0 + square / 30.0, -1.0 / 12.0 + square / 180.0
    sine, versine = math.sin(angle) / angle, 2.0 * (math.sin(0.5 * angle) / angle) ** 2
    return sine, versine, (math.cos(angle) - sine) / square, (sine - 2.0 * versine) / square


def _unit(gravity: np.ndarray, what: str) -> np.ndarray:
    gravity = checked_vector(gravity, 3, f"gravity in the {what}")
    size = np.linalg.norm(gravity)
    if size == 0.0:
        raise InputError(f"gravity in the {what}: (0, 0, 0) is no direction")
    return gravity / size
