"""Constant curvature against geometry that is measured out on the arc, rotation matrices, and real necks' logs."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import ConvergenceError, InputError
from soft_twin.twins.constant_curvature import ConstantCurvature, axis_of, pitch_roll_of

DATA = Path(os.environ.get("SOFT_TWIN_DATA", Path(__file__).resolve().parents[4] / "shared" / "data")) / "neck_uc3m"
LENGTH, RADIUS = 0.1, 0.04
RNG = np.random.default_rng(0)


def cables(*angles, radius=RADIUS):
    return radius * np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])


def neck(model, overhangs=(0.0, 0.0)):
    return ConstantCurvature([LENGTH], cables(90.0, 210.0, 330.0), cables=model, overhangs=overhangs)


def random_bends(count, segments, largest=1.2):
    angles, azimuths = RNG.uniform(0.0, largest, (count, segments)), RNG.uniform(-np.pi, np.pi, (count, segments))
    return np.stack([angles * np.cos(azimuths), angles * np.sin(azimuths)], axis=-1)


def frames_along(bend, length, count):
    """Positions and rotations along a bent segment, by adding up many short turns."""
    axis = np.array([-bend[1], bend[0], 0.0])
    halves = Rotation.from_rotvec(np.multiply.outer((np.arange(count) + 0.5) / count, axis))
    places = np.vstack([np.zeros(3), np.cumsum(halves.apply([0.0, 0.0, length / count]), axis=0)])
    return places, Rotation.from_rotvec(np.multiply.outer(np.arange(count + 1) / count, axis))


@pytest.mark.parametrize("straight", [True, False])
def test_cables_are_as_long_as_on_the_bent_body(straight):
    bend = random_bends(1, 1)[0, 0]
    places, turns = frames_along(bend, LENGTH, 20_000)
    below, above = (0.004, 0.011) if straight else (0.0, 0.0)
    model = neck("chord" if straight else "arc", (below, above))
    for k, (x, y) in enumerate(model.cable_positions):
        line = places + turns.apply([x, y, 0.0])
        if straight:
            top = places[-1] + turns[-1].apply([x, y, above])
            length = np.linalg.norm(top - [x, y, -below])
        else:
            length = np.sum(np.linalg.norm(np.diff(line, axis=0), axis=1))
        found = model.displacements_of(bend[None])[k]
        assert found == pytest.approx(LENGTH + below + above - length, abs=1e-9)


def test_chords_are_those_of_the_closed_form():
    theta, azimuth = 0.9, 0.7
    bend = theta * np.array([[np.cos(azimuth), np.sin(azimuth)]])
    angles = np.radians([90.0, 210.0, 330.0])
    lengths = 2.0 * (LENGTH / theta - RADIUS * np.cos(angles - azimuth)) * np.sin(theta / 2.0)
    np.testing.assert_allclose(neck("chord").displacements_of(bend), LENGTH - lengths, atol=1e-15)


@pytest.mark.parametrize("model", ["arc", "chord"])
@pytest.mark.parametrize("bend", [(0.0, 0.0), (1e-9, 2e-9), (0.03, -0.06), (0.0999, 0.0), (0.1001, 0.0), (0.8, -0.9)])
def test_jacobian_is_that_of_differences_also_where_the_body_is_straight(model, bend):
    body, bend, h = neck(model, (0.01, 0.005)), np.array([bend]), 1e-6
    for k in range(2):
        step = h * np.eye(2)[[k]]
        slope = (body.displacements_of(bend + step) - body.displacements_of(bend - step)) / (2.0 * h)
        np.testing.assert_allclose(body.jacobian(bend)[:, 0, k], slope, atol=1e-10)


@pytest.mark.parametrize("model", ["arc", "chord"])
def test_inverse_finds_the_bends_of_two_segments_and_what_all_cables_have_in_common(model):
    places = np.vstack([cables(90.0, 210.0, 330.0), cables(30.0, 150.0, 270.0)])
    body = ConstantCurvature([0.06, 0.05], places, [0, 0, 0, 1, 1, 1], cables=model)
    bends = random_bends(200, 2, largest=0.9)
    found, common = body.bends_of(body.displacements_of(bends) + 0.003)
    np.testing.assert_allclose(found, bends, atol=1e-9)
    np.testing.assert_allclose(common, 0.003, atol=1e-10)


def test_ends_of_two_segments_are_where_their_arcs_lead():
    bends = random_bends(1, 2)[0]
    first, turns = frames_along(bends[0], 0.06, 5_000)
    second, more = frames_along(bends[1], 0.05, 5_000)
    body = ConstantCurvature([0.06, 0.05], cables(0.0, 90.0, 45.0, 135.0), [0, 0, 1, 1])
    places, rotations = body.poses(bends)
    np.testing.assert_allclose(places[1], first[-1] + turns[-1].apply(second[-1]), atol=1e-9)
    np.testing.assert_allclose(rotations[1], (turns[-1] * more[-1]).as_matrix(), atol=1e-12)


@pytest.mark.parametrize("model", ["arc", "chord"])
def test_a_plate_has_the_pitch_and_roll_that_were_asked_for(model):
    body = neck(model)
    for pitch, roll in RNG.uniform(-0.7, 0.7, (50, 2)):
        displacements = body.displacements(pitch, roll)
        assert body.orientation(displacements) == pytest.approx((pitch, roll), abs=1e-9)
        bends, _ = body.bends_of(displacements)
        np.testing.assert_allclose(body.poses(bends)[1][0, :, 2], axis_of(pitch, roll), atol=1e-9)


def test_many_poses_are_those_of_one_after_the_other():
    body, angles = neck("chord"), RNG.uniform(-0.7, 0.7, (30, 2))
    one_by_one = [body.displacements(*each) for each in angles]
    np.testing.assert_array_equal(body.displacements(*angles.T), one_by_one)


def test_pitch_and_roll_are_those_of_rotation_matrices_whatever_the_yaw():
    for pitch, roll, yaw in RNG.uniform(-1.4, 1.4, (50, 3)):
        matrix = Rotation.from_euler("XYZ", [roll, pitch, yaw]).as_matrix()
        np.testing.assert_allclose(axis_of(pitch, roll), matrix[:, 2], atol=1e-14)
        assert pitch_roll_of(3.0 * matrix[:, 2]) == pytest.approx((pitch, roll), abs=1e-12)


def test_equation_4_is_the_third_row_and_opposite_where_the_plate_has_not_turned_about_its_axis():
    for pitch, roll, yaw in RNG.uniform(-1.4, 1.4, (50, 3)):
        row = np.array(
            [
                -np.cos(roll) * np.sin(pitch) * np.cos(yaw) + np.sin(roll) * np.sin(yaw),
                np.cos(roll) * np.sin(pitch) * np.sin(yaw) + np.sin(roll) * np.cos(yaw),
                np.cos(roll) * np.cos(pitch),
            ]
        )
        np.testing.assert_allclose(row, Rotation.from_euler("XYZ", [roll, pitch, yaw]).as_matrix()[2], atol=1e-14)
    for bends in random_bends(20, 1):
        pure_bend = neck("arc").poses(bends)[1][0]
        np.testing.assert_allclose(pure_bend[2, :2], -pure_bend[:2, 2], atol=1e-14)


@pytest.mark.parametrize(
    ("pitch", "roll", "why"),
    [
        (np.nan, 0.0, "expected a pitch within"),
        (0.0, np.inf, "expected a pitch within"),
        (1.6, 0.0, "pitch 1.6 rad, roll 0 rad: expected a pitch within"),
        (0.0, 3.2, "are they in degrees"),
        (np.array([0.1, 3.0]), 0.0, "pitch 3 rad, roll 0 rad: .*are they in degrees"),
        (0.0, 2.5, "expected a tilt below"),
        (["far", "near"], [0.0, 0.0], "pitch: expected numbers"),
    ],
)
def test_what_no_body_can_do_is_refused(pitch, roll, why):
    with pytest.raises(InputError, match=why):
        ConstantCurvature([LENGTH], cables(90.0, 210.0, 330.0, radius=0.045)).displacements(pitch, roll)


def test_cables_that_do_not_tell_the_bend_are_refused():
    with pytest.raises(InputError, match="do not tell the bends of 1 segments"):
        ConstantCurvature([LENGTH], cables(90.0, 270.0))
    with pytest.raises(InputError, match="do not tell the bends of 2 segments"):
        ConstantCurvature([LENGTH, LENGTH], cables(0.0, 120.0, 240.0, 60.0), [1, 1, 1, 1])


def test_two_cables_have_nothing_in_common():
    body = ConstantCurvature([LENGTH], cables(0.0, 90.0))
    bends, common = body.bends_of([0.01, -0.02])
    np.testing.assert_allclose(body.displacements_of(bends), [0.01, -0.02], atol=1e-15)
    assert common == 0.0


NECKS = {
    "spring": ("openloop/spring_test_0gr.csv", "openloop/spring_test_1000gr.csv"),
    "soft25mm": ("three_necks/test_soft25mm_0gr.csv", "three_necks/test_soft25mm_1000gr.csv"),
    "soft35mm": ("three_necks/test_soft35mm_0gr.csv", "three_necks/test_soft35mm_1000gr.csv"),
}
LOGGED_LENGTH, WINCH = 0.1075, 0.01  # [m]


def logged(path):
    """Motor targets (n, 3) [m] and bends (n, 1, 2) of a log."""
    table = np.genfromtxt(DATA / path, delimiter=",", names=True)
    names = [name for name in table.dtype.names if "target" in name and "motor" in name]
    angle, azimuth = np.radians(table["inclination_target"]), np.radians(table["orientation_target"])
    bends = np.stack([angle * np.cos(azimuth), angle * np.sin(azimuth)], axis=-1)[:, None]
    return WINCH * np.radians(np.column_stack([table[name] for name in names])), bends


def differences(targets):
    return targets - targets.mean(axis=1, keepdims=True)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no logs at {DATA}: set SOFT_TWIN_DATA")
@pytest.mark.parametrize("name", NECKS)
def test_motor_targets_of_real_necks_differ_between_cables_as_chords_do(name):
    """The cables' distance from the axis, in which differences are linear, is found in one log, judged on another."""
    (targets, bends), (held_back, other_bends) = map(logged, NECKS[name])

    def ours(radius, bends):
        places = cables(90.0, 210.0, 330.0, radius=radius)
        return differences(ConstantCurvature([LOGGED_LENGTH], places, cables="chord").displacements_of(bends))

    unit = ours(1e-3, bends)
    radius = 1e-3 * np.sum(unit * differences(targets)) / np.sum(unit**2)
    assert 0.0495 < radius < 0.0525
    error = np.degrees((differences(held_back) - ours(radius, other_bends)) / WINCH)
    assert np.max(np.abs(error)) < 0.04


