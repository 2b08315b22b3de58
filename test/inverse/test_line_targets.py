"""A body that is asked to lie on a line with its tip at a place of it."""

import numpy as np
import pytest

import soft_twin
from soft_twin.errors import InputError
from soft_twin.inverse.targets import pose_target

SIDEWAYS = [0.0, -9.81, 0.0]


def s_shape() -> np.ndarray:
    """(61, 3) first an arc by 15° towards +x, then one back: the tip's axis is the base's again."""
    tilts = np.radians(15.0) * np.concatenate([np.linspace(0.0, 1.0, 31), np.linspace(1.0, 0.0, 31)[1:]])
    steps = 0.096 / 60 * np.column_stack([np.sin(tilts), np.zeros(61), np.cos(tilts)])
    return np.vstack([np.zeros(3), np.cumsum(0.5 * (steps[1:] + steps[:-1]), axis=0)])


@pytest.fixture(scope="module")
def inverse():
    return soft_twin.load_robot("slender").build_inverse()


def off_line(inverse, line):
    """(s,) [m] of the body's sections."""
    inner = np.linspace(0.02, 0.08, 7)
    places = inverse.twin.sections(inner, inverse.twin.points)
    fine = np.array([np.interp(np.linspace(0, 60, 601), np.arange(61), line[:, i]) for i in range(3)]).T
    return np.linalg.norm(places[:, None] - fine, axis=2).min(axis=1)


def test_a_body_lies_on_its_line_where_it_would_not_by_its_tip_alone(inverse):
    line, found = s_shape(), []
    for target in (pose_target(inverse, line[-1]), pose_target(inverse, line[-1], line=line)):
        inverse.twin.reset()
        solution = inverse.solve(SIDEWAYS, goals=target.goals(inverse))
        assert np.linalg.norm(solution.tip - line[-1]) < 2e-4
        found.append(off_line(inverse, line).max())
    assert found[1] < 1e-3 and found[0] > 4e-3


def test_lines_that_are_none_are_refused(inverse):
    for line in (np.zeros((1, 3)), np.full((4, 3), np.nan), np.zeros((4, 2))):
        with pytest.raises(InputError, match="curve: expected at least two points"):
            pose_target(inverse, [0.0, 0.0, 0.098], line=line)
