"""URDFs of robots: those that are checked in are those that are made, and each is one tree."""

from xml.etree import ElementTree

import numpy as np
import pytest

import soft_twin
from soft_twin.app.cli import main
from soft_twin.errors import DescriptionError
from soft_twin.resources import folder
from soft_twin.robots.urdf import urdf

ROBOTS = sorted(path.stem for path in folder("config").glob("*.yaml"))


@pytest.fixture(scope="module")
def made():
    return {name: urdf(soft_twin.load_robot(name)) for name in ROBOTS}


def joints(root):
    return {joint.get("name"): joint for joint in root.findall("joint")}


@pytest.mark.parametrize("name", ROBOTS)
def test_what_is_checked_in_is_what_is_made(made, name):
    again = f"it is not what `soft-twin urdf {name} --out urdf/{name}.urdf` writes"
    assert (folder("urdf") / f"{name}.urdf").read_text(encoding="utf-8") == made[name], again


@pytest.mark.parametrize("name", ROBOTS)
def test_links_hang_together_as_one_tree(made, name):
    root = ElementTree.fromstring(made[name])
    links = [link.get("name") for link in root.findall("link")]
    parents = {joint.find("child").get("link"): joint.find("parent").get("link") for joint in joints(root).values()}
    assert len(set(links)) == len(links) and len(joints(root)) == len(root.findall("joint"))
    assert set(links) - parents.keys() == {"base_link"} and set(parents.values()) <= set(links)
    assert {"tip_link"} <= set(links)
    for link in links:
        seen = set()
        while link != "base_link":
            assert link not in seen
            seen.add(link)
            link = parents[link]


def test_actuators_are_joints_that_ros2_control_finds_on_the_drivers_topics(made):
    root = ElementTree.fromstring(made["finger"])
    limit = joints(root)["left"].find("limit")
    assert joints(root)["left"].get("type") == "prismatic"
    assert {key: float(value) for key, value in limit.attrib.items()} == {
        "lower": -0.005, "upper": 0.020, "effort": 4.0, "velocity": 0.05,
    }  # fmt: skip
    systems = {system.get("name"): system for system in root.findall("ros2_control")}
    commands = {name: _parameter(system, "joint_commands_topic") for name, system in systems.items()}
    assert commands == {"cables": "/finger/cables/command", "chambers": "/finger/chambers/joint_command"}
    assert [joint.get("name") for joint in systems["cables"].findall("joint")] == ["left", "right"]
    assert [each.get("name") for each in systems["chambers"].iter("command_interface")] == ["effort"]


def test_a_robot_without_drives_has_no_joints_to_control(tmp_path):
    text = soft_twin.load_robot("arm").path.read_text(encoding="utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text("\n".join(line for line in text.splitlines() if not line.startswith("  valves:")), encoding="utf-8")
    root = ElementTree.fromstring(urdf(soft_twin.load_robot(path)))
    assert root.findall("ros2_control") == [] and "flange_plate_joint" in joints(root)


def test_the_command_writes_it_and_says_where_it_cannot(tmp_path, capsys, made):
    assert main(["urdf", "tm40", "--out", str(tmp_path / "tm40.urdf")]) == 0
    assert (tmp_path / "tm40.urdf").read_text(encoding="utf-8") == made["tm40"]
    assert main(["urdf", "slender", "--namespace", "a b"]) == 2
    assert "namespace 'a b': expected letters, digits and _" in capsys.readouterr().err
    assert main(["urdf", "slender", "--namespace", "left"]) == 0
    assert "/left/cables/state" in capsys.readouterr().out
    assert main(["urdf", "tm40", "--out", "/proc/nowhere/tm40.urdf"]) == 2
    assert "cannot write '/proc/nowhere/tm40.urdf'" in capsys.readouterr().err


def _parameter(system, name):
    return next(each.text for each in system.iter("param") if each.get("name") == name)


def _highest_effort(root, joint):
    """What ros2_control (4 and 5, `update_interface_limits`) lets through in either direction."""
    (interface,) = joint.findall("command_interface")
    bounds = {each.get("name"): float(each.text) for each in interface.findall("param")}
    highest = float(joints(root)[joint.get("name")].find("limit").get("effort"))
    return min(highest, abs(bounds.get("min", highest)), bounds.get("max", highest))


@pytest.mark.parametrize("name", ["finger", "arm", "bellows"])
def test_ros2_control_lets_through_every_pressure_of_a_chamber(made, name):
    valves = soft_twin.load_robot(name).valves
    root = ElementTree.fromstring(made[name])
    (system,) = (each for each in root.findall("ros2_control") if each.get("name") == "chambers")
    let_through = [_highest_effort(root, joint) for joint in system.findall("joint")]
    assert let_through == np.abs(valves.limits_by_channel).max(axis=0).tolist()


def test_a_cable_that_is_called_as_a_joint_of_the_body_is_refused(tmp_path):
    text = soft_twin.load_robot("slender").path.read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace("cable_1", "tip_link_joint"), encoding="utf-8")
    with pytest.raises(DescriptionError, match="two joints 'tip_link_joint'"):
        urdf(soft_twin.load_robot(tmp_path / "mine.yaml"))
