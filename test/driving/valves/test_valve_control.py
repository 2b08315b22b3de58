import numpy as np
import pytest

from soft_twin.driving.valves.pressures import ChamberLimits, chamber_limiter
from soft_twin.driving.valves.valve_control import ValveControl, ValveParameters
from soft_twin.errors import DescriptionError, DeviceError

DT = 0.02
LIMITS = ChamberLimits(pressure=(0.0, 100e3), rate=200e3, vent_rate=50e3)
NAMES = ["left", "right", "top"]
TOLD = np.array([50e3, 20e3, 80e3])


class Prompt(ValveControl):
    """A control whose device is told at once what to hold."""

    def update(self, *measured, **device):
        positions = super().update(*measured, **device)
        if self.ready:
            self.told = positions
        return positions


@pytest.fixture
def control():
    return Prompt(NAMES, LIMITS)


def _run(control, seconds, command=None, measure=True):
    path = []
    for _ in range(round(seconds / DT)):
        if command is not None:
            control.command(command)
        path.append(control.update(path[-1] if measure and path else None, DT))
    return np.array(path)


def test_vented_until_enabled(control):
    assert not _run(control, 0.5, TOLD).any()
    assert control.state(0.0).mode == "vented"


def test_commands_are_followed_at_the_rate_limit(control):
    control.enable()
    path = _run(control, 1.0, TOLD)
    assert np.abs(np.diff(path, axis=0)).max() <= LIMITS.rate * DT * (1 + 1e-9)
    np.testing.assert_allclose(path[-1], TOLD)
    assert control.state(0.0).counters["rate"] > 10


def test_commands_beyond_the_limits_stop_at_them(control):
    control.enable()
    path = _run(control, 1.0, np.array([1e9, -1e9, 0.0]))
    np.testing.assert_allclose(path[-1], [100e3, 0.0, 0.0])
    assert control.state(0.0).counters["pressure"] > 0


def test_a_command_far_beyond_the_limits_is_warned_of_until_another_comes_and_is_no_fault(control):
    control.enable()
    _run(control, 0.1, np.array([1e9, 0.0, 0.0]))
    state = control.state(0.0)
    assert "goes to 100000 pascals" in state.warning and state.faults == () and state.counters["faults"] == 0
    _run(control, 0.1, TOLD)
    assert control.state(0.0).warning == ""
    _run(control, 0.1, np.array([1e9, 0.0, 0.0]))
    control.relax()
    assert control.state(0.0).warning == ""


@pytest.mark.parametrize("bad", [np.full(3, np.nan), np.zeros(2), np.array([0.0, np.inf, 0.0])])
def test_unusable_commands_are_refused_named_and_do_not_feed_the_watchdog(control, bad):
    control.enable()
    _run(control, 1.2, bad)
    assert control.state(0.0).mode == "vented"
    assert "refused" in control.state(0.0).faults[0]


def test_without_commands_the_pressures_hold_then_are_vented_slowly(control):
    control.enable()
    _run(control, 1.0, TOLD)
    held = _run(control, 0.5)
    assert control.state(0.0).mode == "hold"
    np.testing.assert_allclose(held[-1], TOLD)
    vented = _run(control, 3.0)
    assert control.state(0.0).mode == "vented"
    assert np.abs(np.diff(vented, axis=0)).max() <= LIMITS.vent_rate * DT * (1 + 1e-9)
    assert not vented[-1].any()


def test_a_stop_is_latched(control):
    control.enable()
    _run(control, 0.2, TOLD)
    control.stop()
    with pytest.raises(DeviceError, match="stop"):
        control.enable()
    control.relax()
    _run(control, 2.0, TOLD)
    assert control.state(0.0).mode == "stopped"
    control.clear_stop()
    control.enable()
    assert control.state(0.0).mode == "active"


def _measured(control, seconds, change):
    for _ in range(round(seconds / DT)):
        control.command(TOLD)
        control.update(change(control.state(0.0).commanded), DT)


