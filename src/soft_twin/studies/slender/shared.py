"""What the slender robot's experiments share: variants of its description, attitudes, a held release, tables."""

import json
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import soft_twin
from soft_twin.calibration.release import read_release
from soft_twin.calibration.tune import tune
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.emulation.plant import Plant
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.parallel import Workers, compute_all
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots.cable_tube import CableTube
from soft_twin.studies.results import write_text
from soft_twin.twins.dynamic import DynamicTwin

TRUE_DAMPING = 0.42  # α [1/s] = β [s] of the emulated robot
FALL, RECORDED = 3.0, 0.01  # [s] of a release, and of a tracker's period
LET_OUT = -0.01  # [m] of every winch: no cable is taut then
NOISE = 2e-4  # [m] of the tracker, standard deviation


@dataclass(frozen=True)
class Motion:
    """Of a tip: times (t,) [s] since the release, places (t, 3) [m] and axes (t, 3)."""

    times: np.ndarray
    tips: np.ndarray
    axes: np.ndarray

    @property
    def tilts(self) -> np.ndarray:
        """(t,) angle of the tip's axis to the base's [°]."""
        return np.degrees(np.arccos(np.clip(self.axes[:, 2], -1.0, 1.0)))


def variant(folder: Path, name: str, changes: dict[str, Any]) -> CableTube:
    """The slender robot with other values at some places of its description, such as {"body.damping": {…}}; the file
    NAME.yaml is written."""
    content = yaml.safe_load(soft_twin.load_robot("slender").path.read_text(encoding="utf-8"))
    for place, value in changes.items():
        *above, last = place.split(".")
        part = content["robot"]
        for key in above:
            part = part[key]
        part[last] = deepcopy(value)  # later changes may be within
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return soft_twin.load_robot(str(path))


def emulated_robot(folder: Path, name: str = "slender_real", **changes: Any) -> CableTube:
    """The robot that the experiments take for the real one: damped by TRUE_DAMPING, else as its description says, but
    for `changes` of it."""
    damping = {"rayleigh_mass": TRUE_DAMPING, "rayleigh_stiffness": TRUE_DAMPING}
    return variant(folder, name, {"body.damping": damping, **changes})


def tuned_twin(folder: Path, real: CableTube) -> tuple[CableTube, dict[str, float]]:
    """The twin with what a release of the emulated robot says of it, horizontal, with slack cables, tracked at 100 Hz;
    and the parameters. What was found is kept in the folder above, for the other experiments of the same robot; the
    files tuned/release.mcap there and slender.yaml are written.

    Raises:
        UsageError: that folder cannot be written.
    """
    store = folder.parent / "tuned"
    twin = variant(folder, "slender", {})
    texts = twin.path.read_text(encoding="utf-8"), real.path.read_text(encoding="utf-8")
    (found,) = compute_all(partial(_tune, str(store)), [texts], Workers(), store, sources=True)
    values = {name: float(value) for name, value in found.items()}
    return variant(folder, "slender", tuned_values(values)), values


def _tune(folder: str, descriptions: tuple[str, str]) -> dict[str, float]:
    """The parameters of a twin by the release of a robot, from their descriptions."""
    paths = [Path(folder) / f"{name}.yaml" for name in ("slender", "slender_real")]
    for path, text in zip(paths, descriptions, strict=True):
        path.write_text(text, encoding="utf-8")
    twin, real = (soft_twin.load_robot(str(path)) for path in paths)
    recording = Path(folder) / "release.mcap"
    fallen = release(Plant(real), gravity_at(0.0), FALL, RECORDED, LET_OUT)
    record_release(recording, twin, tracked(fallen, np.random.default_rng(0)), gravity_at(0.0))
    return tune(twin.path, read_release(recording, twin.name)).values


def tuned_values(values: dict[str, float]) -> dict[str, Any]:
    """The changes of a description for `variant`."""
    return {
        "body.material.young_modulus": values["young_modulus"],
        "body.material.density": values["density"],
        "body.damping": {
            "rayleigh_mass": values["mass_damping"],
            "rayleigh_stiffness": values["stiffness_damping"],
        },
    }


def gravity_at(degrees: float) -> np.ndarray:
    """(3,) in the base_link of a base whose axis is at so many degrees to the ground: 90° upright [m/s²]."""
    angle = np.radians(degrees)
    return -STANDARD_GRAVITY * np.array([0.0, np.cos(angle), np.sin(angle)])


def release(body: DynamicTwin, gravity: np.ndarray, duration: float, dt: float, wound: float) -> Motion:
    """A body that was held straight is let go, with its winches at displacements `wound` [m]."""
    body.straighten()
    base, wound = MovingBase(gravity), np.zeros(len(body.model.actuators)) + wound
    rows = [(0.0, body.tip, body.tip_direction)]
    for step in range(1, round(duration / dt) + 1):
        body.drive(wound, base, dt)
        rows.append((step * dt, body.tip, body.tip_direction))
    return Motion(*(np.array(column) for column in zip(*rows, strict=True)))


def tracked(motion: Motion, rng: np.random.Generator) -> Motion:
    """A motion as a tracker sees it."""
    return Motion(motion.times, motion.tips + rng.normal(0.0, NOISE, motion.tips.shape), motion.axes)


def record_release(path: Path, robot: CableTube, motion: Motion, gravity: np.ndarray) -> None:
    """What `soft-twin calibrate` reads."""
    with SimulatedRecording(path, robot) as recording:
        recording.text("run/phase", 0.0, "released")
        for when, tip, axis in zip(motion.times, motion.tips, motion.axes, strict=True):
            recording.vector("gravity", float(when), gravity)
            recording.pose("tip/pose", float(when), tip, axis)


def write_table(folder: Path, content: dict[str, Any]) -> None:
    """table.json; null is what is not finite, which JSON has no numbers for."""
    text = json.dumps(_finite(content), indent=1, allow_nan=False)
    write_text(folder / "table.json", text)


def _finite(content: Any) -> Any:
    """The same, with None for numbers that are not finite."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not np.isfinite(content) else content
