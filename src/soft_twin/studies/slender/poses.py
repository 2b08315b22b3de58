"""What `static`, `bent` and `long` share: a robot at rest in an attitude, which sags until it is compensated."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from soft_twin.emulation.plant import Plant
from soft_twin.emulation.spline_motion import SplineMotion
from soft_twin.inverse.targets import actuation_target, pose_target
from soft_twin.inverse.tip_feedback import TipFeedback
from soft_twin.parallel import compute_here
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots import load_robot
from soft_twin.robots.cable_tube import CableTube
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.loop import PERIOD, History, Loop, correlation, delay, down_in_base, peak, shadow
from soft_twin.studies.slender.reachable import nearest
from soft_twin.studies.slender.shared import Motion, write_table

matplotlib.use("Agg")

SAGGING, TAKEN = 3.0, 2.0  # [s] without compensation; held where it hangs, until what that moves has come to rest
RAMP, HELD = 1.5, 2.5  # [s] until the target is where it shall be; and then
LAST, RESTED = 1.0, 0.2  # [s] at the end, before it is led: these count as at rest
LONGEST_DELAY = 0.2  # [s]
LOOP = "in simulated time, 50 Hz: chip, filter, controller, winches, body; no nodes"


@dataclass(frozen=True)
class BaseAttitude:
    """How the base stands: its axis at `inclination` to the ground [°], turned about it by `roll` [°] before."""

    inclination: float
    roll: float = 0.0

    def __str__(self) -> str:
        return f"{self.inclination:g}°" + (f", rolled by {self.roll:g}°" if self.roll else "")

    @property
    def attitude(self) -> Rotation:
        """base_link → world."""
        return Rotation.from_euler("x", 90.0 - self.inclination, degrees=True) * Rotation.from_euler(
            "z", self.roll, degrees=True
        )


@dataclass(frozen=True)
class Row:
    """A pose.

    Attributes:
        pose: in words.
        correlation: of the robot's tip with that of a dynamic twin whose winches do the same, all of the time.
        correlation_static: with that of the controller's twin, which knows no time.
        sag_mm: of the robot, from its target, before it was compensated.
        error_mm, lateral_mm: at rest in the end, and what of it is across the base's axis.
        sensed_mm: likewise across, where a tip sensor is followed.
        twin_error_mm: what the controller's twin expected: how near its cables can come at all.
        apart_mm: the robot from the controller's twin in the end.
        settled_s: from when it is led on, RAMP included, until the robot's tip stays within a millimetre of
            where it ends.
        delay_s: of the winches behind the commands, while they are led.
        tip_s: of the robot's tip behind that of the controller's twin, both from where they end, while they are led.
        peak_s: likewise, from where they sag furthest to where they come back (the paper's delay from virtual to real
            peak), to a period.
        possible_mm: how near the robot's tip could come with any tensions that only pull, see `reachable`.
    """

    pose: str
    correlation: float
    correlation_static: float
    sag_mm: float
    error_mm: float
    lateral_mm: float
    sensed_mm: float
    twin_error_mm: float
    apart_mm: float
    settled_s: float
    delay_s: float
    tip_s: float
    peak_s: float
    possible_mm: float


def stand(
    real: str, twin: str, target: tuple[float, float, float], case: tuple[BaseAttitude, bool]
) -> tuple[History, Motion]:
    """Held straight, let go with winches at home, held where the twin's tip is after SAGGING, and led from there to
    `target` in RAMP, TAKEN later: the history, and what a dynamic twin makes of it. Descriptions by paths; `case`: a
    pose, and whether a tip sensor is followed."""
    (pose, sensed), robot, ours = case, load_robot(real), load_robot(twin)
    plant, controller = Plant(robot), ours.build_controller(reuse=True)
    plant.straighten()
    motion = SplineMotion([0.0, 1.0], Rotation.concatenate([pose.attitude] * 2))
    feedback = TipFeedback(controller.twin.length) if sensed else None
    loop = Loop(robot, plant, controller, motion, feedback=feedback)
    controller.enable(True)
    controller.aim(actuation_target(controller.inverse, np.zeros(len(robot.cable_names))))
    loop.run(SAGGING)
    sagged, begin = controller.twin.tip, SAGGING + TAKEN

    def lead(time: float) -> None:
        share = min(max((time - begin) / RAMP, 0.0), 1.0)
        smooth = share * share * (3.0 - 2.0 * share)
        controller.aim(pose_target(controller.inverse, sagged + smooth * (np.array(target) - sagged)))

    loop.run(begin + RAMP + HELD, lead)
    history, body = loop.history(), ours.build_dynamic_twin(PERIOD)
    body.straighten()
    return history, shadow(body, history)


def stand_all(
    real: CableTube, twin: CableTube, target: tuple[float, float, float], poses: list[BaseAttitude]
) -> list[tuple[History, Motion]]:
    """Every pose, and then every pose with a tip sensor, in parallel, with progress."""
    work = partial(stand, str(real.path), str(twin.path), target)
    return compute_here(work, [(pose, sensed) for sensed in (False, True) for pose in poses], "poses")


def nearest_possible(real: str, target: tuple[float, float, float], pose: BaseAttitude) -> float:
    """How near the tip of a robot, by its description's path, could come in a pose [m]."""
    return nearest(load_robot(real), down_in_base(np.roll(pose.attitude.as_quat(), 1)), np.array(target))


