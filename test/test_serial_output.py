import itertools
import threading

import can
import pytest
import serial

from soft_twin import serial_output
from soft_twin.driving.cables.can_bus import open_bus
from soft_twin.driving.serial_port import SerialPort
from soft_twin.errors import DeviceError
from soft_twin.sensing.imu_board import ImuBoard
from soft_twin.serial_output import write_bytes

MORE_THAN_FITS = bytes(range(256)) * 400


@pytest.fixture
def line(port):
    with serial.Serial(port.path, timeout=0.0) as line:
        yield line


def test_more_than_fits_arrives_whole_while_the_device_reads(port, line):
    received = bytearray()

    def read():
        while len(received) < len(MORE_THAN_FITS):
            received.extend(port.read())

    reader = threading.Thread(target=read)
    reader.start()
    write_bytes(line.fileno(), MORE_THAN_FITS, 10.0)
    reader.join(10.0)
    assert received == MORE_THAN_FITS


def test_a_program_that_waited_for_the_processor_does_not_lose_a_device_that_takes_bytes(port, line, monkeypatch):
    late = itertools.count(0.0, 5.0)
    monkeypatch.setattr(serial_output.time, "monotonic", lambda: next(late))
    write_bytes(line.fileno(), b"taken", 0.1)
    assert port.read() == b"taken"


def test_a_device_that_takes_nothing_is_told_by_its_time(line):
    with pytest.raises(TimeoutError, match="no room for"):
        write_bytes(line.fileno(), MORE_THAN_FITS, 0.05)


def test_a_device_that_has_gone_is_an_os_error(port, line):
    port.close()
    with pytest.raises(OSError):
        write_bytes(line.fileno(), b"lost", 0.05)


def _valves(path):
    line = SerialPort(path, 115_200)
    return lambda: line.write(b"T=10\r\n"), line.close


def _motors(path):
    bus = open_bus("slcan", path)
    frame = can.Message(arbitration_id=0x200, data=bytes(8), is_extended_id=False)

    def close():
        with pytest.raises(can.CanError):
            bus.shutdown()

    return lambda: bus.send(frame, timeout=0.02), close


def _heater(path):
    board = ImuBoard(path)
    return lambda: board.set_heater(0.5), board.close


@pytest.mark.parametrize("opened", [_valves, _motors, _heater])
def test_no_driver_waits_for_a_device_that_hangs(port, opened):
    write, close = opened(port.path)
    with pytest.raises((DeviceError, can.CanError), match="no room for|not write to serial device"):
        for _ in range(10_000):
            write()
    close()
