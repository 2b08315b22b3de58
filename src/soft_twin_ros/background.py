"""Work that takes longer than a node's callbacks may."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.task import Future

from soft_twin_ros.node import RobotNode


class Background:
    """One thread beside a node; what it returns is awaited in the node's callbacks."""

    def __init__(self, node: RobotNode, name: str):
        """`name`: of the thread."""
        self._node = node
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    def run(self, call: Callable[[], Any]) -> Future:
        """A future for the node's executor with the result of `call`, or its exception."""
        result = Future(executor=self._node.executor)

        def hand_over(done) -> None:
            if done.cancelled():  # the node has closed: nobody awaits it any more
                return
            error = done.exception()
            if error is None:
                result.set_result(done.result())
            else:
                result.set_exception(error)
            self._node.stir()

        self._thread.submit(call).add_done_callback(hand_over)
        return result

    def close(self) -> None:
        """Start no more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)
