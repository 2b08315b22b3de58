"""Releases at five inclinations (the paper's Figures 10 and 11): the emulated robot, its twin, and beam theory.

The robot is held straight with its winches at home, and let go; no winch turns. The twin was tuned by one other release
(`shared.tuned_twin`). Tips are compared every 20 ms for 3 s, along the base's axis z, in all, and in their tilt. Beam
theory is Euler–Bernoulli's cantilever in closed form, of the twin's E, ρ and section, which knows no cables; so the
same again with cables let out. Where SOFA is, its body with the tuned twin's parameters falls, too, on its own mesh of
linear tetrahedra. Bodies are stepped directly: no loop's timing is in these. Files: real2sim.mcap (phases "135 held",
…; `truth/tip` and `twin/tip`), table.json, real2sim.png.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.calibration.tuned import DT
from soft_twin.emulation.plant import Plant
from soft_twin.errors import MeshError, UsageError
from soft_twin.parallel import compute_here
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots import load_robot
from soft_twin.robots.cable_tube import CableTube
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.shared import (
    FALL,
    LET_OUT,
    Motion,
    emulated_robot,
    gravity_at,
    release,
    tuned_twin,
    write_table,
)

matplotlib.use("Agg")

INCLINATIONS = (135.0, 90.0, 45.0, 0.0, -45.0)  # [°] to the ground
WINCHES = {"held": 0.0, "let out": LET_OUT}  # [m]
PAPER = {"axial_mm": 4.7, "tilt_deg": 5.2, "less_than_beam": 0.83}
REACH = {"axial_mm": 2.0, "tilt_deg": 2.0, "less_than_beam": 0.83}
SMALL = 1e-3  # [m] of a beam's error: less is no measure for anybody else's


@dataclass(frozen=True)
class Row:
    """A release.

    Attributes:
        inclination: of the base's axis to the ground [°].
        winches: "held" at home, or "let out".
        axial_mm, tip_mm, tilt_deg: largest differences of twin and robot over time: along the base's axis, of the tip's
            place, and the angle between their tips' axes.
        rest_mm, rest_deg: of the tip's place and axis at the end.
        real_mm, twin_mm, beam_mm: how far the tip is down at the end, along gravity; by beam theory.
        less_than_beam: 1 − |twin − real|/|beam − real|; None where the beam is right as well.
        sofa_axial_mm, sofa_tip_mm, sofa_tilt_deg: as those of the twin, of SOFA's body; None where there is no SOFA.
    """

    inclination: float
    winches: str
    axial_mm: float
    tip_mm: float
    tilt_deg: float
    rest_mm: float
    rest_deg: float
    real_mm: float
    twin_mm: float
    beam_mm: float
    less_than_beam: float | None
    sofa_axial_mm: float | None = None
    sofa_tip_mm: float | None = None
    sofa_tilt_deg: float | None = None


def run(folder: Path, data: Path) -> str:
    """Tune, release, compare; `data` is not used."""
    real = emulated_robot(folder)
    twin, found = tuned_twin(folder, real)
    cases = [(inclination, name) for name in WINCHES for inclination in INCLINATIONS]
    work = partial(fall, str(real.path), str(twin.path), FALL)
    motions = compute_here(work, cases, "releases")
    rows = [compare(twin, *case, *pair) for case, pair in zip(cases, motions, strict=True)]
    _record(folder / "real2sim.mcap", twin, cases, motions)
    draw(folder / "real2sim.png", twin, cases, motions)
    write_table(
        folder,
        {
            "rows": [asdict(row) for row in rows],
            "worst": worst([row for row in rows if row.winches == "held"]),
            "paper": PAPER,
            "reach": REACH,
            "loop": "none: bodies are stepped directly",
            "tuned": found,
        },
    )
    return table(rows)


def fall(real: str, twin: str, duration: float, case: tuple[float, str]) -> tuple[Motion, ...]:
    """The emulated robot's and the twin's motion (inclination [°], name of WINCHES), and that of SOFA's body where SOFA
    is, of two descriptions, at the ends of the twin's steps."""
    gravity, wound, ours = gravity_at(case[0]), WINCHES[case[1]], load_robot(twin)
    bodies = [Plant(load_robot(real)), ours.build_dynamic_twin(DT)]
    with suppress(UsageError, MeshError):  # no SOFA, or no tetrahedra for it
        bodies.append(ours.build_dynamic_twin(DT, backend="sofa"))
    return tuple(release(body, gravity, duration, DT, wound) for body in bodies)


