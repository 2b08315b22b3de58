"""Gravity in, cable displacements out: `gravity_to_actuators` by the name that it has for robots with cables alone."""

import sys

from soft_twin_ros.gravity_to_actuators import GravityToActuators
from soft_twin_ros.node import run


class GravityToCables(GravityToActuators):
    """See gravity_to_actuators."""

    NAME = "gravity_to_cables"


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(GravityToCables)


if __name__ == "__main__":
    sys.exit(main())
