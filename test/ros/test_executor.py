import threading
import time

import pytest
import rclpy
from rclpy.task import Future
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from soft_twin_ros.executor import Turns, executor_of, hear_all
from soft_twin_ros.qos import NEWEST

PATIENCE = 20.0  # [s] of a busy machine


class Worker:
    """A node that works on the newest message only, while more come in than it can work on."""

    def __init__(self, node):
        self.node, self.waiting, self.asked = node, False, False
        self.publisher = node.create_publisher(Float64, "number", NEWEST)
        node.create_subscription(Float64, "number", self._take, NEWEST)
        node.create_service(Trigger, "ask", self._answer)
        self.client = node.create_client(Trigger, "ask")

    def _take(self, message):
        self.waiting = True

    def _answer(self, request, response):
        self.asked = True
        return response

    def work(self):
        self.waiting = False
        for number in range(5):
            self.publisher.publish(Float64(data=float(number)))
            time.sleep(0.001)


@pytest.fixture
def worker():
    node = rclpy.create_node("worker")
    yield Worker(node)
    node.destroy_node()


def test_a_node_that_never_catches_up_answers_all_the_same(worker):
    executor = executor_of(worker.node)
    assert worker.client.wait_for_service(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    worker.work()
    rounds = 0
    while not worker.asked:
        executor.spin_once(timeout_sec=0.1)
        if worker.waiting:
            hear_all(executor)
            worker.work()
            rounds += 1
        if rounds == 10:
            worker.client.call_async(Trigger.Request())
        assert time.monotonic() < deadline
    assert rounds < 10 + 20


def test_a_turn_rests_while_a_coroutine_awaits_and_ends_when_another_thread_brings_what_it_awaits(worker):
    turns = Turns(worker.node)
    awaited = Future(executor=turns.executor)

    async def wait():
        return await awaited

    waiting = turns.executor.create_task(wait())
    turns.take(0.2)  # which knows the node from now on
    for _ in range(3):
        begin = time.monotonic()
        turns.take(0.1)
        assert time.monotonic() - begin > 0.09
    assert not waiting.done()

    def bring():
        awaited.set_result("brought")
        turns.stir()

    threading.Timer(0.2, bring).start()
    begin = time.monotonic()
    turns.take(PATIENCE)
    assert time.monotonic() - begin < PATIENCE
    turns.take(0.1)
    assert waiting.result() == "brought"
