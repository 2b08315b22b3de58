"""The emulated valve devices say and obey what their data sheets say, in literal bytes; their air obeys the gas law."""

import math
from pathlib import Path
from random import Random

import pytest

from soft_twin.studies.campaigns import devices
from soft_twin.studies.campaigns.devices.chambers import ATMOSPHERE, Chambers, flow
from soft_twin.studies.campaigns.devices.dac_board import DacBoard, frame
from soft_twin.studies.campaigns.devices.line import Line
from soft_twin.studies.campaigns.devices.modbus_terminal import ModbusTerminal
from soft_twin.studies.campaigns.devices.openpneu import OpenPneu


def test_emulated_devices_share_no_code_with_what_they_judge():
    for path in Path(devices.__file__).parent.glob("*.py"):
        lines = [line for line in path.read_text().splitlines() if line.startswith(("import", "from"))]
        judged = ("soft_twin.driving", "soft_twin.sensing", "soft_twin.emulation")
        assert not [line for line in lines if any(name in line for name in judged)], path.name


def test_an_openpneu_selects_a_channel_and_sets_its_pair():
    device = OpenPneu(Random(1), 2, 0.0)
    assert b"".join(device.hear(b"AT\r\nAT+ADDRESS\r\nSC=3\r\nT=12.5\r\n", 0.0)) == (
        b"OK;Successful\r\nOpenPneu2.0\r\nGlobal Channel is 3\r\n"
    )
    assert device.set_points() == [0.0, 0.0]  # the loop does not run yet
    assert device.hear(b"C\r\n", 0.0) == [b"Timer Starts...\r\n"]
    assert device.set_points() == [0.0, 12.5e3]


def test_an_openpneu_says_nothing_until_its_loop_runs_and_pauses_with_v():
    device = OpenPneu(Random(1), 2, 0.0)
    assert device.speak(1.0) == b""
    device.hear(b"C\r\n", 1.0)
    telegram = device.speak(1.1)
    assert telegram.startswith(b"T") and telegram.endswith(b";\r\n") and telegram.count(b",") == 9
    device.hear(b"SC=0\r\nT=20\r\nPP\r\n", 1.1)
    assert device.set_points()[0] == 20e3  # a running loop starts the motors again
    device.hear(b"V\r\n", 1.1)
    assert device.set_points()[0] == 0.0


@pytest.mark.parametrize(
    ("line", "answer"),
    [(b"\r\n", b"Error command\r\n"), (b"T 5\r\n", b"Error command\r\n"), (b"AT\n", b"Error end check\r\n")],
)
def test_an_openpneu_names_lines_that_are_no_command(line, answer):
    assert OpenPneu(Random(1), 1, 0.0).hear(line, 0.0) == [answer]


def test_a_dac_board_takes_the_frame_of_its_protocol_and_lets_go_after_half_a_second():
    device = DacBoard(Random(1), 1, 0.0)
    example = bytes.fromhex("5AA50101FFFF4BD8")
    assert frame(1, [0xFFFF]) == example
    device.hear(b"\x5a\x5a" + example[:5], 1.0)
    device.hear(example[5:], 1.0)
    assert device.set_points() == [0.6e6]
    device.hear(bytes.fromhex("5AA50101000000004BD9"), 1.1)  # a wrong checksum
    device.speak(1.4)
    assert device.set_points() == [0.6e6]
    device.speak(1.6)
    assert device.set_points() == [0.1e6]


def test_a_modbus_terminal_serves_writes_reads_and_says_why_not():
    device = ModbusTerminal(Random(1), 2, 0.0)
    write = bytes.fromhex("0001 0000 000B 01 10 0000 0002 04 03E8 07D0")
    assert device.hear(write[:9], 0.0) == []
    assert device.hear(write[9:], 0.0) == [bytes.fromhex("0001 0000 0006 01 10 0000 0002")]
    assert device.set_points() == [100e3, 200e3]
    assert device.hear(bytes.fromhex("0002 0000 0006 01 03 0000 0002"), 0.0) == [
        bytes.fromhex("0002 0000 0007 01 03 04 03E8 07D0")
    ]
    assert _asked(device, "0003 0000 0006 01 04 0001 0002") == "0003 0000 0003 01 84 02"
    assert _asked(device, "0004 0000 0006 01 05 0001 FF00") == "0004 0000 0003 01 85 01"
    device.ear.refuses = lambda: True
    assert _asked(device, "0005 0000 0006 01 06 0000 0001") == "0005 0000 0003 01 86 06"


def _asked(device: ModbusTerminal, request: str) -> str:
    """The terminal's answer to a request, both as words of hexadecimal digits."""
    (answer,) = device.hear(bytes.fromhex(request), 0.0)
    words = answer.hex().upper()
    return " ".join((words[:4], words[4:8], words[8:12], words[12:14], words[14:16], words[16:]))


def test_a_choked_orifice_passes_in_proportion_to_the_upstream_pressure_and_none_backwards():
    assert flow(1e6, 0.2e6) == 1e6
    assert flow(1e5, 1e5) == flow(1e5, 2e5) == 0.0
    assert flow(1e5, 0.65e5) == pytest.approx(1e5 * math.sqrt(0.75))


def test_a_leaking_chamber_without_supply_empties_exponentially_while_choked():
    chambers = Chambers(Random(1), 0.9e6, 1, supply=1e6, vacuum=0.0, band=5e3)
    chambers.supplied, chambers.stuck, chambers.leaks = False, ["closed"], [0.5]
    for _ in range(1000):
        chambers.step(0.001, [0.9e6])
    assert chambers.pressures[0] + ATMOSPHERE == pytest.approx((0.9e6 + ATMOSPHERE) * math.exp(-0.5), rel=1e-3)


def test_chambers_go_to_what_their_valves_are_told_without_passing_it():
    chambers = Chambers(Random(1), 0.0, 1, supply=1e6, vacuum=0.0, band=5e3)
    seen = []
    for _ in range(200):
        chambers.step(0.01, [0.4e6])
        seen.append(chambers.pressures[0])
    assert max(seen) <= 0.4e6
    assert seen[-1] == pytest.approx(0.4e6, abs=100.0)


def test_a_line_takes_the_time_of_its_bytes_and_does_as_its_trouble_says():
    line = Line(Random(1), baud_rate=1000.0)
    line.put(b"ten bytes!", 0.0)
    assert line.take(0.099) == b""
    assert line.take(0.101) == b"ten bytes!"
    line.trouble.double = 1.0
    line.put(b"ab", 1.0)
    assert line.take(2.0) == b"abab"
    line.trouble.double, line.trouble.loss = 0.0, 1.0
    line.put(b"ab", 2.0)
    assert line.take(3.0) == b""