def test_a_stuck_valve_is_named_and_everything_is_vented(control):
    control.enable()
    _measured(control, 4.0, lambda pressures: np.where(np.arange(3) == 2, 10e3, pressures))
    assert control.state(0.0).mode == "fault"
    assert "top is -" in control.state(0.0).faults[0]
    assert "left" not in control.state(0.0).faults[0]


def test_a_fault_whose_cause_is_gone_is_told_no_more_once_the_chambers_are_relaxed(control):
    control.enable()
    _measured(control, 4.0, lambda pressures: np.where(np.arange(3) == 2, 10e3, pressures))
    _run(control, 4.0)
    assert control.state(0.0).mode == "fault" and "top is -" in control.state(0.0).faults[0]
    control.relax()
    assert control.state(0.0).mode == "vented" and control.state(0.0).faults == ()


def test_chambers_that_are_vented_blindly_are_not_said_to_keep_what_was_measured_before(control):
    control.enable()
    _measured(control, 2.0, lambda pressures: pressures)
    for _ in range(round(6.0 / DT)):
        control.update(None, DT)
    assert not control.state(0.0).commanded.any() and not control.pressed
    (fault,) = control.state(0.0).faults
    assert "no measured pressure" in fault


def test_relaxing_forgets_no_fault_whose_cause_is_there(control):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    control.relax()
    _measured(control, 4.0, lambda pressures: np.where(np.arange(3) == 2, 75e3, pressures))
    control.relax()
    assert control.state(0.0).mode == "fault"
    assert any("still under pressure though vented: top" in fault for fault in control.state(0.0).faults)


def test_a_lost_supply_is_told_from_a_stuck_valve(control):
    control.enable()
    _measured(control, 4.0, lambda pressures: np.zeros(3))
    assert "supply" in control.state(0.0).faults[0]


def test_measurements_that_stop_are_a_fault_until_they_are_back(control):
    control.enable()
    _measured(control, 0.5, lambda pressures: pressures)
    _run(control, 0.7, TOLD, measure=False)
    assert control.state(0.0).mode == "fault"
    with pytest.raises(DeviceError, match="no measured pressure"):
        control.enable()
    control.update(np.zeros(3), DT)
    control.enable()
    assert control.state(0.0).faults == ()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"pressure": (1.0, 0.0), "rate": 1.0, "vent_rate": 1.0}, "below"),
        ({"pressure": (0.0, 1.0), "rate": 0.0, "vent_rate": 1.0}, "above 0"),
        ({"pressure": (0.0, 1.0), "rate": 1.0, "vent_rate": 1.0, "vented": 2.0}, "outside"),
        ({"pressure": (0.0, np.inf), "rate": 1.0, "vent_rate": 1.0}, "highest pressure inf"),
        ({"pressure": (0.0, 1.0), "rate": np.inf, "vent_rate": 1.0}, "pressure rate inf"),
        ({"pressure": (0.0, 1.0), "rate": 1.0, "vent_rate": np.nan}, "rate of venting nan"),
        ({"pressure": (0.0, 1.0), "rate": 1.0, "vent_rate": 1.0, "vented": np.nan}, "vented pressure nan"),
        ({"pressure": (0.0, 1.0), "rate": 1.0, "vent_rate": 1.0, "acceleration": np.inf}, "acceleration"),
        ({"pressure": (-2e5, 1.0), "rate": 1e5, "vent_rate": 1e5}, "expected gauge pressures"),
        ({"pressure": (0.0, 1e5), "rate": 1e5, "vent_rate": 1.0}, "farthest limit"),
        ({"pressure": (0.0, 1e5), "rate": 1e5, "vent_rate": 1e5, "acceleration": 1e3}, "to stop"),
        ({"pressure": ("a", 8e4), "rate": 1e5, "vent_rate": 1e5}, "lowest pressure 'a': expected a finite number, or"),
        ({"pressure": 8e4, "rate": 1e5, "vent_rate": 1e5}, "pressure limits 80000.0: expected the lowest and"),
        ({"pressure": (0.0, 1e5), "rate": "fast", "vent_rate": 1e5}, "pressure rate 'fast': expected a finite number"),
        ({"pressure": (0.0, 1e5), "rate": True, "vent_rate": 1e5}, "pressure rate True: expected a finite number"),
        ({"pressure": (0.0, [1e5, None]), "rate": 1e5, "vent_rate": 1e5}, "highest pressure .100000.0, None."),
        ({"pressure": ([0.0, 5e4], 4e4), "rate": 1e5, "vent_rate": 1e5}, "0…40000, 50000…40000 Pa: the lower is not"),
        ({"pressure": ([0.0] * 3, [1e5] * 2), "rate": 1e5, "vent_rate": 1e5}, "3 lowest and 2 highest"),
    ],
)
def test_limits_that_contradict_each_other_are_refused(limits, message):
    with pytest.raises(DescriptionError, match=message):
        ChamberLimits(**limits)


