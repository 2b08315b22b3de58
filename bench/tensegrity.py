"""The tensegrity estimators: time of an update, reliability of cold starts, and errors against the forward model."""

import tempfile
from pathlib import Path

import numpy as np
import yaml

import soft_twin
from soft_twin.app.measuring import Figure, time_calls
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.shape_estimation.estimator import Estimator
from soft_twin.twins.tensegrity.cases import LoadCase, load_cases
from soft_twin.twins.tensegrity.forward import ForwardModel
from soft_twin.twins.tensegrity.mismatch import mismatched
from soft_twin.twins.tensegrity.shape import Shape, mean_node_error

NOISE = np.radians(0.5)  # [rad] of an inclination, independent from update to update
START_NOISE = np.radians(1.0)  # [rad] in the random starts
UNSEEN = 31415926  # seeds from here on: nothing was tuned on them
STARTS = 100
SEEDS = 20
RIGHT = 0.03  # [m] mean node error up to which a cold start has found the right shape
PAPER_STEPS = 20000  # gradient steps of the paper's method; 1000 leave it far from converged


def measure() -> list[Figure]:
    """Every row of the table."""
    arm = soft_twin.load_robot("tm40")
    cases = {case.name: case for case in load_cases(arm.model)}
    return [
        *_speed(arm, list(cases.values())),
        *_towers(),
        *_random_starts(arm, list(cases.values())),
        *_matched(arm, cases),
        *_mismatched(arm, cases),
    ]


def _noisy(truth: Shape, random: np.random.Generator, noise: float) -> np.ndarray:
    return np.clip(truth.inclinations + random.normal(0.0, noise, truth.strut_count), 0.0, np.pi)


def _speed(arm: TensegrityArm, cases: list[LoadCase]) -> list[Figure]:
    warm, cold, converged = [], [], []
    for case in cases:
        truth = arm.forward(case.pressures, case.tip_force)
        times, fine = _warm_times(arm.build_estimator(), truth, case.pressures, 1.0, 250)
        warm.append(times)
        converged.append(fine)
        cold.append(_cold_times(arm.build_estimator(), truth, case.pressures, 10))
    warm, cold = np.concatenate(warm), np.concatenate(cold)
    return [
        Figure("warm.median_ms", "warm update, 5 modules, 8 load cases: median", np.median(warm), "ms", "<= 0.5"),
        Figure("warm.p99_ms", "  99th percentile", np.percentile(warm, 99), "ms", "<= 5"),
        Figure("warm.converged", "  share that converged", float(np.mean(converged)), "", "1"),
        Figure("cold.median_ms", "cold start, 5 modules: median", np.median(cold), "ms", "<= 50"),
        Figure("cold.max_ms", "  longest", cold.max(), "ms", "<= 50"),
    ]


def _warm_times(estimator: Estimator, truth: Shape, pressures: np.ndarray, fresh: float, count: int):
    """Times of warm updates [ms], and the share that converged. `fresh`: how much of the noise is new each time."""
    random = np.random.default_rng(0)
    lasting = _noisy(truth, random, NOISE)
    readings = [fresh * _noisy(truth, random, NOISE) + (1.0 - fresh) * lasting for _ in range(count)]
    shapes = []
    times = time_calls(lambda i: shapes.append(estimator.update(readings[i], pressures)), count)
    return times, float(np.mean([shape.converged for shape in shapes[-count:]]))


def _cold_times(estimator: Estimator, truth: Shape, pressures: np.ndarray, count: int) -> np.ndarray:
    readings = _noisy(truth, np.random.default_rng(1), NOISE)

    def start(seed: int) -> None:
        estimator.reset(seed)
        estimator.update(readings, pressures)

    return time_calls(start, count, warm_up=1)


def _towers() -> list[Figure]:
    figures = []
    for modules, reach in ((20, "<= 5"), (100, "<= 40")):
        tower = weightless_tower(modules)
        pressures = np.full(tower.model.cylinder_count, tower.model.laws.pressure_range[1])
        truth = tower.forward(pressures)
        times, converged = _warm_times(tower.build_estimator(tries=1), truth, pressures, 0.1, 50)
        figures += [
            Figure(
                f"tower_{modules}.median_ms", f"warm update, {modules} modules: median", np.median(times), "ms", reach
            ),
            Figure(f"tower_{modules}.converged", "  share that converged", converged, "", "1"),
        ]
    return figures


