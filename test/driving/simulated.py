"""Motors and control stepped together in simulated time: no thread, no port, no clock."""

import can
import numpy as np

from soft_twin import load_robot
from soft_twin.driving.c610 import decode_feedback, encode_currents
from soft_twin.driving.cable_control import CableControl, DriverParameters
from soft_twin.emulation.c610 import EmulatedC610

DT = 0.004
SPRING = 150.0  # [N/m] of the emulated body against its cables


class SimulatedWinches:
    """A robot's motors, the slender one's by default, under a CableControl; commands reach the motors one tick late."""

    def __init__(self, parameters=None, drive=None, motor=None, prompt=False):
        """`prompt` lets currents act at once instead of a tick later."""
        self.drive = drive or load_robot("slender").winches
        self.control = CableControl(self.drive, parameters or DriverParameters())
        self.motors = EmulatedC610(self.control.motor_ids, self.drive.winch, motor, seed=1)
        self.prompt = prompt
        self.silent = set()
        self.spring, self.slack = SPRING, 0.0
        self.commanded = dict.fromkeys(self.control.motor_ids, 0.0)
        self._on_the_way, self._kept, self._keep_for = [], [], 0.0

    def tick(self, command=None):
        if command is not None:
            self.control.command(command)
        feedback = [
            decode_feedback(can.Message(arbitration_id=i, data=d, is_extended_id=False))
            for i, d in self.motors.feedback()
        ]
        self._kept += [sample for sample in feedback if sample.motor_id not in self.silent]
        self._keep_for -= DT
        arrived, self._kept = ([], self._kept) if self._keep_for > 0.0 else (self._kept, [])
        self.commanded = self.control.update(arrived, DT)
        sent = encode_currents(self.commanded)
        for frame in sent if self.prompt else self._on_the_way:
            self.motors.receive(frame.arbitration_id, bytes(frame.data))
        self._on_the_way = sent
        self.motors.step(DT, np.maximum(self.spring * (self.motors.displacements - self.slack), 0.0))

    def hold_back(self, seconds):
        """Feedback waits in a buffer for so long, then comes all at once."""
        self._keep_for = seconds

    def home(self):
        """Hear the motors, and let the cables be homed where they are."""
        self.run(0.1)
        self.control.home()

    def run(self, seconds, command=None):
        path = []
        for _ in range(round(seconds / DT)):
            self.tick(command)
            path.append(self.motors.displacements.copy())
        return np.array(path)

    @property
    def state(self):
        return self.control.state(0.0)
