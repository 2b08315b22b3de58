"""Calls of services whose answers may get lost.

A server that has not heard of a client yet answers into nothing; on a busy machine that happens to a client's first
call. So a call that stays without an answer is made once more, and the first answer counts.
"""

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from soft_twin.errors import RunError

AGAIN = 0.25  # of the patience, after which a service is called again

# Looks until something is done; raises RunError where it is not after so many seconds; says what is awaited.
Wait = Callable[[Callable[[], bool], float, Callable[[], str]], None]


def call(node: Node, kind: type, name: str, request: Any, wait: Wait, patience: float) -> Any:
    """The answer of a service.

    Args:
        node: that calls.
        kind: of the service.
        name: of the service.
        request: what is asked for.
        wait: how the caller waits.
        patience: with the service, and with its answer [s].

    Raises:
        RunError: no such service, or no answer.
    """
    client = node.create_client(kind, name)
    try:
        wait(client.service_is_ready, patience, lambda: f"the service {name} is not there")
        answers, again = [client.call_async(request)], time.monotonic() + AGAIN * patience

        def answered() -> bool:
            if len(answers) == 1 and time.monotonic() > again:
                answers.append(client.call_async(request))
            return any(answer.done() for answer in answers)

        wait(answered, patience, lambda: f"the service {name} does not answer")
    finally:
        node.destroy_client(client)
    return next(answer.result() for answer in answers if answer.done())


def demand(node: Node, kind: type, name: str, request: Any, wait: Wait, patience: float) -> None:
    """Call a service that says whether it does what is asked for.

    Raises:
        RunError: no such service, no answer, or a refusal.
    """
    answer = call(node, kind, name, request, wait, patience)
    if not answer.success:
        raise RunError(f"{name}: {answer.message}")
