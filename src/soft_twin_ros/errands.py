"""What stands behind actions whose work goes on from one look to the next: goals one at a time, that can be cancelled,
overtaken and ended, and always say how they ended."""

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.task import Future

from soft_twin.errors import SoftTwinError
from soft_twin_ros.node import NOT_ACTIVE, RobotNode
from soft_twin_ros.qos import CALLS

LOOK_PERIOD = 0.1  # [s] between two looks at what a goal has come to; feedback comes as often
MEASURED = {"error", "orientation_error"}  # of results that have them: NaN where nobody has looked
LOST = 2.0  # [s] without anything heard after which what goes by it is given up
OVERTAKEN = "another goal has overtaken this one"


@dataclass
class Running:
    """A goal of an action of some kind that has been begun; `done` gets its result."""

    goal: Any
    kind: type
    done: Future


class Errands(ABC):
    """Actions of a node, of which one runs at a time: a new goal overtakes the one that runs."""

    def __init__(self, node: RobotNode, actions: dict[str, type]):
        """`actions`: types by name."""
        self.node = node
        self._heard = -math.inf
        self._running: Running | None = None
        asked = dict.fromkeys((f"{service}_service_qos_profile" for service in ("goal", "result", "cancel")), CALLS)
        self._servers = [
            ActionServer(node, kind, name, self._execute_as(name, kind), cancel_callback=_accept, **asked)
            for name, kind in actions.items()
        ]
        node.create_steady_timer(LOOK_PERIOD, self._look)

    @abstractmethod
    def begin(self, name: str, request: Any) -> Awaitable[None] | None:
        """Begin what an action's goal asks for; what takes time is awaited.

        Raises:
            SoftTwinError: it cannot be, and why.
        """

    @abstractmethod
    def ending(self) -> tuple[bool, str] | None:
        """Whether what runs has been done and what to tell, if it has ended by itself."""

    @abstractmethod
    def cancel(self) -> str:
        """End what runs because somebody asks for it; what becomes of the robot."""

    @abstractmethod
    def filled(self, message: Any) -> Any:
        """A feedback or result with what is known now."""

    @property
    def busy(self) -> bool:
        """Whether a goal runs."""
        return self._running is not None

    @property
    def silent(self) -> bool:
        """Whether nothing has been heard for `LOST`, of what goals go by."""
        return self.node.steady_now() - self._heard > LOST

    def silence(self, otherwise: str) -> str:
        """Why nothing has been heard: the node is not active, or what is told otherwise."""
        return otherwise if self.node.active else NOT_ACTIVE

    def hear(self) -> None:
        """What goals go by has come."""
        self._heard = self.node.steady_now()

    def end(self, success: bool, message: str) -> None:
        """End the goal that runs, if there is one; its result is what is known now."""
        running, self._running = self._running, None
        if running is not None:
            running.done.set_result(self.filled(running.kind.Result(success=success, message=message)))

    def _execute_as(self, name: str, kind: type):
        async def execute(goal):
            result = kind.Result()
            try:
                if (beginning := self.begin(name, goal.request)) is not None:
                    await beginning
            except SoftTwinError as error:
                goal.abort()
                result.message = str(error)
                return _unmeasured(result)
            self.end(False, OVERTAKEN)
            running = self._running = Running(goal, kind, Future(executor=self.node.executor))
            result = await running.done
            self._close(goal, result.success)
            return result

        return execute

    def _close(self, goal, success: bool) -> None:
        if success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()

    def _look(self) -> None:
        if self._running is None:
            return
        goal = self._running.goal
        if goal.is_cancel_requested:
            self.end(False, self.cancel())
        elif (ended := self.ending()) is not None:
            self.end(*ended)
        else:
            goal.publish_feedback(self.filled(self._running.kind.Feedback()))


def _unmeasured(result: Any) -> Any:
    """A result whose distances are not known: nothing has been led anywhere."""
    for name in MEASURED & result.get_fields_and_field_types().keys():
        setattr(result, name, math.nan)
    return result


def _accept(goal: Any) -> CancelResponse:
    """Whatever runs can be cancelled."""
    return CancelResponse.ACCEPT
