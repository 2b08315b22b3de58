"""The study of unlike twins: what is left out, what is kept where it is interrupted, and what is told of each."""

import json

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.errors import UsageError
from soft_twin.studies.learning import twins
from soft_twin.studies.learning.twins import ARCS, FEM, ROWS

TRIED = []
SHARES = (1.0, 0.5, 0.5, 0.25)


def learned_on(above, case):
    """A twin that is 8 mm off, or 16, of which a correction leaves a quarter; interrupted at the third try."""
    TRIED.append(case[:2])
    if len(TRIED) == 3:
        raise KeyboardInterrupt
    before = 8.0 if case[1] == FEM else 16.0
    rows = {name: np.array([before, 3.0 * before]) * factor for name, factor in zip(ROWS, SHARES, strict=True)}
    return rows | {name: np.array(0.2) for name in ("surrogate", "simulation_s", "training_s")}


def test_twins_that_cannot_be_are_left_out_at_once_and_others_are_kept(tmp_path, monkeypatch, capsys):
    def absent(robot):
        raise UsageError(f"no MuJoCo for {robot.name}")

    monkeypatch.setattr(twins, "chain_of", absent)
    monkeypatch.setattr(twins, "learned_on", learned_on)
    TRIED.clear()
    with pytest.raises(KeyboardInterrupt, match="2 of 3 twins are kept"):
        twins.run(tmp_path, tmp_path)
    assert capsys.readouterr().out == "left out: no MuJoCo for bellows\n"
    told = twins.run(tmp_path, tmp_path).splitlines()
    assert TRIED == [("manipulator", FEM), ("manipulator", ARCS), ("bellows", FEM), ("bellows", FEM)]
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [(row["robot"], row["twin"]) for row in rows] == TRIED[:3]
    assert [row["corrected"] for row in rows] == [[2.0, 6.0], [4.0, 12.0], [2.0, 6.0]]
    assert len(told) == 4 and all(line.count("-75 %") == 1 for line in told[1:])
    assert np.ptp(matplotlib.image.imread(tmp_path / "twins.png")) > 0.5
