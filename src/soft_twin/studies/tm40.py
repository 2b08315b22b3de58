"""The experiments of Bhat and Ikemoto (2026) on an emulated TM40, and what they could not measure.

The forward model is the arm: its equilibria under pressures, loads and a hand are the truth, its inclinations with
noise are the measurement. Pictures: convergence.png (Figures 6 and 7), shapes.png (Figures 8 to 10).
"""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import soft_twin
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.shape_estimation.estimator import Estimator
from soft_twin.studies.results import write_picture
from soft_twin.twins.tensegrity.cases import LoadCase, load_cases
from soft_twin.twins.tensegrity.forward import Motion
from soft_twin.twins.tensegrity.shape import Shape, bend_angle, mean_node_error

matplotlib.use("Agg")

NOISE = np.radians(0.5)  # [rad]
PAPER_STEPS = 1000  # as in the paper: 50 sweeps over 20 struts
CONVERGED_STEPS = 20000
RANDOM_STARTS = 10
MANY_STARTS = 100
HAND = 0.25  # [m] how far a hand carries the tip to the left and right
DT = 0.0125  # [s] 80 Hz
HEAT_STEPS = 300  # shown in the heat maps
INK = "#333333"
OURS, WITH_FORCE, PAPERS = "#0072b2", "#009e73", "#d55e00"
HAND_ESTIMATORS = ("energy", "energy, tip force unknown too", "paper's, base held, one sweep an update")


def run(folder: Path, data: Path) -> str:
    """Do the experiments; the table."""
    arm = soft_twin.load_robot("tm40")
    cases = load_cases(arm.model)
    descents = {start: _descent(arm, start) for start in ("collapsed", "expanded")}
    hand = _manual_deformation(arm)
    _draw_convergence(folder / "convergence.png", arm, descents)
    _draw_shapes(folder / "shapes.png", arm, cases, hand)
    return "\n\n".join(
        [_static_table(descents), _starts_table(arm, cases[0]), _case_table(arm, cases), _hand_table(hand)]
    )


def _straight(arm: TensegrityArm) -> tuple[np.ndarray, Shape]:
    pressures = np.full(arm.model.cylinder_count, arm.model.laws.pressure_range[1])
    return pressures, arm.forward(pressures)


def _measured(truth: Shape, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0.0, NOISE, truth.strut_count)
    return np.clip(truth.inclinations + noise, 0.0, np.pi)


def _descent(arm: TensegrityArm, start: str) -> tuple[Estimator, Shape, Shape]:
    """The paper's estimator after 1000 steps from a start, the shape it gives, and the truth."""
    pressures, truth = _straight(arm)
    estimator = arm.build_estimator("zero_length", start=start, steps=PAPER_STEPS)
    return estimator, estimator.update(_measured(truth, 0), pressures), truth


def _static_table(descents: dict) -> str:
    lines = [
        "The paper's method, unanchored, straight arm, 1000 steps (paper, in its own units: 9.15 and 9.48; 24.5 mm off)"
    ]
    for start, (estimator, shape, truth) in descents.items():
        energies = estimator.descent.energies
        lines.append(
            f"  {start:<10} energy {energies[0]:8.1f} -> {energies[-1]:6.2f}   length {1e3 * shape.length():7.1f} mm"
            f"   off by {1e3 * (shape.length() - truth.length()):+6.1f} mm   mean node error"
            f" {1e3 * mean_node_error(shape, truth):6.1f} mm"
        )
    return "\n".join(lines)


def _starts_table(arm: TensegrityArm, case: LoadCase) -> str:
    """Random starts of the paper's method, converged, and of ours."""
    truth = arm.forward(case.pressures)
    lines = ["Random starts, straight arm: mean node errors [mm]"]
    for name, kind, choices, starts in (
        ("paper's, 1000 steps", "zero_length", {"steps": PAPER_STEPS}, RANDOM_STARTS),
        ("paper's, base held, converged", "zero_length", {"steps": CONVERGED_STEPS, "anchored": True}, RANDOM_STARTS),
        ("energy", "energy", {}, RANDOM_STARTS),
        ("energy", "energy", {}, MANY_STARTS),
    ):
        errors = []
        estimator = arm.build_estimator(kind, **choices)
        for seed in range(starts):
            estimator.reset(seed)
            errors.append(1e3 * mean_node_error(estimator.update(_measured(truth, seed), case.pressures), truth))
        lines.append(
            f"  {name:<30} {starts:>4} starts: median {np.median(errors):6.1f}, worst {np.max(errors):6.1f},"
            f" within 30 mm {np.sum(np.array(errors) <= 30.0)}"
        )
    return "\n".join(lines)