def test_chambers_with_unlike_limits_keep_each_to_its_own():
    limits = ChamberLimits(pressure=([0.0, -10e3, 0.0], [100e3, 20e3, 60e3]), rate=200e3, vent_rate=50e3)
    control = Prompt(NAMES, limits, ValveParameters.within(limits))
    control.enable()
    for command, told in ((np.full(3, 1e9), [100e3, 20e3, 60e3]), (np.full(3, -1e9), [0.0, -10e3, 0.0])):
        path = _run(control, 1.5, command)
        assert np.all((path >= limits.lowest) & (path <= limits.highest))
        np.testing.assert_allclose(path[-1], told)


def test_a_refusal_names_the_chamber():
    assert "right = nan" in chamber_limiter(NAMES, LIMITS).check([0.0, np.nan, 0.0])


def test_pressures_keep_to_the_acceleration_limit_and_it_is_counted():
    gentle = Prompt(NAMES, ChamberLimits(pressure=(0.0, 100e3), rate=200e3, vent_rate=50e3, acceleration=1e6))
    gentle.enable()
    path = _run(gentle, 1.5, TOLD)
    rates = np.diff(path, axis=0) / DT
    assert np.abs(np.diff(rates, axis=0)).max() <= 1e6 * DT * (1.0 + 1e-9)
    np.testing.assert_allclose(path[-1], TOLD)
    assert gentle.state(0.0).counters["acceleration"] > 5


def test_a_supply_that_comes_back_fills_nothing_with_a_bang(control):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    _measured(control, 0.3, lambda pressures: np.zeros(3))
    p = control.parameters
    assert np.all(control.state(0.0).commanded <= p.lead + p.lag * LIMITS.rate + LIMITS.rate * DT)
    assert control.state(0.0).counters["lead"] > 0
    control.relax()
    _measured(control, 0.1, lambda pressures: np.zeros(3))
    assert np.all(control.state(0.0).commanded <= p.spare)


def test_chambers_that_are_found_under_pressure_are_vented_from_there(control):
    found = np.array([30e3, 10e3, 60e3])
    for _ in range(7):
        control.update(found, DT)
        assert not control.ready
    first = control.update(found, DT)
    assert control.ready
    np.testing.assert_allclose(first, found, atol=LIMITS.vent_rate * DT)


@pytest.mark.parametrize("wrong", [1, 2, 5])
def test_wrong_first_measurements_are_believed_by_nobody(control, wrong):
    told = []
    for i in range(50):
        control.update(np.full(3, 79e3 if i < wrong else 0.0), DT)
        told += [control.state(0.0).commanded] if control.ready else []
    assert control.ready
    assert not np.any(told)


def test_a_found_pressure_beyond_the_limits_is_believed_by_nobody(control):
    told = [control.update(np.array([0.0, 1e6, 0.0]), DT) for _ in range(50)]
    assert control.ready
    assert not np.any(told)


def test_a_sensor_that_begins_to_lie_while_it_is_looked_at_lifts_nothing(control):
    told = [control.update(np.full(3, 0.0 if i < 2 else 79e3), DT) for i in range(50)]
    assert control.ready
    assert not np.any(told)


