"""Motors on a CAN bus behind a serial adapter: the device that a cable driver talks to."""

import numpy as np

from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.line_faults import LineFaults
from soft_twin.emulation.ports import PseudoTerminal
from soft_twin.emulation.slcan import SlcanAdapter

BUFFER = 1 << 18  # [bytes] of the adapter: some seconds of feedback


class MotorBus:
    """Emulated motors behind an slcan adapter on a pseudo-terminal; what a driver is too late for waits for it.

    Attributes:
        port: what the driver opens.
        line: between adapter and port, for faults on purpose.
        motors: the motors; their `displacements` are the truth.
    """

    def __init__(self, motors: EmulatedC610):
        self.port = PseudoTerminal(BUFFER)
        self.motors = motors
        self.line = LineFaults(self.port)
        self._adapter = SlcanAdapter(self.line)

    @property
    def is_heard(self) -> bool:
        """Whether the driver has taken all that there is no more room for, as far as there is a driver."""
        return not self.port.waiting

    def step(self, dt: float, tensions: np.ndarray) -> None:
        """Take the commands that came, let `dt` seconds pass under `tensions` (c,) [N], send feedback."""
        for can_id, data in self._adapter.receive():
            self.motors.receive(can_id, data)
        self.motors.step(dt, tensions)
        self._adapter.send_all(self.motors.feedback())

    def stand_still(self, count: int) -> None:
        """Send feedback of so many periods in which no time has passed for the motors: a driver that counts what it
        gets against its own clock misses none, and sees rotors that have not moved meanwhile. They have come to
        rest: else they would go on as fast at once, as if they had been struck."""
        self.motors.halt()
        self._adapter.send_all(count * self.motors.feedback())

    def close(self) -> None:
        """Unplug the adapter."""
        self.port.close()
