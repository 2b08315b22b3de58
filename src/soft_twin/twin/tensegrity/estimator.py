"""Estimators of a tensegrity's shape from its struts' inclinations: the interface, and the energy estimator."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.errors import InputError
from soft_twin.twin.tensegrity import kernels
from soft_twin.twin.tensegrity.cold_start import PlaneModel, plane_minima
from soft_twin.twin.tensegrity.descent import solve
from soft_twin.twin.tensegrity.faults import Situation, implausible_inclinations
from soft_twin.twin.tensegrity.forward import ForwardModel
from soft_twin.twin.tensegrity.newton import Laws, Minimiser, Minimum, Surroundings, Unknowns
from soft_twin.twin.tensegrity.readings import Readings, check_readings
from soft_twin.twin.tensegrity.shape import Certainty, Shape

if TYPE_CHECKING:
    from soft_twin.robots.tensegrity import TensegrityArm

SAME_SHAPE = 1e-3  # [m] largest distance between the nodes of what counts as one minimum
MAX_SLACK = 0.3  # share of the members
JUMP = 0.25  # [rad] from one update to the next, at which an inclination belongs to another pose
LOWER = 1e-4  # share of the energy by which a minimum must be lower to replace the tracked one
GAP_HALF = 0.005  # relative energy gap at which confidence is half
CURVATURE_HALF = 5.0  # [N/m] curvature at which confidence is half


class Estimator(ABC):
    """Finds the shape from inclinations and pressures, each time starting from the last shape."""

    def __init__(self, arm: "TensegrityArm"):
        self.arm = arm
        self.model = arm.model
        self._last: Shape | None = None
        self._last_pressures: np.ndarray | None = None
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Forget the last shape: the next update is a cold start, random with that seed (default: 0)."""
        self._random = np.random.default_rng(0 if seed is None else seed)
        self._last = None
        self._forget()

    def update(self, inclinations: np.ndarray, pressures: np.ndarray) -> Shape:
        """The shape at these readings.

        Args:
            inclinations: (s,) angle between each strut's axis, bottom → top, and up [rad]; NaN where unknown.
            pressures: (c,) gauge pressures of the cylinders [Pa]; NaN where unknown.

        Returns:
            The shape; struts without a usable inclination were freed, and `faults` names them. When the readings
            cannot be used at all, the last good shape, marked stale.

        Raises:
            InputError: an argument has the wrong size, or nothing is usable and there is no last shape.
        """
        cold = self._last is None
        readings = check_readings(self.model, inclinations, pressures, self._last_pressures)
        if readings.unusable:
            if self._last is None:
                raise InputError("; ".join(readings.faults))
            return replace(self._last, stale=True, confidence=0.0, faults=readings.faults)
        self._last_pressures = readings.pressures
        shape = self._estimate(readings)
        if cold and shape.confidence > 0.0:
            shape = replace(shape, faults=shape.faults + self.diagnose())
        if shape.converged:
            self._last = shape
        return shape

    def diagnose(self) -> tuple[str, ...]:
        """Sentences about readings of the last update that cannot be true; an estimator may know none."""
        return ()

    @abstractmethod
    def _estimate(self, readings: Readings) -> Shape:
        """The shape at readings that are usable."""

    @abstractmethod
    def _forget(self) -> None:
        """Drop everything that the last updates left."""


@dataclass(frozen=True)
class ColdStart:
    """What a cold start found: the minima, lowest energy first."""

    minima: tuple[Minimum, ...]

    @property
    def gap(self) -> float:
        """Energy from the lowest minimum to the next, relative to the lowest; inf when there is only one."""
        if len(self.minima) < 2:
            return np.inf
        lowest, following = self.minima[0].energy, self.minima[1].energy
        return (following - lowest) / max(abs(lowest), 1e-12)


