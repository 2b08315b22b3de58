"""Scale: small bodies of the series sag more and more towards what does not lock, and answer every question."""

from soft_twin.studies.scale import PAPERS, bar, table


def test_finer_bars_sag_more_and_both_solvers_settle():
    runs = [bar((2, 2, 5)), bar((4, 4, 10))]
    assert 0.0 < runs[0].sag < runs[1].sag < 0.012
    assert [each.unknowns for each in runs] == [3 * 9 * 5, 3 * 25 * 10]
    assert all(2 <= each.static_steps < 15 and 1.0 <= each.dynamic_steps < 10.0 for each in runs)
    lines = table(runs).splitlines()
    assert len(lines) == 3
    assert str(PAPERS[1]) in lines[2]
