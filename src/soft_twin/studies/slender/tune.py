"""Fine-tuning (the paper's Figure 8) on an emulated robot: 25 trials on a grid, and gradients through time.

A horizontal robot with slack cables is held straight and let go; a tracker sees its tip at 100 Hz with 0.2 mm of noise.
The emulated robot has α = β = TRUE_DAMPING, which is no point of the grid, E and ρ of its description's `emulated`, and
a finer mesh. The twin has steps of 20 ms. Files: release.mcap, which `soft-twin calibrate slender` reads; table.json;
tune.png: the heat map, and the tips of the recording, of the grid's best and of the gradients'.
"""

from dataclasses import asdict
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.interpolate import RectBivariateSpline

from soft_twin.calibration.release import Release, read_release
from soft_twin.calibration.released import released_twin
from soft_twin.calibration.tune import Grid, search_grid, tune
from soft_twin.calibration.tuned import DT, Tuned, percent
from soft_twin.emulation.plant import Plant
from soft_twin.parallel import Workers, terminal_progress
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.shared import (
    FALL,
    LET_OUT,
    RECORDED,
    TRUE_DAMPING,
    emulated_robot,
    gravity_at,
    record_release,
    release,
    tracked,
    variant,
    write_table,
)

matplotlib.use("Agg")

NAMES = {"young_modulus": "E", "mass_damping": "α", "stiffness_damping": "β", "density": "ρ"}


def run(folder: Path, data: Path) -> str:
    """Record, tune both ways; `data` is not used."""
    real = emulated_robot(folder)
    twin = variant(folder, "slender", {})
    recorded = tracked(release(Plant(real), gravity_at(0.0), FALL, RECORDED, LET_OUT), np.random.default_rng(0))
    path = folder / "release.mcap"
    record_release(path, twin, recorded, gravity_at(0.0))
    seen = read_release(path, twin.name)
    grid = search_grid(twin.path, seen, Workers(0), folder / "trials", terminal_progress)
    found = tune(twin.path, seen, say=terminal_progress, store=folder / "simulations")
    terminal_progress("")
    draw(folder / "tune.png", twin.path, seen, grid, found)
    truth = _truth(real)
    rows = {
        "truth": truth,
        "grid": dict(zip(("young_modulus", "damping", "e_total"), grid.best, strict=True))
        | {"simulations": grid.errors.size},
        "gradients": {k: v for k, v in asdict(found).items() if k != "tips"} | {"simulations": len(found.history)},
    }
    write_table(folder, {"rows": rows, "paper": {"simulations": 25}, "grid": grid.errors.tolist()})
    return table(grid, found, truth)


def table(grid: Grid, found: Tuned, truth: dict[str, float] | None = None) -> str:
    """What each way found, at which price."""
    modulus, damping, error = grid.best
    density = found.values["density"]
    lines = [
        f"{'':22} {'E [MPa]':>8} {'α [1/s]':>8} {'β [s]':>8} {'ρ [kg/m³]':>10} {'E/ρ [m²/s²]':>12} "
        f"{'e_total [mm³]':>14} {'simulations':>12} {'seconds':>8}"
    ]
    if truth is not None:
        values = truth["young_modulus"], truth["mass_damping"], truth["stiffness_damping"], truth["density"]
        lines.append(_row("emulated robot", *values))
    lines.append(_row("grid (the paper's)", modulus, damping, damping, None, error, grid.errors.size, grid.seconds))
    values = (found.values[name] for name in NAMES)
    lines.append(_row("gradients", *values, found.error, len(found.history), found.seconds))
    told = ", ".join(f"{NAMES[name]} {percent(found.uncertainties[name])}" for name in NAMES)
    lines.append(
        f"standard deviations: {told}; E and ρ are seen in their ratio alone, ρ {density:.0f} is what is known of it"
    )
    return "\n".join(lines)


def _row(name: str, modulus, alpha, beta, density, error=None, simulations=None, seconds=None) -> str:
    ratio = None if density is None else modulus / density
    cells = [f"{name:22}", f"{1e-6 * modulus:8.3f}", f"{alpha:8.3f}", f"{beta:8.4f}"]
    for value, width, digits in (
        (density, 10, 0),
        (ratio, 12, 1),
        (error, 14, 3),
        (simulations, 12, 0),
        (seconds, 8, 1),
    ):
        cells.append(" " * width if value is None else f"{value:{width}.{digits}f}")
    return " ".join(cells)


def _truth(real) -> dict[str, float]:
    law, own = real.body.material, real.emulated
    return {
        "young_modulus": law.young_modulus * own.young_modulus_scale,
        "density": law.density * own.density_scale,
        "mass_damping": TRUE_DAMPING,
        "stiffness_damping": TRUE_DAMPING,
    }


def draw(path: Path, description: Path, seen: Release, grid: Grid, found: Tuned, dt: float = DT) -> None:
    """The heat map and the tips."""
    figure = Figure(figsize=(12.0, 4.4), layout="constrained")
    heat, course = figure.subplots(1, 2)
    draw_heat_map(heat, grid)
    heat.plot(found.values["stiffness_damping"], 1e-6 * found.values["young_modulus"], "w*", markersize=14,
              markeredgecolor="black", label=f"gradients: {found.error:.3g} mm³ in {len(found.history)}")  # fmt: skip
    heat.legend(fontsize=8)
    modulus, damping, error = grid.best
    best = released_twin(description, seen, dt)
    best.set({"young_modulus": modulus, "mass_damping": damping, "stiffness_damping": damping})
    steps = dt * np.arange(1, len(found.tips) + 1)
    course.plot(seen.times, 1e3 * seen.tips[:, 1], color="0.6", linewidth=3.0, label="recorded")
    course.plot(
        steps, 1e3 * best.positions()[:, 0, 1], "--", label=f"grid's best: {error:.3g} mm³ in {grid.errors.size}"
    )
    course.plot(steps, 1e3 * found.tips[:, 1], color="black", label=f"gradients: {found.error:.3g} mm³")
    course.set(xlabel="time since the release [s]", ylabel="tip, y [mm]")
    course.grid(alpha=0.3)
    course.legend(fontsize=8)
    write_picture(path, figure, dpi=110)


def draw_heat_map(axes: Axes, grid: Grid) -> None:
    """log₁₀ e_total, between the trials by cubic splines."""
    logs = np.log10(np.where(np.isfinite(grid.errors), grid.errors, np.nanmax(grid.errors)))
    spline = RectBivariateSpline(grid.moduli, grid.dampings, logs, kx=3, ky=3)
    moduli, dampings = (np.linspace(each[0], each[-1], 200) for each in (grid.moduli, grid.dampings))
    extent = dampings[0], dampings[-1], 1e-6 * moduli[0], 1e-6 * moduli[-1]
    shown = axes.imshow(spline(moduli, dampings), extent=extent, origin="lower", aspect="auto", cmap="viridis")
    places = [(c, 1e-6 * e) for e in grid.moduli for c in grid.dampings]
    axes.plot(*np.array(places).T, "k.", markersize=4)
    modulus, damping, error = grid.best
    axes.plot(
        damping, 1e-6 * modulus, "wo", markersize=9, markeredgecolor="black", label=f"grid's best: {error:.3g} mm³"
    )
    axes.set(xlabel="C = α [1/s] = β [s]", ylabel="E [MPa]", title="e_total")
    axes.figure.colorbar(shown, ax=axes, label="log₁₀ e_total [mm³]")
