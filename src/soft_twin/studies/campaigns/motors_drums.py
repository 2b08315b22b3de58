"""Fault campaign for motors on drums of 3 to 60 mm, behind gears of 18 to 144: see motors.py.

Rotors, faults and users are those of that campaign, and so is the ruler by which everything is judged. The description
tells another drum and gear, by which a cable is s times as long for the same turn of the rotor: lengths and rates are s
times as large then, and tensions 1/s of those, with the same currents. A driver that goes by what is described does the
same with either.
"""

import math
import random
from dataclasses import dataclass, replace

import numpy as np

from soft_twin.studies.campaigns.devices.winches import GEAR
from soft_twin.studies.campaigns.motor_case import Case
from soft_twin.studies.campaigns.motor_world import MotorWorld
from soft_twin.studies.campaigns.motors import MotorCampaign, SessionSubject

RADII, GEARS = (0.003, 0.06), (18.0, 19.0, 27.0, 36.0, 50.0, 72.0, 100.0, 144.0)  # [m]
LEAST, MOST = 0.25, 10.0  # of s


class DrumSubject(SessionSubject):
    """soft_twin's own session of the robot with the other drum, in lengths of the campaign's own."""

    def __init__(self, case: Case, world: MotorWorld):
        self.scale, other = on_other_drum(case)
        super().__init__(other, world)
        self.session = Ruler(self.session, self.scale)


class DrumCampaign(MotorCampaign):
    """The cases of motors, on drums of all sizes."""

    name = "motors_drums"

    def __init__(self, subject=DrumSubject):
        super().__init__(subject)


def on_other_drum(case: Case) -> tuple[float, Case]:
    """s, and the case as it is described with another drum and gear."""
    rng, drive = random.Random(f"drums {case.seed}"), case.drive
    gear, scale = rng.choice(GEARS), 0.0
    while not LEAST < scale < MOST:
        radius = math.exp(rng.uniform(*np.log(RADII)))
        scale = radius / drive.winch.radius * GEAR / gear
    limits = replace(
        drive.cable_limits,
        tension=tuple(tension / scale for tension in drive.cable_limits.tension),
        displacement=tuple(scale * displacement for displacement in drive.cable_limits.displacement),
        rate=scale * drive.cable_limits.rate,
        acceleration=scale * drive.cable_limits.acceleration,
    )
    cables = tuple(replace(cable, offset=scale * cable.offset) for cable in drive.cables)
    winch = replace(drive.winch, radius=radius, gear_ratio=gear)
    return scale, replace(case, drive=replace(drive, cables=cables, cable_limits=limits, winch=winch))


@dataclass
class Ruler:
    """A session whose lengths are `scale` times those of the user."""

    session: object
    scale: float

    def __getattr__(self, name: str):
        return getattr(self.session, name)

    def command(self, values, *stamp) -> None:
        self.session.command(self._longer(values), *stamp)

    def status(self):
        status = self.session.status()
        return replace(status, positions=np.asarray(status.positions) / self.scale)

    def _longer(self, values):
        """What is no length stays what it is."""
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            return self.scale * values
        if isinstance(values, list):
            return [self.scale * value if isinstance(value, float) else value for value in values]
        return values
