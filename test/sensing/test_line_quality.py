"""What is said of an IMU's line: by the bytes that come over it."""

import re

import numpy as np
import pytest

from soft_twin.sensing.imu_frames import encode_sample
from soft_twin.sensing.imu_receiver import ImuReceiver
from soft_twin.sensing.samples import ImuSample

PERIOD = 0.01  # [s] between two samples
LOST = r"(\d+) of (\d+) samples are lost on the line"


def frame(number, board_time):
    return encode_sample(ImuSample(board_time, np.zeros(3), np.array([0.0, 0.0, 9.8]), 30.0), number)


def told(frames):
    """What a receiver says of the line after each of (bytes, arrival [s])."""
    receiver, words = ImuReceiver(), []
    for data, arrival in frames:
        receiver.feed(data, arrival)
        words.append(receiver.line_fault)
    return words


def stream(count, first=0, start=1000.0):
    """(bytes, arrival) of a board whose line is whole."""
    return [(frame(first + k, k * PERIOD), start + k * PERIOD) for k in range(count)]


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_samples_that_are_lost_are_told_with_their_number(share, damaged):
    rng = np.random.default_rng(4)
    frames = [
        (
            data if rng.random() > share else data[:20] + bytes([data[20] ^ 0x10]) + data[21:] if damaged else b"",
            arrival,
        )
        for data, arrival in stream(1500)
    ]
    lost, of = map(int, re.match(LOST, told(frames)[-1]).groups())
    assert lost / of == pytest.approx(share, abs=0.05) and of == pytest.approx(5.0 / PERIOD, rel=0.1)


def test_a_line_that_is_whole_again_is_no_fault_after_some_seconds():
    frames = stream(2000)
    words = told(frames[:100] + frames[180:])  # 0.8 s of nothing
    assert words[98] == "" and re.match("80 of ", words[100])
    assert words[100 + 400] and not words[100 + 600]


def test_a_few_samples_that_are_lost_are_no_fault():
    frames = stream(3000)
    assert not any(told([one for k, one in enumerate(frames) if k % 50]))  # 2 %


@pytest.mark.parametrize("first", [0, 41_000, 65_400])
def test_a_board_that_begins_to_count_anew_has_lost_nothing(first):
    again = [(frame(k, k * PERIOD), 1020.0 + k * PERIOD) for k in range(300)]
    assert not any(told(stream(300, first=first) + again))


def test_what_comes_twice_or_all_at_once_is_not_lost():
    frames = stream(600)
    twice = [one for one in frames for _ in range(2)]
    halted = [(data, max(arrival, 1003.0)) for data, arrival in frames]
    assert not any(told(twice)) and not any(told(halted))


def test_what_no_imu_board_sends_is_told():
    rng = np.random.default_rng(5)
    noise = [(rng.bytes(20), 1000.0 + 0.01 * k) for k in range(100)]
    words = told(noise)
    assert words[5] == "" and "without one whole frame: it is no IMU board, or sends at another baud rate" in words[-1]
    assert told(noise + stream(200, start=1001.0))[-1] == ""
