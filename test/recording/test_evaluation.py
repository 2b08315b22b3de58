import struct

import numpy as np
import pytest
import synthetic_run
from scipy.spatial.transform import Rotation
from synthetic import EPOCH, Recorder, pose, shape, solver_status, xyzw

from soft_twin.errors import RecordingError
from soft_twin.recording.evaluation import evaluate, inclination, vertical_plane
from soft_twin.recording.reader import Series
from soft_twin.recording.recorded_run import Run
from soft_twin.recording.report import summary

SOLVER_STATUS = "soft_twin_msgs/msg/SolverStatus"
HELD = [135.0, 90.0, 45.0, 0.0, -45.0]


def attitude(inclination_deg, yaw=0.3):
    """base_link → world of a base that turned about its x axis from upright and stands with some yaw."""
    return (Rotation.from_euler("z", yaw) * Rotation.from_euler("x", 90.0 - inclination_deg, degrees=True)).as_matrix()


@pytest.fixture(scope="module")
def evaluation(run_path, robot):
    return evaluate(run_path, robot)


@pytest.mark.parametrize("angle", [135.0, 90.0, 45.0, 0.0, -45.0])
def test_inclination_is_the_angle_to_the_ground(angle):
    assert np.degrees(inclination(attitude(angle))) == pytest.approx(angle)


@pytest.mark.parametrize("angle", HELD)
def test_the_axis_of_the_base_is_drawn_at_its_inclination(angle):
    drawn = vertical_plane(attitude(angle)) @ attitude(angle)[:, 2]
    np.testing.assert_allclose(drawn, [np.cos(np.radians(angle)), np.sin(np.radians(angle))], atol=1e-12)


def test_the_plane_of_an_arbitrary_attitude_is_vertical_and_holds_the_axis():
    turn = Rotation.random(random_state=4).as_matrix()
    across, up = vertical_plane(turn)
    np.testing.assert_array_equal(up, [0, 0, 1])
    assert across @ up == 0.0
    assert np.linalg.norm(vertical_plane(turn) @ turn[:, 2]) == pytest.approx(1.0)


def test_each_inclination_that_is_held_is_a_pose_once(evaluation):
    assert [np.degrees(pose.inclination) for pose in evaluation.poses] == pytest.approx(HELD, abs=0.01)
    starts = [pose.stands["without"].interval.start - synthetic_run.START["without"] for pose in evaluation.poses]
    assert starts == pytest.approx([2.0, 6.0, 10.0, 14.0, 18.0], abs=0.15)


def test_inclinations_that_are_close_together_are_poses_of_their_own(tmp_path, robot, monkeypatch):
    angles = (90.0, 10.0, 7.0, 90.0, 4.0, 2.0, 90.0)
    monkeypatch.setattr(synthetic_run, "ANGLES", angles)
    synthetic_run.write(tmp_path / "run.mcap")
    poses = evaluate(tmp_path / "run.mcap", robot).poses
    for name in ("without", "with"):
        found = [np.degrees(pose.stands[name].inclination) for pose in poses]
        assert found == pytest.approx([10.0, 7.0, 90.0, 4.0, 2.0], abs=0.01)


@pytest.mark.parametrize("name", ["without", "with"])
def test_errors_and_tilts_are_those_of_the_body(evaluation, name):
    for found in evaluation.poses:
        angle = found.inclination
        stand = found.stands[name]
        assert stand.error == pytest.approx(synthetic_run.tip_error(angle, name), abs=1e-6)
        assert stand.tilt == pytest.approx(abs(synthetic_run.SAG[name] * np.cos(angle)), abs=1e-6)
        np.testing.assert_allclose(stand.body, synthetic_run.body(angle, name), atol=1e-6)
        np.testing.assert_array_equal(stand.tip, stand.body[-1])


def test_bodies_sag_downwards(evaluation):
    level = evaluation.poses[3].stands["without"]
    across, up = vertical_plane(level.attitude) @ level.attitude @ level.tip
    assert up < -0.02
    assert across > 0.09


