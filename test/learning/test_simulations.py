"""Simulated shapes: which actuations, stored and resumed, by volume where pressure has no shape."""

from itertools import combinations

import numpy as np
import pytest
import yaml
from small_membrane import content, two_rooms

import soft_twin
from soft_twin.errors import ConvergenceError, DescriptionError, InputError, UsageError
from soft_twin.learning import simulations
from soft_twin.learning.flattening import boundary_loops
from soft_twin.learning.identity import description_hash
from soft_twin.learning.samples import Inflation, fraction, inflation_shares
from soft_twin.learning.simulations import (
    gathered,
    learnable,
    simulate_all,
    surface_of,
)

DOWN = np.array([0.0, 0.0, -9.81])


def test_corners_come_first_and_halton_between_them():
    shares = inflation_shares(3, 20)
    assert {tuple(row) for row in shares[:8]} == {(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)}
    inner = shares[8:]
    assert ((inner > 0.0) & (inner < 1.0)).all()
    np.testing.assert_allclose(inner[0], [1 / 2, 1 / 3, 1 / 5])  # the sequence's second: van der Corput's in 2, 3, 5
    np.testing.assert_allclose(inner[1], [1 / 4, 2 / 3, 2 / 5])
    with pytest.raises(
        InputError, match=r"3 simulations are too few for 3 pressures, of 2\^3 corners: expected 8 or more"
    ):
        inflation_shares(3, 3)
    assert len(inflation_shares(9, 32)) == 32
    with pytest.raises(InputError, match="31 simulations are too few for 9 pressures, .*: expected 32 or more"):
        inflation_shares(9, 31)
    with pytest.raises(InputError, match="1…16"):
        inflation_shares(20, 10)


def test_fewer_samples_have_fewer_corners_that_are_even_in_every_pair_of_pressures():
    shares = inflation_shares(9, 300)
    corners = shares[(shares % 1.0 == 0.0).all(axis=1)]
    assert len(corners) == 128 and len(np.unique(corners, axis=0)) == 128
    np.testing.assert_array_equal(shares[:128], corners)
    signs = 2.0 * corners - 1.0
    np.testing.assert_array_equal(signs.T @ signs, 128.0 * np.eye(9))
    of_three = [signs[:, list(chosen)].prod(axis=1).sum() for chosen in combinations(range(9), 3)]
    assert not np.any(of_three)
    assert len(fraction(9, 0)) == 512


def test_shares_are_of_volume():
    pressures = np.linspace(0.0, 2.0, 41)
    inflation = Inflation(np.tile(pressures[:, None], 2), np.column_stack([pressures**2, 3.0 * pressures]))
    np.testing.assert_allclose(inflation.pressures_of(np.array([[0.25, 0.25]])), [[1.0, 0.5]], atol=1e-12)
    np.testing.assert_allclose(inflation.volumes_of(np.array([[0.25, 0.25]])), [[1.0, 1.5]], atol=1e-12)
    np.testing.assert_array_equal(inflation.limits, [[0.0, 2.0], [0.0, 2.0]])
    unlike = Inflation(np.column_stack([pressures, 5.0 * pressures]), np.column_stack([pressures, pressures]))
    np.testing.assert_allclose(unlike.pressures_of(np.array([[0.25, 0.25]])), [[0.5, 2.5]], atol=1e-12)
    with pytest.raises(InputError, match="the volumes of chamber 2 do not rise"):
        Inflation(unlike.pressures, np.column_stack([pressures, pressures[::-1]]))
    with pytest.raises(InputError, match="as many pressures as volumes"):
        Inflation(pressures, unlike.volumes)


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ([1.0, 2.0, 3.0], r"expected 2 in each row \(m, 2\), found an array of shape \(3,\)"),
        ("x", r"expected 2 in each row \(m, 2\), found 'x'"),
        (0.5, r"expected 2 in each row \(m, 2\), found an array of shape \(\)"),
        ([2.0, -1.0], "2 is outside 0…1"),
        ([[0.5, 0.5], [0.5, np.nan]], "nan is outside 0…1"),
    ],
)
def test_shares_that_are_none_are_told(shares, told):
    pressures = np.linspace([0.0, 0.0], [2.0, 10.0], 5)
    inflation = Inflation(pressures, pressures)
    np.testing.assert_allclose(inflation.pressures_of([0.5, 1.0 + 1e-7]), [1.0, 10.0])
    np.testing.assert_allclose(inflation.shares_of([3.0, 5.0]), [1.0, 0.5])
    with pytest.raises(InputError, match=f"^shares of inflation: {told}"):
        inflation.pressures_of(shares)
    with pytest.raises(InputError, match=r"^pressures: expected 2 in each row"):
        inflation.shares_of([1.0, 2.0, 3.0])


