"""Chambers below ambient pressure: what is safe is towards the vented pressure there, too."""

import numpy as np
import pytest

from soft_twin.driving.states import State
from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_control import ValveControl

from .valve_bench import COUNT, TICK, ValveBench

WIRE = 150.0  # [Pa]
LEAD = 30e3 + 0.1 * 100e3  # [Pa]
DT = 0.02


@pytest.fixture
def bench():
    return ValveBench("modbus_vacuum")


@pytest.mark.parametrize("lie", [-100e3, -60e3])
def test_a_sensor_that_reads_a_vacuum_sucks_at_no_chamber_that_nobody_enabled(bench, lie):
    bench.lies[1] = lie
    bench.run(3.0)
    _, told = bench.history()
    assert np.abs(told).max() <= WIRE


def test_a_chamber_that_was_left_under_vacuum_is_vented_from_there(bench):
    bench.active(np.full(COUNT, -60e3))
    bench.begin_anew()
    start = bench.clock.now
    bench.run(2.5)
    _, told = bench.history(start)
    assert told.min() >= -60e3 - WIRE
    assert np.diff(told, axis=0).max() <= bench.limits.vent_rate * 3 * TICK
    np.testing.assert_allclose(bench.targets, 0.0, atol=WIRE)


def test_a_terminal_that_has_forgotten_its_vacuum_in_a_silence_is_not_told_it_again(bench):
    bench.active(np.full(COUNT, -80e3))
    bench.device.silent_for(0.7)
    start = bench.clock.now + 0.75
    bench.run(2.0, np.full(COUNT, -80e3))
    assert bench.session.status().state is State.FAULT
    _, told = bench.history(start)
    assert told.min() >= -WIRE


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_supply_that_is_lost_is_not_run_ahead_of(bench, sign):
    """Of pressure or of vacuum: what is told stays so near to what the chamber has."""
    bench.active(np.zeros(COUNT))
    bench.device.chambers.stuck[1] = True
    start = bench.clock.now
    bench.run(1.2, np.full(COUNT, sign * 80e3))
    _, told = bench.history(start)
    assert np.abs(told[:, 1]).max() <= LEAD + 1e3
    assert np.abs(told[:, 0]).max() > 70e3


@pytest.mark.parametrize("gap", [0, 8])
@pytest.mark.parametrize("wrong", [1, 2, 3])
@pytest.mark.parametrize("driven", [True, False])
def test_a_few_wrong_measurements_let_no_vacuum_go_faster_than_it_is_vented(gap, wrong, driven):
    limits = ChamberLimits((-80e3, 40e3), rate=200e3, vent_rate=50e3)
    control = ValveControl(["left"], limits)
    control.enable()
    for _ in range(50):
        control.command([-70e3])
        control.told = control.update(control.state(0.0).commanded, DT)
    if not driven:
        control.relax()
    for i in range(gap + wrong):
        before = control.state(0.0).commanded
        control.command([-70e3])
        control.told = control.update(np.zeros(1) if i >= gap else None, DT)
        assert np.all(control.told - before <= limits.vent_rate * DT * (1 + 1e-9))


def test_vented_above_what_a_device_rests_at_is_reached_at_the_rate():
    limits = ChamberLimits((100e3, 500e3), rate=100e3, vent_rate=100e3, vented=300e3)
    bench = ValveBench("dac_board", limits)
    bench.run(4.0)
    _, told = bench.history()
    rises = np.array([np.max(told[i : i + 20], axis=0) - told[i] for i in range(len(told))])  # 0.1 s
    assert rises.max() <= 100e3 * 0.16
    np.testing.assert_allclose(bench.targets, 300e3, atol=WIRE)


def test_vented_above_what_a_terminal_holds_is_reached_at_the_rate_whatever_a_sensor_reads():
    bench = ValveBench("modbus", ChamberLimits((0.0, 80e3), rate=20e3, vent_rate=20e3, vented=30e3))
    bench.lies[1] = 60e3
    bench.run(3.0)
    _, told = bench.history()
    rises = np.array([np.max(told[i : i + 20], axis=0) - told[i] for i in range(len(told))])  # 0.1 s
    assert rises.max() <= 20e3 * 0.16


def test_a_terminal_that_does_not_say_what_it_holds_is_not_sucked_empty_after_a_silence(bench):
    command = np.array([60e3, -30e3, 60e3])
    answer = bench.device.answer

    def refuse(message):
        return message[:4] + bytes([0, 3, message[6], 0x83, 1]) if message[7] == 3 else answer(message)

    bench.device.answer = refuse
    bench.active(command)
    start = bench.clock.now
    bench.device.spoil = lambda _: b""
    bench.run(0.36, command)
    bench.device.spoil = lambda said: said
    bench.run(1.5, command)
    _, told = bench.history(start)
    assert np.all(told.min(axis=0) >= np.minimum(command, 0.0) - WIRE)
    np.testing.assert_allclose(bench.targets, command, atol=WIRE)


@pytest.mark.parametrize(
    ("kind", "limits", "full"),
    [
        ("modbus_vacuum", ChamberLimits((-90e3, 10e3), rate=100e3, vent_rate=20e3), -80e3),
        ("modbus_vacuum", ChamberLimits((-60e3, 0.0), rate=100e3, vent_rate=20e3), -50e3),
        ("modbus", ChamberLimits((0.0, 600e3), rate=300e3, vent_rate=20e3), 400e3),
        ("dac_board", ChamberLimits((100e3, 600e3), rate=300e3, vent_rate=20e3, vented=100e3), 400e3),
    ],
)
def test_closing_vents_at_the_safe_rate_to_the_end(kind, limits, full):
    bench = ValveBench(kind, limits).active(np.full(COUNT, full))
    bench.run(0.5, np.full(COUNT, full))
    start = bench.clock.now
    bench.session.close()
    bench.clock.sleep(0.1)
    _, told = bench.history(start)
    assert np.abs(np.diff(told, axis=0)).max() <= limits.vent_rate * 3 * TICK
    np.testing.assert_allclose(bench.targets, limits.vented, atol=WIRE)
