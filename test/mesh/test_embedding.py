"""Lines through a mesh, cut where they pass from cell to cell."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_twin.mesh.embedding import cut_lines, natural_coordinates
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


@pytest.mark.parametrize("name", ["hex20r", "tet4"])
def test_oblique_lines_are_cut_where_they_are_in_both_cells(name, slender):
    """Through bent cells too, near edges and corners."""
    mesh = slender.build_mesh(name)
    bent = mesh.nodes + np.column_stack(
        [2.0 * mesh.nodes[:, 2] ** 2, np.zeros(len(mesh.nodes)), np.zeros(len(mesh.nodes))]
    )
    mesh = make_mesh(bent, mesh.cells, mesh.element)
    angles = np.linspace(0.1, 6.0, 9)
    starts = np.column_stack([0.0028 * np.cos(angles), 0.0028 * np.sin(angles), np.full(9, 0.001)])
    ends = np.column_stack([0.0033 * np.cos(angles + 0.3), 0.0033 * np.sin(angles + 0.3), np.full(9, 0.021)])
    ends[:, 0] += 2.0 * 0.021**2
    for start, end, (cells, cuts) in zip(starts, ends, cut_lines(mesh, starts, ends), strict=True):
        places = start + cuts[1:-1, None] * (end - start)
        left, entered = (
            mesh.element.outside(natural_coordinates(mesh, own, places)) for own in (cells[:-1], cells[1:])
        )
        assert len(cells) > 2 and (np.diff(cuts) > 0.0).all()
        np.testing.assert_allclose(left, entered, atol=1e-9)