@pytest.mark.parametrize("model", ["arc", "chord"])
def test_one_angle_goes_with_many_of_the_other(model):
    body, rolls = neck(model), np.array([0.1, -0.2, 0.4])
    rows = np.array([body.displacements(0.3, roll) for roll in rolls])
    for pitch in (0.3, np.array(0.3), np.array([0.3])):
        np.testing.assert_array_equal(body.displacements(pitch, rolls), rows)
    np.testing.assert_array_equal(body.displacements(rolls, 0.3), [body.displacements(pitch, 0.3) for pitch in rolls])
    np.testing.assert_array_equal(body.displacements(np.array(0.3), np.array(0.1)), rows[0])
    with pytest.raises(InputError, match=r"pitch \(2,\) and roll \(3,\): expected numbers or arrays of one shape"):
        body.displacements(np.zeros(2), rolls)


@pytest.mark.parametrize("model", ["arc", "chord"])
def test_jacobians_of_many_bends_are_those_of_one_after_the_other(model):
    places, ends = cables(90.0, 210.0, 330.0, 30.0, 150.0, 270.0), [0, 0, 0, 1, 1, 1]
    body = ConstantCurvature([0.1, 0.07], places, ends, cables=model)
    bends = random_bends(6, 2).reshape(2, 3, 2, 2)
    found = body.jacobian(bends)
    assert found.shape == (2, 3, 6, 2, 2)
    for i in np.ndindex(2, 3):
        np.testing.assert_array_equal(found[i], body.jacobian(bends[i]))


