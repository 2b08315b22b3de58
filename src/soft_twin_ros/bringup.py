"""Configures and activates a robot's managed nodes, one after the other, and says what it is at.

Once, at the start, and again with the service `bring_up`; `take_down` deactivates them and cleans them up, the last one
first. What cannot be done yet, such as a device that is not there, is tried again. Nodes that are up are watched: one
that is started anew, or has lost its device, is brought up again; one that somebody has deactivated is left as it is.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_srvs.srv import Trigger

from soft_twin_ros.node import ERROR, OK, WARN, Health, RobotNode, RobotParameters, run, waiting
from soft_twin_ros.parameters import parameter


@dataclass(frozen=True)
class Way:
    """How nodes are led.

    Attributes:
        steps: the transition out of a state, and the word for it.
        ends: states in which a node is there.
        done: what is said when all nodes are.
    """

    steps: Mapping[int, tuple[int, str]]
    ends: tuple[int, ...]
    done: str


UP = Way(
    {
        State.PRIMARY_STATE_UNCONFIGURED: (Transition.TRANSITION_CONFIGURE, "configuring"),
        State.PRIMARY_STATE_INACTIVE: (Transition.TRANSITION_ACTIVATE, "activating"),
    },
    (State.PRIMARY_STATE_ACTIVE,),
    "all nodes are active",
)
DOWN = Way(
    {
        State.PRIMARY_STATE_ACTIVE: (Transition.TRANSITION_DEACTIVATE, "deactivating"),
        State.PRIMARY_STATE_INACTIVE: (Transition.TRANSITION_CLEANUP, "cleaning up"),
    },
    (State.PRIMARY_STATE_UNCONFIGURED, State.PRIMARY_STATE_FINALIZED),
    "all nodes are unconfigured",
)
FINALIZED = "is finalized: nothing but a new start brings it up, end its process (with respawn:=true launch starts it)"
WATCH_PERIOD = 1.0  # [s] between two looks at nodes that are up
RETRY_PERIOD = 0.5  # [s]
PATIENCE = 10.0  # [s] with an answer


@dataclass(frozen=True)
class Parameters(RobotParameters):
    """Of this node."""

    nodes: tuple = parameter(("",), "names of the nodes, in the order in which they are brought up")


class _Watched:
    """A node that has been brought up, and what becomes of it."""

    def __init__(self, name: str):
        self.name = name
        self._up, self._looks = True, 0  # and how often it has been seen inactive since

    def left(self, state: int | None) -> bool:
        """Note a state; whether somebody has deactivated the node, which is not ours to undo: it is inactive in two
        looks, and perhaps unconfigured after that. A driver that loses its device is inactive for a moment only."""
        if state == State.PRIMARY_STATE_UNCONFIGURED and self._looks > 1:
            return True
        if state == State.PRIMARY_STATE_INACTIVE and self._up:
            self._looks += 1
        else:
            self._up, self._looks = state in UP.ends, 0
        return self._looks > 1

    @property
    def in_doubt(self) -> bool:
        """Whether it was up and is inactive."""
        return self._looks > 0


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
        self._request += 1
        self.executor.create_task(self._up(self._request))

    def health(self) -> Health:
        return self._doing

    def _bring_up(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.begin()
        response.success, response.message = True, "begun: the diagnostics of `bringup` say how far it is"
        return response

    def _take_down(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._request += 1
        self.executor.create_task(self._led(self._request, self.parameters.nodes[::-1], DOWN))
        response.success, response.message = True, "begun: the diagnostics of `bringup` say how far it is"
        return response

    async def _up(self, request: int) -> None:
        """Bring all nodes up, and watch them until there is another request."""
        await self._led(request, self.parameters.nodes, UP)
        watched = [_Watched(node) for node in self.parameters.nodes]
        while request == self._request:
            await self._pause(WATCH_PERIOD)
            up = [await self._looked_after(request, each) for each in watched]
            if all(up) and request == self._request:
                self._doing = Health(OK, UP.done)

    async def _looked_after(self, request: int, watched: "_Watched") -> bool:
        """Whether a node is up, or has been brought up again now."""
        state = await self._answer(watched.name)
        if watched.left(state):
            if request == self._request:
                self._doing = Health(WARN, f"{watched.name} has been deactivated: `bring_up` activates it again")
            return False
        while request == self._request and state not in UP.ends and not watched.in_doubt:
            if not await self._stepped(watched.name, state, UP):
                return False
            state = await self._answer(watched.name)
        return state in UP.ends

    async def _led(self, request: int, nodes: Sequence[str], way: Way) -> None:
        """Lead nodes there, one after the other, unless there is another request."""
        for node in nodes:
            while request == self._request and (state := await self._answer(node)) not in way.ends:
                if request == self._request:
                    await self._stepped(node, state, way)
        if request == self._request:
            self._doing = Health(OK, way.done)

    async def _stepped(self, node: str, state: int | None, way: Way) -> bool:
        """Do what leads a node out of its state, or wait where nothing does; whether it has left it."""
        if state in way.steps:
            transition, word = way.steps[state]
            self._doing = waiting(f"{word} {node}")
            if not (trouble := await self._change(node, transition)):
                return True
            self._doing = waiting(f"{word} {node}: {trouble}; trying again")
        elif state == State.PRIMARY_STATE_FINALIZED:
            self._doing = Health(ERROR, f"{node} {FINALIZED}")
        else:
            self._doing = waiting(f"waiting for {node}" + ("" if state is None else ", which is in a transition"))
        await self._pause(RETRY_PERIOD)
        return False

    async def _answer(self, node: str) -> int | None:
        """A node's state; None: it says nothing."""
        answer = await self._ask(node, "get_state", GetState.Request())
        return None if answer is None else answer.current_state.id

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
