"""The membrane as a mould: surfaces that are drawn, not scanned, taken with and without the learned correction.

The paper's Figure 19. A mould stands in base_link over the undeformed surface: over each chamber a hill or a dent of a
height that its place in the body says, along cosines that vanish at the chamber's walls. Hills are what air can make;
`dent` asks for a middle below the undeformed sheet, which it cannot: it is told by the distance that is predicted. The
pressures that are found go to the emulated reality, and its surface is compared with the mould. Simulations, scans and
weights are those of `learning/membrane` in the folder beside this one, made there as far as they are missing. Picture:
deviations.png (colour maps); table.json.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.identity import reality_hash
from soft_twin.learning.shape_control import FIXED, ShapeControl, ShapeSolution
from soft_twin.learning.shape_target import ShapeTarget
from soft_twin.learning.simulations import SurfaceMesh, learnable, surface_of
from soft_twin.mesh.triangles import drawn
from soft_twin.parallel import Workers, compute_all, terminal_progress
from soft_twin.studies.learning.membrane import ROBOT
from soft_twin.studies.learning.prediction import MM
from soft_twin.studies.learning.shape import TESTED, TRUTH, learned, reached_shape
from soft_twin.studies.results import write_picture, write_text

matplotlib.use("Agg")

HIGHEST = 0.015  # [m]
HOLD = 30.0  # [s] under pressure
PLAIN, CORRECTED = "simulated (N_fk)", "corrected"
HEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "hill": lambda places: 1.0 - 0.6 * np.linalg.norm(places, axis=1) / np.sqrt(2.0),
    "slope": lambda places: 0.65 + 0.35 * places[:, 0],
    "saddle": lambda places: 0.65 + 0.35 * (places[:, 0] ** 2 - places[:, 1] ** 2),
    "dent": lambda places: np.where(np.linalg.norm(places, axis=1) < 0.5, -0.6, 0.6),
}  # shares of HIGHEST over chambers whose middles are at places (a, 2), −1…1


def run(folder: Path, data: Path) -> str:
    """Learn or load, search, try on the reality, compare; `data` is not used."""
    robot, learning = learnable(ROBOT)
    correction, _, _ = learned(robot, learning, folder.parent / ROBOT)
    twin = robot.build_twin()
    surface = surface_of(twin, learning.surface, learning.parts)
    boxes = np.array([_box(twin.body.mesh, each.surface) for each in robot.description.chambers])
    moulds = {name: moulded(surface, boxes, HIGHEST * heights(_places(boxes))) for name, heights in HEIGHTS.items()}
    found: dict[str, dict[str, ShapeSolution]] = {}
    for kind, model in ((PLAIN, correction.shapes), (CORRECTED, correction)):
        control = ShapeControl(model, names=robot.chamber_names)
        targets = {name: _target(mould, surface.triangles) for name, mould in moulds.items()}
        found[kind] = {name: control.solve(target, FIXED) for name, target in targets.items()}
    cases = [np.array([HOLD, *each.pressures]) for own in found.values() for each in own.values()]
    work = partial(reached_shape, str(robot.path), reality_hash(robot))
    reached = iter(compute_all(work, cases, Workers(0), folder / "reached", terminal_progress, "shapes of the reality"))
    terminal_progress("")
    maps = {
        kind: {name: _deviation(next(reached)["points"], moulds[name], surface.triangles) for name in own}
        for kind, own in found.items()
    }
    content = _content(maps, found)
    write_text(folder / "table.json", json.dumps(content, indent=1))
    draw(folder, maps, correction.shapes.size)
    return table(content)


def moulded(surface: SurfaceMesh, boxes: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """(p, 3) points of a mould [m] over those of an undeformed surface.

    Args:
        surface: it.
        boxes: (a, 2, 2) lowest and highest x, y of chambers [m].
        heights: (a,) over their middles [m].
    """
    points = surface.points.copy()
    for (low, high), height in zip(boxes, heights, strict=True):
        share = np.clip((points[:, :2] - low) / (high - low), 0.0, 1.0)
        points[:, 2] += height * np.sin(np.pi * share).prod(axis=1)
    return points


def _box(mesh, name: str) -> np.ndarray:
    """(2, 2) lowest and highest x, y of a surface [m]."""
    nodes = mesh.nodes[np.unique(mesh.surface(name)), :2]
    return np.array([nodes.min(axis=0), nodes.max(axis=0)])


def _places(boxes: np.ndarray) -> np.ndarray:
    """(a, 2) of the boxes' middles, −1…1 over all of them."""
    middles = boxes.mean(axis=1)
    low, high = middles.min(axis=0), middles.max(axis=0)
    return (middles - 0.5 * (low + high)) / np.maximum(0.5 * (high - low), 1e-9)


