import can
import pytest
import serial

from soft_twin.emulation.slcan import SlcanAdapter, decode_frame, encode_frame


@pytest.fixture
def host(port):
    with serial.Serial(port.path, timeout=1.0) as host:
        yield host


def _receive(adapter, count):
    frames = []
    for _ in range(10000):
        frames += adapter.receive()
        if len(frames) >= count:
            break
    return frames


def test_literal_lines():
    assert encode_frame(0x1FF, bytes.fromhex("0a0b")) == "t1FF20A0B\r"
    assert decode_frame(b"t1FF20A0B") == (0x1FF, b"\x0a\x0b")
    assert decode_frame(b"t2000") == (0x200, b"")


@pytest.mark.parametrize(
    "line", [b"", b"t", b"t1FF2", b"t1FF20A", b"t1FF20A0B0C", b"t1FG20A0B", b"T1FF20A0B", b"t1FF9" + b"0" * 18]
)
def test_lines_that_are_no_frame(line):
    assert decode_frame(line) is None


def test_commands_are_answered(port, host):
    adapter = SlcanAdapter(port)
    host.write(b"C\rS8\rO\rV\r?\r")
    for _ in range(10000):
        adapter.receive()
        if adapter.refused:
            break
    assert host.read(10) == b"\r\r\rV1013\r\a"
    assert adapter.is_open


def test_frames_pass_only_while_the_channel_is_open(port, host):
    adapter = SlcanAdapter(port)
    adapter.send(0x201, b"\x01")
    host.write(b"t200111\rO\rt200122\r")
    assert _receive(adapter, 1) == [(0x200, b"\x22")]
    assert adapter.refused == 1
    adapter.send(0x201, b"\x02")
    assert host.read(11) == b"\a\r\r" + b"t201102\r"


def test_lines_cut_anywhere_are_put_together(port, host):
    adapter = SlcanAdapter(port)
    stream = b"O\r" + b"".join(b"t2002%04X\r" % i for i in range(50))
    frames = []
    for i in range(0, len(stream), 7):
        host.write(stream[i : i + 7])
        frames += adapter.receive()
    frames += _receive(adapter, 50 - len(frames))
    assert [int.from_bytes(data, "big") for _, data in frames] == list(range(50))


def test_a_line_without_end_does_not_grow(port, host):
    adapter = SlcanAdapter(port)
    for _ in range(50):
        host.write(b"x" * 1000)
        adapter.receive()
    host.write(b"\rO\r")
    for _ in range(10000):
        adapter.receive()
        if adapter.is_open:
            break
    assert adapter.is_open


def test_python_cans_own_slcan_interface_talks_to_it(port):
    adapter = SlcanAdapter(port)
    with can.Bus(interface="slcan", channel=port.path, bitrate=1_000_000, sleep_after_open=0.0) as bus:
        bus.send(can.Message(arbitration_id=0x200, data=b"\x01\x02", is_extended_id=False))
        assert _receive(adapter, 1) == [(0x200, b"\x01\x02")]
        adapter.send(0x203, bytes(8))
        while (message := bus.recv(timeout=1.0)) is None or message.dlc != 8:
            pass
        assert message.arbitration_id == 0x203
