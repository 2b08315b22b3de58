"""Mesh files (.msh, .vtk, .vtu, and whatever else meshio reads) with the names of a mesh's parts.

Gmsh and Abaqus files name groups of cells: groups of the mesh's own cells become volumes, groups of triangles and
quadrilaterals (linear or quadratic) surfaces, groups of lines and points node groups. A .msh file may hold one group
for each cell only: cells that have several names are written into a group "one + other". Gmsh's groups without a name
are called by their kind and number, such as "surface 4".

VTK files have no names, but arrays: "volume:NAME" of cells (0 or 1), "surface:NAME" of cells (bit i: the cell's i-th
face), "group:NAME" of points (0 or 1), with spaces and the like in names as in web addresses (%20).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

import meshio
import numpy as np

from soft_twin.errors import MeshError
from soft_twin.files import checked_file, one_line, whole_file
from soft_twin.mesh.elements import ELEMENTS, Element, element_for
from soft_twin.mesh.mesh import Mesh, cell_faces, face_places, make_mesh
from soft_twin.reading_apart import read_apart

SUFFIXES = (".msh", ".vtk", ".vtu", ".inp", ".stl", ".ply", ".obj", ".off", ".mesh", ".bdf", ".nas", ".su2")
NAMED = (".msh", ".vtk", ".vtu")  # that keep names
FLAT = (".stl", ".ply", ".obj", ".off")  # that hold no cells, but faces
LINEAR = (".mesh", ".su2")  # of which meshio writes linear cells only
KINDS = ("point", "curve", "surface", "volume")  # of Gmsh's physical groups, by their dimension
MAX_FILE_SIZE = 100_000_000  # [bytes]
MAX_MEMORY = 900_000_000  # [bytes] that reading a file may take
LEAST_TIME, TIME_PER_BYTE = 2.0, 0.2e-6  # [s] of processor time that reading may take: four times the slowest format's
FACE_TYPES = {"triangle": 3, "triangle6": 6, "quad": 4, "quad8": 8}  # number of nodes
SMALL_TYPES = ("vertex", "line", "line3")


def read_mesh(path: str | Path, element: Element | None = None, check: bool = True) -> Mesh:
    """The cells of `element`'s type in a mesh file, with the names of their parts.

    Args:
        path: of the file.
        element: by default the one that fits the file's cells, with reduced quadrature for quadratic hexahedra.
        check: whether the cells' quality is checked.

    Raises:
        MeshError: missing, unreadable, without such cells or with others too, or broken (see `check_mesh`).
    """
    path = Path(path)
    content = _content(path)
    if element is None:
        element = _fitting_element(content, path)
    if not any(block.type == element.cell_type for block in content.cells):
        found = ", ".join(sorted({block.type for block in content.cells})) or "nothing"
        raise MeshError(f"mesh '{path}' has no {element.cell_type} cells for element {element.name}: it has {found}")
    others = {
        block.type: len(block.data) for block in content.cells if block.dim == 3 and block.type != element.cell_type
    }
    if others:
        found = ", ".join(f"{count} {kind}" for kind, count in others.items())
        raise MeshError(
            f"mesh '{path}' has cells of several kinds: besides {element.cell_type} {found}; a mesh has one"
        )
    cells = np.vstack([block.data for block in content.cells if block.type == element.cell_type])
    volumes, surfaces, groups = _named_blocks(content, element)
    _add_arrays(content, element, cells, volumes, surfaces, groups)
    return make_mesh(content.points, cells, element, str(path), volumes, surfaces, groups, check)


def write_mesh(mesh: Mesh, path: str | Path) -> None:
    """Write the mesh and its names in the format of the path's suffix, small or capital; what is there already stays
    where that fails. .msh, .vtk and .vtu keep names, .inp, .bdf, .nas, .mesh and .su2 do not: meshes without names are
    written there, `Mesh(mesh.nodes, mesh.cells, mesh.element)` of one that has some.

    Raises:
        MeshError: the file cannot be written, its format is unknown, holds no such cells or not the names that the mesh
            has, or a name means two things in a .msh file.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in FLAT or (suffix in LINEAR and mesh.element.cell_type not in ("tetra", "hexahedron")):
        raise MeshError(f"cannot write '{path}': {suffix} files hold no {mesh.element.cell_type} cells")
    names = [*mesh.volumes, *mesh.surfaces, *mesh.groups]
    if names and suffix in SUFFIXES and suffix not in NAMED:
        raise MeshError(
            f"cannot write '{path}': {suffix} files do not keep the names of {one_line(', '.join(names))}: "
            f"{', '.join(NAMED)} do"
        )
    try:
        if suffix in SUFFIXES:
            with whole_file(path) as partial:
                _write(mesh, partial)
        else:  # perhaps of several files, which know each other by name
            _write(mesh, path)
    except (meshio.WriteError, meshio.ReadError, OSError, ImportError) as error:  # ReadError: no format has the suffix
        reason = getattr(error, "strerror", None) or one_line(error)
        raise MeshError(f"cannot write '{path}': {reason}") from error