@pytest.mark.parametrize("value", [90e3, 300e3, 1.9e6])
def test_a_high_reading_never_lifts_what_is_told(control, value):
    _measured(control, 1.0, lambda pressures: np.zeros(3))
    control.enable()
    for _ in range(50):
        control.command([20e3, 20e3, 20e3])
        told = control.state(0.0).commanded
        assert control.update(np.where(np.arange(3) == 1, value, told), DT).max() <= 20.5e3
    before = control.state(0.0).commanded
    control.relax()
    after = control.update(np.full(3, value), DT)
    assert np.all(after <= before)


def test_what_never_agrees_is_taken_for_the_lowest_that_was_seen(control):
    rng = np.random.default_rng(0)
    told = [control.update(rng.uniform(20e3, 80e3, 3), DT) for _ in range(50)]
    assert control.ready
    assert np.max(told) < 50e3


def test_a_device_that_rests_by_itself_is_waited_for_instead_of_measured():
    control = Prompt(NAMES, LIMITS, rests_after=0.5)
    for _ in range(29):
        control.update(np.full(3, 79e3), DT)
        assert not control.ready
    for _ in range(5):
        assert not control.update(np.full(3, 79e3), DT).any()
    assert control.ready


def test_chambers_that_have_rested_while_the_host_was_halted_are_not_filled_again():
    control = Prompt(NAMES, LIMITS, rests_after=0.5)
    _measured(control, 1.0, lambda pressures: np.zeros(3))
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    assert not control.update(None, 0.7).any()


@pytest.mark.parametrize("value", [-100e3, -1e38, np.nan, np.inf, 1e38])
def test_nothing_beyond_the_limits_is_told_whatever_a_sensor_reads(value):
    limits = ChamberLimits((10e3, 80e3), rate=200e3, vent_rate=50e3, vented=20e3)
    control = Prompt(NAMES, limits)
    for seconds, broken in ((1.0, True), (1.0, False), (3.0, True)):
        if not broken:
            control.update(control.state(0.0).commanded, DT)
            control.enable()
        for _ in range(round(seconds / DT)):
            control.command([60e3, 60e3, 60e3])
            told = control.state(0.0).commanded
            path = control.update(np.where([broken, False, False], value, told), DT)
            assert path.min() >= 10e3
            assert path.max() <= 80e3


@pytest.mark.parametrize("value", [np.nan, 1e38, -200e3])
def test_a_sensor_that_says_no_pressure_is_named(control, value):
    control.enable()
    _measured(control, 1.0, lambda pressures: np.where(np.arange(3) == 1, value, pressures))
    assert control.state(0.0).mode == "fault"
    assert "no plausible pressure of right" in control.state(0.0).faults[0]
    with pytest.raises(DeviceError, match="right"):
        control.enable()
    _measured(control, 0.1, lambda pressures: pressures)
    control.enable()


def test_a_chamber_that_keeps_its_pressure_though_vented_is_named_in_every_state(control):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    control.stop()
    _measured(control, 5.0, lambda pressures: np.where(np.arange(3) == 0, 50e3, pressures))
    assert control.state(0.0).mode == "stopped"
    assert "left by 50 kPa" in control.state(0.0).faults[0]
    control.clear_stop()
    assert control.state(0.0).mode == "fault"
    with pytest.raises(DeviceError, match="still under pressure"):
        control.enable()
    _measured(control, 0.1, lambda pressures: pressures)
    control.enable()


def test_a_sensor_that_reads_a_vacuum_is_named_before_anybody_enables(control):
    _measured(control, 1.0, lambda pressures: pressures)
    _measured(control, 2.0, lambda pressures: np.where(np.arange(3) == 0, -100e3, pressures))
    assert control.state(0.0).mode == "fault"
    assert "left is -100 kPa from what its valve is told" in control.state(0.0).faults[0]
    assert not control.pressed


def test_chambers_that_the_device_has_let_rest_begin_from_there(control):
    _measured(control, 1.0, lambda pressures: pressures)
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    assert not control.update(None, DT, rested=True).any()
    control.command(TOLD)
    assert np.all(control.update(np.zeros(3), DT) <= LIMITS.rate * DT)


