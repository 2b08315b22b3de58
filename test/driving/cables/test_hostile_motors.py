"""What motors, encoders and supplies do to a driver on a bad day; judged by how the rotors turn."""

import re
from collections import deque
from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.driving.control import ActuatorControl
from soft_twin.emulation.c610 import EmulatedC610, MotorParameters
from soft_twin.errors import DeviceError

from ..simulated import DT, SPRING, SimulatedWinches

STEP = np.full(6, 0.008)
RATE = 0.05  # [m/s] limit of the slender robot
DRUM, TORQUE_CONSTANT, INERTIA = 0.0065, 0.18, 4e-4


def _viscous(friction):
    """A motor that needs so many amperes for each metre per second."""
    return MotorParameters(lag=INERTIA / (friction * DRUM * TORQUE_CONSTANT))


def _dry(current):
    """A motor that starts to turn at so many amperes."""
    return MotorParameters(friction=current * TORQUE_CONSTANT)


@cache
def _once_heard(options):
    winches = SimulatedWinches(**dict(options))
    winches.run(0.6)
    return winches


@cache
def _once_active(position, options):
    winches = deepcopy(_once_heard(options))
    winches.control.home()
    winches.control.enable()
    winches.run(0.5, np.full(6, position))
    return winches


def _heard(**options):
    """Winches of their own in a state that is simulated once: their motors have been heard for a while."""
    return deepcopy(_once_heard(tuple(options.items())))


def _active(position=0.001, **options):
    """As `_heard`, at a position that they were then driven to."""
    return deepcopy(_once_active(position, tuple(options.items())))


def _taking_up_slack():
    """The last cable has the most of it."""
    winches = _heard()
    winches.slack = np.array([0.001, 0.001, 0.001, 0.001, 0.001, 0.004])
    winches.control.take_up_slack()
    return winches


@cache
def _last_ticks_of_taking_up_slack():
    """Winches as they are one tick before the last cable is taut, two ticks before it, and so on."""
    winches, last = _taking_up_slack(), deque(maxlen=23)
    while winches.state.mode == "homing":
        last.appendleft(deepcopy(winches))
        winches.tick()
    assert winches.state.mode == "hold"
    return tuple(last)


def _before_the_last_is_taut(ticks):
    return deepcopy(_last_ticks_of_taking_up_slack()[ticks - 1])


def _rates(path):
    return np.diff(path, axis=0) / DT


@pytest.mark.parametrize("begun", ["refused", "relaxed"])
def test_a_take_up_that_is_not_finished_leaves_an_unknown_position_unknown(begun):
    winches = _active()
    winches.motors.jump(3, 3000)
    winches.run(0.1)
    if begun == "refused":
        winches.silent = {2}
        winches.run(0.3)
        with pytest.raises(DeviceError):
            winches.control.take_up_slack()
        winches.silent = set()
        winches.run(0.1)
    else:
        winches.control.take_up_slack()
        winches.run(0.1)
        winches.control.relax()
    with pytest.raises(DeviceError):
        winches.control.enable()


@pytest.mark.parametrize("motor", [_dry(0.006), _dry(0.3), _viscous(5.0), _viscous(25.0)], ids=str)
def test_taut_is_what_pulls_more_than_the_friction_whatever_that_is(motor):
    slack = np.array([0.001, 0.002, 0.003, 0.004, 0.005, 0.006])
    winches = _heard(motor=motor)
    winches.slack = slack
    winches.take_up_slack()
    zero = winches.motors.displacements - winches.state.displacements
    np.testing.assert_allclose(zero, slack + 0.15 / SPRING, atol=1e-3)