def _deviation(points: np.ndarray, mould: np.ndarray, triangles: np.ndarray) -> dict[str, np.ndarray]:
    """Points drawn evenly over the reality's (p, 3) [m], and their distances from a mould (p, 3) [mm]."""
    tested, _ = drawn(points, triangles, TESTED, np.random.default_rng(0))
    return {"points": tested, "distances": MM * surface_distances(tested, mould, triangles)}


def _target(mould: np.ndarray, triangles: np.ndarray) -> ShapeTarget:
    return ShapeTarget.of(*drawn(mould, triangles, TRUTH, np.random.default_rng(1)), whole=True)


def _content(maps: dict[str, dict[str, dict]], found: dict[str, dict[str, ShapeSolution]]) -> dict:
    return {
        kind: {
            name: {
                "mean_mm": float(each["distances"].mean()),
                "largest_mm": float(each["distances"].max()),
                "predicted_mm": MM * found[kind][name].mean,
                "pressures_pa": found[kind][name].pressures.tolist(),
                "active_limits": list(found[kind][name].active_limits),
                "iterations": found[kind][name].iterations,
                "converged": found[kind][name].converged,
            }
            for name, each in own.items()
        }
        for kind, own in maps.items()
    }


def table(content: dict) -> str:
    """How far the reality is from each mould."""
    lines = [
        f"{'mould':10} {'found by':18} {'predicted [mm]':>15} {'mean [mm]':>10} {'largest [mm]':>13} {'limits':>7}"
    ]
    for name in next(iter(content.values())):
        for kind, own in content.items():
            row = own[name]
            lines.append(
                f"{name:10} {kind:18} {row['predicted_mm']:15.2f} {row['mean_mm']:10.2f} {row['largest_mm']:13.1f} "
                f"{len(row['active_limits']):7d}"
            )
    return "\n".join(lines)


def draw(folder: Path, maps: dict[str, dict[str, dict[str, np.ndarray]]], size: float) -> None:
    """Colour maps of the reality's distances from the moulds; `size` [mm] is the surface's."""
    columns = len(next(iter(maps.values())))
    figure = Figure(figsize=(3.4 * columns, 6.6), layout="constrained")
    axes = figure.subplots(2, columns)
    worst = np.percentile([each["distances"] for own in maps.values() for each in own.values()], 98.0)
    for row, (kind, own) in zip(axes, maps.items(), strict=True):
        for plot, (name, each) in zip(row, own.items(), strict=True):
            points, distances = MM * each["points"][:, :2], each["distances"]
            shown = plot.scatter(*points.T, c=distances, s=5.0, cmap="turbo", vmin=0.0, vmax=worst)
            told = f"mean {distances.mean():.2f}, largest {distances.max():.1f} mm"
            plot.set_title(f"{name}, {kind}:\n{told}", fontsize=8)
            plot.set(aspect="equal", xlim=(-0.55 * size, 0.55 * size), ylim=(-0.55 * size, 0.55 * size))
            plot.set_xlabel("x [mm]")
        row[0].set_ylabel("y [mm]")
    figure.colorbar(shown, ax=axes, label="reality from the mould [mm]", shrink=0.8)
    write_picture(folder / "deviations.png", figure, dpi=110)
