"""Cables are wound in by emulated motors: bytes of a CAN bus in both directions, limits of the robot in between."""

import can
import numpy as np

import soft_twin
from soft_twin.driving.cables.c610 import decode_feedback, encode_currents
from soft_twin.driving.cables.cable_control import CableControl
from soft_twin.emulation.c610 import EmulatedC610

DT, SPRING = 0.004, 150.0  # [s], [N/m] of a body that the cables pull on

drive = soft_twin.load_robot("slender").winches
control = CableControl(drive)
motors = EmulatedC610(control.motor_ids, drive.winch)


def live(seconds, command=None):
    """(n, c) displacements [m] while control and motors talk to each other."""
    path = []
    for _ in range(round(seconds / DT)):
        if command is not None:
            control.command(command)
        frames = [can.Message(arbitration_id=i, data=data, is_extended_id=False) for i, data in motors.feedback()]
        currents = control.update([decode_feedback(frame) for frame in frames], DT)
        for frame in encode_currents(currents):
            motors.receive(frame.arbitration_id, bytes(frame.data))
        motors.step(DT, np.maximum(SPRING * motors.displacements, 0.0))
        path.append(motors.displacements.copy())
    return np.array(path)


wanted = 1e-3 * np.array([3.0, 2.0, 1.0, 0.5, 1.5, 2.5])
live(0.1)
control.home()
control.enable()
path = live(2.0, wanted)
print("wound in:", " ".join(f"{1e3 * length:.3f}" for length in path[-1]), "mm")
print(f"furthest from what was commanded: {1e3 * np.abs(path[-1] - wanted).max():.4f} mm")
print(f"fastest: {1e3 * (np.diff(path, axis=0) / DT).max():.1f} mm/s of {1e3 * drive.cable_limits.rate:.1f}")
