import re
import shutil
import struct
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import synthetic_run
from synthetic import EPOCH, Recorder, joints, pose, solver_status, xyz

from soft_twin import load_robot, parallel
from soft_twin.app.cli import main
from soft_twin.driving.cables.winch import Winch
from soft_twin.errors import RecordingError
from soft_twin.inverse.targets import actuation_target
from soft_twin.recording.evaluation import evaluate
from soft_twin.recording.reader import Series
from soft_twin.recording.replay import _matched, _samples, replay, table
from soft_twin.recording.robots import METADATA, recorded_robot, robot_metadata
from soft_twin.recording.storage import stored
from soft_twin.recording.writer import McapWriter
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.gravity import GravityEstimator
from soft_twin.sensing.imu_calibration import StoredCalibration, write_calibration
from soft_twin.sensing.samples import ImuSample

SAMPLES = 400
SOLVED = range(0, SAMPLES, 4)
RESET = 190  # sample before which the filter is reset, and solve before which the twin is
SWITCH = 250  # first sample that is solved for with compensation
TARGET = (0.002, 0.0, 0.098)  # from then on
PULLED = 350  # from then on cables are told what to do, and no tip is aimed at
PULL = np.array([1e-3, 0.0, 0.0, 5e-4, 0.0, 0.0])  # [m]


def imu(i):
    """At rest and upright, then slowly turned about x, with noise."""
    angle = 0.3 * max(0.0, (i - 150) / 250) ** 2
    noise = np.random.default_rng(i).normal(0.0, 0.01, 6)
    rates = np.array([0.6 * max(0.0, (i - 150) / 250) / 2.5, 0.0, 0.0]) + 0.1 * noise[:3]
    return rates, 9.81 * np.array([0.0, np.sin(angle), np.cos(angle)]) + noise[3:]


def seconds(i):
    stamp = EPOCH + round(1e9 * (0.01 * i))
    return stamp // 10**9 + stamp % 10**9 * 1e-9


def live(robot):
    """What the nodes would have said: estimates of all samples, and ticks of those that were solved for."""
    estimator, controller = GravityEstimator(robot.mounting), robot.build_controller(reuse=True)
    estimates, ticks = {}, {}
    for i in range(SAMPLES):
        if i == RESET:
            estimator.reset()
            controller.reset()
        estimates[i] = estimator.update(ImuSample(seconds(i), *imu(i), 40.0 + 0.001 * i))
        if i in SOLVED and estimates[i].valid:
            controller.set_target(TARGET if i >= SWITCH else robot.target_tip)
            if i >= PULLED:
                controller.aim(actuation_target(controller.inverse, (i - PULLED) / (SAMPLES - PULLED) * PULL))
            controller.enable(i >= SWITCH)
            ticks[i] = controller.update(estimates[i].gravity_in_base)
    return estimates, ticks


@pytest.fixture(scope="module")
def recorded(robot):
    return live(robot)


@pytest.fixture(scope="module")
def path(tmp_path_factory, recorded, robot):
    estimates, ticks = recorded
    return _record(tmp_path_factory.mktemp("replay") / "run.mcap", robot, estimates, ticks)


def _record(path, robot, estimates, ticks, warmth=SAMPLES, reset=RESET):
    """A run in which so many of the samples come with a temperature."""
    recorder = Recorder(path)
    for i in range(SAMPLES):
        if i == reset:
            for topic in ("gravity/reset", "twin/reset"):
                recorder.add(topic, "std_msgs/msg/Empty", 0.01 * i - 0.005, {})
        _record_sample(recorder, i, estimates[i])
        if i < warmth:
            temperature = {"temperature": 40.0 + 0.001 * i, "variance": 0.0}
            recorder.add("imu/temperature", "sensor_msgs/msg/Temperature", 0.01 * i, temperature)
        if i in ticks:
            _record_tick(recorder, i, ticks[i], robot.target_tip)
    recorder.close()
    return recorder.writer.path


