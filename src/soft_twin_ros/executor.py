"""Who calls a node's callbacks."""

from importlib.metadata import PackageNotFoundError, version

from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

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


class Turns:
    """A node's executor calls back until it is stirred.

    `spin_once` is not for that: with a coroutine that awaits something it returns at once, over and over, and keeps a
    processor busy for as long as an action or a long service takes (rclpy's issue 1405).

    Attributes:
        executor: that calls back.
    """

    def __init__(self, node: Node):
        self.executor = executor_of(node)
        self._stirred = Future()

    def take(self, longest: float) -> None:
        """Call back until it is stirred, or so long [s]; what coroutines await is looked at first."""
        self._stirred = Future()
        self.executor.spin_until_future_complete(self._stirred, longest)

    def stir(self) -> None:
        """End the turn that is on, after the callback that is on: there is work, or what was awaited has come from
        another thread."""
        self._stirred.set_result(None)


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
