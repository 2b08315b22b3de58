"""A node that owns a device and has a managed node's life cycle: open in configure, safe in deactivate and on error."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lifecycle_msgs.msg import State as LifecycleId
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Bool, Empty
from std_srvs.srv import SetBool, Trigger

from soft_twin.driving.clock import Clock
from soft_twin.driving.driver import ActuatorDriver
from soft_twin.driving.session import CLOSED, ActuatorSession, Status
from soft_twin.driving.states import State
from soft_twin.errors import InputError, SoftTwinError
from soft_twin_ros.commanders import Commanders
from soft_twin_ros.conversions import to_seconds
from soft_twin_ros.driver_names import driver_prefixes
from soft_twin_ros.node import ERROR, NOT_ACTIVE, OK, WARN, Health, RobotNode, RobotParameters
from soft_twin_ros.parameters import parameter
from soft_twin_ros.qos import COMMAND, LATCHED

POLL_PERIOD = 0.05  # [s]
BEGUN = {"take_up_slack": "winding in: the state is `active` when every cable is taut; the action of this name waits"}


@dataclass(frozen=True)
class HardwareParameters(RobotParameters):
    """Of every node that owns a device."""

    autostart: bool = parameter(True, "configure and activate by itself, and again when the device was lost")
    enable_when_active: bool = parameter(False, "enable the actuators on activation, not only by the service")
    stale_after: float = parameter(0.2, "a command older than this is refused", "s", 0.01, 10.0, settable=True)
    hold_after: float = parameter(
        0.1, "without a command for so long the actuators hold", "s", 0.02, 1.0, settable=True
    )
    relax_after: float = parameter(
        1.0, "without a command for so long the actuators are relaxed", "s", 0.1, 5.0, settable=True
    )
    services: str = parameter(
        "", "put before the names of services; empty: cables/ or chambers/ of a robot that has both, else nothing"
    )
    reopen_period: float = parameter(
        0.5, "time between two attempts to open the device", "s", 0.05, 60.0, settable=True
    )
    appears_within: float = parameter(
        5.0, "a device that is not there so long after the start is an error", "s", 0.0, 600.0, settable=True
    )


class NodeClock(Clock):
    """The system's time, but for the time of day, which is the node's: it may be a simulation's."""

    def __init__(self, node: RobotNode):
        self._node = node

    def time(self) -> float:
        return self._node.now()


