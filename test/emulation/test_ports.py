import os
import subprocess
import sys
import time

import pytest
import serial

from soft_twin.emulation.ports import PseudoTerminal, while_this_process_lives


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


# An emulated device that says what a driver opens, and lives until its input ends.
DEVICE = """
import sys
from soft_twin.emulation.ports import PseudoTerminal, while_this_process_lives
port = PseudoTerminal()
print(port.path, while_this_process_lives(port.path), flush=True)
while not (said := port.read()):
    pass
print(said.decode(), port.connected, flush=True)
sys.stdin.read()
"""


def test_a_path_to_a_device_that_was_killed_leads_to_no_other_one():
    process = subprocess.Popen([sys.executable, "-c", DEVICE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    number, path = process.stdout.readline().split()
    with serial.Serial(path, exclusive=True) as driver:
        driver.write(b"hello")
        assert process.stdout.readline() == "hello True\n"
    assert os.path.samefile(path, number)
    process.kill()
    process.communicate()
    others = [PseudoTerminal() for _ in range(32)]  # one of which has its number now, if nobody was faster
    assert not os.path.exists(path)
    with pytest.raises(serial.SerialException):
        serial.Serial(path)
    for other in others:
        other.close()


def test_a_path_that_is_no_terminal_stays_as_it_is():
    assert while_this_process_lives("127.0.0.1:502") == "127.0.0.1:502"
