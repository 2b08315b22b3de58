"""A node without a device of its own that has a managed node's life cycle: it is silent until it is active."""

from dataclasses import dataclass

from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn

from soft_twin_ros.node import RobotNode, RobotParameters
from soft_twin_ros.parameters import parameter


@dataclass(frozen=True)
class ManagedParameters(RobotParameters):
    """Of every managed node."""

    autostart: bool = parameter(True, "configure and activate by itself; false: `bringup`, or somebody else does")


class ManagedNode(LifecycleNodeMixin, RobotNode):
    """What takes long is done before it can be configured, so that a transition is a matter of milliseconds."""

    def __init__(self, name: str, parameters: type[ManagedParameters]):
        RobotNode.__init__(self, name, parameters)
        LifecycleNodeMixin.__init__(self)
        self.active = False

    @property
    def when(self) -> str:
        """From when on it does what it is asked, in words."""
        return "from now on" if self.active else "when the node is active"

    def begin(self) -> None:
        if self.parameters.autostart:
            self.trigger_configure()
            self.trigger_activate()

    def rest(self) -> None:
        """It is not active any more: what it was about to do is forgotten."""

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._rest()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._rest()
        return super().on_shutdown(state)

    def _rest(self) -> None:
        self.active = False
        self.rest()
