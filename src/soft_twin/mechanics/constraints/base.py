"""What a constraint on a body is to the solvers.

Some constraints take unknowns away: prescribed nodes, rigid plates. The others are rows g(x) with a multiplier each
that lies between bounds: the solvers find min Φ(x) subject to them, with ∂Φ/∂x = Jᵀ λ, J = ∂g/∂x, and

    g = 0 with −∞ ≤ λ ≤ ∞ (equality), g ≥ 0 with λ ≥ 0 (inequality: contact, a cable that only pulls),
    slip g with −b ≤ λ ≤ b (Coulomb friction; λ is at its bound where it slips).

With a compliance c the row gives way by c λ: g + c λ takes the place of g, as for a cable that stretches.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.mechanics.body import Body

STICKING = 1.0 - 1e-6  # of its bound: what is less sticks


@dataclass(frozen=True)
class Rows:
    """Rows of a constraint at some positions.

    Attributes:
        keys: (m,) which rows these are, so that multipliers of one iteration find their rows in the next.
        values: (m,) g.
        jacobian: (m, 3 n) ∂g/∂x.
        lower, upper: (m,) bounds of the multipliers.
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

    def holding(self, known: dict[int, float], price: float | None) -> np.ndarray:
        """(m,) bool: inequalities that push, and friction that sticks."""
        values = self.pushing(known, price)
        sticks = np.isfinite(self.upper) & (np.abs(values) < STICKING * self.upper)
        return np.where(self.inequalities, values > 0.0, sticks)

    def multipliers(self, known: dict[int, float]) -> np.ndarray:
        """(m,) of these rows, 0 where none is known."""
        return np.array([known.get(int(key), 0.0) for key in self.keys])

    def by_key(self, values: np.ndarray) -> dict[int, float]:
        """Multipliers (m,) as they are known, without those that are 0."""
        return {int(key): float(value) for key, value in zip(self.keys, values, strict=True) if value != 0.0}

    def estimates(self, known: dict[int, float], price: float) -> np.ndarray:
        """(m,) what the augmented Lagrangian with a `price` of broken rows [N/m] takes for the multipliers: less than
        those known where g is more than zero, more where it is less."""
        wanted = self.multipliers(known) / price - self.values
        return np.clip(wanted / (self.compliance + 1.0 / price), self.lower, self.upper)

    def pushing(self, known: dict[int, float], price: float | None) -> np.ndarray:
        """(m,) the multipliers known, of inequalities the estimates where there is a `price` [N/m]."""
        values = self.multipliers(known)
        return values if price is None else np.where(self.inequalities, self.estimates(known, price), values)


class Constraint(ABC):
    """A constraint at the level of the whole body. A new one is a class with `attach`, and `rows` where it has some.

    Attributes:
        supports: whether there is a `support`.
    """

    supports = False

    @abstractmethod
    def attach(self, body: Body) -> None:
        """Look up names and prepare; called once by the model."""

    @property
    def prescribed(self) -> np.ndarray:
        """(k,) nodes whose positions this constraint gives."""
        return np.zeros(0, dtype=np.int64)

    def positions(self, time: float) -> np.ndarray:
        """(k, 3) of the prescribed nodes at a time [s]."""
        return np.zeros((0, 3))

    @property
    def plate(self) -> np.ndarray | None:
        """Nodes that move as a rigid body, if any."""
        return None

    def begin(self, x: np.ndarray) -> None:  # noqa: B027, most constraints do not care
        """A step starts at positions (n, 3). One that is not found is begun again."""

    def accept(self) -> None:  # noqa: B027
        """The step that was begun is found: obstacles and the like are now where the next one finds them."""

    def rows(self, x: np.ndarray, multipliers: dict[int, float]) -> Rows | None:
        """The rows that may matter near positions (n, 3), and the multipliers of the last iteration by key."""
        return None

    def bound(self, key: int) -> tuple[int, float] | None:
        """Of a row whose multiplier is bounded by that of another, |λ| ≤ μ λ': the other's key, and μ."""
        return None

    @property
    def groups(self) -> np.ndarray | None:
        """(m, k) nodes that `stiffness` couples; None: the rows' curvature is left out."""
        return None

    def stiffness(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        """Blocks −Σ λ ∂²g/∂x² (m, k, k, 3, 3) for `groups`."""
        raise NotImplementedError

    def support(self, rows: Rows) -> np.ndarray:
        """Blocks Σ ∂g/∂x ⊗ ∂g/∂x (m, k, k, 3, 3) of some of its rows, for `groups`."""
        raise NotImplementedError