def apart_at_most(ours: Motion, real: Motion) -> tuple[float, float, float]:
    """Largest differences of two motions: along the base's axis [mm], of tips [mm], angle between their axes [°]."""
    away = ours.tips - real.tips
    tilts = angles_deg(ours.axes, real.axes)
    return 1e3 * float(np.abs(away[:, 2]).max()), 1e3 * float(np.linalg.norm(away, axis=1).max()), float(tilts.max())


def compare(
    twin: CableTube, inclination: float, winches: str, real: Motion, ours: Motion, sofa: Motion | None = None
) -> Row:
    """A row of the table."""
    gravity = gravity_at(inclination)
    axial, tip, tilt = apart_at_most(ours, real)
    sofas = (None, None, None) if sofa is None else apart_at_most(sofa, real)
    down = gravity / np.linalg.norm(gravity)
    drops = [float(down @ (motion.tips[-1] - motion.tips[0])) for motion in (real, ours)]
    beam = float(down @ beam_deflection(twin, gravity))
    errors = abs(drops[1] - drops[0]), abs(beam - drops[0])
    return Row(
        inclination=inclination,
        winches=winches,
        axial_mm=axial,
        tip_mm=tip,
        tilt_deg=tilt,
        rest_mm=1e3 * float(np.linalg.norm(ours.tips[-1] - real.tips[-1])),
        rest_deg=float(angles_deg(ours.axes[-1:], real.axes[-1:])[0]),
        real_mm=1e3 * drops[0],
        twin_mm=1e3 * drops[1],
        beam_mm=1e3 * beam,
        less_than_beam=1.0 - errors[0] / errors[1] if errors[1] > SMALL else None,
        **dict(zip(("sofa_axial_mm", "sofa_tip_mm", "sofa_tilt_deg"), sofas, strict=True)),
    )


def angles_deg(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(t,) between axes (t, 3), whichever way they lean [°]."""
    across = np.linalg.norm(np.cross(one, other), axis=1)
    return np.degrees(np.arctan2(across, (one * other).sum(axis=1)))


def beam_deflection(robot: CableTube, gravity: np.ndarray) -> np.ndarray:
    """(3,) of the tip of a hollow cantilever under its own weight [m]: δ = q L⁴/(8 E I) across its axis, by Euler and
    Bernoulli, with q = ρ A g of gravity's part across and I = π (D⁴ − d⁴)/64 (the paper's comparison in Figure 11)."""
    body = robot.body
    outer, inner = body.outer_diameter, body.lumen_diameter
    area, second = 0.25 * np.pi * (outer**2 - inner**2), np.pi / 64.0 * (outer**4 - inner**4)
    across = np.array([gravity[0], gravity[1], 0.0])
    material = body.material
    return material.density * area * across * body.length**4 / (8.0 * material.young_modulus * second)


def table(rows: list[Row]) -> str:
    """Each release, and the worst beside the paper's and the reach."""
    lines = [
        f"{'base':>6} {'winches':8} {'axial [mm]':>10} {'tip [mm]':>9} {'tilt [°]':>8} "
        f"{'at rest [mm]':>14} {'[°]':>5} "
        f"{'down: robot':>13} {'twin':>6} {'beam [mm]':>9} {'less than beam':>14}"
        f"{'   SOFA: axial [mm]   tip tilt [°]' if any(row.sofa_tip_mm is not None for row in rows) else ''}"
    ]
    for row in rows:
        less = "–" if row.less_than_beam is None else f"{100.0 * row.less_than_beam:.1f} %"
        lines.append(
            f"{row.inclination:5.0f}° {row.winches:8} {row.axial_mm:10.2f} {row.tip_mm:9.2f} {row.tilt_deg:8.2f} "
            f"{row.rest_mm:14.2f} {row.rest_deg:5.2f} {row.real_mm:13.2f} {row.twin_mm:6.2f} {row.beam_mm:9.2f} "
            f"{less:>14}{_sofas(row)}"
        )
    ours = worst([row for row in rows if row.winches == "held"])
    for name, numbers in (("paper", PAPER), ("reach", REACH), ("ours, winches held", ours)):
        lines.append(
            f"{name}: axial ≤ {numbers['axial_mm']:.2f} mm, tilt ≤ {numbers['tilt_deg']:.2f}°, "
            f"at least {100.0 * numbers['less_than_beam']:.0f} % less error than beam theory"
        )
    return "\n".join(lines)


