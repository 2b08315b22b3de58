"""The neck's paper done again (Lipa et al. 2025, Tables 1 and 2, Figures 5 to 7) on an emulated neck; its loop closed.

An emulated neck moves in simulated time, with another modulus, density and mesh than the models have, friction in its
cables, drives with a lag, and IMUs with noise. Targets are reached in ramps of 5 s and held for 2 s, with the signs of
the paper's table and of its text, by each model, steered (open) and held by what the IMUs see (closed), after slack was
taken up and with winches that were not homed. Then 70 poses as in the logs of real necks, at rest, with 0 to 1000 g.

IK time is processor time of one call. RMS errors are those of pitch and roll to the ramp over the whole trace, and to
the target over its last 2 s. Files: table.json; experiment_1.png, … with traces after slack was taken up and without.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import soft_twin
from soft_twin.emulation.plant import Plant
from soft_twin.errors import ConvergenceError
from soft_twin.inverse.plate_controller import PlateController
from soft_twin.inverse.plate_sight import look
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.twins.constant_curvature import pitch_roll_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.constant_curvature.orientation import axis_at
from soft_twin.twins.finite_element import FemTwin
from soft_twin.twins.plate_model import PlateModel

matplotlib.use("Agg")

TARGETS = {
    1: [(44.4, 0.0), (43.3, 0.0)],  # [°] pitch and roll, as in the paper's table and in its text
    2: [(0.0, 43.3), (0.0, -44.4)],
    3: [(29.5, 35.0), (29.5, -35.0)],
}
MODELS = ("pcc_arc", "pcc_chord", "fem")
PAPER = {  # IK time [ms], RMS pitch and roll [°]
    (1, "PCC"): (0.040, 7.016, 5.1344),
    (1, "SOFA"): (0.045, 1.7986, 7.4181),
    (2, "PCC"): (0.040, 5.7105, 0.3917),
    (2, "SOFA"): (0.045, 3.3571, 1.5623),
    (3, "PCC"): (0.040, 2.7107, 9.7343),
    (3, "SOFA"): (0.045, 1.5659, 6.3668),
}
RAMP, HOLD, DT = 5.0, 2.0, 0.02  # [s]
NOT_HOMED = np.array([-0.002, 0.0015, -0.003])  # [m] by which winches have wound in more than they know
LEFT_SLACK = np.array([-0.0001, 0.0001, 0.0])  # [m] likewise after slack was taken up
NOISE = 0.02  # [m/s^2] of gravity as the filters give it
DOWN = np.array([0.0, 0.0, -9.81])
INCLINATIONS, ORIENTATIONS = (15.0, 25.0), np.arange(10.0, 360.0, 10.0)  # [°] of the sweep
PAYLOADS = (0.0, 0.5, 1.0)  # [kg]
COLOURS = dict(zip(MODELS, ("#d55e00", "#e69f00", "#0072b2"), strict=True))


@dataclass(frozen=True)
class Row:
    """One trace: what was asked, and how it went [ms], [°]."""

    experiment: int
    pitch: float
    roll: float
    model: str
    closed: bool
    homed: bool
    ik_ms: float
    rms_pitch: float
    rms_roll: float
    rms_pitch_last: float
    rms_roll_last: float


def run(folder: Path, data: Path) -> str:
    """Do the experiments; the tables."""
    robot = soft_twin.load_robot("neck")
    models = {name: robot.build_twin(name) for name in MODELS}
    plant, rows = Plant(robot), []
    for experiment, targets in TARGETS.items():
        traces = {}
        for target in targets:
            for name, closed, homed in _cases():
                trace, ik_ms = follow(plant, robot, models[name], target, closed, homed)
                rows.append(row(experiment, target, name, closed, homed, trace, ik_ms))
                traces.setdefault(target, {})[name, closed, homed] = trace
        draw(folder / f"experiment_{experiment}.png", traces[targets[0]], targets[0])
    poses = [(angle, azimuth) for angle in INCLINATIONS for azimuth in ORIENTATIONS]
    swept = sweep(robot, models, poses)
    paper = [{"experiment": number, "model": name, "row": row} for (number, name), row in PAPER.items()]
    content = {"rows": [asdict(each) for each in rows], "paper": paper, "sweep": swept}
    (folder / "table.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    return f"{table(rows)}\n\n{sweep_table(swept)}"


def follow(
    plant: Plant, robot: FemRobot, model: PlateModel, target: tuple[float, float], closed: bool, homed: bool
) -> tuple[np.ndarray, float]:
    """Pitch and roll (t, 2) [°] of an emulated neck on its way to a target [°], and the model's median time [ms]."""
    plant.settle(DOWN)
    controller, rng = PlateController(model), np.random.default_rng(0)
    controller.aim(*np.radians(target), duration=RAMP)
    driven, trace, times = LEFT_SLACK if homed else NOT_HOMED, [], []
    zero, wound = driven, driven
    rate, lag = robot.description.winches.rate * DT, robot.emulated.motor_lag
    for _ in range(round((RAMP + HOLD) / DT)):
        felt = [gravity + rng.normal(0.0, NOISE, 3) for gravity in (DOWN, plant.plates.rotations[0].T @ DOWN)]
        sight = look(*felt, controller.expected) if closed else None
        begun = time.process_time()
        tick = controller.update(sight, DT)
        times.append(time.process_time() - begun)
        driven = driven + np.clip(tick.displacements + zero - driven, -rate, rate)
        wound = wound - np.expm1(-DT / lag) * (driven - wound)
        plant.step(DT, wound, MovingBase(DOWN))
        trace.append(pitch_roll_of(plant.plates.rotations[0][:, 2]))
    return np.degrees(trace), 1e3 * float(np.median(times))


