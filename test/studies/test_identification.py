"""Identification of a known beam: both methods, table and picture, without recordings."""

import pytest

from soft_twin.errors import UsageError
from soft_twin.studies import identification


def test_a_known_beam_is_found_again(tmp_path, monkeypatch):
    pytest.importorskip("optuna")

    def absent(data):
        raise UsageError("not here")

    monkeypatch.setattr(identification, "TRIALS", {"rest": 6, "motion": 1})
    monkeypatch.setattr(identification, "read_recordings", absent)
    text = identification.run(tmp_path, tmp_path)
    lines = text.splitlines()
    assert "E 264 kPa, ν 0.45" in lines[1] and "E 264 kPa, ρ 1070" in lines[3]
    assert "search" in lines[2] and " 12 " in lines[2]
    assert "left out: not here" in lines[-1]
    assert (tmp_path / "search.png").exists()
