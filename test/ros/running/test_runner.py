"""How a run ends, as its leader tells it."""

from types import SimpleNamespace

import pytest

from soft_twin.errors import RunError
from soft_twin_ros.running import runner
from soft_twin_ros.running.processes import Outcome

STALLED = RunError("neck/cables_to_motors: motor 1 (cable_1) stalled")


@pytest.mark.parametrize(("error", "outcome"), [(None, Outcome.DONE), (STALLED, str(STALLED))])
def test_a_run_that_fails_says_as_one_that_ends_how_slow_its_robot_was(monkeypatch, error, outcome):
    """A busy machine is a reason to doubt what a node blames."""

    def run(leader):
        if error is not None:
            raise error

    monkeypatch.setattr(runner, "from_text", lambda text: SimpleNamespace(run=run))
    told = []
    leader = SimpleNamespace(parameters=SimpleNamespace(sequence=""), tell_pace=lambda: told.append("pace"))
    assert runner._lead(leader) == outcome
    assert told == ["pace"]