@pytest.mark.parametrize(("motor", "most"), [(_dry(0.006), 1.6), (_viscous(5.0), 1.6), (_dry(0.15), 5.0)], ids=str)
@pytest.mark.parametrize("spring", [2e3, 2e4])
def test_cables_that_are_taut_from_the_beginning_on_are_let_out_first(spring, motor, most):
    """Else only what they pull more from there on is felt, 10 N on the stiffest, and "the robot is blocked" is told."""
    winches = SimulatedWinches(motor=motor)
    winches.spring, winches.slack = spring, -2.0 / spring
    winches.run(0.6)
    winches.take_up_slack()
    zero = winches.motors.displacements - winches.state.displacements
    assert (spring * (zero - winches.slack)).max() < most
    assert (winches.state.mode, winches.state.faults) == ("hold", ())


def test_cables_that_still_unwind_are_let_out_until_friction_holds_them():
    """Where 17 A s/m ask for as much at the pace of homing, 1.9 N."""
    winches = _active()
    winches.spring = 600.0
    winches.run(0.8, np.full(6, 0.008))
    winches.control.relax()
    winches.run(0.02)
    assert winches.tensions().min() > 4.5
    winches.take_up_slack()
    zero = winches.motors.displacements - winches.state.displacements
    assert (winches.spring * zero).max() < 2.3


def test_a_motor_that_has_turned_against_its_current_is_not_driven_before_it_has_answered():
    """Its friction hides which way it would turn by the little current that others are asked with."""
    winches = _active(motor=_dry(0.15))
    winches.motors.wiring[2] = -1
    winches.run(0.3, STEP)
    assert "turns against its current" in winches.state.faults[0]
    for _ in range(3):
        before = winches.motors.displacements
        winches.control.enable()
        path = winches.run(0.5, STEP)
        assert "motor 3 (cable_3) answers backwards" in winches.state.faults[0]
        assert np.abs(path[:, 2] - before[2]).max() < 2.5e-4
    winches.motors.wiring[2] = 1
    winches.control.enable()
    np.testing.assert_allclose(winches.run(1.5, STEP)[-1], STEP, atol=2e-4)
    winches.control.relax()
    winches.run(0.1)
    winches.control.enable()
    assert winches.run(0.3, STEP).max() < 0.0085


def test_a_motor_that_has_turned_against_its_current_is_asked_again_only_while_it_is_heard():
    """Unheard, it would run the wrong way by a current that grows."""
    winches = _active(motor=_dry(0.02))
    winches.motors.wiring[2] = -1
    winches.run(0.3, STEP)
    assert "turns against its current" in winches.state.faults[0]
    before = winches.motors.displacements
    winches.control.enable()
    winches.silent = {3}
    winches.run(0.03, STEP)
    for _ in range(40):
        winches.tick(STEP)
        assert not any(winches.commanded.values())
    assert abs(winches.motors.displacements[2] - before[2]) < 1e-4
    winches.silent = set()
    winches.run(0.5)
    winches.home()
    winches.control.enable()
    winches.run(0.5, STEP)
    assert "motor 3 (cable_3) answers backwards" in winches.state.faults[0]


def test_friction_that_hides_the_tension_is_named_instead_of_taken_for_it():
    winches = _heard(motor=replace(_viscous(10.0), friction=0.5 * TORQUE_CONSTANT))
    winches.slack = 0.005
    winches.control.take_up_slack()
    winches.run(1.0)
    assert winches.state.mode == "fault"
    assert re.search(r"needs 0.5\d A to wind in freely: so much friction hides the tension", winches.state.faults[0])
    assert winches.motors.displacements.max() < 0.005


def test_cables_that_stay_slack_are_a_fault_after_the_documented_length():
    winches = _heard()
    winches.slack = 1.0
    winches.control.take_up_slack()
    furthest = 0.0
    while winches.state.mode == "homing":
        winches.tick()
        furthest = max(furthest, winches.motors.displacements.max())
        assert furthest < 0.0205
    assert winches.state.mode == "fault"
    assert "found no tension" in winches.state.faults[-1]
    assert 0.018 < max(furthest, winches.run(0.5).max()) < 0.0205


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.08])
@pytest.mark.parametrize("when", ["moving", "holding"])
def test_a_power_dip_makes_no_cable_fast_and_is_named(seconds, when):
    winches = _active(0.006)
    winches.spring = 300.0
    winches.run(0.05 if when == "moving" else 0.5, np.full(6, 0.011))
    winches.motors.derating[2] = 0.0
    winches.motors._commanded[2] = 0.0
    winches.run(seconds, np.full(6, 0.011))
    winches.motors.derating[2] = 1.0
    path = winches.run(0.6, np.full(6, 0.011))
    assert _rates(path).max() < 1.25 * RATE
    if np.abs(path[:, 2] - path[-1, 2]).max() > 0.5e-3:
        assert any("motor 3" in fault for fault in winches.state.faults)