def row(
    pose: BaseAttitude,
    target: tuple[float, float, float],
    history: History,
    virtual: Motion,
    sensed: History,
    possible: float,
) -> Row:
    """A row of the table; `sensed`: the history where a tip sensor is followed; `possible`: how near the robot's tip
    could come [m]."""
    end, goal = history.times[-1], np.array(target)
    last, sagged = history.after(end - LAST), history.after(SAGGING - LAST, SAGGING)
    miss = (last.tips - goal).mean(axis=0)
    begin = SAGGING + TAKEN
    led, turning = history.after(begin), history.after(begin - RESTED)
    ends = led.twin_tips - last.twin_tips.mean(axis=0), led.tips - last.tips.mean(axis=0)
    away = np.linalg.norm(ends[1], axis=1) > 1e-3
    settled = led.times[min(np.flatnonzero(away)[-1] + 1, len(away) - 1)] - begin if away.any() else 0.0
    return Row(
        pose=str(pose),
        correlation=correlation(history.tips, virtual.tips),
        correlation_static=correlation(history.tips, history.twin_tips),
        sag_mm=1e3 * float(np.linalg.norm((sagged.tips - goal).mean(axis=0))),
        error_mm=1e3 * float(np.linalg.norm(miss)),
        lateral_mm=1e3 * float(np.linalg.norm(miss[:2])),
        sensed_mm=1e3 * float(np.linalg.norm((sensed.after(end - LAST).tips - goal).mean(axis=0)[:2])),
        twin_error_mm=1e3 * float(np.linalg.norm((last.twin_tips - goal).mean(axis=0))),
        apart_mm=1e3 * float(np.linalg.norm((last.tips - last.twin_tips).mean(axis=0))),
        settled_s=float(settled),
        delay_s=delay(led.asked, led.wound, PERIOD, LONGEST_DELAY),
        tip_s=delay(*ends, PERIOD, LONGEST_DELAY),
        peak_s=peak(turning.times, turning.tips, goal) - peak(turning.times, turning.twin_tips, goal),
        possible_mm=1e3 * possible,
    )


def table(rows: list[Row]) -> str:
    """One line a pose."""
    lines = [
        f"{'base':26} {'r':>8} {'r, static':>9} {'sag [mm]':>8} {'error [mm]':>10} {'lateral':>7} "
        f"{'sensed':>6} {'expected':>8} {'possible':>8} {'apart':>6} {'settled [s]':>11} {'winches [s]':>11} "
        f"{'tip [s]':>7} {'peaks [s]':>9}"
    ]
    lines += [
        f"{each.pose:26} {each.correlation:8.5f} {each.correlation_static:9.4f} {each.sag_mm:8.2f} "
        f"{each.error_mm:10.2f} {each.lateral_mm:7.2f} "
        f"{each.sensed_mm:6.2f} {each.twin_error_mm:8.2f} {each.possible_mm:8.2f} {each.apart_mm:6.2f} "
        f"{each.settled_s:11.2f} {each.delay_s:11.3f} {each.tip_s:7.3f} {each.peak_s:9.2f}"
        for each in rows
    ]
    return "\n".join(lines)


