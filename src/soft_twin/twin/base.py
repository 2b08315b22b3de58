"""What a twin of a cable-driven body is to the rest of the package, whatever physics is inside."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import InputError


@dataclass(frozen=True)
class Equilibrium:
    """A static equilibrium, in base_link.

    Attributes:
        points: (n, 3) positions of the body's nodes [m].
        tip: (3,) centre of the end section [m].
        displacements: (c,) cable pulled in at the base [m]; of a free cable, what keeps it just taut.
        tensions: (c,) cable tensions [N].
        residual: 2-norm of the unbalanced nodal forces [N].
        iterations: Newton steps that it took.
    """

    points: np.ndarray
    tip: np.ndarray
    displacements: np.ndarray
    tensions: np.ndarray
    residual: float
    iterations: int


@dataclass(frozen=True)
class Linearisation:
    """How one Newton step would move the body, as a function of the cables' tensions T (c,) ≥ 0:

    x_new = x + `drift` − `pull` T.

    Attributes:
        drift: (n, 3) step with all cables free [m].
        pull: (n, 3, c) step for a newton of tension, negative [m/N].
        displacements: (c,) before the step, as if without tension [m].
        drift_displacements: (c,) change of the displacements with all cables free [m].
        compliance: (c, c) change of the displacements for a newton of tension [m/N], the cables' own stretch included.
        residual: 2-norm of the unbalanced nodal forces before the step [N].
        energy: elastic energy before the step [J].
    """

    drift: np.ndarray
    pull: np.ndarray
    displacements: np.ndarray
    drift_displacements: np.ndarray
    compliance: np.ndarray
    residual: float
    energy: float


class Twin(ABC):
    """A body with a state: positions and cable tensions; the state is the start of the next solve.

    Attributes:
        points: (n, 3) current positions of the body's nodes in base_link [m].
        tensions: (c,) current cable tensions [N].
        length: undeformed length [m].
    """

    points: np.ndarray
    tensions: np.ndarray
    length: float

    @property
    @abstractmethod
    def cable_count(self) -> int:
        """Number of cables."""

    @abstractmethod
    def reset(self) -> None:
        """Back to the undeformed, unloaded state."""

    @abstractmethod
    def equilibrium(
        self,
        gravity: np.ndarray,
        displacements: Sequence[float | None] | None = None,
        tensions: Sequence[float] | None = None,
    ) -> Equilibrium:
        """The static equilibrium, found from the undeformed state; it becomes the current state.

        Args:
            gravity: (3,) in base_link [m/s²].
            displacements: (c,) cables pulled in [m], None for a cable that is free. A cable never pushes.
            tensions: (c,) tensions [N] ≥ 0. Neither: all cables free.

        Raises:
            InputError: wrong sizes, both given, negative tension, or not finite.
            ConvergenceError: no equilibrium was found.
        """

    @abstractmethod
    def linearise(self, gravity: np.ndarray) -> Linearisation:
        """The Newton step from the current state under gravity (3,) in base_link [m/s²]."""

    def relinearise(self, gravity: np.ndarray) -> Linearisation:
        """As `linearise`, but with what an earlier one has factorised, where that saves time and still is good:
        the residual and the displacements are exact, steps and sensitivities are those of the earlier state."""
        return self.linearise(gravity)

    @abstractmethod
    def advance(self, step: Linearisation, tensions: np.ndarray, largest_step: float) -> float:
        """Take the step with tensions (c,), shortened so that no node moves more than `largest_step` [m].

        Returns:
            The largest node movement that the whole step asked for [m].
        """

    @abstractmethod
    def displacements(self) -> np.ndarray:
        """(c,) of the current state [m]: rest lengths less current lengths, plus what the cables stretch."""

    @abstractmethod
    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        """The value of a nodal field (n, 3, …) at the centre of the cross section at z [m]: (3, …)."""

    def sections(self, heights: Sequence[float], field: np.ndarray) -> np.ndarray:
        """The values of a nodal field (n, 3) at the centres of the cross sections at `heights` (s,) [m]: (s, 3)."""
        return np.array([self.section(z, field) for z in heights])

    @abstractmethod
    def section_normal(self, z: float) -> np.ndarray:
        """(3,) unit normal of the cross section at z [m], +z undeformed."""

    @property
    @abstractmethod
    def surface(self) -> np.ndarray:
        """(t, 3) nodes of the triangles of the outer surface, outward."""

    @property
    def tip(self) -> np.ndarray:
        """(3,) centre of the end section in base_link [m]."""
        return self.section(self.length, self.points)


def checked_vector(values: Sequence[float], size: int, what: str) -> np.ndarray:
    """(size,) finite numbers.

    Raises:
        InputError: another size, or not finite.
    """
    try:
        vector = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected {size} numbers, found {values!r}") from error
    if vector.shape != (size,):
        raise InputError(f"{what}: expected {size} numbers, found an array of shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise InputError(f"{what}: {vector.tolist()} is not finite")
    return vector