@pytest.mark.parametrize("position", [0.001, 0.004])
def test_slips_that_are_each_too_small_are_named_together(position):
    winches = _active(position)
    for _ in range(15):
        winches.motors.jump(1, 300)
        winches.run(5 * DT, np.full(6, position))
    assert winches.state.mode != "active"
    assert any("motor 2 (cable_2): angle jumped" in fault for fault in winches.state.faults)


@pytest.mark.parametrize("friction", [5.0, 10.0, 30.0])
def test_plausible_friction_is_no_blocked_robot(friction):
    winches = _active(motor=_viscous(friction))
    for target in (0.011, -0.001, 0.011, 0.0):
        path = winches.run(0.5, np.full(6, target))
        assert winches.state.mode == "active", winches.state.faults
        assert np.abs(_rates(path)).max() < 1.3 * RATE
    np.testing.assert_allclose(path[-1], 0.0, atol=1e-4)


@pytest.mark.parametrize("rate", [0.02, 0.05])
def test_a_winch_that_dry_friction_slows_down_on_top_is_waited_for(rate):
    """No current counts on so much friction: it could be a robot that is caught."""
    drive = load_robot("slender").winches
    drive = replace(drive, cable_limits=replace(drive.cable_limits, rate=rate, tension=(0.0, 5.0)))
    winches = _active(drive=drive, motor=replace(_viscous(30.0), friction=0.17 * TORQUE_CONSTANT))
    for target in (0.011, -0.001, 0.011, 0.0):
        path = winches.run(0.012 / rate * 1.2 + 0.4, np.full(6, target))
        assert winches.state.mode == "active", winches.state.faults
        assert np.abs(_rates(path)).max() < 1.3 * rate
        np.testing.assert_allclose(path[-1], target, atol=0.2e-3)


@pytest.mark.parametrize("friction", [2.0, 3.0])
def test_a_winch_with_little_friction_that_dry_friction_hides_is_not_too_fast_on_its_first_way(friction):
    """The little current that it was asked with has hardly moved it, as much friction would."""
    winches = _heard(motor=replace(_viscous(friction), friction=0.07 * TORQUE_CONSTANT))
    winches.control.home()
    winches.control.enable()
    winches.run(0.5)
    assert _rates(winches.run(0.25, np.full(6, 0.02))).max() < 1.35 * RATE


@pytest.mark.parametrize("ticks", [3, 4])
def test_a_light_winch_that_is_turned_back_is_not_too_fast(ticks):
    """Of less inertia and friction than expected; the feedback has it still go the other way."""
    inertia = 0.75 * INERTIA
    lag = inertia / (3.0 * DRUM * TORQUE_CONSTANT)
    winches = _active(0.0, motor=MotorParameters(inertia=inertia, lag=lag, friction=0.05 * TORQUE_CONSTANT))
    path = np.vstack([winches.run(ticks * DT, np.full(6, -0.002)), winches.run(0.3, np.full(6, 0.01))])
    assert winches.state.mode == "active"
    assert np.abs(_rates(path)).max() < 1.5 * RATE


