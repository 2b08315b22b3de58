"""The launch files, with ROS's launch packages replaced where they are not installed: what they would start."""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import pytest

from soft_twin import load_robot
from soft_twin.driving.dac_board import RANGE
from soft_twin.resources import folder
from soft_twin_ros.running.graph import DAC_RANGE, Devices, graph


class Configuration:
    """A launch argument; the context is the arguments' values."""

    def __init__(self, name):
        self.name = name

    def perform(self, context):
        return context[self.name]


def _module(name, **content):
    module = ModuleType(name)
    module.__dict__.update(content)
    return module


@pytest.fixture
def launch(monkeypatch):
    """Nodes that a launch file starts when it is given these arguments."""

    def record(**options):
        return SimpleNamespace(**options)

    stand_ins = {
        "launch": _module("launch", LaunchDescription=list),
        "launch.actions": _module(
            "actions", DeclareLaunchArgument=lambda name, **_: name, OpaqueFunction=lambda function: function
        ),
        "launch.substitutions": _module("substitutions", LaunchConfiguration=Configuration),
        "launch_ros": _module("launch_ros"),
        "launch_ros.actions": _module("actions", Node=record),
    }
    for name, module in stand_ins.items():
        monkeypatch.setitem(sys.modules, name, module)

    def start(name, **arguments):
        spec = importlib.util.spec_from_file_location("launched", folder("launch") / f"{name}.launch.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert arguments.keys() <= module.ARGUMENTS.keys()
        *declared, action = module.generate_launch_description()
        assert declared == list(module.ARGUMENTS)
        values = {key: default for key, (default, _) in module.ARGUMENTS.items()} | arguments
        return action(values) if callable(action) else [action]

    return start


def _by_name(nodes):
    return {node.executable: node for node in nodes}


def test_a_real_tm40_has_a_driver_for_its_valves_when_their_board_is_named(launch):
    nodes = _by_name(launch("tm40", emulated="false", valves="/dev/valves"))
    assert list(nodes) == ["imus_to_inclinations", "pressures_to_valves", "struts_to_shape"]
    parameters = nodes["pressures_to_valves"].parameters[0]
    assert (parameters["backend"], parameters["device"]) == ("dac_board", "/dev/valves")
    assert len(parameters["chambers"]) == 40
    assert (parameters["lowest"], parameters["vented"], parameters["highest"]) == (0.1e6, 0.1e6, 0.6e6)
    assert "pressures_to_valves" not in _by_name(launch("tm40", emulated="false"))
    assert "pressures_to_valves" not in _by_name(launch("tm40"))


def test_the_graph_knows_the_range_of_the_valves():
    assert DAC_RANGE == RANGE


def test_command_line_and_launch_start_the_same_nodes(launch):
    arm = load_robot("tm40")
    specs = graph(arm, devices=Devices(valves="/dev/valves"))
    launched = launch("tm40", emulated="false", valves="/dev/valves")
    assert [(spec.executable, dict(spec.parameters)) for spec in specs] == [
        (node.executable, node.parameters[0]) for node in launched
    ]


def test_a_slender_robot_with_a_micro_ros_board_has_no_imu_device(launch):
    nodes = _by_name(launch("slender", can="/dev/can"))
    assert nodes["imu_to_gravity"].parameters[0]["device"] == ""
    assert "emulated_robot" not in nodes


@pytest.mark.parametrize(
    ("robot", "drivers"),
    [("finger", ["cables_to_motors", "pressures_to_valves"]), ("arm", ["pressures_to_valves"])],
)
def test_robots_with_chambers_are_emulated_until_a_device_is_named(launch, robot, drivers):
    chain = ["imu_to_gravity", "gravity_to_actuators", *drivers]
    assert list(_by_name(launch(robot))) == ["emulated_robot", *chain]
    real = _by_name(launch(robot, imu="/dev/imu", valves="/dev/valves"))
    assert list(real) == chain
    assert real["pressures_to_valves"].parameters[0]["device"] == "/dev/valves"


def test_the_agent_of_a_micro_ros_board_is_started(launch):
    (agent,) = launch("micro_ros_imu")
    assert agent.executable == "micro_ros_agent"
    assert agent.arguments == ["serial", "--dev", "/dev/ttyUSB0", "-b", "921600"]


def test_valves_of_any_robot_are_started_by_themselves(launch):
    (node,) = launch("valves", chambers="left,right", device="/dev/pneu")
    assert node.parameters[0]["chambers"] == ["left", "right"]
    assert node.parameters[0]["highest"] == 80e3
