"""The real beam, where its recordings are; its parts without them."""

import os
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import UsageError
from soft_twin.studies import beam

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))


@pytest.mark.skipif(not (DATA / "beam_dragonskin").is_dir(), reason="no recordings of the beam here")
def test_rest_period_and_motion_of_the_real_beam(tmp_path):
    pytest.importorskip("c3d")
    recording = beam.read_recordings(DATA)["load52"]
    row = beam.compare(recording, duration=1.0)
    drop, fallen = 1e3 * row.drops
    assert fallen == pytest.approx(17.27, abs=0.1)
    assert drop == pytest.approx(fallen, abs=1.0)
    found, measured = row.periods
    assert measured == pytest.approx(0.23, abs=0.005)
    assert found == pytest.approx(measured, rel=0.05)
    assert row.error < 4e-3
    assert "0.51 N" in beam.table({"load52": row})
    beam.draw(tmp_path, {"load52": row})
    assert {path.name for path in tmp_path.iterdir()} == {"motion.png", "errors.png"}


def test_missing_recordings_are_said(tmp_path):
    with pytest.raises(UsageError, match="no recordings of the beam"):
        beam.read_recordings(tmp_path)


def test_the_period_is_that_of_a_damped_oscillation():
    times = beam.STEP * np.arange(300)
    heights = 0.01 * np.exp(-2.0 * times) * np.cos(2.0 * np.pi * times / 0.213) - 0.02
    assert beam.period(heights) == pytest.approx(0.213, rel=1e-3)


def test_rigid_motions_are_found_again():
    turn = np.array([[0.0, -1.0, 0.0], [0.6, 0.0, -0.8], [0.8, 0.0, 0.6]])
    shift = np.array([0.1, -2.0, 0.3])
    found, moved = beam.rigid_motion(beam.MARKERS, beam.MARKERS @ turn.T + shift)
    assert np.abs(found - turn).max() < 1e-9 and np.abs(moved - shift).max() < 1e-9
