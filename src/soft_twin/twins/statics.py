"""Static equilibria of driven bodies, by Newton's method on any twin that can be linearised."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp
from soft_twin.twins.base import Equilibrium, Linearisation, Twin

LARGEST_STEP = 0.02  # [m] no node moves further in one Newton step of an equilibrium
TOLERANCE = 1e-9  # of the loads, for the residual
ESCAPE = 0.002  # [m] that the furthest node moves when a saddle is left
MAX_ITERATIONS = 100
MORE_ITERATIONS = 200  # for a body that falls from a saddle
UNSTABLE = "it buckles, or its elements move without energy, as those of a single column of hex20r do"


@dataclass(frozen=True)
class Actuation:
    """What the actuators do: which are prescribed (a,), at what coordinate (a,), and the others' efforts (a,)."""

    prescribed: np.ndarray
    targets: np.ndarray
    loads: np.ndarray


class StaticTwin(Twin):
    """A twin whose equilibria are the minima of a potential energy.

    The body is as it was left by `advance`; `state` and `restore` save it and bring it back.

    Attributes:
        softness: (a,) coordinate that an effort takes up while the body stands still: the stretch of a cable [m/N].
        coordinate_tolerance: (a,) how exactly prescribed coordinates are met [m] or [m³].
        round_off: residual [N] that the arithmetic leaves.
    """

    softness: np.ndarray
    coordinate_tolerance: np.ndarray
    round_off: float

    @abstractmethod
    def body_coordinates(self) -> np.ndarray:
        """(a,) of the actuators in the current state, as if without effort."""

    @abstractmethod
    def residual(self, gravity: np.ndarray, efforts: np.ndarray) -> float:
        """2-norm of the unbalanced generalised forces in the current state."""

    @abstractmethod
    def load_norm(self, gravity: np.ndarray, efforts: np.ndarray) -> float:
        """How large the generalised forces of gravity (3,) and of the efforts (a,) are, in the unit of `residual`."""

    @abstractmethod
    def potential(self, gravity: np.ndarray) -> tuple[float, bool, int]:
        """Energy of body and gravity [J], whether the body is sound, and the cell that is deformed most."""

    @abstractmethod
    def state(self) -> Any:
        """What `restore` needs to come back to the current state."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Back to a state, efforts included."""

    @property
    def indefinite(self) -> bool:
        """Whether the stiffness of the last linearisation was not positive definite."""
        return False

    @abstractmethod
    def instability(self, gravity: np.ndarray, prescribed: np.ndarray) -> np.ndarray | None:
        """A direction, for `push`, in which the body leaves where its forces balance, with actuators that are
        prescribed (a,) where they are; None where it stands firmly.

        Raises:
            ConvergenceError: it stands, but would move without energy.
        """

    @abstractmethod
    def push(self, direction: np.ndarray, largest_step: float) -> None:
        """Move along a direction, so that the furthest node moves by that much [m]."""

    def coordinates(self) -> np.ndarray:
        return self._wound(self.efforts)

    def equilibrium(
        self,
        gravity: np.ndarray,
        displacements: Sequence[float | None] | None = None,
        tensions: Sequence[float] | None = None,
        *,
        coordinates: Sequence[float | None] | None = None,
        efforts: Sequence[float] | None = None,
    ) -> Equilibrium:
        gravity = checked_vector(gravity, 3, "gravity")
        actuation = self._actuation(
            {"displacements": displacements, "coordinates": coordinates}, {"tensions": tensions, "efforts": efforts}
        )
        self.reset()
        history: list[float] = []
        cell, allowed = 0, MAX_ITERATIONS
        while len(history) < allowed:
            step = self.linearise(gravity)
            goal = self._goal(step, actuation)
            residual = self.residual(gravity, goal)
            history.append(residual)
            small = TOLERANCE * self.load_norm(gravity, goal) + self.round_off
            if residual <= small and self._is_met(goal, actuation):
                self.efforts = goal
                direction = self.instability(gravity, actuation.prescribed & (goal > self.least_effort))
                if direction is None:
                    return Equilibrium(
                        self.points.copy(), self.tip, self.coordinates(), goal.copy(), residual, len(history) - 1
                    )
                self._leave(direction, goal, gravity, actuation, step)
                allowed = MAX_ITERATIONS + MORE_ITERATIONS
                continue
            cell = self._search(step, goal, gravity, actuation)
        raise ConvergenceError(
            f"no equilibrium after {allowed} steps: the residual is {history[-1]:.3g} N, cell {cell} is deformed most"
            + (f"; {UNSTABLE}" if self.indefinite else ""),
            tuple(history),
            cell,
        )

    def _actuation(self, coordinates: dict[str, Any], efforts: dict[str, Any]) -> Actuation:
        """From what was given under one of the names of the coordinates or of the efforts."""
        a = self.actuator_count
        given = [name for name, values in (coordinates | efforts).items() if values is not None]
        if len(given) > 1:
            raise InputError(f"equilibrium: give {given[0]} or {given[1]}, not both")
        loads = np.zeros(a)
        for name, values in efforts.items():
            if values is not None:
                loads = checked_vector(values, a, name)
                self._check_efforts(loads, name)
        prescribed, targets = np.zeros(a, dtype=bool), np.zeros(a)
        for name, values in coordinates.items():
            if values is not None:
                each = list(np.atleast_1d(np.asarray(values, dtype=object)))
                prescribed = np.array([value is not None for value in each], dtype=bool)
                targets = checked_vector([0.0 if value is None else value for value in each], a, name)
        return Actuation(prescribed, targets, loads)

    def _check_efforts(self, efforts: np.ndarray, name: str) -> None:
        if (efforts < self.least_effort).any():
            raise InputError(f"{name}: {efforts.tolist()} has a negative one, a cable never pushes")

    def _wound(self, efforts: np.ndarray) -> np.ndarray:
        """Coordinates (a,) that hold the current body at the given efforts."""
        return self.body_coordinates() + self.softness * efforts

    def _goal(self, step: Linearisation, actuation: Actuation) -> np.ndarray:
        """Efforts (a,) after the step: those of prescribed actuators bring the coordinates to their targets, or are
        the least where that is already beyond."""
        prescribed, efforts = actuation.prescribed, actuation.loads.copy()
        before = step.coordinates + step.free_coordinates + step.compliance[:, ~prescribed] @ efforts[~prescribed]
        missing = (actuation.targets - before)[prescribed]
        compliance = step.compliance[np.ix_(prescribed, prescribed)]
        efforts[prescribed] = solve_box_qp(compliance, -missing, self.least_effort[prescribed], np.inf)
        return efforts

    def _is_met(self, efforts: np.ndarray, actuation: Actuation) -> bool:
        """Whether the prescribed actuators keep to their law."""
        missing = np.where(actuation.prescribed, actuation.targets - self._wound(efforts), 0.0)
        missing = np.where(efforts > self.least_effort, np.abs(missing), missing)
        return bool((missing <= self.coordinate_tolerance).all())

    def _search(self, step: Linearisation, goal: np.ndarray, gravity: np.ndarray, actuation: Actuation) -> int:
        """Take as much of the step as lowers the potential energy of body, loads and prescribed actuators.

        Returns the cell that is deformed most.
        """
        start, compliance = self.state(), np.diag(step.compliance)
        reference, _, _ = self._merit(gravity, goal, actuation, compliance)
        largest = LARGEST_STEP
        for _ in range(30):
            self.restore(start)
            asked = self.advance(step, goal, largest)
            value, sound, cell = self._merit(gravity, goal, actuation, compliance)
            if sound and value <= reference + 1e-12 * (1.0 + abs(reference)):
                break
            largest = 0.5 * min(largest, asked)
        return cell

    def _leave(self, direction: np.ndarray, goal: np.ndarray, gravity: np.ndarray, actuation: Actuation, step) -> None:
        """Leave a saddle to the side on which the potential is lower."""
        start, compliance, best = self.state(), np.diag(step.compliance), (np.inf, 1.0)
        for sign in (1.0, -1.0):
            self.push(sign * direction, ESCAPE)
            best = min(best, (self._merit(gravity, goal, actuation, compliance)[0], sign))
            self.restore(start)
        self.push(best[1] * direction, ESCAPE)

    def _merit(
        self, gravity: np.ndarray, goal: np.ndarray, actuation: Actuation, compliance: np.ndarray
    ) -> tuple[float, bool, int]:
        """The potential [J], with the energy of what prescribed actuators stretch by; of those that do not stretch, the
        augmented Lagrangian with the body's own stiffness."""
        energy, sound, cell = self.potential(gravity)
        coordinates = self.body_coordinates()
        elastic = actuation.prescribed & (self.softness > 0.0)
        rigid = actuation.prescribed & ~elastic
        away = actuation.targets - coordinates
        stretch = np.where(self.least_effort < 0.0, away, np.maximum(away, 0.0))[elastic]
        value = energy - actuation.loads @ coordinates + 0.5 * (stretch**2 / self.softness[elastic]).sum()
        value += (goal * away + 0.5 * away**2 / compliance)[rigid].sum()
        return value, sound, cell
