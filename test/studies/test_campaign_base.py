"""The running of many cases, with campaigns whose outcome is known."""

import time

import pytest

from soft_twin.errors import UsageError
from soft_twin.studies.campaigns import open_campaign
from soft_twin.studies.campaigns.base import BROKEN, HANG, Campaign, Violation, run_campaign, run_guarded


class _EveryThird(Campaign):
    name = "every_third"

    def run_case(self, seed):
        return [Violation("third", 0.5, f"seed {seed}")] * 2 if seed % 3 == 0 else []


class _Odd(Campaign):
    name = "odd"
    patience = 0.05

    def run_case(self, seed):
        if seed == 0:
            raise ValueError("the judge itself")
        if seed == 1:
            while True:
                time.sleep(0.01)
        if seed == 3:
            raise KeyboardInterrupt
        return []


def test_every_case_is_run_and_counted():
    result = run_campaign(_EveryThird(), range(10, 40))
    assert result.cases == 30
    assert sorted(result.failed) == list(range(12, 40, 3))
    assert result.kinds() == {"third": 10}
    assert result.seeds("third")[0] == 12


def test_a_case_that_hangs_and_a_campaign_that_fails_are_violations():
    assert [one.kind for one in run_guarded(_Odd(), 0)] == [BROKEN]
    assert [one.kind for one in run_guarded(_Odd(), 1)] == [HANG]
    assert run_guarded(_Odd(), 2) == []


def test_an_interruption_keeps_what_is_done():
    result = run_campaign(_Odd(), range(2, 9))
    assert (result.cases, result.failed) == (1, {})


def test_progress_names_what_is_left():
    lines = []
    run_campaign(_EveryThird(), range(4), say=lines.append)
    assert lines[-1] == "every_third: 4 of 4 cases, 2 with violations, 0:00 to go"


def test_an_unknown_campaign_is_refused_by_name():
    with pytest.raises(UsageError, match="no campaign 'legs': there are motors"):
        open_campaign("legs")
