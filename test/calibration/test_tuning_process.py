import time

import numpy as np
import pytest

from soft_twin.calibration.tuning_process import READING, TuningProcess
from soft_twin.errors import DeviceError, RecordingError
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots import load_robot

PATIENCE = 120.0  # [s] of a busy machine that compiles


@pytest.fixture(scope="module")
def robot():
    return load_robot("slender")


@pytest.fixture(scope="module")
def recording(robot, tmp_path_factory):
    """A tip that sinks by 4 mm in 0.4 s, as that of no real robot."""
    path = tmp_path_factory.mktemp("release") / "release.mcap"
    with SimulatedRecording(path, robot) as recording:
        for step in range(41):
            tip = np.array([0.0, -1e-4 * step, 0.1])
            recording.pose("tip/pose", 0.01 * step, tip, np.array([0.0, 0.0, 1.0]))
            recording.vector("gravity", 0.01 * step, np.array([0.0, -9.81, 0.0]))
    return path


def ended(process):
    deadline = time.monotonic() + PATIENCE
    while (found := process.look()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_it_tells_how_far_it_is_and_what_it_has_found(robot, recording):
    process = TuningProcess(robot.path, recording, "slender", dt=0.1, simulations=1)
    assert (process.stage, process.progress) == (READING, 0.0)
    found = ended(process)
    assert process.progress == 1.0 and process.stage.startswith("simulation 1 of at most 1")
    measured = np.array([[0.0, -1e-3 * step, 0.1] for step in range(1, 5)])
    apart = np.linalg.norm(found.tuned.tips - measured, axis=1)
    assert found.distance == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-3)
    assert f"material.young_modulus: {found.tuned.values['young_modulus']:.0f}" in found.tuned.in_words()
    process.stop()


def test_a_recording_that_has_no_release_is_told(robot, recording):
    process = TuningProcess(robot.path, recording, "other", dt=0.1)
    with pytest.raises(RecordingError, match="under 'other'"):
        ended(process)
    process.stop()


def test_a_search_that_is_killed_is_told_and_one_that_is_stopped_is_gone(robot, recording):
    process = TuningProcess(robot.path, recording, "slender")
    process._process.kill()
    with pytest.raises(DeviceError, match="is gone"):
        ended(process)
    process.stop()
    assert not process._process.is_alive()


def test_friction_asks_for_what_the_winches_do(robot, recording):
    process = TuningProcess(robot.path, recording, "slender", dt=0.1, friction=True)
    with pytest.raises(RecordingError, match="no topic cables/state"):
        ended(process)
    process.stop()
