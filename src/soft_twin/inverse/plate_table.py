"""A plate's finite element model as a table: constant curvature, and what it lacks.

Straight cables along an arc explain most of what cables do. What finite elements wind in beyond that is tabled over the
bend θ (cos φ, sin φ), on rings of equal θ and rays of equal φ, and taken linearly in between. In φ the rays stand where
the cables are and in the middle between them, too: there another cable becomes the loosest, and the table has a kink.
"""

import numpy as np
from numba import njit

from soft_twin.checks import checked_vector, in_words
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.plate import FemPlate, checked_payload
from soft_twin.twins.constant_curvature import ConstantCurvature, pitch_roll_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.plate_model import PlateModel
from soft_twin.twins.plate_orientation import axis_at

LARGEST = np.radians(50.0)  # tilt
RINGS, RAYS = 10, 24
TURNED, HEAVIER = np.radians(15.0), 0.1  # of gravity, and of the payload [kg], from where the table's error is told
MOST_STEPS, ENOUGH = 30, 1e-7  # and the change of a bend [rad] at which they end


class PlateTable(PlateModel):
    """For the gravity and payload that `fem` bears while it is made, and cables no tighter than need be.

    Attributes:
        beyond: (rings + 1, rays + 1, c) what is wound in beyond constant curvature [m].
        largest: tilt at which the table ends [rad].
        gravity, payload: (3,) [m/s²] and [kg] that it was made under.
    """

    def __init__(
        self,
        chord: ConstantCurvature,
        fem: FemPlate,
        largest: float = LARGEST,
        rings: int = RINGS,
        rays: int = RAYS,
    ):
        """Solves `fem` at every place of the table.

        Raises:
            InputError: a place is out of reach: take a smaller tilt.
            ConvergenceError: `fem` found no equilibrium.
        """
        self.chord, self.largest = chord, largest
        self.gravity, self.payload = fem.gravity.copy(), fem.payload
        self._borne = self.gravity, self.payload
        self.beyond = np.empty((rings + 1, rays + 1, len(chord.cable_positions)))
        self.beyond[0] = fem.displacements(0.0, 0.0)
        first = np.arctan2(*chord.cable_positions[0, ::-1])
        self._grid = first, largest / rings, 2.0 * np.pi / rays
        for ray in range(rays):
            fem.displacements(0.0, 0.0)
            azimuth = first + ray * self._grid[2]
            for ring in range(1, rings + 1):
                pose = _pose(ring * self._grid[1], azimuth)
                self.beyond[ring, ray] = fem.displacements(*pose) - chord.displacements(*pose)
        self.beyond[:, rays] = self.beyond[:, 0]

    def displacements(self, pitch: float, roll: float) -> np.ndarray:
        """As PlateModel.

        Raises:
            InputError: no numbers, not finite, or more tilted than the table is.
        """
        found = self.chord.displacements(pitch, roll)
        if found.ndim > 1:
            raise InputError(f"pitch {in_words(pitch)}, roll {in_words(roll)}: a table expects one number each")
        if not _add(self.beyond, *self._grid, *bend_of(pitch, roll), found):
            raise InputError(
                f"pitch {np.degrees(pitch):.4g}°, roll {np.degrees(roll):.4g}° is more tilted than the table is, "
                f"{np.degrees(self.largest):.4g}°"
            )
        return found

    def orientation(self, displacements: np.ndarray) -> tuple[float, float]:
        """As PlateModel: what all cables are wound in more, or less, is taken to tilt nothing.

        Raises:
            InputError: wrong size, not finite, or more tilted than the table is.
            ConvergenceError: no orientation is found that explains them.
        """
        displacements = checked_vector(displacements, len(self.chord.cable_positions), "displacements")
        bend, _ = self.chord.bends_of(displacements)
        for _ in range(MOST_STEPS):
            beyond = np.zeros(displacements.shape)
            if not _add(self.beyond, *self._grid, *bend[0], beyond):
                raise InputError(f"cables pulled in by {displacements.tolist()} m tilt the plate beyond the table")
            last, (bend, _) = bend, self.chord.bends_of(displacements - beyond)
            if np.abs(bend - last).max() < ENOUGH:
                return pitch_roll_of(self.chord.poses(bend)[1][0, :, 2])
        raise ConvergenceError(f"cables pulled in by {displacements.tolist()} m: no orientation explains them", ())

    def bear(self, gravity: np.ndarray, payload: float = 0.0) -> None:
        """A table stays with the load that it was made under; `caveat` says how far that is from this one.

        Raises:
            InputError: as FemPlate.bear.
        """
        self._borne = checked_vector(gravity, 3, "gravity"), checked_payload(payload)

    @property
    def caveat(self) -> str:
        """As PlateModel: that gravity or payload are others than those that it was made under."""
        gravity, payload = self._borne
        crossed, along = np.linalg.norm(np.cross(gravity, self.gravity)), gravity @ self.gravity
        turned, heavier = np.arctan2(crossed, along), payload - self.payload
        if turned <= TURNED and abs(heavier) <= HEAVIER:
            return ""
        return (
            f"the table was made under a gravity {np.degrees(turned):.0f}° from this one and {abs(heavier):.2f} kg "
            f"{'less' if heavier > 0.0 else 'more'} on the plate: what that tilts is left to the loop"
        )


def _pose(tilt: float, azimuth: float) -> tuple[float, float]:
    return pitch_roll_of(axis_at(tilt * np.array([np.cos(azimuth), np.sin(azimuth)])))


@njit(cache=True)
def _add(table, first, ring_step, ray_step, bend_x, bend_y, displacements):
    """Add to displacements (c,) what the table has at a bend; whether it has it."""
    rings, rays = table.shape[0] - 1, table.shape[1] - 1
    ring = np.sqrt(bend_x * bend_x + bend_y * bend_y) / ring_step
    if not ring <= rings + 1e-9:
        return False
    ray = ((np.arctan2(bend_y, bend_x) - first) / ray_step) % rays
    i, j = min(int(ring), rings - 1), min(int(ray), rays - 1)
    u, v = ring - i, ray - j
    for c in range(len(displacements)):
        inner = (1.0 - v) * table[i, j, c] + v * table[i, j + 1, c]
        outer = (1.0 - v) * table[i + 1, j, c] + v * table[i + 1, j + 1, c]
        displacements[c] += (1.0 - u) * inner + u * outer
    return True
