"""Slack taken up by a host, and through a line, that are late by random times."""

import can
import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.driving.cables.c610 import decode_feedback, encode_currents
from soft_twin.driving.cables.cable_control import CableControl, DriverParameters
from soft_twin.emulation.c610 import EmulatedC610

PERIOD = 0.004  # [s] of the motors
SPRING = 1000.0  # [N/m] that each cable pulls against once it is taut
SOONEST, LATEST = 0.6, 6.0  # [s] when slack is begun to be taken up, and given up


def homed(seed, host_late, line_late):
    """How much late each zero is (c,) [m], and what the driver says then; cables have 0.5 to 4 mm of slack.

    What the line carries comes in bursts, as late as it happens to be, and so do commands; ticks of the host, too.
    """
    rng, drive, parameters = np.random.default_rng(seed), load_robot("neck").winches, DriverParameters()
    control = CableControl(drive, parameters)
    motors = EmulatedC610(control.motor_ids, drive.winch, seed=seed)
    motors.displacements = -rng.uniform(0.5e-3, 4e-3, len(control.motor_ids))
    now = last = 0.0
    lived, feedback, commands = 0, [], []
    next_tick, next_burst = rng.exponential(host_late), rng.exponential(line_late)
    while now < LATEST:
        if next_tick <= next_burst:
            now = max(now, next_tick)
            if last < SOONEST <= now:
                control.take_up_slack()
            commands, feedback, last = encode_currents(control.update(feedback, now - last)), [], now
            next_tick = now + 1.0 / parameters.rate + rng.exponential(host_late)
        else:
            now = max(now, next_burst)
            for frame in commands:
                motors.receive(frame.arbitration_id, bytes(frame.data))
            while lived * PERIOD <= now:
                motors.step(PERIOD, np.maximum(SPRING * motors.displacements, 0.0))
                messages = [can.Message(arbitration_id=i, data=d, is_extended_id=False) for i, d in motors.feedback()]
                feedback += [decode_feedback(message) for message in messages]
                lived += 1
            next_burst = lived * PERIOD + rng.exponential(line_late)
        if now > SOONEST + 0.1 and control.state(0.0).mode != "homing":
            break
    return motors.displacements - control.state(0.0).displacements, control.state(0.0).mode


@pytest.mark.parametrize("seed", [0, 12, 19, 23])
def test_slack_is_not_taken_for_tension_where_host_and_line_are_late(seed):
    """By 4 and 6 ms in the mean."""
    late, mode = homed(seed, 0.004, 0.006)
    assert mode == "hold"
    assert late.min() > -1e-4 and late.max() < 3e-3


def test_where_nothing_is_late_taut_is_known_to_a_fraction_of_a_newton():
    late, mode = homed(0, 0.0, 0.0)
    assert mode == "hold"
    assert SPRING * late.min() > 0.1 and SPRING * late.max() < 0.45
