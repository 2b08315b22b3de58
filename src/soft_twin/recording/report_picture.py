"""The picture of a run: the body against straight at each inclination, errors, cables, delays."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from soft_twin.interruptions import interrupted_afterwards

if TYPE_CHECKING:
    from soft_twin.recording.evaluation import Evaluation, HeldAttitude, Stand
    from soft_twin.recording.plate_run import PlateRun
    from soft_twin.recording.recorded_run import Curve

COLOURS = {"without": "#d55e00", "with": "#0072b2"}  # Okabe and Ito's: told apart by the colour-blind, too
CABLE_COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#8c6d31", "#555555")
INK = "#333333"
FAINT = "#9a9a9a"
STYLE = {
    "font.size": 9,
    **{f"figure.constrained_layout.{side}_pad": 0.08 for side in "wh"},
    **{f"figure.constrained_layout.{side}space": 0.03 for side in "wh"},
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#ececec",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
}
RATIOS = {"width_ratios": [2.2, 1.0, 1.0], "height_ratios": [1.15, 1.15, 1.0]}  # of the panels
BODY_SPACING = math.radians(15.0)  # bodies closer than this in inclination would be drawn over each other
MOST_ARMS = 4  # drawn side by side
MOST_NAMED = 8  # poses whose inclinations, or actuators whose names, can be read side by side
MARGIN = 1.0  # [s] shown before and after the passes
SMALLEST, REACH = math.radians(0.01), 0.3  # angles that are drawn [rad], and what a plate should be held to [°]


def draw(evaluation: "Evaluation", path: str | Path) -> None:
    """Draw an evaluated run into a PNG file; an interruption meanwhile comes afterwards.

    Raises:
        OSError: the file cannot be written.
    """
    with interrupted_afterwards(), matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(14.5, 8.6), layout="constrained")
        panels = figure.subplot_mosaic("BEE\nBCC\nBLS", gridspec_kw=RATIOS)
        panels["C"].sharex(panels["E"])
        figure.suptitle(_headline(evaluation), x=0.008, ha="left", fontsize=12)
        (draw_arm if evaluation.estimates else draw_bodies)(panels["B"], evaluation)
        draw_errors(panels["E"], evaluation)
        draw_actuators(panels["C"], evaluation)
        if evaluation.estimates:
            draw_times(panels["L"], evaluation, evaluation.twin_latency, "Reading to estimated tip")
        else:
            draw_times(panels["L"], evaluation, evaluation.latency, "IMU sample to command")
        draw_times(panels["S"], evaluation, evaluation.solve_time, "Solve")
        figure.savefig(path, dpi=110, facecolor="white")


def draw_bodies(axes: Axes, evaluation: "Evaluation") -> None:
    """The body in the world's vertical plane through the base's axis, one body a pose, gravity points down."""
    axes.set_title("Body against straight; tip error without → with compensation")
    axes.set_aspect("equal")
    axes.set(xlabel="across [mm]", ylabel="up [mm]")
    length = 1e3 * evaluation.length
    for pose in _apart(evaluation.poses):
        _draw_pose(axes, pose, length)
    axes.plot(0.0, 0.0, "o", color=INK, markersize=11, zorder=6)
    axes.annotate(
        "", (0.04, 0.02), (0.04, 0.11), "axes fraction", arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.5}
    )
    axes.text(0.055, 0.06, "g", transform=axes.transAxes, style="italic", fontsize=11)
    handles = [
        Line2D([], [], color=COLOURS["without"], lw=4, label="without compensation"),
        Line2D([], [], color=COLOURS["with"], lw=4, label="with compensation"),
        Line2D([], [], color=INK, lw=0.9, ls=(0, (5, 4)), label="straight"),
        Line2D([], [], color=INK, marker="o", ls="", markersize=5, label="tip"),
        Line2D([], [], color=INK, marker="x", ls="", markersize=5, label="its target"),
    ]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.09, 0.0))
    axes.set(xlim=(-1.45 * length, 1.8 * length), ylim=(-1.4 * length, 1.4 * length))


def draw_errors(axes: Axes, evaluation: "Evaluation") -> None:
    """Distance of the robot's tip from its target over time, passes and holds shaded."""
    if evaluation.plate is not None:
        draw_orientation(axes, evaluation, evaluation.plate)
        return
    named = len(evaluation.poses) <= MOST_NAMED and not evaluation.estimates
    what = "tip to its estimate" if evaluation.estimates else "tip to target"
    axes.set_title("Tip error at inclinations of the base to the ground" if named else "Tip error", pad=17)
    axes.set(ylabel="[mm]")
    _shade(axes, evaluation, labels=named)
    curve = evaluation.tip_error
    for interval in evaluation.passes:
        inside = interval.contains(curve.time)
        label = what if evaluation.estimates else f"{what}, {interval.name}"
        axes.plot(curve.time[inside], 1e3 * curve.values[inside], color=COLOURS[interval.name], lw=1.6, label=label)
    other = evaluation.shape_error if evaluation.estimates else evaluation.twin_error
    label = "nodes to their estimates, mean" if evaluation.estimates else "robot's tip to twin's"
    axes.plot(*_with_gaps(other.time, 1e3 * other.values), color=INK, lw=0.7, alpha=0.8, label=label)
    axes.set_ylim(0.0, 1.2 * _range([1e3 * curve.within(i) for i in evaluation.passes], least=1.0)[1])
    if len(curve.time):
        axes.legend(loc="upper right", ncol=3, fontsize=8)
    axes.tick_params(labelbottom=False)