def test_two_cables_all_but_opposite_each_other_are_explained_wherever_the_body_is():
    """Each pose's displacements are those of another bend, too, perhaps: what is found has them."""
    body = ConstantCurvature([0.3], cables(175.0, 353.0, radius=0.05), cables="chord")
    angles = np.linspace(-0.9, 0.9, 13)
    told = body.displacements(*(each.ravel() for each in np.meshgrid(angles, angles)))
    bends, common = body.bends_of(told)
    np.testing.assert_allclose(body.displacements_of(bends), told, atol=1e-12)
    assert not common.any()


@pytest.mark.parametrize(
    ("lengths", "count", "radius", "overhangs", "angle"),
    [
        ([0.1], 4, 0.025, (0.01, 0.01), 179.0),
        ([0.1], 4, 0.04, (0.0, 0.0), 170.0),
        ([0.1], 6, 0.04, (0.015, 0.0), 179.0),
        ([0.1, 0.07], 8, 0.06, (0.0, 0.0), 100.0),
        ([0.08, 0.1, 0.06], 9, 0.04, (0.0, 0.0), 86.0),
    ],
)
def test_straight_cables_of_much_bent_bodies_are_explained_by_their_bends(lengths, count, radius, overhangs, angle):
    """From a straight body alone many come to a minimum that misses the displacements."""
    rng, segments = np.random.default_rng(5), len(lengths)
    places = cables(*(np.arange(count) * 360.0 / count + rng.uniform(-8.0, 8.0, count)), radius=radius)
    ends = [k % segments for k in range(count)]
    body = ConstantCurvature(lengths, places, ends, cables="chord", overhangs=overhangs)
    azimuths = rng.uniform(-np.pi, np.pi, (40, segments))
    bends = np.radians(angle) * np.stack([np.cos(azimuths), np.sin(azimuths)], axis=-1)
    found, common = body.bends_of(body.displacements_of(bends) + 0.001)
    np.testing.assert_allclose(found, bends, atol=1e-5)
    np.testing.assert_allclose(common, 0.001, atol=1e-8)


