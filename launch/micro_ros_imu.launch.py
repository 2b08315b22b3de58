"""The agent of a micro-ROS IMU board, which then publishes imu/data_raw and imu/temperature by itself.

The nodes of its robot start without an IMU device: `ros2 launch soft_twin slender.launch.py can:=/dev/ttyACM0`.
"""

from soft_twin_ros.launching import foreign_action, launched
from soft_twin_ros.running.arguments import Argument, checked_namespace

ARGUMENTS = {
    "imu": Argument("/dev/ttyUSB0", "serial device of the board", ("device",)),
    "baud_rate": Argument("921600", "of the board [bit/s]"),
    "namespace": Argument("", "of the agent; the topics' namespace is the board's own"),
}
REMEDY = (
    "no distribution releases it: build it in a workspace with github.com/micro-ROS/micro_ros_setup, or run its image: "
    "docker run --net=host --device=DEVICE microros/micro-ros-agent:$ROS_DISTRO serial --dev DEVICE -b 921600"
)


def actions(value, _within):
    """The agent."""
    words = ["serial", "--dev", value["imu"], "-b", value["baud_rate"]]
    namespace = checked_namespace(value["namespace"])
    return [foreign_action("micro_ros_agent", REMEDY, namespace=namespace, arguments=words, output="screen")]


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return launched(ARGUMENTS, actions)
