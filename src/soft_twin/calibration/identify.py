"""Which parameters make a twin do what was recorded: by exact gradients, and by Bayesian search for comparison.

Both look inside the same domains, on logarithms of the parameters, all of which are positive.

* `by_gradients`: where only equilibria were recorded, least squares on all markers' coordinates with their exact
  derivatives (scipy's trust region); with motions, the mean loss of all experiments by L-BFGS-B, with adjoints.
* `by_search`: a tree-structured Parzen estimator (optuna's), which asks for the loss only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares, minimize

from soft_twin.calibration.distances import chamfer_distance, marker_error
from soft_twin.calibration.experiments import Experiment, Hanging
from soft_twin.checks import checked_count
from soft_twin.errors import ConvergenceError, InputError, UsageError

CANTILEVER = {  # SORS, table II
    "density": (700.0, 1300.0),
    "young_modulus": (100e3, 500e3),
    "poisson_ratio": (0.25, 0.49),
    "mass_damping": (1e-3, 30.0),  # [0, 30] there: logarithms need more than 0
}
CONVERGED = 1e-9  # relative change of the loss, of the parameters' logarithms and of the gradient
LOSS_UNIT = 1e-6  # [m²]: a marker error of a millimetre

Domains = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Identified:
    """What was found.

    Attributes:
        values: of the parameters.
        error: mean marker distance [m] (SORS, eq. 20).
        chamfer: mean over experiments and times of the Chamfer distance of the markers [m] (SORS, eq. 21).
        simulations: how many experiments were simulated on the way.
        gradients: how many of these were differentiated.
        history: (k, 2) number of simulations and best root of the mean loss [m] so far.
    """

    values: dict[str, float]
    error: float
    chamfer: float
    simulations: int
    gradients: int
    history: np.ndarray = field(repr=False)


class _Search:
    """Experiments as functions of the logarithms of named parameters; counts what is simulated."""

    def __init__(self, experiments: Sequence[Experiment], domains: Domains):
        self.experiments, self.names = list(experiments), list(domains)
        self.bounds = np.log([domains[name] for name in self.names])
        self.gradients = 0
        self._first = sum(each.simulations for each in self.experiments)
        self._history: list[tuple[int, float]] = []

    @property
    def simulations(self) -> int:
        return sum(each.simulations for each in self.experiments) - self._first

    def set(self, logarithms: np.ndarray) -> None:
        values = dict(zip(self.names, np.exp(logarithms).tolist(), strict=True))
        for each in self.experiments:
            each.set(values)

    def loss(self, logarithms: np.ndarray) -> float:
        """Mean of the experiments' losses [m²]."""
        self.set(logarithms)
        losses = [((each.positions() - each.measured) ** 2).sum(axis=2).mean() for each in self.experiments]
        return self._noted(float(np.mean(losses)))

    def loss_and_gradient(self, logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        """In LOSS_UNIT."""
        self.set(logarithms)
        pairs = [each.loss_and_gradient(self.names) for each in self.experiments]
        self.gradients += len(pairs)
        loss = self._noted(float(np.mean([loss for loss, _ in pairs])))
        slope = np.mean([gradient for _, gradient in pairs], axis=0) * np.exp(logarithms)
        return loss / LOSS_UNIT, slope / LOSS_UNIT

    def residuals_and_jacobian(self, logarithms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All coordinates' differences [mm] and their derivatives (r, p)."""
        self.set(logarithms)
        pairs = [each.positions_and_slopes(self.names) for each in self.experiments]
        self.gradients += len(pairs)
        differences = [found - each.measured for each, (found, _) in zip(self.experiments, pairs, strict=True)]
        self._noted(float(np.mean([(difference**2).sum(axis=2).mean() for difference in differences])))
        slopes = np.concatenate([slope.reshape(-1, len(self.names)) for _, slope in pairs])
        residuals = np.concatenate([difference.ravel() for difference in differences])
        return 1e3 * residuals, 1e3 * slopes * np.exp(logarithms)

    def result(self, logarithms: np.ndarray) -> Identified:
        """Errors at the end; these simulations are not counted."""
        simulations = self.simulations
        self.set(logarithms)
        found = [(each.positions(), each.measured) for each in self.experiments]
        error = float(np.mean([marker_error(*pair) for pair in found]))
        chamfer = [np.mean([chamfer_distance(*clouds) for clouds in zip(*pair, strict=True)]) for pair in found]
        values = dict(zip(self.names, np.exp(logarithms).tolist(), strict=True))
        history = np.array(self._history)
        return Identified(values, error, float(np.mean(chamfer)), simulations, self.gradients, history)

    def _noted(self, loss: float) -> float:
        best = min([np.sqrt(loss)] + [value for _, value in self._history[-1:]])
        self._history.append((self.simulations, best))
        return loss


def by_gradients(
    experiments: Sequence[Experiment], start: Mapping[str, float], domains: Domains, iterations: int = 50
) -> Identified:
    """The parameters named in `domains` from `start`, by exact derivatives; at most `iterations` evaluations.

    Raises:
        InputError: a domain that no experiment has a parameter for, or that is not positive, not finite or not in
            order, or a start outside of it, or fewer iterations than one.
        ConvergenceError: a simulation failed.
    """
    experiments = list(experiments)
    _check(experiments, domains, start)
    checked_count(iterations, "iterations")
    search = _Search(experiments, domains)
    first = np.log([start[name] for name in search.names])
    if all(isinstance(each, Hanging) for each in search.experiments):
        memory = _Memory(search.residuals_and_jacobian)
        options = {"xtol": CONVERGED, "ftol": CONVERGED, "gtol": CONVERGED, "max_nfev": iterations}
        found = least_squares(memory.value, first, memory.slope, search.bounds.T, **options).x
    else:
        options = {"maxfun": iterations, "ftol": 1e-6, "gtol": 1e-5}
        found = minimize(search.loss_and_gradient, first, jac=True, bounds=search.bounds, options=options).x
    return search.result(found)


def by_search(
    experiments: Sequence[Experiment], domains: Domains, trials: int, start: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Identified:  # fmt: skip
    """The parameters named in `domains` by Bayesian search; `start`: the first trial. A simulation that fails counts as
    a bad trial.

    Raises:
        InputError: a domain that no experiment has a parameter for, or that is not positive, not finite or not in
            order, or a start outside of it, or fewer trials than one.
        UsageError: optuna is not installed.
        ConvergenceError: no trial could be simulated.
    """
    experiments = list(experiments)
    _check(experiments, domains, start)
    checked_count(trials, "trials")
    try:
        import optuna
    except ImportError:
        raise UsageError("Bayesian search needs optuna: pip install optuna") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # what ends a trial is raised: it is no warning
    search = _Search(experiments, domains)

    def objective(trial: optuna.Trial) -> float:
        values = [trial.suggest_float(name, *domains[name], log=True) for name in search.names]
        try:
            return search.loss(np.log(values))
        except ConvergenceError:
            raise optuna.TrialPruned from None

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True))
    if start:
        study.enqueue_trial({name: start[name] for name in search.names})
    study.optimize(objective, n_trials=trials)
    if not study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE]):
        raise ConvergenceError(f"none of {trials} trials within these domains could be simulated", ())
    return search.result(np.log([study.best_params[name] for name in search.names]))


class _Memory:
    """A function that gives a value and its derivatives, for callers that ask for them one by one."""

    def __init__(self, both: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]):
        self._both, self._at = both, np.zeros(0)

    def value(self, x: np.ndarray) -> np.ndarray:
        return self._known(x)[0]

    def slope(self, x: np.ndarray) -> np.ndarray:
        return self._known(x)[1]

    def _known(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not np.array_equal(x, self._at):
            self._pair, self._at = self._both(x), x.copy()
        return self._pair


def _check(experiments: Sequence[Experiment], domains: Domains, start: Mapping[str, float] | None) -> None:
    there = {name for each in experiments for name in each.parameters}
    strange = [name for name in domains if name not in there]
    if strange or not domains or not experiments:
        raise InputError(
            f"no parameter {', '.join(strange) or 'at all'}: there are {', '.join(sorted(there)) or 'none'}"
        )
    for name, (low, high) in domains.items():
        if not 0.0 < low < high < np.inf:
            raise InputError(f"domain of {name}: {low:g}…{high:g} is not positive, finite and in order")
        if start is not None and not low <= start.get(name, np.nan) <= high:
            raise InputError(f"start of {name}: {start.get(name)} is not within {low:g}…{high:g}")
