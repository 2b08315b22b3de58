"""What twins of finite elements have in common, whoever computes them: nodes, sections, surface, actuators."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.mechanics.model import Model
from soft_twin.mechanics.sections import across_section, normal_of, section_weights
from soft_twin.mechanics.unknowns import Pose
from soft_twin.mesh.mesh import surface_triangles
from soft_twin.twins.base import Twin, read_only
from soft_twin.twins.frames import Frame, SectionFrame
from soft_twin.twins.heights import check_heights


class MeshTwin(Twin):
    """A twin whose state is a model's pose and its actuators' efforts.

    Attributes:
        model, body, actuators: of which it is made.
    """

    def __init__(self, model: Model, length: float, frames: Mapping[str, Frame] | None = None):
        """A twin of `length` [m]. `frames`: named places of the body, besides "tip", its free end, or in its place."""
        self.model, self.body, self.length = model, model.body, length
        self.rest = read_only(self.body.mesh.nodes)
        self._frames = {"tip": SectionFrame(self._ends[1]), **(frames or {})}
        self.actuators = model.actuators
        self.softness, self.least_effort = map(read_only, (self.actuators.softness, self.actuators.least_effort))
        self.effort_units = self.actuators.units
        self._sections: dict[float, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._arms: dict[float, tuple[np.ndarray, np.ndarray]] = {}
        self._stations: dict[tuple[float, ...], csr_matrix] = {}
        self._surface: np.ndarray | None = None

    @property
    def frames(self) -> Mapping[str, Frame]:
        return self._frames

    @property
    def points(self) -> np.ndarray:
        return read_only(self._pose.points)

    @points.setter
    def points(self, points: np.ndarray) -> None:
        self._pose = Pose(points, self._pose.centres, self._pose.rotations)

    @property
    def efforts(self) -> np.ndarray:
        return read_only(self.model.efforts)

    @efforts.setter
    def efforts(self, efforts: np.ndarray) -> None:
        self.model.efforts = efforts

    def reset(self) -> None:
        self._pose = self.model.rest
        self.efforts = np.zeros(self.actuator_count)

    def state(self) -> tuple:
        return self._pose, self.model.efforts

    def restore(self, state: tuple) -> None:
        self._pose, self.efforts = state

    def body_coordinates(self) -> np.ndarray:
        return self.actuators.coordinates(self._pose.points)

    @property
    def span(self) -> tuple[float, float]:
        (*_, low), (*_, high) = self.body.mesh.bounds
        return low, high

    @cached_property
    def base(self) -> np.ndarray:
        """(3,) the centre of the lowest cross section of the undeformed body, or of the highest where it hangs [m]."""
        return read_only(self.section(self._ends[0], self.rest))

    @property
    def _ends(self) -> tuple[float, float]:
        """z of the base and of the end that is free [m]: a body that hangs is clamped above its middle."""
        low, high = self.span
        held = self.rest[self.body.place < 0, 2]
        hangs = held.size > 0 and held.min() > 0.5 * (low + high)
        return (high, low) if hangs else (low, high)

    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        near, weights, _ = self._section(z)
        rows = field.take(near, axis=0)
        return (weights @ rows.reshape(len(near), -1)).reshape(rows.shape[1:])

    def sections(self, heights: Sequence[float], field: np.ndarray) -> np.ndarray:
        key = tuple(heights)
        if key not in self._stations:
            check_heights(heights, self.span)
            self._stations[key] = csr_matrix(np.array([section_weights(self.body.mesh, z) for z in heights]))
        return self._stations[key] @ field

    def _section(self, z: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes near the section at z [m], their weights, and where they lie across it (2, k)."""
        if z not in self._sections:
            check_heights(z, self.span)
            weights = section_weights(self.body.mesh, z)
            near = np.flatnonzero(weights)
            self._sections[z] = near, weights[near], across_section(self.body.mesh, near)
        return self._sections[z]

    def section_arms(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        if z not in self._arms:
            near = self._section(z)[0]
            rest = self.body.mesh.nodes[near]
            self._arms[z] = near, rest - rest.mean(axis=0)
        return self._arms[z]

    def section_normal(self, z: float) -> np.ndarray:
        near, _, across = self._section(z)
        return normal_of(across, self._pose.points.take(near, axis=0))

    @property
    def surface(self) -> np.ndarray:
        if self._surface is None:
            self._surface = read_only(surface_triangles(self.body.mesh))
        return self._surface
