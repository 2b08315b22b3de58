"""A second driver on a device is refused in one line, whatever the device is; a closed one may be opened again."""

import socket
import subprocess
import sys

import pytest
from can.interfaces.socketcan import SocketcanBus

from soft_twin.driving.cables.can_bus import open_bus
from soft_twin.driving.serial_port import SerialPort
from soft_twin.driving.valves.modbus_valves import open_device
from soft_twin.errors import DeviceError
from soft_twin.sensing.imu_board import ImuBoard

OPENERS = {
    "IMU": ImuBoard,
    "valves": lambda path: SerialPort(path, 115_200),
}
OTHER = """
import sys, soft_twin.driving.cables.can_bus as bus
from soft_twin.one_driver import claim_device
claim = claim_device("can/can7", "can7")
print("claimed", flush=True)
sys.stdin.read()
"""


def refused(opener, device):
    """Whether it is refused as a second driver is."""
    try:
        opener(device).close()
    except DeviceError as error:
        assert str(error) == f"'{device}' is in use by another driver: end that one first"
        return True
    return False


@pytest.mark.parametrize("first", OPENERS)
@pytest.mark.parametrize("second", OPENERS)
def test_a_serial_device_has_one_driver(port, first, second):
    driver = OPENERS[first](port.path)
    assert refused(OPENERS[second], port.path)
    driver.close()
    assert not refused(OPENERS[second], port.path)


def test_a_serial_device_of_a_can_adapter_is_no_imu(port):
    bus = open_bus("slcan", port.path)
    assert refused(ImuBoard, port.path) and refused(OPENERS["valves"], port.path)
    bus.shutdown()
    assert not refused(ImuBoard, port.path)


def test_a_modbus_terminal_has_one_driver_by_whatever_name():
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        valves = open_device(f"127.0.0.1:{number}", 1)
        assert refused(lambda device: open_device(device, 1), f"localhost:{number}")
        valves.close()
        assert not refused(lambda device: open_device(device, 1), f"localhost:{number}")


def test_a_can_interface_has_one_driver_in_all_processes():
    """Whether the kernel has CAN or not: who comes second is told before the interface is looked for."""
    with subprocess.Popen([sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        assert refused(lambda device: open_bus("socketcan", device), "can7")
        other.kill()
    with pytest.raises(DeviceError, match=r"CAN bus socketcan 'can7' cannot be opened: .*sudo ip link set"):
        open_bus("socketcan", "can7")


def test_a_can_interface_that_is_closed_may_be_opened_again(monkeypatch):
    monkeypatch.setattr(SocketcanBus, "__init__", lambda self, channel, **options: None)  # the kernel may have no CAN
    monkeypatch.setattr(SocketcanBus, "shutdown", lambda self: None)
    bus = open_bus("socketcan", "can8")
    assert refused(lambda device: open_bus("socketcan", device), "can8")
    open_bus("socketcan", "can9").shutdown()
    bus.shutdown()
    open_bus("socketcan", "can8").shutdown()