@pytest.mark.parametrize("rate", [-0.16, -0.18])
def test_a_cable_that_unwinds_when_it_is_enabled_again_is_caught_and_not_accused(rate):
    """It is 2 mm away by then, and comes back as fast as it may."""
    winches = _active(motor=_viscous(4.0), drive=load_robot("neck").winches)
    winches.spring = 1000.0
    winches.run(1.0, np.full(3, 0.03))
    winches.control.relax()
    for share in np.linspace(0.0, 1.0, 10):
        winches.motors.rates[:] = share * rate
        winches.tick()
    winches.control.enable()
    for _ in range(200):
        winches.tick(np.full(3, 0.03))
        assert winches.state.mode == "active", winches.state.faults
    np.testing.assert_allclose(winches.motors.displacements, 0.03, atol=0.2e-3)


@pytest.mark.parametrize(
    ("friction", "spring"),  # [A s/m], [N/m]
    [(3.0, 20.0), (30.0, 20.0), (3.0, 300.0), (8.0, 300.0), (22.0, 300.0), (30.0, 300.0)],
)
def test_plausible_friction_is_no_pull_of_a_stiff_body(friction, spring):
    drive = load_robot("neck").winches
    winches = _active(motor=_viscous(friction), drive=drive)
    winches.spring = spring
    for target in (0.03, -0.02, 0.04, 0.0):
        path = winches.run(0.9, np.full(3, target))
        assert winches.state.mode == "active", winches.state.faults
        assert np.abs(_rates(path)).max() < 1.3 * drive.cable_limits.rate
    np.testing.assert_allclose(path[-1], 0.0, atol=1e-4)


@pytest.mark.parametrize("friction", [5.0, 25.0])
def test_the_tension_of_a_stiff_body_is_told_while_it_moves(friction):
    winches = _active(motor=_viscous(friction), drive=load_robot("neck").winches)
    winches.spring = 1000.0
    for target in (0.04, 0.0, 0.04):
        winches.run(1.0, np.full(3, target))
    winches.run(0.15, np.full(3, 0.01))
    assert np.abs(winches.motors.rates).min() > 0.05
    np.testing.assert_allclose(winches.state.tensions, winches.tensions(), atol=9.0)


@pytest.mark.parametrize("after", [0.01, 0.05, 0.1, 0.15])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_motor_that_reverses_in_mid_move_is_named_before_it_is_far(way, after):
    start = 0.001 if way > 0.0 else 0.009
    winches = _active(start)
    target = np.full(6, start + way * 0.008)
    winches.run(after, target)
    winches.motors.wiring[2] = -1.0
    told = []
    for _ in range(100):
        winches.tick(target)
        told.append(winches.control._limiter.positions[2])
        if winches.state.mode == "fault":
            break
    assert winches.state.mode == "fault"
    assert "motor 3 (cable_3)" in winches.state.faults[0]
    assert abs(told[-1] - winches.motors.displacements[2]) < 1.2e-3


@pytest.mark.parametrize("friction", [10.0, 16.0, 24.0])
@pytest.mark.parametrize("begun", ["holding", "slack"])
def test_a_stiff_bodys_motor_that_reverses_is_named_though_it_seems_to_be_pulled(friction, begun):
    """Its current grows against it from little on; all of that looks like a cable that pulls, more and more."""
    motor = replace(_viscous(friction), friction=0.1 * TORQUE_CONSTANT)
    winches = SimulatedWinches(motor=motor, drive=load_robot("neck").winches)
    winches.spring = 850.0
    winches.run(0.6)
    if begun == "holding":
        winches.control.home()
        winches.control.enable()
        winches.run(0.5, np.full(3, 0.005))
        winches.motors.wiring[2] = -1.0
    else:
        winches.slack = 0.005
        winches.motors.wiring[2] = -1.0
        winches.control.take_up_slack()
    start = winches.motors.displacements[2]
    for _ in range(60):
        winches.tick(np.full(3, 0.005))
        if winches.state.mode == "fault":
            break
    assert "motor 3 (cable_3) turns against its current" in winches.state.faults[0]
    assert abs(winches.motors.displacements[2] - start) < 1e-3


