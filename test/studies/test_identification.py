"""Identification of a known beam: both methods, table and picture, without recordings."""

import os
from pathlib import Path

import pytest

from soft_twin.errors import UsageError
from soft_twin.parallel import Workers, working_with
from soft_twin.studies import identification
from soft_twin.studies.beam import read_recordings

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))


@pytest.fixture(scope="module", autouse=True)
def here():
    """All in this process: to start others takes longer than what they would do."""
    with working_with(Workers(1)):
        yield


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


def test_a_rest_of_the_real_beam_tells_the_stiffness_over_the_weight(tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    try:
        read_recordings(DATA)
    except UsageError as missing:
        pytest.skip(str(missing))
    rows, table = [], identification.table
    sizes = {"TRIALS": {"rest": 2, "motion": 1}, "EVALUATIONS": 2, "WINDOW": 0.03}
    for name, value in (sizes | {"KNOWN": {}, "table": lambda found: rows.extend(found) or table(found)}).items():
        monkeypatch.setattr(identification, name, value)
    text = identification.run(tmp_path, DATA)
    assert "left out" not in text and len(text.splitlines()) == 1 + len(rows) + 2
    for row in rows[:2]:
        ratio = row.found.values["young_modulus"] / row.found.values["density"]
        assert ratio == pytest.approx(238.0, rel=0.1), "as 20 times as many trials find it"
    assert all(row.found.history[-1, 1] <= row.found.history[0, 1] for row in rows)
    assert set(rows[2].found.values) == {"young_modulus", "poisson_ratio", "density", "mass_damping"}
    assert (tmp_path / "search.png").exists()