def test_latency_is_from_stamp_to_publication(evaluation):
    late = evaluation.in_passes(evaluation.latency) > 0.5 * (synthetic_run.LATENCY + synthetic_run.LATE)
    assert np.median(evaluation.latency.values) == pytest.approx(synthetic_run.LATENCY)
    assert late.sum() == 12
    assert len(late) == 575


def test_gravity_and_twin_are_compared_with_the_truth(evaluation):
    assert np.max(evaluation.gravity_error.values) < 1e-6
    lengths = evaluation.twin_error.values
    assert np.median(lengths) == pytest.approx(0.001, rel=0.02)


@pytest.mark.parametrize("lost", ["twin/tip", "truth/base"])
def test_nothing_is_compared_with_what_was_not_recorded(tmp_path, robot, monkeypatch, lost):
    add = Recorder.add

    def add_but_for_a_gap(self, topic, type_name, stamp, content, **late):
        if topic != lost or not 16.0 <= stamp < 25.0:
            add(self, topic, type_name, stamp, content, **late)

    monkeypatch.setattr(Recorder, "add", add_but_for_a_gap)
    synthetic_run.write(tmp_path / "run.mcap")
    found = evaluate(tmp_path / "run.mcap", robot)
    assert found.in_passes(found.twin_error).max() < 1.001e-3
    assert np.degrees(found.in_passes(found.gravity_error)).max() < 1e-3
    assert found.correlation > 0.9999
    curve = found.twin_error if lost == "twin/tip" else found.gravity_error
    assert len(curve.time) and not ((curve.time > 16.0) & (curve.time < 24.9)).any()


def test_correlation_of_a_scaled_trajectory_is_one(evaluation):
    assert evaluation.correlation == pytest.approx(1.0, abs=1e-4)


def test_correlation_in_closed_form(tmp_path, robot):
    """Twin sin t, robot sin t + cos t over whole periods: r = 1/√2."""
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    for t in np.linspace(0.0, 20.0, 2001):
        x = 2 * np.pi * t / 10.0
        recorder.add("twin/tip", "geometry_msgs/msg/PoseStamped", t, pose((np.sin(x), 0, 0)))
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", t, pose((np.sin(x) + np.cos(x), 0, 0)))
    recorder.close()
    assert evaluate(recorder.writer.path, robot).correlation == pytest.approx(np.sqrt(0.5), abs=1e-3)


def test_a_newer_target_counts_from_its_time_on(tmp_path, robot):
    recorder = Recorder(tmp_path / "run.mcap")
    for t in (0.0, 1.0, 2.0):
        if t == 1.0:
            recorder.add("solver/status", SOLVER_STATUS, 0.9, solver_status(0.004, target=(0.01, 0.0, 0.1)))
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", t, pose((0.0, 0.0, 0.1)))
    recorder.close()
    np.testing.assert_allclose(evaluate(recorder.writer.path, robot).tip_error.values, [0.0, 0.01, 0.01], atol=1e-12)


def test_a_moving_base_is_cut_into_windows_that_are_paired_by_time(tmp_path, robot):
    """Turning by 10°/s for 4 s and back: windows of 2 s, their medians at the windows' middles."""
    recorder = Recorder(tmp_path / "run.mcap")
    errors = {"without": 0.02, "with": 0.001}
    for name, start in (("without", 1.0), ("with", 31.0)):
        recorder.add("run/phase", "std_msgs/msg/String", start, {"data": name})
        for t in np.arange(0.0, 8.0, 0.02):
            turn = Rotation.from_matrix(attitude(40.0 - 10.0 * abs(t - 4.0))).as_quat()
            recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", start + t, {"quaternion": xyzw(turn)})
            tip = (0.0, errors[name] * (2.0 if t >= 4.0 else 1.0), 0.1)
            recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", start + t, pose(tip))
        recorder.add("run/phase", "std_msgs/msg/String", start + 8.0, {"data": "rest"})
    recorder.close()
    poses = evaluate(recorder.writer.path, robot, source="trial").poses
    assert [np.degrees(found.inclination) for found in poses] == pytest.approx([10, 30, 30, 10], abs=0.2)
    for name, error in errors.items():
        assert [found.stands[name].error for found in poses] == pytest.approx([error, error, 2 * error, 2 * error])


