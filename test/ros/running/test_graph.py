import json

import pytest

from soft_twin import load_robot
from soft_twin.errors import DescriptionError
from soft_twin.robots.cable_tube import CableTube
from soft_twin_ros.running.graph import Devices, NodeSpec, default_device_folder, emulated_devices, graph


@pytest.fixture(scope="module")
def slender():
    return load_robot("slender")


def by_name(nodes):
    return {node.name: node for node in nodes}


def with_nodes(robot: CableTube, **nodes):
    return CableTube(**{**robot.__dict__, "nodes": nodes})


def test_an_emulated_robot_has_its_drivers_look_where_its_devices_are(slender):
    nodes = by_name(graph(slender, emulation={"device_folder": "/somewhere"}))
    assert list(nodes) == ["emulated_robot", "imu_to_gravity", "gravity_to_cables", "cables_to_motors"]
    assert nodes["imu_to_gravity"].parameters["device"] == emulated_devices("/somewhere").imu
    assert nodes["cables_to_motors"].parameters["device"] == emulated_devices("/somewhere").can
    assert nodes["emulated_robot"].parameters["device_folder"] == "/somewhere"


def test_without_a_word_the_devices_are_in_a_folder_of_the_users(slender):
    nodes = by_name(graph(slender))
    assert nodes["emulated_robot"].parameters["device_folder"] == str(default_device_folder("slender"))


def test_a_real_robot_is_not_emulated(slender):
    nodes = by_name(graph(slender, devices=Devices("/dev/imu", "/dev/can")))
    assert "emulated_robot" not in nodes
    assert nodes["imu_to_gravity"].parameters["device"] == "/dev/imu"


def test_a_robot_has_the_drivers_that_its_actuators_need():
    both = by_name(graph(load_robot("finger"), emulation={"device_folder": "/somewhere"}))
    assert list(both)[1:] == ["imu_to_gravity", "gravity_to_actuators", "cables_to_motors", "pressures_to_valves"]
    assert both["pressures_to_valves"].parameters["device"] == emulated_devices("/somewhere").valves
    assert both["pressures_to_valves"].parameters["services"] == "chambers/"
    assert both["cables_to_motors"].parameters["services"] == "cables/"
    chambers = by_name(graph(load_robot("arm")))
    assert list(chambers)[1:] == ["imu_to_gravity", "gravity_to_actuators", "pressures_to_valves"]
    assert "services" not in chambers["pressures_to_valves"].parameters


def test_an_actuator_without_a_drive_is_told_when_its_driver_is_asked_for(tmp_path):
    text = load_robot("finger").path.read_text().replace(", channel: 0", "")
    (tmp_path / "finger.yaml").write_text(text)
    with pytest.raises(DescriptionError, match="chamber 'air' has no drive"):
        graph(load_robot(tmp_path / "finger.yaml"))


def test_the_recorder_comes_first(slender):
    first = graph(slender, recording="run.mcap")[0]
    assert (first.name, first.parameters["path"]) == ("recorder", "run.mcap")


def test_nodes_live_in_the_robots_namespace_and_know_its_description(slender):
    for node in graph(slender):
        assert node.namespace == "slender"
        assert node.parameters["robot"] == str(slender.path)
    assert {node.namespace for node in graph(slender, namespace="left")} == {"left"}


def test_the_description_has_the_nodes_parameters(slender):
    nodes = by_name(graph(with_nodes(slender, imu_to_gravity={"estimator": "vqf"})))
    assert nodes["imu_to_gravity"].parameters["estimator"] == "vqf"


def test_parameters_of_a_node_that_is_not_there_are_named(slender):
    with pytest.raises(DescriptionError, match="imu_to_grvity"):
        graph(with_nodes(slender, imu_to_grvity={}))


def test_a_command_line_says_each_parameter_as_yaml():
    words = NodeSpec("recorder", "ear", "left", {"path": "a b", "rate": 100.0, "deep": True, "at": [1.0]}).command()
    assert words[1:3] == ["-m", "soft_twin_ros.recorder"]
    assert {"__ns:=/left", "__node:=ear"} <= set(words)
    values = dict(word.split(":=", 1) for word in words if ":=" in word and not word.startswith("__"))
    assert {name: json.loads(value) for name, value in values.items()} == {
        "path": "a b",
        "rate": 100.0,
        "deep": True,
        "at": [1.0],
    }
    assert "." in values["rate"]  # a whole number would be an integer to ROS


def test_an_emulated_robot_is_waited_for_longer_unless_its_description_says_how_long(slender):
    waiting = by_name(graph(slender))
    assert {waiting[name].parameters["stale_after"] for name in ("gravity_to_cables", "cables_to_motors")} == {3.0}
    own = by_name(graph(with_nodes(slender, cables_to_motors={"stale_after": 0.2})))
    assert own["cables_to_motors"].parameters["stale_after"] == 0.2
    assert own["gravity_to_cables"].parameters["stale_after"] == 3.0
    real = by_name(graph(slender, devices=Devices(imu="/dev/ttyUSB0", can="/dev/ttyACM0")))
    assert not any("stale_after" in node.parameters for node in real.values())
