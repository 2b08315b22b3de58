"""Which motions of a winch are accused, from its equation i = m v̇ + b v alone."""

import numpy as np
import pytest

from soft_twin.descriptions.drives import CableLimits
from soft_twin.driving.cables.supervision import Motion, Supervision, SupervisionLimits

DT = 0.004
INERTIA = SupervisionLimits().inertia


def _accused(rate_limit, rate, current, friction, torque=1.0, pull=0.0, known=0.0, ticks=5, sure=0.0, dry=0.0):
    """What is said of a winch that turns at a rate [m/s] with this current [A]; its torque is so many times that.

    A cable pulls at it by as much as a current `pull`, and is known to pull by `known` [A]. Its friction is known to be
    `sure` [A s/m] at the least; `dry` [A] of it do not grow with the rate.
    """
    limits = CableLimits(tension=(0.0, 5.0), displacement=(-0.01, 0.02), rate=rate_limit)
    supervision = Supervision(SupervisionLimits(), limits, 1)
    acceleration = (torque * current - friction * rate - dry * np.sign(rate) - pull) / INERTIA
    accelerations = np.full((2, 1), acceleration)
    rates, currents, pulls = np.array([rate]), np.array([current]), np.array([known])
    motion = Motion(np.zeros(1), rates, accelerations, currents, pulls, np.full(1, sure), DT, np.full(1, DT))
    return [text for _ in range(ticks) for _, text in supervision.check(motion, np.array([27.7]))]


@pytest.mark.parametrize("rate_limit", [0.02, 0.05, 0.3, 2.0])
@pytest.mark.parametrize("friction", [0.0, 1.8, 5.0, 25.0])
@pytest.mark.parametrize("current", [-0.16, -1.0, -3.0])
def test_a_winch_that_brakes_is_not_accused_whatever_its_friction_and_rate(rate_limit, friction, current):
    assert _accused(rate_limit, 1.25 * rate_limit, current, friction) == []


@pytest.mark.parametrize(("friction", "current", "ticks"), [(5.0, -1.0, 2), (12.0, -1.0, 2), (1.8, -0.2, 9)])
def test_a_winch_whose_torque_has_turned_round_is_accused_while_it_speeds_up(friction, current, ticks):
    assert _accused(0.05, 0.03, current, friction, torque=-1.0, ticks=ticks - 1) == []
    said = _accused(0.05, 0.03, current, friction, torque=-1.0, ticks=ticks)
    assert "turns against its current" in said[0]


@pytest.mark.parametrize("pull", [0.8, 3.0])
def test_a_winch_whose_cable_pulls_it_out_is_not_accused_but_one_that_helps_the_cable_is(pull):
    """A stiff body wins for a moment when a winch stops under load: what is known of its pull is a little late."""
    weak, late = 0.6 * pull, 0.85 * pull
    assert _accused(0.1, -0.003, weak, 17.0, pull=pull, known=late) == []
    said = _accused(0.1, -0.003, weak, 17.0, torque=-1.0, pull=pull, known=late)
    assert "turns against its current" in said[0]


def test_friction_that_is_known_betrays_a_reversed_motor_that_lets_a_cable_out_evenly():
    """17 A s/m · 80 mm/s = 1.36 A hold a pull of 0.75 A and a current of 0.6 A that pulls, too."""
    evenly = {"friction": 17.0, "torque": -1.0, "pull": 0.75, "known": 0.75}
    assert _accused(0.1, -0.08, 0.6, **evenly) == []
    assert "turns against its current" in _accused(0.1, -0.08, 0.6, **evenly, sure=16.5)[0]


def test_friction_that_is_known_and_partly_dry_accuses_no_motor_that_holds_its_cable():
    """0.3 A of dry friction look like 5 A s/m more where the winch has been slow."""
    said = [_accused(0.1, -rate, 0.3, 17.0, pull=1.5, known=1.4, sure=21.0, dry=0.3) for rate in (0.02, 0.06, 0.1)]
    assert said == [[], [], []]


def _live(rate, current, torque=1.0, stiffness=0.0, slack=0.0, rate_limit=0.1, leverage=1.0):
    """How far a winch with 16 A s/m has wound in [m] when it is accused; None if it is not within 0.1 s.

    It runs at a rate [m/s] with a current(t, rate) [A]; from `slack` [m] on a cable pulls by `stiffness` [A/m]. What is
    known of the pull is smoothed over 50 ms, as the driver does.
    """
    limits = CableLimits(tension=(0.0, 120.0), displacement=(-0.04, 0.05), rate=rate_limit)
    supervision = Supervision(SupervisionLimits(), limits, 2, leverage=leverage)
    friction, inertia, h, look = 16.0 * leverage, INERTIA * leverage, 1e-4, DT
    way = known = 0.0
    for k in range(round(0.1 / look)):
        before = rate
        for n in range(round(look / h)):
            told = current(k * look + n * h, rate)
            pull = stiffness * max(way - slack, 0.0)
            rate += h * (torque * told - friction * rate - pull) / inertia
            way += h * rate
        accelerations = np.full((2, 2), (rate - before) / look) * [1.0, 0.0]
        known += look / 0.05 * (max(told - inertia * accelerations[0, 0] - friction * rate, 0.0) - known)
        first = [np.array([value, 0.0]) for value in (rate, told, known)]
        motion = Motion(np.zeros(2), first[0], accelerations, *first[1:], np.zeros(2), look, np.full(2, look))
        if supervision.check(motion, np.full(2, 27.7)):
            return way
    return None


