"""Mesh files: what is written is read again, names and all; broken files are refused."""

import base64
import re
import zlib
from pathlib import Path

import meshio
import numpy as np
import pytest
from bodies import distorted_block

from soft_twin.descriptions.kinds_of_value import NAMED
from soft_twin.errors import MeshError
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.files import read_mesh, write_mesh
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.mesh import Mesh, boundary_faces, make_mesh
from soft_twin.mesh.selection import centres_and_normals
from soft_twin.reading_apart import call_apart

SUFFIXES = ["vtu", "msh", "vtk"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_mesh_survives_the_file_and_nothing_is_printed(tmp_path, suffix, capfd):
    tube = sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 3))
    mesh = Mesh(tube.nodes, tube.cells, tube.element)
    write_mesh(mesh, tmp_path / f"tube.{suffix}")
    again = read_mesh(tmp_path / f"tube.{suffix}", mesh.element)
    np.testing.assert_allclose(again.nodes, mesh.nodes)
    np.testing.assert_array_equal(again.cells, mesh.cells)
    assert not again.volumes and not again.surfaces and not again.groups
    assert capfd.readouterr() == ("", "")


def named(element_name):
    """A block with volumes that overlap, two surfaces with a common face, and two groups."""
    mesh, outer = distorted_block(element_name), boundary_faces(distorted_block(element_name))
    centres = centres_and_normals(mesh, outer)[0]
    return make_mesh(
        mesh.nodes,
        mesh.cells,
        mesh.element,
        volumes={"body": np.arange(8), "muscle one": np.arange(5, 9)},
        surfaces={"low": outer[centres[:, 2] < 1e-6], "front": outer[(centres[:, 0] < 1e-6) | (centres[:, 2] < 1e-6)]},
        groups={"A & B": [0, 3, 7], "ends": [3, 20]},
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_names_survive_the_file(tmp_path, suffix, name):
    mesh = named(name)
    write_mesh(mesh, tmp_path / f"block.{suffix}")
    again = read_mesh(tmp_path / f"block.{suffix}", mesh.element)
    for kind, nodes in (
        ("volumes", lambda m, part: m.nodes[m.cells[part]].sum(axis=1)),
        ("surfaces", lambda m, part: m.nodes[part].sum(axis=1)),
        ("groups", lambda m, part: m.nodes[part]),
    ):
        before, after = getattr(mesh, kind), getattr(again, kind)
        assert sorted(after) == sorted(before)
        for key in before:
            places = [np.round(nodes(m, part), 9) for m, part in ((mesh, before[key]), (again, after[key]))]
            assert sorted(map(tuple, places[0])) == sorted(map(tuple, places[1]))


def test_the_element_of_a_file_is_found(tmp_path):
    for name in ("tet4", "hex20r"):
        write_mesh(distorted_block(name), tmp_path / f"{name}.vtu")
        assert read_mesh(tmp_path / f"{name}.vtu").element.name == name
    meshio.Mesh(np.eye(3), [("triangle", [[0, 1, 2]])]).write(tmp_path / "shell.vtu")
    with pytest.raises(MeshError, match="no cells of tetra, .*: it has triangle"):
        read_mesh(tmp_path / "shell.vtu")


def test_second_order_hexahedra_as_gmsh_makes_them_are_told_with_what_it_has_to_be_asked_for(tmp_path):
    meshio.write_points_cells(tmp_path / "whole.vtu", np.zeros((27, 3)), [("hexahedron27", [range(27)])])
    with pytest.raises(MeshError, match="it has hexahedron27; Gmsh makes hexahedron20 by Mesh.SecondOrderIncomplete"):
        read_mesh(tmp_path / "whole.vtu")


def test_gmshs_own_physical_names_are_read(tmp_path):
    """A box by Gmsh in second order: two volumes, their end, and a point; names of one cell may be two."""
    pytest.importorskip("gmsh", exc_type=ImportError)
    call_apart("gmsh_box:write_box", [str(tmp_path / "box.msh")])
    mesh = read_mesh(tmp_path / "box.msh")
    assert mesh.element.name == "tet10"
    assert len(mesh.volume("all")) == len(mesh.cells) > len(mesh.volume("low")) > 0
    assert mesh.nodes[mesh.cells[mesh.volume("low")]][..., 2].max() == pytest.approx(1.0)
    centres, normals = centres_and_normals(mesh, mesh.surface("end"))
    np.testing.assert_allclose(centres[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(normals, np.tile([0.0, 0.0, -1.0], (len(normals), 1)), atol=1e-12)
    assert len(mesh.group("corner")) == 1


def test_gmshs_groups_without_a_name_have_one_that_a_description_can_say(tmp_path):
    block = distorted_block("tet4")
    cells = [("tetra", block.cells), ("triangle", boundary_faces(block)), ("vertex", [[0]])]
    tags = [np.full(len(rows), tag, np.int32) for (_, rows), tag in zip(cells, (7, 7, 2), strict=True)]
    data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    meshio.Mesh(block.nodes, cells, cell_data=data).write(tmp_path / "block.msh", file_format="gmsh22")
    mesh = read_mesh(tmp_path / "block.msh")
    assert ([*mesh.volumes], [*mesh.surfaces], [*mesh.groups]) == (["volume 7"], ["surface 7"], ["point 2"])
    assert NAMED.read("volume 7") == "volume 7"


def test_a_name_of_two_kinds_is_refused_where_the_format_cannot_hold_it(tmp_path):
    block = distorted_block("hex8")
    mesh = make_mesh(block.nodes, block.cells, block.element, volumes={"a": [0]}, groups={"a": [0]})
    write_mesh(mesh, tmp_path / "block.vtu")
    with pytest.raises(MeshError, match="'a' names two parts"):
        write_mesh(mesh, tmp_path / "block.msh")


@pytest.mark.parametrize("suffix", [".inp", ".bdf", ".nas", ".mesh", ".su2", ".INP"])
def test_names_are_not_lost_in_formats_that_have_none(tmp_path, suffix):
    mesh, path = named("hex8"), tmp_path / f"block{suffix}"
    path.write_text("before")
    with pytest.raises(
        MeshError, match=f"{suffix.lower()} files do not keep the names of body, .*: .msh, .vtk, .vtu do$"
    ):
        write_mesh(mesh, path)
    assert path.read_text() == "before"
    write_mesh(Mesh(mesh.nodes, mesh.cells, mesh.element), path)
    again = read_mesh(path)
    np.testing.assert_allclose(again.nodes, mesh.nodes, atol=1e-9)
    np.testing.assert_array_equal(again.cells, mesh.cells)


@pytest.mark.parametrize("suffix", [".stl", ".ply", ".obj", ".off", ".PLY", ".mesh", ".su2"])
def test_cells_are_not_lost_in_formats_that_hold_none(tmp_path, suffix):
    block = distorted_block("hex20r")
    with pytest.raises(MeshError, match=f"{suffix.lower()} files hold no hexahedron20 cells$"):
        write_mesh(Mesh(block.nodes, block.cells, block.element), tmp_path / f"block{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_suffixes_may_be_capital(tmp_path, suffix):
    mesh = named("hex20r")
    write_mesh(mesh, tmp_path / f"block.{suffix.upper()}")
    assert read_mesh(tmp_path / f"block.{suffix.upper()}").surfaces.keys() == mesh.surfaces.keys()


def test_missing_broken_and_empty_files_are_named(tmp_path):
    with pytest.raises(MeshError, match="no mesh at .*soft-twin mesh ROBOT` makes those that a description generates"):
        read_mesh(tmp_path / "none.vtu", ELEMENTS["tet4"])
    broken = tmp_path / "broken.vtu"
    broken.write_text("<VTKFile")
    with pytest.raises(MeshError, match="not readable"):
        read_mesh(broken, ELEMENTS["tet4"])
    write_mesh(distorted_block("hex8"), tmp_path / "block.vtu")
    with pytest.raises(MeshError, match="no tetra cells for element tet4: it has hexahedron"):
        read_mesh(tmp_path / "block.vtu", ELEMENTS["tet4"])
    with pytest.raises(MeshError, match="cannot write"):
        write_mesh(distorted_block("hex8"), tmp_path / "block.jelly")


def test_sizes_in_a_file_are_not_believed(tmp_path, monkeypatch):
    """A node numbered 2³¹ − 1, and a few kilobytes that unpack to many, in files that are sound otherwise."""
    monkeypatch.setattr("soft_twin.mesh.files.MAX_MEMORY", 100_000_000)
    path = tmp_path / "block.msh"
    meshio.Mesh(distorted_block("hex8").nodes, [("hexahedron", distorted_block("hex8").cells)]).write(
        path, file_format="gmsh22", binary=False
    )
    lines = path.read_text().splitlines()
    last = lines.index("$EndNodes") - 1
    lines[last] = f"{2**31 - 1} {lines[last].split(maxsplit=1)[1]}"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(MeshError, match="not readable"):
        read_mesh(path)
    packed = zlib.compress(bytes(3 * 10**8), 1)
    header = base64.b64encode(np.array([1, 3 * 10**8, 0, len(packed)], np.uint32).tobytes()).decode()
    write_mesh(distorted_block("hex8"), tmp_path / "bomb.vtu")
    text = re.sub(r"(<Points>.*?<DataArray[^>]*>)[^<]*", rf"\g<1>{header}{base64.b64encode(packed).decode()}",
                  (tmp_path / "bomb.vtu").read_text(), count=1, flags=re.S)  # fmt: skip
    (tmp_path / "bomb.vtu").write_text(text)
    with pytest.raises(MeshError, match="bomb.vtu' is not readable"):
        read_mesh(tmp_path / "bomb.vtu")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("header.ply", b"ply\nformat ascii 1.0\n"),
        ("comment.off", b"OFF\n# Created by me"),
        ("header.msh", b'(1 "meshio 5.3.5"\n'),
        ("bulk.bdf", b"BEGIN BULK\n"),
    ],
)
def test_a_file_that_its_reader_never_ends_with_is_refused(tmp_path, monkeypatch, name, content):
    monkeypatch.setattr("soft_twin.mesh.files.LEAST_TIME", 0.5)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshError, match=f"{name}' is not readable: damaged or cut short, its reader did not end"):
        read_mesh(tmp_path / name)


def test_readers_mistakes_are_told_as_what_they_mean(tmp_path):
    """A file that ends after a header; one whose reader asks the process to end."""
    (tmp_path / "nodes.msh").write_text("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n")
    with pytest.raises(MeshError, match="damaged or cut short"):
        read_mesh(tmp_path / "nodes.msh")
    (tmp_path / "names.msh").write_text('$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 "a"\n')
    with pytest.raises(MeshError, match=r"names.msh' is not readable: .*PhysicalNames not closed"):
        read_mesh(tmp_path / "names.msh")


@pytest.mark.parametrize("suffix", [".xdmf", ".h5", ".yaml", ""])
def test_formats_that_lead_to_other_files_are_not_read(tmp_path, suffix):
    (tmp_path / f"mesh{suffix}").write_text("x")
    with pytest.raises(MeshError, match="expected a file that ends in .msh, .vtk, .vtu"):
        read_mesh(tmp_path / f"mesh{suffix}")
    for name in ("mesh.inp", "mesh.INP"):
        (tmp_path / name).write_text("*HEADING\n*Include, input=mesh.inp\n")
        with pytest.raises(MeshError, match="includes other files"):
            read_mesh(tmp_path / name)


def test_cells_of_several_kinds_are_refused_not_dropped(tmp_path):
    mesh = distorted_block("hex8")
    wedge = np.array([[0, 1, 2, 9, 10, 11]])
    meshio.Mesh(mesh.nodes, [("hexahedron", mesh.cells), ("wedge", wedge)]).write(tmp_path / "mixed.vtu")
    for element in (None, mesh.element):
        with pytest.raises(MeshError, match="several kinds: besides hexahedron 1 wedge"):
            read_mesh(tmp_path / "mixed.vtu", element)


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(MeshError, match="cannot write"):
        write_mesh(distorted_block("hex8"), tmp_path / "no such folder" / "mesh.vtu")


def test_the_documented_example_works(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "docs" / "meshes.md").read_text()
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], {})
    assert capsys.readouterr().out == "['chamber', 'side']\n"
