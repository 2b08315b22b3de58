import random
from pathlib import Path

import can
import cantools
import pytest

from soft_twin.driving.cables import c610
from soft_twin.driving.cables.c610 import bus_load, decode_feedback, encode_currents
from soft_twin.errors import InputError

DATABASE = cantools.database.load_file(Path(c610.__file__).with_name("c610.dbc"))


def _message(can_id, data, extended=False):
    return can.Message(arbitration_id=can_id, data=bytes.fromhex(data), is_extended_id=extended)


def test_currents_are_big_endian_thousandths_in_the_frame_of_their_four_ids():
    (frame,) = encode_currents({1: 1.0, 2: -1.0, 3: 10.0, 4: -10.0})
    assert (frame.arbitration_id, frame.is_extended_id) == (0x200, False)
    assert bytes(frame.data).hex() == "03e8fc182710d8f0"


def test_six_motors_take_both_frames_and_absent_ids_get_no_current():
    first, second = encode_currents({1: 0.5, 6: 0.25})
    assert (first.arbitration_id, bytes(first.data).hex()) == (0x200, "01f4000000000000")
    assert (second.arbitration_id, bytes(second.data).hex()) == (0x1FF, "000000fa00000000")


@pytest.mark.parametrize("currents", [{1: 10.001}, {1: float("nan")}, {1: float("inf")}, {0: 0.0}, {9: 0.0}])
def test_impossible_currents_are_not_encoded(currents):
    with pytest.raises(InputError, match="motor"):
        encode_currents(currents)


def test_feedback_is_angle_speed_and_current():
    feedback = decode_feedback(_message(0x203, "1fffff9cfc180000"))
    assert (feedback.motor_id, feedback.angle_counts, feedback.speed_rpm) == (3, 8191, -100)
    assert feedback.current == pytest.approx(-1.0)


@pytest.mark.parametrize(
    "message",
    [
        _message(0x200, "0000000000000000"),
        _message(0x209, "0000000000000000"),
        _message(0x201, "00000000"),
        _message(0x201, "2000000000000000"),  # angle 8192
        _message(0x201, "0000000000000000", extended=True),
    ],
)
def test_what_is_no_feedback_is_none(message):
    assert decode_feedback(message) is None


@pytest.mark.parametrize("kind", ["is_error_frame", "is_remote_frame"])
def test_frames_of_other_kinds_are_no_feedback(kind):
    frame = can.Message(arbitration_id=0x201, data=bytes(8), is_extended_id=False)
    setattr(frame, kind, True)
    assert decode_feedback(frame) is None


@pytest.mark.parametrize("seed", range(50))
def test_frames_are_what_the_description_says(seed):
    rng = random.Random(seed)
    motor_id = rng.randrange(1, 9)
    told = {"Angle": rng.randrange(8192), "Speed": rng.randrange(-25000, 25001), "Current": rng.uniform(-10.9, 10.9)}
    description = DATABASE.get_message_by_name(f"Feedback{motor_id}")
    feedback = decode_feedback(_message(description.frame_id, description.encode(told).hex()))
    assert (feedback.motor_id, feedback.angle_counts, feedback.speed_rpm) == (motor_id, told["Angle"], told["Speed"])
    assert feedback.current == pytest.approx(told["Current"], abs=0.00051)
    currents = {i: rng.uniform(-10.0, 10.0) for i in range(1, 9)}
    for frame in encode_currents(currents):
        for name, value in DATABASE.decode_message(frame.arbitration_id, frame.data).items():
            assert value == pytest.approx(currents[int(name.removeprefix("Current"))], abs=0.00051)


def test_bus_load_of_six_motors_at_1_khz_leaves_room_for_commands_at_250_hz():
    # 6000 + 2 * 250 frames of 130 bits with stuffing, on 1 Mbit/s
    assert bus_load(6, 1000.0, 250.0) == pytest.approx(0.845)
    assert bus_load(6, 1000.0, 1000.0) > 1.0
