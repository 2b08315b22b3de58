"""The neck's paper done again (Lipa et al. 2025, Tables 1 and 2, Figures 5 to 7) on an emulated neck; its loop closed.

An emulated neck moves in simulated time (`neck_loop`), with another modulus, density and mesh than the models have,
friction in its cables, drives with a lag, and two IMU chips behind their filters. Targets are reached in ramps of 5 s
and held for 2 s, with the signs of the paper's table and of its text, by each model, steered (open) and held by what
the IMUs see (closed), after slack was taken up and with winches that were not homed. IMU boards are mounted askew, and
aligned on a straight plate before the loop is closed. Then 70 poses as in the logs of real necks, at rest, with 0 to
1000 g: steered by models that know of the payload, and one after the other in the closed loop, which finds it.

IK time is processor time of one call along the ramp. RMS errors are those of pitch and roll to the ramp over the whole
trace, and to the target over its last 2 s. Files: table.json; experiment_1.png, … with traces after slack was taken up
and without; neck.mcap with all traces, each a phase.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import soft_twin
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError
from soft_twin.inverse.plate_alignment import Alignment
from soft_twin.inverse.plate_holder import PlateHolder
from soft_twin.parallel import compute_here
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.studies.neck_loop import DT, Moments, NeckLoop
from soft_twin.studies.results import write_picture, write_text
from soft_twin.twins.constant_curvature import pitch_roll_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.finite_element import FemTwin
from soft_twin.twins.plate_model import PlateModel
from soft_twin.twins.plate_orientation import axis_at

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
RAMP, HOLD = 5.0, 2.0  # [s]
SHARES = np.linspace(0.02, 1.0, 50)  # of the ramp, where the models are timed
NOT_HOMED = np.array([-0.002, 0.0015, -0.003])  # [m] by which winches have wound in more than they know
LEFT_SLACK = np.array([-0.0001, 0.0001, 0.0])  # [m] likewise after slack was taken up
DOWN = np.array(UPRIGHT_GRAVITY)
POSES = [(angle, float(azimuth)) for angle in (15.0, 25.0) for azimuth in np.arange(10.0, 360.0, 10.0)]  # [°]
EACH, LOOKED, TARE = 1.5, 0.3, 2.5  # [s]
TARED_AT = [(20.0, 15.0), (-20.0, 10.0), (0.0, -22.0)]  # [°]: a plate that stands straight says nothing of its load
SEED, ASKEW = 40, np.radians(0.5)  # of IMUs, noise and mounting; how far boards are from where they should be
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


@dataclass(frozen=True)
class Swept:
    """A sweep: with what on the plate [kg], by what, and mean and largest error [°]."""

    payload: float
    model: str
    closed: bool
    mean: float
    largest: float


@dataclass(frozen=True)
class Case:
    """A target [°] of an experiment, and how it is reached."""

    experiment: int
    target: tuple[float, float]
    model: str
    closed: bool
    homed: bool


def run(folder: Path, data: Path) -> str:
    """Do the experiments; the tables. `data` is not used."""
    cases = [
        Case(experiment, target, name, closed, homed)
        for experiment, targets in TARGETS.items()
        for target in targets
        for name in MODELS
        for closed in (False, True)
        for homed in (True, False)
    ]
    found = compute_here(follow, cases, "traces")
    rows = [row(case, moments.trace, ik_ms) for case, (moments, ik_ms) in zip(cases, found, strict=True)]
    for experiment, (target, *_) in TARGETS.items():
        traces = {
            (case.model, case.closed, case.homed): moments.trace
            for case, (moments, _) in zip(cases, found, strict=True)
            if (case.experiment, case.target) == (experiment, target)
        }
        draw(folder / f"experiment_{experiment}.png", traces, target)
    record(folder / "neck.mcap", cases, [moments for moments, _ in found])
    loads = [(name, closed, payload) for payload in PAYLOADS for closed in (False, True) for name in MODELS]
    swept = compute_here(partial(sweep, POSES), loads, "sweeps of 70 poses")
    paper = [{"experiment": number, "model": name, "row": row} for (number, name), row in PAPER.items()]
    content = {"rows": [asdict(each) for each in rows], "paper": paper, "sweep": [asdict(each) for each in swept]}
    write_text(folder / "table.json", json.dumps(content, indent=1))
    return f"{table(rows)}\n\n{sweep_table(swept)}"


def follow(case: Case) -> tuple[Moments, float]:
    """An emulated neck on its way to a target, and the model's time for one pose of the way [ms]."""
    robot = soft_twin.load_robot("neck")
    zero = LEFT_SLACK if case.homed else NOT_HOMED
    loop = NeckLoop(robot, _holder(robot, case.model, case.closed), zero, seed=SEED, askew=ASKEW)
    if case.closed:
        loop.holder.adopt(aligned())
    loop.holder.controller.aim(*np.radians(case.target), duration=RAMP)
    loop.run(RAMP + HOLD)
    return loop.moments, time_of(robot.build_twin(case.model), case.target)


@cache
def aligned() -> Alignment:
    """Of the IMUs, with finite elements and homed cables; it is kept while cables lose their homing."""
    robot = soft_twin.load_robot("neck")
    loop = NeckLoop(robot, _holder(robot, "fem", True), LEFT_SLACK, seed=SEED, askew=ASKEW)
    loop.align()
    return loop.holder.alignment