@pytest.mark.parametrize("friction", [5.65, 17.0])
def test_a_stiff_body_that_was_caught_and_comes_free_makes_no_cable_fast(friction):
    """It pulled by 130 N; what was seen of that lasts longer than it."""
    winches = SimulatedWinches(motor=_viscous(friction), drive=load_robot("neck").winches)
    winches.spring = 700.0
    winches.run(0.6)
    winches.control.home()
    winches.control.enable()
    for target in (0.002, -0.01, 0.002, -0.012):
        winches.run(0.5, np.full(3, target))
    caught = -0.012
    tensions = winches.tensions
    winches.tensions = lambda: tensions() + 5000.0 * np.maximum(winches.motors.displacements - caught, 0.0)
    while winches.tensions().max() < 130.0:
        winches.tick(np.full(3, 0.04))
    winches.tensions = tensions
    fastest = np.abs(_rates(winches.run(0.1, np.full(3, 0.04)))).max()
    assert winches.state.mode == "active"
    assert fastest < 0.165, "the limit is 0.1 m/s"


def test_a_limp_winch_that_is_unwound_reports_no_tension():
    winches = _active()
    winches.control.relax()
    winches.run(0.2)
    winches.motors.rates[:] = -0.04
    for _ in range(50):
        winches.motors.rates[:] = -0.04
        winches.tick()
        assert winches.state.tensions.max() < 0.5


