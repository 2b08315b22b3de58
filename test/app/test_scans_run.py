"""`soft-twin run ROBOT --scans N` before anything is started."""

import shlex

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.app import scans_run
from soft_twin.app.cli import main
from soft_twin.app.scans_run import stands_of, told_frames
from soft_twin.learning.recorded_frames import Written
from soft_twin.learning.simulations import pressure_limits


def test_no_pressure_is_first_and_the_others_are_within_their_limits_and_always_the_same():
    bellows = load_robot("bellows")  # which has negative ones, too
    stands = stands_of(bellows, 50)
    pressures, (low, high) = np.array(stands.pressures), pressure_limits(bellows).T
    assert list(stands.chambers) == list(bellows.chamber_names) and stands.driven_by == "gravity_to_actuators"
    assert not pressures[0].any() and ((pressures >= low) & (pressures <= high)).all()
    assert (np.ptp(pressures[1:], axis=0) > 0.8 * (high - low)).all()
    assert stands_of(bellows, 50) == stands


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["membrane", "--scans", "0"], "--scans 0: expected 1 or more"),
        (["membrane", "--scans", "3", "--weights", "w.safetensors"], "--weights w.safetensors: of no use to --scans"),
        (["membrane", "--scans", "3", "--start", "0"], "--start 0.0: of no use to --scans"),
        (["membrane", "--scans", "3", "--quick"], "--quick: of no use to --scans"),
        (["slender", "--scans", "3"], "nothing of robot 'slender' is learned"),
        (["tm40", "--scans", "3"], "nothing of robot 'tm40' is learned"),
    ],
)
def test_what_cannot_be_is_told(words, told, tmp_path, monkeypatch, capsys):
    pytest.importorskip("rclpy")
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_trains_can_be_typed_as_it_is_told_wherever_files_are(monkeypatch, tmp_path):
    """With a blank in their names shells take words apart."""
    monkeypatch.setattr(scans_run, "write_frames", lambda *_: Written(4))
    recording = tmp_path / "our run" / "run.mcap"
    last = told_frames(load_robot("membrane"), recording, recording.parent).splitlines()[-1]
    words = shlex.split(last)
    assert words[:2] == ["soft-twin", "train"] and words[words.index("--data") + 1] == str(recording)