def draw_orientation(axes: Axes, evaluation: "Evaluation", plate: "PlateRun") -> None:
    """Angle of a plate's axis to where it should point, over the passes, and behind them at targets it was sent to."""
    axes.set_title("Plate off its orientation, at inclinations of the base to the ground", pad=17)
    axes.set(ylabel="[deg]", yscale="log")
    _shade(axes, evaluation, labels=len(evaluation.poses) <= MOST_NAMED)
    error = np.degrees(np.maximum(plate.error.values, SMALLEST))
    for interval in evaluation.passes:
        inside = interval.contains(plate.error.time)
        label = f"plate to target, {interval.name}"
        axes.plot(plate.error.time[inside], error[inside], color=COLOURS[interval.name], lw=1.6, label=label)
    for aim in plate.aims:
        inside = aim.interval.contains(plate.error.time)
        axes.plot(plate.error.time[inside], error[inside], color=INK, lw=0.8)
    if plate.aims:
        axes.plot([], [], color=INK, lw=0.8, label="on its way to targets, and there")
    axes.axhline(REACH, color=FAINT, lw=0.8, ls=":")
    if len(plate.error.time):
        axes.legend(loc="upper right", ncol=3, fontsize=8)
    axes.tick_params(labelbottom=False)


def draw_actuators(axes: Axes, evaluation: "Evaluation") -> None:
    """What cables and chambers were commanded over time, and what their drivers measured."""
    cables = _Quantity("displacements, pulled in > 0", "mm", 1e3, 1.0, evaluation.cable_names)
    chambers = _Quantity("pressures", "kPa", 1e-3, 10.0, evaluation.chamber_names)
    _shade(axes, evaluation, labels=False)
    if not chambers.names:
        axes.set(title=f"Cable {cables.what}", xlabel="time [s]")
        _draw_quantity(axes, evaluation, cables, evaluation.commanded, evaluation.measured)
    elif not cables.names:
        axes.set(title=f"Chamber {chambers.what}", xlabel="time [s]")
        _draw_quantity(axes, evaluation, chambers, evaluation.commanded_pressures, evaluation.measured_pressures)
    else:
        axes.set(title=f"Cable {cables.what}; chamber pressures, dotted", xlabel="time [s]")
        _draw_quantity(axes, evaluation, cables, evaluation.commanded, evaluation.measured)
        right = axes.twinx()
        right.spines["right"].set_visible(True)
        right.grid(False)
        _draw_quantity(
            right, evaluation, chambers, evaluation.commanded_pressures, evaluation.measured_pressures, dotted=True
        )
    aims = () if evaluation.plate is None else evaluation.plate.aims
    shown = sorted([*evaluation.passes, *(aim.interval for aim in aims)], key=lambda each: each.start)
    if shown:
        axes.set_xlim(shown[0].start - MARGIN, shown[-1].end + MARGIN)


@dataclass(frozen=True)
class _Quantity:
    """Of some actuators: what it is, in which unit, how many of these a unit of SI is, and the least range drawn."""

    what: str
    unit: str
    scale: float
    least: float
    names: tuple[str, ...]


def _draw_quantity(
    axes: Axes, evaluation: "Evaluation", quantity: _Quantity, commanded: "Curve", measured: "Curve", dotted=False
) -> None:
    axes.set(ylabel=f"[{quantity.unit}]")
    named, style = len(quantity.names) <= MOST_NAMED, ":" if dotted else "-"
    for i, name in enumerate(quantity.names):
        colour = CABLE_COLOURS[(i + (5 if dotted else 0)) % len(CABLE_COLOURS)]
        for curve, look in ((measured, {"lw": 2.6, "alpha": 0.3}), (commanded, {"lw": 1.0, "label": name})):
            if curve.values.shape[1] > i:
                axes.plot(*_with_gaps(curve.time, quantity.scale * curve.values[:, i]), style, color=colour, **look)
    handles = axes.get_legend_handles_labels()[0] if named else []
    handles.append(Line2D([], [], color=FAINT, lw=2.6, alpha=0.5, ls=style, label="measured"))
    place = "upper right" if dotted else "upper left"
    axes.legend(handles=handles, loc=place, ncol=len(handles), fontsize=8, columnspacing=0.8, handlelength=1.2)
    curves = [quantity.scale * curve.within(i) for curve in (commanded, measured) for i in evaluation.passes]
    low, high = _range(curves, least=quantity.least)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.25 * (high - low))


