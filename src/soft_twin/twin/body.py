"""A soft body: a mesh filled with a material and clamped at some nodes; its energy, forces, stiffness and mass."""

import numpy as np

from soft_twin.errors import MeshError
from soft_twin.twin.energies.base import Energy
from soft_twin.twin.envelope import EnvelopeCholesky, slender_order
from soft_twin.twin.mesh import Mesh, jacobians

NO_BAND = np.empty((0, 0))


class Body:
    """Finite elements of one material.

    Vectors over the body are (n, 3) in node order; the unknowns of a solve are the free nodes' coordinates in the
    order of the band, `free_values` and `spread` change between the two.

    Attributes:
        mesh: the undeformed mesh.
        place: (n,) place of each node among the free ones, −1 where it is clamped.
        node_volumes: (n,) ∫ N dV [m³], the share of each node in a constant body force.
        mass: total mass [kg].
    """

    def __init__(self, mesh: Mesh, energy: Energy, density: float, clamped: np.ndarray):
        """`clamped`: (n,) bool, nodes that do not move.

        Raises:
            MeshError: no node is clamped, or every node is.
        """
        if not clamped.any() or clamped.all():
            raise MeshError(
                f"{int(clamped.sum())} of {len(clamped)} nodes are clamped: a body needs some clamped, some free"
            )
        self.mesh, self.energy_law, self.density = mesh, energy, density
        self.place = slender_order(mesh.cells, ~clamped)
        self._order = np.argsort(self.place)[np.count_nonzero(self.place < 0) :]
        matrices, determinants = jacobians(mesh)
        reference = mesh.element.gradients(mesh.element.points)
        volumes = determinants * mesh.element.weights
        shares = np.einsum("mq,qk->mk", volumes, mesh.element.values(mesh.element.points))
        self.node_volumes = np.bincount(mesh.cells.ravel(), shares.ravel(), len(mesh.nodes))
        self.mass = density * float(volumes.sum())
        # Cells are kept in the band's order: its memory is then written from one end to the other.
        self._along = np.argsort(np.where(self.place < 0, len(clamped), self.place)[mesh.cells].min(axis=1))
        gradients = np.einsum("qkj,mqji->mqki", reference, np.linalg.inv(matrices))
        self._cells, self._gradients, self._volumes = (
            np.ascontiguousarray(values[self._along]) for values in (mesh.cells, gradients, volumes)
        )
        self._force = np.empty_like(mesh.nodes)

    @property
    def degrees_of_freedom(self) -> int:
        return 3 * len(self._order)

    def new_factorisation(self) -> EnvelopeCholesky:
        """An empty matrix with the stiffness matrix's envelope."""
        return EnvelopeCholesky(self.mesh.cells, self.place)

    def assemble(
        self, x: np.ndarray, stiffness: EnvelopeCholesky | None = None
    ) -> tuple[float, np.ndarray, float, int]:
        """Elastic energy [J], its gradient (n, 3) [N], smallest det F and its cell; fills `stiffness.rows` if given.

        The gradient's array is reused by the next call.
        """
        band = NO_BAND if stiffness is None else stiffness.rows
        energy, worst, cell = self.energy_law.assemble(
            x, self._cells, self._gradients, self._volumes, self.place, self._force, band
        )
        return energy, self._force, worst, int(self._along[cell])

    def weight(self, gravity: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) [N] of gravity (3,) [m/s²]."""
        return self.density * np.multiply.outer(self.node_volumes, gravity)

    def lumped_masses(self) -> np.ndarray:
        """Positive nodal masses (n,) [kg]: the diagonal of the consistent mass matrix, scaled cell by cell to the
        cell's mass (Hinton, Rock, Zienkiewicz 1976)."""
        values = self.mesh.element.values(self.mesh.element.points)
        diagonal = np.einsum("mq,qk->mk", self._volumes, values**2)
        diagonal *= (self._volumes.sum(axis=1) / diagonal.sum(axis=1))[:, None]
        return self.density * np.bincount(self._cells.ravel(), diagonal.ravel(), len(self.mesh.nodes))

    def free_values(self, field: np.ndarray) -> np.ndarray:
        """The free nodes' part of (n, 3) or (n, 3, c), in the band's order: (dof,) or (dof, c)."""
        return field[self._order].reshape(self.degrees_of_freedom, *field.shape[2:])

    def spread(self, unknowns: np.ndarray) -> np.ndarray:
        """(n, 3) or (n, 3, c) from the unknowns, zero at clamped nodes."""
        field = np.zeros((len(self.mesh.nodes), 3, *unknowns.shape[1:]))
        field[self._order] = unknowns.reshape(-1, 3, *unknowns.shape[1:])
        return field
