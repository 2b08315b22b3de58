import numpy as np
import pytest

from soft_twin.experiments.cable_faults import CableCampaign
from soft_twin.experiments.valve_faults import BACKENDS, ValveCampaign


def _clean(outcome):
    return (outcome.over_limit, outcome.runaways, outcome.unrecovered, dict(outcome.unnamed)) == (0, 0, 0, {})


def test_random_faults_of_motors_move_nothing_and_are_named():
    outcome = CableCampaign(seed=1).run(20.0)
    assert sum(outcome.faults.values()) >= 8
    assert _clean(outcome), outcome


@pytest.mark.parametrize("backend", BACKENDS)
def test_random_faults_of_valves_move_nothing_and_are_named(backend):
    outcome = ValveCampaign(backend, seed=1).run(60.0)
    assert sum(outcome.faults.values()) >= 10
    assert _clean(outcome), outcome


def test_the_judge_sees_cables_and_currents_beyond_their_limits():
    campaign = CableCampaign(3)
    campaign.run(0.1)
    campaign._motors.displacements[2] = 0.02
    campaign._currents[4] = 0.5  # while nothing is enabled
    campaign._judge()
    assert (campaign.outcome.runaways, campaign.outcome.over_limit) == (1, 1)


def test_the_judge_sees_cables_that_are_driven_out_or_race():
    campaign = CableCampaign(3)
    campaign.run(0.1)
    campaign._motors.displacements[2], campaign._motors.rates[2] = -0.01, -0.02
    campaign._currents[3] = -0.1
    campaign._judge()
    assert campaign.outcome.runaways == 1
    campaign._currents[3] = 0.0
    campaign._motors.rates[2] = 0.2
    for _ in range(10):
        campaign._judge()
    assert campaign.outcome.runaways > 2


def test_the_judge_sees_pressures_beyond_their_limits():
    campaign = ValveCampaign("dac_board", 3)
    campaign.run(1.0)
    assert _clean(campaign.outcome)
    campaign._told = np.array([0.1e6, 0.5e6, 0.1e6, 0.1e6])
    campaign._judge()
    assert campaign.outcome.over_limit == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_the_judge_sees_chambers_that_fill_by_themselves(enabled):
    campaign = ValveCampaign("modbus", 3)
    campaign.run(2.0)
    if not enabled:
        campaign._control.relax()
        campaign._judge()
    campaign._plant.chambers.pressures[2] += 0.31e6 if enabled else 0.2e6
    campaign._judge()
    assert campaign.outcome.runaways == 1


def test_faults_that_leave_no_trace_are_told():
    campaign = ValveCampaign("dac_board", 3)
    campaign.run(2.0)
    campaign._fault = "stuck"
    campaign._before = campaign._counters()
    campaign._end_fault()
    assert campaign.outcome.unnamed == {"stuck": 1}
    assert not np.any(campaign._plant.chambers.stuck)