def _case_table(arm: TensegrityArm, cases: list[LoadCase]) -> str:
    """Each estimator in each load case."""
    lines = [
        "Mean node error [mm] with 0.5 deg of noise; paper: base held, started at the true shape, converged",
        f"  {'':<24}{'bend':>6}{'length':>9}{'paper':>8}{'energy':>8}{'+ tip force':>13}   tip force found (true) [N]",
    ]
    for case in cases:
        truth = arm.forward(case.pressures, case.tip_force)
        inclinations = _measured(truth, 0)
        paper = arm.build_estimator("zero_length", steps=CONVERGED_STEPS, anchored=True)
        paper.start_at(truth)
        shapes = [
            estimator.update(inclinations, case.pressures)
            for estimator in (paper, arm.build_estimator("energy"), arm.build_estimator("energy_tip_force"))
        ]
        errors = [1e3 * mean_node_error(shape, truth) for shape in shapes]
        found = ", ".join(f"{force:.1f}" for force in shapes[2].tip_force)
        true = ", ".join(f"{force:g}" for force in case.tip_force)
        lines.append(
            f"  {case.name:<24}{np.degrees(bend_angle(truth)):>5.0f}°{1e3 * truth.length():>6.0f} mm{errors[0]:>8.1f}"
            f"{errors[1]:>8.1f}{errors[2]:>13.1f}   {found} ({true})"
        )
    return "\n".join(lines)


def _manual_deformation(arm: TensegrityArm) -> list[tuple[float, list[Shape]]]:
    """A hand carries the tip to the left, then to the right: rows of time, [truth, HAND_ESTIMATORS' shapes]."""
    pressures, truth = _straight(arm)
    motion = Motion(arm.model, pressures)
    paper = arm.build_estimator("zero_length", anchored=True)
    paper.start_at(truth)
    estimators = (arm.build_estimator("energy"), arm.build_estimator("energy_tip_force"), paper)
    random = np.random.default_rng(0)
    rows = []
    for step in range(480):
        time = step * DT
        truth = motion.step(DT, pressures, (-HAND * np.sin(2.0 * np.pi * time / 6.0), 0.0, 0.0))
        inclinations = np.clip(truth.inclinations + random.normal(0.0, NOISE, 20), 0.0, np.pi)
        rows.append((time, [truth, *(estimator.update(inclinations, pressures) for estimator in estimators)]))
    return rows


def _hand_table(rows: list) -> str:
    errors = 1e3 * np.array([[mean_node_error(shape, shapes[0]) for shape in shapes[1:]] for _, shapes in rows])
    tips = 1e3 * np.array([[shape.tip()[0] for shape in shapes] for _, shapes in rows])
    lines = [f"Moved by hand, tip {tips[:, 0].min():.0f} … {tips[:, 0].max():+.0f} mm sideways, 80 Hz, 6 s"]
    for k, name in enumerate(HAND_ESTIMATORS):
        off = np.sqrt(np.mean((tips[:, 1 + k] - tips[:, 0]) ** 2))
        lines.append(
            f"  {name:<42} mean node error {errors[:, k].mean():6.1f} mm, worst {errors[:, k].max():6.1f} mm,"
            f" tip sideways rms {off:6.1f} mm"
        )
    return "\n".join(lines)


