"""Several robots in one graph, each in a namespace of its own.

`ros2 launch soft_twin robots.launch.py robots:='{left: slender, right: {robot: slender, can: /dev/ttyACM1}}'`
"""

from soft_twin_ros.launching import robots_launch


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return robots_launch()
