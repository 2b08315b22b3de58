import numpy as np
import pytest

from soft_twin.descriptions.drives import Mismatch, ValveDrive
from soft_twin.descriptions.valve_devices import VALVE_DEVICES
from soft_twin.emulation.chambers import ChamberParameters, Chambers
from soft_twin.emulation.valve_bank import ValveBank

TIGHT = ChamberParameters(valve_lag=1e-6, leak=0.0, noise=0.0)


def _run(chambers, seconds, dt=0.001):
    for _ in range(round(seconds / dt)):
        chambers.step(dt)
    return chambers.pressures


def test_a_chamber_fills_with_its_time_constant():
    chambers = Chambers(1, TIGHT)
    chambers.targets[:] = 100e3
    assert _run(chambers, 1.0 / TIGHT.fill_rate)[0] == pytest.approx(100e3 * (1.0 - np.exp(-1.0)), rel=0.02)


def test_a_leak_leaves_the_chamber_below_its_target():
    chambers = Chambers(1, ChamberParameters(leak=1.0, fill_rate=9.0))
    chambers.targets[:] = 100e3
    assert _run(chambers, 3.0)[0] == pytest.approx(90e3, rel=1e-3)


def test_faults():
    chambers = Chambers(3, TIGHT)
    chambers.targets[:] = 100e3
    _run(chambers, 2.0)
    chambers.stuck[1] = True
    chambers.targets[:] = 50e3
    np.testing.assert_allclose(_run(chambers, 2.0), [50e3, 100e3, 50e3], rtol=1e-3)
    chambers.supply = 0.0
    np.testing.assert_allclose(_run(chambers, 2.0), 0.0, atol=10.0)


def test_sensor_noise_is_seeded():
    np.testing.assert_array_equal(Chambers(3, seed=4).measured(), Chambers(3, seed=4).measured())


@pytest.mark.parametrize("backend", VALVE_DEVICES)
def test_the_supply_of_an_emulated_robot_gives_all_that_its_valves_can_be_told(backend):
    highest = VALVE_DEVICES[backend].highest
    drive = ValveDrive(backend, ["room"], [0], 0.0, highest, rate=2e5, vent_rate=5e4, vented=0.0, acceleration=4e6)
    bank = ValveBank(drive, Mismatch(1.0, 1.0, 0.0, 0.02, leak=0.0))
    try:
        bank.device.chambers.targets[:] = highest
        np.testing.assert_allclose(_run(bank.device.chambers, 2.0)[0], highest, rtol=1e-3)
    finally:
        bank.close()
