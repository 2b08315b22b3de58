"""A robot's actuators as joints of ros2_control.

A cable is a prismatic joint: its position is the displacement [m], its effort the tension [N]; it moves a mark on the
cable down from the base. A chamber is a joint that never turns: its effort is the gauge pressure [Pa].
"""

from dataclasses import dataclass

import numpy as np

from soft_twin.errors import DescriptionError
from soft_twin.robots.base import Robot


@dataclass(frozen=True)
class Joint:
    """An actuator.

    Attributes:
        name: of the actuator, and of the joint.
        lower, upper: displacement [m]; None: it never moves.
        effort: highest tension [N] or pressure [Pa].
        least: lowest pressure [Pa], below 0 of vacuum.
        rate: highest rate of the displacement [m/s]; of what never moves any, which parsers ask for.
    """

    name: str
    effort: float
    lower: float | None = None
    upper: float | None = None
    rate: float = 1.0
    least: float = 0.0

    @property
    def mark(self) -> str:
        """The link that it moves."""
        return f"{self.name}_mark"


def cable_joints(robot: Robot) -> list[Joint]:
    """Of the cables that winches pull; none where something has no drive."""
    try:
        winches = robot.winches
    except DescriptionError:
        return []
    if winches is None:
        return []
    limits, count = winches.cable_limits, len(winches.cables)
    highest, (lower, upper) = limits.tension[1], limits.displacement
    columns = [np.broadcast_to(each, count).tolist() for each in (highest, lower, upper)]
    return [Joint(name, *row, limits.rate) for name, *row in zip(winches.cable_names, *columns, strict=True)]


def chamber_joints(robot: Robot) -> list[Joint]:
    """Of the chambers that valves fill, in the order of their channels; none where something has no drive."""
    try:
        valves = robot.valves
    except DescriptionError:
        return []
    if valves is None:
        return []
    pressures = zip(valves.names_by_channel, *valves.limits_by_channel, strict=True)
    return [Joint(name, high, least=low) for name, low, high in pressures]
