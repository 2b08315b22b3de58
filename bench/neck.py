"""The neck's kinematics, from pitch and roll to cables: constant curvature, finite elements, and these in a table; and
its plate held in closed loop on an emulated neck with two IMUs behind filters, in attitudes of its base and with
payloads, a line a case (25 s of a core each). Cases that have ended are kept until all have: who is interrupted and
starts the same again goes on."""

import argparse
from collections.abc import Sequence

import numpy as np

from soft_twin import load_robot
from soft_twin.app.measuring import Figure, time_calls
from soft_twin.errors import UsageError
from soft_twin.inverse.plate import FemPlate
from soft_twin.inverse.plate_table import PlateTable
from soft_twin.parallel import Workers, add_worker_arguments, working_with
from soft_twin.robots.plate_models import PLATE_MODELS
from soft_twin.studies.neck_held import INCLINATIONS, PAYLOADS, HeldRow, cases, hold_all, table
from soft_twin.twins.constant_curvature import ConstantCurvature

POSES, TOGETHER = 20_000, 1_000_000
LARGEST = 0.55  # [rad] of pitch and roll
TICKS, SPEED = 300, 0.01  # and how far a tick's target is from the last one's [rad]
JUDGED = 40  # poses at which the table is compared with what it was made of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this benchmark."""
    lists = {"inclinations": INCLINATIONS, "payloads": PAYLOADS, "seeds": (0,)}
    words = {"inclinations": "of the base to the ground [°]", "payloads": "on the plate [kg]", "seeds": "of the chips"}
    for name, default in lists.items():
        kind = int if name == "seeds" else float
        parser.add_argument(f"--{name}", type=kind, nargs="*", default=default, help=f"{words[name]}; {default}")
    parser.add_argument("--models", nargs="*", default=("fem",), help="that steer while the plate is held; fem")
    add_worker_arguments(parser)


def measure(
    models: Sequence[str] = ("fem",),
    inclinations: Sequence[float] = INCLINATIONS,
    payloads: Sequence[float] = PAYLOADS,
    seeds: Sequence[int] = (0,),
    workers: int = 0,
    cluster: str | None = None,
) -> list[Figure]:
    """The rows for cables along arcs and along chords, for finite elements, and for plates held by models, if any; held
    by this many processes (0: one on each core), or by those of a cluster.

    Raises:
        UsageError: another model, or a payload below 0.
    """
    if unknown := [name for name in models if name not in PLATE_MODELS]:
        raise UsageError(f"--models: '{unknown[0]}' is none of {', '.join(PLATE_MODELS)}")
    if lifting := [payload for payload in payloads if payload < 0.0]:
        raise UsageError(f"--payloads {lifting[0]:g}: expected 0 kg or more")
    robot, who = load_robot("neck"), Workers(workers, cluster)
    rows = [row for name in ("pcc_arc", "pcc_chord") for row in _kinematics(name, robot.build_twin(name))]
    fem, tabled = robot.build_twin("fem"), robot.build_twin("fem_table")
    rows += [*_fem(fem), *_table(tabled, fem)]
    with working_with(who):
        held = hold_all(cases(models, inclinations, payloads, seeds))
    print(table(held))
    return [*rows, *(figure for model in models for figure in _held(model, [r for r in held if r.case.model == model]))]


