"""Reading a tensegrity's description: structure by generator or lists, laws by groups."""

from dataclasses import replace

import numpy as np
from transforms3d.euler import euler2mat

from soft_twin.errors import DescriptionError
from soft_twin.robots.description import Section
from soft_twin.twin.tensegrity import prisms
from soft_twin.twin.tensegrity.model import ArmModel, MemberLaws
from soft_twin.twin.tensegrity.newton import Pose
from soft_twin.twin.tensegrity.structure import Structure, check, node_index


def read_model(robot: Section) -> ArmModel:
    """The model from the section `robot` of a description, its numbers turned into the level frame."""
    level = euler2mat(*np.radians(robot.numbers("mounting_rpy_deg", 3, -360.0, 360.0)), axes="sxyz")
    structure, start = _read_structure(robot.section("structure"))
    laws = _read_laws(robot, structure)
    structure = replace(structure, active=laws.areas > 0.0, anchor_points=structure.anchor_points @ level.T)
    return ArmModel(structure, laws, level, Pose(start.bottoms @ level.T, start.directions @ level.T))


def _read_structure(section: Section) -> tuple[Structure, Pose]:
    if section.has("generator"):
        section.text("generator", among={"stacked_prisms": None})
        structure, start = _read_prisms(section)
    else:
        structure, start = _read_lists(section)
    return check(structure, section.where), start


def _read_prisms(section: Section) -> tuple[Structure, Pose]:
    sides = section.integer("sides", 3, 24)
    lengths = section.numbers("strut_lengths", None, 1e-3, 10.0)
    if len(lengths) < 2:
        raise DescriptionError(f"{section.where}.strut_lengths: a tower needs at least 2 modules, found {len(lengths)}")
    inclination = np.radians(section.number("inclination_deg", 5.0, 85.0))
    start = Pose(*prisms.upright(np.array(lengths), sides, section.number("base_radius", 1e-3, 10.0), inclination))
    members, groups, active = prisms.connect(len(lengths), sides)
    masses = np.full(2 * len(lengths) * sides, section.number("node_mass", 0.0, 100.0))
    struts = np.repeat(lengths, sides)
    return Structure(struts, members, groups, active, np.arange(sides), start.bottoms[:sides], masses), start


def _read_lists(section: Section) -> tuple[Structure, Pose]:
    """Struts and members listed one by one: struts by their ends' positions, members by their ends' names."""
    struts = section.sections("struts")
    bottoms = np.array([strut.numbers("bottom", 3) for strut in struts])
    axes = np.array([strut.numbers("top", 3) for strut in struts]) - bottoms
    lengths = np.linalg.norm(axes, axis=1)
    members = section.sections("members")
    ends = np.array([[_read_end(member, end, len(struts)) for end in ("from", "to")] for member in members])
    groups = tuple(member.text("group") for member in members)
    anchors = np.array([int(number) for number in section.numbers("anchors", None, 0, len(struts) - 1)])
    masses = np.full(2 * len(struts), section.number("node_mass", 0.0, 100.0))
    unknown = np.zeros(len(ends), dtype=bool)  # which are active: the groups' laws say that, later
    structure = Structure(lengths, ends, groups, unknown, anchors, bottoms[anchors], masses)
    return structure, Pose(bottoms, axes / np.maximum(lengths, 1e-12)[:, None])


def _read_end(member: Section, key: str, struts: int) -> int:
    return node_index(member.text(key), struts, f"{member.where}.{key}")


def _read_laws(robot: Section, structure: Structure) -> MemberLaws:
    section = robot.section("members")
    rows = [_read_law(section, group) for group in structure.groups]
    stiffness, lengths, areas, stops = (np.array(column) for column in zip(*rows, strict=True))
    low, high = robot.interval("pressure")
    if low < 0.0:
        raise DescriptionError(f"{robot.where}.pressure: {low:g} Pa is below the ambient pressure")
    return MemberLaws(stiffness, lengths, areas, stops, (low, high))


def _read_law(members: Section, group: str) -> tuple[float, float, float, tuple[float, float]]:
    key = next((key for key in members.content if group == key or group.startswith(f"{key}_")), None)
    if key is None:
        raise DescriptionError(f"{members.where}: no law for the group '{group}'")
    law = members.section(key)
    kind = law.text("law", among={"cord": None, "cylinder": None})
    area = law.number("area", 1e-7, 1.0) if kind == "cylinder" else 0.0
    stroke = law.interval("stroke") if kind == "cylinder" and law.has("stroke") else (0.0, np.inf)
    return law.number("stiffness", 1e-3), law.number("length", 0.0, 100.0), area, stroke