def test_what_the_device_is_in_trouble_with_is_a_fault_while_it_lasts(control):
    control.enable()
    control.update(np.zeros(3), DT, "the device refuses")
    assert control.state(0.0).mode == "fault"
    with pytest.raises(DeviceError, match="refuses"):
        control.enable()
    control.update(np.zeros(3), DT)
    control.enable()


def test_long_ticks_stretch_no_watchdog(control):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    before = control.state(0.0).commanded
    after = control.update(before, 10.0)
    assert control.state(0.0).mode == "vented"
    assert np.all((after < before) & (after >= before - LIMITS.vent_rate * control.parameters.longest_step))


def test_one_wrong_measurement_moves_nothing(control):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    before = control.state(0.0).commanded
    for wrong in (0.0, 950e3):
        control.command(TOLD)
        control.update(np.where(np.arange(3) == 1, wrong, before), DT)
        control.command(TOLD)
        np.testing.assert_allclose(control.update(before, DT), before)


@pytest.mark.parametrize("asked", [["relax"], ["relax", "enable"], ["stop", "clear_stop", "enable"]])
def test_what_people_ask_for_meanwhile_excuses_no_broken_sensor(control, asked):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    for name in asked:
        _measured(control, 0.5, lambda pressures: np.where(np.arange(3) == 2, 1e6, pressures))
        getattr(control, name)()
    left = control.parameters.settling_time + 0.1 - 0.5 * len(asked)
    _measured(control, left, lambda pressures: np.where(np.arange(3) == 2, 1e6, pressures))
    assert control.state(0.0).mode == "fault"
    assert "top" in control.state(0.0).faults[0]


@pytest.mark.parametrize("gap", [0, 8])
@pytest.mark.parametrize("wrong", [1, 2, 3])
@pytest.mark.parametrize("driven", [True, False])
def test_a_few_wrong_measurements_empty_no_chamber_faster_than_it_is_vented(control, gap, wrong, driven):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    if not driven:
        control.relax()
    for i in range(gap + wrong):
        before = control.state(0.0).commanded
        control.command(TOLD)
        after = control.update(np.zeros(3) if i >= gap else None, DT)
        assert np.all(before - after <= LIMITS.vent_rate * DT * (1 + 1e-9))


def test_a_stop_raises_nothing_above_what_a_slow_device_was_told_last(control):
    control.enable()
    _measured(control, 0.3, lambda pressures: pressures)
    control.told = np.array([10e3, 5e3, np.nan])
    before = control.state(0.0).commanded
    assert np.all(before > [10e3, 5e3, 0.0])
    control.stop()
    after = control.update(None, DT)
    assert np.all(after <= [10e3, 5e3, before[2]])
    assert np.all(after > 0.0)


def test_what_a_person_is_told_is_what_is_measured_now(control):
    assert np.isnan(control.state(0.0).positions).all()
    _measured(control, 0.5, lambda pressures: np.array([1e3, 2e3, np.nan]))
    np.testing.assert_allclose(control.state(0.0).positions, [1e3, 2e3, np.nan])
    assert np.isnan(control.state(0.0).efforts).all()
    _run(control, 0.7, measure=False)
    assert np.isnan(control.state(0.0).positions).all()


def test_a_device_that_measures_nothing_on_purpose_is_not_called_silent(control):
    _measured(control, 0.5, lambda pressures: pressures)
    for _ in range(100):
        control.update(None, DT, "paused", True, True)
    assert control.state(0.0).faults == ("paused",)
    assert np.isnan(control.state(0.0).positions).all()
    control.update(np.zeros(3), DT)
    control.enable()


def test_old_measurements_are_counted(control):
    _run(control, 0.4, measure=False)
    assert control.state(0.0).counters["stale"] > 10


