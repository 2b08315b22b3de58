"""Links of robots: rigid, right-handed, on the tips and plates of their twins, however these deform."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.robots.links import BASE, TIP
from soft_twin.robots.skeleton import SECTIONS, build_skeleton
from soft_twin.twins.rigid_fits import RigidFits

SIDEWAYS = np.array([0.0, -9.81, 0.0])
TURN, SHIFT = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix(), np.array([0.3, -0.2, 0.5])


@pytest.fixture(scope="module")
def bodies():
    """Twins of bodies, bent, with their skeletons, and where their nodes are at rest."""
    made = {}
    for name in ("slender", "finger", "membrane"):  # whose tip is one node
        robot = soft_twin.load_robot(name)
        twin = robot.build_twin()
        twin.equilibrium(SIDEWAYS)
        made[name] = twin, build_skeleton(robot, twin.model)
    return made


@pytest.fixture(scope="module")
def tm40():
    return soft_twin.load_robot("tm40")


def in_base(skeleton, points):
    """Places and rotations of the links in base_link by name, out of those in their parents' frames."""
    poses = {BASE: (np.zeros(3), np.eye(3))}
    for link, place, turn in zip(skeleton.moving, *skeleton.transforms(points), strict=True):
        origin, axes = poses[link.parent]
        poses[link.name] = origin + axes @ place, axes @ turn
    return poses


@pytest.mark.parametrize("name", ["slender", "finger", "membrane"])
def test_what_moves_rigidly_is_found_exactly(bodies, name):
    twin, skeleton = bodies[name]
    rest = twin.body.mesh.nodes
    before, after = in_base(skeleton, rest), in_base(skeleton, rest @ TURN.T + SHIFT)
    for name in before.keys() - {BASE}:
        np.testing.assert_allclose(before[name][1], np.eye(3), atol=1e-12)
        np.testing.assert_allclose(after[name][0], TURN @ before[name][0] + SHIFT, atol=1e-12)
        np.testing.assert_allclose(after[name][1], TURN, atol=1e-12)


@pytest.mark.parametrize("name", ["slender", "finger"])
def test_the_tip_is_the_twins_and_sections_bend_with_the_body(bodies, name):
    twin, skeleton = bodies[name]
    poses = in_base(skeleton, twin.points)
    np.testing.assert_allclose(poses[TIP][0], twin.tip, atol=1e-12)
    angles = [np.arccos(poses[link.name][1][2, 2]) for link in skeleton.moving[:SECTIONS]]
    assert (np.diff([0.0, *angles]) > 0.0).all()  # each more than the one below it, in the body's own weight
    np.testing.assert_allclose(poses[TIP][1][:, 2], twin.section_normal(twin.length), atol=1e-2)


def test_a_plate_is_turned_as_its_twin_says_and_carries_its_imu(bodies):
    twin, skeleton = bodies["finger"]
    place, turn = in_base(skeleton, twin.points)["nail_plate"]
    nail = twin.frames["tip"]  # the mean of the nodes that the plate has
    np.testing.assert_allclose(place, nail.position(twin), atol=1e-12)
    np.testing.assert_allclose(turn, nail.rotation(twin), atol=1e-9)
    assert {(link.name, link.parent) for link in skeleton.fixed} == {("imu_link", BASE), ("nail_imu", "nail_plate")}


@pytest.mark.parametrize("flat", [1.0, 0.0, -1.0])
def test_rotations_are_right_handed_whatever_the_points_are(flat):
    random = np.random.default_rng(0)
    rest = random.standard_normal((12, 3))
    turns = RigidFits(rest, [np.ones(12), np.arange(12.0)]).transforms(
        (rest + 0.5 * random.standard_normal((12, 3))) * [1.0, 1.0, flat]
    )[1]
    np.testing.assert_allclose(turns @ turns.transpose(0, 2, 1), np.tile(np.eye(3), (2, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(turns), 1.0, atol=1e-12)


def test_struts_lie_along_their_frames_and_the_tip_is_the_shapes(tm40):
    shape = tm40.forward(np.full(tm40.model.cylinder_count, 500e3))
    poses = in_base(build_skeleton(tm40), shape.nodes)
    np.testing.assert_allclose(poses[TIP][0], shape.tip(), atol=1e-12)
    for i, length in enumerate(tm40.structure.strut_lengths):
        place, turn = poses[f"strut_{i}"]
        np.testing.assert_allclose(place + turn @ [0.0, 0.0, length], shape.nodes[tm40.structure.strut_count + i])
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)


def test_a_strut_may_hang_straight_down(tm40):
    skeleton = build_skeleton(tm40)
    nodes = np.zeros((2 * tm40.structure.strut_count, 3))
    nodes[: tm40.structure.strut_count, 2] = 1.0
    turns = skeleton.in_base(nodes)[1][:-1]
    np.testing.assert_allclose(np.linalg.det(turns), 1.0)
    np.testing.assert_allclose(turns[:, :, 2], np.tile([0.0, 0.0, -1.0], (len(turns), 1)), atol=1e-12)


def test_slices_are_round_where_the_body_is_and_lie_on_its_nodes(bodies):
    """The slender robot is a tube of 9 mm, the finger is 20 mm by 18 mm, the membrane a square of 320 mm."""
    (slender, finger, membrane) = (bodies[name][1].moving for name in bodies)
    for link in slender[: SECTIONS - 1]:
        assert link.solid.round and link.solid.size[0] == pytest.approx(0.009, abs=1e-9)
    for links, sizes in ((finger, (0.020, 0.018)), (membrane, (0.320, 0.320))):
        assert not links[0].solid.round and links[0].solid.size[:2] == pytest.approx(sizes, abs=1e-9)
        np.testing.assert_allclose(links[0].solid.centre, 0.0, atol=1e-9)


def test_struts_are_as_long_as_they_are(tm40):
    for link, length in zip(build_skeleton(tm40).moving, tm40.structure.strut_lengths, strict=False):
        low = link.solid.centre[2] - link.solid.size[2] / 2.0
        assert (low, low + link.solid.size[2]) == pytest.approx((0.0, length), abs=1e-12)
