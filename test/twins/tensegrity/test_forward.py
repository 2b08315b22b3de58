from dataclasses import replace

import numpy as np
import pytest
import yaml
from prism import write_prism
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.errors import DescriptionError, InputError
from soft_twin.twins.tensegrity.cases import bending_pressures
from soft_twin.twins.tensegrity.forward import Motion
from soft_twin.twins.tensegrity.newton import StrutPlacement
from soft_twin.twins.tensegrity.shape import bend_angle, tip_direction


def _node_forces(arm, shape, tip_force=(0.0, 0.0, 0.0)):
    """(40, 3) sum of members' tensions, weights and tip force at each node, from the shape alone."""
    forces = arm.model.loads(tip_force)
    for (a, c), tension in zip(arm.structure.members, shape.tensions, strict=True):
        direction = (shape.nodes[c] - shape.nodes[a]) / np.linalg.norm(shape.nodes[c] - shape.nodes[a])
        forces[a] += tension * direction
        forces[c] -= tension * direction
    return forces


@pytest.mark.parametrize("sides", [3, 4, 6])
def test_the_tops_of_a_prism_are_turned_by_a_right_angle_and_half_a_side(tmp_path, sides):
    shape = soft_twin.load_robot(write_prism(tmp_path, sides, stretch=0.004)).forward([])
    angles = np.degrees(np.arctan2(shape.nodes[:, 1], shape.nodes[:, 0]))
    assert np.allclose((angles[sides:] - angles[:sides]) % 360.0, 90.0 + 180.0 / sides, atol=1e-5)
    assert shape.faults == () and shape.confidence == 1.0


@pytest.mark.parametrize("sides", [3, 4, 5, 6])
def test_the_tip_of_a_prism_is_the_middle_of_all_its_tops(tmp_path, sides):
    """Whose ring is level and on the axis, however many there are."""
    shape = soft_twin.load_robot(write_prism(tmp_path, sides, stretch=0.004)).forward([])
    height = shape.nodes[-1, 2]
    assert shape.tip() == pytest.approx([0.0, 0.0, height], abs=1e-8)
    assert shape.length() == pytest.approx(height)
    assert tip_direction(shape) == pytest.approx([0.0, 0.0, 1.0], abs=1e-8)


def test_the_tip_is_that_of_the_struts_that_a_listed_arm_names(tmp_path):
    path = write_prism(tmp_path, 5, stretch=0.004)
    content = yaml.safe_load(path.read_text())
    content["robot"]["structure"]["tip"] = [4, 0, 1]
    path.write_text(yaml.safe_dump(content))
    shape = soft_twin.load_robot(path).forward([])
    assert shape.tip() == pytest.approx(shape.nodes[[9, 5, 6]].mean(axis=0), abs=1e-12)
    assert tip_direction(shape) == pytest.approx([0.0, 0.0, 1.0], abs=1e-8)


@pytest.mark.parametrize(
    ("tip", "message"),
    [
        ([0, 1], "robot.structure.tip: .*2"),
        ([0, 1, 1], "robot.structure.tip: a strut is there twice"),
        ([0, 1, 5], "robot.structure.tip: .*5"),
    ],
)
def test_a_tip_that_no_struts_have_is_named(tmp_path, tip, message):
    path = write_prism(tmp_path, 5, stretch=0.004)
    content = yaml.safe_load(path.read_text())
    content["robot"]["structure"]["tip"] = tip
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(DescriptionError, match=message):
        soft_twin.load_robot(path)


def test_a_shape_that_slack_cords_leave_open_has_no_confidence(tmp_path):
    shape = soft_twin.load_robot(write_prism(tmp_path, sides=3, stretch=-0.02)).forward([])
    assert shape.confidence == 0.0
    assert shape.faults == ("9 of 9 members are slack: nothing determines the shape",)


@pytest.mark.parametrize("change", np.linspace(-1e-3, 1e-3, 9))
def test_a_pull_whose_work_makes_up_for_the_springs_energy_has_an_equilibrium(arm, change):
    """Line searches see small numbers then, which are differences of large ones."""
    pressures = np.random.default_rng(3).uniform(*arm.model.laws.pressure_range, arm.model.cylinder_count)
    pull = np.array([-21.62777098, 3.58314424, 43.20490989])
    shape = arm.forward(pressures, pull * (1.0 + change))
    assert abs(shape.energy) < 0.1 and np.abs(arm.model.loads(pull) * shape.nodes).sum() > 30.0
    assert shape.residual <= 1e-6


def test_every_strut_is_in_equilibrium(arm, cases):
    case = cases["bent and pulled"]
    shape = arm.forward(case.pressures, case.tip_force)
    forces = _node_forces(arm, shape, case.tip_force)
    resultant = forces[:20] + forces[20:]
    moment = np.cross(shape.nodes[20:] - shape.nodes[:20], forces[20:])
    assert np.abs(resultant[4:]).max() < 1e-5
    assert np.abs(moment).max() < 1e-5


def test_anchors_carry_the_weight_and_the_tip_force(arm, straight_pressures):
    shape = arm.forward(straight_pressures, (1.0, 0.0, -2.0))
    carried = _node_forces(arm, shape, (1.0, 0.0, -2.0))[:20].sum(axis=0) + _node_forces(arm, shape, (1.0, 0.0, -2.0))[
        20:
    ].sum(axis=0)
    assert carried == pytest.approx([1.0, 0.0, -2.0 - 40 * 0.05 * 9.81], abs=1e-5)