def test_a_motor_that_is_reversed_while_it_winds_in_is_no_cable_that_pulls_ever_harder():
    """It is slowed down as by some tenths of an ampere, which friction might explain while it still runs in."""
    assert _live(0.1, lambda _, rate: 0.5 + 4.0 * (0.06 - rate), torque=-1.0) > 0.0, "named before it is back"


def test_a_reversed_motor_that_runs_away_on_a_large_drum_is_no_cable_that_pulls_ever_harder():
    """Four times as large, it lets out eight times as fast after 30 ms: a pull of 1000 N/m might grow by 75 A/s."""
    way = _live(-0.0004, lambda _, rate: min(0.005 - 10.0 * rate, 6.0), torque=-1.0, rate_limit=0.4, leverage=0.25)
    assert way > -0.001


def test_a_sound_motor_that_winds_in_a_body_that_gets_caught_may_spring_back():
    assert _live(0.1, lambda t, rate: 1.6 + 4.0 * t, stiffness=180.0, slack=0.001) is None


@pytest.mark.parametrize(("error", "said"), [(0.002, (True, False)), (0.003, (True, True)), (0.001, (False, False))])
def test_a_cable_may_spring_back_by_what_its_highest_tension_holds(error, said):
    """2.5 mm of it; one with hardly any tension is accused from 1.5 mm on."""
    limits, rest = CableLimits(tension=(0.0, 5.0), displacement=(-0.01, 0.02), rate=0.1), np.zeros((2, 1))
    motion = Motion(np.full(1, -error), np.zeros(1), rest, *np.zeros((3, 1)), DT, np.full(1, DT))
    for spring_back, accused in zip((0.0, 0.0025), said, strict=True):
        supervision = Supervision(SupervisionLimits(), limits, 1, spring_back)
        looks = [supervision.check(motion, np.array([27.7])) for _ in range(20)]
        assert any(looks) == accused


def test_no_cable_pulls_a_winch_in():
    assert _accused(0.1, 0.003, -1.0, 17.0, torque=-1.0, known=3.0)


@pytest.mark.parametrize(("between", "accused"), [((-1.0, 1.0), True), ((1.0, 1.0), False)])
def test_only_a_look_that_clears_a_motor_for_sure_clears_it(between, accused):
    """Every second sample may come too late to say how fast the speed has changed."""
    limits = CableLimits(tension=(0.0, 5.0), displacement=(-0.01, 0.02), rate=0.05)
    supervision, said = Supervision(SupervisionLimits(), limits, 1), []
    for accelerations in ((-1.0, -1.0), between, (-1.0, -1.0)):
        bounds = np.array(accelerations).reshape(2, 1) / INERTIA
        motion = Motion(np.zeros(1), np.zeros(1), bounds, np.ones(1), *np.zeros((2, 1)), DT, np.full(1, DT))
        said += supervision.check(motion, np.array([27.7]))
    assert bool(said) == accused


@pytest.mark.parametrize("innocent", [0, 1])
def test_a_winch_is_accused_by_an_acceleration_only_if_none_that_fits_excuses_it(innocent):
    limits = CableLimits(tension=(0.0, 5.0), displacement=(-0.01, 0.02), rate=0.05)
    against, with_it = np.full(1, -1.0 / INERTIA), np.full(1, 1.0 / INERTIA)
    said = []
    for accelerations in (np.array([against, against]), np.roll([against, with_it], innocent, axis=0)):
        supervision = Supervision(SupervisionLimits(), limits, 1)
        motion = Motion(np.zeros(1), np.zeros(1), accelerations, np.ones(1), *np.zeros((2, 1)), DT, np.full(1, DT))
        said.append([text for _ in range(5) for _, text in supervision.check(motion, np.array([27.7]))])
    assert said[0] and not said[1]


def _standing(currents, pull, rates=(0.0,), unfelt=0.0):
    """What is said of a motor that is where it should be, look by look, with these currents [A] and, in turn, rates
    [m/s]; its cable was known to pull by as much as a current `pull` before, and comes to be known by what it has."""
    limits = CableLimits(tension=(0.0, 100.0), displacement=(-0.01, 0.02), rate=0.1)
    supervision, said = Supervision(SupervisionLimits(), limits, 1, unfelt=unfelt), []
    for look, current in enumerate(currents):
        rate, unknown = np.full(1, rates[look % len(rates)]), np.full((2, 1), np.nan)
        of_motor = np.full(1, current), np.full(1, pull), np.zeros(1)
        motion = Motion(np.zeros(1), rate, unknown, *of_motor, DT, np.full(1, DT))
        pull += (max(current, 0.0) - pull) * DT / 0.05
        said += [text for _, text in supervision.check(motion, np.array([27.7]))]
    return said


@pytest.mark.parametrize(("current", "pull"), [(1.5, 0.0), (3.0, 1.5), (-1.5, 4.0)])
def test_a_rotor_that_its_current_must_turn_and_that_is_not_seen_to_turn_at_all_is_named_in_20_ms(current, pull):
    """It may turn unseen by a stuck encoder, at 3 A and 0.34 A s²/m by 0.18 m/s after so long."""
    assert _standing(5 * [current], pull) == []
    said = _standing(6 * [current], pull)
    assert "does not turn at all" in said[0] and "encoder" in said[0]


def test_a_rotor_that_its_cable_or_friction_holds_is_not_stuck():
    assert _standing([3.0] * 50, 2.5) == [], "held by a cable that pulls"
    assert _standing([0.9] * 50, 0.0) == [], "dry friction"
    assert _standing([-0.9] * 50, 3.0) == []
    assert _standing([1.5] * 50, 0.0, unfelt=0.8) == [], "held by a cable whose pull is not known"
    assert _standing([2.0] * 50, 0.0, rates=(0.0, 0.0, 0.0, 2e-5)) == [], "it creeps by its finest step"
