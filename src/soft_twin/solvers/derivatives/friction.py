"""How friction turns: derivatives of its rows that solvers do without, by central differences of fourth order.

As the point of contact moves, so do the directions of friction, and, on a face, what part of each node's movement it
feels. Nodes are moved together as long as no row, and no node beside them, feels two of them.
"""

from functools import cached_property
from itertools import count

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, vstack

from soft_twin.errors import ConvergenceError
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.model import Model

STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -8.0 / 12.0), (1.0, 8.0 / 12.0), (2.0, -1.0 / 12.0))
STEP = 1e-5  # of the body's size


class FrictionDerivatives:
    """How the rows of friction turn at positions x (n, 3).

    Args:
        model: whose rows they are.
        x: (n, 3) positions.
        multipliers: of each constraint, by key; rows without one are left out.
        rows: of each constraint at x.
    """

    def __init__(self, model: Model, x: np.ndarray, multipliers: Multipliers, rows: list[Rows | None]):
        self._model, self._x, self._rows = model, x, rows
        self._multipliers = Multipliers(
            {key: value for key, value in known.items() if constraint.bound(key) is not None}
            for constraint, known in zip(model.constraints, multipliers, strict=True)
        )
        self._known = multipliers
        self._step = STEP * float(np.linalg.norm(model.body.mesh.size))
        self._incidence = self._nodes_of_rows()
        self._near = (self._incidence.T @ self._incidence).tocsr()
        self.nodes = np.flatnonzero(self._near.diagonal())

    @cached_property
    def turning(self) -> np.ndarray:
        """∂(Σ λ t)/∂x (3 p, 3 p) [N/m] of the forces on `nodes` by where these are."""
        place = np.full(len(self._x), -1)
        place[self.nodes] = np.arange(len(self.nodes))
        result = np.zeros((len(self.nodes), 3, len(self.nodes), 3))
        for moved in self._colours():
            near = self._near[moved].tocoo()
            pushed, by = near.col, moved[near.row]
            for axis in range(3):
                change = self._difference(moved, axis, self._forces)
                result[place[pushed], :, place[by], axis] = change[pushed]
        return result.reshape(3 * len(self.nodes), 3 * len(self.nodes))

    def bending(self, direction: np.ndarray) -> np.ndarray:
        """(Σ λ ∂²g/∂x²) of all other rows times a nodal field (n, 3): (n, 3) [N].

        Raises:
            ConvergenceError: a contact is lost within the difference that it is taken by.
        """
        others = Multipliers(
            {key: value for key, value in known.items() if key not in own}
            for known, own in zip(self._known, self._multipliers, strict=True)
        )
        total, largest = np.zeros_like(direction), float(np.abs(direction).max())
        if largest == 0.0 or not any(others):
            return total
        for way, weight in STENCIL:
            x = self._x + way * self._step / largest * direction
            rows = self._rows_at(x, others)
            if any(
                own is None or not set(known) <= set(own.keys.tolist())
                for own, known in zip(rows, others, strict=True)
                if known
            ):
                raise ConvergenceError("no derivatives: a contact is lost within the difference that one is taken by")
            total += weight * largest / self._step * others.reactions(rows, x)
        return total

    def jacobian(self) -> csr_matrix:
        """∂g/∂x (m, 3 n) of all rows of all constraints, those of friction with all that moving nodes does to them."""
        own = vstack([rows.jacobian for rows in self._rows if rows is not None and len(rows.keys)]).tocsr()
        kept = np.diff(self._incidence.indptr) == 0
        rows, columns, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        for moved in self._colours():
            felt = self._incidence[:, moved].tocoo()
            for axis in range(3):
                rows.append(felt.row)
                columns.append(3 * moved[felt.col] + axis)
                values.append(self._difference(moved, axis, self._values)[felt.row])
        places = np.concatenate(rows), np.concatenate(columns)
        turned = coo_matrix((np.concatenate(values), places), shape=own.shape)
        return own.multiply(kept[:, None]).tocsr() + turned.tocsr()

    def _nodes_of_rows(self) -> csr_matrix:
        """(m, n) which nodes each row of friction feels, of all rows of all constraints."""
        parts = [csr_matrix((0, len(self._x)))]
        for rows, known in zip(self._rows, self._multipliers, strict=True):
            if rows is None or not len(rows.keys):
                continue
            entries = rows.jacobian.tocoo()
            chosen = np.isin(rows.keys, list(known))[entries.row] & (entries.data != 0.0)
            places = entries.row[chosen], entries.col[chosen] // 3
            parts.append(coo_matrix((np.ones(len(places[0])), places), shape=(len(rows.keys), len(self._x))).tocsr())
        return (vstack(parts) > 0.0).astype(float).tocsr()

    def _colours(self) -> list[np.ndarray]:
        """Nodes that may be moved at once."""
        beyond = (self._near @ self._near).tocsr()
        colours = np.full(len(self._x), -1)
        for node in self.nodes:
            taken = set(colours[beyond.indices[beyond.indptr[node] : beyond.indptr[node + 1]]].tolist())
            colours[node] = next(colour for colour in count() if colour not in taken)
        return [np.flatnonzero(colours == colour) for colour in range(colours.max() + 1)]

    def _difference(self, moved: np.ndarray, axis: int, function) -> np.ndarray:
        """Derivative of an array `function(x)` by moving some nodes along an axis."""
        total = 0.0
        for way, weight in STENCIL:
            x = self._x.copy()
            x[moved, axis] += way * self._step
            total = total + weight / self._step * function(x)
        return total

    def _forces(self, x: np.ndarray) -> np.ndarray:
        return self._multipliers.reactions(self._rows_at(x, self._multipliers), x)

    def _values(self, x: np.ndarray) -> np.ndarray:
        """g (m,) of all rows of all constraints."""
        return values_of(self._rows_at(x, self._known), self._rows)

    def _rows_at(self, x: np.ndarray, known: Multipliers) -> list[Rows | None]:
        return [constraint.rows(x, own) for constraint, own in zip(self._model.constraints, known, strict=True)]


def values_of(rows: list[Rows | None], wanted: list[Rows | None]) -> np.ndarray:
    """g (m,) of all rows that are `wanted`, not a number where they are no longer there."""
    result = [np.zeros(0)]
    for own, asked in zip(rows, wanted, strict=True):
        values = {} if own is None else dict(zip(own.keys.tolist(), own.values, strict=True))
        result += [] if asked is None else [np.array([values.get(key, np.nan) for key in asked.keys.tolist()])]
    return np.concatenate(result)