def test_straight_arm_is_1160_mm_long_and_has_fourfold_symmetry(arm, straight):
    assert straight.length() == pytest.approx(1.160, abs=0.003)
    assert bend_angle(straight) < 1e-6
    turned = straight.nodes @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert np.roll(turned.reshape(2, 5, 4, 3), 1, axis=2) == pytest.approx(straight.nodes.reshape(2, 5, 4, 3), abs=1e-6)


def test_struts_keep_their_lengths(arm, cases):
    shape = arm.forward(cases["curled"].pressures)
    assert np.linalg.norm(shape.nodes[20:] - shape.nodes[:20], axis=1) == pytest.approx(arm.structure.strut_lengths)


def test_arm_bends_towards_the_pressurised_side(arm, cases):
    shape = arm.forward(cases["bend 60°"].pressures)
    assert np.degrees(bend_angle(shape)) == pytest.approx(60.0, abs=3.0)
    assert np.arctan2(*shape.tip()[1::-1]) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("rpy", [(90.0, 0.0, 0.0), (0.0, 60.0, 20.0), (180.0, 0.0, 0.0)])
def test_pressures_bend_an_arm_alike_however_its_base_is_turned(arm, rpy):
    level = Rotation.from_euler("xyz", rpy, degrees=True).as_matrix()
    structure, start = arm.model.structure, arm.model.start
    turned = replace(
        arm.model,
        structure=replace(structure, anchor_points=structure.anchor_points @ level.T),
        level=level,
        start=StrutPlacement(start.bottoms @ level.T, start.directions @ level.T),
    )
    for azimuth, turns in ((0.4, 0.0), (2.0, 0.5)):
        upright = bending_pressures(arm.model, azimuth, 0.2, turns)
        assert bending_pressures(turned, azimuth, 0.2, turns) == pytest.approx(upright, abs=1.0)


def test_pressures_bend_an_arm_alike_wherever_its_base_stands(arm):
    move, structure, start = np.array([1.0, -0.5, 0.3]), arm.model.structure, arm.model.start
    moved = replace(
        arm.model,
        structure=replace(structure, anchor_points=structure.anchor_points + move),
        start=replace(start, bottoms=start.bottoms + move),
    )
    upright = bending_pressures(arm.model, azimuth=0.4, lowest=0.2, turns=0.5)
    assert bending_pressures(moved, azimuth=0.4, lowest=0.2, turns=0.5) == pytest.approx(upright, abs=1.0)


@pytest.mark.parametrize("last", [(16, 18, 17, 19), (19, 17, 16, 18)])
def test_the_tip_points_the_same_way_in_whatever_order_its_struts_are_described(arm, cases, last):
    shape = arm.forward(cases["bend 60°"].pressures)
    order = np.array([*range(16), *last])
    other = replace(shape, nodes=shape.nodes[np.concatenate([order, 20 + order])])
    assert tip_direction(other) == pytest.approx(tip_direction(shape), abs=1e-12)


def test_small_tip_force_moves_the_tip_its_way_in_proportion(arm, straight_pressures):
    tips = [arm.forward(straight_pressures, (force, 0.0, 0.0)).tip()[0] for force in (0.01, 0.02)]
    assert tips[0] > 0.0
    assert tips[1] / tips[0] == pytest.approx(2.0, rel=1e-3)


def test_hand_pulls_the_arm_and_lets_it_swing_back(arm, straight, straight_pressures):
    motion = Motion(arm.model, straight_pressures)
    for _ in range(40):
        held = motion.step(0.05, straight_pressures, hand=(0.2, 0.0, 0.0))
    assert held.tip()[0] == pytest.approx(0.2, abs=0.01)
    for _ in range(300):
        free = motion.step(0.05, straight_pressures)
    assert free.nodes == pytest.approx(straight.nodes, abs=2e-3)


def test_released_arm_swings_through_its_rest(arm, straight_pressures):
    motion = Motion(arm.model, straight_pressures, drag=0.05)
    for _ in range(100):
        motion.step(0.02, straight_pressures, hand=(0.1, 0.0, 0.0))
    tips = [motion.step(0.02, straight_pressures).tip()[0] for _ in range(150)]
    assert min(tips) < -0.02
    assert np.all(np.abs(tips) < 0.1)


def test_at_rest_nothing_moves(arm, straight, straight_pressures):
    motion = Motion(arm.model, straight_pressures)
    assert motion.step(0.01, straight_pressures).nodes == pytest.approx(straight.nodes, abs=1e-6)


@pytest.mark.parametrize(
    ("pressures", "message"),
    [
        (np.full(39, 1e5), "expected 40 values"),
        (np.full(40, 1e7), "outside"),
        (np.full(40, np.nan), "outside"),
        (["much"] * 40, "pressures: expected 40 values"),
    ],
)
def test_bad_pressures_are_refused(arm, pressures, message):
    with pytest.raises(InputError, match=message):
        arm.forward(pressures)


def test_bad_tip_force_is_refused(arm, straight_pressures):
    with pytest.raises(InputError, match="tip_force"):
        arm.forward(straight_pressures, (np.nan, 0.0, 0.0))
    with pytest.raises(InputError, match="tip_force"):
        arm.forward(straight_pressures, "down")


def test_a_tall_arm_of_few_sides_comes_to_rest(arm, tmp_path):
    """After 545 of Newton's steps."""
    content = yaml.safe_load(arm.path.read_text(encoding="utf-8"))
    content["robot"]["structure"].update(sides=3, strut_lengths=[0.39] + 6 * [0.33])
    (tmp_path / "tall.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    tall = soft_twin.load_robot(tmp_path / "tall.yaml")
    shape = tall.forward(np.full(tall.model.cylinder_count, 600e3))
    assert shape.residual < 1e-5
    np.testing.assert_allclose(shape.tip()[:2], 0.0, atol=1e-6)
