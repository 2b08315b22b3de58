"""Cable displacements in, motor currents out over CAN; limits and watchdogs are the driver's.

Publishes cables/state. The motors are limp until the service `enable`; `stop` relaxes them and is latched until
`clear_stop`. An adapter that is not there or goes away is waited for; after that the motors are limp again.
"""

import sys
from collections import Counter
from dataclasses import dataclass

from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from soft_twin.driving.cable_driver import CableDriver
from soft_twin.driving.can_bus import open_bus
from soft_twin.errors import DeviceError, InputError
from soft_twin_ros.conversions import joint_state, positions_in_order, to_seconds
from soft_twin_ros.node import ERROR, OK, WARN, Health, RobotNode, RobotParameters, run
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import COMMAND


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    interface: str = parameter("slcan", "python-can's name of the CAN interface, such as slcan or socketcan")
    device: str = parameter("/dev/ttyACM0", "serial device of an slcan adapter, or network interface of socketcan")
    bitrate: int = parameter(1_000_000, "of the bus", "bit/s", 10_000, 1_000_000)
    state_rate: float = parameter(100.0, "rate of cables/state", "Hz", 1.0, 500.0)
    stale_after: float = parameter(0.2, "a command older than this is refused", "s", 0.01, 10.0)
    reopen_period: float = parameter(0.5, "time between two attempts to open the device", "s", 0.05, 60.0)


class CablesToMotors(RobotNode):
    """See the module's docstring. The driver has a thread of its own."""

    def __init__(self):
        super().__init__("cables_to_motors", Parameters)
        self._driver: CableDriver | None = None
        self._fault = "the CAN adapter is not open yet"
        self._refused: Counter[str] = Counter()
        self._refusal = ""
        self._lost = ""
        self._next_attempt = 0.0
        self._states = self.offer(JointState, "cables/state")
        self.listen(JointState, "cables/command", self._take_command, COMMAND)
        self.create_service(SetBool, "enable", self._enable)
        for name in ("stop", "clear_stop", "home"):
            self.create_service(Trigger, name, self._asking(name))
        self.create_steady_timer(1.0 / self.parameters.state_rate, self._update)

    def health(self) -> Health:
        if self._driver is None:
            return Health(ERROR, self._fault)
        state = self._driver.state()
        values = {f"refused_{reason}": count for reason, count in self._refused.items()}
        values |= {"mode": state.mode} | state.counters
        if state.mode == "fault":
            return Health(ERROR, "; ".join(state.faults) or "fault", values)
        if state.mode == "stopped":
            return Health(WARN, "stopped: limp until clear_stop", values)
        if self._refusal or state.faults or self._lost:
            return Health(WARN, self._refusal or "; ".join(state.faults) or self._lost, values)
        return Health(OK, state.mode, values)

    def close(self) -> None:
        if self._driver is not None:
            self._driver.close()

    def _update(self) -> None:
        """Publish the state of the cables, or look for the adapter."""
        if self._driver is None:
            self._look_for_adapter()
            return
        state = self._driver.state()
        if not self._driver.running:
            self._fault = "; ".join(state.faults)
            self._lost = f"the motors are limp since they were lost, enable them again ({self._fault})"
            self._driver.close()
            self._driver = None
            return
        self._states.publish(joint_state(state.time, self.robot.cable_names, state.displacements, state.tensions))

    def _take_command(self, message: JointState) -> None:
        age = self.now() - to_seconds(message.header.stamp)
        if abs(age) > self.parameters.stale_after:
            limit = self.parameters.stale_after
            self._refuse("stale", f"command from a sample {age:.2f} s ago: expected within {limit:g} s")
            return
        try:
            displacements = positions_in_order(message, self.robot.cable_names)
        except InputError as error:
            self._refuse("unusable", f"command refused: {error}")
            return
        self._refusal = ""
        if self._driver is not None:
            self._driver.command(displacements)

    def _refuse(self, reason: str, message: str) -> None:
        self._refused[reason] += 1
        self._refusal = message

    def _look_for_adapter(self) -> None:
        if self.steady_now() < self._next_attempt:
            return
        self._next_attempt = self.steady_now() + self.parameters.reopen_period
        try:
            bus = open_bus(self.parameters.interface, self.parameters.device, self.parameters.bitrate)
            self._driver = CableDriver(self.robot, bus)
        except DeviceError as error:
            self._fault = str(error)

    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        name, done = ("enable", "the motors hold the cables") if request.data else ("relax", "the motors are limp")
        response.success, response.message = self._ask(name, done)
        if response.success:
            self._lost = ""
        return response

    def _asking(self, name: str):
        """A service callback that calls the driver's method of that name."""

        def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.success, response.message = self._ask(name, f"{name.replace('_', ' ')}: done")
            return response

        return answer

    def _ask(self, name: str, done: str) -> tuple[bool, str]:
        """Call a method of the driver: whether it worked, and what to tell."""
        if self._driver is None:
            return False, self._fault
        try:
            getattr(self._driver, name)()
        except DeviceError as error:
            return False, str(error)
        return True, done


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(CablesToMotors)


if __name__ == "__main__":
    sys.exit(main())