def weightless_tower(modules: int) -> TensegrityArm:
    """TM40 with more modules and no weight, under which it would not stand."""
    description = yaml.safe_load(soft_twin.load_robot("tm40").path.read_text(encoding="utf-8"))
    description["robot"]["name"] = f"tower_{modules}"
    structure = description["robot"]["structure"]
    structure["strut_lengths"] = [0.39] + [0.33] * (modules - 1)
    structure["node_mass"] = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tower.yaml"
        path.write_text(yaml.safe_dump(description), encoding="utf-8")
        return soft_twin.load_robot(path)


def _random_starts(arm: TensegrityArm, cases: list[LoadCase]) -> list[Figure]:
    figures = []
    for k, case in enumerate(cases):
        truth = arm.forward(case.pressures, case.tip_force)
        random = np.random.default_rng((UNSEEN, k))
        estimator = arm.build_estimator()
        right = 0
        for seed in range(UNSEEN, UNSEEN + STARTS):
            estimator.reset(seed)
            shape = estimator.update(_noisy(truth, random, START_NOISE), case.pressures)
            right += shape.converged and mean_node_error(shape, truth) <= RIGHT
        what = f"random starts that reach the right shape: {case.name}"
        figures.append(Figure(f"starts.case_{k + 1}", what, right, f"of {STARTS}", ">= 99"))
    return figures


def _errors(arm: TensegrityArm, estimator: Estimator, case: LoadCase, off: bool) -> np.ndarray:
    """(SEEDS, 2) mean node error [mm] and length error [%] of cold starts, against a matched arm or one that is off."""
    random = np.random.default_rng(3)
    rows = []
    for seed in range(SEEDS):
        model = mismatched(arm.model, arm.emulated, seed) if off else arm.model
        truth = ForwardModel(model).equilibrium(case.pressures, case.tip_force)
        estimator.reset(seed)
        shape = estimator.update(_noisy(truth, random, arm.emulated.inclination if off else NOISE), case.pressures)
        rows.append((1e3 * mean_node_error(shape, truth), 100.0 * abs(shape.length() / truth.length() - 1.0)))
    return np.array(rows)


def _matched(arm: TensegrityArm, cases: dict[str, LoadCase]) -> list[Figure]:
    estimator = arm.build_estimator()
    reach = {"straight": "<= 5", "bend 60°": "<= 8", "curled": "<= 10"}
    errors = {name: _errors(arm, estimator, cases[name], off=False) for name in reach}
    figures = [
        Figure(f"matched.{key}_mm", f"mean node error, matched: {name}", errors[name][:, 0].mean(), "mm", reach[name])
        for key, name in (("straight", "straight"), ("bend_60", "bend 60°"), ("curled", "curled"))
    ]
    length = max(rows[:, 1].mean() for rows in errors.values())
    figures.append(
        Figure("matched.length_percent", "length error, matched: mean of the worst case", length, "%", "<= 0.5")
    )
    paper = paper_error(arm, cases["curled"])
    ratio = paper / errors["curled"][:, 0].mean()
    what = "mean node error of the paper's method, base held, started at the true shape: curled"
    figures.append(Figure("paper.curled_mm", what, paper, "mm"))
    figures.append(Figure("paper.ratio", "  divided by ours", ratio, "", ">= 3"))
    return figures


def paper_error(arm: TensegrityArm, case: LoadCase) -> float:
    """Mean node error [mm] of the paper's method at its best: base held, started at the true shape, converged."""
    truth = arm.forward(case.pressures, case.tip_force)
    estimator = arm.build_estimator("zero_length", steps=PAPER_STEPS, anchored=True)
    estimator.start_at(truth)
    shape = estimator.update(_noisy(truth, np.random.default_rng(3), NOISE), case.pressures)
    return 1e3 * mean_node_error(shape, truth)


def _mismatched(arm: TensegrityArm, cases: dict[str, LoadCase]) -> list[Figure]:
    rows = [
        ("straight", "energy", "straight", "<= 10"),
        ("bend_60", "energy", "bend 60°", "<= 15"),
        ("bent_and_pulled", "energy_tip_force", "bent and pulled", "<= 20"),
    ]
    figures, lengths = [], []
    for key, kind, name, reach in rows:
        errors = _errors(arm, arm.build_estimator(kind), cases[name], off=True)
        lengths.append(errors[:, 1].mean())
        what = f"median node error, parameters off, {kind}: {name}"
        figures.append(Figure(f"off.{key}_mm", what, np.median(errors[:, 0]), "mm", reach))
    what = "length error, parameters off: mean of the worst case"
    return [*figures, Figure("off.length_percent", what, max(lengths), "%", "<= 1.2")]