def _sofas(row: Row) -> str:
    if row.sofa_tip_mm is None:
        return ""
    return f" {row.sofa_axial_mm:18.2f} {row.sofa_tip_mm:5.2f} {row.sofa_tilt_deg:8.2f}"


def worst(rows: list[Row]) -> dict[str, float]:
    """What the paper tells of its releases; NaN for what none of these has."""
    reductions = [row.less_than_beam for row in rows if row.less_than_beam is not None]
    return {
        "axial_mm": max((row.axial_mm for row in rows), default=np.nan),
        "tilt_deg": max((row.tilt_deg for row in rows), default=np.nan),
        "less_than_beam": min(reductions, default=np.nan),
    }


def _record(path: Path, robot: CableTube, cases: list, motions: list) -> None:
    """One release behind the other."""
    begin = 0.0
    with SimulatedRecording(path, robot) as recording:
        for (inclination, winches), (real, ours, *_) in zip(cases, motions, strict=True):
            recording.text("run/phase", begin, f"{inclination:g} {winches}")
            for i, when in enumerate(begin + real.times):
                recording.vector("gravity", when, gravity_at(inclination))
                recording.pose("truth/tip", when, real.tips[i], real.axes[i])
                recording.pose("twin/tip", when, ours.tips[i], ours.axes[i])
            begin += float(real.times[-1]) + DT


def draw(path: Path, twin: CableTube, cases: list[tuple[float, str]], motions: list[Any]) -> None:
    """Tip, tilt and drop over time as in Figures 10 and 11, winches held."""
    shown = [(case[0], pair) for case, pair in zip(cases, motions, strict=True) if case[1] == "held"]
    figure = Figure(figsize=(3.0 * len(shown), 7.0), layout="constrained")
    plots = figure.subplots(3, len(shown), sharex=True, sharey="row", squeeze=False)
    for (place, tilt, drop), (inclination, (real, ours, *others)) in zip(plots.T, shown, strict=True):
        gravity = gravity_at(inclination)
        down = gravity / np.linalg.norm(gravity)
        bodies = ((real, "-", "emulated robot"), (ours, "--", "twin"), *((each, ":", "SOFA") for each in others))
        for motion, style, name in bodies:
            for axis, colour in ((1, "#0072b2"), (2, "#d55e00")):
                label = f"{'xyz'[axis]}, {name}"
                moved = 1e3 * (motion.tips[:, axis] - motion.tips[0, axis])
                place.plot(motion.times, moved, style, color=colour, label=label)
            tilt.plot(motion.times, motion.tilts, style, color="black", label=name)
            drop.plot(motion.times, 1e3 * (motion.tips - motion.tips[0]) @ down, style, color="black", label=name)
        beam = 1e3 * float(down @ beam_deflection(twin, gravity))
        drop.axhline(beam, color="#cc79a7", linestyle="-.", label="Euler–Bernoulli")
        place.set_title(f"{inclination:g}°")
        drop.set_xlabel("time since the release [s]")
        for axes in (place, tilt, drop):
            axes.grid(alpha=0.3)
    for axes, label in zip(plots[:, 0], ("tip's move [mm]", "tilt [°]", "tip down [mm]"), strict=True):
        axes.set_ylabel(label)
        axes.legend(fontsize=7)
    write_picture(path, figure, dpi=110)
