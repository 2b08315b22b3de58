"""The loop closed on the tip through a tracker, of a robot that has become softer than its twin knows.

The base turns from upright to horizontal and, while something is wrong with the tracker, rolls on by 60°. Without a
tracker, with one, and with one that is silent, jumps, or speaks of another place or frame for a while. A tracker is
one of `tip/pose` in base_link, seen a period late. Errors are those across the base's axis, and of the whole tip beside
them: cables only pull, so that no tracker helps along it. Files: table.json, tracker.mcap, tracker.png.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from soft_twin.emulation.plant import Plant
from soft_twin.emulation.spline_motion import SplineMotion
from soft_twin.inverse.targets import pose_target
from soft_twin.inverse.tip_feedback import TipFeedback
from soft_twin.parallel import compute_here
from soft_twin.robots import load_robot
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.carried import LOOP, STRAIGHT, smooth
from soft_twin.studies.slender.loop import History, Loop, Tracker, faithful
from soft_twin.studies.slender.poses import BaseAttitude, record
from soft_twin.studies.slender.shared import emulated_robot, tuned_twin, write_table

matplotlib.use("Agg")

SOFTER = 0.7  # of the robot's E for which its twin was tuned
TURNS, DURATION = (3.0, 12.0), 28.0  # [s] upright until it turns to horizontal, until it rolls, and of all
TURN, ROLL = 3.0, 60.0  # [s] that either takes; [°]
KNOTS_PER_SECOND = 20
BEGIN, END = 12.0, 17.0  # [s] between which something is wrong
BACK = 3.0  # [s] after it until it counts again
LOOKED = 2.0  # [s] before it, and at the end
JUMP, APART, LASTS = np.array([0.0, 0.015, 0.0]), 1.0, 0.2  # [m], one each [s], that lasts [s]
TURNED = Rotation.from_euler("x", 10.0, degrees=True)
WORLD = Rotation.from_euler("y", 90.0, degrees=True)


def is_wrong(time: float) -> bool:
    """Whether it is the time for that."""
    return BEGIN <= time < END


def silent(time: float, seen: np.ndarray) -> np.ndarray | None:
    """It has lost the tip."""
    return None if is_wrong(time) else seen


def jumping(time: float, seen: np.ndarray) -> np.ndarray:
    """It takes something else for the tip, again and again, for moments."""
    return seen + JUMP if is_wrong(time) and (time - BEGIN) % APART < LASTS else seen


def elsewhere(time: float, seen: np.ndarray) -> np.ndarray:
    """It takes something else for the tip, and goes on to."""
    return seen + JUMP if is_wrong(time) else seen


def turned(time: float, seen: np.ndarray) -> np.ndarray:
    """Its frame has been knocked against, and is TURNED to base_link."""
    return TURNED.apply(seen) if is_wrong(time) else seen


def in_another_frame(time: float, seen: np.ndarray) -> np.ndarray:
    """It says base_link and means another frame."""
    return WORLD.apply(seen) if is_wrong(time) else seen


def in_millimetres(time: float, seen: np.ndarray) -> np.ndarray:
    """It says metres and means millimetres."""
    return 1e3 * seen if is_wrong(time) else seen


CASES: dict[str, Tracker | None] = {
    "no tracker": None,
    "followed": faithful,
    "silent": silent,
    "jumps": jumping,
    "elsewhere": elsewhere,
    "turned by 10°": turned,
    "another frame": in_another_frame,
    "millimetres": in_millimetres,
}


@dataclass(frozen=True)
class Run:
    """A history, what the correction was, whether the loop was closed (t,), and why measurements did not count."""

    history: History
    corrections: np.ndarray
    closed: np.ndarray
    refusals: list[str]


@dataclass(frozen=True)
class Row:
    """A case.

    Attributes:
        case: what was wrong with the tracker.
        before_mm, wrong_mm, after_mm: largest distance of the tip from its target across the base's axis, at rest
            before something is wrong, while it is, and at rest from BACK after it on.
        whole_mm: of the tip, at rest at the end.
        correction_mm: the largest correction while something is wrong.
        closed: share of that time in which measurements counted.
        refusal: why others did not; the most frequent.
    """

    case: str
    before_mm: float
    wrong_mm: float
    after_mm: float
    whole_mm: float
    correction_mm: float
    closed: float
    refusal: str


def run(folder: Path, data: Path) -> str:
    """Carry the robot once for each case; `data` is not used."""
    tuned_for = emulated_robot(folder)
    twin, _ = tuned_twin(folder, tuned_for)
    scale = SOFTER * tuned_for.emulated.young_modulus_scale
    real = emulated_robot(folder, "slender_softer", **{"emulated.young_modulus_scale": scale})
    runs = compute_here(partial(follow, str(real.path), str(twin.path)), list(CASES), "runs of 28 s")
    rows = [row(case, each) for case, each in zip(CASES, runs, strict=True)]
    write_table(folder, {"rows": [asdict(each) for each in rows], "loop": LOOP})
    draw(folder / "tracker.png", runs)
    histories = {case: each.history for case, each in zip(CASES, runs, strict=True)}
    record(folder / "tracker.mcap", twin, histories)
    return table(rows)


def follow(real: str, twin: str, case: str) -> Run:
    """A case, by the descriptions' paths."""
    robot, ours, tracker = load_robot(real), load_robot(twin), CASES[case]
    plant, controller, motion = Plant(robot), ours.build_controller(reuse=True), base_motion()
    plant.settle(-motion.specific_force(0.0))
    feedback = TipFeedback(controller.twin.length)
    loop = Loop(robot, plant, controller, motion, feedback=feedback if tracker else None, tracker=tracker or faithful)
    controller.enable(True)
    controller.aim(pose_target(controller.inverse, STRAIGHT))
    told: list[tuple[np.ndarray, bool, str]] = []
    loop.run(motion.duration, lambda time: told.append((feedback.error.copy(), feedback.closed, feedback.refusal)))
    corrections, closed, refusals = zip(*told, strict=True)
    return Run(loop.history(), np.array(corrections), np.array(closed), list(refusals))


