"""Pressure valves on their own, for robots without a description: the node `pressures_to_valves`.

Chambers and limits are the node's parameters; `soft-twin emulate openpneu` is a device to try it on.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

ARGUMENTS = {
    "backend": ("openpneu", "kind of valves: openpneu, dac_board or modbus"),
    "device": ("/dev/ttyUSB0", "serial device, or host:port of a Modbus terminal"),
    "chambers": ("chamber_1", "names of the chambers in the order of the valves, with commas between them"),
    "highest": ("80000.0", "highest gauge pressure [Pa]"),
    "namespace": ("valves", "of the node"),
}


def nodes(context):
    """The node with its parameters."""
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    parameters = {
        "backend": value["backend"],
        "device": value["device"],
        "chambers": value["chambers"].split(","),
        "highest": float(value["highest"]),
    }
    return [
        Node(
            package="soft_twin",
            executable="pressures_to_valves",
            name="pressures_to_valves",
            namespace=value["namespace"],
            parameters=[parameters],
            output="screen",
        )
    ]


def generate_launch_description():
    """What `ros2 launch` asks for."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=nodes)])
