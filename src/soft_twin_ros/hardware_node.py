"""A node that owns a device and has a managed node's life cycle: open in configure, safe in deactivate and on error."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

from soft_twin.errors import InputError, SoftTwinError
from soft_twin_ros.conversions import to_seconds
from soft_twin_ros.node import ERROR, OK, WARN, Health, RobotNode, RobotParameters
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import LATCHED


@dataclass(frozen=True)
class HardwareParameters(RobotParameters):
    """Of every node that owns a device."""

    autostart: bool = parameter(True, "configure and activate by itself, and again when the device was lost")
    enable_when_active: bool = parameter(False, "enable the actuators on activation, not only by the service")
    stale_after: float = parameter(0.2, "a command older than this is refused", "s", 0.01, 10.0)
    reopen_period: float = parameter(0.5, "time between two attempts to open the device", "s", 0.05, 60.0)


class HardwareNode(LifecycleNodeMixin, RobotNode):
    """Configure opens the device, activate lets it move on command, deactivate and errors relax it.

    Services: `enable`, `stop` (latched, published as `stopped`), `clear_stop`. A device that is lost takes the node
    back to unconfigured; with `autostart` it looks for the device again.

    Attributes:
        driver: of the device, None while it is not open.
        fault: why it is not.
    """

    def __init__(self, name: str, parameters: type[HardwareParameters]):
        RobotNode.__init__(self, name, parameters)
        LifecycleNodeMixin.__init__(self)
        self.driver: Any = None
        self.fault = "the device is not open yet"
        self._active = False
        self._lost = ""
        self._refused: Counter[str] = Counter()
        self._refusal = ""
        self._stopped = self.create_publisher(Bool, "stopped", LATCHED)
        self._stopped.publish(Bool(data=False))
        self.create_service(SetBool, "enable", self._enable)
        for service in ("stop", "clear_stop"):
            self.offer_service(service)
        self.create_steady_timer(self.parameters.reopen_period, self._keep_alive)
        if self.parameters.autostart:
            self._start()

    @abstractmethod
    def open_driver(self) -> Any:
        """A driver on the open device, relaxed.

        Raises:
            DeviceError, DescriptionError: it cannot be opened, or the parameters do not fit it.
        """

    def offer_service(self, name: str) -> None:
        """A service of that name that calls the driver's method of that name."""
        self.create_service(Trigger, name, self._asking(name))

    def health(self) -> Health:
        if self.driver is None:
            return Health(ERROR, self.fault)
        state = self.driver.state()
        values = {f"refused_{reason}": count for reason, count in self._refused.items()}
        values |= {"mode": state.mode} | state.counters
        if state.mode == "fault":
            return Health(ERROR, "; ".join(state.faults) or "fault", values)
        if state.mode == "stopped":
            return Health(WARN, "stopped: relaxed until clear_stop", values)
        if not self._active:
            return Health(WARN, "the node is not active", values)
        warning = self._refusal or "; ".join(state.faults) or self._lost
        return Health(WARN, warning, values) if warning else Health(OK, state.mode, values)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            self.driver = self.open_driver()
        except SoftTwinError as error:
            self.fault = str(error)
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self.parameters.enable_when_active:
            try:
                self.driver.enable()
            except SoftTwinError as error:
                self.fault = str(error)
                return TransitionCallbackReturn.FAILURE
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._active = False
        if not self.driver.running:
            self.fault = "; ".join(self.driver.state().faults)
            self._lost = f"relaxed since the device was lost, enable again ({self.fault})"
            return TransitionCallbackReturn.ERROR
        self.driver.relax()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.close()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.close()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        self._active = False
        if self.driver is not None:
            self.driver.close()
            self.driver = None

    def take(self, stamp: Time, values: Callable[[], np.ndarray]) -> None:
        """Hand a command to the driver, if it is fresh and usable and the node is active.

        Args:
            stamp: of the measurement behind the command.
            values: reads the command; raises InputError where it is unusable.
        """
        age, limit = self.now() - to_seconds(stamp), self.parameters.stale_after
        if abs(age) > limit:
            self._refuse("stale", f"command from a sample {age:.2f} s ago: expected within {limit:g} s")
            return
        try:
            command = values()
        except InputError as error:
            self._refuse("unusable", f"command refused: {error}")
            return
        self._refusal = ""
        if self._active:
            self.driver.command(command)

    def _refuse(self, reason: str, message: str) -> None:
        self._refused[reason] += 1
        self._refusal = message

    def _start(self) -> None:
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def _keep_alive(self) -> None:
        """Let go of a device that is lost, and look for it."""
        if self.driver is not None and not self.driver.running and self._active:
            self.trigger_deactivate()
        elif self.driver is None and self.parameters.autostart:
            self._start()

    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        name, done = ("enable", "the actuators are enabled") if request.data else ("relax", "the actuators are relaxed")
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
        if self.driver is None or (name == "enable" and not self._active):
            return False, self.fault if self.driver is None else "the node is not active: activate it first"
        try:
            getattr(self.driver, name)()
        except SoftTwinError as error:
            return False, str(error)
        self._stopped.publish(Bool(data=self.driver.state().mode == "stopped"))
        return True, done
