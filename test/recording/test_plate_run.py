"""A made-up run of a neck: how far its plate was off, at which targets, and its payload."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from synthetic import Recorder, pose, solver_status, xyzw

from soft_twin import load_robot
from soft_twin.errors import RecordingError
from soft_twin.recording.evaluation import evaluate
from soft_twin.recording.replay import replay
from soft_twin.recording.report import table, write_report

PHASES = {0.0: "tare", 2.0: "without", 4.0: "with", 6.0: "aim", 9.0: "payload", 12.0: "end"}
AIMS = {0.0: (20.0, 15.0), 2.0: (22.2, 0.0), 6.0: (-25.0, 10.0), 7.5: (15.0, -20.0), 9.0: (5.0, 5.0)}
OFF = 0.4  # [°] of the plate, once it has come to its target …
COMING = 0.8  # … after so long [s]
NAN = float("nan")


def turn_of(pitch, roll):
    """The least turn to an axis of that pitch and roll [°]: slopes of its projections on the planes xz and yz."""
    x, y = np.sin(np.radians(pitch)), -np.tan(np.radians(roll))
    z = np.sqrt((1.0 - x**2) / (1.0 + y**2))
    axis = np.array([x, y * z, z])
    across = np.cross([0.0, 0.0, 1.0], axis)
    return Rotation.from_rotvec(across / (np.linalg.norm(across) or 1.0) * np.arccos(z))


def newest(table, time):
    start = max(at for at in table if at <= time + 1e-9)
    return start, table[start]


def write(path, target=AIMS):
    recorder, phases = Recorder(path, "neck"), dict(PHASES)
    for time in np.arange(0.0, 12.5, 0.04).round(6):
        for at in [at for at in phases if at <= time]:
            recorder.add("run/phase", "std_msgs/msg/String", at, {"data": phases.pop(at)})
        since, angles = newest(target, time)
        turn = turn_of(*angles)
        held = time >= 4.0 or time < 2.0
        off = np.radians(OFF if time - since > COMING else 10.0)
        plate = turn * Rotation.from_rotvec([off, 0.0, 0.0]) if held else Rotation.identity()
        aim = pose([NAN] * 3, turn.as_quat())["pose"]
        status = solver_status(0.004, compensating=held) | {"target": aim, "use_orientation": True}
        recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", time, status, delay=0.005)
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", time, pose([0.0, 0.0, 0.2], plate.as_quat()))
        base = {"quaternion": xyzw([0.0, 0.0, 0.0, 1.0])}
        recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", time, base)
        hung = time >= 9.0
        for topic, value in (("truth/payload", 0.5 * hung), ("payload", 0.45 * hung), ("payload/deviation", 0.03)):
            recorder.add(topic, "std_msgs/msg/Float64", time, {"data": value if time > 1.9 else NAN}, delay=0.001)
    recorder.close()
    return path


@pytest.fixture(scope="module")
def neck():
    return load_robot("neck")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(tmp_path_factory.mktemp("neck") / "run.mcap")


@pytest.fixture(scope="module")
def report(path, neck, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(path, folder, neck)
    assert (folder / "report.png").stat().st_size > 10_000
    return json.loads((folder / "report.json").read_text())


def test_each_target_is_judged_where_the_plate_came_to(report):
    aims = [(aim["phase"], aim["pitch_deg"], aim["roll_deg"]) for aim in report["aims"]]
    assert aims == [("tare", 20, 15), ("aim", -25, 10), ("aim", 15, -20), ("payload", 5, 5)]
    assert [aim["orientation_error_deg"] for aim in report["aims"]] == pytest.approx([OFF] * 4, abs=2e-3)


def test_a_payload_stands_beside_what_was_found_and_what_nobody_knew_is_unknown(report):
    told = [(aim["payload_g"], aim["found_g"], aim["deviation_g"]) for aim in report["aims"]]
    assert told[1:] == [(0, 0, 30), (0, 0, 30), (500, 450, 30)]
    lines = table(report).splitlines()
    assert sum("± 30" in line for line in lines) == 4 and any("5.0, 5.0" in line for line in lines)


def test_the_plate_is_off_by_its_bend_without_and_little_with_compensation(report):
    angles = report["orientation_error_deg"]
    assert angles["without"]["median"] == pytest.approx(22.2, abs=0.01)
    assert angles["with"]["median"] == pytest.approx(OFF, abs=2e-3)


def test_reports_of_other_runs_say_nothing_of_plates(run_path, robot, tmp_path):
    assert evaluate(run_path, robot).plate is None
    write_report(run_path, tmp_path, robot)
    assert not {"aims", "orientation_error_deg"} & json.loads((tmp_path / "report.json").read_text()).keys()


def test_a_target_whose_orientation_is_none_is_left_out(tmp_path, neck):
    path = tmp_path / "run.mcap"
    recorder = Recorder(path, "neck")
    broken = pose([NAN] * 3, [0.0] * 4)["pose"]
    status = solver_status(0.004) | {"target": broken, "use_orientation": True}
    for time in (0.0, 1.0):
        recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", time, pose([0.0, 0.0, 0.2]))
        recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", time, status)
    recorder.close()
    assert evaluate(path, neck).plate is None


def test_such_a_run_is_not_replayed_and_why(path, neck, tmp_path):
    recorder = Recorder(tmp_path / "run.mcap", "neck")
    turned = {"orientation": xyzw([0, 0, 0, 1]), "orientation_covariance": [0.0] * 9}
    still = {"angular_velocity_covariance": [0.0] * 9, "linear_acceleration_covariance": [0.0] * 9}
    felt = {"angular_velocity": {"x": 0, "y": 0, "z": 0}, "linear_acceleration": {"x": 0, "y": 0, "z": 9.81}}
    recorder.add("imu/data_raw", "sensor_msgs/msg/Imu", 0.0, turned | still | felt)
    aim = pose([NAN] * 3, turn_of(10.0, 5.0).as_quat())["pose"]
    status = solver_status(0.004) | {"target": aim, "use_orientation": True}
    recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", 0.0, status)
    recorder.close()
    with pytest.raises(RecordingError, match="pose_to_cables held the orientation of a plate"):
        replay(tmp_path / "run.mcap", neck)
