"""`soft-twin compile`: compile the robots' numba kernels, which stay compiled; once after an installation.

Without it they are compiled by the first run, by several processes at once that wait for each other's processors.
"""

import argparse

import numpy as np

from soft_twin import load_robot
from soft_twin.emulation.plant import Plant
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.robots.base import DrivenRobot
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.sensing.gravity import GravityEstimator
from soft_twin.sensing.warm_up import warm_up

DRIVEN = ("slender", "finger", "arm")  # robots that are driven: with cables, chambers, both
GRAVITY = np.array([0.0, -9.81, 0.0])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """One step of everything that the robots' nodes compute."""
    for name in DRIVEN:
        _compile_driven(load_robot(name))
    warm_up(GravityEstimator(load_robot("slender").mounting))
    _compile_arm(load_robot("tm40"))
    return 0


def _compile_driven(robot: DrivenRobot) -> None:
    """A tick of its controller, and a step of its emulated body."""
    controller = robot.build_controller()
    for compensate in (False, True, True, True, False):  # long enough to press on what is there, and to let go
        controller.enable(compensate)
        controller.update(GRAVITY)
    commands = [*np.full(len(robot.cable_names), 1e-3), *np.full(len(robot.chamber_names), 1e3)]
    Plant(robot).step(0.01, np.array(commands), MovingBase(GRAVITY))


def _compile_arm(arm: TensegrityArm) -> None:
    """A shape of the struts, and its estimate."""
    shape = arm.forward(np.full(40, 2e5))
    axes = shape.nodes[20:] - shape.nodes[:20]
    inclinations = np.arccos(axes[:, 2] / np.linalg.norm(axes, axis=1))
    arm.build_estimator("energy").update(inclinations, np.full(40, 2e5))
