import numpy as np
import pytest

from soft_twin.driving.pressures import ChamberLimits, chamber_limiter
from soft_twin.driving.valve_control import ValveControl
from soft_twin.errors import DescriptionError, DeviceError

DT = 0.02
LIMITS = ChamberLimits(pressure=(0.0, 100e3), rate=200e3, vent_rate=50e3)
NAMES = ["left", "right", "top"]
TOLD = np.array([50e3, 20e3, 80e3])


@pytest.fixture
def control():
    return ValveControl(NAMES, LIMITS)


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
    ],
)
def test_limits_that_contradict_each_other_are_refused(limits, message):
    with pytest.raises(DescriptionError, match=message):
        ChamberLimits(**limits)


def test_a_refusal_names_the_chamber():
    assert "right = nan" in chamber_limiter(NAMES, LIMITS).check([0.0, np.nan, 0.0])


def test_pressures_keep_to_the_acceleration_limit_and_it_is_counted():
    gentle = ValveControl(NAMES, ChamberLimits(pressure=(0.0, 100e3), rate=200e3, vent_rate=50e3, acceleration=1e6))
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
    assert not control.ready
    found = np.array([30e3, 10e3, 60e3])
    first = control.update(found, DT)
    assert control.ready
    np.testing.assert_allclose(first, found, atol=LIMITS.vent_rate * DT)


def test_one_wrong_measurement_moves_nothing(control):
    control.enable()
    _measured(control, 1.0, lambda pressures: pressures)
    before = control.state(0.0).commanded
    for wrong in (0.0, 950e3):
        control.command(TOLD)
        control.update(np.where(np.arange(3) == 1, wrong, before), DT)
        control.command(TOLD)
        np.testing.assert_allclose(control.update(before, DT), before)


def test_old_measurements_are_counted(control):
    _run(control, 0.4, measure=False)
    assert control.state(0.0).counters["stale"] > 10
