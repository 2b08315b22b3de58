"""A session's answers, by what its valves are told and what their chambers have."""

import re
from dataclasses import replace

import numpy as np
import pytest

from soft_twin.driving.states import State
from soft_twin.driving.valves.dac_board import RANGE

from .valve_bench import COUNT, KINDS, TICK, VACUUM, ValveBench

NOISE = 1e3  # [Pa]
STEP_OF_THE_WIRE = 150.0  # [Pa]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def bench(kind):
    return ValveBench(kind)


def _faults(bench):
    return "; ".join(bench.session.status().faults)


def _state(bench):
    return bench.session.status().state


def test_commands_are_reached_and_a_stop_vents_at_the_safe_rate(bench):
    bench.active()
    np.testing.assert_allclose(bench.pressures, bench.middle, atol=2 * NOISE)
    start = bench.clock.now
    bench.session.stop()
    bench.run(0.3)
    assert not any("not reached" in fault for fault in bench.session.status().faults)
    bench.run(2.5)
    np.testing.assert_allclose(bench.targets, bench.limits.vented, atol=STEP_OF_THE_WIRE)
    times, told = bench.history(start)
    fall = bench.middle - told
    assert np.all(fall <= bench.limits.vent_rate * (times - start + 0.1)[:, None] + 5e3)


@pytest.mark.parametrize("off", [-51.0, 2.0, 49.0])
def test_no_limit_is_passed_by_what_a_device_rounds_its_set_points_to(kind, off):
    usual = ValveBench(kind).limits
    low, high = usual.pressure[0] + 1e3 + off, usual.pressure[1] - 1e3 + off
    bench = ValveBench(kind, replace(usual, pressure=(low, high), vented=low)).active()
    start = bench.clock.now
    for limit in (high, low):
        bench.run(4.0, np.full(COUNT, limit))
        np.testing.assert_allclose(bench.targets, limit, atol=STEP_OF_THE_WIRE)
    _, told = bench.history(start)
    assert low - 1e-6 <= told.min() and told.max() <= high + 1e-6


@pytest.mark.parametrize("lie", [-100e3, np.nan, 1e38, -np.inf])
def test_whatever_a_sensor_reads_nothing_beyond_the_limits_is_told_and_it_is_named(bench, lie):
    bench.active()
    start = bench.clock.now
    bench.lies[1] = lie
    bench.run(2.5, bench.middle)
    low, high = bench.limits.pressure
    _, told = bench.history(start)
    assert told.min() >= low - STEP_OF_THE_WIRE
    assert told.max() <= high + STEP_OF_THE_WIRE
    if lie < 0.0 or np.isnan(lie):
        assert _state(bench) is State.FAULT
        assert "chamber_1" in _faults(bench)


@pytest.mark.parametrize("lie", [-100e3, np.nan, 1e38])
def test_a_start_from_a_broken_sensor_is_within_the_limits_too(bench, lie):
    bench.lies[1] = lie
    bench.run(1.0)
    start = bench.clock.now - 0.2
    bench.ask("enable")
    bench.run(1.0, bench.middle)
    _, told = bench.history(start)
    low, high = bench.limits.pressure
    assert told.min() >= low - STEP_OF_THE_WIRE
    assert told.max() <= high + STEP_OF_THE_WIRE


def test_wrong_first_telegrams_tell_a_device_that_was_never_enabled_nothing(bench):
    bench.lies.update(dict.fromkeys(range(COUNT), bench.limits.pressure[1] - 1e3))
    bench.run(0.1)
    bench.lies.clear()
    bench.run(1.0)
    _, told = bench.history()
    assert told.max() <= bench.limits.vented + 5e3


@pytest.mark.parametrize("kind", ["openpneu", "modbus"])
def test_chambers_that_a_dead_host_has_left_under_pressure_are_vented_from_there(kind):
    bench = ValveBench(kind).active()
    bench.driver = None  # the host dies, its device goes on pumping
    bench.session = type(bench.session)(bench._open, clock=bench.clock)
    start = bench.clock.now
    bench.run(0.7)
    _, told = bench.history(start)
    falls = -np.diff(told, axis=0).sum(axis=0)
    assert np.all(falls > 5e3)
    assert told.max() <= bench.middle[0] + STEP_OF_THE_WIRE
    assert np.diff(told, axis=0).min() >= -5e3
    bench.run(1.5)
    np.testing.assert_allclose(bench.targets, bench.limits.vented)


