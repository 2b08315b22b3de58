"""Cable displacements in, motor currents out over CAN; limits and watchdogs are the driver's.

Publishes cables/state. The motors are limp until they are homed (by the services `home`, `take_up_slack` or
`assume_taut_here`) and the service `enable` is called; `stop` relaxes them and is latched until `clear_stop`. An
adapter that is not there or goes away is waited for; after that the motors are limp again, and their position is
unknown.
"""

import sys
from dataclasses import dataclass

from sensor_msgs.msg import JointState

from soft_twin.driving.cables.cable_driver import CableDriver
from soft_twin_ros.conversions import joint_state, positions_in_order
from soft_twin_ros.hardware_node import HardwareNode, HardwareParameters
from soft_twin_ros.homing_actions import HomingActions
from soft_twin_ros.node import run
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import COMMAND


@dataclass(frozen=True)
class Parameters(HardwareParameters):
    """Of this node."""

    interface: str = parameter("slcan", "python-can's name of the CAN interface, such as slcan or socketcan")
    device: str = parameter("/dev/ttyACM0", "serial device of an slcan adapter, or network interface of socketcan")
    bitrate: int = parameter(1_000_000, "of the bus", "bit/s", 10_000, 1_000_000)
    state_rate: float = parameter(100.0, "rate of cables/state", "Hz", 1.0, 500.0, settable=True)


class CablesToMotors(HardwareNode):
    """See the module's docstring. The driver has a thread of its own."""

    def __init__(self):
        super().__init__("cables_to_motors", Parameters)
        self._states = self.offer(JointState, "cables/state")
        self.listen(JointState, "cables/command", self._take_command, COMMAND)
        for service in ("home", "take_up_slack", "assume_taut_here"):
            self.offer_service(service)
        self._actions = HomingActions(self, self.session, self.robot.cable_names, self.parameters.services)
        self.tell_state(self._publish_state)

    def open_driver(self) -> CableDriver:
        return self.robot.build_cable_driver(self.parameters.device, self.parameters.interface, self.parameters.bitrate)

    def _publish_state(self) -> None:
        driver = self.session.driver
        if driver is not None and driver.running:
            state = driver.state()
            self._states.publish(joint_state(state.time, self.robot.cable_names, state.displacements, state.tensions))

    def _take_command(self, message: JointState) -> None:
        self.take(message.header.stamp, lambda: positions_in_order(message, self.robot.cable_names))


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(CablesToMotors, urgent=True)


if __name__ == "__main__":
    sys.exit(main())
