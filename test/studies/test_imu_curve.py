"""The operating curve and the observer: sound boards are not doubted, visible faults are, a lower limit costs."""

import numpy as np
import pytest

from soft_twin.sensing.hypotheses import HypothesesParameters
from soft_twin.studies.campaigns import imu
from soft_twin.studies.campaigns.imu_curve import CHECKS, LIMITS, Outcome, outcomes, points
from soft_twin.studies.campaigns.imu_observer import probability_of_fault


def case_with(*names, start=None):
    """The first case whose only fault is one of these."""
    for seed in range(20_000, 21_000):
        case = imu.make_case(seed)
        alone = len(case.faults) == 1 and case.faults[0].name in names
        if alone and (start is None or case.faults[0].start > start):
            return case
    raise AssertionError(names)


def doubt(case, damaged):
    return probability_of_fault(case.motion, case.undamaged, damaged, imu.DURATION)


def test_the_observer_sees_nothing_where_nothing_is_damaged():
    case = case_with("gap", "delay", "reconnect")
    np.testing.assert_allclose(doubt(case, case.readings), 0.012, atol=1e-9)


@pytest.mark.parametrize("name", ["gyroscope axes", "gyroscope signs"])
def test_the_observer_sees_wrong_axes_as_the_base_turns_and_not_before(name):
    case = case_with(name, start=1.0)
    believed, time = doubt(case, case.readings), case.readings.true_time
    assert believed[time < case.faults[0].start].max() < 0.02
    assert believed[-1] > 0.9


def test_the_observer_takes_broken_values_for_what_they_are():
    case = case_with("absurd value")
    believed = doubt(case, case.readings)
    assert np.isfinite(believed).all()
    assert believed[-1] > 0.99


def test_a_lower_limit_is_wrong_less_often_and_withdraws_more():
    found = [outcomes(seed) for seed in (910002, 910009, 910011)]
    for one in found:
        for check in CHECKS:
            at = [one[check, limit] for limit in LIMITS]  # from 1 down
            assert np.all(np.diff([int(each.wrong) for each in at]) <= 0)
            assert np.all(np.diff([each.available for each in at]) <= 0.0)
        for limit in LIMITS:
            assert one["both", limit].available <= one["bank", limit].available


def test_the_limit_that_is_used_is_what_the_campaign_judges():
    case = imu.make_case(910009)
    told = imu.live(case)
    wrong = told.valid & ~(told.error <= imu.WRONG) & (told.time >= case.counts_from)
    late = told.time > 2.0
    outcome = outcomes(910009)["both", HypothesesParameters().limit]
    assert (outcome.wrong, outcome.available) == (wrong.any(), pytest.approx(told.valid[late].mean()))


def test_points_are_shares_of_cases():
    worn = Outcome(False, wrong=True, long=False, anywhere=True, known=False, available=0.2, withdrawn=3.0)
    sound = Outcome(True, wrong=False, long=False, anywhere=False, known=True, available=0.9, withdrawn=0.6)
    every = [(check, limit) for check in CHECKS for limit in LIMITS]
    point = points([dict.fromkeys(every, worn), dict.fromkeys(every, sound)])[0]
    assert (point.wrong, point.long, point.anywhere, point.unknown) == (0.5, 0.0, 0.5, 0.5)
    assert (point.available, point.withdrawn, point.cases, point.healthy) == (0.9, 1.0, 2, 1)