def draw_arm(axes: Axes, evaluation: "Evaluation") -> None:
    """An arm of struts at some moments, side by side: where it was, and where its twin had it."""
    axes.set_title("The arm and its estimate; tip off by: straight arm → estimate")
    axes.set_aspect("equal")
    axes.set(xlabel="x, each arm beside the last [mm]", ylabel="z [mm]")
    length = 1e3 * evaluation.length
    for i, pose in enumerate(_unlike(evaluation.poses)):
        stand, shift = pose.stands["with"], i * 0.75 * length
        for nodes, colour, width in ((stand.body, FAINT, 4.0), (stand.estimate, COLOURS["with"], 1.4)):
            _draw_struts(axes, nodes, shift, colour, width)
        axes.plot(shift + 1e3 * stand.tip[0], 1e3 * stand.tip[2], "o", color=INK, markersize=4.5, zorder=5)
        errors = " → ".join(f"{1e3 * pose.stands[name].error:.0f}" for name in ("without", "with"))
        axes.text(shift, -0.1 * length, f"{stand.moment:.1f} s\n{errors} mm", ha="center", va="top", fontsize=9)
    handles = [
        Line2D([], [], color=FAINT, lw=4, label="struts"),
        Line2D([], [], color=COLOURS["with"], lw=1.4, label="as estimated"),
        Line2D([], [], color=INK, marker="o", ls="", markersize=5, label="tip"),
    ]
    axes.legend(handles=handles, loc="upper left", ncol=3)
    axes.set_ylim(-0.3 * length, 1.35 * length)


def _draw_struts(axes: Axes, nodes: np.ndarray, shift: float, colour: str, width: float) -> None:
    """Struts from bottoms to tops, seen along y."""
    count = len(nodes) // 2
    for bottom, top in zip(1e3 * nodes[:count], 1e3 * nodes[count:], strict=True):
        axes.plot([shift + bottom[0], shift + top[0]], [bottom[2], top[2]], color=colour, lw=width, zorder=3)


def _unlike(poses: tuple["HeldAttitude", ...]) -> list["HeldAttitude"]:
    """Up to MOST_ARMS poses whose tips are farthest apart, in their order."""
    chosen = [poses[0]] if poses else []
    while poses and len(chosen) < min(MOST_ARMS, len(poses)):
        tips = np.array([pose.stands["with"].tip for pose in chosen])
        chosen.append(max(poses, key=lambda pose: np.linalg.norm(tips - pose.stands["with"].tip, axis=1).min()))
    return sorted(chosen, key=lambda pose: pose.stands["with"].moment)


def draw_times(axes: Axes, evaluation: "Evaluation", curve: object, title: str) -> None:
    """Histogram of durations in both passes with their median and 99th percentile."""
    axes.set_title(title)
    axes.set(xlabel="[ms]", yticks=[])
    axes.spines["left"].set_visible(False)
    values = 1e3 * evaluation.in_passes(curve)
    values = values[np.isfinite(values)]
    if not len(values):
        axes.text(0.5, 0.5, "none recorded", transform=axes.transAxes, ha="center", color=FAINT)
        axes.set_xticks([])
        return
    median, p99 = np.percentile(values, [50.0, 99.0])
    low, high = min(0.0, values.min()), max(1.25 * p99, 1e-3)
    axes.hist(np.clip(values, low, high), bins=60, range=(low, high), color=COLOURS["with"], alpha=0.75)
    top = 1.25 * axes.get_ylim()[1]
    for value, name, side in ((median, "median", "right"), (p99, "p99", "left")):
        axes.axvline(value, color=INK, lw=1.0, ls=(0, (4, 2)))
        axes.text(value, 0.97 * top, f" {name} {value:.1f} ms ", va="top", ha=side, fontsize=8.5)
    axes.set(xlim=(low, 1.25 * high), ylim=(0.0, top))
    note = f"n = {len(values)}" + (f"\nlongest {values.max():.0f} ms,\nin the last bar" if values.max() > high else "")
    axes.text(1.0, 0.62, note, transform=axes.transAxes, ha="right", va="top", fontsize=8, color=FAINT)


