"""The session's answers, by what the motors do."""

import numpy as np
import pytest

from soft_twin.driving.states import State
from soft_twin.errors import DeviceError, InputError

from .wire import Bench

FAR = np.full(6, 0.008)


@pytest.fixture
def bench():
    return Bench()


def _state(bench):
    return bench.session.status().state


@pytest.mark.parametrize("halts", [0.02, 0.06, 0.12])
def test_a_new_driver_on_a_busy_host_misses_no_turn_since_nothing_moves_yet(bench, halts):
    """Until it is known how often motors tell, nobody knows what was lost while the host was halted."""
    bench.run(0.02)
    bench.session.home()
    bench.session.enable()
    for _ in range(4):
        bench.run(0.012, FAR)
        bench.halt(halts)
    bench.run(0.6, FAR)
    assert (_state(bench), bench.session.status().faults) == (State.ACTIVE, ())
    np.testing.assert_allclose(bench.motors.displacements, FAR, atol=1e-4)


def test_a_position_that_is_not_known_is_not_driven(bench):
    bench.run(0.6)
    assert _state(bench) is State.POSITION_UNKNOWN
    with pytest.raises(DeviceError, match="position is unknown"):
        bench.session.enable()
    assert np.ptp(bench.run(0.5, FAR)) == 0.0


@pytest.mark.parametrize("homing", ["home", "assume_taut_here"])
def test_a_zero_is_where_the_cables_are_and_not_where_they_were_before_the_host_was_halted(bench, homing):
    bench.run(0.6)
    bench.motors.displacements += 0.0003  # taut, and so they unwind
    bench.run(0.02)
    bench.halt(0.3)
    there = bench.motors.displacements.copy()
    getattr(bench.session, homing)()
    bench.run(0.2)
    turned = bench.motors.displacements - there
    assert np.abs(turned).max() < 1e-4
    np.testing.assert_allclose(bench.driver.state().displacements, turned, atol=5e-5)


def test_a_replugged_adapter_does_not_move_the_cables_again(bench):
    bench.active()
    bench.run(1.0, FAR)
    bench.unplug()
    bench.run(1.5, FAR)
    assert _state(bench) is State.AWAY
    bench.plug()
    bench.run(1.5, FAR)
    assert _state(bench) is State.POSITION_UNKNOWN
    assert not bench.ask("enable")
    assert bench.run(1.0, FAR).max() < 0.0085
    bench.session.assume_taut_here()
    bench.session.enable()
    assert _state(bench) is State.ACTIVE


def test_why_a_device_is_away_is_said_before_the_session_has_looked(bench):
    bench.active()
    bench.unplug()
    while bench.driver.running:
        bench.clock.now += 0.01
        bench.driver.tick()
    assert bench.driver.lost in bench.session.status().mode
    with pytest.raises(DeviceError, match="CAN"):
        bench.session.enable()


@pytest.mark.parametrize("lost", [False, True])
def test_who_connects_before_a_session_that_starts_by_itself_does_is_no_cause_to_leave_it_limp(lost):
    bench = Bench(autostart=True)
    bench.there = lost
    bench.run(0.6)
    if lost:
        bench.unplug()
        bench.run(0.3)
    bench.plug()
    bench.session.connect()
    bench.run(0.6)
    assert bench.session.active
    assert _state(bench) is State.POSITION_UNKNOWN


def test_who_has_to_connect_by_hand_has_to_activate_by_hand():
    bench = Bench(autostart=False)
    bench.session.connect()
    bench.session.activate()
    bench.run(0.3)
    bench.unplug()
    bench.run(0.3)
    bench.plug()
    bench.session.connect()
    assert not bench.session.active


def test_a_stop_outlives_the_device(bench):
    bench.active()
    bench.unplug()
    bench.run(1.0)
    assert "could not be told" in bench.session.stop()
    bench.plug()
    bench.run(1.5, FAR)
    assert _state(bench) is State.STOPPED
    assert not bench.ask("enable")
    bench.session.deactivate()
    bench.session.disconnect()
    bench.session.connect()
    bench.session.activate()
    assert _state(bench) is State.STOPPED
    bench.session.clear_stop()
    bench.run(0.6)
    assert _state(bench) is State.POSITION_UNKNOWN


def test_a_stop_reaches_the_motors_and_says_so(bench):
    bench.active()
    bench.run(0.05, FAR)
    assert np.abs(bench.bus.currents).max() > 0.0
    bench.session.stop()
    assert any("not reached" in fault for fault in bench.session.status().faults)
    bench.step()
    assert not bench.bus.currents.any()
    assert not any("not reached" in fault for fault in bench.session.status().faults)


@pytest.mark.parametrize("command", ["take_up_slack", "enable"])
def test_an_inactive_node_moves_nothing(bench, command):
    bench.ready()
    bench.session.deactivate()
    assert not bench.ask(command)
    for _ in range(100):
        bench.step()
        assert not bench.bus.currents.any()
    assert _state(bench) is State.LIMP


def test_whatever_is_raised_in_the_driver_is_a_named_fault_and_leaves_limp_motors(bench, monkeypatch):
    bench.active()
    bench.run(0.1, FAR)

    def fail(*_):
        raise KeyError("surprise")

    monkeypatch.setattr(bench.driver._control, "update", fail)
    bench.step()
    assert _state(bench) is State.FAULT
    assert "surprise" in bench.session.status().faults[0]
    assert not bench.bus.currents.any()
    assert not bench.ask("enable")
    assert bench.session.stop() == "stopped"


def test_enabling_on_activation_waits_until_it_can_and_says_why():
    bench = Bench(enable_when_active=True)
    bench.run(0.6)
    assert any("waiting to enable" in fault for fault in bench.session.status().faults)
    bench.session.home()
    bench.run(0.1)
    assert _state(bench) is State.ACTIVE


def test_a_stop_ends_the_wish_to_be_enabled():
    bench = Bench(enable_when_active=True).ready()
    bench.run(0.1)
    bench.session.stop()
    bench.unplug()
    bench.run(1.0)
    bench.plug()
    bench.run(1.0)
    bench.session.clear_stop()
    bench.session.home()
    bench.run(0.5, FAR)
    assert _state(bench) is State.READY


def test_a_command_without_a_stamp_says_what_it_lacks(bench):
    bench.run(0.6)
    with pytest.raises(InputError, match=r"command without a stamp: say when its sample was measured, `\{header: auto"):
        bench.session.command(FAR, 0.0)