def test_measured_lengths_of_more_cables_than_it_takes_are_explained_in_the_least_squares_sense():
    """Whose gradient is zero; the noise moves the bend by no more than itself over the cables' distance."""
    body, rng, noise = ConstantCurvature([LENGTH], cables(*range(0, 360, 60)), cables="chord"), RNG, 1e-4
    bends = random_bends(30, 1)
    told = body.displacements_of(bends) + rng.normal(0.0, noise, (30, 6))
    found, common = body.bends_of(told)
    np.testing.assert_allclose(found, bends, atol=5.0 * noise / RADIUS)
    missing = told - body.displacements_of(found) - common[:, None]
    assert 0.3 * noise < missing.std() < noise
    np.testing.assert_allclose(np.einsum("nc,ncsk->nsk", missing, body.jacobian(found)), 0.0, atol=1e-10)


@pytest.mark.parametrize(("count", "told"), [(2, [0.3, 0.3]), (4, [0.1, -0.1, 0.1, -0.1])])
def test_bends_that_miss_the_displacements_are_not_told_for_them(count, told):
    """Cables shorter than nothing, and opposite ones wound in as no arc has them."""
    body = ConstantCurvature([LENGTH], cables(*90.0 * np.arange(count)), cables="chord")
    with pytest.raises(ConvergenceError, match=r"those that were found miss them by \d+\.?\d* mm"):
        body.bends_of(told)


