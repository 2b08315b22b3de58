"""Where what an actuator does turns round: a chamber that first lengthens its body by vacuum, and then shortens it."""

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize_scalar

from soft_twin import load_robot
from soft_twin.inverse.goals import PositionGoal
from soft_twin.twins.frames import SectionFrame

UPRIGHT = np.array([0.0, 0.0, -9.81])
PRESSURES = (-3e4, 3e4)  # [Pa]
TARGETS = [(0.001, 0.0, 0.0805), (0.002, 0.0, 0.081), (0.0005, 0.0, 0.0802)]  # [m]
HOLLOW = {"first": [2, 1, 1], "last": [2, 1, 2], "name": "air"}
ROBOT = {
    "name": "sucker",
    "kind": "fem",
    "body": {
        "mesh": {"voxels": {"cells": [4, 3, 7], "size": [0.02, 0.018, 0.08], "element": "hex20r", "hollows": [HOLLOW]}},
        "materials": [{"model": "corotational", "young_modulus": 2.5e5, "poisson_ratio": 0.45, "density": 1100.0}],
        "damping": {"rayleigh_mass": 2.0, "rayleigh_stiffness": 0.02},
        "clamped": "base",
    },
    "chambers": [{"name": "air", "surface": "air", "pressure": list(PRESSURES)}],
    "frames": {"tip": {"nodes": "tip"}},
    "target": {"tip": [0.0, 0.0, 0.08]},
}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "sucker.yaml"
    path.write_text(yaml.safe_dump({"robot": ROBOT}), encoding="utf-8")
    return load_robot(path)


@pytest.mark.parametrize("target", TARGETS)
def test_pressures_come_to_rest_where_a_search_without_slopes_finds_the_nearest_tip(robot, target):
    twin = robot.build_twin()

    def miss(pressure):
        twin.equilibrium(UPRIGHT, efforts=[pressure])
        return float(np.linalg.norm(twin.tip - target))

    nearest = minimize_scalar(miss, bounds=(-2.5e4, -1e4), method="bounded", options={"xatol": 10.0}).fun
    found = robot.build_inverse().solve(UPRIGHT, target)
    assert found.converged and not found.reachable
    assert found.error == pytest.approx(nearest, abs=1e-7)  # [m]
    controller = robot.build_controller()
    controller.enable(True)
    controller.set_target(target)
    ticks = [controller.update(UPRIGHT) for _ in range(160)]
    assert np.ptp([tick.efforts for tick in ticks[-40:]]) < 5.0  # [Pa]
    assert miss(ticks[-1].efforts[0]) == pytest.approx(nearest, abs=1e-6)


def test_steps_that_are_left_go_to_later_goals_once_the_first_are_met():
    inverse = load_robot("slender").build_inverse()
    twin = inverse.twin
    middle = SectionFrame(0.05)
    goals = [
        PositionGoal(twin.frames["tip"], [0.01, 0.0, 0.097]),
        PositionGoal(middle, [0.01, 0.004, 0.05], priority=2),
    ]
    needed = inverse.solve(UPRIGHT, goals=goals).iterations
    twin.reset()
    found = inverse.solve(UPRIGHT, goals=goals, max_iterations=2 * needed - 4)
    assert found.reachable and found.converged
    assert found.iterations == needed
