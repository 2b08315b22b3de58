"""The slender robot's nodes, as `soft_twin.graph` declares them: emulated unless `imu` and `can` name its devices."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from soft_twin import load_robot
from soft_twin.graph import Devices, graph

ARGUMENTS = {
    "robot": ("slender", "name of a robot in config/, or path of its description"),
    "namespace": ("", "of the nodes; default: the robot's name"),
    "imu": ("", "serial device of the robot's IMU board; empty, with `can`: a micro-ROS board publishes imu/data_raw"),
    "can": ("", "serial device of the robot's CAN adapter; neither `imu` nor `can`: an emulated robot"),
    "recording": ("", "MCAP file that everything is recorded to; default: no recording"),
}


def nodes(context):
    """One launch action per node of the graph."""
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    devices = Devices(value["imu"], value["can"]) if value["imu"] or value["can"] else None
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


def generate_launch_description():
    """What `ros2 launch` asks for."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=nodes)])
