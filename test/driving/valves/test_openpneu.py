import numpy as np
import pytest

from soft_twin.driving.clock import Clock
from soft_twin.driving.valves.openpneu import PAUSE_TIME, OpenPneuValves
from soft_twin.driving.valves.openpneu_lines import StreamDecoder, select, target
from soft_twin.emulation.openpneu import EmulatedOpenPneu
from soft_twin.errors import DeviceError

TELEGRAM = b"T0.00,1.00,2.50,-3.00,4,5,6,7,8,9e1;\r\n"
PRESSURES = 1e3 * np.array([0.0, 1.0, 2.5, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 90.0])
OTHERS = b",1.00,0.50,-3.00,4,5,6,7,8,9;\r\n"
ANSWERS = [b"Global Channel is 4", b"Timer Starts...", b"Error command"]


class Ticking(Clock):
    """Time that passes by waiting."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Memory:
    """A port on the emulated firmware's answers, or on given ones."""

    def __init__(self, *answers):
        self.sent, self._given, self._rest = b"", list(answers), b""
        self.firmware = None if answers else EmulatedOpenPneu(port=self)
        self.lose = self.refuse = b"?"
        self.telegram = b""

    def read(self):
        if self.firmware is None:
            return self._given.pop(0) if self._given else b""
        *lines, self._rest = self._rest.split(b"\n")
        return b"".join(self._answer(line) for line in lines) + self.telegram

    def write(self, data):
        self.sent += data
        self._rest += data

    def _answer(self, line):
        if self.lose in line:
            return b""
        return b"Error command\r\n" if self.refuse in line else self.firmware.answer(line)

    def close(self):
        """There is nothing to close."""

    @property
    def targets(self):
        """(5,) of the pairs [Pa]."""
        return self.firmware._targets[::2]


def _tell(valves, pressures):
    """For a second and a half."""
    for _ in range(75):
        valves.read()
        valves.write(np.array(pressures))
        valves._clock.sleep(0.02)


def test_channels_are_selected_by_pair_and_targets_are_in_kilopascals():
    assert select(3) == b"SC=6"
    assert target(12.345) == b"T=12.3"
    assert target(-5.0) == b"T=-5.0"


def test_telemetry_is_in_pascals():
    (pressures,) = StreamDecoder().feed(TELEGRAM)
    np.testing.assert_allclose(pressures, PRESSURES)


@pytest.mark.parametrize("size", [1, 2, 5, 17])
def test_telegrams_and_answers_cut_anywhere(size):
    stream = b"".join(answer + b"\r\n" + TELEGRAM for answer in ANSWERS) * 2
    decoder, telegrams = StreamDecoder(), []
    for i in range(0, len(stream), size):
        telegrams += decoder.feed(stream[i : i + size])
    assert len(telegrams) == 6
    assert decoder.garbage == 0
    assert decoder.answers == 2 * ANSWERS


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_telegram_in_the_middle_of_an_answer(size):
    stream = b"Global Chan" + TELEGRAM + b"nel is 4\r\nTimer St" + TELEGRAM + b"arts...\r\n"
    decoder, telegrams = StreamDecoder(), []
    for i in range(0, len(stream), size):
        telegrams += decoder.feed(stream[i : i + size])
    assert len(telegrams) == 2
    assert decoder.answers == [b"Global Channel is 4", b"Timer Starts..."]


@pytest.mark.parametrize("garbage", [b"T1,2,3;", b"T,,,,,,,,,;", b"T1,2,3,4,5,6,7,8,9,1e;"])
def test_garbage_is_counted_or_skipped_and_the_next_telegram_is_read(garbage):
    (pressures,) = StreamDecoder().feed(garbage + TELEGRAM)
    np.testing.assert_allclose(pressures, PRESSURES)


@pytest.mark.parametrize("number", [b"nan", b"inf", b"99999", b"-1e30"])
def test_a_sensor_that_says_no_pressure_leaves_the_others(number):
    decoder = StreamDecoder()
    (pressures,) = decoder.feed(b"T0,1," + number + b",3,4,5,6,7,8,9;\r\n")
    assert np.isnan(pressures[2])
    assert np.isfinite(np.delete(pressures, 2)).all()
    assert decoder.garbage == 1