def record_two_kinds(path, robot):
    """What the nodes would have said of a robot of cables and chambers; ticks of valid samples. The second half
    compensates."""
    estimator, controller, recorder = (
        GravityEstimator(robot.mounting),
        robot.build_controller(),
        Recorder(path, "finger"),
    )
    target = tuple(robot.build_twin().equilibrium((0.0, 0.0, -9.81), efforts=[1.0, 0.5, 12e3]).tip)
    controller.set_target(target)
    ticks = []
    for i in range(80, 240):
        estimate = estimator.update(ImuSample(seconds(i), *imu(i), np.nan))
        _record_sample(recorder, i, estimate)
        if i % 5 or not estimate.valid:
            continue
        controller.enable(i >= 160)
        tick = controller.update(estimate.gravity_in_base)
        ticks.append(tick)
        told = {"actuators": robot.actuator_names, "coordinates": list(tick.coordinates), "efforts": list(tick.efforts)}
        status = solver_status(tick.duration, target=target, compensating=tick.compensating, **told)
        recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", 0.01 * i, status)
        if tick.compensating:
            cables = joints(robot.cable_names, tick.coordinates[:2], tick.efforts[:2])
            recorder.add("cables/command", "sensor_msgs/msg/JointState", 0.01 * i, cables)
            air = {"names": robot.chamber_names, "pressures": list(tick.efforts[2:])}
            recorder.add("chambers/command", "soft_twin_msgs/msg/Pressures", 0.01 * i, air)
    recorder.close()
    return ticks


