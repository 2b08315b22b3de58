"""A tensegrity's model from its description: structure by generator or lists, laws by groups."""

from dataclasses import replace

import numpy as np
from transforms3d.euler import euler2mat

from soft_twin.descriptions.tensegrity import Cylinder, Law, Listed, StackedPrisms, Tensegrity
from soft_twin.errors import DescriptionError
from soft_twin.twins.tensegrity import prisms
from soft_twin.twins.tensegrity.model import ArmModel, MemberLaws
from soft_twin.twins.tensegrity.newton import StrutPlacement
from soft_twin.twins.tensegrity.structure import Structure, check, node_index

FREE = (0.0, np.inf)  # [m] stroke of a member that stops nowhere


def build_model(arm: Tensegrity, where: str) -> ArmModel:
    """The model of an arm, its numbers turned into the level frame.

    Args:
        arm: its description.
        where: the description is, for messages.

    Raises:
        DescriptionError: its struts and members make no structure that can stand.
    """
    level = euler2mat(*np.radians(arm.mounting_rpy_deg), axes="sxyz")
    structure, start = _structure(arm.structure, f"{where}: robot.structure")
    laws = _laws(arm, structure, f"{where}: robot.members")
    structure = replace(structure, active=laws.areas > 0.0, anchor_points=structure.anchor_points @ level.T)
    return ArmModel(structure, laws, level, StrutPlacement(start.bottoms @ level.T, start.directions @ level.T))


def _structure(described: StackedPrisms | Listed, where: str) -> tuple[Structure, StrutPlacement]:
    generated = isinstance(described, StackedPrisms)
    structure, start = _tower(described) if generated else _listed(described, where)
    return check(structure, where), start


def _tower(tower: StackedPrisms) -> tuple[Structure, StrutPlacement]:
    sides, lengths = tower.sides, np.array(tower.strut_lengths)
    start = StrutPlacement(*prisms.upright(lengths, sides, tower.base_radius, np.radians(tower.inclination_deg)))
    members, groups, active = prisms.connect(len(lengths), sides)
    masses = np.full(2 * len(lengths) * sides, tower.node_mass)
    struts = np.repeat(lengths, sides)
    first = np.arange(sides)
    last = len(struts) - sides + first
    return Structure(struts, members, groups, active, first, start.bottoms[:sides], last, masses), start


def _listed(listed: Listed, where: str) -> tuple[Structure, StrutPlacement]:
    """Struts and members listed one by one: struts by their ends' positions, members by their ends' names."""
    count = len(listed.struts)
    bottoms = np.array([strut.bottom for strut in listed.struts])
    axes = np.array([strut.top for strut in listed.struts]) - bottoms
    lengths = np.linalg.norm(axes, axis=1)
    ends = np.array(
        [
            [node_index(end, count, f"{where}.members[{i}]") for end in (member.start, member.end)]
            for i, member in enumerate(listed.members)
        ]
    )
    groups = tuple(member.group for member in listed.members)
    anchors = np.array(listed.anchors)
    tip = np.array(listed.tip or range(count - len(anchors), count))
    masses = np.full(2 * count, listed.node_mass)
    unknown = np.zeros(len(ends), dtype=bool)  # which are active: the groups' laws say that, later
    structure = Structure(lengths, ends, groups, unknown, anchors, bottoms[anchors], tip, masses)
    return structure, StrutPlacement(bottoms, axes / lengths[:, None])


def _laws(arm: Tensegrity, structure: Structure, where: str) -> MemberLaws:
    rows = [_row(_law_of(group, arm.members, where)) for group in structure.groups]
    stiffness, lengths, areas, stops = (np.array(column) for column in zip(*rows, strict=True))
    return MemberLaws(stiffness, lengths, areas, stops, arm.pressure)


def _row(law: Law) -> tuple[float, float, float, tuple[float, float]]:
    """Stiffness, length, area, stroke."""
    if isinstance(law, Cylinder):
        return law.stiffness, law.length, law.area, law.stroke or FREE
    return law.stiffness, law.length, 0.0, FREE


def _law_of(group: str, laws: dict[str, Law], where: str) -> Law:
    key = next((key for key in laws if group == key or group.startswith(f"{key}_")), None)
    if key is None:
        raise DescriptionError(f"{where}: no law for the group '{group}'")
    return laws[key]