def base_motion() -> SplineMotion:
    """How the base turns."""
    times = np.arange(round(KNOTS_PER_SECOND * DURATION) + 1) / KNOTS_PER_SECOND
    down, rolled = (np.clip((times - begin) / TURN, 0.0, 1.0) for begin in TURNS)
    inclinations, rolls = 90.0 * (1.0 - smooth(down)), ROLL * smooth(rolled)
    poses = [BaseAttitude(*pose).attitude for pose in zip(inclinations, rolls, strict=True)]
    return SplineMotion(times, Rotation.concatenate(poses))


def row(case: str, run: Run) -> Row:
    """A row of the table."""
    history, wrong = run.history, np.array([is_wrong(time) for time in run.history.times])
    aside = 1e3 * np.linalg.norm(history.tips[:, :2] - STRAIGHT[:2], axis=1)
    ends = history.times >= history.times[-1] - LOOKED
    away = 1e3 * np.linalg.norm((history.tips[ends] - STRAIGHT).mean(axis=0))
    said = [refusal for refusal, counts in zip(run.refusals, wrong, strict=True) if refusal and counts]
    return Row(
        case=case,
        before_mm=float(aside[(history.times >= BEGIN - LOOKED) & (history.times < BEGIN)].max()),
        wrong_mm=float(aside[wrong].max()),
        after_mm=float(aside[history.times >= END + BACK].max()),
        whole_mm=float(away),
        correction_mm=1e3 * float(np.linalg.norm(run.corrections[wrong], axis=1).max()),
        closed=float(run.closed[wrong].mean()),
        refusal=max(set(said), key=said.count) if said else "",
    )


def table(rows: list[Row]) -> str:
    """One line a case."""
    lines = [
        f"{'tracker':14} {'aside [mm]: before':>18} {'wrong':>6} {'after':>6} {'tip at the end':>14} "
        f"{'corrected by':>12} {'closed':>6}  refusal"
    ]
    lines += [
        f"{each.case:14} {each.before_mm:18.2f} {each.wrong_mm:6.2f} {each.after_mm:6.2f} {each.whole_mm:14.2f} "
        f"{each.correction_mm:12.2f} {each.closed:6.0%}  {each.refusal}"
        for each in rows
    ]
    return "\n".join([*lines, f"loop: {LOOP}"])


def alike(runs: list[Run]) -> dict[str, Run]:
    """Runs by their cases in words, those together in which the tip went the same way: a picture shows one of them."""
    cases: dict[bytes, list[str]] = {}
    by_course = {}
    for case, run in zip(CASES, runs, strict=True):
        course = run.history.tips.tobytes()
        cases.setdefault(course, []).append(case)
        by_course[course] = run
    return {", ".join(cases[course]): run for course, run in by_course.items()}


def draw(path: Path, runs: list[Run]) -> None:
    """How far the tip is aside, and what the correction is, over time."""
    figure = Figure(figsize=(9.5, 6.0), layout="constrained")
    tips, corrections = figure.subplots(2, 1, sharex=True)
    for cases, run in alike(runs).items():
        times = run.history.times
        tips.plot(times, 1e3 * np.linalg.norm(run.history.tips[:, :2] - STRAIGHT[:2], axis=1), label=cases)
        corrections.plot(times, 1e3 * np.linalg.norm(run.corrections, axis=1))
    tips.set(ylabel="tip across the axis [mm]", ylim=(0.0, None))
    corrections.set(xlabel="time [s]", ylabel="correction [mm]", ylim=(0.0, None))
    tips.legend(fontsize=8)
    for axes in (tips, corrections):
        axes.axvspan(BEGIN, END, color="0.93")
        axes.grid(alpha=0.3)
    write_picture(path, figure, dpi=110)