def _headline(evaluation: "Evaluation") -> str:
    parts = [f"{evaluation.robot}, {evaluation.source}"]
    for name in COLOURS:
        errors = [1e3 * pose.stands[name].error for pose in evaluation.poses if name in pose.stands]
        if errors and evaluation.plate is not None:
            angles = np.concatenate([evaluation.plate.error.within(p) for p in evaluation.passes if p.name == name])
            parts.append(f"plate {name} compensation {np.degrees(np.median(angles)):.2f}° off")
        elif errors:
            what = "estimation" if evaluation.estimates else "compensation"
            parts.append(f"tip error {name} {what} {np.mean(errors):.1f} mm")
    if math.isfinite(evaluation.correlation):
        parts.append(f"correlation of twin and robot {evaluation.correlation:.4f}")
    if not evaluation.complete:
        parts.append("recording cut off")
    return "   |   ".join(parts)


def _apart(poses: tuple["HeldAttitude", ...]) -> list["HeldAttitude"]:
    """Poses whose bodies can be told apart in one picture: no two closer than BODY_SPACING."""
    chosen: list[HeldAttitude] = []
    for pose in poses:
        if all(abs(pose.inclination - other.inclination) >= BODY_SPACING for other in chosen):
            chosen.append(pose)
    return chosen


def _draw_pose(axes: Axes, pose: "HeldAttitude", length: float) -> None:
    direction = np.array([math.cos(pose.inclination), math.sin(pose.inclination)])
    axes.plot(*np.outer(direction, [0.0, length]), color=INK, lw=0.9, ls=(0, (5, 4)), zorder=4)
    for name, stand in pose.stands.items():
        _draw_stand(axes, stand, COLOURS[name], pose.inclination)
    errors = " → ".join(f"{1e3 * stand.error:.1f}" for stand in pose.stands.values())
    alignment = {"ha": "left" if direction[0] > 0.3 else "right" if direction[0] < -0.3 else "center", "va": "center"}
    text = f"{_degrees(pose)}\n{errors} mm"
    axes.text(*(1.13 * length * direction), text, fontsize=9.5, linespacing=1.35, **alignment)


def _degrees(pose: "HeldAttitude") -> str:
    """A pose's inclination for people, with a true minus."""
    return f"{math.degrees(pose.inclination):.0f}°".replace("-", "−")


def _draw_stand(axes: Axes, stand: "Stand", colour: str, inclination: float) -> None:
    """A body, turned in its vertical plane to the inclination of the pose that it is drawn for [rad]."""
    from soft_twin.recording import evaluation

    turn = inclination - evaluation.inclination(stand.attitude)
    turned = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    onto_plane = 1e3 * turned @ evaluation.vertical_plane(stand.attitude) @ stand.attitude
    if len(stand.body):
        axes.plot(*(onto_plane @ stand.body.T), color=colour, lw=4.5, alpha=0.85, zorder=3)
    axes.plot(*(onto_plane @ stand.tip), "o", color=INK, markersize=4.5, zorder=5)
    axes.plot(*(onto_plane @ stand.target), "x", color=INK, markersize=6, zorder=6)


def _shade(axes: Axes, evaluation: "Evaluation", labels: bool) -> None:
    """Colour the passes, stronger where the base is held; write each hold's inclination at the top."""
    for interval in evaluation.passes:
        axes.axvspan(interval.start, interval.end, color=COLOURS[interval.name], alpha=0.05, lw=0)
    for pose in () if evaluation.estimates else evaluation.poses:
        for name, stand in pose.stands.items():
            start, end = stand.interval.start, stand.interval.end
            axes.axvspan(start, end, color=COLOURS[name], alpha=0.08, lw=0)
            if labels:
                axes.annotate(
                    _degrees(pose),
                    (0.5 * (start + end), 1.0),
                    (0, 2),
                    ("data", "axes fraction"),
                    "offset points",
                    ha="center",
                    fontsize=8,
                    color=COLOURS[name],
                )


def _with_gaps(time: np.ndarray, values: np.ndarray, longest: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """A curve that is broken where nothing was recorded for longer than that [s]."""
    gaps = np.flatnonzero(np.diff(time) > longest) + 1
    return np.insert(time, gaps, np.nan), np.insert(values, gaps, np.nan)


def _range(parts: list[np.ndarray], least: float) -> tuple[float, float]:
    """Lowest and highest finite value, 0 included, at least so far apart."""
    values = np.concatenate([part[np.isfinite(part)] for part in parts] or [np.empty(0)])
    low, high = np.min(values, initial=0.0), np.max(values, initial=0.0)
    return float(low), float(max(high, low + least))
