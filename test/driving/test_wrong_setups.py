"""What is wrong before anything moves is said, with the remedy. Wrong descriptions: test/robots."""

import os

import numpy as np
import pytest

from soft_twin.driving.cables.can_bus import open_bus
from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_control import ValveControl
from soft_twin.driving.valves.valves import open_valves
from soft_twin.emulation.dac_board import EmulatedDacBoard
from soft_twin.errors import DeviceError
from soft_twin.sensing.imu_board import ImuBoard

from .simulated import DT, SimulatedWinches

LIMITS = ChamberLimits((0.1e6, 0.3e6), rate=1e6, vent_rate=1e6, vented=0.1e6)


@pytest.mark.parametrize(
    "open_device",
    [
        lambda path: open_bus("slcan", path),
        lambda path: open_valves("openpneu", path, 1),
        lambda path: open_valves("dac_board", path, 1),
        ImuBoard,
    ],
)
def test_no_permission_says_which_group_is_missing(port, monkeypatch, open_device):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DeviceError, match="no permission.*usermod -aG dialout"):
        open_device(port.path)


def test_a_network_interface_for_a_serial_adapter_is_told_what_it_wants():
    with pytest.raises(DeviceError, match="'lo' is a network interface, no serial adapter: set interface: socketcan"):
        open_bus("slcan", "lo")


def test_an_openpneu_at_a_wrong_baud_rate_is_not_taken_for_one(port):
    port.write(np.random.default_rng(0).bytes(2000))
    with pytest.raises(DeviceError, match="no OpenPneu answers.*baud"):
        open_valves("openpneu", port.path, 2)


def test_a_dac_board_at_a_wrong_baud_rate_moves_nothing_and_is_named():
    board = EmulatedDacBoard(2)
    valves, control = open_valves("dac_board", board.port.path, 2), ValveControl(["left", "right"], LIMITS)
    control.enable()
    rng = np.random.default_rng(0)
    for _ in range(100):
        board.port.write(rng.bytes(12))
        control.command([0.25e6, 0.25e6])
        control.update(valves.read(), 0.02)
        if control.ready:
            np.testing.assert_array_equal(control.state(0.0).commanded, 0.1e6)
    assert control.state(0.0).mode == "fault"
    assert "baud rate" in control.state(0.0).faults[0]
    assert valves.garbage > 0
    valves.release()
    board.close()


def test_motors_at_a_wrong_bit_rate_are_named_and_get_no_current():
    winches = SimulatedWinches()
    winches.silent = set(range(1, 7))
    for _ in range(100):
        winches.tick(np.full(6, 0.002))
        assert not any(winches.commanded.values())
    assert all("bit rate" in fault for fault in winches.state.faults)
    with pytest.raises(DeviceError, match="bit rate"):
        winches.control.enable()


def test_two_motors_with_one_id_and_swapped_phases_move_nothing_far():
    winches = SimulatedWinches()
    winches.motors.wiring[:] = -1.0
    winches.motors.motor_ids = (1, 2, 3, 4, 5, 5)
    winches.motors.jump(5, 3000)
    winches.run(0.3)
    assert any("two motors with one id" in fault for fault in winches.state.faults)
    with pytest.raises(DeviceError, match="no feedback"):  # from motor 6, which says that it is motor 5
        winches.control.enable()
    assert np.abs(winches.run(20 * DT, np.full(6, 0.005))).max() == 0.0


@pytest.mark.parametrize("device", ["/dev/ttyACM7", "lab/valves:502"])
def test_a_path_is_no_address_of_a_valve_terminal(device):
    with pytest.raises(DeviceError, match=f"'{device}': an emulated one appears .* or give host or host:port"):
        open_valves("modbus", device, 1)


@pytest.mark.parametrize("device", ["", ":502", "host:²", "host:99999"])
def test_a_terminal_without_a_host_or_a_port_is_told_what_is_expected(device):
    with pytest.raises(DeviceError, match=f"'{device}': expected host or host:port"):
        open_valves("modbus", device, 2)
