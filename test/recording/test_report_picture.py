from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from soft_twin.recording import report_picture
from soft_twin.recording.evaluation import Curve, Evaluation, HeldAttitude, Interval, Stand

NOTHING = Curve(np.empty(0), np.empty(0))


def level_base():
    """base_link → world of a base whose axis points along world x, its y axis up."""
    return np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@pytest.fixture
def evaluation():
    whole = Interval("without", 0.0, 10.0)
    body = np.array([[0, 0, 0], [0, -0.01, 0.05], [0, -0.03, 0.09]])
    stand = Stand(whole, 5.0, 0.0, level_base(), body[-1], 0.0316, 0.5, body, np.array([0.0, 0.0, 0.1]))
    time = np.linspace(0.0, 10.0, 101)
    return Evaluation(
        robot="slender",
        source="profile",
        length=0.1,
        complete=True,
        duration=10.0,
        passes=(whole,),
        poses=(HeldAttitude({"without": stand}),),
        tip_error=Curve(time, np.full(101, 0.0316)),
        twin_error=NOTHING,
        gravity_error=NOTHING,
        shape_error=NOTHING,
        commanded=Curve(time, np.column_stack([0.001 * time, -0.001 * time])),
        measured=Curve(np.empty(0), np.empty((0, 2))),
        cable_names=("cable_1", "cable_2"),
        commanded_pressures=Curve(np.empty(0), np.empty((0, 0))),
        measured_pressures=Curve(np.empty(0), np.empty((0, 0))),
        chamber_names=(),
        solve_time=NOTHING,
        latency=Curve(time, np.full(101, 0.02)),
        twin_latency=NOTHING,
        correlation=0.999,
    )


@pytest.fixture
def axes():
    return Figure().subplots()


def drawn(axes):
    return [line.get_xydata() for line in axes.lines]


def texts(axes):
    return " ".join(text.get_text() for text in axes.texts)


def test_gravity_points_down_in_the_picture_of_the_bodies(axes, evaluation):
    report_picture.draw_bodies(axes, evaluation)
    straight, body = drawn(axes)[:2]
    np.testing.assert_allclose(straight, [[0, 0], [100, 0]], atol=1e-9)
    np.testing.assert_allclose(body, [[0, 0], [50, -10], [90, -30]], atol=1e-9)
    assert "31.6 mm" in texts(axes)


def test_errors_and_displacements_are_in_millimetres(evaluation):
    errors, cables = Figure().subplots(2)
    report_picture.draw_errors(errors, evaluation)
    report_picture.draw_actuators(cables, evaluation)
    assert np.max(drawn(errors)[0][:, 1]) == pytest.approx(31.6)
    assert {line.get_label(): line.get_ydata()[-1] for line in cables.lines if line.get_label() == "cable_2"} == {
        "cable_2": pytest.approx(-10.0)
    }


def test_chambers_are_in_kilopascals_beside_cables_or_alone(evaluation):
    time = np.linspace(0.0, 10.0, 101)
    air = {"chamber_names": ("air",), "commanded_pressures": Curve(time, 1e3 * time[:, None])}
    both, alone = Figure().subplots(), Figure().subplots()
    report_picture.draw_actuators(both, replace(evaluation, **air))
    report_picture.draw_actuators(alone, replace(evaluation, cable_names=(), **air))
    beside = both.figure.axes[-1]
    for axes in (beside, alone):
        assert axes.get_ylabel() == "[kPa]"
        assert [line.get_ydata()[-1] for line in axes.lines if line.get_label() == "air"] == [pytest.approx(10.0)]


def test_an_arm_is_drawn_with_its_estimate(axes, evaluation):
    struts = np.array([[0.0, 0.0, 0.0], [0.02, 0.0, 0.1]])
    stand = replace(evaluation.poses[0].stands["without"], body=struts, estimate=struts + 0.001)
    arm = replace(
        evaluation, estimates=True, poses=(HeldAttitude({"without": stand, "with": replace(stand, error=0.001)}),)
    )
    report_picture.draw_arm(axes, arm)
    np.testing.assert_allclose(drawn(axes)[0], [[0, 0], [20, 100]], atol=1e-9)
    np.testing.assert_allclose(drawn(axes)[1], [[1, 1], [21, 101]], atol=1e-9)
    assert "32 → 1 mm" in texts(axes)


def test_times_are_in_milliseconds_with_median_and_p99(axes, evaluation):
    report_picture.draw_times(axes, evaluation, evaluation.latency, "latency")
    assert "median 20.0 ms" in texts(axes)
    assert "p99 20.0 ms" in texts(axes)
    assert sum(bar.get_height() for bar in axes.patches) == 100


def test_what_was_not_recorded_is_said(axes, evaluation):
    report_picture.draw_times(axes, evaluation, evaluation.solve_time, "solve")
    assert "none recorded" in texts(axes)


def test_curves_are_broken_where_nothing_was_recorded(axes, evaluation):
    time, values = report_picture._with_gaps(np.array([0.0, 0.1, 2.0]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(time, [0.0, 0.1, np.nan, 2.0])
    np.testing.assert_array_equal(values, [1.0, 2.0, np.nan, 3.0])


def test_what_happens_between_the_passes_does_not_set_the_scale(evaluation):
    axes = Figure().subplots()
    late = Curve(np.array([1.0, 12.0]), np.array([[0.001, 0.0], [5.0, 0.0]]))
    report_picture.draw_actuators(axes, replace(evaluation, commanded=late))
    assert axes.get_ylim()[1] < 3.0


def test_bodies_are_turned_to_the_inclination_of_their_pose(axes, evaluation):
    """Two stands of one pose, 0° and 20°: both are drawn from the same straight line at 10°."""
    level = evaluation.poses[0].stands["without"]
    tilted = level_base() @ Rotation.from_euler("x", -20.0, degrees=True).as_matrix()
    straight = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]])
    stands = {
        "without": replace(level, body=straight, tip=straight[-1]),
        "with": replace(level, inclination=np.radians(20.0), attitude=tilted, body=straight, tip=straight[-1]),
    }
    report_picture.draw_bodies(axes, replace(evaluation, poses=(HeldAttitude(stands),)))
    expected = 100.0 * np.array([np.cos(np.radians(10.0)), np.sin(np.radians(10.0))])
    for line in (drawn(axes)[1], drawn(axes)[3]):
        np.testing.assert_allclose(line[-1], expected, atol=1e-9)
