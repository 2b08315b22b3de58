"""The IMU board's bytes: literal frames, damage, garbage."""

import math

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.sensing.imu_frames import FrameDecoder, HeaterDecoder, encode_heater, encode_sample
from soft_twin.sensing.samples import ImuSample

SAMPLE = ImuSample(1.5, np.array([1.0, -2.0, 0.5]), np.array([0.0, 0.0, 9.8125]), 40.0)
SAMPLE_FRAME = bytes.fromhex(
    "a55a 01 26 0700 60e3160000000000 0000803f 000000c0 0000003f 00000000 00000000 00001d41 00002042 9fd0"
)


def frames(count):
    return [encode_sample(ImuSample(0.01 * i, np.full(3, i), np.full(3, -i), 25.0), i) for i in range(count)]


def test_sample_is_these_bytes():
    assert encode_sample(SAMPLE, 7).hex() == SAMPLE_FRAME.hex()


def test_these_bytes_are_the_sample():
    [(sequence, sample)] = FrameDecoder().feed(SAMPLE_FRAME)
    assert sequence == 7
    assert sample.time == 1.5
    assert sample.temperature == 40.0
    np.testing.assert_array_equal(sample.angular_velocity, SAMPLE.angular_velocity)
    np.testing.assert_array_equal(sample.specific_force, SAMPLE.specific_force)


def test_heater_is_these_bytes():
    assert encode_heater(1.0).hex() == "a55a0202ffffc71a"
    assert encode_heater(0.0).hex() == "a55a02020000c807"
    assert HeaterDecoder().feed(bytes.fromhex("a55a0202ffffc71a")) == [1.0]


def test_heater_duty_survives_to_16_bits():
    [duty] = HeaterDecoder().feed(encode_heater(0.3))
    assert duty == pytest.approx(0.3, abs=1.0 / 65535)


def test_bytes_may_arrive_one_by_one():
    decoder = FrameDecoder()
    sequences = [sequence for byte in b"".join(frames(5)) for sequence, _ in decoder.feed(bytes([byte]))]
    assert sequences == [0, 1, 2, 3, 4]
    assert (decoder.errors.discarded_bytes, decoder.errors.bad_crc, decoder.errors.lost_frames) == (0, 0, 0)


def test_goes_on_after_starting_in_the_middle_of_a_frame():
    decoder = FrameDecoder()
    assert [sequence for sequence, _ in decoder.feed(b"".join(frames(3))[20:])] == [1, 2]
    assert decoder.errors.discarded_bytes == len(SAMPLE_FRAME) - 20


def test_a_damaged_frame_is_dropped_and_counted():
    stream = bytearray(b"".join(frames(3)))
    stream[len(SAMPLE_FRAME) + 10] ^= 0x40
    decoder = FrameDecoder()
    assert [sequence for sequence, _ in decoder.feed(bytes(stream))] == [0, 2]
    assert (decoder.errors.bad_crc, decoder.errors.lost_frames) == (1, 1)


def test_a_head_inside_a_cut_off_frame_hides_no_frame():
    decoder = FrameDecoder()
    assert [sequence for sequence, _ in decoder.feed(SAMPLE_FRAME[:15] + SAMPLE_FRAME)] == [7]
    assert decoder.errors.discarded_bytes == 15


def test_survives_garbage_between_frames():
    rng = np.random.default_rng(1)
    garbage = [rng.bytes(rng.integers(1, 60)) + b"\xa5" for _ in range(50)]
    decoder = FrameDecoder()
    stream = b"".join(noise + frame for noise, frame in zip(garbage, frames(50), strict=True))
    assert [sequence for sequence, _ in decoder.feed(stream)] == list(range(50))
    assert decoder.errors.discarded_bytes == sum(map(len, garbage))


def test_garbage_alone_gives_nothing_and_is_not_hoarded():
    decoder = FrameDecoder()
    assert decoder.feed(np.random.default_rng(2).bytes(100_000)) == []
    assert decoder.errors.discarded_bytes > 99_900


def test_sequence_wraps_without_loss():
    decoder = FrameDecoder()
    decoded = decoder.feed(encode_sample(SAMPLE, 65535) + encode_sample(SAMPLE, 65536))
    assert [sequence for sequence, _ in decoded] == [65535, 0]
    assert decoder.errors.lost_frames == 0


def test_not_a_number_passes_the_line():
    [(_, sample)] = FrameDecoder().feed(encode_sample(ImuSample(0.0, np.full(3, math.nan), np.zeros(3), math.nan), 0))
    assert np.isnan(sample.angular_velocity).all()
    assert math.isnan(sample.temperature)


@pytest.mark.parametrize("duty", [-0.1, 1.1, math.nan])
def test_refuses_a_duty_outside_its_range(duty):
    with pytest.raises(InputError, match="0…1"):
        encode_heater(duty)


@pytest.mark.parametrize("time", [-1.0, math.inf])
def test_refuses_a_time_that_the_frame_cannot_carry(time):
    with pytest.raises(InputError, match="board time"):
        encode_sample(ImuSample(time, np.zeros(3), np.zeros(3), 0.0), 0)
