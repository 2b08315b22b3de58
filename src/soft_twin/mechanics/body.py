"""A soft body: a mesh filled with materials; its energy, forces, stiffness and mass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soft_twin.checks import checked_kind, checked_list, checked_number, checked_positions
from soft_twin.errors import InputError, MaterialError, MeshError
from soft_twin.linear_algebra.cholesky import Cholesky
from soft_twin.linear_algebra.envelope import slender_order
from soft_twin.linear_algebra.sparse_cholesky import cholesky_for
from soft_twin.mechanics.materials.base import NO_ADDRESSES, NO_DATA, Energy
from soft_twin.mechanics.materials.mean_dilatation import MeanDilatation
from soft_twin.mesh.mesh import Mesh, checked_indices, jacobians
from soft_twin.mesh.shares import surface_shares

NOTHING = 1e-12  # [kg] that is left of a mass that was taken off
ENDS = ("base", "tip")  # surfaces that generators take from the lowest and the highest z
EMPTY = ", for no face lies flat at that end, across z: cut it flat, or name a group of nodes in the mesh file"


@dataclass
class Material:
    """What a volume of a mesh is made of. Several may share cells: a muscle in a solid is one with density 0.

    Attributes:
        energy: strain energy.
        density: [kg/m³].
        volume: name of one of the mesh's volumes, indices of cells (m,), or a mask of them; None is the whole mesh.
    """

    energy: Energy
    density: float
    volume: str | np.ndarray | None = None


@dataclass(frozen=True)
class Part:
    """Cells (m, k) of one material, their gradients (m, q, k, 3), volumes (m, q) and numbers (m,) in the mesh, and
    whether their element asks for the mean dilatation."""

    material: Material
    cells: np.ndarray
    gradients: np.ndarray
    volumes: np.ndarray
    numbers: np.ndarray
    mean_dilatation: bool

    @property
    def law(self) -> Energy:
        """The material's law as it is in these cells."""
        law = self.material.energy.at(self.numbers)
        return MeanDilatation(law) if self.mean_dilatation else law

    def take(self, chosen: np.ndarray) -> "Part":
        """The part with some of its cells only, (m,) bool."""
        arrays = (self.cells, self.gradients, self.volumes, self.numbers)
        return Part(self.material, *(np.ascontiguousarray(values[chosen]) for values in arrays), self.mean_dilatation)


class Addresses(NamedTuple):
    """Where a part's stiffness is added: addresses of its cells' blocks in a matrix, and the matrix's data."""

    offsets: np.ndarray = NO_ADDRESSES
    strides: np.ndarray = NO_ADDRESSES
    data: np.ndarray = NO_DATA


