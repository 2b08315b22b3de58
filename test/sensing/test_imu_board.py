"""The host's side of the IMU board on a pseudo-terminal, and its clock."""

import time

import numpy as np
import pytest

from soft_twin.errors import DeviceError, InputError
from soft_twin.sensing.clock import BoardClock
from soft_twin.sensing.imu_board import ImuBoard
from soft_twin.sensing.imu_frames import HeaterDecoder, encode_sample
from soft_twin.sensing.samples import ImuSample


@pytest.fixture
def board(port):
    board = ImuBoard(port.path)
    yield board
    board.close()


def frame(board_time, sequence=0):
    return encode_sample(ImuSample(board_time, np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 9.75]), 30.0), sequence)


def test_samples_come_with_the_hosts_time(port, board):
    before = time.time()
    port.write(frame(100.0, 0) + frame(100.01, 1))
    first, second = board.read(1.0)
    assert before <= second.time <= time.time()
    assert second.time - first.time == pytest.approx(0.01, abs=1e-6)
    np.testing.assert_array_equal(first.angular_velocity, [1.0, 2.0, 3.0])
    assert board.errors.lost_frames == 0


def steps_while_the_day_is_set(port, board, monkeypatch, step):
    """Of samples' times less those of their stamps (59,) [s], and how long any took from its stamp to the host [s]."""
    samples, stamps, took, day = [], [], [], time.time
    for k in range(60):
        if k == 30:
            monkeypatch.setattr(time, "time", lambda: day() + step)
        stamps.append(time.monotonic())
        port.write(frame(stamps[-1], k))
        samples += board.read(1.0)
        took.append(time.monotonic() - stamps[-1])
        time.sleep(0.01)
    monkeypatch.setattr(time, "time", day)
    return np.diff([sample.time for sample in samples]) - np.diff(stamps), max(took)


@pytest.mark.parametrize("step", [-3600.0, -0.5, 2.0, 1e6])
def test_a_time_of_day_that_is_set_moves_the_samples_after_it_once(port, monkeypatch, step):
    for _ in range(5):  # what this machine holds up by itself is, to the host, of a clock that jumps
        board = ImuBoard(port.path)
        steps, held_up = steps_while_the_day_is_set(port, board, monkeypatch, step)
        board.close()
        if held_up < 0.05 and np.median(np.abs(steps)) < 1e-3:
            break
    assert steps[29] == pytest.approx(step, abs=0.2)  # a busy machine finds the quickest delivery late
    np.testing.assert_allclose(np.delete(steps, 29), 0.0, atol=0.2)
    assert np.median(np.abs(steps)) < 1e-3


def test_a_silent_board_gives_nothing_in_time(board):
    start = time.monotonic()
    assert board.read(0.02) == []
    assert time.monotonic() - start < 1.0


def test_half_a_frame_waits_for_the_rest(port, board):
    port.write(frame(1.0)[:20])
    assert board.read(0.01) == []
    port.write(frame(1.0)[20:])
    assert len(board.read(1.0)) == 1


def test_the_heater_hears_its_duty(port, board):
    board.set_heater(0.25)
    decoder, duties, deadline = HeaterDecoder(), [], time.monotonic() + 1.0
    while not duties and time.monotonic() < deadline:
        duties = decoder.feed(port.read())
    assert duties == [pytest.approx(0.25, abs=1e-4)]
    with pytest.raises(InputError):
        board.set_heater(2.0)


def test_a_missing_device_is_named(tmp_path):
    with pytest.raises(DeviceError, match="no IMU board at '/dev/no_such_imu': plug it in, or give another path"):
        ImuBoard("/dev/no_such_imu")
    with pytest.raises(DeviceError, match="at '.*/imu': an emulated one appears once its robot has started"):
        ImuBoard(str(tmp_path / "imu"))
    (tmp_path / "imu").touch()
    with pytest.raises(DeviceError, match="no IMU board at '.*/imu', which is no device: give another path"):
        ImuBoard(str(tmp_path / "imu"))


def test_an_unplugged_device_is_an_error(port, board):
    port.close()
    with pytest.raises(DeviceError, match="is gone"):
        board.read(1.0)
    with pytest.raises(DeviceError, match="is gone"):
        board.set_heater(0.5)


def test_clock_follows_the_quickest_delivery():
    rng = np.random.default_rng(3)
    clock = BoardClock()
    errors = []
    for t in np.arange(0.0, 60.0, 0.01):
        drift = 50e-6 * t
        clock.observe(t, 1000.0 + t + drift + 0.001 + rng.exponential(0.005))
        errors.append(clock.to_host(t) - (1000.0 + t + drift))
    assert np.all(np.abs(np.array(errors[100:]) - 0.001) < 1e-3)
    assert np.all(np.diff(errors) > -0.01)


def test_clock_never_goes_back():
    clock = BoardClock()
    clock.observe(0.0, 10.5)
    first = clock.to_host(0.0)
    clock.observe(0.01, 10.01)
    assert clock.to_host(0.01) > first


def test_clock_starts_anew_with_a_board_that_restarted():
    clock = BoardClock()
    clock.observe(500.0, 1000.0)
    clock.to_host(500.0)
    clock.observe(0.5, 1003.0)
    assert clock.to_host(0.5) == pytest.approx(1003.0)
