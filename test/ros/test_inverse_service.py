"""What `solve_ik` answers, without a node."""

import numpy as np
import pytest
from soft_twin_msgs.srv import SolveIk

from soft_twin import load_robot
from soft_twin.errors import InputError
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin_ros.conversions import to_vector
from soft_twin_ros.inverse_service import InverseService


@pytest.fixture(scope="module")
def service():
    robot, tube = load_robot("slender"), sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 4))
    return InverseService(robot, "base_link", lambda: robot.build_twin(mesh=(tube.nodes, tube.cells), element="hex20r"))


def asked(gravity):
    request = SolveIk.Request(gravity=to_vector(np.asarray(gravity)))
    request.target.pose.position.z = 0.098
    return request


@pytest.mark.parametrize("gravity", [[0.0, -1.0, 0.0], [0.0, 0.0, -981.0], [0.0, 0.0, 0.1], [np.nan, 0.0, -9.81]])
def test_gravity_in_another_unit_is_refused_in_one_line(service, gravity):
    with pytest.raises(InputError, match=r"gravity: .* expected 9.81 m/s²"):
        service.answer(asked(gravity), SolveIk.Response(), None)


@pytest.mark.parametrize("gravity", [[0.0, -9.81, 0.0], [5.6, 5.6, -5.66]])
def test_gravity_of_the_earth_is_answered(service, gravity):
    answer = service.answer(asked(gravity), SolveIk.Response(), None)
    assert answer.success and answer.reachable, answer.message


def test_what_the_time_limit_has_ended_is_said(service):
    request = asked([0.0, 0.0, -9.81])
    request.target.pose.position.x, request.target.pose.position.z = 0.05, 0.02  # out of reach
    cut = service.answer(request, SolveIk.Response(), None, 1e-9)
    assert not cut.success and "not converged, ended by solve_time_limit" in cut.message
    whole = service.answer(request, SolveIk.Response(), None, 600.0)
    assert whole.success and not whole.reachable and "solve_time_limit" not in whole.message