class EnergyEstimator(Estimator):
    """min over (p, θ) of Σ ½k(m − b)₊² + cylinders' energy at the measured pressures + weights, inclinations given.

    Args:
        arm: the robot.
        tries: lifted starts of a cold start.
        tolerance: largest unbalanced force at a minimum [N].
    """

    def __init__(self, arm: "TensegrityArm", tries: int = 16, tolerance: float = 1e-3):
        self.tries = tries
        self.forward = ForwardModel(arm.model)
        self.minimiser = Minimiser(arm.structure, tolerance, max_iterations=400)
        self.unknowns = Unknowns(arm.structure, np.ones(arm.structure.strut_count, dtype=bool))
        self.all_free = Unknowns(arm.structure, np.zeros(arm.structure.strut_count, dtype=bool))
        self._weights = Surroundings.of_loads(arm.model.loads())
        super().__init__(arm)

    def _forget(self) -> None:
        self._factor: np.ndarray | None = None
        self._start: ColdStart | None = None
        self._softest: np.ndarray | None = None
        self._situation: Situation | None = None
        self._tracked = False

    def _estimate(self, readings: Readings) -> Shape:
        self._select(readings.measured)
        laws = self.model.laws.at(readings.pressures)
        return self._shape(self._solve(readings, laws, self._weights), laws, readings)

    def diagnose(self) -> tuple[str, ...]:
        """Sentences that name struts whose inclinations in the last update are swapped or wrong. Takes 1–80 ms.

        A cold start does this by itself; call it now and then while the arm runs. Inclinations also look wrong from a
        minimum that is not the shape, so a cold start first looks for a lower one, and the next update goes on there.
        """
        if self._situation is None:
            return ()
        faults = implausible_inclinations(self, self._situation)
        if faults and self._tracked and self._found_lower_minimum(self._situation):
            return implausible_inclinations(self, self._situation)
        return faults

    def _found_lower_minimum(self, last: Situation) -> bool:
        tracked = self.minimiser.energy(last.pose, last.laws, last.around)
        self._start = self.cold_start(last.inclinations, last.measured, last.laws, last.around)
        self._tracked = False
        minimum = self._start.minima[0]
        if not minimum.converged or minimum.energy > tracked - LOWER * abs(tracked):
            return False
        self._go_on_from(minimum, last)
        return True

    def _select(self, measured: np.ndarray) -> None:
        if not np.array_equal(measured, self.unknowns.measured):
            self.unknowns = Unknowns(self.model.structure, measured)
            self._softest = self._factor = None

    def _solve(self, readings: Readings, laws: Laws, around: Surroundings) -> Minimum:
        """The minimum next to the last pose; from a cold start where there is none or Newton's method fails."""
        minimum = self._warm_minimum(readings, laws, around)
        self._tracked = minimum is not None
        if minimum is None:
            self._start = self.cold_start(readings.inclinations, readings.measured, laws, around)
            minimum = self._start.minima[0]
        self._go_on_from(minimum, Situation(minimum.pose, readings.inclinations, readings.measured, laws, around))
        return minimum

    def _go_on_from(self, minimum: Minimum, situation: Situation) -> None:
        self._factor = minimum.factor
        self._situation = replace(situation, pose=minimum.pose)

    def _warm_minimum(self, readings: Readings, laws: Laws, around: Surroundings) -> Minimum | None:
        """The minimum next to the last pose; None where there is none, or the arm cannot have moved so far."""
        last = self._situation
        if last is None:
            return None
        both = readings.measured & last.measured
        if np.abs(readings.inclinations - last.inclinations)[both].max(initial=0.0) > JUMP:
            return None
        start = last.pose.with_inclinations(readings.inclinations, readings.measured)
        minimum = self.minimiser.minimise(start, self.unknowns, laws, around, self._factor)
        return minimum if minimum.converged else None

    def cold_start(self, inclinations: np.ndarray, measured: np.ndarray, laws: Laws, around: Surroundings) -> ColdStart:
        """Minima of the full energy, from lifted random starts of the yaws."""
        structure = self.model.structure
        rest = self.forward.solve(laws, around.loads)
        nodes = rest.pose.nodes(structure.strut_lengths)
        lengths = np.linalg.norm(nodes[structure.members[:, 0]] - nodes[structure.members[:, 1]], axis=1)
        tensions = kernels.tensions(nodes, self.minimiser.members, laws.stiffness, laws.natural)
        plane = PlaneModel.of_densities(structure, tensions / lengths)
        inclinations = np.where(measured, inclinations, np.arccos(rest.pose.directions[:, 2]))
        starts = self._random.normal(size=(self.tries, structure.strut_count, 3))
        minima = []
        for _, yaws in plane_minima(plane, inclinations, starts):
            sines = np.sin(inclinations)
            directions = np.column_stack([sines * np.cos(yaws), sines * np.sin(yaws), np.cos(inclinations)])
            pose = plane.pose(structure, directions)
            minima.append(self.minimiser.minimise(pose, self.unknowns, laws, around))
        return ColdStart(_distinct(minima, structure.strut_lengths))

    def _shape(self, minimum: Minimum, laws: Laws, readings: Readings, **more) -> Shape:
        certainty = Certainty(
            gap=self._start.gap if self._start else np.nan,
            curvature=self._curvature(minimum.factor),
            minima=len(self._start.minima) if self._start else 0,
        )
        shape = self.model.shape_of(
            minimum,
            laws,
            confidence=_confidence(certainty) if minimum.converged else 0.0,
            certainty=certainty,
            freed=tuple(np.flatnonzero(~readings.measured).tolist()),
            faults=readings.faults,
            **more,
        )
        slack = int(np.sum(shape.tensions <= 0.0))
        if slack > MAX_SLACK * len(shape.tensions):
            fault = f"{slack} of {len(shape.tensions)} members are slack: nothing determines the shape"
            return replace(shape, faults=(*shape.faults, fault), confidence=0.0)
        return shape

    def _curvature(self, factor: np.ndarray) -> float:
        """Smallest eigenvalue of the Hessian by inverse iteration, going on where the last update ended."""
        if self._softest is None:
            self._softest = np.random.default_rng(0).normal(size=factor.shape[1])
        for _ in range(2):
            solved = self._softest.copy()
            solve(factor, solved)
            size = np.linalg.norm(solved)
            curvature = float(np.linalg.norm(self._softest) / size)
            self._softest = solved / size
        return curvature


def _distinct(minima: list[Minimum], lengths: np.ndarray) -> tuple[Minimum, ...]:
    kept: list[Minimum] = []
    for minimum in sorted(minima, key=lambda one: (not one.converged, one.energy)):
        nodes = minimum.pose.nodes(lengths)
        if all(np.abs(nodes - other.pose.nodes(lengths)).max() > SAME_SHAPE for other in kept):
            kept.append(minimum)
    return tuple(kept)


def _confidence(certainty: Certainty) -> float:
    gap = 1.0 if np.isinf(certainty.gap) else certainty.gap / (certainty.gap + GAP_HALF)
    return float(gap * certainty.curvature / (certainty.curvature + CURVATURE_HALF))
