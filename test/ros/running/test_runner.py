"""How a run ends, as its leader tells it."""

import os
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


def test_a_run_that_nobody_listens_to_ends_without_an_error(monkeypatch, tmp_path):
    """As of `soft-twin run slender | head -2`."""

    def run(leader):
        raise BrokenPipeError

    monkeypatch.setattr(runner, "from_text", lambda text: SimpleNamespace(run=run))
    reading, writing = os.pipe()
    runner._tell(writing, runner._lead(SimpleNamespace(parameters=SimpleNamespace(sequence=""))))
    with pytest.raises(BrokenPipeError):  # which the command line takes for an end
        Outcome(SimpleNamespace(), reading, tmp_path).text()