class HardwareNode(LifecycleNodeMixin, RobotNode):
    """Configure opens the device, activate lets it move on command, deactivate and errors relax it.

    Services: `enable`, `stop` (latched for the node's life, published as `stopped`; told to the robot's other drivers
    on the topic `stop_all`, which anybody may publish on), `clear_stop`. A device that is lost takes the node back to
    unconfigured; with `autostart` it looks for the device again. What may be asked when is the session's to say; this
    is its shell.

    Attributes:
        session: the actuators, whether their device is there or not.
        prefix: of the names of its services.
    """

    def __init__(self, name: str, parameters: type[HardwareParameters]):
        RobotNode.__init__(self, name, parameters)
        LifecycleNodeMixin.__init__(self)
        p = self.parameters
        self.check(p)
        self.prefix = p.services or driver_prefixes(self.robot).get(name, "")
        self.session = ActuatorSession(
            self._open_watched,
            autostart=p.autostart,
            enable_when_active=p.enable_when_active,
            clock=NodeClock(self),
            stale_after=p.stale_after,
            reopen_period=p.reopen_period,
        )
        self._commanders = Commanders(self)
        self._start, self._was_there = self.steady_now(), False
        self._stopped = self.create_publisher(Bool, self.prefix + "stopped", LATCHED)
        self._stopped.publish(Bool(data=False))
        self._stop_all = self.create_publisher(Empty, "stop_all", COMMAND)
        self.listen(Empty, "stop_all", self._obey_stop, COMMAND)
        self.create_service(SetBool, self.prefix + "enable", self._enable)
        self.create_service(Trigger, self.prefix + "stop", self._stop)
        self.offer_service("clear_stop")
        self.create_steady_timer(POLL_PERIOD, self._poll)
        self._poll()

    @abstractmethod
    def open_driver(self) -> ActuatorDriver:
        """A driver on the open device, relaxed.

        Raises:
            DeviceError, DescriptionError: it cannot be opened, or the parameters do not fit it.
        """

    def _open_watched(self) -> ActuatorDriver:
        driver = self.open_driver()
        self.set_up(driver, self.parameters)
        return driver

    def check(self, parameters: HardwareParameters) -> None:
        """See that parameters fit each other, before anything is opened or changed.

        Raises:
            InputError: with what would be right.
        """
        if not parameters.hold_after < parameters.relax_after:
            raise InputError(f"hold_after = {parameters.hold_after:g} s: expected less than relax_after")

    def set_up(self, driver: ActuatorDriver, parameters: HardwareParameters) -> None:
        """Let a driver go on by these parameters, which have been checked."""
        driver.watch(parameters.hold_after, parameters.relax_after)

    def adopt(self, old: HardwareParameters, new: HardwareParameters) -> None:
        self.check(new)
        self.session.stale_after, self.session.reopen_period = new.stale_after, new.reopen_period
        if self.session.driver is not None:
            self.set_up(self.session.driver, new)
        self.state_timer.timer_period_ns = round(1e9 / new.state_rate)

    def tell_state(self, publish: Callable[[], None]) -> None:
        """Call `publish` at `state_rate`."""
        self.state_timer = self.create_steady_timer(1.0 / self.parameters.state_rate, publish)

    def offer_service(self, name: str) -> None:
        """A service of that name that calls the session's method of that name."""
        self.create_service(Trigger, self.prefix + name, self._asking(name))

    def health(self) -> Health:
        status = self.session.status()
        health = health_of(status)
        if health.message == CLOSED:  # by who led it there
            return replace(health, level=WARN, message=NOT_ACTIVE)
        if warnings := [each for each in (status.warning, self._commanders.in_words()) if each]:
            health = replace(health, level=max(health.level, WARN), message="; ".join([health.message, *warnings]))
        starts = not self._was_there and self.steady_now() < self._start + self.parameters.appears_within
        return replace(health, level=WARN) if starts and self.session.state is State.AWAY else health

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        if not self._works(self.session.connect):
            return TransitionCallbackReturn.FAILURE
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if not self._works(self.session.activate):
            return TransitionCallbackReturn.FAILURE
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if not self.session.connected:
            return TransitionCallbackReturn.ERROR
        self.session.deactivate()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self.session.connected:
            self.session.disconnect()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.session.close()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        self.session.close()

    def obey(self, kind: type, topic: str, read: Callable[[Any], np.ndarray]) -> None:
        """Hand commands to the session, messages with the stamps of the measurements behind them.

        Args:
            read: a message's values, in the order of the actuators; raises InputError where it is unusable.
        """

        def take(message: Any) -> None:
            with suppress(SoftTwinError):  # counted and told by the session
                self.session.command(self._read(read, message), to_seconds(message.header.stamp))

        self._commanders.may_use(topic)
        self.listen(kind, topic, take, COMMAND)

    def _read(self, read: Callable[[Any], np.ndarray], message: Any) -> np.ndarray:
        try:
            values = read(message)
        except InputError as error:
            self.session.refuse("unusable", f"command refused: {error}")
            raise
        self._commanders.heard(values)
        return values

    def _works(self, transition: Callable[[], None]) -> bool:
        """Whether the session allows it; why not, its status tells."""
        try:
            transition()
        except SoftTwinError:
            return False
        return True

    def _poll(self) -> None:
        """Let the session live, and the life cycle's state follow its."""
        self.session.poll()
        self._was_there |= self.session.connected
        current = self._state_machine.current_state[0]
        if current == LifecycleId.PRIMARY_STATE_ACTIVE and not self.session.connected:
            self.trigger_deactivate()
        elif current == LifecycleId.PRIMARY_STATE_INACTIVE and not self.session.connected:
            self.trigger_cleanup()
        elif current == LifecycleId.PRIMARY_STATE_UNCONFIGURED and self.session.connected:
            self.trigger_configure()
        elif current == LifecycleId.PRIMARY_STATE_INACTIVE and self.session.active:
            self.trigger_activate()

    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data:
            response.success, response.message = self._ask(self.session.enable, "the actuators are enabled")
        else:
            response.success, response.message = self._ask(self.session.relax)
        return response

    def _stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Stop these actuators, and let the robot's other drivers know."""
        response.success, response.message = self._ask(self.session.stop, "stop: done")
        self._stop_all.publish(Empty())
        return response

    def _obey_stop(self, message: Empty) -> None:
        self._ask(self.session.stop, "stop: done")

    def _asking(self, name: str):
        """A service callback that calls the session's method of that name."""

        def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.success, response.message = self._ask(
                getattr(self.session, name), BEGUN.get(name, f"{name.replace('_', ' ')}: done")
            )
            return response

        return answer

    def _ask(self, call: Callable[[], str | None], done: str = "") -> tuple[bool, str]:
        """Whether the session did it, and what to tell: what it says, or `done` where it says nothing."""
        try:
            told = call()
        except SoftTwinError as error:
            return False, str(error)
        self._stopped.publish(Bool(data=self.session.state is State.STOPPED))
        return True, told or done


def health_of(status: Status) -> Health:
    """A session's status as a node's health: what asks for a person is an error."""
    faults = "; ".join(status.faults)
    values = {"state": status.state.value} | status.counters
    lost = status.state is State.POSITION_UNKNOWN and any(each != status.refusal for each in status.faults)
    if status.state in (State.FAULT, State.AWAY) or lost:
        return Health(ERROR, faults or status.mode, values)
    if status.state in (State.STOPPED, State.LIMP, State.POSITION_UNKNOWN):
        return Health(WARN, "; ".join(part for part in (status.mode, faults) if part), values)
    return Health(WARN, faults, values) if faults else Health(OK, status.mode, values)
