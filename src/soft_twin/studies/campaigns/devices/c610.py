"""RoboMaster C610 controllers on a CAN bus, from their data sheet.

Standard frames at 1 Mbit/s with 8 bytes, numbers of 16 bits, the high byte first. The host commands currents, ±10000
for ±10 A: frame 0x200 for the motors 1…4, 0x1FF for 5…8. Each motor answers in frame 0x200 + id, a thousand times a
second, or less often if it is set so: rotor angle 0…8191, speed [rpm], torque current, two bytes of zero. A motor that
hears nothing lets go.
"""

import struct
from collections.abc import Callable

from soft_twin.studies.campaigns.devices.winches import POWER, Winches

COMMANDS = {0x200: 0, 0x1FF: 4}  # id of a frame -> motor id before its first one
FULL_SCALE = 1000  # [1/A]
FRAME_BITS = 130  # with 8 bytes, some stuffed bits and the pause between two frames
BITRATE = 1_000_000.0
UNPACK = struct.Struct(">4h").unpack
PACK = struct.Struct(">HhhH").pack


def currents_of(can_id: int, data: bytes) -> dict[int, float]:
    """Currents [A] that a frame commands, by motor id; empty if it commands none."""
    first = COMMANDS.get(can_id)
    if first is None or len(data) != 8:
        return {}
    return {first + i + 1: value / FULL_SCALE for i, value in enumerate(UNPACK(data))}


class Controllers:
    """The controllers of some winches.

    Args:
        winches: what they turn.
        send: is called with id and data of each frame that they send.
        period: between two answers of each [s].

    Attributes:
        ids: to which each winch answers now.
        silent: motors that live, but whose answers do not arrive.
        deaf: motors that do not hear.
    """

    def __init__(self, winches: Winches, send: Callable[[int, bytes], None], period: float = 0.001):
        self.winches = winches
        self._period, self._since_answer = period, 0.0
        self.ids = [winch.motor_id for winch in winches.winches]
        self.silent, self.deaf = set(), set()
        self._send = send
        self._heard = [-1.0] * len(self.ids)
        self._patience = [winch.patience for winch in winches.winches]

    def hear(self, can_id: int, data: bytes, now: float) -> None:
        """A frame of the host has arrived."""
        told = currents_of(can_id, data)
        for i, motor_id in enumerate(self.ids):
            if motor_id in told and i not in self.deaf:
                self.winches.wanted[i] = told[motor_id]
                self._heard[i] = now

    def live(self, now: float, dt: float) -> None:
        """Turn the winches for dt [s], then answer, if it is time."""
        for i, heard in enumerate(self._heard):
            if now - heard > self._patience[i]:
                self.winches.wanted[i] = 0.0
        measured = self.winches.step(dt).tolist()
        self._since_answer += dt
        if self._since_answer < self._period - 0.5 * dt:
            return
        self._since_answer = 0.0
        for i, (angle, speed, current) in enumerate(measured):
            if self.winches.health[i, POWER] and i not in self.silent:
                self._send(0x200 + self.ids[i], PACK(angle, speed, current, 0))

    def powered(self, i: int, on: bool) -> None:
        """Switch a motor's supply; it hears what it is told once it is back."""
        self.winches.health[i, POWER] = float(on)
        self._heard[i] = -1.0
