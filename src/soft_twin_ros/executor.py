"""Who calls a node's callbacks."""

from importlib.metadata import PackageNotFoundError, version

from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node

AWAITING = 9  # version of rclpy, Kilted's; Jazzy's 7.1 has such an executor, but one that sends coroutines as answers

try:
    from rclpy.experimental import EventsExecutor

    if int(version("rclpy").partition(".")[0]) < AWAITING:
        EventsExecutor = None
except (ImportError, PackageNotFoundError):
    EventsExecutor = None


def executor_of(node: Node) -> Executor:
    """An executor with this node: the one that waits in C++ where rclpy has one that awaits services (Kilted).

    The other one makes its list of everything that may happen anew in Python for each message: a fifth of a driver's
    processor time.
    """
    executor = EventsExecutor() if EventsExecutor is not None else SingleThreadedExecutor()
    executor.add_node(node)
    return executor


def hear_all(executor: Executor) -> None:
    """Call back for everything that has come in until now.

    Events queue up: a node that worked after each of them, for the newest message each time, would find more of them
    after its work than before, and answer nobody any more. The other executor has no queue.
    """
    if EventsExecutor is None:
        return
    last = executor.create_task(bool)
    while not last.done():
        executor.spin_once(timeout_sec=0.0)
