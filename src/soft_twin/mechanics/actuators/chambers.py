"""Chambers as actuators: the gauge pressure [Pa] works on the volume that is let in [m³]."""

from collections.abc import Sequence

import numpy as np

from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.actuators.base import Actuators
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.loads.pressure import Pressure

TOLERANCE = 1e-9  # of the cube of the body's size


class Chambers(Actuators):
    """Closed hollows of a body, or hollows whose rim is clamped. The coordinate is the volume less that at rest.

    Driven by volume, a chamber is followed past the pressure at which its body balloons.

    Attributes:
        rest_volumes: (a,) in the undeformed body [m³], up to what a clamped rim closes; known when attached.
    """

    unit = "Pa"

    def __init__(self, surfaces: Sequence[str | np.ndarray], names: Sequence[str] | None = None):
        """`surfaces`: names of the mesh's surfaces, or faces (f, k) of nodes, outward from the material.

        Raises:
            InputError: no surface, or another number of names.
        """
        self.names = [f"chamber_{i + 1}" for i in range(len(surfaces))] if names is None else list(names)
        if not len(surfaces) or len(self.names) != len(surfaces):
            raise InputError(f"chambers: {len(self.names)} names for {len(surfaces)} surfaces")
        self._pressures = [Pressure(surface, 1.0) for surface in surfaces]
        self.softness = np.zeros(len(surfaces))
        self.least_effort = np.full(len(surfaces), -np.inf)

    def attach(self, body: Body) -> None:
        for pressure in self._pressures:
            pressure.attach(body)
        self._groups = np.vstack([pressure.groups for pressure in self._pressures])
        ends = np.cumsum([len(pressure.groups) for pressure in self._pressures])
        self._check_apart(np.repeat(np.arange(self.count), np.diff(ends, prepend=0)))
        self._own = [slice(end - len(each.groups), end) for end, each in zip(ends, self._pressures, strict=True)]
        self.rest_volumes = np.zeros(self.count)
        self.rest_volumes = self.coordinates(body.mesh.nodes)
        self.tolerance = np.full(self.count, TOLERANCE * float(np.linalg.norm(body.mesh.size)) ** 3)

    def _check_apart(self, owners: np.ndarray) -> None:
        """Refuse faces of two chambers, `owners` (f,), whose pressures would add up there.

        Raises:
            MeshError: there are some.
        """
        _, first, same = np.unique(np.sort(self._groups, axis=1), axis=0, return_index=True, return_inverse=True)
        before = owners[first[same.ravel()]]
        both = np.flatnonzero(before != owners)
        if len(both):
            one, other = (self.names[each[both[0]]] for each in (before, owners))
            raise MeshError(
                f"chambers '{one}' and '{other}' press on {len(both)} faces both: give each a surface of its own"
            )

    @property
    def groups(self) -> np.ndarray:
        return self._groups

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        return np.array([pressure.volume(x) for pressure in self._pressures]) - self.rest_volumes

    def gradients(self, x: np.ndarray) -> np.ndarray:
        return np.stack([pressure.force(x) for pressure in self._pressures], axis=2)

    def add_forces(self, x: np.ndarray, efforts: np.ndarray, force: np.ndarray) -> None:
        for effort, pressure in zip(efforts, self._pressures, strict=True):
            pressure.add_push(x, effort, force)

    def stiffness(self, x: np.ndarray, efforts: np.ndarray, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        pairs = zip(efforts, self._pressures, strict=True)
        return np.concatenate([effort * pressure.stiffness(x) for effort, pressure in pairs])[which]

    def add_stiffness(self, x: np.ndarray, efforts: np.ndarray, offsets, strides, data) -> None:
        for effort, pressure, own in zip(efforts, self._pressures, self._own, strict=True):
            pressure.add_stiffness(x, effort, offsets[own], strides[own], data)
