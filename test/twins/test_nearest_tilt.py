"""The nearest tilt in reach, for regions whose nearest point is known."""

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.twins.constant_curvature import axis_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.nearest_tilt import nearest_tilt
from soft_twin.twins.plate_model import apart


def within(normals, most):
    """Bends on one side of each line."""
    return lambda pitch, roll: bool((np.array(normals) @ bend_of(pitch, roll) <= most).all())


def test_of_a_cone_it_is_straight_towards_the_target():
    cone = lambda pitch, roll: axis_of(pitch, roll)[2] >= np.cos(0.5)  # noqa: E731
    found = nearest_tilt(cone, 0.9, -0.7)
    away = np.arccos(axis_of(0.9, -0.7)[2]) - 0.5
    assert apart(found, (0.9, -0.7)) == pytest.approx(away, abs=1e-4)


@pytest.mark.parametrize("asked", [(1.2, 0.1), (0.2, -1.3), (-1.0, 0.8), (0.9, 0.9)])
def test_of_three_lines_none_of_many_allowed_poses_is_nearer(asked):
    allows = within([[1.0, 0.1], [-0.6, 0.8], [-0.4, -0.9]], [0.5, 0.7, 0.4])
    found = nearest_tilt(allows, *asked)
    assert allows(*(0.999 * np.array(found)))
    away = apart(found, asked)
    poses = np.random.default_rng(0).uniform(-1.4, 1.4, (4000, 2))
    poses = np.vstack([poses, np.array(found) + np.random.default_rng(1).uniform(-0.05, 0.05, (2000, 2))])
    assert min(apart(tuple(pose), asked) for pose in poses if allows(*pose)) > away - 2e-3


def test_what_is_in_reach_is_itself_and_nothing_at_all_is_told():
    assert nearest_tilt(within([[1.0, 0.0]], [0.5]), 0.4, 0.1) == (0.4, 0.1)
    with pytest.raises(InputError, match="not even a straight body"):
        nearest_tilt(lambda pitch, roll: False, 0.4, 0.1)
    with pytest.raises(InputError, match="not finite"):
        nearest_tilt(lambda pitch, roll: True, np.nan, 0.1)
