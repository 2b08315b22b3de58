"""The mannequin's nodes, as `running.graph` declares them: emulated unless its devices are named."""

from soft_twin_ros.launching import robot_launch


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return robot_launch("mannequin")
