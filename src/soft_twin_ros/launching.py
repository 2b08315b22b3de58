"""What the launch files share. Needs ROS's `launch` and `launch_ros`."""

from collections.abc import Callable, Mapping

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from soft_twin import load_robot
from soft_twin_ros.running.graph import Devices, graph


def description(
    arguments: Mapping[str, tuple[str, str]], nodes: Callable[[dict[str, str]], list[Node]]
) -> LaunchDescription:
    """A launch description with arguments (name → default and description), and the nodes that their values ask for."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in arguments.items()
    ]

    def actions(context) -> list[Node]:
        return nodes({name: LaunchConfiguration(name).perform(context) for name in arguments})

    return LaunchDescription([*declared, OpaqueFunction(function=actions)])


def robot_nodes(value: Mapping[str, str], devices: Devices | None) -> list[Node]:
    """One launch action per node of a robot's graph, emulated where there are no devices; `value` holds the arguments
    `robot`, `namespace` and `recording`."""
    specs = graph(
        load_robot(value["robot"]),
        devices=devices,
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
