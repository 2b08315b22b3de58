"""The contract of every valve backend, on its emulated device."""

import threading
import time

import numpy as np
import pytest

from soft_twin.descriptions.drives import ValveDrive
from soft_twin.descriptions.valve_devices import VALVE_DEVICES
from soft_twin.driving.valves.modbus_vacuum import ModbusVacuumValves
from soft_twin.driving.valves.modbus_valves import ModbusValves
from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_driver import ValveDriver, checked_limits
from soft_twin.driving.valves.valves import BACKENDS, open_valves
from soft_twin.emulation.dac_board import EmulatedDacBoard
from soft_twin.emulation.modbus_terminal import EmulatedModbusTerminal
from soft_twin.emulation.openpneu import EmulatedOpenPneu
from soft_twin.errors import DescriptionError, DeviceError

from ..virtual_clock import VirtualClock

COUNT = 4
DT = 0.005


class Running:
    """An emulated device in a thread."""

    def __init__(self, device, address, channels_per_chamber=1):
        self.device, self.address, self._each = device, address, channels_per_chamber
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._closing.wait(DT):
            self.device.step(DT)

    @property
    def pressures(self):
        """True pressures of the chambers."""
        return self.device.chambers.pressures[:: self._each][:COUNT]

    def freeze(self):
        self._closing.set()
        self._thread.join()

    def unplug(self):
        self.freeze()
        self.device.close()


def _openpneu():
    device = EmulatedOpenPneu()
    return Running(device, device.port.path, channels_per_chamber=2)


def _dac_board():
    device = EmulatedDacBoard(COUNT)
    return Running(device, device.port.path)


def _modbus():
    device = EmulatedModbusTerminal(COUNT)
    return Running(device, device.address)


def _modbus_vacuum():
    device = EmulatedModbusTerminal(COUNT, vacuum=True)
    return Running(device, device.address)


DEVICES = {
    "openpneu": (_openpneu, 20e3, 80e3),
    "dac_board": (_dac_board, 0.1e6, 0.4e6),
    "modbus": (_modbus, 0.0, 0.3e6),
    "modbus_vacuum": (_modbus_vacuum, -65e3, 0.2e6),
}


@pytest.fixture(params=DEVICES)
def backend(request):
    return request.param


@pytest.fixture
def device(backend):
    device = DEVICES[backend][0]()
    yield device
    device.unplug()


@pytest.fixture
def valves(backend, device):
    valves = open_valves(backend, device.address, COUNT)
    yield valves
    valves.close()


