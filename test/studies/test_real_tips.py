"""Tips of real arms where they were not learned; skipped where there are no recordings."""

import os
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import RecordingError
from soft_twin.studies.learning import real_tips
from soft_twin.studies.tensegrity_arm import FILE, ArmRecording, read_recording

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))


def test_a_play_follows_what_pushes_it():
    rise = np.array([0.0, 0.05, 0.2, 0.3, 0.25, 0.1, 0.0])[:, None]
    np.testing.assert_allclose(real_tips.play(rise, 0.1)[:, 0], [0.0, 0.0, 0.1, 0.2, 0.2, 0.2, 0.1])
    np.testing.assert_allclose(real_tips.play(rise, 0.0), rise)


def test_the_real_tensegrity_arms_tip_is_within_60_mm():
    if not (DATA / FILE).is_file():
        pytest.skip(f"no recording at {DATA / FILE}")
    recording = read_recording(DATA / FILE)
    tip = recording.tip.copy()
    tip[real_tips.TRAINED :] = np.nan  # nothing of it is known to the choice
    blind = ArmRecording(recording.numbers, recording.specific_forces, recording.rates, tip, recording.counts)
    predictions = real_tips.arm_tested(blind).predictions
    errors = real_tips.Tested(recording.tip[real_tips.TRAINED :], predictions, "").errors()
    assert errors["regression"] < 60.0 < 400.0 < errors["mean"]


def test_a_short_recording_is_told():
    zeros = np.zeros((10, 5, 3))
    with pytest.raises(RecordingError, match="10 rows"):
        real_tips.arm_tested(ArmRecording(np.arange(5), zeros, zeros, zeros[:, 0], np.zeros((10, 40))))


def test_the_real_trunk_has_a_play():
    if not (DATA / real_tips.TRUNK).is_dir():
        pytest.skip(f"no recordings in {DATA / real_tips.TRUNK}")
    recordings = real_tips.read_trunk(DATA / real_tips.TRUNK)
    assert {name: len(places) for name, (_, places) in recordings.items()} == {
        "beta": 150, "circle 1": 120, "circle 3": 120, "circle 4": 120, "circle 5": 120,
    }  # fmt: skip
    inputs, places = recordings["circle 5"]
    tip, left = places[:, -1], []  # a play explains most of what a linear map leaves
    for width in (0.0, 0.1):
        design = np.column_stack([np.ones(len(inputs)), real_tips.play(inputs, width)])
        found = design @ np.linalg.lstsq(design, tip, rcond=None)[0]
        left.append(np.linalg.norm(found - tip, axis=1).mean())
    assert left[1] < 0.5 * left[0]


def test_the_real_trunks_arcs_carry_over_to_other_inputs():
    if not (DATA / real_tips.TRUNK).is_dir():
        pytest.skip(f"no recordings in {DATA / real_tips.TRUNK}")
    recordings = real_tips.read_trunk(DATA / real_tips.TRUNK)
    errors = []
    for name, (inputs, places) in recordings.items():
        rest = [each for other, each in recordings.items() if other != name]
        trunk = real_tips.learn_arcs(rest, 0.09, 0.1)
        found = trunk.places(real_tips.play(inputs, 0.09))
        errors.append(np.linalg.norm(found[:, -1] - places[:, -1], axis=1).mean())
    assert np.mean(errors) < 0.03  # [m], where a linear map has 0.044


def test_broken_tables_are_told(tmp_path):
    with pytest.raises(RecordingError, match="no recording"):
        real_tips.read_trunk(tmp_path)
    for files in real_tips.TRUNK_FILES.values():
        (tmp_path / files[0]).write_text("ID,u1\n0,nonsense\n")
        (tmp_path / files[1]).write_text("ID,x\n0,1\n")
    with pytest.raises(RecordingError, match="not readable as a table"):
        real_tips.read_trunk(tmp_path)
