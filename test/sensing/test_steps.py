"""Readings that jump: a wild one is held back, one that stays is believed, and no turn is lost by it."""

import pytest

from soft_twin.sensing.steps import StepFilter

DT = 0.01


def _run(readings, step=1.0, made_up=False):
    steps = StepFilter(step, made_up)
    return [steps.update(reading, DT) for reading in readings]


def test_a_single_wild_reading_is_replaced_by_the_one_before():
    answers = _run([(0.1, 0.0, 0.0), (30.0, 0.0, 0.0), (0.2, 0.0, 0.0)])
    assert [believed[0] for believed, _ in answers] == [0.1, 0.1, 0.2]
    assert answers[1][1] == pytest.approx(29.9)
    assert answers[2][1] == 0.0


def test_a_reading_that_stays_is_believed_at_the_third():
    answers = _run([(0.0, 0.0, 0.0)] + 3 * [(5.0, 0.0, 0.0)])
    assert [believed[0] for believed, _ in answers] == [0.0, 0.0, 0.0, 5.0]


def test_a_turn_that_was_held_back_is_made_up_for():
    readings = [(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (5.5, 0.0, 0.0), (6.0, 0.0, 0.0)]
    answers = _run(readings, made_up=True)
    assert sum(believed[0] for believed, _ in answers) == pytest.approx(sum(reading[0] for reading in readings))


def test_what_jumps_to_less_is_believed_at_once():
    answers = _run([(0.0, 0.0, 0.0)] + 3 * [(5.0, 0.0, 0.0)] + [(0.1, 0.0, 0.0)])
    assert answers[-1] == ((0.1, 0.0, 0.0), 0.0)


def test_wild_readings_that_differ_are_never_believed():
    answers = _run([(0.0, 0.0, 0.0)] + [(20.0 * (-1) ** i, 0.0, 0.0) for i in range(20)])
    assert all(believed == (0.0, 0.0, 0.0) for believed, _ in answers)


def test_in_rough_motion_usual_steps_are_no_jumps():
    ramp = [(0.9 * i, 0.0, 0.0) for i in range(5)]
    assert _run([*ramp, (6.0, 0.0, 0.0)])[-1] == ((6.0, 0.0, 0.0), 0.0)


def test_after_a_restart_anything_is_believed():
    steps = StepFilter(1.0, made_up=False)
    steps.update((0.0, 0.0, 0.0), DT)
    steps.restart((50.0, 0.0, 0.0))
    assert steps.update((50.5, 0.0, 0.0), DT) == ((50.5, 0.0, 0.0), 0.0)