def _write(mesh: Mesh, path: Path) -> None:
    if path.suffix.lower() == ".msh":
        _with_physical_names(mesh).write(path, file_format="gmsh22")
    else:
        _with_arrays(mesh).write(path)


def _content(path: Path) -> meshio.Mesh:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise MeshError(f"mesh '{path}': expected a file that ends in {', '.join(SUFFIXES)}")
    try:
        checked_file(path, "mesh", MAX_FILE_SIZE, MeshError)
    except MeshError as error:
        raise MeshError(f"{error}; `soft-twin mesh ROBOT` makes those that a description generates") from error
    if suffix == ".inp" and b"INCLUDE" in path.read_bytes().upper():
        raise MeshError(f"mesh '{path}' includes other files, which are not read: put all into one")
    seconds = LEAST_TIME + TIME_PER_BYTE * path.stat().st_size
    return read_apart("meshio:read", path, "mesh", MeshError, seconds, MAX_MEMORY)


def _fitting_element(content: meshio.Mesh, path: Path) -> Element:
    fitting = [element for block in content.cells if (element := element_for(block.type)) is not None]
    if not fitting:
        found = ", ".join(sorted({block.type for block in content.cells})) or "nothing"
        known = ", ".join(dict.fromkeys(element.cell_type for element in ELEMENTS.values()))
        remedy = "; Gmsh makes hexahedron20 by Mesh.SecondOrderIncomplete = 1" if "hexahedron27" in found else ""
        raise MeshError(f"mesh '{path}' has no cells of {known}: it has {found}{remedy}")
    return fitting[0]


def _named_blocks(content: meshio.Mesh, element: Element) -> tuple[dict, dict, dict]:
    """Volumes, surfaces and groups by the names that the file has for blocks of cells and for points."""
    volumes: dict[str, list] = {}
    surfaces: dict[str, list] = {}
    groups: dict[str, list] = {name: [np.asarray(nodes, int)] for name, nodes in content.point_sets.items()}
    starts = np.cumsum([0, *(len(b.data) * (b.type == element.cell_type) for b in content.cells)])
    for names, k, chosen in _named_cells(content):
        block = content.cells[k]
        for name in names.split(" + "):
            if block.type == element.cell_type:
                volumes.setdefault(name, []).append(starts[k] + chosen)
            elif block.type in FACE_TYPES:
                surfaces.setdefault(name, []).append(block.data[chosen][:, : element.corners_per_face])
            elif block.type in SMALL_TYPES:
                groups.setdefault(name, []).append(block.data[chosen].ravel())
    return tuple({name: np.concatenate(parts) for name, parts in kind.items()} for kind in (volumes, surfaces, groups))


def _named_cells(content: meshio.Mesh) -> Iterator[tuple[str, int, np.ndarray]]:
    """(name, number of a block, indices in it) of cell sets, or where there are none, of Gmsh's physical tags."""
    sets = {name: blocks for name, blocks in content.cell_sets.items() if not name.startswith("gmsh:")}
    for name, blocks in sets.items():
        for k, chosen in enumerate(blocks):
            if chosen is not None and len(chosen):
                yield name, k, np.asarray(chosen, int)
    names = {(int(tag), int(dim)): name for name, (tag, dim) in content.field_data.items()}
    for k, tags in enumerate(content.cell_data.get("gmsh:physical", []) if not sets else []):
        for tag in np.unique(tags[tags != 0]):
            dim = content.cells[k].dim
            name = names.get((int(tag), dim), f"{KINDS[dim]} {tag}")
            yield name, k, np.flatnonzero(tags == tag)


