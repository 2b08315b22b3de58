"""A recording of a run of before, through the code of today: what the nodes said then is what the library says now.

`recorded/slender.mcap` is what `replay` reads of a short run of the emulated slender robot, made by the commit before
the one that added it; `slender.yaml` is the description of that run. Where a difference is meant, record it anew.
Processors that round otherwise are nanometres apart, as a search that ends a step earlier is.
"""

from pathlib import Path

import pytest

from soft_twin import load_robot
from soft_twin.recording.replay import replay

RECORDED = Path(__file__).parent / "recorded"
SAME = 1e-7  # [m]


@pytest.fixture(scope="module")
def replayed():
    return replay(RECORDED / "slender.mcap", load_robot(RECORDED / "slender.yaml"))


def test_from_gravity_to_commands_it_says_what_was_said_then(replayed):
    gravity, tip, commands = replayed.comparisons
    assert [gravity.what, tip.what, commands.what] == ["gravity", "twin/tip", "cables/command"]
    assert (gravity.pairs, tip.pairs, commands.pairs) == (1164, 1163, 334)
    assert replayed.left_out == 0
    assert gravity.largest < 1e-8  # [deg]
    assert max(tip.largest, commands.largest) < 1e3 * SAME  # [mm]


def test_the_recorded_base_turned_and_cables_pulled(replayed):
    """Else there is nothing that could differ."""
    assert replayed.gravity[:, 1].min() < -7.0 < -1.0 < replayed.gravity[:, 1].max()
    assert replayed.displacements.max() > 5e-4
