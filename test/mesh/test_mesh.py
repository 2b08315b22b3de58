"""Meshes: made, read, written, and refused when broken."""

from contextlib import nullcontext

import numpy as np
import pytest
from bodies import distorted_block

from soft_twin.errors import MeshError
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import boundary_faces, check_unit, jacobians, make_mesh, surface_triangles


def volume(mesh):
    return (jacobians(mesh)[1] * mesh.element.weights).sum()


def enclosed_volume(mesh):
    a, b, c = np.moveaxis(mesh.nodes[surface_triangles(mesh)], 1, 0)
    return np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0


@pytest.mark.parametrize("name", ELEMENTS)
def test_surface_of_a_block_is_closed_and_outward(name):
    mesh = distorted_block(name)
    assert enclosed_volume(mesh) == pytest.approx(12.0)
    assert volume(mesh) == pytest.approx(12.0)


def test_inverted_flat_floating_and_impossible_cells_are_refused():
    mesh = distorted_block("tet4")
    inside_out = mesh.cells.copy()
    inside_out[3] = inside_out[3][[0, 2, 1, 3]]
    with pytest.raises(MeshError, match="1 of .* inverted or flat, the first is 3"):
        make_mesh(mesh.nodes, inside_out, mesh.element)
    far = mesh.nodes + np.array([10.0, 0.0, 0.0])
    two = np.vstack([mesh.nodes, far]), np.vstack([mesh.cells, mesh.cells + len(mesh.nodes)])
    with pytest.raises(MeshError, match=r"2 parts .* has 36 of 72 nodes, around \(1.149e\+04, 1002, 1005\) mm"):
        make_mesh(*two, mesh.element)
    with pytest.raises(MeshError, match="not finite"):
        make_mesh(np.where(np.arange(len(mesh.nodes))[:, None] == 5, np.nan, mesh.nodes), mesh.cells, mesh.element)
    with pytest.raises(MeshError, match="there are 2"):
        make_mesh(mesh.nodes[:2], mesh.cells, mesh.element)
    with pytest.raises(MeshError, match="cells \\(m, 20\\)"):
        make_mesh(mesh.nodes, mesh.cells, ELEMENTS["hex20r"])


def test_a_mesh_in_millimetres_is_recognised(slender):
    tube = sweep_tube(1.8, 4.5, 100.0, (1, 6, 3))
    with pytest.raises(MeshError, match="seems to be in millimetres"):
        slender.build_mesh((tube.nodes, tube.cells), "hex20r")


@pytest.mark.parametrize(("size", "lies"), [([0.1, 0.02, 0.03], True), ([0.02, 0.1, 0.03], False)])
def test_a_mesh_that_lies_along_other_axes_is_no_mesh_of_that_size(size, lies):
    """As large as the description says, but its lowest face, the base, is another one."""
    block = voxel_mesh(np.ones((2, 2, 2), bool), np.divide([0.02, 0.1, 0.03], 2.0), "hex8")
    with pytest.raises(MeshError, match="it lies along other axes: turn it") if lies else nullcontext():
        check_unit(block, np.array(size), "a.vtu")


def test_the_robots_meshes_are_as_the_issue_wants_them(slender):
    assert len(slender.build_mesh(element="tet4").cells) >= 4700
    assert slender.build_mesh().element.name == "hex20r"


def test_names_survive_renumbering_and_are_listed_when_wrong():
    block = distorted_block("hex8")
    nodes = np.vstack([[[9.0, 9.0, 9.0]], block.nodes])
    face = 1 + block.cells[0, list(block.element.faces[0])]
    mesh = make_mesh(
        nodes,
        block.cells + 1,
        block.element,
        volumes={"left": [1, 0, 1], "right": np.arange(12) >= 6},
        surfaces={"bottom": face[None, ::-1]},
        groups={"corner": [1], "nowhere": [0]},
    )
    np.testing.assert_array_equal(mesh.volume("left"), [0, 1])
    np.testing.assert_array_equal(mesh.volume("right"), np.arange(6, 12))
    np.testing.assert_array_equal(mesh.surface("bottom"), block.cells[:1, list(block.element.faces[0])])
    np.testing.assert_array_equal(mesh.group("corner"), [0])
    np.testing.assert_array_equal(mesh.group("bottom"), np.sort(face - 1))
    np.testing.assert_array_equal(mesh.group("left"), np.unique(block.cells[:2]))
    with pytest.raises(MeshError, match="no volume 'middle' in the mesh: there are left, right"):
        mesh.volume("middle")
    with pytest.raises(MeshError, match="no node group 'nowhere' in the mesh: there are bottom, corner, left, right"):
        mesh.group("nowhere")
    with pytest.raises(MeshError, match="no surface 'top' in the mesh: there are none"):
        block.surface("top")


def test_names_that_fit_nothing_are_refused():
    block = distorted_block("hex8")
    with pytest.raises(MeshError, match="volume 'a': expected indices below 12"):
        make_mesh(block.nodes, block.cells, block.element, volumes={"a": [12]})
    with pytest.raises(MeshError, match="group 'a': expected .* a mask of that length"):
        make_mesh(block.nodes, block.cells, block.element, groups={"a": np.ones(3, bool)})
    with pytest.raises(MeshError, match="surface 'a': 1 of 2 faces are no faces"):
        faces = [boundary_faces(block)[0], [0, 1, 2, 35]]
        make_mesh(block.nodes, block.cells, block.element, surfaces={"a": faces})
    with pytest.raises(MeshError, match="not 'a . b'"):
        make_mesh(block.nodes, block.cells, block.element, groups={"a + b": [0]})


def test_a_face_between_cells_keeps_the_side_it_is_given_from():
    block = distorted_block("hex8")
    faces = block.cells[:, np.array(block.element.faces)].reshape(-1, 4)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    inner = faces[first[count == 2][0]]
    for face in (inner, inner[::-1]):
        kept = make_mesh(block.nodes, block.cells, block.element, surfaces={"a": face[None]}).surface("a")[0]
        shifts = [list(np.roll(face, s)) for s in range(4)]
        assert list(kept) in shifts
