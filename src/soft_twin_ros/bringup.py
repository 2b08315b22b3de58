"""Configures and activates a robot's managed nodes, one after the other, and says what it is at.

Once, at the start, and again with the service `bring_up`; `take_down` deactivates them and cleans them up, the last one
first. What cannot be done yet, such as a device that is not there, is tried again.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_srvs.srv import Trigger

from soft_twin_ros.node import OK, Health, RobotNode, RobotParameters, run, waiting
from soft_twin_ros.parameters import parameter

UP = {
    State.PRIMARY_STATE_UNCONFIGURED: (Transition.TRANSITION_CONFIGURE, "configuring"),
    State.PRIMARY_STATE_INACTIVE: (Transition.TRANSITION_ACTIVATE, "activating"),
}
DOWN = {
    State.PRIMARY_STATE_ACTIVE: (Transition.TRANSITION_DEACTIVATE, "deactivating"),
    State.PRIMARY_STATE_INACTIVE: (Transition.TRANSITION_CLEANUP, "cleaning up"),
}
RETRY_PERIOD = 0.5  # [s]
PATIENCE = 10.0  # [s] with an answer


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    nodes: tuple = parameter(("",), "names of the nodes, in the order in which they are brought up")


class Bringup(RobotNode):
    """See the module's docstring. A new request takes the place of the one before it."""

    def __init__(self):
        super().__init__("bringup", Parameters)
        self._doing = waiting("starting")
        self._request = 0
        self._group = ReentrantCallbackGroup()
        kinds = (("get_state", GetState), ("change_state", ChangeState))
        self._clients_of = {
            node: {name: self.create_client(kind, f"{node}/{name}", callback_group=self._group) for name, kind in kinds}
            for node in self.parameters.nodes
        }
        self.create_service(Trigger, "bring_up", self._bring_up)
        self.create_service(Trigger, "take_down", self._take_down)

    def begin(self) -> None:
        self._lead(self.parameters.nodes, UP, "all nodes are active")

    def health(self) -> Health:
        return self._doing

    def _bring_up(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.begin()
        response.success, response.message = True, "begun: the diagnostics of `bringup` say how far it is"
        return response

    def _take_down(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._lead(self.parameters.nodes[::-1], DOWN, "all nodes are unconfigured")
        response.success, response.message = True, "begun: the diagnostics of `bringup` say how far it is"
        return response

    def _lead(self, nodes: Sequence[str], way: dict[int, tuple[int, str]], done: str) -> None:
        self._request += 1
        self.executor.create_task(self._led(self._request, nodes, way, done))

    async def _led(self, request: int, nodes: Sequence[str], way: dict[int, tuple[int, str]], done: str) -> None:
        for node in nodes:
            while request == self._request and (step := way.get(await self._state(node))) is not None:
                transition, word = step
                self._doing = waiting(f"{word} {node}")
                if trouble := await self._change(node, transition):
                    self._doing = waiting(f"{word} {node}: {trouble}; trying again")
                    await self._pause(RETRY_PERIOD)
        if request == self._request:
            self._doing = Health(OK, done)

    async def _state(self, node: str) -> int:
        while True:
            answer = await self._ask(node, "get_state", GetState.Request())
            if answer is not None:
                return answer.current_state.id
            self._doing = waiting(f"waiting for {node}")

    async def _change(self, node: str, transition: int) -> str:
        """What went wrong, if anything did."""
        answer = await self._ask(node, "change_state", ChangeState.Request(transition=Transition(id=transition)))
        if answer is None:
            return "no answer"
        return "" if answer.success else "refused, its diagnostics say why"

    async def _ask(self, node: str, service: str, request: Any) -> Any:
        """The answer; None where the service is not there, or says nothing in time: busy machines lose answers."""
        client = self._clients_of[node][service]
        if not client.service_is_ready():
            return await self._pause(RETRY_PERIOD)
        answer = client.call_async(request)
        await self._pause(PATIENCE, answer)
        if answer.done():
            return answer.result()
        client.remove_pending_request(answer)
        return None

    async def _pause(self, longest: float, unless: Future | None = None) -> None:
        """Until so much time has passed [s], or something is done."""
        over = Future(executor=self.executor)

        def end(*_: object) -> None:
            if not over.done():
                over.set_result(None)

        timer = self.create_timer(longest, end, self._group, self.steady_clock)
        if unless is not None:
            unless.add_done_callback(end)
        await over
        self.destroy_timer(timer)


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(Bringup)


if __name__ == "__main__":
    sys.exit(main())
