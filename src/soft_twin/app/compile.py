"""`soft-twin compile`: compile the robots' numba kernels, which stay compiled; once after an installation.

Without it they are compiled by the first run, by several processes at once that wait for each other's processors.
"""

import argparse

import numpy as np

from soft_twin import load_robot
from soft_twin.emulation.plant import Plant
from soft_twin.mechanics.moving_base import MovingBase
from soft_twin.sensing.gravity import GravityEstimator
from soft_twin.sensing.warm_up import warm_up

GRAVITY = np.array([0.0, -9.81, 0.0])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """One step of everything that the slender robot's nodes compute, and one of the tensegrity arm's."""
    slender = load_robot("slender")
    controller = slender.build_controller()
    controller.enable(True)
    controller.update(GRAVITY)
    Plant(slender).step(0.01, np.full(len(slender.cables), 1e-3), MovingBase(GRAVITY))
    warm_up(GravityEstimator(slender.mounting))
    arm = load_robot("tm40")
    shape = arm.forward(np.full(40, 2e5))
    axes = shape.nodes[20:] - shape.nodes[:20]
    inclinations = np.arccos(axes[:, 2] / np.linalg.norm(axes, axis=1))
    arm.build_estimator("energy").update(inclinations, np.full(40, 2e5))
    return 0