def test_a_twins_shapes_are_stored_and_found_again(tmp_path, monkeypatch):
    robot = two_rooms(tmp_path)
    lines = []
    first = simulate_all(robot, "tip", 6, store=tmp_path / "store", say=lines.append)
    assert first.points.shape[0] == 6 and not first.failed and not first.by_volume.any()
    np.testing.assert_allclose(first.pressures[:4], [[0, 0], [3000, 0], [0, 3000], [3000, 3000]], atol=1e-9)
    assert len(lines) == 6 and "6 of 6" in lines[-1]
    mirrored = first.points[1, :, 2].max(), first.points[2, :, 2].max()
    assert mirrored[0] == pytest.approx(mirrored[1], rel=1e-6) and mirrored[0] > 0.02
    for path in sorted((tmp_path / "store").glob("*.npz"))[:2]:
        path.unlink()  # as if it had been killed before these two
    known = []
    monkeypatch.setattr(
        simulations, "_twin_of", lambda *names, real=simulations._twin_of: known.append(1) or real(*names)
    )
    second = simulate_all(robot, "tip", 6, store=tmp_path / "store")
    np.testing.assert_array_equal(first.points, second.points)
    assert len(known) <= 2
    assert description_hash(robot) != description_hash(two_rooms(tmp_path, highest=2500.0))


def test_simulations_that_fail_are_told_by_number_and_left_out():
    good = {"pressures": np.ones(2), "points": np.zeros((3, 3)), "by_volume": np.array(False), "failure": np.array("")}
    good |= {"seconds": np.array(0.5)}
    bad = good | {"failure": np.array("no minimum"), "pressures": np.array([3000.0, 0.0])}
    found = gathered([good] * 60 + [bad])
    assert found.failed == {60: "no minimum"} and len(found.points) == 60 and found.seconds == 0.5
    told = r"2 of 10 simulations failed, the first is 3 \(pressures 3000, 0 Pa\): no minimum"
    with pytest.raises(ConvergenceError, match=told):
        gathered([good] * 3 + [bad] * 2 + [good] * 5)
    ballooning = bad | {"failure": np.array(simulations.BALLOONS)}
    assert len(gathered([good] * 8 + [ballooning] * 2).failed) == 2
    with pytest.raises(ConvergenceError, match="4 of 10 simulations failed, .*it balloons"):
        gathered([good] * 6 + [ballooning] * 4)


def test_a_robot_without_a_part_learning_is_told():
    with pytest.raises(UsageError, match="nothing of robot 'finger' is learned"):
        learnable("finger")


def test_learning_is_of_chambers(tmp_path):
    wrong = content()
    wrong["robot"] = yaml.safe_load(soft_twin.load_robot("slender").path.read_text(encoding="utf-8"))["robot"]
    path = tmp_path / "slender.yaml"
    path.write_text(yaml.safe_dump(wrong), encoding="utf-8")
    with pytest.raises(DescriptionError, match="learning: is of a robot of kind fem that chambers move"):
        soft_twin.load_robot(path)


def test_the_membrane_is_as_large_and_thin_as_it_should_be():
    robot, learning = learnable("membrane")
    twin = robot.build_twin()
    surface = surface_of(twin, learning.surface)
    np.testing.assert_allclose(np.ptp(surface.points, axis=0), [0.320, 0.320, 0.0], atol=1e-12)
    heights = np.unique(np.round(twin.body.mesh.nodes[:, 2], 6))
    np.testing.assert_allclose(heights[[0, -3, -1]], [0.0, 0.010, 0.012])
    assert len(robot.chamber_names) == 9
    sides = np.ptp(twin.body.mesh.nodes[np.unique(twin.body.mesh.surface("cell_22"))], axis=0)
    np.testing.assert_allclose(sides, [0.096, 0.096, 0.010], atol=1e-9)