@pytest.mark.parametrize(("ends", "told"), [(None, [2.3, 0.0, -2.3]), ([0, 0, 1, 1, 1], [0.0, 0.0, 0.11, -0.11, 0.0])])
def test_displacements_that_would_turn_an_arc_inside_out_are_told(ends, told):
    """As those in millimetres would, or those of one segment that two of 100 mm are told."""
    lengths = [LENGTH] if ends is None else [LENGTH, LENGTH]
    body = ConstantCurvature(lengths, cables(*([0.0, 90.0, 180.0] if ends is None else [0, 90, 0, 180, 90])), ends)
    with pytest.raises(ConvergenceError, match="no length left on the inside"):
        body.bends_of(told)
    assert np.isfinite(body.bends_of(0.8 * np.array(told) * (0.05 if ends is None else 1.0))[0]).all()


def test_a_straight_cable_of_no_length_is_one_and_makes_no_traceback():
    """At θ = L/r the ends of the inner cable meet; 0.2 m more than there is of the body's 0.1 m has no bend."""
    body = ConstantCurvature([0.1], cables(0.0, 90.0, 180.0, radius=0.05), cables="chord")
    bend = np.array([[2.0, 0.0]])
    np.testing.assert_allclose(body.displacements_of(bend), [0.1, 0.1 - 0.1 * np.sin(1.0), 0.1 - 0.2 * np.sin(1.0)])
    assert np.isfinite(body.jacobian(bend)).all()
    for told in ([0.2, 0.0, 0.0], [5.0, -2.0, -3.0]):
        with pytest.raises(ConvergenceError, match="no constant curvature has the displacements"):
            body.bends_of(told)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"segment_lengths": ["long"]}, "segment_lengths: expected positive lengths"),
        ({"cable_positions": [(0.01, 0.0), (0.0,)]}, r"cable_positions: expected \(x, y\) of each cable"),
        ({"cable_ends": ["tip", "tip", "tip"]}, "cable_ends: expected 3 segments from 0 to 0"),
        ({"cable_ends": [0, 0, 1]}, "cable_ends: expected 3 segments from 0 to 0"),
        ({"cable_ends": [0, 0, 0.5]}, "cable_ends: expected 3 segments from 0 to 0"),
        ({"overhangs": "no"}, "overhangs: expected two lengths"),
    ],
)
def test_what_is_no_body_is_refused(changed, why):
    right = {"segment_lengths": [LENGTH], "cable_positions": cables(90.0, 210.0, 330.0), "cable_ends": None}
    with pytest.raises(InputError, match=why):
        ConstantCurvature(**(right | changed))


def test_segments_may_be_counted_by_any_kind_of_whole_number():
    places = cables(0.0, 90.0, 180.0)
    body = ConstantCurvature([LENGTH], places, np.zeros(3, dtype=np.uint8))
    np.testing.assert_array_equal(body.cable_ends, [0, 0, 0])


@pytest.mark.parametrize("told", [[9e9, -9e9], [1e300, 0.0]])
def test_displacements_that_no_bend_has_are_told(told):
    body = ConstantCurvature([0.3], cables(175.0, 353.0, radius=0.05), cables="chord")
    with pytest.raises(ConvergenceError, match="no constant curvature has the displacements"):
        body.orientation(told)


def test_a_body_stays_as_it_was_made():
    lengths, places = np.array([0.1]), np.array([[0.02, 0.0], [-0.01, 0.017], [-0.01, -0.017]])
    body = ConstantCurvature(lengths, places, cables="chord")
    before = body.displacements(0.3, 0.1)
    lengths *= 2.0
    places *= 2.0
    np.testing.assert_array_equal(body.displacements(0.3, 0.1), before)


@pytest.mark.parametrize("model", ["arc", "chord"])
def test_no_bends_have_no_displacements(model):
    body = neck(model)
    for shape in ((0,), (3, 0)):
        assert body.displacements_of(np.zeros((*shape, 1, 2))).shape == (*shape, 3)
        assert body.jacobian(np.zeros((*shape, 1, 2))).shape == (*shape, 3, 1, 2)
        assert body.bends_of(np.zeros((*shape, 3)))[0].shape == (*shape, 1, 2)
        assert body.poses(np.zeros((*shape, 1, 2)))[0].shape == (*shape, 1, 3)
