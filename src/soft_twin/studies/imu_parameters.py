"""The EKF's parameters, chosen without the trial that they are judged on.

A pool of parameter sets is drawn before any trial is looked at. For each trial, the sets are ranked by their error
relative to VQF's on all *other* trials (mean of the logarithm, each data set counting as much as another), the
geometric mean of the best eighth is taken, and its error on the trial that was left out is what the table shows: an
error on a trial that nothing was chosen on. "On all" is the choice on all trials, which, rounded, `EkfParameters` has
as its defaults: what the defaults reach on these same trials is a tuned figure.

Data: BROAD under `broad`, RepoIMU's T-stick (another chip) under `repoimu`; one of them is enough.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import qmc

from soft_twin.sensing.broad import read_broad
from soft_twin.sensing.ekf import EkfParameters, OrientationEkf
from soft_twin.sensing.evaluation import inclination_rmse
from soft_twin.sensing.optical_trial import OpticalTrial
from soft_twin.sensing.repoimu import read_repoimu, repoimu_paths
from soft_twin.sensing.vqf_orientation import VqfOrientation, require_vqf
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

RANGES: Mapping[str, tuple[float, float]] = {
    "gyroscope_scale_noise": (5e-4, 5e-3),
    "matrix_std": (1e-3, 1e-2),
    "velocity_std": (0.15, 1.5),
    "position_std": (0.15, 1.5),
}
FOLDERS = {"BROAD": "broad", "RepoIMU": "repoimu"}  # of data sets, under that of recordings
POOL = 64
BEST = POOL // 8
SEED = 0


@dataclass(frozen=True)
class Fold:
    """One trial and what was chosen without it.

    Attributes:
        name, data_set: of the trial.
        chosen: (k,) parameters in the order of RANGES.
        ekf, vqf: inclination RMSE on the trial [°].
    """

    name: str
    data_set: str
    chosen: np.ndarray
    ekf: float
    vqf: float


def run(folder: Path, data: Path) -> str:
    """Leave each trial under `data` out once; the table of it.

    Raises:
        UsageError: the package vqf is not installed.
    """
    require_vqf()
    named = list(trials(data))
    if len(named) < 3:
        return f"fewer than three trials in {data / 'broad'} and {data / 'repoimu'}: nothing can be left out"
    pool = parameter_pool(POOL, SEED)
    sets = np.array([data_set for data_set, _ in named])
    recorded = [trial for _, trial in named]
    vqf = np.array([_degrees(VqfOrientation(), trial) for trial in recorded])
    errors = np.array([[_ekf_degrees(parameters, trial) for trial in recorded] for parameters in pool])
    folds = []
    for i, trial in enumerate(recorded):
        chosen = choose(pool, errors / vqf, sets, left_out=i)
        folds.append(Fold(trial.name, sets[i], chosen, _ekf_degrees(chosen, trial), vqf[i]))
    _draw(folder / "left_out.png", folds)
    final = choose(pool, errors / vqf, sets)
    return "\n\n".join([fold_table(folds), spread_table(folds, final), *missing(data, sets)])


def trials(data: Path) -> Iterator[tuple[str, OpticalTrial]]:
    """Name of the data set and trial, of all that are at hand."""
    for path in sorted((data / FOLDERS["BROAD"]).glob("*.mat")):
        yield "BROAD", read_broad(path)
    for path in repoimu_paths(data / FOLDERS["RepoIMU"]):
        yield "RepoIMU", read_repoimu(path)


def missing(data: Path, sets: np.ndarray) -> list[str]:
    """A line for each data set of which no trial (trials,) is at hand."""
    return [
        f"no trial of {name} in {data / below}: all is chosen without it"
        for name, below in FOLDERS.items()
        if name not in sets
    ]


def parameter_pool(count: int, seed: int) -> np.ndarray:
    """(count, k) parameter sets, evenly spread over the logarithms of RANGES; count is a power of two."""
    low, high = np.log(np.array(list(RANGES.values()))).T
    return np.exp(low + (high - low) * qmc.Sobol(len(RANGES), seed=seed).random(count))


def choose(pool: np.ndarray, ratios: np.ndarray, sets: np.ndarray, left_out: int | None = None) -> np.ndarray:
    """(k,) geometric mean of the best of the pool.

    Args:
        pool: (count, k) parameter sets.
        ratios: (count, trials) errors over those of the reference filter.
        sets: (trials,) data set of each trial; each data set counts alike.
        left_out: trial that is not looked at.
    """
    used = np.arange(ratios.shape[1]) != left_out
    names = np.unique(sets[used])
    score = np.mean([np.log(ratios[:, used & (sets == name)]).mean(axis=1) for name in names], axis=0)
    return np.exp(np.log(pool[np.argsort(score)[:BEST]]).mean(axis=0))


def fold_table(folds: Sequence[Fold]) -> str:
    """Each fold, and the means of each data set."""
    lines = [f"{'left out; inclination RMSE [°]':46} {'EKF':>6} {'VQF':>6} {'ratio':>6}"]
    for data_set in dict.fromkeys(fold.data_set for fold in folds):
        chosen = [fold for fold in folds if fold.data_set == data_set]
        lines += [_line(fold.name, fold.ekf, fold.vqf) for fold in chosen]
        means = [float(np.mean([getattr(fold, name) for fold in chosen])) for name in ("ekf", "vqf")]
        lines.append(
            _line(f"{data_set}: mean of {len(chosen)}", *means)
            + f"; better on {sum(fold.ekf < fold.vqf for fold in chosen)}"
        )
    return "\n".join(lines)


def spread_table(folds: Sequence[Fold], final: np.ndarray) -> str:
    """What was chosen: least, greatest over the folds, chosen on all trials, and the filter's default."""
    lines = [f"{'chosen parameter':24} {'least':>9} {'greatest':>9} {'on all':>9} {'default':>9}"]
    chosen = np.array([fold.chosen for fold in folds])
    for k, name in enumerate(RANGES):
        values = chosen[:, k].min(), chosen[:, k].max(), final[k], getattr(EkfParameters(), name)
        lines.append(f"{name:24} " + " ".join(f"{value:9.2g}" for value in values))
    return "\n".join(lines)


def _line(name: str, ekf: float, vqf: float) -> str:
    return f"{name:46} {ekf:6.3f} {vqf:6.3f} {ekf / vqf:6.2f}"


def _ekf_degrees(parameters: np.ndarray, trial: OpticalTrial) -> float:
    values = dict(zip(RANGES, map(float, parameters), strict=True))
    return _degrees(OrientationEkf(EkfParameters(**values)), trial)


def _degrees(orientation: OrientationEkf | VqfOrientation, trial: OpticalTrial) -> float:
    return math.degrees(inclination_rmse(orientation, trial))


def _draw(path: Path, folds: Sequence[Fold]) -> None:
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(folds))
    axes.bar(places - 0.2, [fold.ekf for fold in folds], 0.4, label="EKF, parameters from the other trials")
    axes.bar(places + 0.2, [fold.vqf for fold in folds], 0.4, label="VQF, its defaults")
    axes.set_xticks(places, [fold.name.replace("_", " ") for fold in folds], rotation=40, ha="right", fontsize=6)
    axes.set(ylabel="inclination RMSE [°]", title="each trial left out once")
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    write_picture(path, figure, dpi=130)
