"""Bodies of other elements, cut into linear tetrahedra."""

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.errors import MeshError
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, boundary_faces, jacobians
from soft_twin.mesh.tetrahedra import linear_tetrahedra


def volume(mesh: Mesh) -> float:
    return float((jacobians(mesh)[1] * mesh.element.weights).sum())


@pytest.mark.parametrize(("name", "lost"), [("finger", 1e-12), ("manipulator", 0.05)])
def test_a_body_keeps_its_volume_and_closes(name, lost):
    mesh = load_robot(name).build_model().body.mesh
    cut = linear_tetrahedra(mesh, 2)
    assert volume(cut) == pytest.approx(volume(mesh), rel=lost)  # chords of what is round
    sides = boundary_faces(cut)
    corners = cut.nodes[sides]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.abs(normals.sum(axis=0)).max() < 1e-12  # closed: no crack between neighbours
    assert (corners.mean(axis=1) * normals).sum() / 3.0 == pytest.approx(volume(cut), rel=1e-9)


def test_chords_come_nearer_to_what_is_round_with_the_square_of_their_number():
    mesh = sweep_tube(0.002, 0.005, 0.02, (1, 8, 2), "hex20r")
    errors = [volume(mesh) - volume(linear_tetrahedra(mesh, pieces)) for pieces in (1, 2, 4)]
    assert errors[1] == pytest.approx(errors[0] / 4.0, rel=0.1)
    assert errors[2] == pytest.approx(errors[1] / 4.0, rel=0.1)


def test_chambers_have_their_name_and_volume():
    body = load_robot("finger").build_model().body
    cut = linear_tetrahedra(body.mesh, 2)
    own, theirs = body.mesh.surface("chamber 1"), cut.surface("chamber 1")
    assert hollow(cut, theirs) == pytest.approx(hollow(body.mesh, own[:, :4]), rel=1e-9)  # its walls are plane
    assert set(cut.surfaces) == set(body.mesh.surfaces)


def hollow(mesh: Mesh, faces: np.ndarray) -> float:
    """Volume inside faces that look into it."""
    triangles = np.vstack([faces[:, [0, i, i + 1]] for i in range(1, faces.shape[1] - 1)])
    a, b, c = (mesh.nodes[triangles[:, i]] for i in range(3))
    return -float(np.einsum("ti,ti->t", a, np.cross(b, c)).sum()) / 6.0


def test_groups_lie_where_they_lay():
    mesh = load_robot("manipulator").build_model().body.mesh
    cut = linear_tetrahedra(mesh, 2)
    for name, height in (("base", 0.0), ("tip", mesh.size[2])):
        own = cut.group(name)
        assert np.allclose(cut.nodes[own, 2], height)
        assert len(own) == np.isclose(cut.nodes[:, 2], height).sum()


def test_ten_nodes_become_eight_cells():
    mesh = voxel_mesh(np.ones((2, 1, 3), dtype=bool), (0.01, 0.02, 0.01), "tet10")
    cut = linear_tetrahedra(mesh)
    assert len(cut.cells) == 8 * len(mesh.cells)
    assert volume(cut) == pytest.approx(volume(mesh), rel=1e-12)
    assert linear_tetrahedra(cut) is cut


def test_cells_that_bend_too_much_are_named():
    with pytest.raises(MeshError, match="inverted or flat"):
        linear_tetrahedra(load_robot("neck").build_model().body.mesh, 2)


def test_no_piece_is_refused():
    with pytest.raises(MeshError, match="1 piece or more, not 0"):
        linear_tetrahedra(load_robot("finger").build_model().body.mesh, 0)
