"""A session's motors on a bus without a kernel, in virtual time: frames and rotor angles are what is looked at."""

import struct

import can
import numpy as np

from soft_twin import load_robot
from soft_twin.driving.cables.cable_driver import CableDriver
from soft_twin.driving.session import ActuatorSession
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.errors import DeviceError

from .virtual_clock import VirtualClock

DT = 0.004
COMMANDS = {0x200: range(1, 5), 0x1FF: range(5, 9)}


class Wire(can.BusABC):
    """The host's end of a bus with emulated motors; `plugged` says whether it is one."""

    def __init__(self, motors):
        self.plugged, self.open = True, True
        self.motors, self.waiting = motors, []
        self.currents = np.zeros(8)  # of the newest frames [A]
        super().__init__("wire")

    def send(self, message, timeout=None):
        self._listen()
        values = np.array(struct.unpack(">4h", bytes(message.data))) * 1e-3
        self.currents[np.array(COMMANDS[message.arbitration_id]) - 1] = values
        self.motors.receive(message.arbitration_id, bytes(message.data))

    def recv(self, timeout=None):
        self._listen()
        return self.waiting.pop(0) if self.waiting else None

    def shutdown(self):
        super().shutdown()
        self.open = False

    __del__ = shutdown  # a bench ends without a word; python-can would complain

    def _listen(self):
        if not (self.plugged and self.open):
            raise can.CanOperationError("unplugged")


class Bench:
    """The slender robot's motors with cables on springs, and a session that drives them."""

    def __init__(self, parameters=None, spring=150.0, motor=None, **options):
        self.robot = load_robot("slender")
        self.clock = VirtualClock()
        self.motors = EmulatedC610(range(1, 7), self.robot.winches.winch, motor, seed=1)
        self.spring, self.slack = spring, 0.0
        self.there = True
        self.bus = self.driver = None
        self._parameters = parameters
        self.session = ActuatorSession(self._open, clock=self.clock, **options)

    def _open(self):
        if not self.there:
            raise DeviceError("no CAN adapter")
        self.bus = Wire(self.motors)
        self.driver = CableDriver(self.robot.winches, self.bus, self._parameters, self.clock, threaded=False)
        return self.driver

    def unplug(self):
        self.there = self.bus.plugged = False

    def plug(self):
        self.there = True

    def step(self, dt=DT):
        """Let the motors live for a tick, then the driver, then the node."""
        self._live(dt)
        if self.driver is not None:
            self.driver.tick()
        self.session.poll()

    def halt(self, seconds):
        """Let the motors live alone: nobody hears them until the host goes on."""
        for _ in range(round(seconds / DT)):
            self._live(DT)

    def _live(self, dt):
        self.clock.now += dt
        self.motors.step(dt, np.maximum(self.spring * (self.motors.displacements - self.slack), 0.0))
        if self.bus is not None and self.bus.plugged:
            self.bus.waiting += [
                can.Message(arbitration_id=i, data=d, is_extended_id=False) for i, d in self.motors.feedback()
            ]

    def run(self, seconds, command=None):
        """Displacements (k, 6) of the motors [m] while they are commanded, as far as that is obeyed."""
        path = []
        for _ in range(round(seconds / DT)):
            if command is not None:
                self.ask("command", np.asarray(command))
            self.step()
            path.append(self.motors.displacements.copy())
        return np.array(path)

    def ask(self, name, *arguments, **options):
        """Whether the session does it."""
        try:
            getattr(self.session, name)(*arguments, **options)
        except DeviceError:
            return False
        return True

    def ready(self):
        self.run(0.6)
        self.session.home()
        return self

    def active(self):
        self.ready().session.enable()
        self.run(0.2, np.zeros(6))
        return self
