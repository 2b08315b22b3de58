"""Pressure valves on their own, for robots without a description: the node `pressures_to_valves`.

Chambers and limits are the node's parameters; `soft-twin emulate openpneu` is a device to try it on.
"""

from launch_ros.actions import Node

from soft_twin_ros.launching import description

ARGUMENTS = {
    "backend": ("openpneu", "kind of valves: openpneu, dac_board or modbus"),
    "device": ("/dev/ttyUSB0", "serial device, or host:port of a Modbus terminal"),
    "chambers": ("chamber_1", "names of the chambers in the order of the valves, with commas between them"),
    "highest": ("80000.0", "highest gauge pressure [Pa]"),
    "namespace": ("valves", "of the node"),
}


def nodes(value):
    """The node with its parameters."""
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
    return description(ARGUMENTS, nodes)
