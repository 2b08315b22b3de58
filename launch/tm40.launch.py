"""TM40's nodes, as `running.graph` declares them, with an emulated arm unless `emulated` is false."""

from soft_twin_ros.launching import description, robot_nodes
from soft_twin_ros.running.graph import Devices

ARGUMENTS = {
    "robot": ("tm40", "name of a robot in config/, or path of its description"),
    "namespace": ("", "of the nodes; default: the robot's name"),
    "emulated": ("true", "true: an emulated arm; false: the arm's boards publish its inclinations and pressures"),
    "valves": ("", "of a real arm: serial device of the DAC board of its valves; default: no driver for them"),
    "recording": ("", "MCAP file that everything is recorded to; default: no recording"),
}


def nodes(value):
    """One launch action per node of the graph."""
    real = value["emulated"].lower() in ("false", "0")
    return robot_nodes(value, Devices(valves=value["valves"]) if real else None)


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return description(ARGUMENTS, nodes)