def test_shapes_without_a_section_in_common_have_no_error(tmp_path, robot):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    for topic, names in (("truth/shape", ("15_mm", "20_mm")), ("shape", ("0_mm", "32_mm"))):
        for t in (0.5, 1.0):
            recorder.add(topic, "soft_twin_msgs/msg/Shape", t, shape(np.zeros((2, 3)), names))
    recorder.close()
    found = evaluate(recorder.writer.path, robot)
    assert len(found.shape_error.time) == len(found.shape_error.values) == 0
    assert summary(found)["shape_error_mm"]["with"]["count"] == 0


def test_a_tip_beside_the_centre_line_is_where_it_was_recorded(tmp_path, robot):
    """The middle of a sheet that one chamber lifts by 22 mm, while the sheet's mean, its line's end, stays at 12 mm."""
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    for t, angle in ((0.0, 90), (1.0, 45), (2.0, 45), (3.0, 0)):
        turn = Rotation.from_matrix(attitude(angle)).as_quat()
        recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", t, {"quaternion": xyzw(turn)})
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", t, pose((0.0, 0.0, 0.034)))
        line = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.012]])
        recorder.add("truth/shape", "soft_twin_msgs/msg/Shape", t, shape(line))
    recorder.close()
    (found,) = evaluate(recorder.writer.path, robot).poses
    np.testing.assert_allclose(found.stands["with"].tip, [0.0, 0.0, 0.034])
    np.testing.assert_allclose(found.stands["with"].body, line)


@pytest.mark.parametrize(("rest", "held"), [(0.6, [45.0]), (1.2, [45.0, 90.0])])
def test_a_short_rest_after_the_last_move_is_no_hold(tmp_path, robot, rest, held):
    """From upright in 1 s to 45°, which is held for 2 s, and back, where the pass ends after a while."""
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    for t in np.arange(0.0, 4.0 + rest, 0.02):
        turn = Rotation.from_matrix(attitude(np.interp(t, [0.0, 1.0, 3.0, 4.0], [90.0, 45.0, 45.0, 90.0]))).as_quat()
        recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", t, {"quaternion": xyzw(turn)})
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", t, pose((0.0, 0.001 if t < 3.1 else 0.2, 0.1)))
    recorder.close()
    found = evaluate(recorder.writer.path, robot).poses
    assert [np.degrees(each.inclination) for each in found] == pytest.approx(held, abs=0.1)


def test_a_hold_with_few_samples_is_judged_by_its_last(tmp_path, robot):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    for t, angle, error in ((0.0, 90, 0.0), (1.0, 45, 0.02), (2.0, 45, 0.001), (3.0, 0, 0.0)):
        turn = Rotation.from_matrix(attitude(angle)).as_quat()
        recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", t, {"quaternion": xyzw(turn)})
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", t, pose((0.0, error, 0.1)))
    recorder.close()
    (found,) = evaluate(recorder.writer.path, robot).poses
    assert np.degrees(found.inclination) == pytest.approx(45.0)
    assert found.stands["with"].error == pytest.approx(0.001)


def test_without_truth_there_are_no_poses(tmp_path, robot):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("twin/tip", "geometry_msgs/msg/PoseStamped", 1.0, pose((0, 0, 0.1)), delay=0.01)
    recorder.close()
    evaluation = evaluate(recorder.writer.path, robot)
    assert evaluation.poses == ()
    assert np.isnan(evaluation.correlation)
    np.testing.assert_allclose(evaluation.twin_latency.values, [0.01])


