"""The neck's finite element model as a table: what it says beside what it was made of."""

import numpy as np
import pytest

import soft_twin
from soft_twin.errors import InputError
from soft_twin.inverse.plate_table import PlateTable

LARGEST = 0.5  # [rad]
POSES = np.random.default_rng(3).uniform(-0.33, 0.33, (6, 2))


@pytest.fixture(scope="module")
def fem():
    return soft_twin.load_robot("neck").build_twin("fem")


@pytest.fixture(scope="module")
def table(fem):
    return PlateTable(soft_twin.load_robot("neck").build_twin("pcc_chord"), fem, LARGEST, rings=3, rays=12)


def test_a_coarse_table_is_within_a_tenth_of_a_degree(table, fem):
    for pose in POSES:
        np.testing.assert_allclose(fem.orientation(table.displacements(*pose)), pose, atol=np.radians(0.1))


def test_it_adds_to_straight_cables_what_constant_curvature_lacks(table, fem):
    for pose in POSES[:3]:
        wanted = fem.displacements(*pose)
        missed = np.abs(table.chord.displacements(*pose) - wanted).max()
        assert np.abs(table.displacements(*pose) - wanted).max() < 0.1 * missed


def test_away_from_the_load_that_it_was_made_under_it_says_so(table, fem):
    upright, lying = np.array([0.0, 0.0, -9.81]), np.array([0.0, -9.81, 0.0])
    for gravity, payload in ((upright, 0.0), (upright, 0.05)):
        table.bear(gravity, payload)
        assert table.caveat == ""
    table.bear(lying, 1.0)
    assert "a gravity 90° from this one and 1.00 kg less on the plate" in table.caveat
    pose = np.radians([15.0, 12.0])
    fem.bear(lying, 1.0)
    off = np.degrees(np.subtract(fem.orientation(table.displacements(*pose)), pose))
    fem.bear(upright, 0.0)
    assert np.hypot(*off) > 0.2, "as the caveat warns of"


@pytest.mark.parametrize(
    ("gravity", "payload"),
    [([0.0, np.nan, -9.81], 0.0), ("down", 0.0), ([0.0, 0.0, -9.81], np.nan), ([0, 0, -9.8], "a")],
)
def test_a_load_that_is_none_is_refused(table, gravity, payload):
    caveat = table.caveat
    with pytest.raises(InputError, match="gravity|payload"):
        table.bear(gravity, payload)
    assert table.caveat == caveat


def test_the_way_back_ends_where_it_began(table):
    for pose in POSES:
        np.testing.assert_allclose(table.orientation(table.displacements(*pose)), pose, atol=1e-6)
        np.testing.assert_allclose(table.orientation(table.displacements(*pose) + 1e-3), pose, atol=0.02)


def test_it_is_whole_across_the_ray_where_it_begins_and_ends(table):
    first = np.arctan2(*table.chord.cable_positions[0, ::-1])
    sides = [first + side for side in (-1e-9, 1e-9)]
    before, after = (table.displacements(0.3 * np.cos(each), -0.3 * np.sin(each)) for each in sides)
    np.testing.assert_allclose(before, after, atol=1e-9)


@pytest.mark.parametrize("pose", [(0.51, 0.0), (0.0, -0.6), (np.nan, 0.0)])
def test_beyond_the_table_is_refused(table, pose):
    with pytest.raises(InputError):
        table.displacements(*pose)


def test_cables_that_tilt_beyond_the_table_are_refused(table):
    with pytest.raises(InputError, match="beyond the table"):
        table.orientation(table.chord.displacements(0.6, 0.0))


@pytest.mark.parametrize("pose", [("a", 0.0), (None, 0.0), ([0.1, 0.2], [0.1, 0.2]), ([], [])])
def test_what_is_no_pitch_and_roll_is_refused(table, pose):
    with pytest.raises(InputError, match="pitch .*, roll .*: "):
        table.displacements(*pose)


@pytest.mark.parametrize("wound", ["abc", None, [0.001, 0.0], [[0.001, 0.0, 0.0]], [np.nan, 0.0, 0.0]])
def test_what_are_no_displacements_is_refused(table, wound):
    with pytest.raises(InputError, match="displacements: "):
        table.orientation(wound)
