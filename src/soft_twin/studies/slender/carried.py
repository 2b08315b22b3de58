"""What `speed`, `arm` and `handheld` share: a robot whose base is carried, and what its tip does meanwhile."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.emulation.base_motion import BaseMotion
from soft_twin.emulation.plant import Plant
from soft_twin.inverse.targets import actuation_target, pose_target
from soft_twin.robots import load_robot
from soft_twin.sensing.gravity_ahead import GravityAhead
from soft_twin.studies.slender.loop import History, Loop

BEFORE = 2.0  # [s] of rest, in which cables are wound
STRAIGHT = (0.0, 0.0, 0.1)  # [m]
BEND = np.radians(30.0)
BENT = (0.1 * (1.0 - np.cos(BEND)) / BEND, 0.0, 0.1 * np.sin(BEND) / BEND)  # [m] tip of an arc
LEAD = 0.05  # [s] from a sample to where its command has moved the winches, in this loop
SMOOTHING = 0.2  # [s] of the base's acceleration
LOOP = "in simulated time, 50 Hz: chip, filter, controller, winches, body; no nodes"


@dataclass(frozen=True)
class Way:
    """How a robot is controlled.

    Attributes:
        name: of it.
        compensate: or the winches stay where they are right for the upright robot.
        lead, smoothing: those of GravityAhead.
    """

    name: str
    compensate: bool = True
    lead: float = 0.0
    smoothing: float = np.inf


HELD, LET_BE = Way("compensated"), Way("as upright", compensate=False)


class Delayed(BaseMotion):
    """Another motion after BEFORE of rest."""

    def __init__(self, motion: BaseMotion, rest: float):
        self._motion, self._rest = motion, rest
        self.duration = motion.duration + rest

    def attitude(self, t):
        return self._motion.attitude(t - self._rest)

    def angular_velocity(self, t):
        return self._motion.angular_velocity(t - self._rest)

    def angular_acceleration(self, t):
        return self._motion.angular_acceleration(t - self._rest)

    def specific_force(self, t):
        return self._motion.specific_force(t - self._rest)

    def phase(self, t):
        return self._motion.phase(t - self._rest)


def smooth(share: np.ndarray) -> np.ndarray:
    """From 0 to 1 within 0…1, without a jump of the acceleration."""
    s = np.clip(share, 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def carry(
    real: str, twin: str, target: tuple[float, float, float], way: Way, motion: BaseMotion, after: float
) -> History:
    """The history of a motion that begins at 0 s, of BEFORE and of `after` seconds behind it; descriptions by paths."""
    robot, ours = load_robot(real), load_robot(twin)
    plant, controller = Plant(robot), ours.build_controller(reuse=True)
    later = Delayed(motion, BEFORE)
    plant.settle(-later.specific_force(0.0))
    loop = Loop(robot, plant, controller, later, GravityAhead(way.lead, way.smoothing))
    controller.enable(True)
    if way.compensate:
        controller.aim(pose_target(controller.inverse, target))
    else:
        upright = ours.build_inverse().solve(UPRIGHT_GRAVITY, target)
        controller.aim(actuation_target(controller.inverse, upright.coordinates))
    loop.run(later.duration + after)
    history = loop.history()
    return replace(history, times=history.times - BEFORE)


def errors_mm(history: History, target: tuple[float, float, float]) -> np.ndarray:
    """(t,) distance of the robot's tip from its target."""
    return 1e3 * np.linalg.norm(history.tips - np.array(target), axis=1)


def gravity_errors_deg(history: History) -> np.ndarray:
    """(t,) angle between gravity as the controller was told and as it was [°]."""
    told, was = (each / np.linalg.norm(each, axis=1)[:, None] for each in (history.estimated, history.gravity))
    return np.degrees(2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(told - was, axis=1), 0.0, 1.0)))


def in_world(history: History, tips: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(t, 3) tips (t, 3) in base_link as a tracker that stands still sees them, base_link being at places (t, 3)."""
    return places + Rotation.from_quat(np.roll(history.attitudes, -1, axis=1)).apply(tips)


def doubled_at(speeds: np.ndarray, errors: np.ndarray) -> float | None:
    """The speed (between those, linearly) at which the error is twice that of the first; None where it never is, or
    where there is none at first."""
    above = np.flatnonzero(errors >= 2.0 * errors[0])
    if not len(above) or errors[0] == 0.0:
        return None
    i = above[0]
    share = (2.0 * errors[0] - errors[i - 1]) / (errors[i] - errors[i - 1])
    return float(speeds[i - 1] + share * (speeds[i] - speeds[i - 1]))
