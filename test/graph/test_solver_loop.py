"""The IMU's and the solver's nodes in processes of their own, over real DDS, on a board that is emulated here."""

import os
import time

import numpy as np
import pytest
from soft_twin_msgs.srv import SetTarget, SolveIk

from soft_twin_ros.conversions import to_seconds
from soft_twin_ros.running.graph import Devices, graph
from soft_twin_ros.running.processes import Processes

LOOP = ("imu_to_gravity", "gravity_to_cables")


def stamps(messages):
    return [to_seconds(message.header.stamp) for message in messages]


@pytest.fixture(scope="module")
def board(board_class):
    result = board_class()
    yield result
    result.close()


@pytest.fixture(scope="module")
def started(slender, board, listener_class, tmp_path_factory):
    """Who listens to the nodes, which all of these tests share."""
    listener, processes = listener_class(slender.name), Processes(tmp_path_factory.mktemp("loop"), os.environ)
    for node in graph(slender, devices=Devices(board.port.path)):
        if node.name in LOOP:
            processes.start(node)
    yield listener
    listener.close()
    processes.stop()


@pytest.fixture
def listener(started, board):
    """The same, of a loop that holds the tip where it is straight, from which nothing has been heard yet."""
    board.says = "rest"
    started.wait_for(lambda: not started.says("imu_to_gravity", "not published"))
    started.wait_for(lambda: started.says("gravity_to_cables", "compensating"))
    request = SetTarget.Request()
    request.target.pose.position.z = 0.1
    assert started.call(SetTarget, "set_target", request).success
    statuses = started.heard["solver/status"]
    started.wait_for(lambda: statuses and statuses[-1].target.position == request.target.pose.position)
    for heard in started.heard.values():
        heard.clear()
    return started


def test_gravity_carries_the_time_of_its_sample_through_the_chain(board, listener):
    listener.wait_for(lambda: len(listener.heard["cables/command"]) > 20)
    board.says = "nothing"
    listener.wait_for(lambda: listener.says("gravity_to_cables", "no gravity"))
    listener.spin(0.2)  # until all that was said is heard
    samples, solves = (set(stamps(listener.heard[topic])) for topic in ("imu/data_raw", "solver/status"))
    listening_since = max(min(samples), min(solves))
    commands = {stamp for stamp in stamps(listener.heard["cables/command"]) if stamp >= listening_since}
    assert len(commands) > 10
    assert commands <= samples
    assert commands <= solves
    gravity = listener.heard["gravity"][-1].vector
    assert np.hypot(gravity.x, gravity.y) < 0.5
    assert gravity.z < -9.7


@pytest.mark.parametrize("fault", ["nothing", "nonsense"])
def test_without_a_usable_sample_gravity_stops_the_solver_holds_and_both_say_so(board, listener, fault):
    listener.wait_for(lambda: len(listener.heard["cables/command"]) > 5)
    board.says = fault
    listener.wait_for(lambda: listener.says("imu_to_gravity", "gravity is not published"))
    listener.wait_for(lambda: listener.says("gravity_to_cables", "no gravity"))
    told = time.time()
    listener.spin(0.3)
    for topic in ("gravity", "cables/command"):  # what comes late is of samples before that
        assert max(stamps(listener.heard[topic])) < told
    answer = listener.call(SolveIk, "solve_ik", SolveIk.Request())
    assert not answer.success and answer.message == "no gravity is measured: give one in the request"
    board.says = "rest"
    listener.wait_for(lambda: listener.heard["cables/command"])


def test_a_target_by_service_moves_the_solution(listener):
    listener.wait_for(lambda: listener.heard["solver/status"])
    request = SetTarget.Request()
    request.target.pose.position.x, request.target.pose.position.z = 0.01, 0.098
    assert listener.call(SetTarget, "set_target", request).success
    listener.wait_for(lambda: listener.heard["solver/status"][-1].target.position.x == 0.01)
    listener.wait_for(lambda: listener.heard["solver/status"][-1].error < 1e-3)


def test_solve_ik_leaves_the_loop_alone(listener):
    listener.wait_for(lambda: listener.heard["cables/command"])
    request = SolveIk.Request()
    request.gravity.y = -9.81
    request.target.pose.position.z = 0.098
    answer = listener.call(SolveIk, "solve_ik", request)
    assert answer.success, answer.message
    assert answer.error < 1e-3
    assert list(answer.actuators) == [f"cable_{k}" for k in range(1, 7)]
    assert max(answer.coordinates) > 1e-4
    assert max(answer.efforts) > 0.05
    assert abs(answer.reached.position.z - 0.098) < 1e-3
    assert listener.heard["solver/status"][-1].target.position.z == 0.1


def test_a_target_that_cannot_be_is_refused_with_the_reason(listener):
    def refusal(z=0.1, of="", frame="", turned=1.0):
        request = SetTarget.Request(frame=of, use_orientation=turned != 1.0)
        request.target.pose.orientation.w = turned
        request.target.pose.position.z, request.target.header.frame_id = z, frame
        answer = listener.call(SetTarget, "set_target", request)
        assert not answer.success
        return answer.message

    assert "is it in metres" in refusal(98.0)
    assert "target in frame 'world': expected 'slender/base_link'" in refusal(frame="world")
    assert "there is no frame 'nail': there are tip" in refusal(of="nail")
    assert "expected a unit quaternion" in refusal(turned=0.7)
