"""The kinds of valves: what of them limits depend on."""

from typing import NamedTuple

LONGEST_VENTING = 60.0  # [s] that a relaxed chamber may take
LONGEST_BRAKING = 1.0  # [s] that one that fills may take to a standstill


class ValveDevice(NamedTuple):
    """Lowest and highest gauge pressure that a device can be told [Pa], and how many chambers it has valves for."""

    lowest: float
    highest: float
    most: int


VALVE_DEVICES = {
    "openpneu": ValveDevice(-50e3, 95e3, 5),
    "dac_board": ValveDevice(0.1e6, 0.6e6, 64),
    "modbus": ValveDevice(0.0, 1e6, 120),
    "modbus_vacuum": ValveDevice(-1e5, 1e6, 120),
}