def test_half_a_telegram_does_not_spoil_the_next():
    assert len(StreamDecoder().feed(b"T1.0,2.0,3" + TELEGRAM)) == 1


def test_a_stream_without_end_does_not_grow():
    decoder = StreamDecoder()
    decoder.feed(b"T" + b"1," * 100_000)
    assert len(decoder.feed(TELEGRAM)) == 1


def test_control_starts_once_every_pair_has_a_new_target():
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    assert port.sent == b"AT\r\nAT+ADDRESS\r\n"
    port.firmware._targets[:] = 70e3  # of a host before this one
    _tell(valves, [10e3, 20e3])
    before, _, _ = port.sent.partition(b"\r\nC\r\n")
    for line in (b"SC=0\r\nT=10.0", b"SC=2\r\nT=20.0", b"SC=4\r\nT=0.0", b"SC=6\r\nT=0.0", b"SC=8\r\nT=0.0"):
        assert line in before
    assert port.firmware.running
    np.testing.assert_allclose(port.targets, [10e3, 20e3, 0.0, 0.0, 0.0])


def test_targets_are_said_again_though_nothing_has_changed():
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    _tell(valves, [10e3, 20e3])
    port.firmware._targets[:] = 60e3  # a digit was wrong on the way
    _tell(valves, [10e3, 20e3])
    np.testing.assert_allclose(port.targets, [10e3, 20e3, 0.0, 0.0, 0.0])


def test_no_target_goes_to_a_channel_whose_selection_is_not_confirmed():
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    _tell(valves, [10e3, 20e3])
    port.lose = b"SC=2"
    _tell(valves, [10e3, 70e3])
    np.testing.assert_allclose(port.targets, [10e3, 20e3, 0.0, 0.0, 0.0])
    assert "has not confirmed" in valves.trouble
    port.lose = b"?"
    _tell(valves, [10e3, 70e3])
    np.testing.assert_allclose(port.targets, [10e3, 70e3, 0.0, 0.0, 0.0])
    assert valves.trouble == ""


def test_targets_that_are_refused_are_named_with_the_line():
    port = Memory()
    valves = OpenPneuValves(port, 1, Ticking())
    _tell(valves, [10e3])
    port.refuse = b"T="
    _tell(valves, [30e3])
    assert "refuses 'T=" in valves.trouble


def test_a_channel_that_its_control_has_left_pumping_is_paused():
    port = Memory()
    valves = OpenPneuValves(port, 1, Ticking())
    _tell(valves, [0.0])
    assert port.firmware.running
    valves.let_out(driven=False, pressed=True)
    _tell(valves, [0.0])
    assert not port.firmware.running
    assert "paused" in valves.trouble
    assert valves.rested
    assert valves.told_until > 0.0
    port.firmware._targets[:] = 60e3  # V forgets nothing
    port.sent = b""
    valves.let_out(driven=False, pressed=False)
    _tell(valves, [0.0])
    assert valves.trouble == ""
    assert port.firmware.running
    assert port.sent.partition(b"\r\nC\r\n")[0].count(b"T=0.0") >= 5


def test_a_channel_that_says_the_same_for_ever_while_its_target_moves_is_not_believed():
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    port.telegram = TELEGRAM
    for pressure in np.linspace(0.0, 4e3, 40):
        valves.write(np.array([pressure, 0.0]))
        assert np.isfinite(valves.read()).all()
    for pressure in np.linspace(4e3, 30e3, 40):
        valves.write(np.array([pressure, 0.0]))
        measured = valves.read()
    assert np.isnan(measured[0])
    assert measured[1] == 2.5e3


def test_leaving_lets_the_air_out_and_is_confirmed():
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    _tell(valves, [10e3, 20e3])
    valves.shut_down(np.zeros(2))
    assert port.sent.endswith(b"V\r\nPP\r\n")
    assert not port.firmware.running
    port.refuse = b"V"
    with pytest.raises(DeviceError, match="does not confirm"):
        valves.shut_down(np.zeros(2))


