"""Frames of the DJI C610 motor controller on CAN, and what its M2006 motor is.

The frames are described in `c610.dbc` and packed by cantools; here they become numbers with units. Pure functions:
no port is open in this file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import can
import cantools

from soft_twin.errors import InputError

DATABASE = cantools.database.load_file(Path(__file__).with_name("c610.dbc"))
BIT_RATE = 1_000_000  # [bit/s]
COUNTS_PER_TURN = 8192  # of the rotor
MAX_CURRENT = 10.0  # [A]
MEASURABLE_CURRENT = 11.0  # [A] a controller measures no more
MEASURABLE_SPEED = 25_000  # [turns/min] beyond what the rotor reaches without load
FRAME_BITS = 130  # [bit] a standard frame of 8 bytes with the most stuffing bits and the gap after it

_COMMANDS = {range(1, 5): "Command1To4", range(5, 9): "Command5To8"}
_FIRST_FEEDBACK = 0x201
_FEEDBACK = [DATABASE.get_message_by_name(f"Feedback{motor_id}") for motor_id in range(1, 9)]


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
        _command(name, {f"Current{motor_id}": float(currents.get(motor_id, 0.0)) for motor_id in motor_ids})
        for motor_ids, name in _COMMANDS.items()
        if any(motor_id in currents for motor_id in motor_ids)
    ]


def decode_feedback(message: can.Message) -> Feedback | None:
    """A motor's feedback; None if the frame is not one (other id, wrong length, impossible values)."""
    index = message.arbitration_id - _FIRST_FEEDBACK
    if not 0 <= index < len(_FEEDBACK) or len(message.data) != 8 or message.is_extended_id:
        return None
    signals = _FEEDBACK[index].decode(bytes(message.data), decode_choices=False)
    impossible = abs(signals["Current"]) > MEASURABLE_CURRENT or abs(signals["Speed"]) > MEASURABLE_SPEED
    if impossible or signals["Angle"] >= COUNTS_PER_TURN:
        return None
    return Feedback(index + 1, signals["Angle"], signals["Speed"], signals["Current"])


def wrap(counts: int) -> int:
    """The same angle within −4096…4095 counts."""
    half = COUNTS_PER_TURN // 2
    return (counts + half) % COUNTS_PER_TURN - half


def bus_load(motors: int, feedback_rate: float, command_rate: float, bit_rate: int = BIT_RATE) -> float:
    """Share of the bus that `motors` motors and their commands take at those rates [Hz]: 1 is full."""
    command_frames = len({(motor_id - 1) // 4 for motor_id in range(1, motors + 1)})
    return FRAME_BITS * (motors * feedback_rate + command_frames * command_rate) / bit_rate


def _command(name: str, currents: Mapping[str, float]) -> can.Message:
    description = DATABASE.get_message_by_name(name)
    return can.Message(arbitration_id=description.frame_id, data=description.encode(currents), is_extended_id=False)
