"""A robot that hangs straight in a hand, and is let go: what was recorded, and the twin that does the same.

Cables are slack. E and ρ are seen in their ratio alone: both scale all forces. What is known of ρ, by weighing, says E.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.calibration.experiments import Released
from soft_twin.calibration.markers import Markers
from soft_twin.errors import RecordingError, UsageError
from soft_twin.mechanics.loads import Gravity
from soft_twin.recording.reader import Series, arrays
from soft_twin.recording.robots import prefix
from soft_twin.robots import load_robot
from soft_twin.robots.base import DrivenRobot
from soft_twin.solvers.derivatives.parameters import Attribute, Density, Elastic, Parameter

if TYPE_CHECKING:
    from soft_twin.solvers.time.integrators import BackwardEuler

TIPS = ("tip/pose", "truth/tip")  # a tracker's, an emulation's
RELEASED = "released"  # what run/phase says from then on
SHORTEST = 0.2  # [s]


@dataclass(frozen=True)
class Release:
    """What was recorded.

    Attributes:
        times: (t,) since the release [s].
        tips: (t, 3) in base_link [m].
        gravity: (3,) in base_link [m/s²], mean.
        wound: displacement of each winch by its cable's name, (t,) [m]; None: not recorded.
    """

    times: np.ndarray
    tips: np.ndarray
    gravity: np.ndarray
    wound: dict[str, np.ndarray] | None = None

    def at_steps(self, dt: float) -> np.ndarray:
        """(k, 1, 3) the tip at the ends of steps of `dt` [s], linearly between what was measured."""
        return self._at_steps(dt, self.tips.T)[:, None]

    def wound_at_steps(self, dt: float, names: list[str]) -> np.ndarray:
        """(k, c) displacements of the winches of these cables at the ends of steps of `dt` [s].

        Raises:
            RecordingError: they were not recorded.
        """
        if self.wound is None:
            raise RecordingError("no topic cables/state after the release: it says what the winches do")
        missing = [name for name in names if name not in self.wound]
        if missing:
            raise RecordingError(f"cables/state: no {', '.join(missing)}, only {', '.join(self.wound) or 'nothing'}")
        return self._at_steps(dt, [self.wound[name] for name in names])

    def _at_steps(self, dt: float, columns) -> np.ndarray:
        """(k, m) of m columns (t,)."""
        steps = dt * np.arange(1, int(self.times[-1] / dt) + 1)
        return np.array([np.interp(steps, self.times, column) for column in columns]).T


def read_release(path: str | Path, namespace: str) -> Release:
    """The release in a recording: topics `tip/pose` (a tracker's; else `truth/tip`) and `gravity`, and `cables/state`
    where it is there, from when `run/phase` says "released", or from its start.

    Raises:
        RecordingError: a topic is missing, or there is too little after the release.
    """
    series = {name.removeprefix(prefix(namespace)): topic for name, topic in arrays(path).items()}
    tip = next((series[name] for name in TIPS if name in series), None)
    if tip is None or "gravity" not in series:
        missing = " or ".join(TIPS) if tip is None else "gravity"
        raise RecordingError(f"{path}: no topic {missing} under '{namespace}': it has {', '.join(series) or 'nothing'}")
    begin = _released(series.get("run/phase"), int(tip.stamp.min()))
    later = tip.stamp >= begin
    if later.sum() < 3 or tip.stamp.max() - begin < 1e9 * SHORTEST:
        raise RecordingError(f"{path}: {later.sum()} poses of the tip after the release: too few to see a motion")
    order = np.argsort(tip.stamp[later], kind="stable")
    times, tips = 1e-9 * (tip.stamp[later] - begin)[order], tip["position"][later][order]
    gravity = series["gravity"]["vector"].mean(axis=0)
    if not (np.isfinite(tips).all() and np.isfinite(gravity).all()):
        raise RecordingError(f"{path}: poses of the tip or gravity that are no numbers")
    return Release(times, tips, gravity, _wound(path, series.get("cables/state"), begin, times))


def _wound(path: str | Path, cables: Series | None, begin: int, times: np.ndarray) -> dict[str, np.ndarray] | None:
    """Displacements by cable (t,) [m] at times [s] since `begin` [ns]."""
    if cables is None:
        return None
    when, order = 1e-9 * (cables.stamp - begin), np.argsort(cables.stamp, kind="stable")
    if not np.isfinite(cables["position"]).all():
        raise RecordingError(f"{path}: displacements in cables/state that are no numbers")
    columns = cables["position"][order].T
    return {name: np.interp(times, when[order], each) for name, each in zip(cables.names, columns, strict=True)}


def _released(phases: Series | None, otherwise: int) -> int:
    """[ns]"""
    told = [] if phases is None else [
        int(when) for when, name in zip(phases.stamp, phases["data"], strict=True) if name == RELEASED
    ]  # fmt: skip
    return told[0] if told else otherwise


def released_twin(path: Path, release: Release, dt: float) -> Released:
    """The twin of a description that is let go as was recorded; parameters `young_modulus`, `density`, `mass_damping`,
    `stiffness_damping`.

    Raises:
        UsageError: the robot is not a body of one material.
    """
    integrator, parameters, values = _built(path, dt)
    model = integrator.model
    next(force for force in model.forces if isinstance(force, Gravity)).vector = release.gravity
    tip = Markers.of_section(model.body.mesh, float(model.body.mesh.bounds[1][2]))
    twin = Released(integrator, tip, release.at_steps(dt), parameters)
    twin.set(values)
    return twin


@cache
def _built(path: Path, dt: float) -> tuple["BackwardEuler", dict[str, Parameter], dict[str, float]]:
    """The twin in motion, its parameters, and their values in the description."""
    robot = load_robot(str(path))
    if not isinstance(robot, DrivenRobot):
        raise UsageError(f"'{robot.name}' is no body that could be released")
    integrator = robot.build_dynamics(dt)
    model = integrator.model
    materials = {id(part.material): part.material for part in model.body.parts}
    if len(materials) != 1:
        raise UsageError(f"'{robot.name}' is of {len(materials)} materials: a release does not tell them apart")
    (material,) = materials.values()
    parameters: dict[str, Parameter] = {
        "young_modulus": Elastic(material, "young_modulus"),
        "density": Density(model, material),
        "mass_damping": Attribute(integrator, "mass_damping"),
        "stiffness_damping": Attribute(integrator, "stiffness_damping"),
    }
    return integrator, parameters, {name: each.value for name, each in parameters.items()}