def test_a_stop_outlives_replugging_while_commands_come(kind):
    bench = ValveBench(kind, enable_when_active=True)
    bench.run(1.5, bench.middle)
    bench.run(1.5, bench.middle)
    assert _state(bench) is State.ACTIVE
    bench.session.stop()
    bench.run(0.1, bench.middle)
    bench.unplug()
    bench.run(1.0, bench.middle)
    lowest = bench.targets
    bench.replug()
    start = bench.clock.now
    bench.run(3.0, bench.middle)
    assert _state(bench) is State.STOPPED
    _, told = bench.history(start)
    assert np.all(told <= np.maximum(lowest, bench.limits.vented) + STEP_OF_THE_WIRE)
    np.testing.assert_allclose(bench.targets, bench.limits.vented, atol=STEP_OF_THE_WIRE)


def test_the_watchdog_vents_in_real_time_after_a_halt(bench):
    bench.active()
    bench.clock.sleep(10.0)  # the process is halted
    held = bench.targets
    bench.run(0.3)
    assert _state(bench) in (State.READY, State.FAULT)
    assert np.all(
        bench.targets <= np.maximum(held - 0.5 * 0.3 * bench.limits.vent_rate, bench.limits.vented) + STEP_OF_THE_WIRE
    )


def test_a_chamber_that_stays_under_pressure_after_a_stop_is_named(bench):
    bench.active()
    each = bench.channels
    bench.device.chambers.stuck[each : 2 * each] = True
    bench.session.stop()
    bench.run(5.0)
    assert _state(bench) is State.STOPPED
    assert "chamber_1" in _faults(bench)
    assert "under pressure" in _faults(bench)
    assert "chamber_0" not in _faults(bench)


def test_closing_ends_at_the_vented_pressure_and_not_below(kind):
    bench = ValveBench(kind).active()
    start = bench.clock.now
    bench.session.close()
    bench.clock.sleep(0.1)
    _, told = bench.history(start)
    own = 0.0 if kind == "openpneu" else bench.limits.pressure[0]  # it keeps nothing without its pumps
    assert told.min() >= own - STEP_OF_THE_WIRE
    assert bench.targets.max() <= bench.limits.vented + STEP_OF_THE_WIRE


def test_a_driver_that_dies_says_so_and_lets_the_air_out(bench, monkeypatch):
    bench.active()

    def fail(*_):
        raise ValueError("surprise")

    monkeypatch.setattr(bench.driver._control, "update", fail)
    bench.run(3 * TICK, bench.middle)
    assert _state(bench) is State.FAULT
    assert "surprise" in _faults(bench)
    assert bench.session.stop() == "stopped"
    bench.clock.sleep(0.1)
    assert bench.targets.max() <= bench.limits.vented + STEP_OF_THE_WIRE


@pytest.mark.parametrize("kind", KINDS | VACUUM)
def test_who_relaxes_is_answered_which_chambers_are_still_under_pressure(kind):
    bench = ValveBench(kind)
    bench.run(1.0)
    assert bench.session.relax() == "the valves are relaxed"
    bench.active(np.full(3, 0.9 * bench.limits.pressure[1]))
    bench.device.chambers.stuck[bench.channels] = True
    answer = bench.session.relax()
    assert "not vented yet" in answer and all(f"chamber_{i} has " in answer for i in range(3))
    while (bench.pressures[[0, 2]] > bench.limits.vented + 2.0 * NOISE).any():
        bench.step()
    bench.run(5 * TICK)
    answer = bench.session.relax()
    told = re.findall(r"(chamber_\d) has ([\d.]+) kPa", answer)
    assert [name for name, _ in told] == ["chamber_1"]
    assert 1e3 * float(told[0][1]) == pytest.approx(bench.pressures[1], abs=NOISE)
    bench.run(3.0)
    answer = bench.session.relax()
    assert "still under pressure though vented: chamber_1" in answer and "not vented yet" not in answer


@pytest.mark.parametrize("kind", KINDS | VACUUM)
def test_that_a_chamber_came_free_is_told_though_the_fault_waits_for_somebody(kind):
    bench = ValveBench(kind)
    bench.active(np.full(3, 0.9 * bench.limits.pressure[1]))
    bench.device.chambers.stuck[0] = True
    bench.session.relax()
    bench.run(bench.limits.vent_time + 3.0)
    told = bench.session.status()
    assert told.state is State.FAULT and "still under pressure" in _faults(bench) and told.warning == ""
    bench.device.chambers.stuck[0] = False
    bench.run(8.0)
    told = bench.session.status()
    assert told.state is State.FAULT and "is over: enable or relax the valves" in told.warning
    bench.session.relax()
    told = bench.session.status()
    assert told.state is State.READY and told.faults == () and told.warning == ""


