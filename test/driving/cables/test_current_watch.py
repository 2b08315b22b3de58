"""Who gives no current is told from what was told and what flows, however often what is told begins anew."""

import numpy as np

from soft_twin.driving.cables.current_watch import CurrentLimits, CurrentWatch

DT = 0.004
LIMITS = CurrentLimits()


def _failed_after(told, gives):
    """After how many seconds a motor that is told these currents [A] and gives `gives(current, tick)` has failed."""
    watch, given = CurrentWatch(LIMITS, 1), 0.0
    for tick, current in enumerate(told):
        watch.update(np.array([current]), np.array([given]), DT)
        if len(watch.failed()):
            return tick * DT
        given = gives(current, tick)
    return np.inf


def test_a_hot_motor_is_named_though_its_motion_begins_anew_each_time_that_it_lags_behind():
    told = [*np.linspace(0.6, 4.5, 10)] * 20
    assert _failed_after(told, lambda current, _: min(current, 0.28)) < 0.2


def test_dips_that_end_are_no_failure():
    def gives(current, tick):
        return 0.0 if tick % 50 < 15 else current

    assert _failed_after([1.0] * 400, gives) == np.inf


def test_after_a_dip_a_motor_that_is_told_too_little_to_judge_has_not_failed():
    told = [1.0] * 20 + [0.1] * 500
    assert _failed_after(told, lambda current, tick: 0.0 if tick < 20 else current) == np.inf


def test_a_motor_that_is_told_to_turn_back_all_the_time_has_not_failed():
    told = 2.0 * np.sin(40.0 * DT * np.arange(500))
    assert _failed_after(told, lambda current, _: current) == np.inf