def test_a_device_that_is_no_openpneu_is_refused():
    with pytest.raises(DeviceError, match="baud"):
        OpenPneuValves(Memory(b"Marlin 2.1\r\n", b"\xff\x00\xfe"), 2, Ticking())


@pytest.mark.parametrize("value", [b"94.00", b"nan"])
def test_a_relaxed_chamber_that_is_perhaps_pumped_on_is_paused_until_it_is_measured_again(value):
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    _tell(valves, [0.0, 0.0])
    port.telegram = b"T" + value + OTHERS
    _live(valves, 1.0, driven=True)
    assert port.firmware.running
    _live(valves, 1.0, driven=False)
    assert not port.firmware.running
    assert "paused" in valves.trouble
    port.telegram = b""  # its loop says nothing meanwhile
    _live(valves, PAUSE_TIME, driven=False)
    assert port.firmware.running
    for pressure in np.linspace(2.0, 0.0, 50):
        port.telegram = b"T%.2f" % pressure + OTHERS
        _live(valves, 0.05, driven=False)
    assert port.firmware.running
    assert valves.trouble == ""


def test_a_chamber_whose_sensor_is_frozen_is_not_pumped_in_turn_for_ever():
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    _tell(valves, [0.0, 0.0])
    port.telegram = b"T-30.00" + OTHERS  # whatever it has: the firmware pumps
    runs = []
    for _ in range(120):
        _live(valves, 0.1, driven=False)
        runs.append(port.firmware.running)
        port.telegram = b"T-30.00" + OTHERS if runs[-1] else b""
    assert 0.1 * sum(runs) < 4.0
    assert not any(runs[-50:])
    assert "deactivate and activate" in valves.trouble and valves.pausing


def test_a_device_that_does_not_confirm_its_pause_is_not_said_to_measure_nothing_on_purpose():
    port = Memory()
    valves = OpenPneuValves(port, 2, Ticking())
    _tell(valves, [0.0, 0.0])
    port.telegram = b"Tnan" + OTHERS
    _live(valves, 0.5, driven=True)
    port.telegram, port.lose = b"", b""  # which is in every line: none is answered
    _live(valves, 0.2, driven=False)
    assert valves.rested
    assert not valves.pausing


def _live(valves, seconds, driven):
    """What a driver does at its ticks."""
    end = valves._clock.now + seconds
    while valves._clock.now < end:
        valves.read()
        valves.let_out(driven, pressed=False)
        valves.write(np.zeros(2))
        valves._clock.sleep(0.02)


def test_pairs_that_all_move_are_told_in_turn():
    port = Memory()
    valves = OpenPneuValves(port, 4, Ticking())
    _tell(valves, [0.0, 0.0, 0.0, 0.0])
    port.sent = b""
    for pressure in np.linspace(0.1e3, 60e3, 400):
        valves.write(pressure + np.array([0.0, 1e3, 2e3, 3e3]))
        valves.read()
        valves._clock.sleep(0.014)
    told = [line for line in port.sent.split(b"\r\n") if line.startswith(b"SC=")]
    gaps = [np.diff([i for i, line in enumerate(told) if line == select(pair)]).max() for pair in range(4)]
    assert max(gaps) <= 8


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (b"OpenPneu2.1\r\n", r"'OpenPneu2.1\r\n'"),
        (b"OK;Successful\nOpenPneu2.0\n", r"OpenPneu2.0\n'"),  # lines without CR
        (b"ok;successful\r\nopenpneu2.0\r\n", r"'openpneu2.0\r\n'"),
    ],
)
def test_a_device_with_another_name_is_told_what_it_says_and_what_it_should(said, heard):
    with pytest.raises(DeviceError) as refused:
        OpenPneuValves(Memory(said), 2, Ticking())
    assert heard in str(refused.value) and r"expected 'OpenPneu2.0\r\n'" in str(refused.value)


def test_a_device_that_is_silent_has_said_nothing():
    with pytest.raises(DeviceError, match="within 2 s: check its power"):
        OpenPneuValves(Memory(b""), 2, Ticking())
