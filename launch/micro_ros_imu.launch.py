"""The agent of a micro-ROS IMU board, which then publishes imu/data_raw and imu/temperature by itself.

The nodes of its robot start without an IMU device: `ros2 launch soft_twin slender.launch.py can:=/dev/ttyACM0`.
"""

from launch_ros.actions import Node

from soft_twin_ros.launching import description

ARGUMENTS = {
    "device": ("/dev/ttyUSB0", "serial device of the board"),
    "baud_rate": ("921600", "of the board [bit/s]"),
    "namespace": ("", "of the agent; the topics' namespace is the board's own"),
}


def nodes(value):
    """The agent."""
    return [
        Node(
            package="micro_ros_agent",
            executable="micro_ros_agent",
            namespace=value["namespace"],
            arguments=["serial", "--dev", value["device"], "-b", value["baud_rate"]],
            output="screen",
        )
    ]


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return description(ARGUMENTS, nodes)
