"""Which commands a session obeys: by their values and by their stamps."""

import numpy as np
import pytest

from soft_twin.driving.states import State
from soft_twin.errors import DeviceError, InputError

from .wire import DT, Bench

NEAR, FAR = np.full(6, 0.002), np.full(6, 0.004)


@pytest.fixture
def bench():
    return Bench().active()


def _refused(bench, kind):
    return bench.session.status().counters[f"refused_{kind}"]


@pytest.mark.parametrize(
    ("age", "kind"), [(0.25, "stale"), (-0.1, "future"), (float("nan"), "stale"), ("now", "unusable"), (None, "")]
)
def test_stamps_that_cannot_be_of_a_fresh_measurement_are_refused_and_counted(bench, age, kind):
    stamp = age if age is None or isinstance(age, str) else bench.clock.time() - age
    if not kind:
        bench.session.command(NEAR, stamp)
        return
    with pytest.raises(InputError):
        bench.session.command(NEAR, stamp)
    assert _refused(bench, kind) == 1
    assert bench.session.status().refusal in bench.session.status().faults


def test_an_older_command_does_not_undo_a_newer_one(bench):
    for _ in range(100):
        now = bench.clock.time()
        bench.session.command(FAR, now)
        with pytest.raises(InputError, match="newer"):
            bench.session.command(NEAR, now - 0.1)
        bench.step()
    np.testing.assert_allclose(bench.motors.displacements, FAR, atol=1e-4)
    assert _refused(bench, "reordered") == 100


def test_commands_go_on_when_the_clock_is_set_back(bench):
    bench.session.command(NEAR, bench.clock.time())
    bench.clock.now -= 5.0
    bench.session.command(NEAR, bench.clock.time())


def test_a_refused_command_does_not_let_older_ones_through_once_a_clock_that_was_set_back_is_there_again(bench):
    newest = bench.clock.time()
    bench.session.command(NEAR, newest)
    bench.clock.now -= 0.15
    with pytest.raises(InputError, match="ago"):
        bench.session.command(NEAR, bench.clock.time() - 1.0)
    bench.clock.now += 0.2
    with pytest.raises(InputError, match="newer"):
        bench.session.command(FAR, newest - 0.1)


def test_commands_to_relaxed_actuators_are_refused_without_a_fault(bench):
    bench.session.relax()
    with pytest.raises(DeviceError, match="enable"):
        bench.session.command(NEAR)
    assert _refused(bench, "not_active") == 1
    assert bench.session.status().faults == ()


def test_a_refused_command_is_told_no_more_once_the_actuators_are_relaxed(bench):
    with pytest.raises(InputError):
        bench.session.command(NEAR, bench.clock.time() - 5.0)
    assert "5.00 s ago" in "; ".join(bench.session.status().faults)
    bench.session.relax()
    assert bench.session.status().faults == ()


@pytest.mark.parametrize("values", ["123456", None, [1j] * 6, np.zeros(5), [10**400] * 6, np.full(6, np.nan)], ids=str)
def test_values_that_are_no_row_of_finite_numbers_are_refused_and_counted(bench, values):
    with pytest.raises(InputError, match="refused"):
        bench.session.command(values, bench.clock.time())
    assert _refused(bench, "unusable") == 1
    bench.session.command(NEAR, bench.clock.time())
    assert bench.session.status().faults == ()


def test_whatever_is_commanded_the_watchdog_hears_only_what_is_obeyed(bench):
    for _ in range(round(1.2 / DT)):
        with pytest.raises((InputError, DeviceError)):
            bench.session.command(NEAR, bench.clock.time() - 1.0)
        bench.step()
    assert bench.session.state is State.READY
    assert not bench.bus.currents.any()


def test_a_refused_command_is_told_once(bench):
    with pytest.raises(InputError):
        bench.session.command(np.zeros(5), bench.clock.time())
    bench.step()
    assert len(bench.session.status().faults) == 1


def test_a_lost_adapter_is_a_fault_of_its_own_after_a_refused_command(bench):
    with pytest.raises(InputError):
        bench.session.command(np.zeros(5), bench.clock.time())
    bench.session.stop()
    bench.unplug()
    bench.run(0.6)
    assert any(fault.startswith("CAN bus gone") for fault in bench.session.status().faults)
