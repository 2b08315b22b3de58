"""The twin that is let go as was recorded, and whether what it found can be.

Cables are slack. E and ρ are seen in their ratio alone: both scale all forces. What is known of ρ, by weighing, says E.
A cable that was taut in the recording stiffens the robot, and would be taken for a larger E.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.calibration.experiments import Released
from soft_twin.calibration.markers import Markers
from soft_twin.calibration.release import Release
from soft_twin.errors import RecordingError, UsageError
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.loads import Gravity
from soft_twin.robots import load_robot
from soft_twin.robots.base import DrivenRobot
from soft_twin.solvers.derivatives.parameters import Attribute, Density, Elastic, Parameter

if TYPE_CHECKING:
    from soft_twin.solvers.time.integrators import BackwardEuler

SOON = 0.1  # [s] after the release the tip is seen
ASIDE = 0.05  # of the body's length: how far from the twin's tip the robot's may begin
LYING = 10.0  # [°] between gravity and the axis, at least
RISEN, RISEN_BY = 0.1, 1e-3  # of the largest distance that the tip moved, and [m] by which it may rise beside
MOVES = 1e-3  # [m] of the tip, at least: five times a tracker's noise
TAUT = 1e-4  # [m] that homed winches are off by
SPARE = 3.0  # of the stretch of cables that a twin too stiff has, for a rule of thumb


def released_twin(path: Path, release: Release, dt: float) -> Released:
    """The twin of a description that is let go as was recorded; parameters `young_modulus`, `density`, `mass_damping`,
    `stiffness_damping`.

    Raises:
        UsageError: the robot is not a body of one material.
        RecordingError: the recorded tip does not begin where the twin's does.
    """
    robot, integrator, parameters, values = _built(path, path.read_bytes(), dt)
    model = integrator.model
    next(force for force in model.forces if isinstance(force, Gravity)).vector = release.gravity
    twin = Released(integrator, tip_of(robot, model.body, release), release.at_steps(dt), parameters)
    twin.set(values)
    return twin


def tip_of(robot: DrivenRobot, body: Body, release: Release) -> Markers:
    """Where a robot's frame `tip` is on a body that was built of it.

    Raises:
        RecordingError: a release begins elsewhere.
    """
    mesh = body.mesh
    tip, length = Markers.weighted(mesh, robot.build_frames(body)["tip"].weights(mesh)), float(mesh.size.max())
    if release.times[0] > SOON:
        raise RecordingError(
            f"the tip is seen {release.times[0]:.2g} s after the release for the first time, expected within {SOON:g} s"
        )
    aside = float(np.linalg.norm(release.tips[0] - tip.rest[0]))
    if aside > ASIDE * length:
        raise RecordingError(
            f"the tip begins at {_mm(release.tips[0])} mm, {1e3 * aside:.3g} mm from the twin's at {_mm(tip.rest[0])}, "
            f"{1e3 * release.times[0]:.0f} ms after the release: another robot, frame or unit, not held straight, or "
            "let go before that?"
        )
    return tip


def check_lying(release: Release) -> None:
    """Refuse gravity along the body's axis: a robot that stands or hangs falls by nothing that says E, or it buckles.

    Raises:
        RecordingError: it is.
    """
    across = float(np.degrees(np.arctan2(np.hypot(*release.gravity[:2]), abs(release.gravity[2]))))
    if across < LYING:
        gravity = ", ".join(f"{each:.3g}" for each in release.gravity)
        raise RecordingError(
            f"gravity is ({gravity}) m/s² in base_link, {across:.2g}° from the robot's axis, expected {LYING:g}° or "
            "more: lay the robot down before it is let go"
        )


def check_falls(release: Release) -> None:
    """Refuse a tip that stays where it is, and one that rises, as it seems to where gravity or the tracker's frame is
    the other way round.

    Raises:
        RecordingError: it does.
    """
    moved = release.tips - release.tips[0]
    largest = float(np.linalg.norm(moved, axis=1).max())
    if largest < MOVES:
        raise RecordingError(
            f"the tip moves by no more than {1e3 * largest:.2g} mm, expected {1e3 * MOVES:g} mm or more: was it let "
            "go, lying, with slack cables?"
        )
    risen = -float((moved @ release.gravity).mean() / np.linalg.norm(release.gravity))
    if risen > RISEN * largest + RISEN_BY:
        raise RecordingError(
            f"the tip rises by {1e3 * risen:.3g} mm in the mean, against gravity: which of gravity and tip is the "
            "other way round in base_link?"
        )


def check_let_out(release: Release, names: list[str]) -> None:
    """Refuse a recording in which a cable (of `names`) was wound in already while the robot was held straight.

    Raises:
        RecordingError: one was, or nothing is said of its winch beside others.
    """
    release.check_names(names)
    wound = {name: float(release.wound[name][0]) for name in names} if release.wound is not None else {}
    tautest = max(wound, key=wound.__getitem__, default=None)
    if tautest is not None and wound[tautest] > TAUT:
        raise RecordingError(
            f"{tautest} was taut in it from the beginning, with its winch at {1e3 * wound[tautest]:.3g} mm in "
            "cables/state: all cables must be let out before a release"
        )


def check_slack(release: Release, dt: float, coordinates: np.ndarray, names: list[str]) -> None:
    """Refuse a recording in which winches held cables that a body which moves as it did would have stretched.

    Args:
        release: what was recorded.
        dt: of the twin's steps [s].
        coordinates: (k, a) of the twin's actuators at their ends, without effort.
        names: (a,) of these.

    Raises:
        RecordingError: they did.
    """
    cables = [place for place, name in enumerate(names) if name in (release.wound or {})]
    if not cables:
        return
    free, held = coordinates[:, cables], [names[place] for place in cables]
    pulled = (release.wound_at_steps(dt, held) - free).max(axis=0)
    worst = int(np.argmax(pulled))
    if pulled[worst] > TAUT:
        raise RecordingError(
            f"{held[worst]} was taut in it, with its winch at {1e3 * release.wound[held[worst]].mean():.3g} mm in "
            f"cables/state: all cables must be let out by {-SPARE * 1e3 * free.min():.2g} mm or more before a release"
        )


@cache
def _built(
    path: Path, _: bytes, dt: float
) -> tuple[DrivenRobot, "BackwardEuler", dict[str, Parameter], dict[str, float]]:
    """A robot, its twin in motion, its parameters, and their values in the description, which has this content."""
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
    return robot, integrator, parameters, {name: each.value for name, each in parameters.items()}


def _mm(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{round(1e3 * value, 2) + 0.0:.4g}" for value in point) + ")"
