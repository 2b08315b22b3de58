"""Static equilibria of bodies that cables pull, by Newton's method on any twin that can be linearised."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soft_twin.errors import ConvergenceError, InputError
from soft_twin.twin.base import Equilibrium, Linearisation, Twin, checked_vector
from soft_twin.twin.qp import solve_box_qp

LARGEST_STEP = 0.02  # [m] no node moves further in one Newton step of an equilibrium
TOLERANCE = 1e-9  # of the loads, for the residual
LENGTH_TOLERANCE = 1e-9  # [m] for a cable's stretch
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class Actuation:
    """What the cables do: which are held (c,), at what displacement (c,) [m], and the others' tensions (c,) [N]."""

    held: np.ndarray
    targets: np.ndarray
    loads: np.ndarray


class StaticTwin(Twin):
    """A twin whose equilibria are the minima of a potential energy.

    The body is as it was left by `advance`; `state` and `restore` save it and bring it back.

    Attributes:
        rest_lengths: (c,) of the cables in the undeformed body [m].
        give: stretch of a cable for a newton of tension [m/N].
        round_off: residual [N] that the arithmetic leaves.
    """

    rest_lengths: np.ndarray
    give: float
    round_off: float

    @property
    def cable_count(self) -> int:
        return len(self.rest_lengths)

    @abstractmethod
    def lengths(self) -> np.ndarray:
        """(c,) of the cables in the current state [m]."""

    @abstractmethod
    def residual(self, gravity: np.ndarray, tensions: np.ndarray) -> float:
        """2-norm of the unbalanced generalised forces in the current state."""

    @abstractmethod
    def weight_norm(self, gravity: np.ndarray) -> float:
        """2-norm of the generalised forces of gravity (3,), in the unit of `residual`."""

    @abstractmethod
    def potential(self, gravity: np.ndarray) -> tuple[float, bool, int]:
        """Energy of body and gravity [J], whether the body is sound, and the cell that is deformed most."""

    @abstractmethod
    def state(self) -> Any:
        """What `restore` needs to come back to the current state."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Back to a state, tensions included."""

    @property
    def weakness(self) -> str:
        """Why the stiffness of the last linearisation is not positive definite; empty where it is."""
        return ""

    def displacements(self) -> np.ndarray:
        return self._wound(self.tensions)

    def equilibrium(
        self,
        gravity: np.ndarray,
        displacements: Sequence[float | None] | None = None,
        tensions: Sequence[float] | None = None,
    ) -> Equilibrium:
        gravity = checked_vector(gravity, 3, "gravity")
        actuation = self._actuation(displacements, tensions)
        self.reset()
        history: list[float] = []
        cell = 0
        for iteration in range(MAX_ITERATIONS):
            step = self.linearise(gravity)
            goal = self._goal(step, actuation)
            residual = self.residual(gravity, goal)
            history.append(residual)
            small = TOLERANCE * (self.weight_norm(gravity) + goal.sum()) + self.round_off
            if residual <= small and self._stretch_error(goal, actuation) <= LENGTH_TOLERANCE:
                self.tensions = goal
                if self.weakness:
                    raise ConvergenceError(f"the equilibrium is not stable: {self.weakness}", tuple(history), cell)
                return Equilibrium(self.points.copy(), self.tip, self.displacements(), goal.copy(), residual, iteration)
            cell = self._search(step, goal, gravity, actuation)
        raise ConvergenceError(
            f"no equilibrium after {MAX_ITERATIONS} steps: the residual is {history[-1]:.3g} N, "
            f"cell {cell} is deformed most" + (f"; {self.weakness}" if self.weakness else ""),
            tuple(history),
            cell,
        )

    def _actuation(self, displacements, tensions) -> Actuation:
        c = self.cable_count
        if displacements is not None and tensions is not None:
            raise InputError("equilibrium: give displacements or tensions, not both")
        loads = np.zeros(c) if tensions is None else checked_vector(tensions, c, "tensions")
        if (loads < 0.0).any():
            raise InputError(f"tensions: {loads.tolist()} has a negative one, a cable never pushes")
        given = [None] * c if displacements is None else list(np.atleast_1d(np.asarray(displacements, dtype=object)))
        held = np.array([value is not None for value in given], dtype=bool)
        targets = checked_vector([0.0 if value is None else value for value in given], c, "displacements")
        return Actuation(held, targets, loads)

    def _wound(self, tensions: np.ndarray) -> np.ndarray:
        """Displacements (c,) that hold the current lengths at the given tensions [m]."""
        return self.rest_lengths - self.lengths() + self.give * tensions

    def _goal(self, step: Linearisation, actuation: Actuation) -> np.ndarray:
        """Tensions (c,) after the step: of held cables T ≥ 0, and the displacement is the target where T > 0."""
        held, tensions = actuation.held, actuation.loads.copy()
        before = step.displacements + step.drift_displacements + step.compliance[:, ~held] @ tensions[~held]
        missing = (actuation.targets - before)[held]
        tensions[held] = solve_box_qp(step.compliance[np.ix_(held, held)], -missing, np.zeros(held.sum()), np.inf)
        return tensions

    def _stretch_error(self, tensions: np.ndarray, actuation: Actuation) -> float:
        """How far the held cables are from their elastic law [m]."""
        missing = np.where(actuation.held, actuation.targets - self._wound(tensions), 0.0)
        return float(np.abs(np.where(tensions > 0.0, missing, np.maximum(missing, 0.0))).max(initial=0.0))

    def _search(self, step: Linearisation, goal: np.ndarray, gravity: np.ndarray, actuation: Actuation) -> int:
        """Take as much of the step as lowers the potential energy of body, loads and stretched cables.

        Returns the cell that is deformed most.
        """
        start = self.state()
        reference, _, _ = self._merit(gravity, actuation)
        largest = LARGEST_STEP
        for _ in range(30):
            self.restore(start)
            asked = self.advance(step, goal, largest)
            value, sound, cell = self._merit(gravity, actuation)
            if sound and value <= reference + 1e-12 * (1.0 + abs(reference)):
                break
            largest = 0.5 * min(largest, asked)
        return cell

    def _merit(self, gravity: np.ndarray, actuation: Actuation) -> tuple[float, bool, int]:
        energy, sound, cell = self.potential(gravity)
        lengths = self.lengths()
        stretch = np.maximum(lengths - (self.rest_lengths - actuation.targets), 0.0)[actuation.held]
        return energy + actuation.loads @ lengths + 0.5 / self.give * (stretch @ stretch), sound, cell
