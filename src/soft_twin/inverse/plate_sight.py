"""What two gravities, one in the base and one on the plate, say of how the plate stands to the base.

A plate stands at the bend b = θ (cos φ, sin φ), turned about its own axis by the twist ψ: its rotation is R(b) Rz(ψ).
Gravity g in base_link and p in the plate's frame obey R(b) Rz(ψ) p = g. That is two equations for three angles, so that
the twist has to be known: a weight beside the axis of a bent body twists it, and where gravity tells a turn with a sine
of 0.5, a twist that nobody knows of tilts what is seen by twice as much. Turned about g the plate sees the same: of the
two components of b that gravity cannot tell is the one about its own direction, all of it where the base lies on its
side.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.checks import checked_vector
from soft_twin.errors import InputError
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.plate_orientation import pitch_roll_of

BLIND = 0.2  # sine of the angle between gravity and an axis of turning below which that turn is not seen
MOST_STEPS, ENOUGH = 30, 1e-10  # and the step [rad] at which they end


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
    plate = Rotation.from_rotvec([0.0, 0.0, float(checked_vector([twist], 1, "twist")[0])]).apply(plate)
    bend, unseen = np.array(expected, dtype=float), None
    for _ in range(MOST_STEPS):
        left, sizes, right = np.linalg.svd(_slopes(bend, plate), full_matrices=False)
        seen = sizes > BLIND
        unseen = None if seen.all() else right[~seen][0]
        step = right[seen].T @ ((left[:, seen].T @ (base - rotation_of(bend) @ plate)) / sizes[seen])
        bend += step
        if np.abs(step).max() < ENOUGH:
            break
    off = base - rotation_of(bend) @ plate
    spread = (right.T / np.maximum(sizes, BLIND) ** 2) @ right
    return Sight(bend, unseen, float(2.0 * np.arcsin(min(1.0, 0.5 * np.linalg.norm(off)))), spread)


def rotation_of(bend: np.ndarray) -> np.ndarray:
    """(3, 3) of a plate at a bend (2,) [rad] that is not twisted."""
    return Rotation.from_rotvec([-bend[1], bend[0], 0.0]).as_matrix()


def twist_of(rotation: np.ndarray) -> float:
    """Turn [rad] about its own axis of a plate that is rotated by (3, 3)."""
    turned = rotation_of(np.array(bend_of(*pitch_roll_of(rotation[:, 2])))).T @ rotation
    return float(np.arctan2(turned[1, 0], turned[0, 0]))


def _slopes(bend: np.ndarray, plate: np.ndarray) -> np.ndarray:
    """(3, 2) of R(b) p by b."""
    h = 1e-6
    return np.column_stack([(rotation_of(bend + d) - rotation_of(bend - d)) @ plate / (2.0 * h) for d in h * np.eye(2)])


def _unit(gravity: np.ndarray, what: str) -> np.ndarray:
    gravity = checked_vector(gravity, 3, f"gravity in the {what}")
    size = np.linalg.norm(gravity)
    if size == 0.0:
        raise InputError(f"gravity in the {what}: (0, 0, 0) is no direction")
    return gravity / size
