"""How a plate's and its base's IMU are turned beyond what is known of their mounting, found on a straight plate.

Cables that are homed and hold the plate straight say how it stands: at a bend b, a tenth of a degree or two from zero
with a neck that sags. R(b) its rotation, gravity g in base_link and p in the plate's frame should obey R(b) p = g. What
they miss is laid on small turns of both, c_base and c_plate,

    R(b) exp([c_plate]) p = exp([c_base]) g + noise,   c_base, c_plate ~ N(0, SPREAD²),

by maximum posterior. One rest tells two of the six numbers, both about axes across gravity, and the prior shares what
it tells between the IMUs, since it cannot know which of them is wrong. Rests with the base in other attitudes tell the
others, of which the turn of the plate's IMU about the plate's axis matters most: it shows as soon as the plate is bent,
and wherever the base leans.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError
from soft_twin.inverse.plate_sight import rotation_of

SPREAD = np.radians(1.0)  # of each turn about each axis
NOISE = np.radians(0.15)  # of a rest: cables homed to 0.1 mm each, the model, the filters
CONTRADICTS = np.radians(0.6)  # of a rest, by which older ones are out of date
LARGEST = np.radians(5.0)  # turn of one IMU against the other that is believed
SAME_ATTITUDE = np.radians(20.0)  # of the base, to a rest that a newer one replaces
MOST_STEPS, ENOUGH = 10, 1e-9  # of Gauss and Newton, and the step [rad] at which they end


@dataclass(frozen=True)
class Rest:
    """A plate at rest where it is known to stand.

    Attributes:
        base, plate: (3,) directions of gravity as the IMUs have it, in base_link and in the plate's frame.
        bend: (2,) of the plate, by its cables [rad].
    """

    base: tuple[float, float, float]
    plate: tuple[float, float, float]
    bend: tuple[float, float]

    @classmethod
    def of(cls, base: np.ndarray, plate: np.ndarray, bend: np.ndarray) -> "Rest":
        """From gravities (3,) of any length."""
        base, plate = (np.asarray(each) / np.linalg.norm(each) for each in (base, plate))
        return cls(tuple(base.tolist()), tuple(plate.tolist()), tuple(np.asarray(bend, dtype=float).tolist()))

    @property
    def apart(self) -> float:
        """Angle [rad] between the gravities, where the plate stands."""
        plate = rotation_of(np.array(self.bend)) @ self.plate
        return float(np.arctan2(np.linalg.norm(np.cross(plate, self.base)), plate @ self.base))


@dataclass(frozen=True)
class Alignment:
    """What both IMUs are corrected by.

    Attributes:
        rests: that it was found from.
        base_turn, plate_turn: (3,) rotation vectors [rad] that gravity is turned by, in base_link and in the plate's
            frame.
    """

    rests: tuple[Rest, ...] = ()
    base_turn: tuple[float, float, float] = (0.0, 0.0, 0.0)
    plate_turn: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @classmethod
    def of(cls, rests: Sequence[Rest]) -> "Alignment":
        """From any number of rests; none: nothing is corrected.

        Raises:
            InputError: in a rest the IMUs are turned against each other by more than LARGEST.
        """
        for rest in rests:
            if not rest.apart <= LARGEST:
                raise InputError(
                    f"the IMUs of base and plate are {np.degrees(rest.apart):.1f}° apart on a plate that stands "
                    f"straight: more than {np.degrees(LARGEST):g}° is no misalignment; mount or calibrate them anew, "
                    "or home the cables"
                )
        turns = np.zeros(6)
        for _ in range(MOST_STEPS if rests else 0):
            normal, wanted = np.eye(6) / SPREAD**2, -turns / SPREAD**2
            for rest in rests:
                slope, missed = _linearised(rest, turns)
                normal += slope.T @ slope / NOISE**2
                wanted += slope.T @ missed / NOISE**2
            step = np.linalg.solve(normal, wanted)
            turns = turns + step
            if np.abs(step).max() < ENOUGH:
                break
        return cls(tuple(rests), tuple(turns[:3].tolist()), tuple(turns[3:].tolist()))

    def with_rest(self, rest: Rest) -> "Alignment":
        """With one more rest, in place of an older one in which the base stood the same way, or of all older ones where
        they contradict it: an IMU was mounted anew. Raises as `of`."""
        others = [each for each in self.rests if not np.dot(each.base, rest.base) > np.cos(SAME_ATTITUDE)]
        found = Alignment.of([*others, rest])
        return found if found._missed <= CONTRADICTS else Alignment.of([rest])

    @property
    def apart(self) -> float:
        """Angle [rad] by which the IMUs are turned against each other."""
        base, plate = (Rotation.from_rotvec(turn) for turn in (self.base_turn, self.plate_turn))
        return float((base.inv() * plate).magnitude())

    @property
    def _missed(self) -> float:
        """Largest angle [rad] by which a rest still is off."""
        turns = np.array([*self.base_turn, *self.plate_turn])
        return max((float(np.linalg.norm(_linearised(rest, turns)[1])) for rest in self.rests), default=0.0)

    def base(self, gravity: np.ndarray) -> np.ndarray:
        """Gravity (3,) in base_link, corrected."""
        return Rotation.from_rotvec(self.base_turn).apply(gravity)

    def plate(self, gravity: np.ndarray) -> np.ndarray:
        """Gravity (3,) in the plate's frame, corrected."""
        return Rotation.from_rotvec(self.plate_turn).apply(gravity)


def _linearised(rest: Rest, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes (3, 6) by the turns of R exp([c_plate]) p − exp([c_base]) g, and what that lacks to 0 (3,)."""
    rotation = rotation_of(np.array(rest.bend))
    base, plate = Rotation.from_rotvec(turns[:3]).apply(rest.base), Rotation.from_rotvec(turns[3:]).apply(rest.plate)
    carried = rotation @ plate
    return np.hstack([_cross(base), -_cross(carried) @ rotation]), base - carried


def _cross(v: np.ndarray) -> np.ndarray:
    """(3, 3) that takes w to v × w."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
