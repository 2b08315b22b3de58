import importlib.util

import pytest

from soft_twin.resources import folder


@pytest.fixture(scope="module")
def campaign():
    spec = importlib.util.spec_from_file_location("fault_campaign", folder("bench") / "fault_campaign.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_random_faults_move_nothing_and_are_named(campaign):
    outcome = campaign.Campaign(seed=1).run(20.0)
    assert sum(outcome.faults.values()) >= 8
    assert (outcome.over_limit, outcome.runaways, outcome.unrecovered) == (0, 0, 0)
    assert not outcome.unnamed


def test_the_judge_sees_cables_and_currents_beyond_their_limits(campaign):
    run = campaign.Campaign(3)
    run.run(0.1)
    run._motors.displacements[2] = 0.02
    run._currents[4] = 0.5  # while nothing is enabled
    run._judge()
    assert (run.outcome.runaways, run.outcome.over_limit) == (1, 1)
