"""The actions `home` and `take_up_slack` of a node that drives cables: as its services, with feedback and an end."""

from typing import Any

from soft_twin_msgs.action import FindZero

from soft_twin.driving.session import ActuatorSession
from soft_twin.driving.states import State
from soft_twin_ros.errands import Errands
from soft_twin_ros.node import RobotNode


class HomingActions(Errands):
    """See the module's docstring."""

    def __init__(self, node: RobotNode, session: ActuatorSession, names: list[str], prefix: str = ""):
        """`names`: of the actuators. `prefix`: of the actions' names."""
        self._session, self._names, self._moves = session, names, False
        super().__init__(node, {f"{prefix}{name}": FindZero for name in ("home", "take_up_slack")})

    def begin(self, name: str, request: FindZero.Goal) -> None:
        name = name.rpartition("/")[2]
        getattr(self._session, name)()
        self._moves = name != "home"

    def ending(self) -> tuple[bool, str] | None:
        status = self._session.status()
        if self._moves and status.state is State.HOMING:
            return None
        if not self._moves or status.state in (State.READY, State.ACTIVE):
            return True, f"the zero is found: {status.mode}"
        return False, "; ".join((status.mode, *status.faults))

    def cancel(self) -> str:
        if self._session.state is State.HOMING:
            self._session.relax()
        return f"cancelled: {self._session.status().mode}"

    def filled(self, message: Any) -> Any:
        if isinstance(message, FindZero.Feedback):
            status = self._session.status()
            message.state, message.names = status.state.value, self._names
            message.coordinates, message.efforts = status.positions.tolist(), status.efforts.tolist()
        return message