def _draw_convergence(path: Path, arm: TensegrityArm, descents: dict) -> None:
    """Energies over steps, and gradients of each strut as heat maps."""
    figure = Figure(figsize=(13.0, 7.0), layout="constrained")
    axes = figure.subplots(2, 3)
    figure.suptitle(
        "The paper's estimator on the straight arm: 1000 steps, one strut a step\nWith zero natural lengths yaws do not"
        " feel heights: both starts, which differ in height only, have the same ∂e/∂θ",
        x=0.01,
        ha="left",
    )
    for row, (start, (estimator, _, _)) in zip(axes, descents.items(), strict=True):
        descent = estimator.descent
        row[0].semilogy(descent.energies, color=PAPERS)
        row[0].axvspan(0, len(descent.yaw_gradients[0]), color="#f5e6a8", zorder=0, label="first sweep over the struts")
        row[0].set(title=f"{start} start", xlabel="step", ylabel="energy [J], if K is in N/m")
        row[0].legend(frameon=False)
        row[0].grid(color="#ececec")
        _heat(figure, row[1], descent.position_gradients.mean(axis=2), f"{start} start: ∂e/∂p, mean of x, y, z [N]")
        _heat(figure, row[2], descent.yaw_gradients, f"{start} start: ∂e/∂θ [N m]")
    write_picture(path, figure, dpi=110)


def _heat(figure: Figure, axes, gradients: np.ndarray, title: str) -> None:
    shown = gradients[:HEAT_STEPS].T
    limit = np.percentile(np.abs(shown), 99)
    image = axes.imshow(shown, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="none")
    axes.set(title=title, xlabel="step", ylabel="strut", yticks=range(0, len(shown), 4))
    figure.colorbar(image, ax=axes, extend="both")


def _draw_shapes(path: Path, arm: TensegrityArm, cases: list[LoadCase], hand: list) -> None:
    """Truth, ours and the paper's in five load cases, and the tip as a hand moves it."""
    figure = Figure(figsize=(15.0, 7.0), layout="constrained")
    figure.suptitle(
        "TM40 from 20 inclinations with 0.5° of noise: struts seen along the plane of bending", x=0.01, ha="left"
    )
    grid = figure.add_gridspec(2, 5, height_ratios=[1.8, 1.0])
    names = ("straight", "bend 30°", "bend 60°", "curled", "bent and pulled")
    for k, case in enumerate(case for case in cases if case.name in names):
        _draw_case(figure.add_subplot(grid[0, k]), arm, case)
    axes = figure.add_subplot(grid[1, :])
    times = [time for time, _ in hand]
    curves = zip(("truth", *HAND_ESTIMATORS), (INK, OURS, WITH_FORCE, PAPERS), (3.0, 1.2, 1.2, 1.2), strict=True)
    for k, (label, colour, width) in enumerate(curves):
        axes.plot(times, [1e3 * shapes[k].tip()[0] for _, shapes in hand], color=colour, lw=width, label=label)
    axes.set(title="Moved by hand, left and right", xlabel="time [s]", ylabel="tip sideways [mm]")
    axes.grid(color="#ececec")
    axes.legend(frameon=False, loc="upper left", ncol=2, fontsize=8)
    write_picture(path, figure, dpi=110)


def _draw_case(axes, arm: TensegrityArm, case: LoadCase) -> None:
    truth = arm.forward(case.pressures, case.tip_force)
    inclinations = _measured(truth, 0)
    paper = arm.build_estimator("zero_length", steps=CONVERGED_STEPS, anchored=True)
    paper.start_at(truth)
    tip = truth.tip()[:2]
    across = tip / np.linalg.norm(tip) if np.linalg.norm(tip) > 0.05 else np.array([1.0, 0.0])
    for shape, colour, width, label in (
        (truth, "#bbbbbb", 5.0, "truth"),
        (paper.update(inclinations, case.pressures), PAPERS, 1.0, "paper's method"),
        (arm.build_estimator("energy").update(inclinations, case.pressures), OURS, 1.3, "energy"),
    ):
        sideways, height = 1e3 * shape.nodes[:, :2] @ across, 1e3 * shape.nodes[:, 2]
        count = shape.strut_count
        ends = np.arange(count), np.arange(count) + count
        axes.plot(sideways[np.array(ends)], height[np.array(ends)], color=colour, lw=width, solid_capstyle="round")
        error = "" if shape is truth else f", off by {1e3 * mean_node_error(shape, truth):.0f} mm"
        axes.plot([], [], color=colour, lw=width, label=label + error)
    axes.set(title=case.name, aspect="equal", xlabel="sideways [mm]", ylabel="up [mm]")
    axes.set(xlim=(-250.0, 950.0), ylim=(-50.0, 1250.0))
    axes.grid(color="#ececec")
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16))