def _record_sample(recorder, i, estimate):
    rates, force = imu(i)
    nothing = {"orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
    nothing |= {f"{name}_covariance": [0.0] * 9 for name in ("orientation", "angular_velocity", "linear_acceleration")}
    sample = nothing | {"angular_velocity": xyz(rates), "linear_acceleration": xyz(force)}
    recorder.add("imu/data_raw", "sensor_msgs/msg/Imu", 0.01 * i, sample)
    if estimate.valid:
        gravity = {"vector": xyz(estimate.gravity_in_base)}
        recorder.add("gravity", "geometry_msgs/msg/Vector3Stamped", 0.01 * i, gravity)


def _record_tick(recorder, i, tick, target):
    on = i >= SWITCH
    target = (np.nan,) * 3 if i >= PULLED else TARGET if on else target
    told = {"actuators": synthetic_run.CABLES, "coordinates": list(tick.coordinates), "efforts": list(tick.efforts)}
    status = solver_status(tick.duration, target=target, compensating=on, **told)
    recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", 0.01 * i, status)
    recorder.add("twin/tip", "geometry_msgs/msg/PoseStamped", 0.01 * i, pose(tick.tip))
    if on:
        command = joints(synthetic_run.CABLES, tick.displacements, tick.tensions)
        recorder.add("cables/command", "sensor_msgs/msg/JointState", 0.01 * i, command)


@pytest.fixture(scope="module")
def result(path, robot):
    return replay(path, robot)


def test_a_replay_says_what_the_nodes_said_to_the_bit(result, recorded):
    estimates, ticks = recorded
    valid = [estimate for estimate in estimates.values() if estimate.valid]
    assert len(ticks) > 50
    np.testing.assert_array_equal(result.gravity, [estimate.gravity_in_base for estimate in valid])
    np.testing.assert_array_equal(result.displacements, [tick.displacements for tick in ticks.values()])
    np.testing.assert_array_equal(result.tip, [tick.tip for tick in ticks.values()])
    assert [row.largest for row in result.comparisons] == pytest.approx([0.0, 0.0, 0.0], abs=1e-5)
    assert [row.what for row in result.comparisons] == ["gravity", "twin/tip", "cables/command"]


def test_a_temperature_leads_the_heater_for_no_longer_than_at_the_node(tmp_path, robot, recorded):
    result = replay(_record(tmp_path / "run.mcap", robot, *recorded, warmth=80, reset=None), robot)
    assert result.heater_duty[-40:-30].min() > 0.5  # 2.8 s after the last temperature
    assert result.heater_duty[-15:].max() == 0.0


def test_the_heater_is_led_as_the_description_sets_its_node(tmp_path, robot, recorded):
    path = _record(tmp_path / "run.mcap", robot, *recorded, warmth=80, reset=None)
    colder = replay(path, replace(robot, nodes={"imu_to_gravity": {"heater_target": 30.0}}))
    assert colder.heater_duty.max() == 0.0  # the chip has 40 °C
    sooner = replay(path, replace(robot, nodes={"imu_to_gravity": {"temperature_silent_after": 1.5}}))
    assert sooner.heater_duty[210:].max() == 0.0 < sooner.heater_duty.max()


def test_cables_are_commanded_from_the_switch_on(result):
    assert result.compensating.sum() == len([i for i in SOLVED if i >= SWITCH])
    assert np.max(result.tensions[~result.compensating]) == 0.0
    assert np.max(result.tensions[result.compensating]) > 0.01
    pulled = len([i for i in SOLVED if i >= PULLED])
    assert np.linalg.norm(result.tip[-1 - pulled] - TARGET) < 5e-4
    np.testing.assert_array_equal(result.displacements[-pulled], (352 - PULLED) / (SAMPLES - PULLED) * PULL)


def test_motors_are_sent_where_the_winches_say(result, robot):
    np.testing.assert_allclose(
        Winch(robot.winches.winch).displacement_of_counts(result.rotor_counts), result.displacements, atol=1e-12
    )


def test_twice_in_a_row_is_the_same_to_the_bit(path, result, robot, capsys):
    assert replay(path, robot).digest == result.digest
    assert main(["replay", str(path), "--robot", "slender"]) == 0
    printed = capsys.readouterr().out
    assert result.digest in printed
    assert "cables/command [mm]" in printed


def test_chambers_are_replayed_beside_cables(tmp_path):
    finger = load_robot("finger")
    ticks = record_two_kinds(tmp_path / "run.mcap", finger)
    result = replay(tmp_path / "run.mcap", finger)
    commands = [tick.compensating for tick in ticks]
    assert 5 < sum(commands) < len(commands) - 5 and result.compensating.tolist() == commands
    np.testing.assert_array_equal(result.pressures, [tick.efforts[2:] for tick in ticks])
    np.testing.assert_array_equal(result.tensions, [tick.efforts[:2] for tick in ticks])
    np.testing.assert_array_equal(result.displacements, [tick.coordinates[:2] for tick in ticks])
    assert np.abs(result.pressures[-1]).max() > 100.0 and result.rotor_counts.shape == (len(ticks), 2)
    assert [row.what for row in result.comparisons] == ["gravity", "cables/command", "chambers/command"]
    assert [row.largest for row in result.comparisons] == pytest.approx([0.0, 0.0, 0.0], abs=1e-5)
    assert {row.what: row.unit for row in result.comparisons}["chambers/command"] == "kPa"
    before = result.digest
    result.pressures[-1, 0] = np.nextafter(result.pressures[-1, 0], np.inf)
    assert result.digest != before


def test_the_digest_sees_the_last_bit(result):
    before = result.digest
    value = result.tip[-1, 2]
    result.tip[-1, 2] = np.nextafter(value, 1.0)
    after = result.digest
    result.tip[-1, 2] = value
    assert after != before == result.digest


def test_the_calibration_beside_a_recording_corrects_its_samples(path, result, tmp_path, robot):
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    offset = (0.0, 0.2, 0.0)
    write_calibration(copy.with_suffix(".imu.yaml"), StoredCalibration(ImuCalibration(accelerometer_offset=offset)))
    corrected = replay(copy, robot)
    turned = np.cross(corrected.gravity[-1], result.gravity[-1])[0] / 9.81**2
    assert abs(turned) == pytest.approx(0.2 / 9.81, rel=0.3)


def test_a_calibration_that_is_missing_or_another_is_told(tmp_path, robot, recorded):
    file = tmp_path / "run.imu.yaml"
    write_calibration(file, StoredCalibration(ImuCalibration(accelerometer_offset=(0.0, 0.2, 0.0))))
    recorder, (estimates, ticks) = Recorder(tmp_path / "run.mcap"), recorded
    recorder.writer.describe(METADATA, robot_metadata(robot, recorder.writer.path))
    for i in range(RESET):
        _record_sample(recorder, i, estimates[i])
    for i in [*SOLVED][:40]:
        _record_tick(recorder, i, next(iter(ticks.values())), robot.target_tip)
    recorder.close()
    told = [table(replay(recorder.writer.path, robot))]
    file.write_text(file.read_text() + "# another\n")
    told.append(table(replay(recorder.writer.path, robot)))
    file.unlink()
    told.append(table(replay(recorder.writer.path, robot)))
    assert [text.partition("calibration of the IMU: ")[2].splitlines()[0] for text in told] == [
        "run.imu.yaml",
        "run.imu.yaml, which has changed since this was recorded",
        "none (run.imu.yaml, which this was recorded with, is missing beside it)",
    ]


def test_a_solve_without_its_sample_is_left_out(path, result, tmp_path, robot, recorded):
    recorder = Recorder(tmp_path / "run.mcap")
    estimates, ticks = recorded
    for i in range(RESET):
        _record_sample(recorder, i, estimates[i])
    for i in [*SOLVED][:40]:
        _record_tick(recorder, i, next(iter(ticks.values())), robot.target_tip)
    recorder.close()
    short = replay(recorder.writer.path, robot)
    assert short.left_out == 40 - len(short.stamp) >= 10 and len(short.stamp) > 0
    assert f"{short.left_out} solves left out" in table(short)


def test_recorded_values_that_are_no_numbers_are_not_compared(tmp_path, robot, recorded):
    recorder = Recorder(tmp_path / "run.mcap")
    estimates, ticks = recorded
    for i in range(RESET):
        told = replace(estimates[i], gravity_in_base=np.full(3, np.nan)) if i == RESET - 5 else estimates[i]
        _record_sample(recorder, i, told)
    _record_tick(recorder, RESET - 10, ticks[RESET - 10], robot.target_tip)
    recorder.close()
    (gravity, *_) = replay(recorder.writer.path, robot).comparisons
    assert gravity.pairs == sum(estimates[i].valid for i in range(RESET)) - 1 > 10
    assert gravity.largest < 1e-3


@pytest.mark.parametrize("order", ["backwards", "halves swapped"])
def test_messages_that_are_stored_in_another_order_are_replayed_in_that_of_their_log_times(
    path, result, tmp_path, robot, order
):
    messages = [*stored(path, None)]
    half = len(messages) // 2
    messages = messages[::-1] if order == "backwards" else messages[half:] + messages[:half]
    with McapWriter(tmp_path / "run.mcap") as recording:
        for schema, channel, message in messages:
            number = recording.register(channel.topic, schema.name, schema.data.decode())
            recording.write(number, message.data, message.log_time, message.publish_time)
    assert replay(tmp_path / "run.mcap", robot).digest == result.digest


def test_two_runs_at_once_are_refused(path, tmp_path, robot):
    messages = [
        (message.log_time + late, channel, schema, message)
        for schema, channel, message in stored(path, None)
        for late in (0, 345_000_000)
    ]
    with McapWriter(tmp_path / "run.mcap") as recording:
        for time, channel, schema, message in sorted(messages, key=lambda row: row[0]):
            number = recording.register(channel.topic, schema.name, schema.data.decode())
            recording.write(number, message.data, time)
    with pytest.raises(RecordingError, match=r"\d+ of its 800 samples are stamped before the one before them"):
        replay(tmp_path / "run.mcap", robot)


def test_two_runs_at_once_whose_samples_take_turns_are_refused(path, tmp_path, robot):
    late = 5_000_000
    with McapWriter(tmp_path / "run.mcap") as recording:
        phases = recording.register("/slender/run/phase", "std_msgs/msg/String", "string data\n")
        for schema, channel, message in stored(path, None):
            number = recording.register(channel.topic, schema.name, schema.data.decode())
            recording.write(number, message.data, message.log_time)
            if schema.name != "std_msgs/msg/Empty":
                time = message.log_time + late
                stamp = struct.pack("<iI", time // 10**9, time % 10**9)
                recording.write(number, message.data[:4] + stamp + message.data[12:], time)
        for time in (EPOCH, EPOCH + late):
            recording.write(phases, b"\0\1\0\0\x05\0\0\0with\0", time)
    with pytest.raises(RecordingError, match="phase 'with' begins 2 times in it: expected a recording of one run"):
        replay(tmp_path / "run.mcap", robot)


def test_a_long_replay_says_how_far_it_is(path, robot, monkeypatch, capsys):
    monkeypatch.setattr(parallel, "LONG", 0.0)
    monkeypatch.setattr(parallel, "LOG_PERIOD", 0.0)
    replay(path, robot)
    told = capsys.readouterr().err
    for what in ("estimating gravity", "solving"):
        assert re.search(f"^{what}: 50 %, .* to go$", told, re.MULTILINE)


def test_temperatures_whose_stamps_go_back_are_found():
    stamps = np.array([0, 10, 20, 14, 24]) * 10**6
    imu = Series(
        "imu",
        stamps,
        stamps,
        stamps,
        (),
        {name: np.zeros((5, 3)) for name in ("angular_velocity", "linear_acceleration")},
    )
    known = Series("temperature", stamps, stamps, stamps, (), {"temperature": 1e-6 * stamps})
    samples = _samples({"imu/data_raw": imu, "imu/temperature": known}, kept=1.0)
    np.testing.assert_allclose([sample.temperature for _, sample in samples], [0.0, 10.0, 20.0, 14.0, 24.0])


def test_stamps_that_go_back_find_their_partners():
    back = np.array([0, 10, 20, 14, 24, 34]) * 10**6
    mine, theirs = _matched(back, back[1:] + 200)
    assert [*zip(mine.tolist(), theirs.tolist(), strict=True)] == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]


def test_a_recording_of_which_nothing_can_be_solved_is_refused(tmp_path, recorded, robot, capsys):
    recorder, (estimates, ticks) = Recorder(tmp_path / "run.mcap"), recorded
    for i in range(40):
        _record_sample(recorder, i, estimates[i])
    _record_tick(recorder, 240, ticks[240], robot.target_tip)
    recorder.close()
    assert main(["replay", str(recorder.writer.path)]) == 2
    valid = sum(estimates[i].valid for i in range(40))
    told = f"{valid} of its 40 samples give a valid gravity, and none of its 1 solves is of one of them"
    assert told in capsys.readouterr().err


def test_a_recording_without_sensors_cannot_be_replayed(run_path, robot):
    with pytest.raises(RecordingError, match="cannot be replayed: it has no messages on /slender/imu/data_raw"):
        replay(run_path, robot)


@pytest.mark.parametrize("read", [replay, partial(evaluate, source="profile")])
def test_a_recording_of_other_actuators_is_refused(path, read):
    with pytest.raises(RecordingError, match="a robot with 'cable_1', .*but 'neck' has .*: say --robot"):
        read(path, load_robot("neck"), namespace="slender")


@pytest.mark.parametrize(
    ("kind", "content"), [("std_msgs/msg/Float64", {"data": 1.0}), ("std_msgs/msg/Bool", {"data": True})]
)
@pytest.mark.parametrize(
    "topic", ["imu/data_raw", "imu/temperature", "solver/status", "gravity", "twin/tip", "gravity/reset", "run/phase"]
)
def test_a_topic_of_another_type_is_refused(tmp_path, robot, topic, kind, content):
    recorder = Recorder(tmp_path / "run.mcap")
    estimate = GravityEstimator(robot.mounting).update(ImuSample(seconds(0), *imu(0), 40.0))
    if topic != "imu/data_raw":
        _record_sample(recorder, 0, estimate)
    if topic != "solver/status":
        recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", 0.0, solver_status(0.004))
    recorder.add(topic, kind, 0.0, content)
    recorder.close()
    for read in (replay, evaluate):
        with pytest.raises(RecordingError, match=f"'{topic}' is of {kind}: expected "):
            read(recorder.writer.path, robot)


def test_the_truth_of_a_robot_without_a_namespace_is_no_other_robot(tmp_path, robot):
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.add("/gravity", "geometry_msgs/msg/Vector3Stamped", 0.0, {"vector": xyz((0.0, 0.0, -9.81))})
    recorder.add("/truth/shape", "soft_twin_msgs/msg/Shape", 0.0, synthetic_run.shape(np.zeros((2, 3))))
    recorder.close()
    assert len(evaluate(recorder.writer.path, robot).gravity_error.time) == 0


def test_a_description_that_has_gone_is_named(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(load_robot("slender").path.read_text().replace("name: slender", "name: mine"))
    recorder = Recorder(tmp_path / "run.mcap")
    recorder.writer.describe(METADATA, robot_metadata(load_robot(path)))
    recorder.close()
    path.unlink()
    with pytest.raises(RecordingError, match=rf"say --robot: its description '{path}' is gone; no robot 'mine'"):
        recorded_robot(recorder.writer.path)
