"""Pressure valves on their own, for robots without a description: the node `pressures_to_valves`.

Chambers and limits are the node's parameters; `soft-twin emulate openpneu` is a device to try it on.
"""

from soft_twin_ros.launching import launched, lone_node
from soft_twin_ros.running.arguments import SHARED, Argument, Shared, full_namespace, number
from soft_twin_ros.running.graph import NodeSpec

ARGUMENTS = {
    "backend": Argument("openpneu", "kind of valves: openpneu, dac_board, modbus or modbus_vacuum"),
    "valves": Argument("/dev/ttyUSB0", "serial device, or host:port of a Modbus terminal", ("device",)),
    "chambers": Argument("chamber_1", "names of the chambers in the order of the valves, with commas between them"),
    "highest": Argument("80000.0", "highest gauge pressure [Pa]"),
    "namespace": Argument("valves", "of the node"),
}


def actions(value, within):
    """The node with its parameters."""
    parameters = {
        "backend": value["backend"],
        "device": value["valves"],
        "chambers": [name.strip() for name in value["chambers"].split(",")],
        "highest": number("highest", value["highest"], "Pa"),
    }
    namespace = full_namespace(value["namespace"], within)
    spec = NodeSpec("pressures_to_valves", "pressures_to_valves", namespace, parameters)
    return lone_node(spec, Shared.of(value))


def generate_launch_description():
    """What `ros2 launch` asks for."""
    return launched(ARGUMENTS | {name: SHARED[name] for name in ("use_sim_time", "params_file", "respawn")}, actions)
