import time

import can
import pytest
import serial

from soft_twin.driving.cables.can_bus import SlcanDecoder, open_bus, receive_all, send_all
from soft_twin.errors import DeviceError


@pytest.fixture
def bus(port):
    bus = open_bus("slcan", port.path)
    yield bus
    port.close()
    with pytest.raises((can.CanError, serial.SerialException)):
        bus.shutdown()


def _from_host(port, end_of_line, timeout=5.0):
    data, end = b"", time.monotonic() + timeout
    while not data.endswith(end_of_line) and time.monotonic() < end:
        data += port.read()
    return data


def test_opening_sets_the_bit_rate_and_opens_the_channel(port, bus):
    assert b"S8\r" in _from_host(port, b"O\r")


def test_a_second_driver_on_the_same_adapter_is_refused_and_disturbs_nothing(port, bus):
    _from_host(port, b"O\r")
    with pytest.raises(DeviceError, match="in use by another driver"):
        open_bus("slcan", port.path)
    assert port.read() == b""


def test_a_closed_adapter_may_be_opened_again(port):
    for _ in range(2):
        open_bus("slcan", port.path).shutdown()


def test_sending_writes_a_line(port, bus):
    bus.send(can.Message(arbitration_id=0x1FF, data=bytes.fromhex("0102030405060708"), is_extended_id=False))
    assert _from_host(port, b"t1FF80102030405060708\r").endswith(b"O\rt1FF80102030405060708\r")


def test_frames_that_are_sent_together_are_lines_one_after_the_other(port, bus):
    frames = [
        can.Message(arbitration_id=0x200, data=bytes.fromhex("fc18000003e80000"), is_extended_id=False),
        can.Message(arbitration_id=0x1FF, data=b"\xab", is_extended_id=False),
    ]
    send_all(bus, frames, 1.0)
    assert _from_host(port, b"AB\r").endswith(b"O\rt2008FC18000003E80000\rt1FF1AB\r")


def test_frames_are_received_in_order_from_chunks_that_end_anywhere(port, bus):
    stream = b"".join(b"t2018%016X\r" % i for i in range(100))
    received = []
    for i in range(0, len(stream), 37):
        port.write(stream[i : i + 37])
        message = bus.recv(timeout=1.0) if len(received) < 100 else None
        while message is not None:
            received.append(message)
            message = bus.recv(timeout=0.0)
    assert [int.from_bytes(message.data, "big") for message in received] == list(range(100))
    assert all(message.arbitration_id == 0x201 and not message.is_extended_id for message in received)


def test_all_that_has_waited_is_received_at_once_and_then_nothing(port, bus):
    port.write(b"".join(b"t2018%016X\r" % i for i in range(500)) + b"t202")  # several times what a terminal gives
    assert [int.from_bytes(message.data, "big") for message in receive_all(bus)] == list(range(500))
    assert receive_all(bus) == []
    port.write(b"10F\r")
    assert [(message.arbitration_id, bytes(message.data)) for message in receive_all(bus)] == [(0x202, b"\x0f")]


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r",
        b"\a",
        b"z\r",
        b"t",
        b"t2018",
        b"tXYZ8\r",
        b"t2018zz\r",
        b"t20180011\r",
        b"T000002018\r",
        b"\xff\x00\xfe\r",
        b"V1013\r",
    ],
)
def test_garbage_is_skipped_and_the_next_frame_is_read(port, bus, garbage):
    port.write(garbage + (b"" if garbage.endswith((b"\r", b"\a")) else b"\r") + b"t2022BEEF\r")
    message = bus.recv(timeout=1.0)
    assert (message.arbitration_id, bytes(message.data)) == (0x202, b"\xbe\xef")


@pytest.mark.parametrize("count", range(1, 22))
def test_a_frame_cut_anywhere_is_garbage_unless_it_is_whole(count):
    decoder = SlcanDecoder()
    line = b"t20180123456789ABCDEF"
    messages = decoder.feed(line[:count] + b"\r", now=1.0)
    assert (len(messages), decoder.garbage) == ((1, 0) if count == len(line) else (0, 1))


def test_a_line_that_never_ends_does_not_grow():
    decoder = SlcanDecoder()
    decoder.feed(b"t" * 1_000_000, now=1.0)
    assert decoder.feed(b"\rt2020\r", now=1.0)[0].arbitration_id == 0x202
    assert decoder.garbage == 1


def test_an_unplugged_adapter_is_a_can_error(port, bus):
    port.close()
    with pytest.raises(can.CanError):
        bus.recv(timeout=1.0)


def test_any_interface_of_python_can_opens():
    with open_bus("virtual", "test_can_bus") as one, open_bus("virtual", "test_can_bus") as other:
        for can_id in (0x201, 0x202):
            send_all(one, [can.Message(arbitration_id=can_id, data=b"\x01", is_extended_id=False)], 1.0)
        assert [message.arbitration_id for message in receive_all(other)] == [0x201, 0x202]


@pytest.mark.parametrize(
    ("interface", "channel", "message"),
    [
        ("slcan", "/dev/no_such_adapter", "plug it in"),
        ("slcan", "/dev/null", "slcan"),
        ("slcan", "no_such_can0", "expected a path, as /dev/ttyACM0; .* set interface: socketcan"),
        ("socketcan", "no_such_can0", "ip link set"),
        ("carrier_pigeon", "0", "slcan"),
    ],
)
def test_a_bus_that_cannot_be_opened_says_what_to_do(interface, channel, message):
    with pytest.raises(DeviceError, match=message):
        open_bus(interface, channel)