def time_of(model: PlateModel, target: tuple[float, float]) -> float:
    """Processor time of one step of a model along the ramp to a target [°], on average [ms]."""
    poses = [pitch_roll_of(axis_at(share * np.array(bend_of(*np.radians(target))))) for share in SHARES]
    model.step(*poses[0])
    begun = time.process_time()
    for pose in poses:
        model.step(*pose)
    return 1e3 * (time.process_time() - begun) / len(poses)


def row(case: Case, trace: np.ndarray, ik_ms: float) -> Row:
    """The row of a trace (t, 2) [°]."""
    shares = np.minimum(1.0, DT / RAMP * np.arange(1, len(trace) + 1))
    bend = np.array(bend_of(*np.radians(case.target)))
    ramp = np.degrees([pitch_roll_of(axis_at(share * bend)) for share in shares])
    whole = np.sqrt(((trace - ramp) ** 2).mean(axis=0))
    last = np.sqrt(((trace[-round(HOLD / DT) :] - case.target) ** 2).mean(axis=0))
    how = (case.model, case.closed, case.homed)
    return Row(case.experiment, *case.target, *how, ik_ms, *whole.tolist(), *last.tolist())


def sweep(poses: Sequence[tuple[float, float]], case: tuple[str, bool, float]) -> Swept:
    """A case (model, closed, payload [kg]) at poses (inclination, orientation) [°]."""
    name, closed, payload = case
    robot = soft_twin.load_robot("neck")
    errors = (_held if closed else _steered)(robot, name, payload, [np.radians(pose) for pose in poses])
    return Swept(payload, name, closed, float(np.nanmean(errors)), float(np.max(errors)))


def _steered(robot: FemRobot, name: str, payload: float, poses: Sequence[np.ndarray]) -> list[float]:
    """Errors [°] at rest of a model that knows of the payload, if it can."""
    body, model = robot.build_emulated_model(), robot.build_twin(name)
    body.body.attach_mass("tip", payload)
    neck = FemTwin(body, 0.1, robot.build_frames(body.body))
    model.bear(DOWN, payload)
    return [_error(neck, model, *pose) for pose in poses]


def _held(robot: FemRobot, name: str, payload: float, poses: Sequence[np.ndarray]) -> list[float]:
    """Errors [°] in closed loop, of the last LOOKED of the EACH that each pose is given, after the IMUs were aligned on
    the straight plate, and tares with nothing on it."""
    loop = NeckLoop(robot, _holder(robot, name, True), LEFT_SLACK, seed=SEED, askew=ASKEW)
    loop.align()
    for pose in TARED_AT:
        loop.holder.controller.aim(*np.radians(pose))
        loop.run(EACH)
        loop.holder.tare()
        loop.run(TARE)
    loop.load(payload)
    errors = []
    for angle, azimuth in poses:
        asked = axis_at(angle * np.array([np.cos(azimuth), np.sin(azimuth)]))
        loop.holder.controller.aim(*pitch_roll_of(asked))
        loop.run(EACH)
        axes = loop.moments.axes[-round(LOOKED / DT) :]
        errors.append(float(np.degrees(np.arccos(np.minimum(1.0, axes @ asked))).mean()))
    return errors


def _holder(robot: FemRobot, model: str, closed: bool) -> PlateHolder:
    """What the robot's node has; where the loop is open it does not look for a payload either."""
    holder = robot.build_plate_holder(model)
    if not closed:
        holder.closed, holder.observer = False, None
    return holder


def record(path: Path, cases: Sequence[Case], found: Sequence[Moments]) -> None:
    """Traces one behind the other, each a phase."""
    robot, begin = soft_twin.load_robot("neck"), 0.0
    with SimulatedRecording(path, robot) as recording:
        for case, moments in zip(cases, found, strict=True):
            loop, winches = "closed" if case.closed else "open", "homed" if case.homed else "not homed"
            recording.text("run/phase", begin, f"{case.experiment}: {case.target}, {case.model}, {loop}, {winches}")
            for i, when in enumerate(begin + DT * np.arange(1, len(moments.trace) + 1)):
                for topic, gravity in zip(("gravity", "plate/gravity"), moments.gravities[i], strict=True):
                    if np.isfinite(gravity).all():
                        recording.vector(topic, when, gravity)
                recording.pose("truth/tip", when, moments.tips[i], moments.axes[i])
                recording.joints("cables/command", when, robot.cable_names, moments.asked[i], np.zeros(0))
                recording.joints("cables/state", when, robot.cable_names, moments.driven[i], moments.tensions[i])
            begin += RAMP + HOLD + DT


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


def sweep_table(swept: Sequence[Swept]) -> str:
    """Errors of the sweeps."""
    lines = [f"{'payload [kg]':>12} {'model':10} {'loop':6} {'mean [°]':>9} {'largest':>8}"]
    lines += [
        f"{each.payload:12.1f} {each.model:10} {'closed' if each.closed else 'open':6} {each.mean:9.2f} "
        f"{each.largest:8.2f}"
        for each in swept
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
    write_picture(path, figure, dpi=110)


def _error(neck: FemTwin, model: PlateModel, angle: float, azimuth: float) -> float:
    """[°] between the axis that was asked for and the one that a neck then has."""
    asked = axis_at(angle * np.array([np.cos(azimuth), np.sin(azimuth)]))
    try:
        neck.equilibrium(DOWN, coordinates=model.displacements(*pitch_roll_of(asked)))
    except ConvergenceError:
        return float("nan")
    axis = neck.frames["tip"].rotation(neck)[:, 2]
    return float(np.degrees(np.arccos(min(1.0, axis @ asked))))
