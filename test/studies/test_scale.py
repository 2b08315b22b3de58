"""Scale: small bodies of the series sag more and more towards what does not lock, and answer every question."""

import matplotlib.image
import numpy as np

from soft_twin.studies import scale
from soft_twin.studies.scale import PAPERS, table


def test_finer_bars_sag_more_and_both_solvers_settle(tmp_path, monkeypatch):
    runs = []
    monkeypatch.setattr(scale, "GRIDS", ((2, 2, 5), (4, 4, 10)))
    monkeypatch.setattr(scale, "table", lambda found: runs.extend(found) or table(found))
    lines = scale.run(tmp_path, tmp_path).splitlines()
    assert 0.0 < runs[0].sag < runs[1].sag < 0.012
    assert [each.unknowns for each in runs] == [3 * 9 * 5, 3 * 25 * 10]
    assert all(2 <= each.static_steps < 15 and 1.0 <= each.dynamic_steps < 10.0 for each in runs)
    assert len(lines) == 3
    assert str(PAPERS[1]) in lines[2]
    assert np.ptp(matplotlib.image.imread(tmp_path / "scale.png")) > 0.5
