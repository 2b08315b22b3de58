"""Tips of real arms where they were not learned; skipped where there are no recordings."""

import json
import os
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.errors import RecordingError
from soft_twin.parallel import Workers, kept_to_the_end, working_with
from soft_twin.studies.learning import real_tips
from soft_twin.studies.learning.trunk_arcs import Trunk
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


@pytest.fixture
def known(tmp_path, monkeypatch):
    """Where recordings are of an arm whose tip is linear in directions, and of a trunk of arcs behind a play of 0.09
    that in its second recording hangs off its middle at first; little of it is looked for."""
    random = np.random.default_rng(3)
    directions = Rotation.random(80, rng=random).as_matrix()[:, :1]
    arm = ArmRecording(np.arange(1), 9.8 * directions, 0.0 * directions, directions[:, 0] * 0.5, np.zeros((80, 2)))
    monkeypatch.setattr(real_tips, "read_recording", lambda path: arm)
    names = list(real_tips.TRUNK_FILES)[:3]
    for name, value in (("TRAINED", 60), ("PLAYS", (0.09,)), ("ARCS", ((0.03, 0.03), (0.09, 0.03))),
                        ("TRUNK_FILES", {each: real_tips.TRUNK_FILES[each] for each in names})):  # fmt: skip
        monkeypatch.setattr(real_tips, name, value)
    gains = np.array([[[0.5, 0.1], [0.1, -0.5]], [[0.7, 0.0], [0.2, 0.6]], [[0.6, -0.1], [0.1, 0.8]]])
    spread = np.array([[1.0, 0.8, 0.9], [0.1, 1.0, 0.9], [0.0, 0.1, 1.0]])
    trunk = Trunk(np.zeros(2), np.full(3, 0.1), np.zeros((3, 2)), spread, gains)
    folder = tmp_path / real_tips.TRUNK
    folder.mkdir()
    for i, files in enumerate(real_tips.TRUNK_FILES.values()):
        inputs = np.vstack([np.zeros(6), random.uniform(-0.2, 0.2, (24, 6))])
        if i == 1:
            inputs *= 0.3  # nothing takes the trunk from where friction holds it
        places = trunk.places(real_tips.play(inputs, 0.09, 0.08 * (i == 1))).reshape(25, 9)
        places += random.normal(0.0, 5e-4, places.shape)
        for file, values in zip(files, (inputs, places), strict=True):
            np.savetxt(folder / file, np.column_stack([np.arange(25), values]), delimiter=",", header="ID", comments="")
    return tmp_path


def test_what_is_an_arm_of_arcs_is_found_to_be_one(known, tmp_path, monkeypatch):
    learn, learned = real_tips.learn_arcs, []

    def interrupted(*what):
        if len(learned) == 3:
            learned.append("again")
            raise KeyboardInterrupt
        learned.append(what)
        return learn(*what)

    monkeypatch.setattr(real_tips, "learn_arcs", interrupted)
    with working_with(Workers(1)):
        with pytest.raises(KeyboardInterrupt, match="3 of 6 trunks of arcs are kept"), kept_to_the_end():
            real_tips.run(tmp_path, known)
        with kept_to_the_end():
            told = real_tips.run(tmp_path, known)
    assert len(learned) == 4 + 3 + 3, "what was learned before is kept"
    content = json.loads((tmp_path / "table.json").read_text())
    assert content["tensegrity_arm"]["mm"]["regression"] < 2.0 < 100.0 < content["tensegrity_arm"]["mm"]["mean"]
    held = content["trunk"][list(real_tips.TRUNK_FILES)[1]]
    assert "arcs: play of 0.09" in held["chosen"]
    assert held["mm"][real_tips.STARTED] < 4.0, "learned from two that hang in their middle"
    assert min(held["mm"]["arcs"], held["mm"]["linear"]) > 20.0, "inputs do not tell where it hangs"
    assert len(told.splitlines()) == 7 and np.ptp(matplotlib.image.imread(tmp_path / "tips.png")) > 0.5


def test_broken_tables_are_told(tmp_path):
    with pytest.raises(RecordingError, match="no recording"):
        real_tips.read_trunk(tmp_path)
    for files in real_tips.TRUNK_FILES.values():
        (tmp_path / files[0]).write_text("ID,u1\n0,nonsense\n")
        (tmp_path / files[1]).write_text("ID,x\n0,1\n")
    with pytest.raises(RecordingError, match="not readable as a table"):
        real_tips.read_trunk(tmp_path)
