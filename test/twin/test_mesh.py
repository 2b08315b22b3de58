"""Meshes: made, read, written, and refused when broken."""

import numpy as np
import pytest
from bodies import distorted_block

from soft_twin.errors import MeshError
from soft_twin.twin import robot_mesh
from soft_twin.twin.elements import ELEMENTS
from soft_twin.twin.mesh import jacobians, make_mesh, read_mesh, surface_triangles, write_mesh
from soft_twin.twin.sweep import sweep_tube


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


def test_swept_tube_has_the_volume_of_a_tube():
    exact = np.pi * (0.0045**2 - 0.0018**2) * 0.1
    errors = [abs(volume(sweep_tube(0.0018, 0.0045, 0.1, (1, n, 4), "hex20")) / exact - 1.0) for n in (6, 12)]
    assert errors[0] < 3e-3
    assert errors[1] < errors[0] / 12.0


@pytest.mark.parametrize("suffix", ["vtu", "msh", "vtk"])
def test_a_mesh_survives_the_file(tmp_path, suffix):
    mesh = sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 3))
    write_mesh(mesh, tmp_path / f"tube.{suffix}")
    again = read_mesh(tmp_path / f"tube.{suffix}", mesh.element)
    np.testing.assert_allclose(again.nodes, mesh.nodes)
    np.testing.assert_array_equal(again.cells, mesh.cells)


def test_missing_broken_and_empty_files_are_named(tmp_path):
    with pytest.raises(MeshError, match="no mesh at .*soft-twin mesh"):
        read_mesh(tmp_path / "none.vtu", ELEMENTS["tet4"])
    broken = tmp_path / "broken.vtu"
    broken.write_text("<VTKFile")
    with pytest.raises(MeshError, match="not readable"):
        read_mesh(broken, ELEMENTS["tet4"])
    write_mesh(distorted_block("hex8"), tmp_path / "block.vtu")
    with pytest.raises(MeshError, match="no tetra cells for element tet4: it has hexahedron"):
        read_mesh(tmp_path / "block.vtu", ELEMENTS["tet4"])


def test_inverted_flat_floating_and_impossible_cells_are_refused():
    mesh = distorted_block("tet4")
    inside_out = mesh.cells.copy()
    inside_out[3] = inside_out[3][[0, 2, 1, 3]]
    with pytest.raises(MeshError, match="1 of .* inverted or flat, the first is 3"):
        make_mesh(mesh.nodes, inside_out, mesh.element)
    far = mesh.nodes + np.array([10.0, 0.0, 0.0])
    two = np.vstack([mesh.nodes, far]), np.vstack([mesh.cells, mesh.cells + len(mesh.nodes)])
    with pytest.raises(MeshError, match="2 parts"):
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
        robot_mesh(slender, (tube.nodes, tube.cells), "hex20r")


def test_the_robots_meshes_are_as_the_issue_wants_them(slender):
    assert len(robot_mesh(slender, element="tet4").cells) >= 4700
    assert robot_mesh(slender).element.name == "hex20r"