def _kinematics(name: str, neck: ConstantCurvature) -> list[Figure]:
    poses = _poses(TOGETHER)
    one_by_one, wound = poses[:POSES].tolist(), neck.displacements(*poses[:POSES].T)
    single = time_calls(lambda i: neck.displacements(*one_by_one[i]), POSES)
    together = time_calls(lambda i: neck.displacements(*poses.T), 3)
    back = time_calls(lambda i: neck.orientation(wound[i]), POSES // 10)
    return [
        _median(f"{name}.ms", f"{name}: pitch and roll to cables, median", single, "<= 0.005"),
        Figure(f"{name}.p99_ms", "  99th percentile", float(np.percentile(single, 99)), "ms"),
        Figure(f"{name}.million_s", "  a million poses in one call", 1e-3 * float(np.median(together)), "s", "<= 1"),
        _median(f"{name}.back_ms", "  cables to orientation, median", back),
    ]


def _fem(fem: FemPlate) -> list[Figure]:
    """Ticks along a circle, whole solves from pose to pose."""
    angles = SPEED / LARGEST * np.arange(TICKS + 3)
    path = LARGEST * np.column_stack([np.cos(angles), np.sin(angles)])
    fem.solve(*path[0])
    ticks = time_calls(lambda i: fem.tick(*path[i]), TICKS)
    poses = _poses(23)
    solves = time_calls(lambda i: fem.solve(*poses[i]), 20)
    return [
        Figure("fem.unknowns", "fem: unknowns", fem.twin.model.unknowns.size),
        _median("fem.tick_ms", "  one tick of a moving target, median", ticks, "<= 8"),
        Figure("fem.tick_p99_ms", "  99th percentile", float(np.percentile(ticks, 99)), "ms"),
        _median("fem.solve_ms", "  whole solve from another pose, median", solves),
    ]


def _table(table: PlateTable, fem: FemPlate) -> list[Figure]:
    poses = _poses(POSES).tolist()
    wound = [table.displacements(*pose) for pose in poses[: POSES // 10]]
    off = [np.subtract(fem.orientation(table.displacements(*pose)), pose) for pose in poses[:JUDGED]]
    single = time_calls(lambda i: table.displacements(*poses[i]), POSES)
    back = time_calls(lambda i: table.orientation(wound[i]), POSES // 10)
    worst = float(np.degrees(np.hypot(*np.array(off).T)).max())
    return [
        _median("fem_table.ms", "fem_table: pitch and roll to cables, median", single, "<= 0.05"),
        Figure("fem_table.error_deg", "  largest error of the pose that fem then has", worst, "°", "<= 0.3"),
        _median("fem_table.back_ms", "  cables to orientation, median", back),
    ]


def _held(model: str, rows: list[HeldRow]) -> list[Figure]:
    """The worst and how many of all motions of a model's cases."""
    steps = [step for row in rows for step in row.steps]
    near = [step.steady <= 0.3 for step in steps]
    soon = [step.settling <= 1.5 for step in steps]
    hung = np.array([(s.payload - row.case.payload, s.deviation, row.case.payload) for row in rows for s in row.loaded])
    off, told = 1e3 * np.abs(hung[:, 0]), 1e3 * hung[:, 1]  # [g]
    missed = off - np.maximum(20.0, 100.0 * hung[:, 2])
    return [
        Figure(f"held.{model}.steady_deg", f"held by {model}, worst", max(s.steady for s in steps), "°", "<= 0.3"),
        Figure(f"held.{model}.near", "  motions within 0.3°", 100.0 * np.mean(near), "%", "100"),
        Figure(f"held.{model}.soon", "  settled within 1.5 s", 100.0 * np.mean(soon), "%", "100"),
        Figure(f"held.{model}.overshoot", "  overshoot, worst", 100.0 * max(s.overshoot for s in steps), "%", "<= 5"),
        Figure(f"held.{model}.payload_g", "  payload, worst beyond 20 g or a tenth", np.nanmax(missed), "g", "<= 0"),
        Figure(f"held.{model}.payloads", "  payloads found so", 100.0 * np.mean(missed <= 0.0), "%", "100"),
        Figure(f"held.{model}.told_g", "  their deviation as it is told, median", float(np.median(told)), "g"),
        Figure(f"held.{model}.honest", "  payloads within two of these", 100.0 * np.mean(off <= 2.0 * told), "%", "95"),
    ]


def _poses(count: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-LARGEST, LARGEST, (count, 2))


def _median(key: str, what: str, times: np.ndarray, reach: str = "") -> Figure:
    return Figure(key, what, float(np.median(times)), "ms", reach)
