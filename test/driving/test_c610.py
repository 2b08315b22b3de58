import can
import pytest

from soft_twin.driving.c610 import bus_load, decode_feedback, encode_currents
from soft_twin.errors import InputError


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


def test_bus_load_of_six_motors_at_1_khz_leaves_room_for_commands_at_250_hz():
    # 6000 + 2 * 250 frames of 130 bits with stuffing, on 1 Mbit/s
    assert bus_load(6, 1000.0, 250.0) == pytest.approx(0.845)
    assert bus_load(6, 1000.0, 1000.0) > 1.0
