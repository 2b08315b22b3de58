"""What a force on a body is to the solvers."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.mechanics.body import Body

if TYPE_CHECKING:
    from soft_twin.mechanics.unknowns import Coupling, Pose


class Force(ABC):
    """A load at the level of the whole body. A new one is a class with `attach` and `force`.

    Where `stiffness` is given, Newton's method converges quadratically; where `energy` is given, its line search
    knows the load's potential, else it takes the work of the force as it was at the start of a step.
    """

    @abstractmethod
    def attach(self, body: Body) -> None:
        """Look up names and prepare; called once by the model.

        Raises:
            MeshError, InputError: names that match nothing, wrong shapes.
        """

    def begin(self, x: np.ndarray) -> None:  # noqa: B027, most forces do not care
        """A step starts at positions (n, 3). One that is not found is begun again."""

    @abstractmethod
    def force(self, x: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) [N] at positions (n, 3) [m]."""

    def add_force(self, x: np.ndarray, total: np.ndarray) -> None:
        """Add the nodal forces to a total (n, 3) [N]."""
        total += self.force(x)

    def energy(self, x: np.ndarray) -> float | None:
        """Potential energy [J] whose negative gradient is the force; None: it has none."""
        return None

    @property
    def groups(self) -> np.ndarray | None:
        """(m, k) nodes that `stiffness` couples; None: it has no stiffness."""
        return None

    def stiffness(self, x: np.ndarray) -> np.ndarray:
        """Blocks −∂f/∂x (m, k, k, 3, 3) [N/m] for `groups`, symmetric as a whole."""
        raise NotImplementedError

    def add_to(self, coupling: "Coupling", pose: "Pose", factor: float) -> None:
        """Add the stiffness at a pose, times a factor, to the matrix of its coupling."""
        coupling.add(factor * self.stiffness(pose.points), pose)

    def remainder(self, x: np.ndarray) -> csr_matrix | None:
        """What `stiffness` leaves out of −∂f/∂x (3 n, 3 n) [N/m], which exact derivatives ask for; None: nothing."""
        return None
