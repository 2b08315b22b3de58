"""Whether the drivers of a robot are stopped, as they tell it."""

from collections.abc import Callable
from functools import partial

from std_msgs.msg import Bool

from soft_twin.errors import InputError
from soft_twin_ros.driver_names import driver_prefixes
from soft_twin_ros.node import RobotNode
from soft_twin_ros.qos import LATCHED


class DriverStops:
    """Listens to each driver's topic `stopped`."""

    def __init__(self, node: RobotNode, on_stop: Callable[[], None]):
        """`on_stop`: called whenever one is stopped."""
        self._on_stop, self._stopped = on_stop, set()
        self._subscriptions = [
            node.create_subscription(Bool, f"{name}stopped", partial(self._take, name), LATCHED)
            for name in driver_prefixes(node.robot).values()
        ]

    def refuse_if_stopped(self) -> None:
        """
        Raises:
            InputError: a driver is stopped.
        """
        if self._stopped:
            raise InputError("the robot is stopped: clear the stop first")

    def _take(self, name: str, told: Bool) -> None:
        (self._stopped.add if told.data else self._stopped.discard)(name)
        if told.data:
            self._on_stop()
