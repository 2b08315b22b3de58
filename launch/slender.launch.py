"""The slender robot's nodes, as `running.graph` declares them: emulated unless `imu` and `can` name its devices."""

from soft_twin_ros.launching import description, robot_nodes
from soft_twin_ros.running.graph import Devices

ARGUMENTS = {
    "robot": ("slender", "name of a robot in config/, or path of its description"),
    "namespace": ("", "of the nodes; default: the robot's name"),
    "imu": ("", "serial device of the robot's IMU board; empty, with `can`: a micro-ROS board publishes imu/data_raw"),
    "can": ("", "serial device of the robot's CAN adapter; neither `imu` nor `can`: an emulated robot"),
    "recording": ("", "MCAP file that everything is recorded to; default: no recording"),
}


def nodes(value):
    """One launch action per node of the graph."""
    return robot_nodes(value, Devices(value["imu"], value["can"]) if value["imu"] or value["can"] else None)


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return description(ARGUMENTS, nodes)
