"""Rows of constraints: functions of the positions that multipliers keep to their bounds.

Rows with an upper bound are of friction, two one behind the other for each point, in directions across each other: it
bounds the length of their two multipliers, Coulomb's disc.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix, vstack

STICKING = 1.0 - 1e-6  # of its bound: what is less sticks


@dataclass(frozen=True)
class Rows:
    """Rows of a constraint at some positions.

    Attributes:
        keys: (m,) which rows these are, so that multipliers of one iteration find their rows in the next.
        values: (m,) g.
        jacobian: (m, 3 n) ∂g/∂x.
        lower, upper: (m,) bounds of the multipliers; of friction, −b and b.
        compliance: (m,) c ≥ 0.
    """

    keys: np.ndarray
    values: np.ndarray
    jacobian: csr_matrix
    lower: np.ndarray
    upper: np.ndarray
    compliance: np.ndarray

    def take(self, chosen: np.ndarray) -> "Rows":
        """Some of the rows, (m,) bool."""
        arrays = (self.keys, self.values, self.jacobian, self.lower, self.upper, self.compliance)
        return self if chosen.all() else Rows(*(values[chosen] for values in arrays))

    def moved(self, step: np.ndarray) -> "Rows":
        """The rows after a step (3 n,) [m], as their Jacobian has it."""
        return replace(self, values=self.values + self.jacobian @ step)

    @property
    def inequalities(self) -> np.ndarray:
        """(m,) bool: g ≥ 0."""
        return (self.lower == 0.0) & np.isinf(self.upper)

    @property
    def pairs(self) -> np.ndarray:
        """(r, 2) places of the rows of friction, those of a point beside each other."""
        return np.flatnonzero(np.isfinite(self.upper)).reshape(-1, 2)

    def bounded(self, wanted: np.ndarray) -> np.ndarray:
        """(m,) the multipliers that are nearest to those `wanted` (m,)."""
        result, pairs = np.clip(wanted, self.lower, self.upper), self.pairs
        lengths, bounds = np.linalg.norm(wanted[pairs], axis=1), self.upper[pairs[:, 0]]
        result[pairs] = wanted[pairs] * np.minimum(1.0, bounds / np.maximum(lengths, 1e-300))[:, None]
        return result

    def between(self, values: np.ndarray) -> np.ndarray:
        """(m,) bool: multipliers (m,) that are at no bound."""
        result, pairs = (self.lower < values) & (values < self.upper), self.pairs
        result[pairs] = (np.linalg.norm(values[pairs], axis=1) < self.upper[pairs[:, 0]])[:, None]
        return result

    def holding(self, known: dict[int, float], penalty: float | None) -> np.ndarray:
        """(m,) bool: inequalities that push, and friction that sticks."""
        values = self.pushing(known, penalty)
        sticks = np.isfinite(self.upper) & self.between(values / STICKING)
        return np.where(self.inequalities, values > 0.0, sticks)

    def multipliers(self, known: dict[int, float]) -> np.ndarray:
        """(m,) of these rows, 0 where none is known."""
        return np.array([known.get(key, 0.0) for key in self.keys.tolist()])

    def by_key(self, values: np.ndarray) -> dict[int, float]:
        """Multipliers (m,) as they are known, without those that are 0."""
        return {key: value for key, value in zip(self.keys.tolist(), values.tolist(), strict=True) if value != 0.0}

    def estimates(self, known: dict[int, float], penalty: float) -> np.ndarray:
        """(m,) what the augmented Lagrangian with a `penalty` of broken rows [N/m] takes for the multipliers: less than
        those known where g is more than zero, more where it is less."""
        wanted = self.multipliers(known) / penalty - self.values
        return self.bounded(wanted / (self.compliance + 1.0 / penalty))

    def pushing(self, known: dict[int, float], penalty: float | None) -> np.ndarray:
        """(m,) the multipliers known, of inequalities the estimates where there is a `penalty` [N/m]."""
        values = self.multipliers(known)
        return values if penalty is None else np.where(self.inequalities, self.estimates(known, penalty), values)


def stacked(rows: Sequence[Rows | None], transform: csr_matrix) -> Rows | None:
    """All rows as one, their Jacobian by the unknowns; None where there are none."""
    present = [each for each in rows if each is not None and len(each.keys)]
    if not present:
        return None
    jacobian = (vstack([each.jacobian for each in present]) @ transform).tocsr()
    arrays = [(each.keys, each.values, each.lower, each.upper, each.compliance) for each in present]
    keys, values, lower, upper, compliance = (np.concatenate(parts) for parts in zip(*arrays, strict=True))
    return Rows(keys, values, jacobian, lower, upper, compliance)