def test_an_openpneu_that_refuses_while_it_is_vented_is_named_and_told_again(monkeypatch):
    bench = ValveBench("openpneu").active()
    answer = bench.device.answer
    monkeypatch.setattr(bench.device, "answer", lambda line: b"Error command\r\n")
    bench.session.relax()
    bench.run(2.5)
    assert "confirmed" in _faults(bench)
    assert _state(bench) is State.FAULT
    np.testing.assert_allclose(bench.targets, bench.middle)
    monkeypatch.setattr(bench.device, "answer", answer)
    bench.run(5.0)
    np.testing.assert_allclose(bench.targets, 0.0)
    bench.session.enable()
    bench.run(2.0, bench.middle)
    np.testing.assert_allclose(bench.targets, bench.middle)


def test_an_openpneu_that_was_without_power_is_told_everything_again():
    bench = ValveBench("openpneu").active()
    bench.device.running, bench.device._selected = False, 0
    bench.device._targets[:] = 0.0
    bench.run(1.0, bench.middle)
    np.testing.assert_allclose(bench.targets, bench.middle)


@pytest.mark.parametrize("spoil", [lambda a: a[:5] + bytes([a[5] - 2]) + a[6:-2], lambda a: a[:-1], lambda a: a + b"x"])
def test_one_reply_of_wrong_length_stops_nothing(spoil):
    bench = ValveBench("modbus").active()
    left = [spoil]
    bench.device.spoil = lambda answer: left.pop()(answer) if left else answer
    bench.run(1.0, bench.middle)
    assert not left
    assert _state(bench) is State.ACTIVE
    bench.session.stop()
    bench.run(2.5)
    np.testing.assert_allclose(bench.targets, 10e3)


def _refusing(code):
    return lambda answer: answer[:4] + b"\x00\x03" + answer[6:7] + bytes([answer[7] | 0x80, code])


def test_a_terminal_that_is_busy_for_a_moment_is_asked_again():
    bench = ValveBench("modbus").active()
    left = [_refusing(6)] * 8
    bench.device.spoil = lambda answer: left.pop()(answer) if left else answer
    bench.run(1.0, bench.middle)
    assert not left
    assert _state(bench) is State.ACTIVE


def test_a_terminal_that_refuses_is_named_and_vented_again_when_it_obeys():
    bench = ValveBench("modbus").active()
    bench.device.spoil = _refusing(2)
    bench.run(1.0, bench.middle)
    assert _state(bench) is State.FAULT
    assert "illegal data address" in _faults(bench)
    bench.device.spoil = lambda answer: answer
    bench.run(2.5)
    np.testing.assert_allclose(bench.targets, 10e3)


def test_slow_answers_stretch_no_watchdog():
    bench = ValveBench("modbus")
    bench.device.delay = 0.18
    bench.active()
    assert _state(bench) is State.ACTIVE
    start = bench.clock.now
    while _state(bench) is State.ACTIVE:
        bench.step()
    assert bench.clock.now - start <= 1.0 + 0.1
    bench.run(3.0)
    np.testing.assert_allclose(bench.targets, 10e3)


def test_a_dropped_connection_is_opened_again_and_its_chambers_are_vented():
    bench = ValveBench("modbus").active()
    bench.plug.plugged = False
    bench.run(1.5, bench.middle)
    assert "device was lost" in _faults(bench)
    bench.run(2.0)
    np.testing.assert_allclose(bench.targets, 10e3)


def test_a_sensor_that_was_stuck_before_anybody_looked_fills_no_empty_chamber():
    """It says what a host that has died had told; the terminal's watchdog has emptied the chamber since."""
    bench = ValveBench("modbus")
    bench.lies[1] = 310e3
    bench.run(3.0)
    _, told = bench.history()
    assert told.max() <= bench.limits.vented + STEP_OF_THE_WIRE


