"""Cables threaded through a body: curves that move with it, their lengths, forces and stiffness.

A cable is cut at the faces of the cells it passes, so that its stiffness adds no new entries to the matrix. In a cell
its length ∫ |∂x/∂t| dt is summed up over Gauss points: with the weights wₐ = g ∂Nₐ/∂t of a point, g its share of t, it
is the sum of the pieces ℓ = |d|, d = Σ wₐ xₐ, for which ∂ℓ/∂xₐ = wₐ d/ℓ and ∂²ℓ/∂xₐ∂xᵦ = wₐ wᵦ (I − d dᵀ/ℓ²)/ℓ. One
point is exact in linear tetrahedra, where cables are polylines; in cells that bend, chords would lie beside the curve.
Of a cable that runs outside the body to an anchor p, d = Σ wₐ xₐ − p is all of it.

A cable that ends at a cap (`caps.py`) runs over to where that holds it within the last cell: with the cap's point c and
the end e in the cell, both linear in x, g (c − e) is added to d of each of the cell's points.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import block_diag, coo_matrix, csr_matrix

from soft_twin.checks import checked_positions
from soft_twin.errors import InputError, MeshError
from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.compiled import kernel
from soft_twin.mechanics.body import nodes_in
from soft_twin.mechanics.caps import cap_weights
from soft_twin.mesh.embedding import cut_lines, natural_coordinates, slopes
from soft_twin.mesh.mesh import Mesh, jacobians

IN_PLANE = 1e-9  # [m]
SHORTEST = 1e-9  # [m]: a cable from a place to itself has no direction


class Cables:
    """Cables along straight lines of the undeformed body, or several of them one behind the other.

    Attributes:
        rest_lengths: (c,) lengths in the undeformed body [m].
    """

    def __init__(
        self,
        mesh: Mesh,
        starts: np.ndarray,
        ends: np.ndarray,
        points_per_cell: int | None = None,
        cables: np.ndarray | None = None,
        caps: bool = False,
    ):
        """`starts`, `ends`: (l, 3) undeformed ends [m], base first. `points_per_cell`: Gauss points of a cable in each
        cell that it passes; one in linear tetrahedra, otherwise two if not given. `cables`: (l,) the cable that each
        line is a part of, in order; one each if not given. `caps`: whether cables end at caps across them, not at a
        point of the material.

        Raises:
            InputError: ends of a wrong shape or number, not finite, or at one place; no points.
            MeshError: a cable leaves the body, or no cells end where a cap is to be.
        """
        starts, ends = _checked_ends(starts, ends, "starts")
        count = (1 if mesh.cells.shape[1] == 4 else 2) if points_per_cell is None else points_per_cell
        if count < 1:
            raise InputError(f"cables: at least 1 point in each cell is needed, not {count}")
        points, shares = np.polynomial.legendre.leggauss(count)
        cells, weights, owners = [], [], []
        for index, (passed, cuts) in enumerate(cut_lines(mesh, starts, ends)):
            lengths, direction = np.diff(cuts), ends[index] - starts[index]
            t = (cuts[:-1, None] + lengths[:, None] * 0.5 * (1.0 + points)).ravel()
            passed = np.repeat(passed, len(points))
            along = slopes(mesh, passed, starts[index] + t[:, None] * direction, direction)
            cells.append(passed)
            weights.append(0.5 * np.multiply.outer(lengths, shares).reshape(-1, 1) * along)
            owners.append(np.full(len(passed), index if cables is None else cables[index]))
        nodes, weights, owners = mesh.cells[np.concatenate(cells)], np.vstack(weights), np.concatenate(owners)
        if caps:
            lines = np.arange(len(starts)) if cables is None else np.asarray(cables)
            for line in np.flatnonzero(np.append(np.diff(lines), 1)):  # the last one of each cable
                held = _held_by_cap(mesh, cells[line][-1], starts[line], ends[line])
                last = np.flatnonzero(owners == lines[line])[-count:]
                nodes, weights = _with_more(nodes, weights, last, *held, 0.5 * shares)
        self._set(nodes, weights, np.zeros((len(nodes), 3)), owners, mesh.nodes)

    @classmethod
    def through(cls, mesh: Mesh, points: Sequence[np.ndarray], caps: bool = False) -> "Cables":
        """Cables inside the body, straight from each of their points (p, 3) [m] to the next, base first; `caps` as
        Cables has them.

        Raises:
            InputError, MeshError: as Cables.
        """
        lines = [np.asarray(each, dtype=float) for each in points]
        starts, ends = (np.concatenate([each[part] for each in lines]) for part in (slice(-1), slice(1, None)))
        owners = np.repeat(np.arange(len(lines)), [len(each) - 1 for each in lines])
        return cls(mesh, starts, ends, cables=owners, caps=caps)

    @classmethod
    def outside(cls, mesh: Mesh, anchors: np.ndarray, nodes: str | np.ndarray, ends: np.ndarray) -> "Cables":
        """Straight cables from fixed `anchors` (c, 3) to `ends` (c, 3) [m] that move with some nodes (a name, indices
        (k,) or a mask), such as a plate's: the ends follow by least-norm weights that are right for every affine motion
        of the nodes.

        Raises:
            InputError: ends of a wrong shape or number, not finite, or at one place; no nodes, or one twice.
            MeshError: no such nodes, or an end does not lie where the nodes, all in a plane perhaps, can carry it.
        """
        anchors, ends = _checked_ends(anchors, ends, "anchors")
        nodes = nodes_in(mesh, nodes, "cables outside")
        weights = _carried(mesh, nodes, ends)
        cables = cls.__new__(cls)
        groups = np.tile(nodes, (len(ends), 1))
        cables._set(groups, weights, -anchors, np.arange(len(ends)), mesh.nodes)
        return cables

    @classmethod
    def guided(cls, mesh: Mesh, anchor: np.ndarray, guides: Sequence[tuple[np.ndarray, str | np.ndarray]]) -> "Cables":
        """One cable outside the body: straight from a fixed `anchor` (3,) to the first guide, from guide to guide, and
        fixed at the last. Each is a point (3,) [m] and the nodes that carry it, as `outside` has them.

        Raises:
            InputError, MeshError: as `outside`.
        """
        points = np.array([anchor, *(point for point, _ in guides)], dtype=float)
        _checked_ends(points[:-1], points[1:], "points")
        carriers = [nodes_in(mesh, name, "cables outside") for _, name in guides]
        for first, second in zip(carriers, carriers[1:], strict=False):
            if np.isin(first, second).any():
                raise InputError("cables outside: guides one behind the other are carried by some of the same nodes")
        carried = [
            (nodes, _carried(mesh, nodes, point[None])[0]) for nodes, point in zip(carriers, points[1:], strict=True)
        ]
        before = [(np.zeros(0, np.int64), np.zeros(0)), *carried[:-1]]
        pieces = [
            (np.concatenate([nodes, behind]), np.concatenate([weights, -shares]))
            for (nodes, weights), (behind, shares) in zip(carried, before, strict=True)
        ]
        width = max(len(nodes) for nodes, _ in pieces)
        groups = np.array([np.pad(nodes, (0, width - len(nodes)), mode="edge") for nodes, _ in pieces])
        weights = np.array([np.pad(weights, (0, width - len(weights))) for _, weights in pieces])
        offsets = np.zeros((len(pieces), 3))
        offsets[0] = -points[0]
        cables = cls.__new__(cls)
        cables._set(groups, weights, offsets, np.zeros(len(pieces), np.int64), mesh.nodes)
        return cables

    @classmethod
    def joined(cls, parts: Sequence["Cables"]) -> "Cables":
        """All cables of several on one body, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        width = max(part._nodes.shape[1] for part in parts)
        padded = [_padded(part._nodes, part._weights, width) for part in parts]
        cables = cls.__new__(cls)
        first = np.cumsum([0, *(part.count for part in parts[:-1])])
        owners = np.concatenate([part._owners + start for part, start in zip(parts, first, strict=True)])
        nodes, weights = (np.concatenate(each) for each in zip(*padded, strict=True))
        cables._set(nodes, weights, np.concatenate([part._offsets for part in parts]), owners, parts[0]._rest)
        return cables

    @classmethod
    def bundles(cls, mesh: Mesh, fibres: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]]) -> "Cables":
        """Bundles of fibres that fill cells: each is as long as ∫ ‖F m‖ dV [m³], at rest the volume of its cells.

        Args:
            mesh: the body's.
            fibres: of each bundle its families: cells (p,), and the unit directions m (p, 3) in them; several families
                share the space alike.
        """
        nodes, weights, owners = [], [], []
        for bundle, families in enumerate(fibres):
            for cells, directions in families:
                along, shares = _fibre_weights(mesh, cells, directions)
                weights.append(along * shares[:, None] / len(families))
                nodes.append(np.repeat(mesh.cells[cells], len(shares) // len(cells), axis=0))
                owners.append(np.full(len(shares), bundle))
        cables = cls.__new__(cls)
        nodes = np.concatenate(nodes)
        cables._set(nodes, np.concatenate(weights), np.zeros((len(nodes), 3)), np.concatenate(owners), mesh.nodes)
        return cables

    def _set(self, nodes, weights, offsets, owners, rest: np.ndarray) -> None:
        self.count = int(owners.max()) + 1
        self._nodes, self._weights = np.ascontiguousarray(nodes), np.ascontiguousarray(weights)
        self._offsets, self._owners = np.ascontiguousarray(offsets), owners
        self._counts = self._weights.shape[1] - np.argmax(self._weights[:, ::-1] != 0.0, axis=1)  # without the padding
        self._first = np.searchsorted(owners, np.arange(self.count))
        self._each, self._ones, self._node_count = np.arange(len(owners)), np.ones(len(owners)), len(rest)
        self._rest = rest
        self.rest_lengths, directions = self.lengths_and_directions(rest)
        self._entries = directions[self._first]  # (c, 3)

    def run_through(self, mesh: Mesh) -> bool:
        """Whether it is this mesh, or one with the same nodes, that they were threaded through."""
        return self._rest is mesh.nodes or np.array_equal(self._rest, mesh.nodes)

    def lengths(self, x: np.ndarray) -> np.ndarray:
        """(c,) lengths at positions (n, 3) [m].

        Raises:
            InputError: positions of other nodes.
        """
        return self.lengths_and_directions(checked_positions(x, self._node_count))[0]

    def _pieces(self, x: np.ndarray) -> np.ndarray:
        """(s, 3) of each piece, along the cable and as long as its share of it [m]."""
        return np.einsum("sk,ski->si", self._weights, x[self._nodes]) + self._offsets

    def lengths_and_gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (c,) and their gradients by the nodes' positions, (n, 3, c)."""
        lengths, directions = self.lengths_and_directions(x)
        return lengths, self.gradients_along(directions)

    def lengths_and_directions(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (c,), and the unit vectors d/ℓ (s, 3) of the pieces: what the two below need of the positions."""
        return self._lengths_and_directions(x, self._owners, self.count)

    def pieces_and_directions(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (s,) of the pieces at positions (n, 3) [m], and their unit vectors (s, 3)."""
        return self._lengths_and_directions(x, self._each, len(self._nodes))

    def _lengths_and_directions(self, x: np.ndarray, owners: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """As above, of `count` owners (s,) of the pieces."""
        lengths, directions = np.zeros(count), np.empty((len(self._nodes), 3))
        _fill_directions(x, self._nodes, self._weights, self._counts, self._offsets, owners, lengths, directions)
        return lengths, directions

    def add_pull(self, directions: np.ndarray, tensions: np.ndarray, force: np.ndarray) -> None:
        """Add −Σ T ∂ℓ/∂x of the pieces' tensions (s,) [N] to nodal forces (n, 3) [N]."""
        _add_pull(self._nodes, self._weights, self._counts, directions, tensions, force)

    def changes(self, directions: np.ndarray, movements: np.ndarray) -> np.ndarray:
        """Changes (c, r) of the lengths, to first order, in movements (n, 3, r) of the nodes."""
        changes = np.zeros((self.count, movements.shape[2]))
        _add_changes(self._nodes, self._weights, self._counts, self._owners, directions, movements, changes)
        return changes

    @property
    def nodes(self) -> np.ndarray:
        """(s, k) nodes of the cell that each piece lies in: those that a tension couples."""
        return self._nodes

    def add_stiffness(self, x: np.ndarray, tensions: np.ndarray, offsets, strides, data: np.ndarray) -> None:
        """Add Σ T ∂²ℓ/∂x² of the pieces' tensions (s,) [N] to a matrix's data, at its addresses of `nodes`."""
        lengths, directions = self.pieces_and_directions(x)
        _add_stiffness(self._weights, self._counts, directions, tensions / lengths, offsets, strides, data)

    def blocks(self, x: np.ndarray, tensions: np.ndarray, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """T ∂²ℓ/∂x² (s, k, k, 3, 3) [N/m] of pieces with tensions (s,) [N], or of some of them."""
        lengths, directions = self.pieces_and_directions(x)
        weights, pulls = self._weights[which], (tensions / lengths)[which]
        blocks = np.zeros((len(pulls), *2 * weights.shape[1:], 3, 3))
        _fill_blocks(weights, directions[which], pulls, blocks)
        return blocks

    def jacobian(self, x: np.ndarray) -> csr_matrix:
        """∂ℓ/∂x (c, 3 n) at positions (n, 3)."""
        return self._spread(self.lengths_and_directions(x)[1], self._owners, (self.count, x.size))

    def piece_jacobian(self, x: np.ndarray) -> csr_matrix:
        """∂ℓ/∂x (s, 3 n) of each piece by itself."""
        count = len(self._owners)
        return self._spread(self.lengths_and_directions(x)[1], np.arange(count), (count, x.size))

    def _spread(self, slopes: np.ndarray, rows: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
        """Slopes (s, 3) by the pieces d as those by the positions, each added to its row of a matrix (r, 3 n)."""
        values = np.einsum("sk,si->ski", self._weights, slopes)
        rows = np.broadcast_to(rows[:, None, None], values.shape)
        columns = 3 * self._nodes[:, :, None] + np.arange(3)
        entries = values.ravel(), (rows.ravel(), columns.ravel())
        return coo_matrix(entries, shape=shape).tocsr()

    def gradients_along(self, directions: np.ndarray, factors: np.ndarray | None = None) -> np.ndarray:
        """∂ℓ/∂x (n, 3, c) of pieces with these directions (s, 3), each one's share times its factor (s,), if given."""
        factors = self._ones if factors is None else factors
        gradients = np.zeros((self._node_count, 3, self.count))
        _add_gradients(self._nodes, self._weights, self._counts, self._owners, directions, factors, gradients)
        return gradients

    def turning(self, x: np.ndarray) -> np.ndarray:
        """(s,) angle [rad] that each cable has turned to each piece, from where it enters as it lies undeformed."""
        directions = self.lengths_and_directions(x)[1]
        before = self._before(directions)
        across = np.linalg.norm(np.cross(before, directions), axis=1)
        total = np.cumsum(np.arctan2(across, (before * directions).sum(axis=1)))
        return total - np.append(0.0, total)[self._first][self._owners]

    def first_turns(self, x: np.ndarray) -> np.ndarray:
        """(c,) angle [rad] by which each cable turns where it begins."""
        return self.turning(x)[self._first]

    def turning_jacobian(self, x: np.ndarray) -> csr_matrix:
        """∂θ/∂x (s, 3 n) of those angles θ. Where a cable is straight they have a kink, and no slope is taken.

        Of the angle α between unit vectors b and d about n = b × d/|b × d|, ∂α/∂d = n × d and ∂α/∂b = b × n.
        """
        pieces, counts = self._pieces(x), np.bincount(self._owners)
        rows, shape = np.arange(len(pieces)), (len(pieces), x.size)
        lengths = np.linalg.norm(pieces, axis=1, keepdims=True)
        directions = pieces / lengths
        before = self._before(directions)
        axes = np.cross(before, directions)
        size = np.linalg.norm(axes, axis=1, keepdims=True)
        axes /= np.where(size > 0.0, size, 1.0)
        with_it = self._spread(np.cross(axes, directions) / lengths, rows, shape)
        with_next = self._spread(np.roll(np.cross(before, axes), -1, axis=0) / lengths, rows, shape)
        up_to, earlier = (block_diag([np.tri(n, k=last) for n in counts], format="csr") for last in (0, -1))
        return up_to @ with_it + earlier @ with_next

    def _before(self, directions: np.ndarray) -> np.ndarray:
        """(s, 3) direction before each piece: the last piece's, or where a cable begins that of the undeformed one."""
        before = np.roll(directions, 1, axis=0)
        before[self._first] = self._entries
        return before

    @property
    def owners(self) -> np.ndarray:
        """(s,) cable that each piece belongs to, in order from base to end."""
        return self._owners


def _fibre_weights(mesh: Mesh, cells: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At all quadrature points of cells (p,): weights (p q, k) of the nodes in F m, and volumes (p q,) [m³]."""
    matrices, determinants = jacobians(mesh)
    reference = mesh.element.gradients(mesh.element.points)
    inverse = np.linalg.inv(matrices[cells])
    along = np.einsum("qkj,pqji,pi->pqk", reference, inverse, directions)
    return along.reshape(-1, along.shape[2]), (determinants[cells] * mesh.element.weights).ravel()


def _held_by_cap(mesh: Mesh, cell: int, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (k,) and weights (k,) of c − e: from the end (3,) of a line in a cell to the cap's point."""
    nodes, weights = cap_weights(mesh, end, end - start)
    own = mesh.element.values(natural_coordinates(mesh, np.array([cell]), end[None]))[0]
    return np.concatenate([nodes, mesh.cells[cell]]), np.concatenate([weights, -own])


def _with_more(nodes, weights, rows, more, carried, shares) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (s, k) of pieces; those (m,) of `carried` are added, times a share each, to some rows of them,
    which have the same nodes."""
    union = np.unique(np.concatenate([nodes[rows[0]], more]))
    width = max(nodes.shape[1], len(union))
    nodes, weights = _padded(nodes, weights, width)
    for row, share in zip(rows, shares, strict=True):
        total = np.zeros(int(union.max()) + 1)
        np.add.at(total, nodes[row], weights[row])
        np.add.at(total, more, share * carried)
        nodes[row], weights[row] = (each[0] for each in _padded(union[None], total[union][None], width))
    return nodes, weights


def _padded(nodes: np.ndarray, weights: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of so many nodes: the last one again, without weight."""
    more = width - nodes.shape[1]
    return np.pad(nodes, ((0, 0), (0, more)), mode="edge"), np.pad(weights, ((0, 0), (0, more)))


def off_plane(mesh: Mesh, nodes: np.ndarray, point: np.ndarray) -> float:
    """How far [m] a point (3,) lies off the plane of nodes (k,), if they are all in one: they cannot carry it then."""
    centre = mesh.nodes[nodes].mean(axis=0)
    arms, wanted = (mesh.nodes[nodes] - centre).T, point - centre
    miss = float(np.linalg.norm(arms @ np.linalg.lstsq(arms, wanted, rcond=None)[0] - wanted))
    return miss if miss > IN_PLANE * (1.0 + np.abs(wanted).max()) else 0.0


def _carried(mesh: Mesh, nodes: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Least-norm weights (c, k) of nodes (k,) with which they carry ends (c, 3), right for every affine motion.

    Raises:
        MeshError: an end lies where the nodes, all in a plane perhaps, cannot carry it.
    """
    centre = mesh.nodes[nodes].mean(axis=0)
    arms, wanted = (mesh.nodes[nodes] - centre).T, (ends - centre).T
    weights = np.linalg.lstsq(arms, wanted, rcond=None)[0]
    miss = np.linalg.norm(arms @ weights - wanted, axis=0)
    weights += (1.0 - weights.sum(axis=0)) / len(nodes)
    if miss.max() > IN_PLANE * (1.0 + np.abs(wanted).max()):
        raise MeshError(
            f"the end of cable {int(miss.argmax())} is {1e3 * miss.max():.3g} mm off the plane of the "
            f"{len(nodes)} nodes that shall carry it: only a rigid plate's may"
        )
    return weights.T


def _checked_ends(starts: Sequence, ends: Sequence, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends (c, 3) of c ≥ 1 cables; `name` is what the starts are called.

    Raises:
        InputError: other shapes, unequal numbers, not finite, or no length.
    """
    starts, ends = _checked_points(starts, name), _checked_points(ends, "ends")
    if len(starts) != len(ends):
        raise InputError(f"cables: {len(starts)} {name} but {len(ends)} ends")
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if np.linalg.norm(end - start) < SHORTEST:
            raise InputError(f"cable {index} starts where it ends, at {end.tolist()} m: it has no direction")
    return starts, ends


def _checked_points(values: Sequence, name: str) -> np.ndarray:
    wanted = f"cables: {name} must be numbers (c, 3), three for each cable"
    try:
        points = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{wanted}, found {values!r}") from error
    if points.ndim != 2 or points.shape[1] != 3 or not len(points):
        raise InputError(f"{wanted}, found an array of shape {points.shape}")
    for index, point in enumerate(points):
        if not np.isfinite(point).all():
            raise InputError(f"{name} of cables: that of cable {index} is not finite, {point.tolist()}")
    return points


@kernel(error_model="numpy")
def _fill_directions(x, nodes, weights, counts, apart, owners, lengths, directions):
    for s in range(len(nodes)):
        d0, d1, d2 = apart[s, 0], apart[s, 1], apart[s, 2]
        for a in range(counts[s]):
            n, w = nodes[s, a], weights[s, a]
            d0 += w * x[n, 0]
            d1 += w * x[n, 1]
            d2 += w * x[n, 2]
        length = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        lengths[owners[s]] += length
        directions[s, 0], directions[s, 1], directions[s, 2] = d0 / length, d1 / length, d2 / length


@kernel()
def _add_gradients(nodes, weights, counts, owners, directions, factors, gradients):
    for s in range(len(nodes)):
        for a in range(counts[s]):
            share = factors[s] * weights[s, a]
            for i in range(3):
                gradients[nodes[s, a], i, owners[s]] += share * directions[s, i]


@kernel()
def _add_pull(nodes, weights, counts, directions, tensions, force):
    for s in range(len(nodes)):
        for a in range(counts[s]):
            pull = tensions[s] * weights[s, a]
            for i in range(3):
                force[nodes[s, a], i] -= pull * directions[s, i]


@kernel()
def _add_changes(nodes, weights, counts, owners, directions, movements, changes):
    for s in range(len(nodes)):
        change = changes[owners[s]]
        for a in range(counts[s]):
            w, u = weights[s, a], movements[nodes[s, a]]
            w0, w1, w2 = w * directions[s, 0], w * directions[s, 1], w * directions[s, 2]
            for r in range(len(change)):
                change[r] += w0 * u[0, r] + w1 * u[1, r] + w2 * u[2, r]


@kernel(error_model="numpy")
def _add_stiffness(weights, counts, directions, pulls, offsets, strides, data):
    """Add wₐ wᵦ T/ℓ (I − d dᵀ/ℓ²) to the blocks of each piece's nodes a, b ≤ a, which are symmetric; pulls are T/ℓ."""
    for s in range(len(pulls)):
        if pulls[s] == 0.0:
            continue
        d0, d1, d2 = directions[s, 0], directions[s, 1], directions[s, 2]
        block = -1
        for a in range(counts[s]):
            for b in range(a + 1):
                block += 1
                offset, stride = offsets[s, block], strides[s, block]
                if offset == DROPPED:
                    continue
                if offset < 0:
                    offset = TRANSPOSED - offset
                share = pulls[s] * weights[s, a] * weights[s, b]
                for j in range(3):
                    along = share * directions[s, j]
                    at = offset + j * stride
                    data[at] -= along * d0
                    data[at + 1] -= along * d1
                    data[at + 2] -= along * d2
                    data[at + j] += share


@kernel(error_model="numpy")
def _fill_blocks(weights, directions, pulls, blocks):
    """Fill zeroed blocks (s, k, k, 3, 3) with wₐ wᵦ T/ℓ (I − d dᵀ/ℓ²); pulls are T/ℓ."""
    for s in range(len(pulls)):
        if pulls[s] == 0.0:
            continue
        d = directions[s]
        for a in range(weights.shape[1]):
            for b in range(weights.shape[1]):
                share = pulls[s] * weights[s, a] * weights[s, b]
                for i in range(3):
                    for j in range(3):
                        blocks[s, a, b, i, j] = -share * d[i] * d[j]
                    blocks[s, a, b, i, i] += share
