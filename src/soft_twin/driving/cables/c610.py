"""Frames of the DJI C610 motor controller on CAN, and what its M2006 motor is.

The frames are described in `c610.dbc`, for people, their tools and the tests; here they are read and packed by hand,
three times as fast as by a description: six motors send six thousand a second. Pure functions: no port is open in this
file.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import can

from soft_twin.errors import InputError

BIT_RATE = 1_000_000  # [bit/s]
COUNTS_PER_TURN = 8192  # of the rotor
MAX_CURRENT = 10.0  # [A]
MEASURABLE_CURRENT = 11.0  # [A] a controller measures no more
MEASURABLE_SPEED = 25_000  # [turns/min] beyond what the rotor reaches without load
FRAME_BITS = 130  # [bit] a standard frame of 8 bytes with the most stuffing bits and the gap after it

_COMMANDS = {0x200: range(1, 5), 0x1FF: range(5, 9)}  # id of a frame -> the motors that it commands
_FIRST_FEEDBACK, _LAST_FEEDBACK = 0x201, 0x208
_RESOLUTION = 0.001  # [A]
_PACK_CURRENTS = struct.Struct(">4h").pack
_UNPACK_FEEDBACK = struct.Struct(">Hhh").unpack_from  # angle, speed, current


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a motor says of itself.

    Attributes:
        motor_id: 1…8.
        angle_counts: rotor angle within its turn, 0…8191.
        speed_rpm: rotor speed [turns/min].
        current: measured torque current [A].
    """

    motor_id: int
    angle_counts: int
    speed_rpm: int
    current: float


def encode_currents(currents: Mapping[int, float]) -> list[can.Message]:
    """The command frames for motors with the given torque currents, {motor id: A}.

    A frame serves four ids; ids of a frame that are not named get 0 A, frames with no named id are left out.

    Raises:
        InputError: an id outside 1…8, or a current that is not finite or beyond ±10 A.
    """
    for motor_id, current in currents.items():
        if motor_id not in range(1, 9):
            raise InputError(f"motor id {motor_id}: a C610 has an id in 1…8")
        if not abs(current) <= MAX_CURRENT:
            raise InputError(f"motor {motor_id}: current {current:g} A is not within ±{MAX_CURRENT:g} A")
    return [
        _command(frame_id, [currents.get(motor_id, 0.0) for motor_id in motor_ids])
        for frame_id, motor_ids in _COMMANDS.items()
        if any(motor_id in currents for motor_id in motor_ids)
    ]


def decode_feedback(message: can.Message) -> Feedback | None:
    """A motor's feedback; None if the frame is not one (other id or kind, wrong length, impossible values)."""
    can_id, data = message.arbitration_id, message.data
    if not _FIRST_FEEDBACK <= can_id <= _LAST_FEEDBACK or len(data) != 8:
        return None
    if message.is_extended_id or message.is_error_frame or message.is_remote_frame:
        return None
    angle, speed, milliamperes = _UNPACK_FEEDBACK(data)
    current = milliamperes * _RESOLUTION
    if angle >= COUNTS_PER_TURN or abs(speed) > MEASURABLE_SPEED or abs(current) > MEASURABLE_CURRENT:
        return None
    return Feedback(can_id - _FIRST_FEEDBACK + 1, angle, speed, current)


def wrap(counts: int) -> int:
    """The same angle within −4096…4095 counts."""
    half = COUNTS_PER_TURN // 2
    return (counts + half) % COUNTS_PER_TURN - half


def bus_load(motors: int, feedback_rate: float, command_rate: float, bit_rate: int = BIT_RATE) -> float:
    """Share of the bus that `motors` motors and their commands take at those rates [Hz]: 1 is full."""
    command_frames = len({(motor_id - 1) // 4 for motor_id in range(1, motors + 1)})
    return FRAME_BITS * (motors * feedback_rate + command_frames * command_rate) / bit_rate


def _command(frame_id: int, currents: list[float]) -> can.Message:
    data = _PACK_CURRENTS(*(round(current / _RESOLUTION) for current in currents))
    return can.Message(arbitration_id=frame_id, data=data, is_extended_id=False)