def _add_arrays(content: meshio.Mesh, element: Element, cells, volumes: dict, surfaces: dict, groups: dict) -> None:
    """Add what arrays of the cells and points say (see the module's docstring)."""
    own = [k for k, block in enumerate(content.cells) if block.type == element.cell_type]
    faces = cell_faces(cells, element).reshape(len(cells), len(element.faces), -1)
    for key, blocks in content.cell_data.items():
        kind, _, name = key.partition(":")
        values = np.concatenate([np.asarray(blocks[k]) for k in own])
        if kind == "volume":
            volumes[unquote(name)] = np.flatnonzero(values)
        elif kind == "surface":
            bits = values.astype(np.int64)[:, None] >> np.arange(len(element.faces)) & 1
            surfaces[unquote(name)] = faces[bits == 1]
    for key, values in content.point_data.items():
        kind, _, name = key.partition(":")
        if kind == "group":
            groups[unquote(name)] = np.flatnonzero(values)


def _with_arrays(mesh: Mesh) -> meshio.Mesh:
    volumes = {f"volume:{quote(name)}": _mask(chosen, len(mesh.cells)) for name, chosen in mesh.volumes.items()}
    surfaces = {f"surface:{quote(name)}": _face_bits(mesh, faces) for name, faces in mesh.surfaces.items()}
    groups = {f"group:{quote(name)}": _mask(chosen, len(mesh.nodes)) for name, chosen in mesh.groups.items()}
    return meshio.Mesh(
        mesh.nodes,
        [(mesh.element.cell_type, mesh.cells)],
        point_data=groups,
        cell_data={name: [values] for name, values in {**volumes, **surfaces}.items()},
    )


def _mask(chosen: np.ndarray, count: int) -> np.ndarray:
    mask = np.zeros(count, np.int32)
    mask[chosen] = 1
    return mask


def _face_bits(mesh: Mesh, faces: np.ndarray) -> np.ndarray:
    cell, face = np.divmod(face_places(mesh, faces), len(mesh.element.faces))
    return np.bincount(cell, 2.0**face, len(mesh.cells)).astype(np.int32)


def _with_physical_names(mesh: Mesh) -> meshio.Mesh:
    face_type = next(name for name, nodes in FACE_TYPES.items() if nodes == len(mesh.element.faces[0]))
    faces = cell_faces(mesh.cells, mesh.element)
    surfaces = {name: face_places(mesh, chosen) for name, chosen in mesh.surfaces.items()}
    kinds = (
        (3, mesh.element.cell_type, mesh.cells, _combinations(mesh.volumes, len(mesh.cells))),
        (2, face_type, faces, _named_only(_combinations(surfaces, len(faces)))),
        (0, "vertex", np.arange(len(mesh.nodes))[:, None], _named_only(_combinations(mesh.groups, len(mesh.nodes)))),
    )
    blocks, tags, names = [], [], {}
    for dim, cell_type, rows, combinations in kinds:
        for name, chosen in combinations:
            if name in names:
                raise MeshError(f"'{name}' names two parts of different kinds: in a .msh file a name means one thing")
            if name:
                names[name] = np.array([len(names) + 1, dim])
            blocks.append((cell_type, rows[chosen]))
            tags.append(np.full(len(chosen), names[name][0] if name else 0, np.int32))
    data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    return meshio.Mesh(mesh.nodes, blocks, cell_data=data, field_data=names)


def _combinations(parts: Mapping[str, np.ndarray], count: int) -> list[tuple[str, np.ndarray]]:
    """Rows 0…count by the names that they have, joined by " + "; without any, by an empty name."""
    if not parts:
        return [("", np.arange(count))]
    member = np.column_stack([_mask(chosen, count) for chosen in parts.values()])
    combinations, which = np.unique(member, axis=0, return_inverse=True)
    return [
        (" + ".join(np.array(list(parts))[combination == 1]), np.flatnonzero(which.ravel() == number))
        for number, combination in enumerate(combinations)
    ]


def _named_only(combinations: list[tuple[str, np.ndarray]]) -> list[tuple[str, np.ndarray]]:
    return [(name, chosen) for name, chosen in combinations if name]