class Body:
    """Finite elements of one or several materials.

    Vectors over the body are (n, 3) in node order; the unknowns of a solve are the free nodes' coordinates in the
    order of the band, `free_values` and `spread` change between the two.

    Attributes:
        mesh: the undeformed mesh.
        parts: one for each material.
        place: (n,) place of each node among the free ones, −1 where it is clamped.
        node_masses: (n,) ∫ ρ N dV [kg], the share of each node in gravity.
        mass: total mass [kg].
        attached: (n,) masses hung on nodes [kg], in `node_masses` and `mass` too.
    """

    def __init__(self, mesh: Mesh, materials: Material | Sequence[Material], clamped: str | np.ndarray | None = None):
        """`clamped`: nodes that do not move, if any: a mask (n,), indices (k,), or a name.

        Raises:
            MeshError: every node is clamped, or names, indices or masks are none of the mesh's.
            InputError: `clamped` is given, and it is no node; no Mesh, no Materials, or a density that is no number.
            MaterialError: no material, a density that is negative or not finite, or cells that no material fills.
        """
        self.mesh = checked_kind(mesh, Mesh, "a Mesh", "body")
        free = np.ones(len(mesh.nodes), dtype=bool)
        if clamped is not None:
            free[nodes_of(self, clamped, "clamped")] = False
        if not free.any():
            raise MeshError(f"all {len(free)} nodes are clamped: a body needs some that are free")
        carried = np.setdiff1d(np.arange(len(mesh.nodes)), mesh.body_nodes)  # they hang together with nothing
        self._groups = [mesh.cells, carried[:, None]] if len(carried) else [mesh.cells]
        self.place = slender_order(self._groups, free, mesh.nodes)
        self._order = np.argsort(self.place)[np.count_nonzero(self.place < 0) :]
        given = [materials] if isinstance(materials, Material) else materials
        self.parts = self._parts(checked_list(given, Material, "Materials of a body", "materials"))
        self.attached = np.zeros(len(mesh.nodes))
        self._surface_shares: dict[str, np.ndarray] = {}
        self._weigh()
        self._force = np.empty_like(mesh.nodes)
        self._filled: Cholesky | None = None  # the matrix that the addresses are of
        self._addresses: list[Addresses] = []

    @property
    def degrees_of_freedom(self) -> int:
        return 3 * len(self._order)

    @property
    def modulus(self) -> float:
        """How stiff the stiffest material is at rest [Pa]."""
        return max(part.material.energy.modulus for part in self.parts)

    def new_factorisation(self) -> Cholesky:
        """An empty matrix with room for the stiffness."""
        return cholesky_for(self._groups, self.place)

    def assemble(self, x: np.ndarray, stiffness: Cholesky | None = None) -> tuple[float, np.ndarray, float, int]:
        """Elastic energy [J], its gradient (n, 3) [N], smallest det F and its cell; fills a matrix that couples the
        nodes of each cell, such as one of `new_factorisation`, if given. The gradient's array is reused by the next
        call.

        Raises:
            InputError: positions of other nodes, or the matrix has its unknowns in another order than the body: it is
                another body's.
        """
        x, addresses = checked_positions(x, len(self.mesh.nodes)), [Addresses()] * len(self.parts)
        if stiffness is not None:
            if self._filled is not stiffness:
                if not np.array_equal(stiffness.place, self.place):
                    raise InputError(
                        f"stiffness: the matrix of {stiffness.size} unknowns is another body's: of other cells or "
                        f"clamps than this one's {self.degrees_of_freedom}, take one of its new_factorisation()"
                    )
                self._filled = stiffness
                self._addresses = [Addresses(*stiffness.addresses(part.cells)) for part in self.parts]
            addresses = [Addresses(own.offsets, own.strides, stiffness.data) for own in self._addresses]
            stiffness.data[:] = 0.0
        self._force[:] = 0.0
        energy, worst, cell = add_parts(x, self.parts, addresses, self._force)
        return energy, self._force, worst, cell

    def set_density(self, material: Material, density: float) -> None:
        """Change what one of the body's materials weighs [kg/m³].

        Raises:
            InputError: the density is no number.
            MaterialError: it is negative or not finite.
        """
        material.density = _checked_density(density)
        self._weigh()

    def attach_mass(self, nodes: str | np.ndarray, mass: float) -> None:
        """Hang a mass [kg] on nodes (a name, indices (k,), or a mask (n,)), in parts of their `shares`: it has weight
        and inertia. A negative one takes off what hangs there. Before a model is made of the body, else the model's
        `update_mass` is called where it moves.

        Raises:
            InputError: a mass that is not finite, or takes off more than hangs there, or no nodes.
            MeshError: nodes that are none of the mesh's.
        """
        chosen, mass = nodes_of(self, nodes, "attached mass"), checked_number(mass, "attached mass", "kg")
        shares = self.shares(nodes)
        left = self.attached[chosen] + mass * shares
        if not (left > -NOTHING).all() or not mass < np.inf:
            hung = (self.attached[chosen][shares > 0.0] / shares[shares > 0.0]).min()
            raise InputError(f"attached mass: {mass:g} kg is not finite, or takes off more than the {hung:g} kg there")
        self.attached[chosen] = np.maximum(left, 0.0)
        self._weigh()

    def shares(self, nodes: str | np.ndarray) -> np.ndarray:
        """(k,) of a mass on nodes that each of them carries, in the order of `nodes_of`: on a surface, by its name,
        those of a plate of even thickness, see `surface_shares`; on others equal ones."""
        if not isinstance(nodes, str) or nodes not in self.mesh.surfaces:
            count = len(nodes_of(self, nodes, "shares"))
            return np.full(count, 1.0 / count)
        if nodes not in self._surface_shares:
            self._surface_shares[nodes] = surface_shares(self.mesh, self.mesh.surfaces[nodes])
        return self._surface_shares[nodes]

    def weight(self, gravity: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) [N] of gravity (3,) [m/s²]."""
        return np.dot(self.node_masses[:, None], gravity[None])

    def lumped_masses(self) -> np.ndarray:
        """Positive nodal masses (n,) [kg]: the diagonal of the consistent mass matrix, scaled cell by cell to the
        cell's mass (Hinton, Rock, Zienkiewicz 1976)."""
        values, masses = self.mesh.element.values(self.mesh.element.points), np.zeros(len(self.mesh.nodes))
        for part in self.parts:
            diagonal = np.einsum("mq,qk->mk", part.volumes, values**2)
            diagonal *= (part.volumes.sum(axis=1) / diagonal.sum(axis=1))[:, None]
            masses += part.material.density * np.bincount(part.cells.ravel(), diagonal.ravel(), len(masses))
        return masses + self.attached

    def cell_masses(self, part: Part) -> np.ndarray:
        """Consistent mass matrices (m, k, k) [kg] of a part's cells."""
        values = self.mesh.element.values(self.mesh.element.points)
        return part.material.density * np.einsum("mq,qa,qb->mab", part.volumes, values, values)

    def free_values(self, field: np.ndarray) -> np.ndarray:
        """The free nodes' part of (n, 3) or (n, 3, c), in the band's order: (dof,) or (dof, c)."""
        return field.take(self._order, axis=0).reshape(self.degrees_of_freedom, *field.shape[2:])

    def spread(self, unknowns: np.ndarray) -> np.ndarray:
        """(n, 3) or (n, 3, c) from the unknowns, zero at clamped nodes."""
        blocks = np.zeros((len(self._order) + 1, 3, *unknowns.shape[1:]))
        blocks[:-1] = unknowns.reshape(-1, 3, *unknowns.shape[1:])
        return blocks.take(self.place, axis=0, mode="wrap")  # the last one, which is zero, where the place is −1

    def _parts(self, materials: list[Material]) -> list[Part]:
        """Cells are kept in the band's order: the matrix's memory is then written from one end to the other."""
        mesh = self.mesh
        matrices, determinants = jacobians(mesh)
        reference = mesh.element.gradients(mesh.element.points)
        gradients = np.einsum("qkj,mqji->mqki", reference, np.linalg.inv(matrices))
        first = np.where(self.place < 0, len(self.place), self.place)[mesh.cells].min(axis=1)
        parts, filled = [], np.zeros(len(mesh.cells), dtype=bool)
        for material in materials:
            _checked_density(material.density)
            checked_kind(material.energy, Energy, "an Energy, such as energy_named(…)", "material")
            numbers = self._cells_of(material.volume)
            numbers = numbers[np.argsort(first[numbers], kind="stable")]
            filled[numbers] = True
            volumes = determinants[numbers] * mesh.element.weights
            arrays = mesh.cells[numbers].copy(), gradients[numbers], volumes, numbers
            parts.append(Part(material, *arrays, mesh.element.mean_dilatation))
        if not filled.all():
            raise MaterialError(f"{int((~filled).sum())} of {len(filled)} cells are of no material")
        return parts

    def _cells_of(self, volume: str | np.ndarray | None) -> np.ndarray:
        if volume is None:
            return np.arange(len(self.mesh.cells))
        if isinstance(volume, str):
            return self.mesh.volume(volume)
        return checked_indices(volume, len(self.mesh.cells), "material's volume")

    def _weigh(self) -> None:
        self.node_masses = sum(self._node_masses(part) for part in self.parts) + self.attached
        self.mass = float(self.node_masses.sum())

    def _node_masses(self, part: Part) -> np.ndarray:
        values = self.mesh.element.values(self.mesh.element.points)
        shares = part.material.density * np.einsum("mq,qk->mk", part.volumes, values)
        return np.bincount(part.cells.ravel(), shares.ravel(), len(self.mesh.nodes))


