"""Inclinations that cannot be true: found by how far each is from where the rest of the arm would put its strut."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.twins.tensegrity.newton import Laws, Minimum, StrutPlacement, Surroundings, Unknowns
from soft_twin.twins.tensegrity.sensitivity import inclination_sensitivity

if TYPE_CHECKING:
    from soft_twin.shape_estimation.estimator import EnergyEstimator

MISMATCH_LIMIT = np.radians(5.0)  # [rad]; a sound arm with 0.7° of noise and a wrong model stays below 3°
SUSPECTS = 6  # the worst struts, among which every pair is tried for having been swapped
MIN_DIFFERENCE = np.radians(2.0)  # [rad] struts whose inclinations differ less are as good as not swapped


@dataclass(frozen=True)
class Situation:
    """What an estimator knew in its last update."""

    pose: StrutPlacement
    inclinations: np.ndarray
    measured: np.ndarray
    laws: Laws
    around: Surroundings


def inclination_mismatches(estimator: "EnergyEstimator", situation: Situation) -> np.ndarray:
    """(s,) how far each inclination alone is from where the rest of the arm would put its strut [rad]; NaN if freed."""
    found = inclination_sensitivity(
        estimator.minimiser, estimator.all_free, situation.pose, situation.measured, situation.laws, situation.around
    )
    mismatches = np.full(len(situation.measured), np.nan)
    mismatches[found.struts] = found.mismatch() / estimator.model.structure.strut_lengths[found.struts]
    return mismatches


def implausible_inclinations(estimator: "EnergyEstimator", situation: Situation) -> tuple[str, ...]:
    """Sentences that name the struts whose inclinations are swapped, or wrong; empty when all are plausible.

    Where no swap explains them, each suspect is freed in turn, and the one without which the energy is lowest is named,
    if it then is elsewhere. Swapping two struts of nearly equal inclination does no harm and is not seen.
    """
    situation = replace(situation, pose=estimator.enforce(situation).pose)
    mismatches = np.nan_to_num(inclination_mismatches(estimator, situation))
    worst = np.argsort(-np.abs(mismatches))
    if abs(mismatches[worst[0]]) < MISMATCH_LIMIT:
        return ()
    rest = estimator.forward.solve(situation.laws, situation.around.loads).pose
    pair = _swapped_pair(estimator, situation, worst[:SUSPECTS], rest)
    if pair is not None:
        return (f"struts {pair[0]} and {pair[1]}: their inclinations are swapped",)
    freed = {int(i): _without(estimator, situation, int(i), rest) for i in worst[:SUSPECTS]}
    strut = min(freed, key=lambda i: _lowest_first(freed[i]))
    there = np.arccos(np.clip(freed[strut].pose.directions[strut, 2], -1.0, 1.0))
    difference = situation.inclinations[strut] - there
    if abs(difference) < MISMATCH_LIMIT:
        return ()
    return (f"strut {strut}: its inclination is {np.degrees(difference):+.0f}° from where the rest of the arm puts it",)


def _without(estimator: "EnergyEstimator", situation: Situation, strut: int, rest: StrutPlacement) -> Minimum:
    """The lower of the minima next to the last pose and next to the arm at rest, with that strut freed."""
    measured = situation.measured.copy()
    measured[strut] = False
    unknowns = Unknowns(estimator.model.structure, measured)
    starts = [pose.with_inclinations(situation.inclinations, measured) for pose in (situation.pose, rest)]
    minima = [estimator.minimiser.minimise(start, unknowns, situation.laws, situation.around) for start in starts]
    return min(minima, key=_lowest_first)


def _lowest_first(minimum: Minimum) -> tuple[bool, float]:
    return not minimum.converged, minimum.energy


def _swapped_pair(
    estimator: "EnergyEstimator", situation: Situation, suspects: np.ndarray, rest: StrutPlacement
) -> tuple[int, int] | None:
    """The pair whose exchange lowers the energy most, if it makes all inclinations plausible."""
    trials = []
    for i, j in combinations(sorted(suspects.tolist()), 2):
        if abs(situation.inclinations[i] - situation.inclinations[j]) > MIN_DIFFERENCE:
            exchanged = situation.inclinations.copy()
            exchanged[[i, j]] = exchanged[[j, i]]
            minima = [
                estimator.enforce(replace(situation, pose=pose, inclinations=exchanged))
                for pose in (situation.pose, rest)
            ]
            trials += [(minimum, exchanged, i, j) for minimum in minima if minimum.converged]
    if not trials:
        return None
    minimum, exchanged, i, j = min(trials, key=lambda trial: trial[0].energy)
    after = replace(situation, pose=minimum.pose, inclinations=exchanged)
    explained = np.nanmax(np.abs(inclination_mismatches(estimator, after)))
    return (i, j) if explained < MISMATCH_LIMIT else None
