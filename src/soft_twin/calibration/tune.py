"""E, damping and density by a recorded release: the paper's grid, and least squares with gradients through time.

The paper's measure of a trial is e_total = Σ e · Var(e), e the distance of the tips at each moment [mm]; here at the
ends of the twin's steps. Its grid has α = β = C, with α in 1/s and β in s.

Least squares have the whole trajectory and its derivatives by all parameters (`solvers/derivatives/forward.py`), and
look at logarithms. What a release does not say, as ρ beside E, or α beside a large β, stays near where it began: within
PRIOR of it, as the standard deviation of a normal distribution. Uncertainties say which those are.

With `friction` the recording has winches that move, and the friction of the cables is looked for, see `moved`; alone,
since such a motion says less of E than a release with slack cables, from which the description has it by then.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from soft_twin.calibration.experiments import Experiment
from soft_twin.calibration.moved import FRICTION, moved_twin
from soft_twin.calibration.release import Release, released_twin
from soft_twin.calibration.tuned import DT, SIMULATIONS, Tuned
from soft_twin.errors import ConvergenceError, RecordingError
from soft_twin.parallel import Say, Workers, compute_all

MODULI = (0.50e6, 0.65e6, 0.80e6, 1.00e6, 1.20e6)  # [Pa]
DAMPINGS = (0.10, 0.30, 0.50, 0.70, 1.00)  # α [1/s] = β [s]
START = {"young_modulus": 0.8e6, "mass_damping": 0.5, "stiffness_damping": 0.5}  # the grid's middle
START_FRICTION = 0.05
PRIOR = {"young_modulus": 2.3, "mass_damping": 2.3, "stiffness_damping": 2.3, "density": 0.02, FRICTION: 2.3}  # of ln
SEEN = 1.0  # standard deviation of the friction's logarithm above which nothing is seen of it
REACH = 4.0  # of a prior: bounds
NOISE = 2e-4  # [m] of a tracker
ENOUGH = 1e-4  # relative change of the squares at which a search ends


@dataclass(frozen=True)
class Grid:
    """The paper's trials.

    Attributes:
        moduli, dampings: (e,) [Pa], (c,).
        errors: (e, c) e_total [mm³]; NaN where a simulation failed.
        seconds: processor time of all simulations.
    """

    moduli: np.ndarray
    dampings: np.ndarray
    errors: np.ndarray
    seconds: float

    @property
    def best(self) -> tuple[float, float, float]:
        """E [Pa], C and e_total [mm³] of the best trial."""
        row, column = np.unravel_index(int(np.nanargmin(self.errors)), self.errors.shape)
        return float(self.moduli[row]), float(self.dampings[column]), float(self.errors[row, column])


def total_error(tips: np.ndarray, measured: np.ndarray) -> float:
    """e_total [mm³] of tips (k, 3) [m]."""
    distances = 1e3 * np.linalg.norm(tips - measured, axis=1)
    return float(distances.sum() * distances.var())


def search_grid(
    path: Path,
    release: Release,
    workers: Workers = Workers(0),  # noqa: B008  (frozen)
    store: Path | None = None,
    say: Say | None = None,
    moduli: Sequence[float] = MODULI,
    dampings: Sequence[float] = DAMPINGS,
    dt: float = DT,
) -> Grid:
    """e_total of every E with every C, in parallel; what is in the `store` is not simulated again."""
    cases = [(modulus, damping) for modulus in moduli for damping in dampings]
    found = compute_all(partial(_trial, path, release, dt), cases, workers, store, say, "simulations")
    shape = len(moduli), len(dampings)
    errors = np.array([float(each["error"]) for each in found]).reshape(shape)
    return Grid(np.array(moduli), np.array(dampings), errors, float(sum(float(each["seconds"]) for each in found)))


def _trial(path: Path, release: Release, dt: float, case: tuple[float, float]) -> dict[str, float]:
    """e_total [mm³] and processor time [s] of one E and C."""
    experiment, begun = released_twin(path, release, dt), time.process_time()
    experiment.set({"young_modulus": case[0], "mass_damping": case[1], "stiffness_damping": case[1]})
    try:
        error = total_error(experiment.positions()[:, 0], experiment.measured[:, 0])
    except ConvergenceError:
        error = np.nan
    return {"error": error, "seconds": time.process_time() - begun}


def tune(
    path: Path,
    release: Release,
    start: Mapping[str, float] | None = None,
    dt: float = DT,
    simulations: int = SIMULATIONS,
    say: Say | None = None,
    friction: bool = False,
) -> Tuned:
    """E, α, β and ρ of the twin that moves as was recorded, from `start`, where it is not given the grid's middle and
    the description's density, in at most so many simulations. With `friction` μ of the cables alone, from
    START_FRICTION, all else as the description has it; each simulation with the two more that its derivative takes.

    Raises:
        ConvergenceError: a simulation failed.
        RecordingError: friction is asked for, and the recording does not say it.
    """
    begun = time.process_time()
    experiment = (moved_twin if friction else released_twin)(path, release, dt)
    first = {FRICTION: START_FRICTION} if friction else {"density": experiment.parameters["density"].value} | START
    first |= dict(start or {})
    fit = _Fit(experiment, first, say, simulations)
    reach = REACH * fit.priors
    options = {"bounds": (-reach, reach), "max_nfev": simulations, "ftol": ENOUGH, "xtol": 1e-4, "gtol": None}
    found = least_squares(fit.residuals, np.zeros(len(first)), fit.jacobian, x_scale=fit.priors, **options)
    values = fit.values(found.x)
    experiment.set(values)
    spread = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    tips = NOISE * found.fun[: -len(first)].reshape(-1, 3) + experiment.measured[:, 0]
    error = total_error(tips, experiment.measured[:, 0])
    seconds = time.process_time() - begun
    return Tuned(values, dict(zip(first, spread.tolist(), strict=True)), error, fit.history, seconds, tips)


class _Fit:
    """Differences of a release and what is known beforehand, as functions of ln(θ/θ₀)."""

    def __init__(self, experiment: Experiment, first: Mapping[str, float], say: Say | None, most: int):
        self.history: list[float] = []
        self._experiment, self._first, self._say, self._most = experiment, dict(first), say, most
        self.priors = np.array([PRIOR[name] for name in first])

    def values(self, logarithms: np.ndarray) -> dict[str, float]:
        return {
            name: float(value * np.exp(log)) for (name, value), log in zip(self._first.items(), logarithms, strict=True)
        }

    def residuals(self, logarithms: np.ndarray) -> np.ndarray:
        """In standard deviations."""
        values = self.values(logarithms)
        self._experiment.set(values)
        tips, slopes = self._experiment.positions_and_slopes(list(values))
        measured = self._experiment.measured
        by_logarithms = slopes.reshape(-1, len(values)) * np.array(list(values.values()))
        self._jacobian = np.vstack([by_logarithms / NOISE, np.diag(1.0 / self.priors)])
        self.history.append(total_error(tips[:, 0], measured[:, 0]))
        if FRICTION in values and len(self.history) == 1:
            self._check_seen()
        if self._say is not None:
            self._say(f"simulation {len(self.history)} of at most {self._most}: e_total {self.history[-1]:.4g} mm³")
        return np.concatenate([(tips - measured).ravel() / NOISE, logarithms / self.priors])

    def _check_seen(self) -> None:
        """Refuse a recording that says nothing of friction.

        Raises:
            RecordingError: it does not.
        """
        place = list(self._first).index(FRICTION)
        spread = np.sqrt(np.linalg.inv(self._jacobian.T @ self._jacobian)[place, place])
        if spread > SEEN:
            moved = 1e3 * NOISE * np.abs(self._jacobian[: -len(self._first), place]).max()
            raise RecordingError(
                f"the cables' friction is not seen in it: twice as much moves the tip by {np.log(2.0) * moved:.2g} mm; "
                "let winches bend the robot to and fro with taut cables, or leave friction out"
            )

    def jacobian(self, _: np.ndarray) -> np.ndarray:
        """Where the residuals were last asked for, which is where a trust region asks for it."""
        return self._jacobian
