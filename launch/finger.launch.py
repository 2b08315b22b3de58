"""The finger's nodes, as `running.graph` declares them: emulated unless its devices are named."""

from soft_twin_ros.launching import description, robot_nodes
from soft_twin_ros.running.graph import Devices

ARGUMENTS = {
    "robot": ("finger", "name of a robot in config/, or path of its description"),
    "namespace": ("", "of the nodes; default: the robot's name"),
    "imu": ("", "serial device of the IMU board in its base; none of `imu`, `can` and `valves`: an emulated robot"),
    "can": ("", "serial device of the robot's CAN adapter"),
    "valves": ("", "serial device of the board of its chambers' valves"),
    "recording": ("", "MCAP file that everything is recorded to; default: no recording"),
}


def nodes(value):
    """One launch action per node of the graph."""
    real = any(value[name] for name in ("imu", "can", "valves"))
    return robot_nodes(value, Devices(value["imu"], value["can"], value["valves"]) if real else None)


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return description(ARGUMENTS, nodes)
