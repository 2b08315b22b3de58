import numpy as np
import pytest

from soft_twin.driving.openpneu import OpenPneuValves, TelemetryDecoder, encode_target
from soft_twin.errors import DeviceError

TELEGRAM = b"T0.00,1.00,2.50,-3.00,4,5,6,7,8,9e1;"
PRESSURES = 1e3 * np.array([0.0, 1.0, 2.5, -3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 90.0])


class Memory:
    def __init__(self, *answers):
        self.answers, self.sent = list(answers), b""

    def read(self):
        return self.answers.pop(0) if self.answers else b""

    def write(self, data):
        self.sent += data


def test_a_target_selects_the_first_channel_of_its_pair_and_is_in_kilopascals():
    assert encode_target(3, 12_345.0) == b"SC=6\r\nT=12.3\r\n"
    assert encode_target(0, -5_000.0) == b"SC=0\r\nT=-5.0\r\n"


def test_telemetry_is_in_pascals():
    (pressures,) = TelemetryDecoder().feed(TELEGRAM)
    np.testing.assert_allclose(pressures, PRESSURES)


@pytest.mark.parametrize("size", [1, 2, 5, 17])
def test_telegrams_cut_anywhere_between_answers(size):
    stream = (b"OK;Successful\r\n" + TELEGRAM + b"Error command\r\n" + TELEGRAM) * 3
    decoder, telegrams = TelemetryDecoder(), []
    for i in range(0, len(stream), size):
        telegrams += decoder.feed(stream[i : i + size])
    assert len(telegrams) == 6
    assert decoder.garbage == 0
    assert b"OK;Successful" in decoder.text


@pytest.mark.parametrize(
    "garbage",
    [b"T1,2,3;", b"T,,,,,,,,,;", b"T1,2,3,4,5,6,7,8,9,nan;", b"T0,0,0,0,0,0,0,0,0,99999;", b"T1,2,3,4,5,6,7,8,9,1e;"],
)
def test_garbage_is_counted_or_skipped_and_the_next_telegram_is_read(garbage):
    (pressures,) = TelemetryDecoder().feed(garbage + TELEGRAM)
    np.testing.assert_allclose(pressures, PRESSURES)


def test_half_a_telegram_does_not_spoil_the_next():
    decoder = TelemetryDecoder()
    assert len(decoder.feed(b"T1.0,2.0,3" + TELEGRAM)) == 1


def test_a_stream_without_end_does_not_grow():
    decoder = TelemetryDecoder()
    decoder.feed(b"T" + b"1," * 100_000)
    assert len(decoder.feed(TELEGRAM)) == 1


def test_only_what_changes_is_sent_and_leaving_stops_the_pumps():
    port = Memory(b"OpenPneu2.0\r\n")
    valves = OpenPneuValves(port, 2)
    assert port.sent == b"\r\nAT+ADDRESS\r\nC\r\n"
    port.sent = b""
    valves.write(np.array([10e3, 20e3]))
    valves.write(np.array([10e3, 20.01e3]))
    valves.write(np.array([10e3, 25e3]))
    valves.shut_down()
    assert port.sent == b"SC=0\r\nT=10.0\r\nSC=2\r\nT=20.0\r\n" + b"SC=2\r\nT=25.0\r\n" + b"PP\r\n"


def test_a_device_that_is_no_openpneu_is_refused(monkeypatch):
    monkeypatch.setattr("soft_twin.driving.openpneu.ANSWER_TIME", 0.05)
    with pytest.raises(DeviceError, match="baud"):
        OpenPneuValves(Memory(b"Marlin 2.1\r\n", b"\xff\x00\xfe"), 2)
