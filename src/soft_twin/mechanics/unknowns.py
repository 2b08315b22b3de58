"""Which coordinates of a body are free: nodes of their own, and rigid plates of six degrees of freedom.

The positions x (n, 3) of all nodes follow from the unknowns q: a free node has three of them, a prescribed node none,
and the nodes of a plate move with its translation dc and rotation dw, dx = dc + dw × r, where r is the arm from the
plate's centre. With T = ∂x/∂q, a nodal gradient g becomes Tᵀ g and a stiffness Tᵀ K T; the turning of the arms adds
sym(g rᵀ) − (g·r) I to the block of a plate's rotation. A plate is two more blocks of 3 unknowns behind the n nodes.
"""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from scipy.sparse import coo_matrix, csr_matrix
from scipy.spatial.transform import Rotation

from soft_twin.errors import MeshError
from soft_twin.linear_algebra.addresses import DROPPED
from soft_twin.linear_algebra.compiled import kernel
from soft_twin.linear_algebra.envelope import slender_order
from soft_twin.linear_algebra.sparse_cholesky import cholesky_for
from soft_twin.mechanics.body import Addresses, Part
from soft_twin.mechanics.materials.assembly import scatter_blocks

# Of the matrix: no more than is needed, or bodies fall and balance slowly; nor so little that cells drift which move
# without energy, as those of a single column of hex20r do.
SHIFTS = (-8, *range(-6, 5))


@dataclass(frozen=True)
class Pose:
    """Where everything is: nodes (n, 3) [m], and of each plate centre (p, 3) [m] and rotation since rest (p, 3, 3)."""

    points: np.ndarray
    centres: np.ndarray
    rotations: np.ndarray


