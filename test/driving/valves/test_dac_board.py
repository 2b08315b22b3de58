import numpy as np
import pytest

from soft_twin.driving.valves.dac_board import COMMAND, TELEMETRY, FrameDecoder, encode_frame, pressures_of, volts_of

FRAME = bytes.fromhex("5aa5 01 01 ffff 4bd8")  # the example of docs/dac_protocol.md


def test_literal_bytes():
    assert encode_frame(COMMAND, np.array([10.0])) == FRAME
    np.testing.assert_allclose(FrameDecoder(COMMAND).feed(FRAME), [[10.0]])


def test_the_range_of_a_valve():
    np.testing.assert_allclose(volts_of([0.1e6, 0.35e6, 0.6e6]), [0.0, 5.0, 10.0])
    np.testing.assert_allclose(pressures_of([0.0, 5.0, 10.0]), [0.1e6, 0.35e6, 0.6e6])


def test_voltages_beyond_the_converter_are_clipped():
    np.testing.assert_allclose(FrameDecoder(COMMAND).feed(encode_frame(COMMAND, np.array([-1.0, 11.0]))), [[0.0, 10.0]])


@pytest.mark.filterwarnings("error")
def test_a_voltage_that_is_no_number_is_none():
    volts = np.array([np.nan, np.inf, -np.inf, 5.0])
    (decoded,) = FrameDecoder(COMMAND).feed(encode_frame(COMMAND, volts))
    np.testing.assert_allclose(decoded, [0.0, 10.0, 0.0, 5.0], atol=1e-3)


@pytest.mark.parametrize("size", [1, 3, 50])
def test_frames_cut_anywhere_among_garbage(size):
    volts = np.linspace(0.0, 10.0, 40)
    stream = (b"\x5a\x5a\xa5\x02\xff" + encode_frame(TELEMETRY, volts) + b"\x00\x5a") * 5
    decoder, frames = FrameDecoder(TELEMETRY), []
    for i in range(0, len(stream), size):
        frames += decoder.feed(stream[i : i + size])
    assert len(frames) == 5
    np.testing.assert_allclose(frames[-1], volts, atol=1e-4)


@pytest.mark.parametrize("place", range(2, 8))
def test_one_wrong_byte_spoils_a_frame_but_not_the_next(place):
    damaged = bytearray(FRAME)
    damaged[place] ^= 0x01
    decoder = FrameDecoder(COMMAND)
    frames = decoder.feed(bytes(damaged) + 3 * FRAME)
    assert 2 <= len(frames) <= 3
    assert decoder.bad_frames >= 1


def test_random_bytes_never_become_pressures():
    decoder = FrameDecoder(COMMAND)
    assert decoder.feed(np.random.default_rng(0).bytes(100_000)) == []
