"""The loop closed on the tip by a tracker that fails: what it says wrong leads the robot nowhere, and it comes back."""

from types import SimpleNamespace

import numpy as np
import pytest

from soft_twin.studies.slender import loop, tracker


@pytest.fixture
def softer(small, monkeypatch):
    """A robot that is softer than its twin, and whose tracker is wrong from 0.8 to 1.5 s on."""
    for name, value in {"TURNS": (0.0, 0.8), "TURN": 0.5, "DURATION": 2.5, "BEGIN": 0.8, "END": 1.5, "BACK": 0.7,
                        "LOOKED": 0.3}.items():  # fmt: skip
        monkeypatch.setattr(tracker, name, value)
    monkeypatch.setattr(loop, "SETTLED", 1.0)
    return small(
        "softer", emulated={"young_modulus_scale": 0.7, "density_scale": 1.0, "cable_friction": 0.0, "motor_lag": 0.02}
    )


def test_a_tracker_that_fails_leads_nowhere_and_is_followed_again(softer, same):
    cases = tuple(tracker.CASES)
    rows = {case: tracker.row(case, tracker.follow(str(softer.path), str(same.path), case)) for case in cases}
    alone = rows["no tracker"]
    assert alone.after_mm > 0.5 and alone.correction_mm == 0.0 and alone.closed == 0.0
    for row in list(rows.values())[1:]:
        assert row.after_mm < 0.3 * alone.after_mm, row
        assert row.wrong_mm < alone.wrong_mm + 0.3, row
    assert rows["followed"].closed == 1.0 and rows["followed"].refusal == ""
    for case in ("silent", "elsewhere", "turned by 10°", "another frame", "millimetres"):
        assert 0.2 < rows[case].closed < 0.5  # patience is 0.3 s
    for case in ("jumps", "elsewhere", "turned by 10°"):
        assert "mm at once: is the tracker where it was?" in rows[case].refusal
    assert "mm from the twin's: frame? units? blocked?" in rows["another frame"].refusal
    assert "from the twin's" in rows["millimetres"].refusal
    assert len(tracker.table(list(rows.values())).splitlines()) == len(cases) + 2


def test_a_tracker_is_wrong_for_its_time_alone():
    seen = np.array([0.001, 0.002, 0.098])
    for say in tracker.CASES.values():
        for time in (0.0, tracker.BEGIN - 1e-6, tracker.END, 100.0):
            assert say is None or say(time, seen) is seen
    assert tracker.silent(tracker.BEGIN, seen) is None
    moved = np.linalg.norm(tracker.turned(tracker.BEGIN, seen) - seen)
    assert moved == pytest.approx(2.0 * np.sin(np.radians(5.0)) * np.linalg.norm(seen[1:]))
    assert np.linalg.norm(tracker.in_another_frame(tracker.BEGIN, seen) - seen) > 0.1
    assert tracker.in_millimetres(tracker.BEGIN, seen)[2] == 98.0


def test_a_picture_tells_which_runs_went_the_same_way():
    def run(tip):
        return SimpleNamespace(history=SimpleNamespace(tips=np.full((3, 3), tip)))

    told = tracker.alike([run(tip) for tip in (0.0, 1.0, 2.0, 3.0, 2.0, 2.0, 4.0, 2.0)])
    names = ["no tracker", "followed", "silent, elsewhere, turned by 10°, millimetres", "jumps", "another frame"]
    assert list(told) == names
    assert [each.history.tips[0, 0] for each in told.values()] == [0.0, 1.0, 2.0, 3.0, 4.0]
