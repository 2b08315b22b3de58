"""TM40's nodes, as `running.graph` declares them: emulated unless its valves are named or `emulated` is false."""

from soft_twin_ros.launching import robot_launch


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return robot_launch("tm40")
