"""A chip whose bias follows its temperature loses its yaw unless it is heated, and only while it moves."""

import pytest

from soft_twin.studies.slender import heating

SHORT = 8.0  # [s]


@pytest.fixture(scope="module")
def rows():
    cases = [("swings", False, 2), ("swings", True, 2)]
    return [heating.drift(SHORT, case)[0] for case in cases]


def test_without_heater_yaw_is_lost_and_with_it_kept(rows):
    off, on = rows
    assert off.warmed > 1.5 > 0.75 > abs(on.warmed)
    assert off.yaw_deg > 0.5 and on.yaw_deg < 0.3 * off.yaw_deg
    assert on.inclination_deg < 1.0


def test_every_trial_is_in_the_table(rows):
    text = heating.table([*rows, *(row.__class__("static", row.heated, 1, 0.0, 0.0, 0.0) for row in rows)])
    assert f"{rows[0].yaw_deg:.2f}" in text and len(text.splitlines()) == 2 + 4