class Unknowns:
    """See the module's docstring.

    Attributes:
        size: number of unknowns.
        matrix: the factorisation that all stiffness goes to.
        plate_of: (n,) plate of each node, −1 for none.
    """

    def __init__(
        self, nodes: np.ndarray, fixed: np.ndarray, plates: Sequence[np.ndarray], groups: Sequence[np.ndarray]
    ):
        """`nodes`: (n, 3) at rest. `fixed`: (n,) bool, prescribed ones. `plates`: nodes of each plate. `groups`:
        arrays (m, k) of nodes that forces couple.

        Raises:
            MeshError: nothing is free, a plate has fewer than three nodes, or a node is fixed twice.
        """
        self._rest = nodes
        self.plate_of = _plate_of(len(nodes), fixed, plates)
        self.plates = [np.asarray(plate) for plate in plates]
        free = np.concatenate([~fixed & (self.plate_of < 0), np.ones(2 * len(plates), dtype=bool)])
        if not free.any():
            raise MeshError("every node is held: nothing is left to solve for")
        extended = [self.extended(group) for group in groups]
        centres = np.repeat(self.rest.centres, 2, axis=0)
        self._place = slender_order(extended, free, np.concatenate([nodes, centres]))
        self.matrix = cholesky_for(extended, self._place)
        self.matrix.shifts = SHIFTS
        self.size = 3 * int(free.sum())
        self._order = np.argsort(self._place[: len(nodes)])[np.count_nonzero(self._place[: len(nodes)] < 0) :]
        self._constant = self._selection()
        turning = len(nodes) + 1 + 2 * np.arange(len(self.plates))
        self._turning = [self.matrix.addresses(np.array([[block]])) for block in turning]

    @property
    def rest(self) -> Pose:
        centres = np.array([self._rest[plate].mean(axis=0) for plate in self.plates]).reshape(-1, 3)
        return Pose(self._rest.copy(), centres, np.tile(np.eye(3), (len(self.plates), 1, 1)))

    @property
    def rotations(self) -> np.ndarray:
        """(p, 3) which of the unknowns are the plates' rotations."""
        return 3 * self._place[len(self._rest) + 1 :: 2, None] + np.arange(3)

    def transform(self, pose: Pose) -> csr_matrix:
        """T (3 n, size) at a pose."""
        if not self.plates:
            return self._constant
        values, pattern = [self._constant.data], self._pattern
        for index, plate in enumerate(self.plates):
            arms = -cross_matrices(pose.points[plate] - pose.centres[index])
            values.append(np.concatenate([np.tile(np.eye(3), (len(plate), 1, 1)), arms], axis=2).ravel())
        ordered = np.concatenate(values)[pattern.data]
        return csr_matrix((ordered, pattern.indices, pattern.indptr), shape=pattern.shape)

    @cached_property
    def _pattern(self) -> csr_matrix:
        """Which of T's entries, those of free nodes before those of each plate, stands where (3 n, size)."""
        constant = self._constant.tocoo()
        rows, columns = [constant.row], [constant.col]
        for index, plate in enumerate(self.plates):
            start = len(self._rest) + 2 * index
            places = np.concatenate([3 * self._place[start] + np.arange(3), 3 * self._place[start + 1] + np.arange(3)])
            rows.append(np.repeat(3 * plate[:, None] + np.arange(3), 6).ravel())
            columns.append(np.tile(places, 3 * len(plate)))
        rows, columns = np.concatenate(rows), np.concatenate(columns)
        return coo_matrix((np.arange(len(rows)), (rows, columns)), shape=self._constant.shape).tocsr()

    def move(self, pose: Pose, step: np.ndarray) -> Pose:
        """The pose after a step (size,) of the unknowns; plates turn by the exponential of their rotation."""
        blocks = np.zeros((len(self._place), 3))
        known = self._place >= 0
        blocks[known] = step.reshape(-1, 3)[self._place[known]]
        n = len(self._rest)
        points = pose.points + blocks[:n]
        if not self.plates:
            return Pose(points, pose.centres, pose.rotations)
        centres = pose.centres + blocks[n::2]
        rotations = Rotation.from_rotvec(blocks[n + 1 :: 2]).as_matrix() @ pose.rotations
        for index, plate in enumerate(self.plates):
            points[plate] = self.plate_points(index, centres[index], rotations[index])
        return Pose(points, centres, rotations)

    def reduced(self, field: np.ndarray, pose: Pose) -> np.ndarray:
        """Tᵀ of a nodal field (n, 3) or (n, 3, c) at a pose: (size,) or (size, c)."""
        if not self.plates:
            return field.take(self._order, axis=0).reshape(self.size, *field.shape[2:])
        blocks = np.zeros((self.size // 3, 3, *field.shape[2:]))
        each = math.prod(field.shape[2:])
        columns, into = np.ascontiguousarray(field).reshape(-1, 3, each), blocks.reshape(-1, 3, each)
        _add_reduced(columns, self._place, self.plate_of, self._arms(pose), into)
        return blocks.reshape(self.size, *field.shape[2:])

    def spread(self, step: np.ndarray, pose: Pose) -> np.ndarray:
        """T times a step (size,) or (size, c) at a pose: (n, 3) or (n, 3, c), to first order what it moves."""
        blocks = np.zeros((self.size // 3 + 1, 3, *step.shape[1:]))
        blocks[:-1] = step.reshape(-1, 3, *step.shape[1:])
        field = blocks.take(self._place[: len(self._rest)], axis=0, mode="wrap")  # where the place is −1 the last, zero
        if self.plates:
            each = math.prod(step.shape[1:])
            columns, into = blocks.reshape(-1, 3, each), field.reshape(-1, 3, each)
            _fill_on_plates(columns, self._place, self.plate_of, self._arms(pose), into)
        return field

    def _arms(self, pose: Pose) -> np.ndarray:
        """(n, 3) from the centre of a node's plate, and anything where it is on none [m]."""
        return pose.points - pose.centres.take(self.plate_of, axis=0, mode="wrap")

    def plate_points(self, plate: int, centre: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """(k, 3) positions of a plate's nodes at its centre (3,) and rotation (3, 3)."""
        rest = self._rest[self.plates[plate]]
        return centre + (rest - rest.mean(axis=0)) @ rotation.T

    def add_plate_curvature(self, gradient: np.ndarray, pose: Pose) -> None:
        """Add what the turning of the plates' arms makes of a nodal gradient (n, 3) to the matrix."""
        for index, plate in enumerate(self.plates):
            outer = gradient[plate].T @ (pose.points[plate] - pose.centres[index])
            block = 0.5 * (outer + outer.T) - np.trace(outer) * np.eye(3)
            _scatter(block[None, None, None], *self._turning[index], self.matrix.data)

    def extended(self, group: np.ndarray) -> np.ndarray:
        """The blocks (m, k') that groups of nodes (m, k) depend on: a plate's node is replaced by its translation,
        and the rotations of the plates that any of the groups touch come behind."""
        plates = self.plate_of[group]
        n = len(self._rest)
        nodes = np.where(plates >= 0, n + 2 * plates, group)
        touched = np.sort(plates, axis=1)
        touched[:, 1:][touched[:, 1:] == touched[:, :-1]] = -1
        touched = -np.sort(-touched, axis=1)
        touched = touched[:, : int((touched >= 0).sum(axis=1).max(initial=0))]
        rotations = np.where(touched >= 0, n + 2 * touched + 1, nodes[:, :1])
        return np.hstack([nodes, rotations])

    def _selection(self) -> csr_matrix:
        n = len(self._rest)
        own = np.flatnonzero(self._place[:n] >= 0)
        rows = (3 * own[:, None] + np.arange(3)).ravel()
        columns = (3 * self._place[own][:, None] + np.arange(3)).ravel()
        return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(3 * n, self.size))


class Coupling:
    """Groups of nodes (m, k) whose stiffness blocks go to the matrix of some unknowns.

    Attributes:
        on_plates: (m,) which groups touch a plate, and take a detour.
        direct: addresses in the matrix, none of the groups that take the detour, and the matrix's data.
    """

    def __init__(self, unknowns: Unknowns, nodes: np.ndarray):
        self._unknowns, matrix = unknowns, unknowns.matrix
        self.on_plates = (unknowns.plate_of[nodes] >= 0).any(axis=1)
        offsets = np.full((len(nodes), nodes.shape[1] * (nodes.shape[1] + 1) // 2), DROPPED)
        strides = np.zeros_like(offsets)
        offsets[~self.on_plates], strides[~self.on_plates] = matrix.addresses(nodes[~self.on_plates])
        self.direct = offsets, strides, matrix.data
        self._touching = nodes[self.on_plates]
        self._extended = unknowns.extended(self._touching)
        self._addresses = matrix.addresses(self._extended)
        self._find_columns()

    def take(self, chosen: np.ndarray) -> "Coupling":
        """Of some of the groups, (m',) indices."""
        (offsets, strides, data), some = self.direct, copy(self)
        some.on_plates, some.direct = self.on_plates[chosen], (offsets[chosen], strides[chosen], data)
        own = (np.cumsum(self.on_plates) - 1)[chosen[some.on_plates]]
        some._touching, some._extended, some._plates = self._touching[own], self._extended[own], self._plates[own]
        some._columns, some._turning = self._columns[own], self._turning[own]
        some._addresses = tuple(each[own] for each in self._addresses)
        return some

    def add(self, blocks: np.ndarray, pose: Pose) -> None:
        """Add the blocks (m, k, k, 3, 3), of which b ≤ a count, of all groups."""
        _scatter(np.ascontiguousarray(blocks), *self.direct)
        self.add_on_plates(blocks[self.on_plates], pose)

    def add_on_plates(self, blocks: np.ndarray, pose: Pose) -> None:
        """Add the blocks (m', k, k, 3, 3), of which b ≤ a count, of the groups that touch plates."""
        m = len(blocks)
        if m == 0:
            return
        size = self._extended.shape[1]
        arms = pose.points[self._touching] - pose.centres[self._plates]
        reduced = np.zeros((m, size, size, 3, 3))
        _reduce(np.ascontiguousarray(blocks), self._columns, self._turning, arms, reduced)
        _scatter(reduced, *self._addresses, self._unknowns.matrix.data)

    def _find_columns(self) -> None:
        """Of the nodes (m', k) of groups that touch plates: the block of the unknowns that each moves with, and that
        which turns it, −1 for none."""
        nodes, k = self._touching, self._touching.shape[1]
        plates = self._unknowns.plate_of[nodes]
        alike = (plates[:, :, None] == plates[:, None]) & (plates >= 0)[:, None]
        self._columns = np.where(plates < 0, np.arange(k), alike.argmax(axis=2))
        rotations = len(self._unknowns.plate_of) + 2 * plates + 1
        found = self._extended[:, None, k:] == rotations[:, :, None]
        self._turning = np.full(plates.shape, -1)
        on = plates >= 0
        self._turning[on] = k + found.argmax(axis=2)[on] if found.shape[2] else -1
        self._plates = np.where(on, plates, 0)


class PartCoupling:
    """A part of a body on some unknowns: cells that touch plates take a detour, others go straight to the matrix."""

    def __init__(self, unknowns: Unknowns, part: Part):
        on_plates = (unknowns.plate_of[part.cells] >= 0).any(axis=1)
        self.parts = [part.take(~on_plates), part.take(on_plates)]
        matrix = unknowns.matrix
        direct = Addresses(*matrix.addresses(self.parts[0].cells), matrix.data)
        m, k = self.parts[1].cells.shape
        count = k * (k + 1) // 2
        offsets = 9 * np.arange(m * count).reshape(m, count)
        self._store = Addresses(offsets, np.full(offsets.shape, 3), np.zeros(9 * m * count))
        self.addresses = [direct, self._store]
        self._coupling = Coupling(unknowns, self.parts[1].cells)

    def clear(self) -> None:
        """Before the cells are added."""
        self._store.data[:] = 0.0

    def finish(self, pose: Pose, factor: float) -> None:
        """Bring the cells that touch plates to the matrix, times `factor`."""
        m, k = self.parts[1].cells.shape
        if m == 0:
            return
        blocks = np.empty((m, k, k, 3, 3))
        _fill_lower(self._store.data.reshape(m, -1, 3, 3), factor, blocks)
        self._coupling.add_on_plates(blocks, pose)


def _plate_of(count: int, fixed: np.ndarray, plates: Sequence[np.ndarray]) -> np.ndarray:
    plate_of = np.full(count, -1)
    for index, plate in enumerate(plates):
        if len(plate) < 3:
            raise MeshError(f"a rigid plate needs three nodes, this one has {len(plate)}")
        if (plate_of[plate] >= 0).any() or fixed[plate].any():
            raise MeshError(f"plate {index} shares nodes with another plate or with prescribed nodes")
        plate_of[plate] = index
    return plate_of


def cross_matrices(vectors: np.ndarray) -> np.ndarray:
    """[v]× (…, 3, 3) of vectors (…, 3)."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


@kernel()
def _add_reduced(field, place, plate_of, arms, blocks):
    """Add Tᵀ of a field (n, 3, c) to the unknowns' blocks (b, 3, c)."""
    n = len(plate_of)
    for node in range(n):
        plate = plate_of[node]
        at = place[node] if plate < 0 else place[n + 2 * plate]
        if at < 0:
            continue
        f = field[node]
        for i in range(3):
            for c in range(f.shape[1]):
                blocks[at, i, c] += f[i, c]
        if plate >= 0:
            r, moment = arms[node], blocks[place[n + 2 * plate + 1]]
            for c in range(f.shape[1]):
                moment[0, c] += r[1] * f[2, c] - r[2] * f[1, c]
                moment[1, c] += r[2] * f[0, c] - r[0] * f[2, c]
                moment[2, c] += r[0] * f[1, c] - r[1] * f[0, c]


@kernel()
def _fill_on_plates(blocks, place, plate_of, arms, field):
    """Fill the nodes on plates of a field (n, 3, c) with dc + dw × r, of the unknowns' blocks (b, 3, c)."""
    n = len(plate_of)
    for node in range(n):
        plate = plate_of[node]
        if plate < 0:
            continue
        r, f = arms[node], field[node]
        centre, turn = blocks[place[n + 2 * plate]], blocks[place[n + 2 * plate + 1]]
        for c in range(f.shape[1]):
            f[0, c] = centre[0, c] + turn[1, c] * r[2] - turn[2, c] * r[1]
            f[1, c] = centre[1, c] + turn[2, c] * r[0] - turn[0, c] * r[2]
            f[2, c] = centre[2, c] + turn[0, c] * r[1] - turn[1, c] * r[0]


@kernel()
def _fill_lower(packed, factor, blocks):
    """Fill the blocks b ≤ a of (m, k, k, 3, 3) with `factor` times those that are packed by columns (m, p, 3, 3)."""
    m, k = blocks.shape[:2]
    for e in range(m):
        at = 0
        for a in range(k):
            for b in range(a + 1):
                for i in range(3):
                    for j in range(3):
                        blocks[e, a, b, i, j] = factor * packed[e, at, j, i]
                at += 1


@njit(cache=True, nogil=True)
def _reduce(blocks, columns, turning, arms, reduced):
    """Add Tᵀ K T of each group, T = [I, −[r]×] of its nodes on plates, to the blocks b ≤ a of `reduced`."""
    m, k = columns.shape
    K, KB = np.empty((3, 3)), np.empty((3, 3))
    for e in range(m):
        out = reduced[e]
        for a in range(k):
            for b in range(k):
                for i in range(3):
                    for j in range(3):
                        K[i, j] = blocks[e, a, b, i, j] if b <= a else blocks[e, b, a, j, i]
                row, column = columns[e, a], columns[e, b]
                row_turn, column_turn = turning[e, a], turning[e, b]
                if column <= row:
                    for i in range(3):
                        for j in range(3):
                            out[row, column, i, j] += K[i, j]
                if row_turn >= 0:
                    _add_turned(arms[e, a], K, out[row_turn, column])
                    if column_turn >= 0 and column_turn <= row_turn:
                        for i in range(3):
                            _cross_row(K[i], arms[e, b], KB[i])
                        _add_turned(arms[e, a], KB, out[row_turn, column_turn])


@njit(inline="always")
def _cross_row(row, arm, result):
    """row · (−[r]×) = r × row, a row of K B."""
    result[0] = arm[1] * row[2] - arm[2] * row[1]
    result[1] = arm[2] * row[0] - arm[0] * row[2]
    result[2] = arm[0] * row[1] - arm[1] * row[0]


@njit(inline="always")
def _add_turned(arm, K, out):
    """Add (−[r]×)ᵀ K = [r]× K."""
    for j in range(3):
        out[0, j] += arm[1] * K[2, j] - arm[2] * K[1, j]
        out[1, j] += arm[2] * K[0, j] - arm[0] * K[2, j]
        out[2, j] += arm[0] * K[1, j] - arm[1] * K[0, j]


@njit(cache=True, nogil=True)
def _scatter(blocks, offsets, strides, data):
    for e in range(len(blocks)):
        scatter_blocks(blocks[e], offsets[e], strides[e], data)
