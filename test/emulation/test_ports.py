import time

import pytest
import serial

from soft_twin.emulation.ports import PseudoTerminal


def _read(port, count, timeout=5.0):
    data, end = b"", time.monotonic() + timeout
    while len(data) < count and time.monotonic() < end:
        data += port.read()
    return data


def test_bytes_pass_unchanged_in_both_directions(port):
    every_byte = bytes(range(256))
    with serial.Serial(port.path, timeout=1.0) as driver:
        assert port.write(every_byte) == 256
        assert driver.read(256) == every_byte
        driver.write(every_byte)
        assert _read(port, 256) == every_byte


def test_reading_never_blocks(port):
    assert port.read() == b""
    with serial.Serial(port.path):
        assert port.read() == b""


def test_bytes_for_nobody_are_lost_not_kept_for_later(port):
    assert not port.connected
    assert port.write(b"stale") == 0
    assert port.lost == 5
    with serial.Serial(port.path, timeout=1.0) as driver:
        assert port.connected
        port.write(b"fresh")
        assert driver.read(5) == b"fresh"
    assert not port.connected


def test_a_full_buffer_loses_bytes_instead_of_blocking(port):
    with serial.Serial(port.path):
        for _ in range(100):
            port.write(bytes(4096))
    assert port.lost > 0


def test_unplugging_fails_the_driver(port):
    with serial.Serial(port.path, timeout=0.1) as driver:
        port.close()
        with pytest.raises(serial.SerialException):
            driver.read(1)


def test_an_unplugged_port_is_silent(port):
    port.close()
    port.close()
    assert port.read() == b""
    assert port.write(b"x") == 0
    assert not port.connected


def test_a_port_can_be_plugged_in_again(port):
    port.close()
    port.open()
    port.open()
    with serial.Serial(port.path, timeout=1.0) as driver:
        port.write(b"back")
        assert driver.read(4) == b"back"


def test_a_port_that_keeps_bytes_loses_none_that_it_has_room_for():
    port = PseudoTerminal(keep=100_000)
    try:
        with serial.Serial(port.path, timeout=0.05) as driver:
            sent = b"".join(i.to_bytes(4, "big") for i in range(20_000))
            for start in range(0, len(sent), 1000):
                assert port.write(sent[start : start + 1000]) == 1000
            received = b""
            while port.waiting:
                received += driver.read(1000)
            assert received + driver.read(100_000) == sent
            assert port.lost == 0
    finally:
        port.close()


def test_what_was_kept_for_a_driver_that_has_left_is_lost():
    port = PseudoTerminal(keep=100_000)
    try:
        with serial.Serial(port.path):
            port.write(bytes(50_000))
            assert port.waiting
        assert port.waiting == 0 < port.lost
    finally:
        port.close()