def add_parts(
    x: np.ndarray, parts: Sequence[Part], addresses: Sequence[Addresses], force: np.ndarray
) -> tuple[float, float, int]:
    """Add the parts' elastic forces ∂W/∂x to `force` (n, 3), and their stiffness where they have addresses for it.

    Returns:
        Elastic energy [J], smallest det F, and the cell where it is.
    """
    energy, worst, cell = 0.0, np.inf, 0
    for part, own in zip(parts, addresses, strict=True):
        if not len(part.cells):
            continue
        more, determinant, at = part.law.assemble(
            x, part.cells, part.gradients, part.volumes, force, own.offsets, own.strides, own.data
        )
        energy += more
        if determinant < worst:
            worst, cell = determinant, int(part.numbers[at])
    return energy, worst, cell


def nodes_of(body: Body, nodes: str | np.ndarray, what: str) -> np.ndarray:
    """Node indices (k,) of the body's mesh, see `nodes_in`."""
    return nodes_in(body.mesh, nodes, what)


def nodes_in(mesh: Mesh, nodes: str | np.ndarray, what: str) -> np.ndarray:
    """Node indices (k,) by the name of a group or of a surface, by indices, whose order is kept, or by a mask (n,).

    Raises:
        MeshError: no such group, or no nodes of the mesh.
        InputError: none at all, or one of them twice.
    """
    if isinstance(nodes, str):
        chosen = np.unique(mesh.surfaces[nodes]) if nodes in mesh.surfaces else mesh.group(nodes)
    else:
        chosen = np.atleast_1d(nodes)
    if chosen.dtype == bool and chosen.shape == (len(mesh.nodes),):
        chosen = np.flatnonzero(chosen)
    if not chosen.size:
        raise InputError(f"{what}: no nodes{EMPTY if isinstance(nodes, str) and nodes in ENDS else ''}")
    checked = checked_indices(chosen, len(mesh.nodes), what)
    if len(checked) < chosen.size:
        raise InputError(f"{what}: {chosen.size - len(checked)} of {chosen.size} nodes are given twice")
    return chosen


def _checked_density(density: float) -> float:
    density = checked_number(density, "density", "kg/m³")
    if not 0.0 <= density < np.inf:
        raise MaterialError(f"density {density:g} kg/m³ is negative or not finite")
    return density
