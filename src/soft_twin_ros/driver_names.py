"""What the nodes that drive a robot put before the names of their services and of the topic `stopped`."""

from soft_twin.robots.base import Robot

CABLES, CHAMBERS = "cables_to_motors", "pressures_to_valves"


def driver_prefixes(robot: Robot) -> dict[str, str]:
    """By the names of the drivers that a robot with such actuators needs: nothing where there is one alone, whose
    services are the robot's."""
    cables, chambers = (bool(getattr(robot, names, ())) for names in ("cable_names", "chamber_names"))
    if cables and chambers:
        return {CABLES: "cables/", CHAMBERS: "chambers/"}
    return {CABLES: ""} if cables else {CHAMBERS: ""} if chambers else {}
