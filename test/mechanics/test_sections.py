"""The centre of a cross section, as a linear function of a body's nodes."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.mechanics.sections import section_weights
from soft_twin.mesh.generate.voxels import voxel_mesh


@pytest.mark.parametrize(
    ("corner", "centre"),
    [
        ((-0.01, -0.01), (0.0, 0.0)),
        ((-0.004, -0.013), (0.0, 0.0)),  # around the axis, though not in its middle
        ((0.0, 0.0), (0.01, 0.01)),  # as a mesh of voxels begins
        ((0.05, -0.03), (0.06, -0.02)),
        ((-0.01, 0.05), (0.0, 0.06)),
    ],
)
@pytest.mark.parametrize("z", [0.0, 0.021, 0.05])
def test_it_is_where_the_axis_passes_it_or_else_its_middle(corner, centre, z):
    mesh = voxel_mesh(np.ones((4, 4, 10), dtype=bool), 0.005, "hex8")
    mesh = dataclasses.replace(mesh, nodes=mesh.nodes + [*corner, 0.0])
    weights = section_weights(mesh, z)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ mesh.nodes, [*centre, z], atol=1e-12)
    turn, moved = Rotation.from_rotvec([0.3, -0.2, 0.5]), np.array([0.1, 0.2, -0.3])
    np.testing.assert_allclose(weights @ (turn.apply(mesh.nodes) + moved), turn.apply([*centre, z]) + moved, atol=1e-12)
    assert np.abs(weights).sum() < 1.5  # no place that is far from its nodes
