"""Configures and activates a robot's managed nodes, one after the other, and says what it is at.

Once, at the start, and again with the service `bring_up`; `take_down` deactivates them and cleans them up, the last one
first. What cannot be done yet, such as a device that is not there, is tried again.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

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
                if not await self._change(node, transition):
                    self._doing = waiting(f"{word} {node}: refused, its diagnostics say why; trying again")
                    await self._pause()
        if request == self._request:
            self._doing = Health(OK, done)

    async def _state(self, node: str) -> int:
        client = self._clients_of[node]["get_state"]
        while not client.service_is_ready():
            self._doing = waiting(f"waiting for {node}")
            await self._pause()
        return (await client.call_async(GetState.Request())).current_state.id

    async def _change(self, node: str, transition: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=transition))
        return (await self._clients_of[node]["change_state"].call_async(request)).success

    async def _pause(self) -> None:
        passed = Future(executor=self.executor)
        timer = self.create_timer(RETRY_PERIOD, lambda: passed.set_result(None), self._group, self.steady_clock)
        await passed
        self.destroy_timer(timer)


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(Bringup)


if __name__ == "__main__":
    sys.exit(main())