def _wait(condition, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(DT)
    return True


def test_every_backend_is_under_contract():
    assert set(DEVICES) == set(BACKENDS)


def test_chambers_reach_the_pressures_they_are_told(backend, device, valves):
    _, low, high = DEVICES[backend]
    told = np.linspace(low, high, COUNT)

    def reached():
        valves.write(told)
        return np.allclose(device.pressures, told, atol=2e3)

    assert _wait(reached)


def test_measured_pressures_are_the_true_ones(backend, device, valves):
    told = np.linspace(*DEVICES[backend][1:], COUNT)
    measured = []

    def reached():
        valves.write(told)
        newest = valves.read()
        if newest is not None:
            measured.append(newest)
        return bool(measured) and np.allclose(measured[-1], told, atol=2e3)

    assert _wait(reached)
    assert measured[-1].shape == (COUNT,)


def test_pressures_beyond_the_range_are_clipped(backend, device, valves):
    low, high = valves.range
    for _ in range(20):
        valves.write(np.array([1e9, -1e9, high, low]))
        time.sleep(DT)
    targets = device.device.chambers.targets
    assert targets.max() <= high + 1.0
    assert targets.min() >= min(low, 0.0) - 1.0


def test_closing_lets_the_air_out(backend, device, valves):
    told = np.full(COUNT, DEVICES[backend][2])
    lowest = max(valves.range[0], 0.0)
    assert _wait(lambda: valves.write(told) or device.pressures.min() > 0.5 * told[0])
    valves.close()
    assert _wait(lambda: np.allclose(device.pressures, lowest, atol=3e3))


def test_a_device_that_goes_away_is_a_device_error(backend, device, valves):
    device.unplug()

    def talk():
        for _ in range(100):
            valves.write(np.random.default_rng(0).uniform(0.2e6, 0.3e6, COUNT))
            valves.read()

    with pytest.raises(DeviceError):
        talk()


def test_a_device_that_is_not_there_says_what_to_do(backend):
    with pytest.raises(DeviceError, match="plug it in|check its address"):
        open_valves(backend, "127.0.0.1:9" if backend.startswith("modbus") else "/dev/no_such_device", COUNT)


def test_too_many_chambers_are_refused(backend, device):
    with pytest.raises(DeviceError, match="1000"):
        open_valves(backend, device.address, 1000)


def test_an_unknown_backend_is_named():
    with pytest.raises(DescriptionError, match="openpneu"):
        open_valves("bellows", "/dev/null", 1)


def test_driven_to_a_pressure_and_relaxed(backend, device, valves):
    _, low, high = DEVICES[backend]
    vented = max(valves.range[0], 0.0)
    limits = ChamberLimits((min(low, vented), high), rate=2e6, vent_rate=2e6, vented=vented)
    driver = ValveDriver([f"chamber_{i}" for i in range(COUNT)], limits, valves)
    driver.enable()
    told = np.linspace(low, high, COUNT)

    def reached():
        driver.command(told)
        return np.allclose(driver.state().pressures, told, atol=3e3)

    assert _wait(reached)
    driver.stop()
    assert driver.state().mode == "stopped"
    assert _wait(lambda: np.allclose(device.pressures, vented, atol=3e3))
    driver.close()
    assert not driver.running


def test_an_unplugged_device_is_a_named_fault_and_raises_nowhere(backend, device, valves):
    vented = max(valves.range[0], 0.0)
    limits = ChamberLimits((vented, DEVICES[backend][2]), rate=2e6, vent_rate=2e6, vented=vented)
    driver = ValveDriver([f"chamber_{i}" for i in range(COUNT)], limits, valves)
    driver.enable()
    driver.command(np.full(COUNT, vented + 10e3))
    device.unplug()
    rng = np.random.default_rng(0)

    def at_fault():
        driver.command(vented + rng.uniform(0.0, 20e3, COUNT))
        return driver.state().mode == "fault"

    assert _wait(at_fault)
    assert driver.state().faults
    with pytest.raises(DeviceError):
        driver.enable()
    driver.close()


def test_limits_in_another_unit_between_which_nothing_can_be_told_are_refused(backend, valves):
    low = max(valves.range[0], 0.0)
    limits = ChamberLimits((low, low + 0.9 * valves.step), 200.0, 50.0, vented=low)
    with pytest.raises(DescriptionError, match="no two of these lie between; are the limits in Pa"):
        ValveDriver([str(i) for i in range(COUNT)], limits, valves)


def test_names_and_limits_must_fit_the_valves(backend, valves):
    limits = ChamberLimits(valves.range, 1e6, 1e6, vented=max(valves.range[0], 0.0))
    with pytest.raises(DescriptionError, match="name one chamber for each"):
        ValveDriver(["only one"], limits, valves)
    with pytest.raises(DescriptionError, match="reach"):
        ValveDriver(["a", "b", "c", "d"], ChamberLimits((0.0, 1.9e6), 1e6, 1e6), valves)


@pytest.mark.parametrize("backend", VALVE_DEVICES)
def test_what_a_kind_of_valves_cannot_be_told_is_refused_before_any_device_is_opened(backend):
    lowest, highest, most = VALVE_DEVICES[backend]

    def drive(low, high, count):
        vented = min(max(low, 0.0), high)
        names = [f"chamber_{i}" for i in range(count)]
        return ValveDrive(backend, names, range(count), low, high, 2e5, 1e5, vented, 4e6)

    checked_limits(drive(lowest, highest, most))
    with pytest.raises(DescriptionError, match="these valves reach"):
        checked_limits(drive(lowest, highest + 1e3, 1))
    with pytest.raises(DescriptionError, match="these valves reach"):
        checked_limits(drive(lowest - 1e3, highest, 1))
    with pytest.raises(DescriptionError, match=f"{most + 1} chambers are more than {backend} has, {most}"):
        checked_limits(drive(lowest, highest, most + 1))


class Line:
    """A port that keeps what is written, and has something to read."""

    def __init__(self):
        self.written, self.coming = [], b""

    def write(self, data):
        self.written.append(data)

    def read(self):
        data, self.coming = self.coming, b""
        return data

    def close(self):
        pass


def test_registers_of_a_vacuum_terminal_have_a_sign():
    """−65 kPa and −100 kPa are −650 and −1000 mbar: 0xFD76 and 0xFC18; 10 kPa is 0x0064."""
    line = Line()
    valves = ModbusVacuumValves(line, 3)
    assert valves.read() is None
    assert line.written[0][6:] == bytes.fromhex("01 03 0000 0003")
    line.coming = _answer(line, "06 fd76 0000 0064")
    valves.write(np.array([-65e3, -2e5, 10e3]))
    assert line.written[1][13:] == bytes.fromhex("fd76 fc18 0064")
    line.coming = line.written[1][:5] + bytes([6]) + line.written[1][6:12]
    assert valves.read() is None
    line.coming = _answer(line, "06 fd76 fc18 0064")
    np.testing.assert_array_equal(valves.read(), [-65e3, -1e5, 10e3])


def test_set_points_that_a_terminal_holds_are_known_before_it_is_told_any():
    line = Line()
    valves = ModbusVacuumValves(line, 2)
    valves.read()
    assert np.isnan(valves.told).all()
    line.coming = _answer(line, "04 fd76 0064")
    assert valves.read() is None
    np.testing.assert_array_equal(valves.told, [-65e3, 10e3])


def _answer(line, content):
    """To the newest request, whose function it repeats; the content without that, in hexadecimal digits."""
    newest, data = line.written[-1], bytes.fromhex(content)
    return newest[:4] + bytes([0, 2 + len(data)]) + newest[6:8] + data


STRANGER = bytes.fromhex("0007 0000 0005 02 04 02 03e8")  # unit 2 measures 100 kPa, whoever has asked it


def test_another_units_answers_hide_no_answer_and_are_not_taken_for_one():
    line = Line()
    valves = ModbusValves(line, 1)
    valves.read()
    line.coming = STRANGER + _answer(line, "02 0064")
    valves.read()
    np.testing.assert_array_equal(valves.told, [10e3])
    line.coming = STRANGER + _answer(line, "02 0065") + STRANGER
    np.testing.assert_array_equal(valves.read(), [10.1e3])
    assert valves.garbage == 3


def test_a_terminal_that_answers_as_another_unit_is_said_to_do_so():
    line, clock = Line(), VirtualClock()
    valves = ModbusValves(line, 1, clock=clock)
    with pytest.raises(DeviceError, match="asked as unit 1, and unit 2 answers"):
        for _ in range(200):
            line.coming = STRANGER
            valves.read()
            clock.sleep(0.02)


def test_a_vacuum_is_no_error_code_of_a_terminal_without_one():
    """0xFFFF, a broken sensor on many terminals, is far from every command there."""
    line = Line()
    valves = ModbusValves(line, 1)
    valves.read()
    line.coming = _answer(line, "02 0000")
    assert valves.read() is None
    line.coming = _answer(line, "02 ffff")
    assert valves.read()[0] == 6553500.0