def test_the_manipulator_is_a_tube_whose_segments_bend_by_more_than_a_right_angles_two_thirds():
    robot, learning = learnable("manipulator")
    twin = robot.build_twin()
    surface = surface_of(twin, learning.surface, learning.parts)
    np.testing.assert_allclose(np.ptp(surface.points, axis=0)[2], 0.260, atol=1e-12)
    np.testing.assert_allclose(np.hypot(*surface.points[:, :2].T), 0.0225, atol=1e-4)
    assert len(boundary_loops(surface.triangles)) == 2
    assert robot.chamber_names == [f"{part}_{i}" for part in ("lower", "upper") for i in (1, 2, 3)]
    for chamber, (low, high) in (("lower_1", (0.0, 0.111)), ("upper_1", (0.111, 0.260))):
        full = [80e3 * (name == chamber) for name in robot.chamber_names]
        twin.equilibrium(DOWN, efforts=full)
        ends = [twin.section_normal(z) for z in (low, high)]
        assert 60.0 <= np.degrees(np.arccos(ends[0] @ ends[1])) <= 90.0


def test_the_mannequin_is_a_layered_front_whose_layers_do_not_meet():
    robot, learning = learnable("mannequin")
    twin = robot.build_twin()
    mesh, surface = twin.body.mesh, surface_of(twin, learning.surface)
    np.testing.assert_allclose(np.ptp(surface.points, axis=0)[:2], [0.200, 0.315], atol=1e-12)
    assert 0.035 <= np.ptp(surface.points[:, 2]) <= 0.060 and len(robot.chamber_names) == 9
    highest = robot.description.chambers[0].pressure[1]
    opposite = {name: floors_and_roofs(mesh, mesh.surface(name)) for name in robot.chamber_names}
    for full in ("belly", "upper_belly", "flanks", "breasts"):
        twin.equilibrium(DOWN, efforts=[highest * (name == full) for name in robot.chamber_names])
        lift = np.linalg.norm(surface.weights @ twin.points - surface.points, axis=1)
        assert 0.005 <= lift.max() <= 0.040
        for floor, roof in opposite.values():
            assert (twin.points[roof, 2] > twin.points[floor, 2]).all()


def floors_and_roofs(mesh, faces):
    """Of each place of a chamber, the lowest node and the highest."""
    nodes = np.unique(faces)
    places = np.unique(np.round(mesh.nodes[nodes, :2], 6), axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((mesh.nodes[nodes, 2], places))
    first = np.flatnonzero(np.diff(places[order], prepend=-1))
    last = np.append(first[1:], len(order)) - 1
    return nodes[order[first]], nodes[order[last]]


def test_the_bellows_manipulator_is_compressed_as_far_as_the_papers_and_bends():
    robot, learning = learnable("bellows")
    twin = robot.build_twin()
    surface = surface_of(twin, learning.surface, learning.parts)
    assert len(boundary_loops(surface.triangles)) == 2
    tip, (low, high) = np.unique(twin.body.mesh.surface("tip")), robot.description.chambers[0].pressure
    assert twin.body.mesh.nodes[tip, 2] == pytest.approx(0.920) and low < 0.0 < high
    twin.equilibrium(DOWN, efforts=np.full(9, low))
    np.testing.assert_allclose(twin.points[tip].mean(axis=0), [0.0, 0.0, 0.650], atol=0.01)
    twin.equilibrium(DOWN, efforts=np.full(9, high))
    assert twin.points[tip, 2].mean() > 0.950
    twin.equilibrium(DOWN, efforts=[low, high, high, *np.zeros(6)])
    assert np.degrees(np.arccos(twin.section_normal(0.9)[2])) > 45.0 and twin.points[tip, 0].mean() > 0.3


def test_a_surface_in_parts_is_stored_beside_the_one_of_nodes(tmp_path):
    robot = two_rooms(tmp_path)
    plain = simulate_all(robot, "tip", 4, store=tmp_path / "store")
    finer = simulate_all(robot, "tip", 4, store=tmp_path / "store", parts=3)
    surface = surface_of(robot.build_twin(), "tip", 3)
    assert finer.points.shape[1:] == surface.points.shape and plain.points.shape[1] < finer.points.shape[1]
    highest = plain.points[3, :, 2].max()
    assert finer.points[3, :, 2].max() == pytest.approx(highest, rel=2e-2)
