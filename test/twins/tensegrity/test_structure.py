from dataclasses import replace

import numpy as np
import pytest

from soft_twin.errors import DescriptionError
from soft_twin.twins.tensegrity import prisms
from soft_twin.twins.tensegrity.structure import check, node_index


def test_tm40_has_two_cords_and_two_cylinders_at_every_node(arm):
    structure = arm.structure
    for kind in (structure.active, ~structure.active):
        assert np.array_equal(np.bincount(structure.members[kind].ravel(), minlength=40), np.full(40, 2))


def test_tm40_connectivity_is_the_published_one():
    members, groups, active = prisms.connect(5, 4)
    pairs = {(group, tuple(ends)) for group, ends in zip(groups, members.tolist(), strict=True)}
    assert len(members) == 80 and active.sum() == 40
    assert ("base_square", (0, 1)) in pairs and ("top_square", (39, 36)) in pairs
    # Module 1 turns the other way (s = −1): its bottom 0 sits between the tops 0 and 1 of module 0.
    assert {("octagon_1", (4, 20)), ("octagon_1", (4, 21))} <= pairs
    assert ("module_0", (20, 1)) in pairs and ("module_1", (24, 7)) in pairs
    assert ("joint_0", (0, 6)) in pairs and ("joint_1", (20, 9)) in pairs and ("joint_4", (32, 39)) in pairs


@pytest.mark.parametrize(("modules", "sides"), [(2, 3), (3, 6), (7, 4)])
def test_towers_of_any_size_are_sound(arm, modules, sides):
    members, groups, active = prisms.connect(modules, sides)
    bottoms, _ = prisms.upright(np.full(modules, 0.3), sides, 0.1, 0.6)
    tower = replace(
        arm.structure,
        strut_lengths=np.full(modules * sides, 0.3),
        members=members,
        groups=groups,
        active=active,
        anchors=np.arange(sides),
        anchor_points=bottoms[:sides],
        tip=np.arange((modules - 1) * sides, modules * sides),
        node_masses=np.ones(2 * modules * sides),
    )
    assert check(tower, "tower") is tower


@pytest.mark.parametrize("step", [0.0, 0.1])
def test_anchors_on_one_line_are_refused(arm, step):
    """About which nothing holds the arm."""
    points = np.array([0.2, 0.1, 0.0]) + step * np.outer(np.arange(4), [0.6, 0.8, 0.0])
    with pytest.raises(DescriptionError, match=r"anchored struts \[0, 1, 2, 3\] lie on one line"):
        check(replace(arm.structure, anchor_points=points), "arm.yaml")


def test_a_floating_strut_is_named(arm):
    structure = arm.structure
    kept = np.all(structure.members % 20 != 19, axis=1)
    groups = tuple(np.array(structure.groups)[kept])
    lost = replace(structure, members=structure.members[kept], groups=groups, active=structure.active[kept])
    with pytest.raises(DescriptionError, match="b19, .*t19: fewer than 3 members"):
        check(lost, "tm40")


def test_an_island_of_struts_is_named(arm):
    members, groups, active = prisms.connect(2, 4)
    island = np.vstack([members % 8 + 16 * (members // 8), members % 8 + 8 + 16 * (members // 8)])
    structure = replace(
        arm.structure,
        strut_lengths=np.full(16, 0.3),
        members=island,
        groups=groups * 2,
        active=np.tile(active, 2),
        node_masses=np.ones(32),
    )
    with pytest.raises(DescriptionError, match=r"struts \[8, 9, 10, 11, 12, 13, 14, 15\] float"):
        check(structure, "two towers")


@pytest.mark.parametrize(
    ("ends", "message"),
    [((3, 23), "joins a strut to itself"), ((3, 99), "ends at no node"), ((1, 2), "b1–b2 is there 2 times")],
)
def test_a_bad_member_is_named(arm, ends, message):
    members = arm.structure.members.copy()
    members[0] = ends
    with pytest.raises(DescriptionError, match=message):
        check(replace(arm.structure, members=members), "tm40")


def test_a_cable_to_nowhere_is_named():
    assert node_index("t3", 20, "members[0].to") == 23
    with pytest.raises(DescriptionError, match=r"members\[0\].to: no node 't20': nodes are b0…b19 and t0…t19"):
        node_index("t20", 20, "members[0].to")
