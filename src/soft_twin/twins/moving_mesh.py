"""What bodies of cells that move have in common, whoever moves their nodes."""

from collections.abc import Mapping

import numpy as np

from soft_twin.mechanics.model import Model
from soft_twin.mechanics.sections import section_normal, section_weights
from soft_twin.twins.frames import STATIONS, Frame, NodesFrame
from soft_twin.twins.heights import check_heights
from soft_twin.twins.moving import MovingBody


class MovingMesh(MovingBody):
    """A body of cells in motion.

    Attributes:
        model: its mechanics.
        frames: named places of the body; one is "tip".
        stations: (s,) heights of the cross sections of the centre line in the undeformed body, base to tip [m].
        points: (n, 3) nodes in base_link [m].
        velocities: (n, 3) of the nodes [m/s].
    """

    points: np.ndarray
    velocities: np.ndarray

    def __init__(self, model: Model, frames: Mapping[str, Frame], dt: float):
        self.model, self.frames, self.dt = model, frames, dt
        (*_, low), (*_, high) = model.body.mesh.bounds
        self.stations = np.linspace(low, high, STATIONS)
        self._sections: dict[float, np.ndarray] = {}
        self._around_tip: np.ndarray | None = None

    @property
    def actuator_count(self) -> int:
        return len(self.model.actuators)

    @property
    def coordinates(self) -> np.ndarray:
        return self.model.actuators.coordinates(self.points)

    @property
    def tip(self) -> np.ndarray:
        return self.frames["tip"].position(self)

    @property
    def tip_direction(self) -> np.ndarray:
        """(3,) axis of the frame "tip": the normal of the end section, or of what is around a point; +z undeformed."""
        frame, mesh = self.frames["tip"], self.model.body.mesh
        if isinstance(frame, NodesFrame):
            return frame.rotation(self)[:, 2].copy()
        if self._around_tip is None:
            self._around_tip = frame.around(mesh)
        return section_normal(mesh, self.points, self._around_tip)

    @property
    def centre_line(self) -> np.ndarray:
        return np.array([self.section(z, self.points) for z in self.stations])

    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        """The value of a nodal field (n, 3) at the centre of the cross section at z [m]: (3,).

        Raises:
            InputError: z is no number, not finite, or beyond the body.
        """
        return self._weights(z) @ field

    def _weights(self, z: float) -> np.ndarray:
        """(n,) of the section at z [m]."""
        if z not in self._sections:
            check_heights(z, (self.stations[0], self.stations[-1]))
            self._sections[z] = section_weights(self.model.body.mesh, z)
        return self._sections[z]
