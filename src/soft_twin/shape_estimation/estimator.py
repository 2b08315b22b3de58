"""Estimators of a tensegrity's shape from its struts' inclinations: the interface, and the energy estimator."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from soft_twin.checks import check_positive, checked_count
from soft_twin.errors import InputError
from soft_twin.shape_estimation.cold_start import PlaneModel, plane_minima
from soft_twin.shape_estimation.faults import (
    MISMATCH_LIMIT,
    Situation,
    implausible_inclinations,
    inclination_mismatches,
)
from soft_twin.shape_estimation.readings import Readings, check_readings
from soft_twin.twins.tensegrity import kernels
from soft_twin.twins.tensegrity.descent import solve
from soft_twin.twins.tensegrity.forward import ForwardModel
from soft_twin.twins.tensegrity.model import ArmModel
from soft_twin.twins.tensegrity.newton import Laws, Minimiser, Minimum, StrutPlacement, Surroundings, Unknowns
from soft_twin.twins.tensegrity.shape import Certainty, Shape

SAME_SHAPE = 1e-3  # [m] largest distance between the nodes of what counts as one minimum
JUMP = 0.25  # [rad] from one update to the next, at which an inclination belongs to another pose
LOWER = 1e-4  # share of the energy by which a minimum must be lower to replace the tracked one
GAP_HALF = 0.005  # relative energy gap at which confidence is half
CURVATURE_HALF = 5.0  # [N/m] curvature at which confidence is half
PLAUSIBLE_WORK = 0.4  # [J] of unknown forces, for each strut; TM40's right minimum needs 0.2, wrong ones 0.7 and more
MAX_SEARCHES = 4  # of a cold start, while none finds a plausible minimum


class Estimator(ABC):
    """Finds the shape from inclinations and pressures, each time starting from the last shape."""

    def __init__(self, model: ArmModel):
        self.model = model
        self._last: Shape | None = None
        self._last_pressures: np.ndarray | None = None
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Forget the last shape: the next update is a cold start, random with that seed (default: 0).

        Raises:
            InputError: a seed that is no whole number from 0; nothing is forgotten then.
        """
        self._random = np.random.default_rng(0 if seed is None else checked_count(seed, "seed", 0))
        self._last = None
        self._forget()

    def update(self, inclinations: np.ndarray, pressures: np.ndarray) -> Shape:
        """The shape at these readings.

        Args:
            inclinations: (s,) angle between each strut's axis, bottom → top, and up [rad]; NaN where unknown.
            pressures: (c,) gauge pressures of the cylinders [Pa]; NaN where unknown.

        Returns:
            The shape; struts without a usable inclination were freed, and `faults` names them. When the readings
            cannot be used at all, or leave the arm slack, the last good shape, marked stale.

        Raises:
            InputError: an argument has the wrong size, or nothing is usable and there is no last shape.
            ConvergenceError: a cold start, and the model has no equilibrium at these pressures.
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
        if shape.confidence > 0.0:
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
    """What a cold start found.

    Attributes:
        minima: lowest energy first.
        rest_energy: of the arm in equilibrium, at the same pressures and loads [J].
    """

    minima: tuple[Minimum, ...]
    rest_energy: float

    @property
    def work(self) -> float:
        """What unknown forces must have done on the arm at rest, if the lowest minimum is its shape [J]."""
        return self.minima[0].energy - self.rest_energy

    @property
    def gap(self) -> float:
        """Energy from the lowest minimum to the next, relative to the lowest; inf when there is only one."""
        if len(self.minima) < 2:
            return np.inf
        lowest, following = self.minima[0].energy, self.minima[1].energy
        return (following - lowest) / max(abs(lowest), 1e-12)


class EnergyEstimator(Estimator):
    """min over poses of V + Σ ½ κ (φ − φ_measured)²: the most probable shape.

    V = Σ ½k(m − b)₊² + the cylinders' energy at the measured pressures + weights. On the real arm, forces that are in
    no model do some work E on it, so that a pose has the prior probability exp(−V/E), and an inclination is measured
    with a standard deviation σ. The negative logarithm of the product, times E, is the sum above with κ = E/σ².
    Enforcing noisy inclinations (κ = ∞) strains what is stiff, which pushes the arm along its soft directions.

    Args:
        model: of the arm.
        tries: lifted starts of a cold start.
        tolerance: largest unbalanced force at a minimum [N].
        inclination_noise: σ [rad].
        unknown_work: E [J]; half the work of a force of 1 N at TM40's tip is 0.03 to 0.04 J.

    Raises:
        InputError: one of them is not positive, or tries are no whole number.
    """

    def __init__(
        self, model: ArmModel, tries: int = 16, tolerance: float = 1e-3, inclination_noise: float = 0.0122,
        unknown_work: float = 0.03,
    ):  # fmt: skip
        for value, what, unit in (
            (tolerance, "tolerance", "N"),
            (inclination_noise, "inclination_noise", "rad"),
            (unknown_work, "unknown_work", "J"),
        ):
            check_positive(value, what, unit)
        self.tries = checked_count(tries, "tries")
        self.inclination_noise = inclination_noise
        self.unknown_work = unknown_work
        self.forward = ForwardModel(model)
        self.minimiser = Minimiser(model.structure, tolerance, max_iterations=400)
        self.unknowns = Unknowns(model.structure, np.ones(model.structure.strut_count, dtype=bool))
        self.all_free = Unknowns(model.structure, np.zeros(model.structure.strut_count, dtype=bool))
        self._weights = Surroundings.of_loads(model.loads())
        super().__init__(model)

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

        If all are plausible, and the shape is not, that is said.

        A cold start does this by itself; call it now and then while the arm runs. Inclinations also look wrong from a
        minimum that is not the shape, so a cold start first looks for a lower one, and the next update goes on there.

        Raises:
            ConvergenceError: that cold start, and the model has no equilibrium at these pressures.
        """
        last = self._situation
        if last is None:
            return ()
        if self._tracked and not self._fits(replace(last, pose=self.enforce(last).pose)):
            self._look_lower(last)
        return implausible_inclinations(self, self._situation) or self._implausible_work()

    def _look_lower(self, last: Situation) -> None:
        """Go on from a lower minimum than the tracked one, if a cold start finds one."""
        tracked = self.enforce(last).energy
        self._start = self.cold_start(last.inclinations, last.measured, last.laws, last.around)
        self._tracked = False
        minimum = self._start.minima[0]
        if minimum.converged and minimum.energy <= tracked - LOWER * abs(tracked):
            self._go_on_from(self.settle(replace(last, pose=minimum.pose)), last)

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
            lowest = self._start.minima[0]
            minimum = self.settle(Situation(lowest.pose, readings.inclinations, readings.measured, laws, around))
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
        now = Situation(last.pose, readings.inclinations, readings.measured, laws, around)
        minimum = self.settle(now, self._factor)
        return minimum if minimum.converged else None

    def settle(self, situation: Situation, factor: np.ndarray | None = None) -> Minimum:
        """The minimum next to a pose, inclinations weighted against energy; `factor` as in `Minimiser.minimise`."""
        grips = np.where(situation.measured, self.unknown_work / self.inclination_noise**2, 0.0)
        around = replace(situation.around, grips=grips, inclinations=situation.inclinations)
        return self.minimiser.minimise(situation.pose, self.all_free, situation.laws, around, factor)

    def enforce(self, situation: Situation, factor: np.ndarray | None = None) -> Minimum:
        """The minimum next to a pose with exactly the measured inclinations."""
        start = situation.pose.with_inclinations(situation.inclinations, situation.measured)
        return self.minimiser.minimise(start, self.unknowns, situation.laws, situation.around, factor)

    def cold_start(self, inclinations: np.ndarray, measured: np.ndarray, laws: Laws, around: Surroundings) -> ColdStart:
        """Minima of the full energy, from lifted random starts of the yaws.

        If the lowest is not plausible, by its work or by an inclination that the rest of the arm contradicts, that next
        to the arm at rest is tried, then more random starts: `MAX_SEARCHES` searches in all. Struts whose inclinations
        are wrong cost all of them, 10 to 20 ms more with TM40.
        """
        rest = self.forward.solve(laws, around.loads)
        situation = Situation(rest.pose, inclinations, measured, laws, around)
        minima: list[Minimum] = []
        for search in range(MAX_SEARCHES):
            found = [self.enforce(situation)] if search == 1 else self._lifted_minima(situation)
            minima += self._in_front(found, situation)
            start = ColdStart(_distinct(minima, self.model.structure.strut_lengths), rest.energy)
            if start.work <= self._plausible_work and self._fits(replace(situation, pose=start.minima[0].pose)):
                break
        return start

    def _fits(self, enforced: Situation) -> bool:
        """Whether every inclination is about where the rest of the arm would put its strut, at a minimum with all."""
        return bool(np.abs(np.nan_to_num(inclination_mismatches(self, enforced))).max() < MISMATCH_LIMIT)

    def _in_front(self, minima: list[Minimum], rest: Situation) -> list[Minimum]:
        """These, with the mirror images of those behind the base in their place.

        Of a base that lies on its side, what holds it is in a vertical plane, and an arm behind that has the energy and
        the inclinations of its image before it: nothing tells them apart but where the arm is at rest.
        """
        points, lengths = self.model.structure.anchor_points, self.model.structure.strut_lengths
        centre = points.mean(axis=0)
        normal = np.linalg.svd(points - centre)[2][-1]
        normal = normal * np.sign((rest.pose.nodes(lengths).mean(axis=0) - centre) @ normal)
        mirror, found = np.eye(3) - 2.0 * np.outer(normal, normal), []
        for one in minima:
            if (one.pose.nodes(lengths).mean(axis=0) - centre) @ normal < 0.0:
                bottoms = centre + (one.pose.bottoms - centre) @ mirror
                one = self.enforce(replace(rest, pose=StrutPlacement(bottoms, one.pose.directions @ mirror)))
            found.append(one)
        return found

    @property
    def _plausible_work(self) -> float:
        return PLAUSIBLE_WORK * self.model.structure.strut_count

    def _lifted_minima(self, rest: Situation) -> list[Minimum]:
        """Minima that `tries` lifted starts lead to, with the force densities of the arm at rest."""
        structure, laws = self.model.structure, rest.laws
        nodes = rest.pose.nodes(structure.strut_lengths)
        lengths = np.linalg.norm(nodes[structure.members[:, 0]] - nodes[structure.members[:, 1]], axis=1)
        tensions = kernels.tensions(nodes, self.minimiser.members, laws.stiffness, laws.natural, laws.stops)
        plane = PlaneModel.of_densities(structure, np.maximum(tensions, 0.0) / lengths)
        inclinations = np.where(rest.measured, rest.inclinations, np.arccos(rest.pose.directions[:, 2]))
        starts = self._random.normal(size=(self.tries, structure.strut_count, 3))
        minima = []
        for _, yaws in plane_minima(plane, inclinations, starts):
            sines = np.sin(inclinations)
            directions = np.column_stack([sines * np.cos(yaws), sines * np.sin(yaws), np.cos(inclinations)])
            pose = plane.pose(structure, directions)
            minima.append(self.minimiser.minimise(pose, self.unknowns, laws, rest.around))
        return minima

    def _shape(self, minimum: Minimum, laws: Laws, readings: Readings, **more) -> Shape:
        certainty = Certainty(
            gap=self._start.gap if self._start else np.nan,
            curvature=self._curvature(minimum.factor),
            minima=len(self._start.minima) if self._start else 0,
            work=self._start.work if self._start else np.nan,
        )
        shape = self.model.shape_of(
            minimum,
            laws,
            confidence=_confidence(certainty, self._plausible_work) if minimum.converged else 0.0,
            certainty=certainty,
            freed=tuple(np.flatnonzero(~readings.measured).tolist()),
            faults=readings.faults,
            **more,
        )
        if fault := shape.slackness():
            undetermined = shape if self._last is None else replace(self._last, stale=True)
            return replace(undetermined, faults=(*shape.faults, *fault), confidence=0.0)
        return shape

    def _implausible_work(self) -> tuple[str, ...]:
        if self._start is None or self._start.work <= self._plausible_work:
            return ()
        return (f"{self._start.work:.0f} J more than at rest with these pressures: probably a wrong minimum",)

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


def _confidence(certainty: Certainty, plausible_work: float) -> float:
    gap = 1.0 if np.isinf(certainty.gap) else certainty.gap / (certainty.gap + GAP_HALF)
    work = 1.0 / (1.0 + (certainty.work / plausible_work) ** 2)
    return float(gap * work * certainty.curvature / (certainty.curvature + CURVATURE_HALF))