@pytest.mark.parametrize(
    "nonsense",
    ["123456", None, [[0.0] * 6], [object()] * 6, [True] * 6, [0j] * 6, [0.0] * 5, [10**400] * 6, {1: 2}, ["0"] * 6,
     [0.0, 0.0, [0.0], 0.0, 0.0, 0.0], 7, b"123456", [float("nan")] * 6, [float("inf")] * 6, [None] * 6],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_commands_that_are_no_numbers_are_refused_and_counted(nonsense):
    winches = _active()
    before = winches.state.counters
    winches.tick(nonsense) if nonsense is not None else winches.control.command(None)
    after = winches.state.counters
    assert sum(after[key] - before.get(key, 0) for key in ("type", "size", "not_finite") if key in after) == 1
    assert any("refused" in fault for fault in winches.state.faults)
    assert isinstance(winches.control, ActuatorControl)


def test_a_motor_that_was_silent_alone_and_stands_at_its_old_angle_is_not_believed():
    winches = SimulatedWinches()
    winches.motors = EmulatedC610.of(load_robot("slender"))
    winches.run(0.6)
    winches.control.home()
    winches.silent = {4}
    winches.run(0.12)
    winches.silent = set()
    winches.run(0.2)
    with pytest.raises(DeviceError, match="unknown"):
        winches.control.enable()


def test_a_motor_that_loses_its_current_while_slack_is_taken_up_is_not_taut():
    winches = _heard(motor=_viscous(5.0))
    winches.slack = 0.01
    winches.control.take_up_slack()
    winches.run(0.5)
    winches.motors.derating[:] = 0.0
    winches.run(0.3)
    assert not winches.control._take_up.taut.any()


@pytest.mark.parametrize("begin", [0.15, 0.3])
def test_a_motor_that_falls_silent_while_slack_is_taken_up_makes_no_cable_taut(begin):
    """Winches that change their pace feel other pulls; and what the silent one felt last says nothing."""
    drive = load_robot("slender").winches
    slow = replace(drive, cable_limits=replace(drive.cable_limits, rate=0.02))
    winches = _heard(drive=slow, motor=_viscous(9.0))
    winches.slack = 0.01
    winches.control.take_up_slack()
    winches.run(begin)
    winches.silent = {2}
    winches.run(0.2)
    winches.silent = set()
    winches.run(0.2)
    assert not winches.control._take_up.taut.any()


@pytest.mark.parametrize(("begin", "end"), [(-60, -25), (-15, 10)])
def test_a_winch_that_was_caught_for_a_moment_while_slack_is_taken_up_is_not_taut_where_it_was(begin, end):
    """From so many ticks before the last of the others is taut until so many before or after that."""
    winches, since = _taking_up_slack(), 0
    winches.slack[0] = 0.007
    while winches.state.mode == "homing":
        left = winches.slack[5] + 0.0014 - winches.motors.displacements[5]
        since = since + 1 if since > 0 or left <= 0.0 else -left / (0.004 * DT)
        winches.motors.stalled[0] = begin < since < end
        winches.tick()
    assert winches.state.mode == "hold"
    wound = winches.motors.displacements - winches.state.displacements
    assert np.all(wound > winches.slack) and np.all(wound < winches.slack + 0.002)


@pytest.mark.parametrize("before", [3, 4, 5])
def test_a_zero_is_not_taken_while_a_cable_that_was_taut_is_pulled_out(before):
    """As for `home`: it would not be known to 0.2 mm. So many ticks before the last cable is taut somebody pulls."""
    winches = _before_the_last_is_taut(before)
    tensions = winches.tensions
    winches.tensions = lambda: tensions() + 40.0 * (np.arange(6) == 0)
    for _ in range(20):
        winches.tick()
        if winches.state.mode == "hold":
            break
    assert abs(winches.motors.rates[0]) < 0.03
    np.testing.assert_allclose(winches.motors.displacements - winches.state.displacements, winches.slack, atol=1.5e-3)


def test_what_a_motor_that_is_found_at_fault_has_wound_in_is_no_zero():
    """A taut cable's motor reverses shortly before the last one is taut, so that both may be found in one tick."""
    ends = []
    for before in range(12, 24):
        winches = _before_the_last_is_taut(before)
        winches.motors.wiring[0] = -1.0
        while winches.state.mode == "homing":
            winches.tick()
        ends.append(winches.state.mode)
        if winches.state.mode == "fault":
            winches.control.relax()
            with pytest.raises(DeviceError, match="unknown"):
                winches.control.enable()
    assert set(ends) == {"fault", "hold"}


@pytest.mark.parametrize("motor", [_viscous(5.0), _viscous(10.0), _viscous(25.0), _dry(0.02)], ids=str)
def test_after_a_halt_of_the_host_a_change_of_pace_is_not_taken_for_tension(motor):
    """The gains are low while the delay is remembered: winches overshoot their pace, and find it slowly.

    The first cable is taut before its winch runs evenly: how much of its friction is dry, nobody can tell by then.
    """
    slack = np.array([0.001, 0.002, 0.003, 0.004, 0.005, 0.006])
    winches = _heard(motor=motor)
    winches.hold_back(0.4)
    winches.run(0.4)
    winches.slack = slack
    winches.take_up_slack()
    zero = winches.motors.displacements - winches.state.displacements
    late = zero - slack - 0.15 / SPRING
    assert late.min() > -1e-3
    assert late[0] < 1.3e-3 and late[1:].max() < 1e-3


@pytest.mark.parametrize("friction", [3.0, 8.0, 17.0])
@pytest.mark.parametrize(("halt", "before"), [(0.06, 0.12), (0.1, 0.08), (0.14, 0.06)])
def test_after_a_halt_of_the_host_a_cable_that_ran_on_is_caught(friction, halt, before):
    """What it was told last may have taken it anywhere by then; that its feedback was late is no reason to wait."""
    target = np.full(6, -0.002)
    winches = _active(0.01, motor=replace(_viscous(friction), timeout=0.18))
    winches.run(before, target)
    for _ in range(round(halt / DT)):
        winches._kept += winches._feedback()
        winches.motors.step(DT, winches.tensions())
    winches.tick(target, late=halt)
    lowest = winches.run(0.3, target).min()
    assert (winches.state.mode, winches.state.faults) == ("active", ())
    assert -0.0022 < lowest < -0.0019


def test_a_delay_that_stands_alone_is_soon_forgotten():
    winches = _active()
    winches.hold_back(0.11)
    winches.run(0.12, np.full(6, 0.001))
    winches.run(0.5, np.full(6, 0.01))
    np.testing.assert_allclose(winches.state.displacements, 0.01, atol=1e-3)


def test_lost_feedback_that_comes_again_slows_nothing_for_longer_than_it_stayed_away():
    winches = _heard()
    winches.lose(0.95, seed=1)
    winches.run(0.5)
    winches.lose(0.0)
    winches.run(0.3)
    winches.control.home()
    winches.control.enable()
    winches.run(0.2 + 0.008 / RATE + 0.3, STEP)
    np.testing.assert_allclose(winches.state.displacements, STEP, atol=0.1e-3)


@pytest.mark.parametrize("counts", [50, -100, 150, 366])
def test_small_slips_of_one_sense_are_named_while_the_cables_move_to_and_fro(counts):
    winches = _active()
    for turn in range(75):
        winches.motors.jump(1, counts)
        winches.run(5 * DT, np.full(6, 0.006 if turn // 8 % 2 else 0.001))
        if any("motor 2 (cable_2): angle jumped" in fault for fault in winches.state.faults):
            break
    assert abs(turn * counts) < 5000, "0.7 mm by feedback at 250 Hz, or never"


@pytest.mark.parametrize("halted", [False, True])
@pytest.mark.parametrize(
    ("seconds", "most", "target"), [(0.1, 2, 0.008), (0.2, 2, -0.0015), (0.1, 6, -0.0015), (0.2, 6, 0.008)]
)
def test_who_hears_the_past_does_not_drive_on_into_it(seconds, most, target, halted):
    """As emulated motors do on a host that was halted: they live the time that they missed, and tell all of it."""
    winches = _active(0.004)
    winches.run(0.04, np.full(6, target))
    winches.stand_still(seconds, most, halted, np.full(6, target))
    assert winches.state.mode == "active", winches.state.faults
    path = winches.run(0.5, np.full(6, target))
    assert winches.state.mode == "active", winches.state.faults
    assert np.abs(_rates(path)).max() < 1.3 * RATE
    np.testing.assert_allclose(path[-1], target, atol=1e-4)


@pytest.mark.parametrize("seconds", [0.05, 0.09])
def test_all_motors_that_were_told_to_start_as_they_fell_silent_may_have_turned_by_a_whole_turn(seconds):
    """And stand where they stood, as far as an angle within a turn tells."""
    winches = _active(0.001)
    winches.tick(np.full(6, 0.008))
    winches.silent = set(winches.control.motor_ids)
    winches.run(seconds, np.full(6, 0.008))
    turn = winches.control._winch.displacement_of_counts(np.full(6, 8192.0))
    winches.motors.displacements[:] = winches.control._readings.displacements + np.abs(turn)
    winches.motors.rates[:] = 0.0
    winches.silent = set()
    winches.run(0.1, np.full(6, 0.008))
    told, true = winches.state.displacements, winches.motors.displacements
    assert winches.state.mode == "position unknown" or np.abs(told - true).max() < 1e-4


def test_cables_that_are_heard_late_are_not_homed():
    """A line holds everything back for a while, in which the cables unwind."""
    winches = _active(0.006)
    winches.hold_back(0.3)
    winches.run(0.2, np.full(6, 0.006))
    winches.control.relax()
    with pytest.raises(DeviceError, match=r"motor 1 \(cable_1\) 0.20 s ago, .*: home it once it is heard"):
        winches.control.home()
    winches.run(1.5)
    winches.control.home()
    zero = winches.motors.displacements - winches.state.displacements
    np.testing.assert_allclose(zero, winches.motors.displacements, atol=2e-4)


def test_cables_that_still_run_are_not_homed():
    """Feedback is old when it is used: the zero of a winch that coasts at 40 mm/s is not known."""
    winches = _active(motor=_viscous(3.0))
    winches.run(0.12, np.full(6, 0.011))
    winches.control.relax()
    with pytest.raises(DeviceError, match=r"cables still move, .*cable_2 at \+\d+ mm/s.*: hold the robot still"):
        winches.control.home()
    winches.run(0.6)
    winches.control.home()