def row(experiment: int, target: tuple, model: str, closed: bool, homed: bool, trace: np.ndarray, ik_ms: float) -> Row:
    """A trace's row of the table."""
    shares = np.minimum(1.0, DT / RAMP * np.arange(1, len(trace) + 1))
    bend = np.array(bend_of(*np.radians(target)))
    ramp = np.degrees([pitch_roll_of(axis_at(share * bend)) for share in shares])
    whole = np.sqrt(((trace - ramp) ** 2).mean(axis=0))
    last = np.sqrt(((trace[-round(HOLD / DT) :] - target) ** 2).mean(axis=0))
    return Row(experiment, *target, model, closed, homed, ik_ms, *whole.tolist(), *last.tolist())


def sweep(robot: FemRobot, models: dict[str, PlateModel], poses: Sequence[tuple[float, float]]) -> list[dict]:
    """Mean and largest error [°] of each model, steered to poses (inclination, orientation) [°] at rest, payload by
    payload; models that can know of the payload do."""
    found = []
    for payload in PAYLOADS:
        body = robot.build_emulated_model()
        body.body.attach_mass("tip", payload)
        neck = FemTwin(body, 0.1, robot.build_frames(body.body))
        for name, model in models.items():
            model.bear(DOWN, payload)
            errors = [_error(neck, model, *np.radians(pose)) for pose in poses]
            found.append(
                {"payload": payload, "model": name, "mean": float(np.mean(errors)), "largest": float(np.max(errors))}
            )
            model.bear(DOWN)
    return found


def table(rows: Sequence[Row]) -> str:
    """Table 2 of the paper and ours; the last two columns are of the last 2 s."""
    lines = [
        f"{'Exp.':>4} {'target [°]':>14} {'model':10} {'loop':6} {'winches':10} {'IK [ms]':>8} {'RMS pitch':>9} "
        f"{'RMS roll':>9} {'last 2 s':>9} {'':>6}"
    ]
    for (experiment, name), (ik_ms, pitch, roll) in PAPER.items():
        lines.append(f"{experiment:4} {'':>14} {name:10} {'paper':17} {ik_ms:8.3f} {pitch:9.2f} {roll:9.2f}")
    for each in rows:
        target = f"{each.pitch:.1f}, {each.roll:.1f}"
        loop, winches = "closed" if each.closed else "open", "homed" if each.homed else "not homed"
        lines.append(
            f"{each.experiment:4} {target:>14} {each.model:10} {loop:6} {winches:10} {each.ik_ms:8.3f} "
            f"{each.rms_pitch:9.2f} {each.rms_roll:9.2f} {each.rms_pitch_last:9.2f} {each.rms_roll_last:6.2f}"
        )
    return "\n".join(lines)


def sweep_table(swept: Sequence[dict]) -> str:
    """Errors of the sweep."""
    lines = [f"{'payload [kg]':>12} {'model':10} {'mean [°]':>9} {'largest':>8}"]
    lines += [
        f"{each['payload']:12.1f} {each['model']:10} {each['mean']:9.2f} {each['largest']:8.2f}" for each in swept
    ]
    return "\n".join(lines)


def draw(path: Path, traces: dict, target: tuple[float, float]) -> None:
    """Pitch and roll over time, as in the paper's Figures 5 to 7: open (solid) and closed (dashed)."""
    figure = Figure(figsize=(10.0, 6.0), layout="constrained")
    plots = figure.subplots(2, 2, sharex=True, sharey="row")
    for (name, closed, homed), trace in traces.items():
        for i in range(2):
            style = {"color": COLOURS[name], "linestyle": "--" if closed else "-", "linewidth": 1.2}
            label = f"{name}, {'closed' if closed else 'open'}"
            plots[i, 0 if homed else 1].plot(DT * np.arange(1, len(trace) + 1), trace[:, i], label=label, **style)
    for i, angle in enumerate(("pitch", "roll")):
        for j, winches in enumerate(("slack taken up", "winches not homed")):
            plots[i, j].plot([0.0, RAMP, RAMP + HOLD], [0.0, target[i], target[i]], "k-", linewidth=0.8)
            plots[i, j].grid(alpha=0.3)
            plots[0, j].set_title(winches)
            plots[1, j].set_xlabel("time [s]")
        plots[i, 0].set_ylabel(f"{angle} [°]")
    plots[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def _cases() -> list[tuple[str, bool, bool]]:
    return [(name, closed, homed) for name in MODELS for closed in (False, True) for homed in (True, False)]


def _error(neck: FemTwin, model: PlateModel, angle: float, azimuth: float) -> float:
    """[°] between the axis that was asked for and the one that a neck then has."""
    asked = axis_at(angle * np.array([np.cos(azimuth), np.sin(azimuth)]))
    try:
        neck.equilibrium(DOWN, coordinates=model.displacements(*pitch_roll_of(asked)))
    except ConvergenceError:
        return float("nan")
    axis = neck.frames["tip"].rotation(neck)[:, 2]
    return float(np.degrees(np.arccos(min(1.0, axis @ asked))))