def test_a_device_that_is_told_seldom_is_not_told_at_once_what_it_has_missed():
    """It is told something every 0.4 s, and has not fallen yet to what it was told before when it says its pressure."""
    control, lead = ValveControl(NAMES, LIMITS), 30e3 + 0.1 * LIMITS.rate
    control.enable()
    control.told = np.zeros(3)
    rises = []
    for tick in range(100):
        control.command(np.full(3, 100e3))
        positions = control.update(np.full(3, 90e3) if tick % 20 == 0 else None, DT)
        if tick % 20 == 0:
            rises.append(positions - control.told)
            control.told = positions
    assert np.max(rises) <= lead * (1 + 1e-9)
    np.testing.assert_allclose(control.told, 100e3)


def test_pressures_rise_from_what_a_device_holds_and_not_before_it_was_told_that():
    """Its answers were spoiled: for a while it could be told nothing, and its chambers have fallen to its rest."""
    control = ValveControl(NAMES, LIMITS)
    control.enable()
    for tick in range(100):
        control.command(np.full(3, 100e3))
        positions = control.update(np.full(3, 50e3) if tick < 50 else None, DT)
    assert np.all(positions <= 50e3)


def test_after_a_pause_chambers_are_judged_by_what_is_measured_then(control):
    """An OpenPneu that lets out the air measures nothing meanwhile; what it said before is over."""
    low, high = np.zeros(3), np.array([90e3, 0.0, 0.0])
    control.enable()
    _run(control, 0.2)
    while control.state(0.0).mode != "fault":
        control.command(np.zeros(3))
        control.update(high, DT)
    for _ in range(100):
        control.update(None, DT, pausing=True)
    control.enable()
    control.update(None, DT)
    control.update(None, DT)
    control.update(low, DT)
    assert control.state(0.0).mode == "active"


def test_what_is_astray_is_judged_by_the_limits_of_weak_chambers():
    """A membrane of 4 kPa is never 20 kPa from its command, even where a valve is stuck."""
    weak = ChamberLimits(pressure=(0.0, 4e3), rate=4e3, vent_rate=2e3)
    control = Prompt(NAMES, weak, ValveParameters.within(weak))
    control.enable()
    stuck, told = np.array([1.0, 0.0, 1.0]), np.full(3, 3.5e3)
    measured = np.zeros(3)
    for _ in range(round(4.0 / DT)):
        control.command(told)
        measured = stuck * control.update(measured, DT)
    assert "right is -3.5 kPa from what its valve is told: valve stuck" in control.state(0.0).faults[0]


def test_a_membrane_whose_chamber_leaks_is_driven_on_and_it_is_said():
    weak = ChamberLimits(pressure=(0.0, 4e3), rate=4e3, vent_rate=2e3)
    control = Prompt(NAMES, weak, ValveParameters.within(weak))
    control.enable()
    measured = np.zeros(3)
    for _ in range(round(6.0 / DT)):
        control.command(np.full(3, 3.6e3))
        measured = np.array([0.6, 1.0, 1.0]) * control.update(measured, DT)
    state = control.state(0.0)
    assert state.enabled
    assert state.faults[0].startswith("left is -1.4 kPa from what its valve is told: leak")
    control.relax()
    control.update(measured, DT)
    assert control.state(0.0).faults == ()


def test_a_membrane_beside_other_chambers_is_judged_by_its_own_limits_and_they_by_theirs():
    """3 kPa are nothing to a chamber of 200 kPa, and 4 kPa all that there is to a membrane."""
    limits = ChamberLimits(pressure=(0.0, [4e3, 200e3, 200e3]), rate=200e3, vent_rate=50e3)
    for off, mode in ((np.array([0.0, 3e3, 0.0]), "active"), (np.array([3e3, 0.0, 0.0]), "fault")):
        control = Prompt(NAMES, limits)
        control.enable()
        told = np.zeros(3)
        for _ in range(round(4.0 / DT)):
            control.command([0.0, 100e3, 100e3])
            told = control.update(told + off, DT)
        assert control.state(0.0).mode == mode


def test_wide_limits_are_judged_as_before():
    assert ValveParameters.within(LIMITS) == ValveParameters()
    assert ValveParameters.within(ChamberLimits((0.0, 30e3), 200e3, 50e3)) == ValveParameters()
