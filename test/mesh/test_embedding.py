"""Lines through a mesh, cut where they pass from cell to cell."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.mesh.embedding import cut_lines
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.mesh import make_mesh

INNER, OUTER, LENGTH, ALONG = 0.002, 0.004, 0.1, 10


@pytest.mark.parametrize("turn", [0.0, 17.0, 30.0, 45.0])
@pytest.mark.parametrize("radius", [0.0023, 0.003])
def test_lines_along_faces_are_cut_where_cells_end(turn, radius):
    """Six lines on the faces between cells, at mid-side nodes or not: what rounding makes of 'on' does not count."""
    tube = sweep_tube(INNER, OUTER, LENGTH, (1, 6, ALONG))
    mesh = make_mesh(Rotation.from_euler("z", turn, degrees=True).apply(tube.nodes), tube.cells, tube.element)
    angles = np.radians(turn + 60.0 * np.arange(6))
    starts = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.zeros(6)])
    for cells, cuts in cut_lines(mesh, starts, starts + [0.0, 0.0, LENGTH]):
        np.testing.assert_array_equal(np.unique(cells // 6), np.arange(ALONG))
        ends = cuts[1:][np.diff(np.append(cells // 6, ALONG)) > 0]
        np.testing.assert_allclose(ends, np.arange(1, ALONG + 1) / ALONG, atol=1e-7)
