"""Motors and control stepped together in simulated time: no thread, no port, no clock."""

import can
import numpy as np

from soft_twin import load_robot
from soft_twin.driving.cables.c610 import decode_feedback, encode_currents
from soft_twin.driving.cables.cable_control import CableControl, DriverParameters
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
        self.lose(0.0)

    def tick(self, command=None, late=0.0, steps=1):
        """One turn of the control, `late` [s] after its time, and so many steps of the motors."""
        if command is not None:
            self.control.command(command)
        self._kept += self._feedback() if steps else []
        self._keep_for -= DT
        arrived, self._kept = ([], self._kept) if self._keep_for > 0.0 else (self._kept, [])
        self.commanded = self.control.update(arrived, DT + late)
        sent = encode_currents(self.commanded)
        for frame in sent if self.prompt else self._on_the_way:
            self.motors.receive(frame.arbitration_id, bytes(frame.data))
        self._on_the_way = sent
        for step in range(steps):
            self._kept += self._feedback() if step else []
            self.motors.step(DT, self.tensions())

    def stand_still(self, seconds, most, halted, command=None):
        """The motors' world stands still for so long, the control too if it is `halted`; then it catches up.

        It lives at most `most` steps a tick, under whatever currents it hears by then, and tells of every one.
        """
        behind = round(seconds / DT)
        if halted:
            self.tick(command, late=seconds, steps=0)
        else:
            for _ in range(behind):
                self.tick(command, steps=0)
        while behind > 0:
            self.tick(command, steps=most)
            behind -= most - 1

    def _feedback(self):
        """What the motors tell now, as far as it arrives."""
        feedback = [
            decode_feedback(can.Message(arbitration_id=i, data=d, is_extended_id=False))
            for i, d in self.motors.feedback()
        ]
        return [sample for sample in feedback if sample.motor_id not in self.silent and self._arrives()]

    def tensions(self):
        """(c,) by which the cables pull at their winches [N]."""
        return np.maximum(self.spring * (self.motors.displacements - self.slack), 0.0)

    def hold_back(self, seconds):
        """Feedback waits in a buffer for so long, then comes all at once."""
        self._keep_for = seconds

    def lose(self, share, seed=0):
        """So large a share of the feedback is lost from now on."""
        rng = np.random.default_rng(seed)
        self._arrives = lambda: rng.random() >= share

    def home(self):
        """Hear the motors, and let the cables be homed where they are."""
        self.run(0.1)
        self.control.home()

    def take_up_slack(self):
        """To the end, whatever that is."""
        self.control.take_up_slack()
        while self.state.mode == "homing":
            self.tick()

    def run(self, seconds, command=None):
        path = []
        for _ in range(round(seconds / DT)):
            self.tick(command)
            path.append(self.motors.displacements.copy())
        return np.array(path)

    @property
    def state(self):
        return self.control.state(0.0)
