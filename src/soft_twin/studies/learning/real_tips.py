"""Tips of two real arms by regression: a tensegrity arm from five IMUs, a trunk of tendons from its motors' inputs.

* Tensegrity arm (data/tensegrity_arm): learned on rows 0…899, tested on 900…1199. Inputs and constants are chosen on
  five pieces of the first 900 rows, each held back once. Inputs are what IMUs on a moving arm say: directions of their
  specific forces, with or without rates and pressures.
* Trunk (data/trunk_asl): each of five recordings is held back once; inputs and constants are chosen on the other four,
  each of which is held back once in turn. Motors pull against dry friction: beside the inputs themselves there are
  those behind a play of some width (Prandtl), alone and squared; or three arcs that such plays bend (trunk_arcs.py),
  once with no more than the inputs, once with friction's state where the first row's disks, which are then known, put
  it. Baselines are a linear and a quadratic map. First rows are not counted.

Errors are means of distances (3-norm). Picture: tips.png; table.json.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.errors import RecordingError
from soft_twin.learning.kernel_regression import Constants, choose, predict
from soft_twin.parallel import compute_here
from soft_twin.studies.learning import trunk_arcs
from soft_twin.studies.results import write_picture, write_text
from soft_twin.studies.tensegrity_arm import FILE, ArmRecording, read_recording

matplotlib.use("Agg")

TRAINED = 900  # rows of the arm
PIECES = 5
TRUNK = Path("trunk_asl")
TRUNK_FILES = {
    "beta": ("control_inputs_beta_seed1.csv", "observations_steady_state_beta_seed1.csv"),
    **{f"circle {i}": (f"control_inputs_circle_seed{i}.csv", f"observations_circle_seed{i}.csv") for i in (1, 3, 4, 5)},
}
PLAYS = (0.03, 0.05, 0.07, 0.09, 0.11)  # half widths, of the motors' inputs
ARCS = tuple(product((0.05, 0.07, 0.09, 0.11), (0.03, 0.1, 0.3)))  # half widths, priors [m]
STARTED = "arcs, first row known"
RIDGE = tuple(Constants(noise) for noise in (0.01, 0.1, 1.0, 10.0))
MM = 1e3

# Of the trunk: inputs (n, 6) and its disks' places (n, 3, 3) [m], by name.
Recordings = Mapping[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Tested:
    """An arm's tip where it was not learned: truth and predictions (q, 3) [m], and what was chosen."""

    truth: np.ndarray
    predictions: dict[str, np.ndarray]
    chosen: str

    def errors(self) -> dict[str, float]:
        """Mean distance of each prediction [mm]."""
        return {k: MM * float(np.linalg.norm(v - self.truth, axis=1).mean()) for k, v in self.predictions.items()}


def run(folder: Path, data: Path) -> str:
    """Learn and test; the table."""
    recording, recordings = read_recording(data / FILE), read_trunk(data / TRUNK)
    arm, trunk = arm_tested(recording), trunk_tested(recordings)
    content = {"tensegrity_arm": {"mm": arm.errors(), "chosen": arm.chosen}}
    content["trunk"] = {name: {"mm": each.errors(), "chosen": each.chosen} for name, each in trunk.items()}
    write_text(folder / "table.json", json.dumps(content, indent=1))
    draw(folder / "tips.png", arm, trunk)
    return table(arm, trunk)


def arm_tested(recording: ArmRecording) -> Tested:
    """The tensegrity arm's tip on rows 900 and on.

    Raises:
        RecordingError: there are not so many rows.
    """
    count = len(recording.tip)
    if count <= TRAINED:
        raise RecordingError(f"the tensegrity arm's recording has {count} rows: more than {TRAINED} are needed")
    candidates, tip = arm_inputs(recording), recording.tip
    own, unseen = np.arange(TRAINED), np.arange(TRAINED, count)
    choice = choose(candidates, tip, np.array_split(own, PIECES))
    inputs = candidates[choice.inputs]
    found = predict(inputs[own], tip[own], inputs[unseen], choice.constants)
    mean = np.tile(tip[own].mean(axis=0), (len(unseen), 1))
    words = f"{choice.inputs}, {_words(choice.constants)}; {MM * choice.error:.0f} mm on pieces of the trained rows"
    return Tested(tip[unseen], {"mean": mean, "regression": found}, words)


