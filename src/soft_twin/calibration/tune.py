"""E, damping and density by a recorded release: the paper's grid, and least squares with gradients through time.

The paper's measure of a trial is e_total = Σ e · Var(e), e the distance of the tips at each moment [mm]; here at the
ends of the twin's steps, where the tip was seen. Its grid has α = β = C, with α in 1/s and β in s.

Least squares have the whole trajectory and its derivatives by all parameters (`solvers/derivatives/forward.py`), and
look at logarithms. What a release does not say, as ρ beside E, or α beside a large β, stays near where it began: within
PRIOR of it, as the standard deviation of a normal distribution. Uncertainties say which those are; they are those of
the tracker's noise, or of what is left of the distance of the tips where that is more. What is seen beside something
that is not, as β beside α, is as uncertain as it would change by: a value that is not seen may be larger by much more
than it may be smaller by, and the derivatives, which are those of the values found, are taken that far.

What cannot be is refused: a twin that is told apart from the robot by more than a share of its motion does not do what
the robot did, whatever its parameters.

With `friction` the recording has winches that move, and the friction of the cables is looked for, see `moved`; alone,
since such a motion says less of E than a release with slack cables, from which the description has it by then. What the
tip lags by is damping's as well as friction's: to what that release tells β is most of what is uncertain of μ.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from soft_twin.calibration.moved import FRICTION, moved_twin
from soft_twin.calibration.release import Release
from soft_twin.calibration.released import check_falls, check_let_out, check_lying, check_slack, released_twin
from soft_twin.calibration.tuned import DT, SIMULATIONS, Tuned, check_options, percent
from soft_twin.errors import ConvergenceError, InputError, RecordingError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.parallel import Say, Workers, compute_all, time_left
from soft_twin.robots import load_robot

MODULI = (0.50e6, 0.65e6, 0.80e6, 1.00e6, 1.20e6)  # [Pa]
LEAST_MODULUS = 1.0  # [Pa]
DAMPINGS = (0.10, 0.30, 0.50, 0.70, 1.00)  # α [1/s] = β [s]
START = {"mass_damping": 0.5, "stiffness_damping": 0.5}  # the grid's middle
DESCRIBED = "density", "young_modulus"
START_FRICTION = 0.05
PRIOR = {"young_modulus": 2.3, "mass_damping": 2.3, "stiffness_damping": 2.3, "density": 0.02, FRICTION: 2.3}  # of ln
SEEN = 1.0  # standard deviation of a parameter's logarithm above which nothing is seen of it
REACH = 4.0  # of a prior: bounds
NOISE = 2e-4  # [m] of a tracker, each coordinate
MISFIT = 0.1  # of the largest distance that the tip moved: rms distance of the tips, beside 3 NOISE
ENOUGH = 1e-4  # relative change of the squares at which a search ends
DAMPING = "stiffness_damping"
DAMPING_DEVIATION = 0.025  # standard deviation of ln β, as a release with slack cables tells it
UNSEEN = {
    FRICTION: "the cables' friction is not seen in it: twice as much moves the tip by {:.2g} mm; let winches bend the "
    "robot to and fro with taut cables, or leave friction out",
    "young_modulus": "Young's modulus is not seen in it: twice as much moves the tip by {:.2g} mm; lay the robot down, "
    "with slack cables, before it is let go",
}


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
    """e_total of every E with every C, in parallel; what is in the `store` of this description and this program is not
    simulated again.

    Raises:
        ConvergenceError: all simulations failed.
        InputError: steps or values that make no sense.
    """
    check_options(dt)
    _check_axis("moduli", moduli, LEAST_MODULUS)
    _check_axis("dampings", dampings, 0.0)
    cases = [(modulus, damping) for modulus in moduli for damping in dampings]
    work = partial(_trial, path, release, dt)
    found = compute_all(work, cases, workers, store, say, "simulations", sources=True)
    shape = len(moduli), len(dampings)
    errors = np.array([float(each["error"]) for each in found]).reshape(shape)
    if np.isnan(errors).all():
        raise ConvergenceError(f"all {errors.size} simulations of the grid failed")
    return Grid(np.array(moduli), np.array(dampings), errors, float(sum(float(each["seconds"]) for each in found)))


def _check_axis(what: str, values: Sequence[float], least: float) -> None:
    """Refuse no values, and one that is less than `least`, or no number."""
    wrong = [value for value in values if not least <= value < np.inf]
    if wrong or not len(values):
        told = f"{wrong[0]:g}" if wrong else "none"
        raise InputError(f"{what}: {told}, expected finite ones of {least:g} or more")


def _check_start(start: Mapping[str, float], there: Collection[str]) -> None:
    """Refuse parameters that are not there, and values that have no logarithm."""
    for name, value in start.items():
        if name not in there:
            raise InputError(f"start: no parameter {name}: there are {', '.join(there)}")
        if not 0.0 < value < np.inf:
            raise InputError(f"start of {name}: {value:g}, expected a finite one above 0")


def _trial(path: Path, release: Release, dt: float, case: tuple[float, float]) -> dict[str, float]:
    """e_total [mm³] and processor time [s] of one E and C."""
    experiment, seen, begun = released_twin(path, release, dt), release.seen_at_steps(dt), time.process_time()
    experiment.set({"young_modulus": case[0], "mass_damping": case[1], "stiffness_damping": case[1]})
    try:
        error = total_error(experiment.positions()[seen, 0], experiment.measured[seen, 0])
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
    store: Path | None = None,
) -> Tuned:
    """E, α, β and ρ of the twin that moves as was recorded, from `start`, where it is not given the description's E and
    ρ and the grid's middle, in at most so many simulations. With `friction` μ of the cables alone, from
    START_FRICTION, all else as the description has it; each simulation with the two more that its derivative takes.
    What is in the `store` of this description and this program is not simulated again.

    Raises:
        ConvergenceError: the first simulation failed; by later ones that do, the search takes a shorter step.
        InputError: steps, a number of simulations or a start that make no sense.
        RecordingError: the recording does not say what is asked, or is of no such motion.
    """
    check_options(dt, simulations)
    twin = (moved_twin if friction else released_twin)(path, release, dt)
    _check_start(start or {}, twin.parameters)
    parts = [part for part in twin.model.actuators.parts if isinstance(part, CableActuators)]
    cables = [name for part in parts for name in part.names]
    if not friction:
        check_lying(release)
        check_falls(release)
        check_let_out(release, cables)
    if friction:
        first = {FRICTION: START_FRICTION}
    else:  # without the round-off of how a law has it: what is in the store is found by these numbers
        first = {name: float(f"{twin.parameters[name].value:.9g}") for name in DESCRIBED} | START
    first |= dict(start or {})
    work = partial(_simulated, path, release, dt, tuple(first))
    fit = _Fit(work, release, dt, first, say, simulations, store, twin.model.actuators.names, cables)
    reach = REACH * fit.priors
    options = {"bounds": (-reach, reach), "max_nfev": simulations, "ftol": ENOUGH, "xtol": 1e-4, "gtol": None}
    try:
        found = least_squares(fit.residuals, np.zeros(len(first)), fit.jacobian, x_scale=fit.priors, **options)
        tuned = fit.tuned(found.x, found.fun, found.jac, ended=found.status > 0)
        if friction and (damping := twin.parameters[DAMPING].value) > 0.0:
            tuned = _as_damped(tuned, path, release, dt, float(f"{damping:.9g}"), store)
    except KeyboardInterrupt as interrupt:
        kept = f"; {fit.count} simulations are kept, the same again goes on" if store is not None else ""
        raise KeyboardInterrupt(f"interrupted{kept}") from interrupt
    return replace(tuned, material_key=load_robot(str(path)).material_key)


def _as_damped(tuned: Tuned, path: Path, release: Release, dt: float, damping: float, store: Path | None) -> Tuned:
    """What was found of friction, as uncertain as the description's stiffness damping [s] makes it, too.

    Least squares of ln μ alone answer a ln β that is off by δ with −δ Jμᵀ Jβ / Jμᵀ Jμ, J the derivatives of the tips.
    """
    work = partial(_simulated, path, release, dt, (FRICTION, DAMPING))
    values = tuned.values[FRICTION], damping
    (found,) = compute_all(work, [values], Workers(), store, sources=True)
    by_friction, by_damping = (found["slopes"][release.seen_at_steps(dt)].reshape(-1, 2) * values).T
    share = abs(float(by_friction @ by_damping / (by_friction @ by_friction)))
    spread = float(np.hypot(tuned.uncertainties[FRICTION], share * DAMPING_DEVIATION))
    known = percent(DAMPING_DEVIATION)
    remark = f"1 % of rayleigh_stiffness is {share:.2g} % of it: ± takes that for known to {known}, by a release"
    return replace(tuned, uncertainties={FRICTION: spread}, remarks=(*tuned.remarks, remark))


def _simulated(
    path: Path, release: Release, dt: float, names: tuple[str, ...], values: tuple[float, ...]
) -> dict[str, np.ndarray | float]:
    """Tips (k, 3) [m] with these values of the named parameters, their derivatives (k, 3, p), the coordinates (k, a)
    of released cables, and processor time."""
    begun = time.process_time()
    experiment = (moved_twin if FRICTION in names else released_twin)(path, release, dt)
    experiment.set(dict(zip(names, values, strict=True)))
    tips, slopes = experiment.positions_and_slopes(list(names))
    found = {"tips": tips[:, 0], "slopes": slopes[:, 0], "seconds": time.process_time() - begun}
    return found if FRICTION in names else found | {"coordinates": experiment.coordinates}


class _Fit:
    """Differences of a release and what is known beforehand, as functions of ln(θ/θ₀)."""

    def __init__(
        self,
        work: Callable[[tuple[float, ...]], dict[str, Any]],
        release: Release,
        dt: float,
        first: Mapping[str, float],
        say: Say | None,
        most: int,
        store: Path | None,
        actuators: list[str],
        cables: list[str],
    ):
        """`work`: simulates values of the parameters. `first`: those at 0. `most`: simulations. `actuators`, and which
        are `cables`: names."""
        self._release, self._dt, self._first, self._say, self._most = release, dt, dict(first), say, most
        self._work, self._store, self._actuators, self._cables = work, store, actuators, cables
        self._measured, self._seen = release.at_steps(dt)[:, 0], release.seen_at_steps(dt)
        self._history: list[float] = []
        self._failed = 0
        self._seconds, self._begun = 0.0, time.monotonic()
        self._newest: dict[tuple[float, ...], dict[str, Any]] = {}
        self.priors = np.array([PRIOR[name] for name in first])

    @property
    def count(self) -> int:
        """Of simulations that came to their end."""
        return len(self._history)

    def residuals(self, logarithms: np.ndarray) -> np.ndarray:
        """In standard deviations; no numbers where the simulation failed, which least squares answer by a shorter step.

        Raises:
            ConvergenceError: it was the first one.
        """
        values = self._values(logarithms)
        try:
            (found,) = compute_all(self._work, [values], Workers(), self._store, sources=True)
        except ConvergenceError as error:
            self._note_failure(error)
            return np.full(3 * int(self._seen.sum()) + len(values), np.nan)
        self._newest[values] = found
        by_logarithms = found["slopes"][self._seen].reshape(-1, len(values)) * np.array(values)
        self._jacobian = np.vstack([by_logarithms / NOISE, np.diag(1.0 / self.priors)])
        self._history.append(total_error(found["tips"][self._seen], self._measured[self._seen]))
        self._seconds += float(found["seconds"])
        if len(self._history) == 1:
            self._check_seen()
        self._tell()
        apart = (found["tips"] - self._measured)[self._seen]
        return np.concatenate([apart.ravel() / NOISE, logarithms / self.priors])

    def _note_failure(self, error: ConvergenceError) -> None:
        if not self._history:
            if FRICTION in self._first:
                raise error  # says what winches do
            raise ConvergenceError(
                "no motion of the twin could be computed with the values that the search begins with: was the robot "
                "lying, of this description, with slack cables? If it was, shorter steps help"
            ) from error
        self._failed += 1
        if self._say is not None:
            done = len(self._history) + self._failed
            self._say(f"simulation {done} of at most {self._most}: no motion with its values, the next are nearer")

    def jacobian(self, _: np.ndarray) -> np.ndarray:
        """Where the residuals were last asked for, which is where a trust region asks for it."""
        return self._jacobian

    def tuned(self, logarithms: np.ndarray, residuals: np.ndarray, jacobian: np.ndarray, ended: bool) -> Tuned:
        """What least squares found there; `ended`: before they had as many simulations as they may.

        Raises:
            RecordingError: it cannot be.
        """
        values = self._values(logarithms)
        found, count = self._newest[values], len(values)
        apart = NOISE * residuals[:-count].reshape(-1, 3)
        distance = float(np.sqrt((apart**2).sum(axis=1).mean()))
        moved = float(np.linalg.norm((self._measured - self._release.tips[0])[self._seen], axis=1).max())
        if "coordinates" in found:
            check_slack(self._release, self._dt, found["coordinates"], self._actuators)
        if distance > MISFIT * moved + 3.0 * NOISE:
            told = (
                f"after {len(self._history)} simulations the tips are {1e3 * distance:.3g} mm apart, rms, while the "
                f"robot's moved by {1e3 * moved:.3g} mm"
            )
            if self._failed:
                told += f", and {self._failed} more had no motion"
            why = "another robot, a base that moved, cables that were taut?"
            if not ended:
                raise RecordingError(f"the search did not come to its end: {told}: allow more; or is it {why}")
            raise RecordingError(f"no twin of this description moves as was recorded: {told}: {why}")
        scatter = max(1.0, float((residuals[:-count] ** 2).mean()))
        larger = np.expm1(self.priors)  # by which share a value is larger, one deviation above: not so of its logarithm
        information = jacobian[:-count].T @ jacobian[:-count] / scatter + np.diag(larger**-2.0)
        spread = np.sqrt(np.diag(np.linalg.inv(information)))
        named = dict(zip(self._first, values, strict=True))
        uncertainties = dict(zip(self._first, spread.tolist(), strict=True))
        return Tuned(
            named,
            uncertainties,
            total_error(found["tips"][self._seen], self._measured[self._seen]),
            self._history,
            self._seconds,
            found["tips"],
            distance,
            tuple(self._remarks(named, uncertainties, ended)),
        )

    def _values(self, logarithms: np.ndarray) -> tuple[float, ...]:
        return tuple(float(first * np.exp(log)) for first, log in zip(self._first.values(), logarithms, strict=True))

    def _check_seen(self) -> None:
        """Refuse a recording that says nothing of what is looked for.

        Raises:
            RecordingError: it does not.
        """
        sought = FRICTION if FRICTION in self._first else "young_modulus"
        place = list(self._first).index(sought)
        spread = np.sqrt(np.linalg.inv(self._jacobian.T @ self._jacobian)[place, place])
        if spread > SEEN:
            moved = 1e3 * NOISE * np.abs(self._jacobian[: -len(self._first), place]).max()
            raise RecordingError(UNSEEN[sought].format(np.log(2.0) * moved))

    def _tell(self) -> None:
        if self._say is None:
            return
        done = len(self._history) + self._failed
        spent = max(time.monotonic() - self._begun, self._seconds)  # what was in the store took no time
        left = spent / done * (self._most - done)
        self._say(
            f"simulation {done} of at most {self._most}: e_total {self._history[-1]:.4g} mm³, at most {time_left(left)}"
        )

    def _remarks(self, values: Mapping[str, float], uncertainties: Mapping[str, float], ended: bool) -> list[str]:
        """What who takes the values should know."""
        remarks, lost = [], int((~self._seen).sum())
        if lost:
            remarks.append(f"the tip was not seen at {lost} of {len(self._seen)} steps: they were left out")
        if not ended:
            remarks.append(
                f"the search did not come to its end in {self._most} simulations: allow more, values may still change "
                "by more than is told"
            )
        if DAMPING in values and 0.5 * self._dt > uncertainties[DAMPING] * values[DAMPING]:
            low, high = 500.0 * self._dt, 1e3 * self._dt
            remarks.append(
                f"steps of {high:g} ms damp by themselves, as {low:g} to {high:g} ms of rayleigh_stiffness do: what is "
                "found is less by that than the body's own, and holds for twins with such steps (docs/slender.md)"
            )
        if self._release.wound is None and self._cables:
            remarks.append("no cables/state in the recording: taut cables would have been taken for a larger E")
        return remarks
