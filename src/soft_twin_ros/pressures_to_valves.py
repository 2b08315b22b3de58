"""Chamber pressures in, valves out; limits and watchdogs are the driver's.

Publishes chambers/state. The chambers are vented until the service `enable`; `stop` vents them and is latched until
`clear_stop`.
"""

import sys
from dataclasses import dataclass

from soft_twin_msgs.msg import Pressures

from soft_twin.driving.pressures import ChamberLimits
from soft_twin.driving.valve_driver import ValveDriver
from soft_twin.driving.valves import open_valves
from soft_twin.errors import DescriptionError
from soft_twin_ros.conversions import pressures_in_order, pressures_message
from soft_twin_ros.hardware_node import HardwareNode, HardwareParameters
from soft_twin_ros.node import run
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import COMMAND


@dataclass(frozen=True)
class Parameters(HardwareParameters):
    """Of this node."""

    backend: str = parameter("openpneu", "kind of valves: openpneu, dac_board or modbus")
    device: str = parameter("/dev/ttyUSB0", "serial device, or host:port of a Modbus terminal")
    chambers: tuple = parameter(("chamber_1",), "names of the chambers, in the order of the valves")
    lowest: float = parameter(0.0, "gauge pressure", "Pa", -1e5, 1e6)
    highest: float = parameter(80e3, "gauge pressure", "Pa", -1e5, 1e6)
    vented: float = parameter(0.0, "gauge pressure of a relaxed chamber", "Pa", -1e5, 1e6)
    rate: float = parameter(200e3, "highest rate of change", "Pa/s", 1.0, 1e8)
    vent_rate: float = parameter(50e3, "rate of venting", "Pa/s", 1.0, 1e8)
    acceleration: float = parameter(4e6, "highest change of these rates", "Pa/s^2", 1.0, 1e10)
    state_rate: float = parameter(50.0, "rate of chambers/state", "Hz", 1.0, 200.0)


class PressuresToValves(HardwareNode):
    """See the module's docstring. The driver has a thread of its own."""

    def __init__(self):
        super().__init__("pressures_to_valves", Parameters)
        self._states = self.offer(Pressures, "chambers/state")
        self.listen(Pressures, "chambers/command", self._take_command, COMMAND)
        self.create_steady_timer(1.0 / self.parameters.state_rate, self._publish_state)

    def open_driver(self) -> ValveDriver:
        p = self.parameters
        if len(set(p.chambers)) < len(p.chambers):
            raise DescriptionError(f"chambers {list(p.chambers)}: two of one name")
        limits = ChamberLimits((p.lowest, p.highest), p.rate, p.vent_rate, p.vented, p.acceleration)
        valves = open_valves(p.backend, p.device, len(p.chambers))
        try:
            return ValveDriver(p.chambers, limits, valves)
        except DescriptionError:
            valves.release()
            raise

    def _publish_state(self) -> None:
        if self.session.driver is not None:
            state = self.session.driver.state()
            self._states.publish(pressures_message(state.time, self.parameters.chambers, state.pressures))

    def _take_command(self, message: Pressures) -> None:
        self.take(message.header.stamp, lambda: pressures_in_order(message, self.parameters.chambers))


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(PressuresToValves, urgent=True)


if __name__ == "__main__":
    sys.exit(main())