def arm_inputs(recording: ArmRecording) -> dict[str, np.ndarray]:
    """(n, k) what the tip may be learned from, by name."""
    forces, count = recording.specific_forces, len(recording.tip)
    directions = (forces / np.linalg.norm(forces, axis=2, keepdims=True)).reshape(count, -1)
    rates = recording.rates.reshape(count, -1)
    return {
        "directions of specific force": directions,
        "specific forces": forces.reshape(count, -1),
        "directions and rates": np.column_stack([directions, rates]),
        "directions and pressures": np.column_stack([directions, recording.counts]),
    }


def read_trunk(folder: Path) -> Recordings:
    """The trunk's recordings.

    Raises:
        RecordingError: a file is missing or broken.
    """
    recordings = {}
    for name, files in TRUNK_FILES.items():
        inputs, seen = (_read_table(folder / file, width) for file, width in zip(files, (7, 10), strict=True))
        if not np.array_equal(inputs[:, 0], seen[:, 0]):
            raise RecordingError(f"{folder / files[1]}: its IDs are not those of {files[0]}")
        recordings[name] = inputs[:, 1:], seen[:, 1:].reshape(-1, 3, 3)
    return recordings


def trunk_tested(recordings: Recordings) -> dict[str, Tested]:
    """The trunk's tip in each recording but its first row, learned from the others."""
    tip = np.concatenate([places[:, -1] for _, places in recordings.values()])
    ends = np.cumsum([0] + [len(places) for _, places in recordings.values()])
    rows = {name: np.arange(a, b) for name, a, b in zip(recordings, ends[:-1], ends[1:], strict=True)}
    candidates = trunk_inputs([inputs for inputs, _ in recordings.values()])
    tested, chosen = {}, choose_arcs(recordings)
    for name, own in rows.items():
        unseen = own[1:]
        folds = [own for other, own in rows.items() if other != name]
        own = np.concatenate(folds)
        found = {}
        for label, keys in (
            ("linear", ["inputs"]),
            ("quadratic", ["inputs, squared"]),
            ("regression", list(candidates)),
        ):
            choice = choose({key: candidates[key] for key in keys}, tip, folds, RIDGE)
            inputs = candidates[choice.inputs]
            found[label] = predict(inputs[own], tip[own], inputs[unseen], choice.constants)
        width, prior = chosen[name]
        found |= by_arcs(recordings, name, width, prior)
        words = f"{choice.inputs}, {_words(choice.constants)}; arcs: play of {width:g}, prior {MM * prior:g} mm"
        tested[name] = Tested(tip[unseen], found, words)
    return tested


def by_arcs(recordings: Recordings, name: str, width: float, prior: float) -> dict[str, np.ndarray]:
    """The tip (n − 1, 3) [m] of a recording, its first row left out, by arcs that are learned from the others."""
    trunk = learn_arcs([each for other, each in recordings.items() if other != name], width, prior)
    inputs, places = recordings[name]
    first = trunk_arcs.start(trunk, inputs[0], width, places[0])
    plays = {"arcs": play(inputs, width), STARTED: play(inputs, width, first)}
    return {label: trunk.places(each)[1:, -1] for label, each in plays.items()}


def choose_arcs(recordings: Recordings) -> dict[str, tuple[float, float]]:
    """Width and prior for each recording when it is held back: the others' mean error is least, each held back too."""
    errors = {name: np.zeros(len(ARCS)) for name in recordings}
    cases = [(pair, arcs) for pair in combinations(recordings, 2) for arcs in ARCS]
    found = compute_here(partial(_without_pair, dict(recordings)), cases, "trunks of arcs")
    for ((one, other), arcs), (first, second) in zip(cases, found, strict=True):
        errors[one][ARCS.index(arcs)] += second  # where `one` is tested, `other` is held back to choose
        errors[other][ARCS.index(arcs)] += first
    return {name: ARCS[int(np.argmin(each))] for name, each in errors.items()}


def _without_pair(recordings: Recordings, case: tuple[tuple[str, str], tuple[float, float]]) -> tuple[float, float]:
    """Mean errors [m] of the tip in two recordings, by arcs of a width and a prior that are learned from the others."""
    pair, (width, prior) = case
    trunk = learn_arcs([each for name, each in recordings.items() if name not in pair], width, prior)
    errors = []
    for name in pair:
        inputs, places = recordings[name]
        off = trunk.places(play(inputs, width))[:, -1] - places[:, -1]
        errors.append(float(np.linalg.norm(off, axis=1).mean()))
    return errors[0], errors[1]


