"""Cable displacements in, motor currents out over CAN; limits and watchdogs are the driver's.

Publishes cables/state. The motors are limp until they are homed (by the services `home`, `take_up_slack` or
`assume_taut_here`) and the service `enable` is called; `stop` relaxes them and is latched until `clear_stop`. An
adapter that is not there or goes away is waited for; after that the motors are limp again, and their position is
unknown.
"""

import sys
from dataclasses import dataclass

from sensor_msgs.msg import JointState

from soft_twin.driving.cables.cable_driver import CableDriver, require_room
from soft_twin.driving.cables.gain_margin import check_gains
from soft_twin.driving.cables.winch_control import ControlGains
from soft_twin.errors import DeviceError, UsageError
from soft_twin_ros.conversions import joint_state, positions_in_order
from soft_twin_ros.hardware_node import HardwareNode, HardwareParameters
from soft_twin_ros.homing_actions import HomingActions
from soft_twin_ros.node import run
from soft_twin_ros.parameters import parameter

GAINS = ControlGains()


@dataclass(frozen=True)
class Parameters(HardwareParameters):
    """Of this node."""

    interface: str = parameter("slcan", "python-can's name of the CAN interface, such as slcan or socketcan")
    device: str = parameter("/dev/ttyACM0", "serial device of an slcan adapter, or network interface of socketcan")
    bitrate: int = parameter(1_000_000, "of the bus", "bit/s", 10_000, 1_000_000)
    state_rate: float = parameter(100.0, "rate of cables/state", "Hz", 1.0, 500.0, settable=True)
    position_gain: float = parameter(
        GAINS.position, "rate of a cable for an error of its displacement", "1/s", 15.0, 120.0, settable=True
    )
    rate_gain: float = parameter(
        GAINS.rate,
        "motor current for an error of that rate, on a drum of 6.5 mm behind a gear of 36; others in proportion",
        "A s/m",
        8.0,
        60.0,
        settable=True,
    )


class CablesToMotors(HardwareNode):
    """See the module's docstring. The driver has a thread of its own."""

    def __init__(self):
        super().__init__("cables_to_motors", Parameters)
        self._states = self.offer(JointState, "cables/state")
        self.obey(JointState, "cables/command", lambda message: positions_in_order(message, self.robot.cable_names))
        for service in ("home", "take_up_slack", "assume_taut_here"):
            self.offer_service(service)
        self._actions = HomingActions(self, self.session, self.robot.cable_names, self.prefix)
        self.tell_state(self._publish_state)

    def open_driver(self) -> CableDriver:
        return self.robot.build_cable_driver(self.parameters.device, self.parameters.interface, self.parameters.bitrate)

    def check(self, parameters: Parameters) -> None:
        super().check(parameters)
        if self.robot.winches is None:
            raise UsageError(f"robot '{self.robot.name}' has no cables that winches could wind")
        try:
            require_room(len(self.robot.cable_names))
        except DeviceError as error:
            raise UsageError(str(error)) from error
        check_gains(GAINS.tuned(parameters.position_gain, parameters.rate_gain))

    def set_up(self, driver: CableDriver, parameters: Parameters) -> None:
        super().set_up(driver, parameters)
        driver.tune(parameters.position_gain, parameters.rate_gain)

    def _publish_state(self) -> None:
        driver = self.session.driver
        if driver is not None and driver.running:
            state = driver.state()
            self._states.publish(joint_state(state.time, self.robot.cable_names, state.displacements, state.tensions))


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(CablesToMotors, urgent=True)


if __name__ == "__main__":
    sys.exit(main())
