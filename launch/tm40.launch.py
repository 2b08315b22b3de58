"""TM40's nodes, as `soft_twin.graph` declares them, with an emulated arm unless `emulated` is false."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from soft_twin import load_robot
from soft_twin.graph import Devices, graph

ARGUMENTS = {
    "robot": ("tm40", "name of a robot in config/, or path of its description"),
    "namespace": ("", "of the nodes; default: the robot's name"),
    "emulated": ("true", "true: an emulated arm; false: the arm's boards publish its inclinations and pressures"),
    "valves": ("", "of a real arm: serial device of the DAC board of its valves; default: no driver for them"),
    "recording": ("", "MCAP file that everything is recorded to; default: no recording"),
}


def nodes(context):
    """One launch action per node of the graph."""
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    real = value["emulated"].lower() in ("false", "0")
    specs = graph(
        load_robot(value["robot"]),
        devices=Devices(valves=value["valves"]) if real else None,
        recording=value["recording"] or None,
        namespace=value["namespace"] or None,
    )
    return [
        Node(
            package="soft_twin",
            executable=spec.executable,
            name=spec.name,
            namespace=spec.namespace,
            parameters=[dict(spec.parameters)],
            output="screen",
        )
        for spec in specs
    ]


def generate_launch_description():
    """What `ros2 launch` asks for."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=nodes)])
