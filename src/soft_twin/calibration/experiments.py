"""Recorded experiments, and simulations of them with derivatives: a body that hangs, a body that moves."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from soft_twin.calibration.markers import Markers
from soft_twin.errors import InputError
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.derivatives.derivatives import record, sensitivities, trajectory_gradient
from soft_twin.solvers.derivatives.forward import trajectory_sensitivities
from soft_twin.solvers.derivatives.parameters import Parameter
from soft_twin.solvers.equilibrium import Solved, equilibrium
from soft_twin.solvers.time.integrators import Integrator


class Experiment(ABC):
    """A recording of markers and the model that is to do the same.

    The loss is the mean over markers and times of ‖x − x̄‖² [m²], x simulated and x̄ measured.

    Attributes:
        model, markers: what is simulated.
        measured: (t, m, 3) markers [m]; t = 1 for equilibria.
        parameters: of the model, by name; experiments of one body share the names.
        simulations: how many have been run.
    """

    def __init__(self, model: Model, markers: Markers, measured: np.ndarray, parameters: Mapping[str, Parameter]):
        """Raises InputError: `measured` has another shape, or is not finite."""
        self.model, self.markers, self.parameters = model, markers, dict(parameters)
        self.measured = np.asarray(measured, dtype=float)
        shape = self.measured.shape
        if len(shape) != 3 or shape[1:] != markers.rest.shape or not np.isfinite(self.measured).all():
            raise InputError(f"measured markers: expected finite (t, {len(markers.rest)}, 3), found {shape}")
        self.simulations = 0

    def set(self, values: Mapping[str, float]) -> None:
        """Set those of the values that are parameters here."""
        for name in self.parameters.keys() & values.keys():
            self.parameters[name].set(values[name])

    @abstractmethod
    def positions(self) -> np.ndarray:
        """Simulated markers (t, m, 3) [m].

        Raises:
            ConvergenceError: the simulation failed.
        """

    @abstractmethod
    def loss_and_gradient(self, names: list[str]) -> tuple[float, np.ndarray]:
        """Loss [m²] and its derivatives (p,) by the named parameters, zero for those that are not here.

        Raises:
            ConvergenceError: the simulation failed.
        """

    def _loss(self, positions: np.ndarray) -> tuple[float, np.ndarray]:
        """And its derivatives (t, m, 3) by the markers."""
        difference = positions - self.measured
        count = difference.shape[0] * difference.shape[1]
        return float((difference**2).sum()) / count, 2.0 * difference / count

    def _named(self, names: list[str]) -> tuple[list[int], list[Parameter]]:
        """Places in `names` of the parameters that are here, and those."""
        places = [place for place, name in enumerate(names) if name in self.parameters]
        return places, [self.parameters[names[place]] for place in places]


class Hanging(Experiment):
    """A body at rest under its loads, `measured` (1, m, 3). Each solution starts from the one before."""

    _pose: Pose | None = None

    def positions(self) -> np.ndarray:
        return self.markers.at(self._solve().pose.points)[None]

    def loss_and_gradient(self, names):
        positions, slopes = self.positions_and_slopes(names)
        loss, by_markers = self._loss(positions)
        return loss, np.einsum("tmi,tmip->p", by_markers, slopes)

    def positions_and_slopes(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Markers (1, m, 3) [m] and their derivatives (1, m, 3, p) by the named parameters."""
        solved = self._solve()
        places, parameters = self._named(names)
        slopes = np.zeros((*self.markers.rest.shape, len(names)))
        slopes[..., places] = self.markers.at(sensitivities(self.model, solved, parameters))
        return self.markers.at(solved.pose.points)[None], slopes[None]

    def _solve(self) -> Solved:
        self.simulations += 1
        solved = equilibrium(self.model, self._pose)
        self._pose = solved.pose
        return solved


class Released(Experiment):
    """A body let go at rest, undeformed: `measured` (t, m, 3) are the markers at the ends of the integrator's steps.

    Attributes:
        coordinates: (t, a) of the model's actuators, as the body last moved.
    """

    def __init__(self, integrator: Integrator, markers: Markers, measured: np.ndarray, parameters):
        super().__init__(integrator.model, markers, measured, parameters)
        self.integrator = integrator
        self.coordinates = np.full((len(self.measured), len(integrator.model.actuators)), np.nan)

    def positions(self) -> np.ndarray:
        self._restart()
        return np.array([self._noted(i, self.integrator.step()) for i in range(len(self.measured))])

    def loss_and_gradient(self, names):
        self._restart()
        moments = record(self.integrator, len(self.measured))
        loss, by_markers = self._loss(np.array([self.markers.at(moment.solved.pose.points) for moment in moments]))
        objective = np.array([self.markers.pull(each) for each in by_markers])
        places, parameters = self._named(names)
        gradient = np.zeros(len(names))
        gradient[places] = trajectory_gradient(self.integrator, moments, objective, parameters)
        return loss, gradient

    def positions_and_slopes(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Markers (t, m, 3) [m] and their derivatives (t, m, 3, p) by the named parameters.

        Raises:
            ConvergenceError: the simulation failed.
            UsageError: the model has contacts or plates.
        """
        self._restart()
        moments = record(self.integrator, len(self.measured))
        places, parameters = self._named(names)
        slopes = np.zeros((*self.measured.shape, len(names)))
        moved = trajectory_sensitivities(self.integrator, moments, parameters)
        slopes[..., places] = np.array([self.markers.at(each) for each in moved])
        return np.array([self._noted(i, moment.solved) for i, moment in enumerate(moments)]), slopes

    def _restart(self) -> None:
        self.simulations += 1
        rest = self.model.rest
        self.integrator.restart(rest, np.zeros_like(rest.points), 0.0)

    def _noted(self, step: int, solved: Solved) -> np.ndarray:
        """Markers (m, 3) at the end of a step."""
        self.coordinates[step] = self.model.actuators.coordinates(solved.pose.points)
        return self.markers.at(solved.pose.points)
