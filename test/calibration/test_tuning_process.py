import os
import signal
import time

import numpy as np
import pytest
from known_release import GRAVITY

from soft_twin.calibration.tuning_process import READING, TuningProcess
from soft_twin.errors import DeviceError, InputError, RecordingError
from soft_twin.recording.simulated import SimulatedRecording

PATIENCE = 120.0  # [s] of a busy machine that compiles


@pytest.fixture(scope="module")
def recording(robot, release, tmp_path_factory):
    """The first 0.4 s of it."""
    path = tmp_path_factory.mktemp("release") / "release.mcap"
    with SimulatedRecording(path, robot) as recording:
        for when, tip in zip(release.times[:5], release.tips[:5], strict=True):
            recording.pose("tip/pose", when, tip, np.array([0.0, 0.0, 1.0]))
            recording.vector("gravity", when, GRAVITY)
    return path


def ended(process):
    deadline = time.monotonic() + PATIENCE
    while (found := process.look()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_it_tells_how_far_it_is_and_what_it_has_found_whatever_its_terminal_asks_for(robot, release, recording):
    process = TuningProcess(robot.path, recording, "slender", dt=0.1, simulations=2)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(process._process.pid, number)
    assert (process.stage, process.progress) == (READING, 0.0)
    found = ended(process)
    assert process.progress == 1.0 and process.stage.startswith("simulation 2 of at most 2")
    apart = np.linalg.norm(found.tuned.tips - release.tips[1:5], axis=1)
    assert found.distance == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-3)
    assert f"material.young_modulus: {found.tuned.values['young_modulus']:.0f}" in found.tuned.in_words()
    process.stop()


def test_it_computes_in_a_session_that_is_not_preferred_as_that_of_a_node(robot, recording):
    process = TuningProcess(robot.path, recording, "slender", dt=0.1)
    deadline = time.monotonic() + PATIENCE
    while process.progress == 0.0:
        assert process.look() is None and time.monotonic() < deadline
        time.sleep(0.05)
    assert os.getsid(process._process.pid) != os.getsid(0)
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


def test_what_nobody_can_search_with_is_refused_before_it_begins(robot, recording):
    with pytest.raises(InputError, match="simulations: 0"):
        TuningProcess(robot.path, recording, "slender", simulations=0)
    with pytest.raises(InputError, match="steps of 5 s"):
        TuningProcess(robot.path, recording, "slender", dt=5.0)
