"""The agent of a micro-ROS IMU board, which then publishes imu/data_raw and imu/temperature by itself.

The nodes of its robot start without an IMU device: `ros2 launch soft_twin slender.launch.py can:=/dev/ttyACM0`.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

ARGUMENTS = {
    "device": ("/dev/ttyUSB0", "serial device of the board"),
    "baud_rate": ("921600", "of the board [bit/s]"),
    "namespace": ("", "of the agent; the topics' namespace is the board's own"),
}


def generate_launch_description():
    """What `ros2 launch` asks for."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    agent = Node(
        package="micro_ros_agent",
        executable="micro_ros_agent",
        namespace=LaunchConfiguration("namespace"),
        arguments=["serial", "--dev", LaunchConfiguration("device"), "-b", LaunchConfiguration("baud_rate")],
        output="screen",
    )
    return LaunchDescription([*arguments, agent])