def report(
    folder: Path,
    name: str,
    real: CableTube,
    twin: CableTube,
    poses: list[BaseAttitude],
    numbers: dict[str, Any],
) -> str:
    """Stand straight in all poses, each in parallel, without a tip sensor and with one: the table; table.json, picture
    and recording of the experiment. `numbers`: the paper's and the reach."""
    target = twin.target_tip
    found = stand_all(real, twin, target, poses)
    possible = compute_here(partial(nearest_possible, str(real.path), target), poses, "bounds")
    found, sensed = found[: len(poses)], found[len(poses) :]
    rows = [
        row(pose, target, *each, other, bound)
        for pose, each, (other, _), bound in zip(poses, found, sensed, possible, strict=True)
    ]
    write_table(folder, {"rows": [asdict(each) for each in rows], "loop": LOOP, **numbers})
    draw(folder / f"{name}.png", target, poses, found)
    record(folder / f"{name}.mcap", twin, {str(pose): history for pose, (history, _) in zip(poses, found, strict=True)})
    told = "; ".join(f"{who}: {json_words(what)}" for who, what in numbers.items())
    return f"{table(rows)}\n{told}\nloop: {LOOP}"


def json_words(numbers: dict[str, Any]) -> str:
    """Names and values in one line."""
    return ", ".join(f"{name} {value}" for name, value in numbers.items())


def record(
    path: Path, robot: CableTube, histories: dict[str, History], contacts: dict[str, np.ndarray] | None = None
) -> None:
    """Courses one behind the other, each a phase; `twin/tip` is that of the controller's twin, `truth/contact` what the
    body is pushed with [N], (t,) of each course where it is told."""
    begin = 0.0
    with SimulatedRecording(path, robot) as recording:
        for phase, history in histories.items():
            recording.text("run/phase", begin, phase)
            for i, when in enumerate(begin + history.times):
                recording.vector("gravity", when, history.estimated[i])
                recording.pose("truth/tip", when, history.tips[i], history.axes[i])
                recording.pose("twin/tip", when, history.twin_tips[i], history.twin_axes[i])
                recording.joints("cables/command", when, robot.cable_names, history.asked[i], np.zeros(0))
                if contacts is not None:
                    recording.number("truth/contact", when, contacts[phase][i])
            begin += float(history.times[-1]) + PERIOD


def draw(path: Path, target: tuple, poses: list[BaseAttitude], found: list[tuple[History, Motion]]) -> None:
    """Coordinates of the tip over time, as in the paper's Figures 12 to 14."""
    figure = Figure(figsize=(3.2 * len(poses), 5.0), layout="constrained")
    plots = figure.subplots(2, len(poses), sharex=True, sharey="row", squeeze=False)
    for column, pose, (history, virtual) in zip(plots.T, poses, found, strict=True):
        across, along = column
        for axis, colour in ((0, "#009e73"), (1, "#0072b2"), (2, "#d55e00")):
            axes = along if axis == 2 else across
            axes.plot(history.times, 1e3 * history.tips[:, axis], color=colour, label=f"{'xyz'[axis]}, emulated robot")
            axes.plot(history.times, 1e3 * virtual.tips[:, axis], "--", color=colour, label=f"{'xyz'[axis]}, twin")
            axes.axhline(1e3 * target[axis], color="0.6", linewidth=0.8)
        across.set_title(str(pose), fontsize=10)
        along.set_xlabel("time [s]")
        for axes in column:
            axes.axvspan(0.0, SAGGING, color="0.93")
            axes.grid(alpha=0.3)
    plots[0, 0].set_ylabel("tip [mm]")
    plots[1, 0].set_ylabel("tip [mm]")
    lines = [line for axes in plots[:, 0] for line in axes.get_legend_handles_labels()[0]]
    figure.legend(handles=lines, fontsize=7, loc="outside lower center", ncols=3)
    write_picture(path, figure, dpi=110)
