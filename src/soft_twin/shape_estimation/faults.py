"""Inclinations that cannot be true: found by how far each is from where the rest of the arm would put its strut."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.twins.tensegrity.newton import Laws, StrutPlacement, Surroundings
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

    Swapping two struts of nearly equal inclination does no harm and is not seen.
    """
    situation = replace(situation, pose=estimator.enforce(situation).pose)
    mismatches = np.nan_to_num(inclination_mismatches(estimator, situation))
    worst = np.argsort(-np.abs(mismatches))
    if abs(mismatches[worst[0]]) < MISMATCH_LIMIT:
        return ()
    pair = _swapped_pair(estimator, situation, worst[:SUSPECTS])
    if pair is not None:
        return (f"struts {pair[0]} and {pair[1]}: their inclinations are swapped",)
    i = int(worst[0])
    degrees = np.degrees(np.clip(mismatches[i], -np.pi, np.pi))
    return (f"strut {i}: its inclination is {degrees:+.0f}° from where the rest of the arm puts it",)


def _swapped_pair(estimator: "EnergyEstimator", situation: Situation, suspects: np.ndarray) -> tuple[int, int] | None:
    """The pair whose exchange lowers the energy most, if it makes all inclinations plausible."""
    rest = estimator.forward.solve(situation.laws, situation.around.loads).pose
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