def test_of_what_a_report_does_not_look_into_the_times_alone_are_read(tmp_path, robot):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("solver/status", SOLVER_STATUS, 0.0, solver_status(0.004))
    imu = recorder.writer.register("/slender/imu/data", "sensor_msgs/msg/Imu", "")
    sent = EPOCH + 3 * 10**9
    recorder.writer.write(imu, b"\0\1\0\0" + struct.pack("<iI", sent // 10**9, sent % 10**9), sent)
    recorder.close()
    assert evaluate(tmp_path / "run.mcap", robot).duration == 3.0


def test_a_curve_is_in_memory_once_however_many_holds_keep_points_of_it():
    times, tips = np.arange(5), np.arange(15.0).reshape(5, 3)
    run = Run({"/a/truth/tip": Series("pose", times, times, times, (), {"position": tips})}, "a", (0.0, 0.0, 0.1))
    first, second = (run.curve("truth/tip", "position", (3,)).values for _ in range(2))
    np.testing.assert_array_equal(first, tips)
    assert np.shares_memory(first, second)


def test_a_tip_whose_orientation_is_unknown_has_an_error_and_no_tilt(tmp_path, robot, recwarn):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("run/phase", "std_msgs/msg/String", 0.0, {"data": "with"})
    for t in (0.0, 1.0, 2.0):
        turn = Rotation.from_matrix(attitude(45.0)).as_quat()
        recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", t, {"quaternion": xyzw(turn)})
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", t, pose((0.0, 0.001, 0.1), (np.nan,) * 4))
    recorder.close()
    (found,) = summary(evaluate(recorder.writer.path, robot))["poses"]
    assert (found["tip_error_mm"]["with"], found["tilt_deg"]["with"]) == (1.0, None)
    assert not recwarn.list


@pytest.mark.parametrize(("late", "side"), [(100.0, "before"), (-100.0, "after")])
def test_stamps_of_another_clock_than_that_of_the_phases_are_refused(tmp_path, robot, late, side):
    recorder = Recorder(tmp_path / "played.mcap")
    for i in range(3):
        recorder.add("solver/status", SOLVER_STATUS, i, solver_status(0.004), late)
    recorder.close()
    with pytest.raises(RecordingError, match=f"stamps are 100 s {side} the times at which messages were sent"):
        evaluate(tmp_path / "played.mcap", robot)


@pytest.mark.parametrize(("step", "twice"), [(-3.0, "3 s"), (-0.5, None), (-20.0, None)])
def test_a_stretch_of_time_that_was_recorded_twice_is_refused(tmp_path, robot, step, twice):
    recorder = Recorder(tmp_path / "set_back.mcap")
    for time in [*range(10), *(9 + step + np.arange(10))]:
        recorder.add("solver/status", SOLVER_STATUS, 100 + time, solver_status(0.004))
    recorder.close()
    if twice is None:
        assert evaluate(tmp_path / "set_back.mcap", robot).solves == 20
    else:
        with pytest.raises(RecordingError, match=f"set_back.mcap: {twice} are in it twice, as where the clock was set"):
            evaluate(tmp_path / "set_back.mcap", robot)


def test_messages_that_were_lost_and_sent_again_are_not_of_a_clock_that_was_set_back(tmp_path, robot, caplog):
    recorder = Recorder(tmp_path / "resent.mcap")
    for time in range(10):
        resent = 3.5 if time == 4 else 0.0
        recorder.add("solver/status", SOLVER_STATUS, time, solver_status(0.004), resent=resent)
    recorder.close()
    assert evaluate(tmp_path / "resent.mcap", robot).solves == 10
    assert "log times go back" not in caplog.text


def test_two_runs_in_one_recording_are_refused(tmp_path, robot):
    recorder = Recorder(tmp_path / "two.mcap")
    for i, name in enumerate(["without", "with"] * 2):
        recorder.add("run/phase", "std_msgs/msg/String", i, {"data": name})
        recorder.add("solver/status", SOLVER_STATUS, i, solver_status(0.004))
    recorder.close()
    with pytest.raises(RecordingError, match="phase 'without' begins 2 times in it: expected a recording of one run"):
        evaluate(tmp_path / "two.mcap", robot)
