"""A bend of 30° that is held through attitudes: the same shape whatever gravity does.

The target is the tip of an arc of 30°, upright; then the base is turned through six attitudes, two seconds to each, two
seconds there, with compensation, and once more with the winches held as they were upright. Files: bent.mcap,
table.json, bent.png.
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
from soft_twin.inverse.targets import actuation_target, pose_target
from soft_twin.parallel import compute_here
from soft_twin.robots import load_robot
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.carried import BEND, BENT
from soft_twin.studies.slender.loop import PERIOD, History, Loop, correlation, shadow
from soft_twin.studies.slender.poses import LOOP, BaseAttitude, record
from soft_twin.studies.slender.shared import Motion, emulated_robot, tuned_twin, write_table

matplotlib.use("Agg")

POSES = [
    BaseAttitude(45.0),
    BaseAttitude(0.0),
    BaseAttitude(0.0, 90.0),
    BaseAttitude(0.0, 180.0),
    BaseAttitude(-45.0, 90.0),
    BaseAttitude(45.0, -90.0),
]
MOVE, STAY, LOOKED = 2.0, 2.0, 0.5  # [s]; LOOKED: at the end of a stay
SETTLING = 4.0  # [s] upright


@dataclass(frozen=True)
class Row:
    """An attitude: error of the robot's tip and of its bend at the end of a stay, and without compensation."""

    pose: str
    error_mm: float
    bend_deg: float
    uncompensated_mm: float
    uncompensated_deg: float


def run(folder: Path, data: Path) -> str:
    """Carry the bent robot through the attitudes twice; `data` is not used."""
    real = emulated_robot(folder)
    twin, _ = tuned_twin(folder, real)
    work = partial(carry, str(real.path), str(twin.path))
    histories = compute_here(work, [True, False], "runs")
    rows = [_row(i, pose, *(history for history, _ in histories)) for i, pose in enumerate(POSES)]
    carried = [(history.after(SETTLING), virtual.tips[len(virtual.tips) - len(history.after(SETTLING).times) :])
               for history, virtual in histories]  # fmt: skip
    found = {
        "correlation": [correlation(history.tips, tips) for history, tips in carried],
        "rms_mm": [1e3 * float(np.sqrt(((history.tips - BENT) ** 2).sum(axis=1).mean())) for history, _ in carried],
    }
    write_table(folder, {"rows": [asdict(each) for each in rows], "compensated, not": found, "loop": LOOP})
    draw(folder / "bent.png", [history for history, _ in histories])
    courses = (history for history, _ in histories)
    record(folder / "bent.mcap", twin, dict(zip(("compensated", "not compensated"), courses, strict=True)))
    return f"{table(rows)}\n{_told(found)}\nloop: {LOOP}"


def carry(real: str, twin: str, compensate: bool) -> tuple[History, Motion]:
    """The history through all attitudes, and what a dynamic twin makes of it; descriptions by their paths."""
    robot, ours = load_robot(real), load_robot(twin)
    plant, controller = Plant(robot), ours.build_controller(reuse=True)
    loop = Loop(robot, plant, controller, _motion())
    controller.enable(True)
    controller.aim(pose_target(controller.inverse, BENT))
    loop.run(SETTLING)
    if not compensate:
        controller.aim(actuation_target(controller.inverse, controller.told))
    loop.run(loop.motion.duration)
    history, body = loop.history(), ours.build_dynamic_twin(PERIOD)
    return history, shadow(body, history)


def _motion() -> SplineMotion:
    """Upright for SETTLING, then pose after pose, each move a smooth turn."""
    times, attitudes = [0.0, SETTLING], [BaseAttitude(90.0).attitude] * 2
    for pose in POSES:
        times += [times[-1] + MOVE, times[-1] + MOVE + STAY]
        attitudes += [pose.attitude] * 2
    return SplineMotion(times, Rotation.concatenate(attitudes))


def _row(index: int, pose: BaseAttitude, *histories: History) -> Row:
    end = SETTLING + (index + 1) * (MOVE + STAY)
    numbers = []
    for history in histories:
        last = history.after(end - LOOKED, end)
        bends = np.degrees(np.arccos(np.clip(last.axes[:, 2], -1.0, 1.0)))
        numbers += [1e3 * np.linalg.norm(last.tips - BENT, axis=1).mean(), abs(bends.mean() - np.degrees(BEND))]
    return Row(str(pose), *map(float, numbers))


def table(rows: list[Row]) -> str:
    """One line an attitude."""
    lines = [f"{'base':26} {'error [mm]':>10} {'bend [°]':>8}   {'not compensated: [mm]':>21} {'bend [°]':>8}"]
    lines += [
        f"{each.pose:26} {each.error_mm:10.2f} {each.bend_deg:8.2f}   {each.uncompensated_mm:21.2f} "
        f"{each.uncompensated_deg:8.2f}"
        for each in rows
    ]
    return "\n".join(lines)


def _told(found: dict[str, list[float]]) -> str:
    (r, r_without), (rms, rms_without) = found["correlation"], found["rms_mm"]
    return (
        f"r with the dynamic twin {r:.4f}, not compensated {r_without:.4f}; rms of the tip's error {rms:.2f} mm, "
        f"not compensated {rms_without:.2f} mm"
    )


def draw(path: Path, histories: list[History]) -> None:
    """Error of the tip over time."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for history, name in zip(histories, ("compensated", "winches held"), strict=True):
        axes.plot(history.times, 1e3 * np.linalg.norm(history.tips - BENT, axis=1), label=name)
    for i, pose in enumerate(POSES):
        begin = SETTLING + i * (MOVE + STAY) + MOVE
        axes.axvspan(begin, begin + STAY, color="0.93")
        axes.text(begin + 0.5 * STAY, axes.get_ylim()[1], str(pose), ha="center", va="bottom", fontsize=7)
    axes.set(xlabel="time [s]", ylabel="tip's error [mm]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    write_picture(path, figure, dpi=110)