def learn_arcs(recordings: list[tuple[np.ndarray, np.ndarray]], width: float, prior: float) -> trunk_arcs.Trunk:
    """The trunk of all these recordings."""
    plays = np.concatenate([play(inputs, width) for inputs, _ in recordings])
    return trunk_arcs.learn(plays, np.concatenate([places for _, places in recordings]), prior)


def trunk_inputs(inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
    """(n, k) of all recordings (each in its order), by name."""
    found = {"inputs": np.concatenate(inputs)}
    for width in PLAYS:
        found[f"play of {width:g}"] = np.concatenate([play(each, width) for each in inputs])
    return found | {f"{name}, squared": _with_products(each) for name, each in found.items()}


def play(inputs: np.ndarray, width: float, place: np.ndarray | float = 0.0) -> np.ndarray:
    """(n, k) what follows inputs (n, k) through a play of half a width, from a place: the nearest that is within it."""
    rows = []
    for row in inputs:
        place = np.clip(place, row - width, row + width)
        rows.append(place)
    return np.array(rows)


def table(arm: Tested, trunk: dict[str, Tested]) -> str:
    """All errors."""
    errors = arm.errors()
    lines = [
        f"tensegrity arm, tip of rows {TRAINED}…{TRAINED + len(arm.truth) - 1}, mean distance [mm]: "
        + ", ".join(f"{name} {value:.0f}" for name, value in errors.items()),
        f"  chosen: {arm.chosen}",
        "trunk, tip of the recording that is held back, mean distance [mm]:",
    ]
    for name, each in trunk.items():
        told = ", ".join(f"{label} {value:5.1f}" for label, value in each.errors().items())
        lines.append(f"  {name:9} {told}  ({each.chosen})")
    means = {k: np.mean([each.errors()[k] for each in trunk.values()]) for k in next(iter(trunk.values())).predictions}
    lines.append(f"  {'mean':9} " + ", ".join(f"{label} {value:5.1f}" for label, value in means.items()))
    return "\n".join(lines)


def draw(path: Path, arm: Tested, trunk: dict[str, Tested]) -> None:
    """The arm's tip, truth and prediction, and the trunk's from above."""
    figure = Figure(figsize=(12.0, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = np.arange(TRAINED, TRAINED + len(arm.truth))
    for d, (name, colour) in enumerate(zip("xyz", ("#d55e00", "#009e73", "#0072b2"), strict=True)):
        left.plot(rows, MM * arm.truth[:, d], color=colour, lw=2.5, alpha=0.4, label=f"{name}, motion capture")
        left.plot(rows, MM * arm.predictions["regression"][:, d], color=colour, lw=1.0, label=f"{name}, regression")
    left.set(xlabel="row (30 Hz)", ylabel="tip [mm]", title="tensegrity arm, unseen rows", ylim=(-1100.0, 1400.0))
    left.legend(fontsize=8, ncol=3, frameon=False)
    for name, colour in zip(trunk, ("#000000", "#d55e00", "#009e73", "#cc79a7", "#0072b2"), strict=False):
        truth, found = trunk[name].truth, trunk[name].predictions["arcs"]
        right.plot(*(MM * truth[:, [0, 2]]).T, ".", color=colour, ms=3.0, label=name)
        for a, b in zip(truth, found, strict=True):
            right.plot([MM * a[0], MM * b[0]], [MM * a[2], MM * b[2]], color=colour, lw=0.4, alpha=0.6)
    right.set(aspect="equal", xlabel="x [mm]", ylabel="z [mm]", title="trunk, dots: seen, lines to: predicted")
    right.legend(fontsize=8, frameon=False)
    write_picture(path, figure, dpi=110)


def _with_products(values: np.ndarray) -> np.ndarray:
    i, j = np.triu_indices(values.shape[1])
    return np.column_stack([values, values[:, i] * values[:, j]])


def _words(constants: Constants) -> str:
    kernel = f", bent {constants.bent:g} over {constants.length:g}" if constants.bent else ", linear"
    return f"noise {constants.noise:g}{kernel}"


def _read_table(path: Path, width: int) -> np.ndarray:
    if not path.is_file():
        raise RecordingError(f"no recording '{path}': give the folder of the recordings with --data or $SOFT_TWIN_DATA")
    try:
        values = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except (ValueError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: not readable as a table: {error}") from error
    if values.shape[1] != width or not np.isfinite(values).all():
        raise RecordingError(f"{path}: expected {width} columns of finite numbers, found {values.shape}")
    return values
