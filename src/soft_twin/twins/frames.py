"""Named places of a body that can be aimed at and observed: where they are, how they are turned, how they move."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.checks import checked_number, checked_vector
from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.sections import section_weights
from soft_twin.mesh.embedding import locate, natural_coordinates
from soft_twin.mesh.mesh import Mesh
from soft_twin.twins.fitted_rotation import fitted_rotation, fitted_turn

if TYPE_CHECKING:
    from soft_twin.twins.base import Twin

STATIONS = 11  # cross sections of a centre line, base and tip included
ROUNDING = 1e-9  # of a node's weight
ASTRAY = 1e-6  # of a body's length: nodes that are further from where a frame has them are those of another mesh


class Frame(ABC):
    """A place on a twin's body."""

    @abstractmethod
    def position(self, twin: "Twin") -> np.ndarray:
        """(3,) in base_link [m]."""

    @abstractmethod
    def move(self, twin: "Twin", steps: np.ndarray) -> np.ndarray:
        """(3, …) how steps (n, 3, …) of the nodes move it [m]."""

    @abstractmethod
    def weights(self, mesh: Mesh) -> np.ndarray:
        """(n,) of the nodes of a finite element body whose weighted mean is its position; other nodes have none."""

    def around(self, mesh: Mesh) -> np.ndarray:
        """Numbers of the nodes of a finite element body that it turns with: of a point, those around it."""
        return np.flatnonzero(self.weights(mesh))

    def is_of(self, twin: "Twin") -> bool:
        """Whether the twin has the nodes that it was made of."""
        return True

    def rotation(self, twin: "Twin") -> np.ndarray:
        """(3, 3) from the undeformed body.

        Raises:
            InputError: it is a point, and has none.
        """
        raise InputError(f"{type(self).__name__}: a point has no orientation, aim at a frame of three nodes or more")

    def turn(self, twin: "Twin", steps: np.ndarray) -> np.ndarray:
        """(3, …) how steps (n, 3, …) of the nodes turn it, to first order [rad]."""
        return self.rotation(twin)  # which says why there is none


class SectionFrame(Frame):
    """The cross section at `z` [m] of a slender body along +z: its centre, and how its nodes are turned.

    Raises:
        InputError: `z` is no number.
    """

    def __init__(self, z: float):
        self.z = checked_number(z, "section frame", "m from the base")

    def position(self, twin):
        return twin.section(self.z, twin.points)

    def move(self, twin, steps):
        return twin.section(self.z, steps)

    def weights(self, mesh):
        return section_weights(mesh, self.z)

    def rotation(self, twin):
        nodes, arms = twin.section_arms(self.z)
        return fitted_rotation(arms, twin.points[nodes])

    def turn(self, twin, steps):
        nodes, arms = twin.section_arms(self.z)
        return fitted_turn(arms, twin.points[nodes], steps[nodes])


class PointFrame(Frame):
    """A point of a finite element body, which moves with the cell that it lies in."""

    def __init__(self, mesh: Mesh, point: np.ndarray):
        """`point`: (3,) in the undeformed body [m].

        Raises:
            MeshError: it lies in no cell.
        """
        point = checked_vector(point, 3, "point")[None]
        cell = locate(mesh, point)
        if cell[0] < 0:
            low, high = mesh.bounds
            raise MeshError(
                f"the point {point[0].tolist()} m lies in no cell: the body spans "
                + ", ".join(f"{axis} {a:.4g}…{b:.4g}" for axis, a, b in zip("xyz", low, high, strict=True))
                + " m"
            )
        self._nodes, self._rest = mesh.cells[cell[0]], point[0]
        values = mesh.element.values(natural_coordinates(mesh, cell, point))[0]
        self._weights = np.where(np.abs(values) > ROUNDING, values, 0.0)

    def position(self, twin):
        return self._weights @ twin.points[self._nodes]

    def is_of(self, twin):
        return _has(twin, self._nodes, lambda own: self._weights @ own - self._rest)

    def move(self, twin, steps):
        return np.tensordot(self._weights, steps[self._nodes], axes=1)

    def weights(self, mesh):
        return _spread(mesh, self._nodes, self._weights)

    def around(self, mesh):
        """Those of all cells that it is in: one node may carry it all."""
        own = self._nodes[self._weights != 0.0]
        within = np.isin(mesh.cells, own).sum(axis=1) == len(own)
        return np.unique(mesh.cells[within])


class NodesFrame(Frame):
    """Some nodes of a finite element body, as if they were rigid: their mean, and the rotation that fits them best."""

    def __init__(self, nodes: np.ndarray, rest: np.ndarray):
        """`nodes`: (k,) indices. `rest`: (n, 3) all nodes of the undeformed body [m].

        Raises:
            InputError: fewer than three nodes, or all in a line.
        """
        self.nodes = np.asarray(nodes)
        self._rest = rest[self.nodes]
        self._arms = self._rest - self._rest.mean(axis=0)
        if np.linalg.matrix_rank(self._arms, tol=1e-9) < 2:
            raise InputError(f"a frame of {len(self.nodes)} nodes in a line or a point has no orientation")

    def position(self, twin):
        return twin.points[self.nodes].mean(axis=0)

    def is_of(self, twin):
        return _has(twin, self.nodes, lambda own: own - self._rest)

    def move(self, twin, steps):
        return steps[self.nodes].mean(axis=0)

    def weights(self, mesh):
        return _spread(mesh, self.nodes, 1.0 / len(self.nodes))

    def rotation(self, twin):
        return fitted_rotation(self._arms, twin.points[self.nodes])

    def turn(self, twin, steps):
        return fitted_turn(self._arms, twin.points[self.nodes], steps[self.nodes])


def _has(twin: "Twin", nodes: np.ndarray, away: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether a twin has such nodes (k,), which undeformed (k, 3) are next to nothing away from where they were."""
    return nodes.max() < len(twin.rest) and bool(np.abs(away(twin.rest[nodes])).max() <= ASTRAY * twin.length)


def _spread(mesh: Mesh, nodes: np.ndarray, values: np.ndarray | float) -> np.ndarray:
    """(n,) values of some nodes, 0 at all others."""
    weights = np.zeros(len(mesh.nodes))
    weights[nodes] = values
    return weights
