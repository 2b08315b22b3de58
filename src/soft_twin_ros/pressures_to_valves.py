"""Chamber pressures in, valves out; limits and watchdogs are the driver's.

Publishes chambers/state. For ros2_control chambers are joints, too, whose efforts are their gauge pressures:
chambers/joint_command and chambers/joint_state. They are vented until the service `enable`; `stop` vents them and is
latched until `clear_stop`. They are those of the robot's description, where that has valves, else those of the
parameters.
"""

import os
import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sensor_msgs.msg import JointState
from soft_twin_msgs.msg import Pressures

from soft_twin.descriptions.drives import ValveDrive
from soft_twin.driving.valves.valve_driver import ValveDriver, checked_limits, open_valve_driver
from soft_twin_ros.conversions import efforts_in_order, joint_state, pressures_in_order, pressures_message
from soft_twin_ros.hardware_node import HardwareNode, HardwareParameters
from soft_twin_ros.node import run
from soft_twin_ros.parameters import parameter


@dataclass(frozen=True)
class Parameters(HardwareParameters):
    """Of this node; where the robot's description has valves, all but the device and the rate of the state are its."""

    backend: str = parameter("openpneu", "kind of valves: openpneu, dac_board, modbus or modbus_vacuum")
    device: str = parameter("/dev/ttyUSB0", "serial device, or host:port of a Modbus terminal")
    chambers: tuple = parameter(("chamber_1",), "names of the chambers, in the order of the valves")
    lowest: float = parameter(0.0, "gauge pressure", "Pa", -1e5, 1e6)
    highest: float = parameter(80e3, "gauge pressure", "Pa", -1e5, 1e6)
    vented: float = parameter(0.0, "gauge pressure of a relaxed chamber", "Pa", -1e5, 1e6)
    rate: float = parameter(200e3, "highest rate of change", "Pa/s", 1.0, 1e8)
    vent_rate: float = parameter(50e3, "rate of venting", "Pa/s", 1.0, 1e8)
    acceleration: float = parameter(4e6, "highest change of these rates", "Pa/s^2", 1.0, 1e10)
    state_rate: float = parameter(50.0, "rate of chambers/state", "Hz", 1.0, 200.0, settable=True)


class PressuresToValves(HardwareNode):
    """See the module's docstring. The driver has a thread of its own."""

    def __init__(self):
        super().__init__("pressures_to_valves", Parameters)
        self._states = self.offer(Pressures, "chambers/state")
        self._joints = self.offer(JointState, "chambers/joint_state")
        names = self._drive.names_by_channel
        self.obey(Pressures, "chambers/command", lambda message: pressures_in_order(message, names))
        self.obey(JointState, "chambers/joint_command", lambda message: efforts_in_order(message, names))
        self.tell_state(self._publish_state)

    @cached_property
    def _drive(self) -> ValveDrive:
        return self.robot.valves or drive_of(self.parameters)

    def open_driver(self) -> ValveDriver:
        return open_valve_driver(self._drive, address_of(self.parameters.device))

    def check(self, parameters: Parameters) -> None:
        super().check(parameters)
        checked_limits(self._drive)

    def _publish_state(self) -> None:
        if self.session.driver is not None:
            state = self.session.driver.state()
            names, unknown = self._drive.names_by_channel, np.full(len(state.pressures), np.nan)
            self._states.publish(pressures_message(state.time, names, state.pressures))
            self._joints.publish(joint_state(state.time, names, unknown, state.pressures))


def drive_of(p: Parameters) -> ValveDrive:
    """Valves of chambers that no description knows."""
    return ValveDrive(
        backend=p.backend,
        chamber_names=p.chambers,
        channels=range(len(p.chambers)),
        lowest=p.lowest,
        highest=p.highest,
        rate=p.rate,
        vent_rate=p.vent_rate,
        vented=p.vented,
        acceleration=p.acceleration,
    )


def address_of(device: str) -> str:
    """A device, or where a link leads that stands for an address (host:port) and no file."""
    if os.path.islink(device) and not os.path.exists(device):
        there = os.readlink(device)
        return there if ":" in there and "/" not in there else device
    return device


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(PressuresToValves, urgent=True)


if __name__ == "__main__":
    sys.exit(main())
