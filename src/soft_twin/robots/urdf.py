"""A robot's URDF: its links as they are at rest, and its actuators as joints for ros2_control.

What moves as the twin deforms hangs on floating joints, which nobody but the robot's nodes can tell the transforms of.
The body's shape is no geometry of any link: it is soft, and the topic `body` has it. What is drawn of a link is a slice
of it, a plate or a strut.
"""

from xml.etree.ElementTree import Comment, Element, SubElement, indent, tostring

import numpy as np
from transforms3d.euler import mat2euler

from soft_twin.descriptions.kinds_of_value import NAMESPACE
from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import DescriptionError, InputError
from soft_twin.robots.base import Robot
from soft_twin.robots.joints import Joint, cable_joints, chamber_joints
from soft_twin.robots.links import BASE, Link, Solid
from soft_twin.robots.skeleton import Skeleton, build_skeleton

PLUGIN = "topic_based_ros2_control/TopicBasedSystem"
COLOUR = "0.25 0.45 0.65 0.6"  # red, green, blue, opacity: a soft body is drawn around them
ALWAYS = "-1"  # threshold of a change that is told: a command that is not repeated is one that stays away


def urdf(robot: Robot, skeleton: Skeleton | None = None, namespace: str | None = None) -> str:
    """The text of its URDF.

    Args:
        robot: whose it is.
        skeleton: its skeleton, where it is built already.
        namespace: of its nodes, where ros2_control finds its topics; the robot's name by default.

    Raises:
        DescriptionError: two links or two joints would have one name.
        DescriptionError, MeshError: see `build_skeleton`.
        InputError: a namespace that is none.
    """
    namespace = robot.name if namespace is None else namespace.strip("/")
    if namespace and not NAMESPACE.fullmatch(namespace):
        raise InputError(
            f"namespace {shortened(namespace)}: expected letters, digits and _, with / between names, none beginning "
            "with a digit"
        )
    skeleton = build_skeleton(robot) if skeleton is None else skeleton
    root = Element("robot", name=robot.name)
    root.append(Comment(f" Frames of '{robot.name}' at rest, made from its description by `soft-twin urdf`. "))
    SubElement(root, "link", name=BASE)
    for link in (*skeleton.moving, *skeleton.fixed):
        _add_link(root, link)
    drives = {"cables": cable_joints(robot), "chambers": chamber_joints(robot)}
    for joint in (*drives["cables"], *drives["chambers"]):
        _add_actuator(root, joint)
    for actuators, joints in drives.items():
        if joints:
            _add_control(root, f"/{namespace}/{actuators}".replace("//", "/"), actuators, joints)
    _check_unique(root, robot)
    indent(root)
    return '<?xml version="1.0"?>\n' + tostring(root, encoding="unicode") + "\n"


def _check_unique(root: Element, robot: Robot) -> None:
    """
    Raises:
        DescriptionError: two links or joints have one name, as a cable that is called as a link's joint is.
    """
    for kind in ("link", "joint"):
        names = [element.get("name") for element in root.findall(kind)]
        for name in names:
            if names.count(name) > 1:
                raise DescriptionError(
                    f"{robot.path}: its URDF would have two {kind}s '{name}': give the actuator, IMU or plate that "
                    "makes one of them another name"
                )


def _add_link(root: Element, link: Link) -> None:
    element = SubElement(root, "link", name=link.name)
    if link.solid is not None:
        _add_visual(element, link.solid)
    joint = SubElement(root, "joint", name=f"{link.name}_joint", type="floating" if link.moves else "fixed")
    SubElement(joint, "parent", link=link.parent)
    SubElement(joint, "child", link=link.name)
    SubElement(joint, "origin", xyz=_numbers(link.place), rpy=_numbers(mat2euler(link.rotation, axes="sxyz")))


def _add_visual(link: Element, solid: Solid) -> None:
    visual = SubElement(link, "visual")
    SubElement(visual, "origin", xyz=_numbers(solid.centre), rpy="0 0 0")
    geometry = SubElement(visual, "geometry")
    if solid.round:
        SubElement(geometry, "cylinder", radius=_number(solid.size[0] / 2.0), length=_number(solid.size[2]))
    else:
        SubElement(geometry, "box", size=_numbers(solid.size))
    SubElement(SubElement(visual, "material", name="soft"), "color", rgba=COLOUR)


def _add_actuator(root: Element, actuator: Joint) -> None:
    SubElement(root, "link", name=actuator.mark)
    moves = actuator.lower is not None
    joint = SubElement(root, "joint", name=actuator.name, type="prismatic" if moves else "continuous")
    SubElement(joint, "parent", link=BASE)
    SubElement(joint, "child", link=actuator.mark)
    SubElement(joint, "axis", xyz="0 0 -1")
    limits = {"effort": max(actuator.effort, -actuator.least), "velocity": actuator.rate}
    if moves:
        limits |= {"lower": actuator.lower, "upper": actuator.upper}
    SubElement(joint, "limit", {key: _number(value) for key, value in limits.items()})


def _add_control(root: Element, topics: str, actuators: str, joints: list[Joint]) -> None:
    """The drivers' topics as a system of ros2_control: cables by position, chambers by effort."""
    control = SubElement(root, "ros2_control", name=actuators, type="system")
    hardware = SubElement(control, "hardware")
    SubElement(hardware, "plugin").text = PLUGIN
    # A chamber's own topics have pressures; joints are told beside them.
    command, state = ("joint_command", "joint_state") if actuators == "chambers" else ("command", "state")
    parameters = {
        "joint_commands_topic": f"{topics}/{command}",
        "joint_states_topic": f"{topics}/{state}",
        "trigger_joint_command_threshold": ALWAYS,
    }
    for key, value in parameters.items():
        SubElement(hardware, "param", name=key).text = value
    for joint in joints:
        _add_interfaces(SubElement(control, "joint", name=joint.name), joint)


def _add_interfaces(element: Element, joint: Joint) -> None:
    """An effort has no limits of its own: ros2_control takes the smaller of the two for both directions, and would keep
    a pressure of 0 to 30 kPa at 0. It takes the joint's limit instead."""
    if joint.lower is None:
        SubElement(element, "command_interface", name="effort")
    else:
        limits = SubElement(element, "command_interface", name="position")
        SubElement(limits, "param", name="min").text = _number(joint.lower)
        SubElement(limits, "param", name="max").text = _number(joint.upper)
        SubElement(element, "state_interface", name="position")
    SubElement(element, "state_interface", name="effort")


def _numbers(values) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    """To a nanometre, so that what is rounding error shows in no file."""
    return f"{np.round(float(value), 9) + 0.0:.9g}"
