import dataclasses
import json

import pytest

from soft_twin import load_robot
from soft_twin.errors import DescriptionError, UsageError
from soft_twin.resources import folder
from soft_twin.robots.cable_tube import CableTube
from soft_twin_ros.running.graph import Devices, NodeSpec, emulated_devices, graph, own_folder


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
    assert nodes["emulated_robot"].parameters["device_folder"] == str(own_folder("slender", "slender"))


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


def test_parameters_of_a_node_that_is_not_there_are_named_with_their_line(slender, tmp_path):
    lines = slender.path.read_text(encoding="utf-8").splitlines()
    place = lines.index("  imu_to_gravity: {}")
    for wrong, right in {
        "imu_to_grvity": "did you mean 'imu_to_gravity'?",
        "xyz": "there are cables_to_motors",
    }.items():
        lines[place] = f"  {wrong}: {{}}"
        path = tmp_path / "mine.yaml"
        path.write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(DescriptionError) as error:
            graph(load_robot(path))
        assert f"{path}:{place + 1}: nodes.{wrong}: 'slender' has no node '{wrong}': {right}" in str(error.value)


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


def test_an_emulated_robot_may_take_its_time_until_its_devices_are_there(slender):
    starting = by_name(graph(slender))
    assert {starting[name].parameters["appears_within"] for name in ("imu_to_gravity", "cables_to_motors")} == {180.0}
    assert "appears_within" not in starting["gravity_to_cables"].parameters
    assert not any("appears_within" in node.parameters for node in graph(slender, devices=Devices("/dev/imu")))


def test_managed_nodes_wait_for_the_one_that_brings_them_up(slender):
    nodes = by_name(graph(slender, managed=True))
    names = ["imu_to_gravity", "cables_to_motors", "gravity_to_cables"]
    assert nodes["bringup"].parameters["nodes"] == names
    assert not any(nodes[name].parameters["autostart"] for name in names)
    assert "autostart" not in nodes["emulated_robot"].parameters
    assert "bringup" not in by_name(graph(slender))


def test_a_plate_that_is_held_has_an_imu_of_its_own():
    neck = load_robot("neck")
    nodes = by_name(graph(neck, devices=Devices("/dev/imu", "/dev/can", plate_imu="/dev/plate")))
    assert list(nodes) == ["imu_to_gravity", "pose_to_cables", "plate_imu_to_gravity", "cables_to_motors"]
    plate = nodes["plate_imu_to_gravity"]
    assert plate.executable == "imu_to_gravity"
    assert (plate.parameters["imu"], plate.parameters["device"]) == ("plate", "/dev/plate")
    emulated = by_name(graph(neck, emulation={"device_folder": "/somewhere"}))
    assert emulated["plate_imu_to_gravity"].parameters["device"] == "/somewhere/plate_imu"


def test_a_plate_without_an_imu_cannot_be_held(tmp_path):
    text = load_robot("neck").path.read_text().replace("name: plate, plate: plate, mount", "name: plate, mount")
    (tmp_path / "neck.yaml").write_text(text)
    with pytest.raises(DescriptionError, match="no IMU of robot.imus is on the plate"):
        graph(load_robot(tmp_path / "neck.yaml"))


@pytest.fixture
def weights(tmp_path):
    """A file that is there: nobody reads it here."""
    path = tmp_path / "membrane.safetensors"
    path.touch()
    return path


@pytest.mark.parametrize("name", sorted(path.stem for path in folder("config").glob("*.yaml")))
def test_a_robot_has_a_launch_file(name):
    assert f'robot_launch("{name}")' in (folder("launch") / f"{name}.launch.py").read_text(encoding="utf-8")


def test_weights_have_shapes_taken_in_place_of_the_tip(weights):
    membrane = load_robot("membrane")
    plain, shaped = by_name(graph(membrane)), by_name(graph(membrane, weights=weights, managed=True))
    chain = ["emulated_robot", "imu_to_gravity", "shape_to_pressures", "pressures_to_valves"]
    assert list(plain) == [*chain[:2], "gravity_to_actuators", chain[3]]
    assert list(shaped) == [*chain, "bringup"]
    node = shaped["shape_to_pressures"].parameters
    assert node == {"robot": str(membrane.path), "weights": str(weights), "autostart": False}
    assert shaped["bringup"].parameters["nodes"] == ["imu_to_gravity", "pressures_to_valves", "shape_to_pressures"]


def test_the_description_may_say_how_shapes_are_taken(weights):
    membrane = load_robot("membrane")
    told = dataclasses.replace(membrane, nodes=membrane.nodes | {"shape_to_pressures": {"pose": "fixed"}})
    assert by_name(graph(told, weights=weights))["shape_to_pressures"].parameters["pose"] == "fixed"
    assert "shape_to_pressures" not in by_name(graph(told))


@pytest.mark.parametrize("name", ["slender", "tm40"])
def test_weights_are_of_no_use_to_a_robot_without_chambers(name, weights):
    with pytest.raises(UsageError, match=f"'{name}' has no chambers that give a surface its shape"):
        graph(load_robot(name), weights=weights)


def test_weights_that_are_not_there_are_named():
    with pytest.raises(UsageError, match="weights /nowhere: there is no such file; `soft-twin train membrane` writes"):
        graph(load_robot("membrane"), weights="/nowhere")


def test_an_emulated_scanner_looks_where_it_is_asked_for(weights):
    membrane = load_robot("membrane")
    told = dataclasses.replace(membrane, nodes=membrane.nodes | {"emulated_scanner": {"period": 0.5}})
    assert "emulated_scanner" not in by_name(graph(told))
    for others in ({}, {"weights": weights}):
        node = by_name(graph(told, scanner=True, **others))["emulated_scanner"]
        assert node.parameters == {"robot": str(membrane.path), "period": 0.5}


@pytest.mark.parametrize("name", ["slender", "finger", "tm40"])
def test_a_scanner_that_has_nothing_to_look_at_is_refused(name):
    with pytest.raises(UsageError, match=f"nothing of robot '{name}' is learned"):
        graph(load_robot(name), scanner=True)
    with pytest.raises(UsageError, match="sees nothing of a real robot such as 'membrane'"):
        graph(load_robot("membrane"), Devices(imu="/dev/imu"), scanner=True)
