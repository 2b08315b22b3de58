"""A hanging trunk as three arcs that motors pull: few constants, told by all its disks.

A motor's input is a torque against dry friction: what moves the trunk is its play, six of them. Two motors pull at each
disk; p_l is their pull (2,) at disk l, linear in their plays. Segment k between two disks is an arc that bends by

    b_k = r_k + sum_l C_kl p_l    [rad], towards x and z,    C_kk = 1,

for a cable bends all segments above its disk, and gravity couples them. Disks follow by rolling the arcs out. Constants
are learned by least squares on the disks' places with a weak prior: no pull, C_kl = 1 above a cable's disk and 0 below.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

MOTORS = ((2, 3), (1, 4), (0, 5))  # columns of the inputs that pull at the first, second and last disk
OTHERS = ~np.eye(3, dtype=bool)
TOLD = 0.01  # [m] per unit of a play: how weakly a start is nought where its place does not tell


@dataclass(frozen=True)
class Trunk:
    """`base` (2,): x and z where it hangs, at y = 0; `lengths` (3,) [m]; `rest` r (3, 2); `spread` C (3, 3); `gains`
    (3, 2, 2) from the plays of two motors to their pull."""

    base: np.ndarray
    lengths: np.ndarray
    rest: np.ndarray
    spread: np.ndarray
    gains: np.ndarray

    def places(self, plays: np.ndarray) -> np.ndarray:
        """(n, 3, 3) disks [m], y up, at the motors' plays (n, 6)."""
        pulls = np.stack([plays[:, pair] @ gain for pair, gain in zip(MOTORS, self.gains, strict=True)], axis=1)
        bends = self.rest + np.einsum("kl,nld->nkd", self.spread, pulls)
        place, turned, found = np.array([self.base[0], 0.0, self.base[1]]), Rotation.identity(len(plays)), []
        for (x, z), length in zip(np.moveaxis(bends, 0, 2), self.lengths, strict=True):
            angle = np.hypot(x, z) + 1e-9
            aside = (1.0 - np.cos(angle)) / angle**2
            place = place + turned.apply(length * np.column_stack([x * aside, -np.sin(angle) / angle, z * aside]))
            turned = turned * Rotation.from_rotvec(np.column_stack([-z, np.zeros_like(x), x]))
            found.append(place)
        return np.stack(found, axis=1)


def learn(plays: np.ndarray, places: np.ndarray, prior: float) -> Trunk:
    """The trunk whose disks are nearest to places (n, 3, 3) [m] at plays (n, 6).

    Args:
        plays: of the motors.
        places: of the disks, y up, the base at y = 0.
        prior: how much a unit of a pull's constant weighs beside the rows' distances [m].
    """
    heights = places[:, :, 1].mean(axis=0)
    sizes = np.concatenate([places[:, 0, [0, 2]].mean(axis=0), -np.diff(heights, prepend=0.0)])
    expected = np.concatenate([sizes, np.zeros(6), np.triu(np.ones((3, 3)))[OTHERS], np.zeros(12)])
    weights = np.concatenate([np.zeros(len(sizes)), np.full(len(expected) - len(sizes), prior)])

    def residuals(values: np.ndarray) -> np.ndarray:
        off = _trunk(values).places(plays) - places
        return np.concatenate([off.ravel(), weights * (values - expected)])

    scale = np.where(weights > 0.0, 1.0, 0.1)
    return _trunk(least_squares(residuals, expected, x_scale=scale, ftol=1e-5).x)


def start(trunk: Trunk, inputs: np.ndarray, width: float, places: np.ndarray) -> np.ndarray:
    """(6,) plays within width of inputs (6,) at which the disks are nearest to places (3, 3)."""
    lower, upper = inputs - width, inputs + width
    middle = np.clip(0.0, lower, upper)

    def residuals(plays: np.ndarray) -> np.ndarray:
        return np.concatenate([(trunk.places(plays[None])[0] - places).ravel(), TOLD * (plays - middle)])

    return least_squares(residuals, 0.5 * (lower + upper), bounds=(lower, upper)).x


def _trunk(values: np.ndarray) -> Trunk:
    spread = np.eye(3)
    spread[OTHERS] = values[11:17]
    return Trunk(values[:2], values[2:5], values[5:11].reshape(3, 2), spread, values[17:].reshape(3, 2, 2))