def test_a_terminal_that_has_forgotten_its_set_points_in_a_silence_is_not_told_them_again():
    bench = ValveBench("modbus").active(np.full(COUNT, 300e3))
    bench.lies[1] = 300e3
    bench.device.silent_for(0.7)
    start = bench.clock.now + 0.75
    bench.run(2.0)
    _, told = bench.history(start)
    assert told.max() <= bench.limits.vented + STEP_OF_THE_WIRE


def test_a_terminal_that_does_not_say_what_it_holds_is_told_nothing_that_sensors_say():
    bench = ValveBench("modbus")
    answer = bench.device.answer
    bench.lies = dict.fromkeys(range(COUNT), 200e3)

    def refuse(message):
        return message[:4] + bytes([0, 3, message[6], 0x83, 1]) if message[7] == 3 else answer(message)

    bench.device.answer = refuse
    bench.run(1.0)
    _, told = bench.history()
    assert told.max() <= bench.limits.vented + STEP_OF_THE_WIRE
    assert bench.session.status().faults == ()
    bench.lies = {}
    bench.session.enable()
    bench.run(1.6, bench.middle)
    np.testing.assert_allclose(bench.pressures, bench.middle, atol=2 * NOISE)


def test_a_terminal_whose_answers_are_waited_for_in_vain_is_vented_all_the_same():
    bench = ValveBench("modbus").active()
    bench.device.delay = 0.45
    bench.run(0.6, bench.middle)
    bench.session.stop()
    start = bench.clock.now
    bench.run(4.0)
    np.testing.assert_allclose(bench.targets, 10e3)
    assert "not reached" not in _faults(bench)
    times, told = bench.history(start)
    assert np.all(bench.middle - told <= bench.limits.vent_rate * (times - start + 1.0)[:, None])


@pytest.mark.parametrize("code", [5, 6])
def test_a_terminal_that_is_always_too_busy_to_say_what_it_holds_is_vented_all_the_same(code):
    bench = ValveBench("modbus").active()
    answer = bench.device.answer

    def refuse(message):
        return message[:4] + bytes([0, 3, message[6], 0x83, code]) if message[7] == 3 else answer(message)

    bench.device.answer, bench.device.spoil = refuse, lambda _: b""
    bench.run(0.36, bench.middle)
    bench.device.spoil = lambda said: said
    bench.session.stop()
    bench.run(3.0)
    np.testing.assert_allclose(bench.targets, 10e3)
    bench.session.clear_stop()
    bench.session.enable()
    bench.run(1.6, bench.middle)
    np.testing.assert_allclose(bench.pressures, bench.middle, atol=2 * NOISE)


@pytest.mark.parametrize("dip", [0.15, 0.25, 0.35, 0.45])
def test_a_board_whose_power_dips_fills_no_chamber_with_a_bang(dip):
    bench = ValveBench("dac_board").active()
    lives, ends = bench.device.step, bench.clock.now + dip

    def live_without_power(dt):
        if bench.clock.now < ends:
            bench.line.to_device = b""
            bench.device.chambers.targets[:] = RANGE[0]
            bench.device.chambers.step(dt)
        else:
            lives(dt)

    bench.device.step = live_without_power
    bench.run(dip, bench.middle)
    fallen = bench.pressures.copy()
    peak = fallen
    while bench.clock.now < ends + 0.1:
        bench.run(TICK, bench.middle)
        peak = np.maximum(peak, bench.pressures)
    assert np.all(peak - fallen < 0.1 * bench.limits.rate + 5e3)
    bench.run(2.5, bench.middle)
    np.testing.assert_allclose(bench.pressures, bench.middle, atol=2 * NOISE)


def test_a_stop_that_no_device_has_confirmed_is_said_beyond_the_closing_of_the_device():
    bench = ValveBench("modbus").active()
    bench.device.spoil = lambda answer: b""
    bench.run(0.3)
    bench.session.stop()
    bench.run(0.2)
    assert "has not reached" in _faults(bench)
    bench.session.deactivate()
    bench.session.disconnect()
    assert "has not reached" in _faults(bench)
    bench.device.spoil = lambda answer: answer
    bench.session.connect()
    bench.run(1.5)
    assert "has not reached" not in _faults(bench)
    assert _state(bench) is State.STOPPED


def test_a_stop_that_was_told_is_not_said_to_be_missing_once_the_device_is_closed(bench):
    bench.active()
    bench.session.stop()
    bench.run(0.5)
    bench.session.disconnect()
    assert "has not reached" not in _faults(bench)
