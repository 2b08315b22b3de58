"""Robots and devices that are not there, reached through the bytes of real ones."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soft_twin.emulation.base_motion import BaseMotion
    from soft_twin.emulation.robot import EmulatedRobot
    from soft_twin.robots.base import DrivenRobot


def emulated_robot(robot: "DrivenRobot", motion: "BaseMotion", seed: int = 0, ambient: float = 25.0) -> "EmulatedRobot":
    """A robot in real time that is not there; its body is in a process of its own.

    Args:
        robot: whose description says what it has.
        motion: of its base.
        seed: of everything random.
        ambient: temperature of the air [°C].

    Raises:
        DescriptionError: cables or chambers without a drive.
        DeviceError: the body's process did not start.
    """
    from soft_twin.emulation.robot import OwnBody

    return OwnBody(robot, motion, seed, ambient)
