"""What a constraint on a body is to the solvers.

Some constraints take unknowns away: prescribed nodes, rigid plates. The others are rows g(x) with a multiplier each
that lies between bounds: the solvers find min Φ(x) subject to them, with ∂Φ/∂x = Jᵀ λ, J = ∂g/∂x, and

    g = 0 with −∞ ≤ λ ≤ ∞ (equality), g ≥ 0 with λ ≥ 0 (inequality: contact, a cable that only pulls),
    two slips g with |λ| ≤ b (Coulomb friction; λ is at its bound, against the slip, where it slips).

With a compliance c the row gives way by c λ: g + c λ takes the place of g, as for a cable that stretches.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.mechanics.body import Body
from soft_twin.mechanics.constraints.rows import Rows

if TYPE_CHECKING:
    from soft_twin.mechanics.unknowns import Coupling, Pose


class Constraint(ABC):
    """A constraint at the level of the whole body. A new one is a class with `attach`, and `rows` where it has some.

    Attributes:
        supports: whether there is a `support`.
        reaches_far: whether its rows couple nodes far apart, so that there can be none, and hold a body all the same.
        stop: what its rows do where they keep a body from going on, in words; "" where that is no news.
    """

    supports = False
    reaches_far = False
    stop = ""

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
        """Of one of two rows whose multipliers are bounded by that of another, |λ| ≤ μ λ': the other's key, and μ."""
        return None

    @property
    def groups(self) -> np.ndarray | None:
        """(m, k) nodes that `stiffness` couples; None: the rows' curvature is left out."""
        return None

    def stiffness(self, x: np.ndarray, multipliers: dict[int, float]) -> np.ndarray:
        """Blocks −Σ λ ∂²g/∂x² (m, k, k, 3, 3) for `groups`."""
        raise NotImplementedError

    def add_to(self, coupling: "Coupling", pose: "Pose", multipliers: dict[int, float]) -> None:
        """Add the stiffness at a pose to the matrix of its coupling."""
        coupling.add(self.stiffness(pose.points, multipliers), pose)

    def support(self, rows: Rows) -> np.ndarray:
        """Blocks Σ ∂g/∂x ⊗ ∂g/∂x (m, k, k, 3, 3) of some of its rows, for `groups`."""
        raise NotImplementedError
