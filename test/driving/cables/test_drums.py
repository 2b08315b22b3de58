"""Drums and gears of all sizes, on rotors whose physics is told at the rotor; the driver is seen by its bytes alone."""

import dataclasses
import math
import struct

import can
import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.driving.cables.cable_driver import CableDriver

from ..virtual_clock import VirtualClock

TORQUE = 0.18 / 36.0  # [N·m/A] at the rotor
INERTIA = 3.1e-7  # [kg·m²] of the rotor, and of what it turns as felt there
FRICTION = 1.55e-5  # [N·m·s]
STIFFNESS = 100.0  # [N/m] of what a cable pulls at
RATE, DISPLACEMENT = 0.05, 0.01  # [m/s] its limit, [m] of the robot
SUBSTEPS = 2
DRUMS = [(0.003, 36.0), (0.06, 36.0)]
GEARS = [(0.0065, 18.0), (0.0065, 144.0), (0.03, 19.2)]


class Rotors(can.BusABC):
    """Six M2006 that each wind a cable, behind any gear and on any drum."""

    def __init__(self, radius, gear):
        self._per_turn, self._frames = radius / gear, []  # [m/rad]
        self._currents, self._angles, self._speeds = np.zeros(6), np.zeros(6), np.zeros(6)
        self.fastest = 0.0
        super().__init__("rotors")

    def send(self, msg, timeout=None):
        currents = 1e-3 * np.array(struct.unpack(">4h", bytes(msg.data)))
        if msg.arbitration_id == 0x200:
            self._currents[:4] = currents
        else:
            self._currents[4:] = currents[:2]

    def recv(self, timeout=None):
        return self._frames.pop(0) if self._frames else None

    @property
    def displacements(self):
        return self._per_turn * self._angles

    @property
    def pulls(self):
        return np.maximum(STIFFNESS * self.displacements, 0.0)

    def live(self, dt):
        for _ in range(SUBSTEPS):
            torques = TORQUE * self._currents - self._per_turn * self.pulls - FRICTION * self._speeds
            self._speeds += dt / SUBSTEPS * torques / INERTIA
            self._angles += dt / SUBSTEPS * self._speeds
            self.fastest = max(self.fastest, float(np.abs(self._per_turn * self._speeds).max()))
        for i in range(6):
            count, rpm = math.floor(8192.0 * self._angles[i] / (2.0 * math.pi)) % 8192, 30.0 / math.pi * self._speeds[i]
            data = struct.pack(">HhhH", count, int(rpm), round(1e3 * self._currents[i]), 0)
            self._frames.append(can.Message(arbitration_id=0x201 + i, is_extended_id=False, data=data))


@pytest.mark.parametrize(("radius", "gear"), DRUMS + GEARS)
def test_cables_of_any_drum_and_gear_keep_to_their_rate_and_tell_their_tensions(radius, gear):
    drive = load_robot("slender").winches
    winch = dataclasses.replace(drive.winch, radius=radius, gear_ratio=gear)
    clock, rotors = VirtualClock(), Rotors(radius, gear)
    driver = CableDriver(dataclasses.replace(drive, winch=winch), rotors, None, clock, threaded=False)

    def run(seconds, command=None):
        for _ in range(round(seconds / 0.004)):
            for _ in range(4):
                rotors.live(0.001)
            clock.now += 0.004
            if command is not None:
                driver.command(command)
            driver.tick()

    run(0.6)
    driver.home()
    run(0.05)
    driver.enable()
    run(0.3, np.zeros(6))
    rotors.fastest = 0.0
    run(0.7, np.full(6, DISPLACEMENT))
    state = driver.state()
    driver.close()
    assert (state.mode, state.faults) == ("active", ())
    assert rotors.fastest < 1.1 * RATE
    np.testing.assert_allclose(rotors.displacements, DISPLACEMENT, atol=5e-5)
    np.testing.assert_allclose(state.displacements, rotors.displacements, atol=5e-5)
    np.testing.assert_allclose(state.tensions, rotors.pulls, rtol=0.02)
