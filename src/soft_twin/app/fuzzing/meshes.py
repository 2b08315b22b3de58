"""Mesh files of every format that is read: a tube, or triangles where a format has no more."""

import contextlib
import io
import tempfile
from functools import cache
from pathlib import Path

import meshio
import numpy as np

from soft_twin.mesh.files import write_mesh
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.mesh import Mesh

OWN = (".vtu", ".vtk", ".msh")  # as `write_mesh` writes them
VOLUMES = {
    "gmsh": (".msh", {"file_format": "gmsh", "binary": True}),
    "ansys": (".msh", {"file_format": "ansys", "binary": False}),
    "ansys-binary": (".msh", {"file_format": "ansys", "binary": True}),
    "vtk-ascii": (".vtk", {"binary": False}),
    "vtu-ascii": (".vtu", {"binary": False}),
    "abaqus": (".inp", {}),
    "medit": (".mesh", {}),
    "su2": (".su2", {}),
}
SURFACES = {
    "stl": (".stl", {"binary": False}),
    "stl-binary": (".stl", {"binary": True}),
    "ply": (".ply", {"binary": False}),
    "ply-binary": (".ply", {"binary": True}),
    "obj": (".obj", {}),
    "off": (".off", {}),
}
NASTRAN = (".bdf", ".nas")


def good_mesh(rng: np.random.Generator) -> tuple[str, bytes]:
    """A format's ending and the bytes of a good file; our own formats half the time."""
    if rng.random() < 0.5:
        suffix = OWN[rng.integers(len(OWN))]
        return suffix, own_format(suffix)
    names = [*VOLUMES, *SURFACES, *NASTRAN]
    return _other_format(names[rng.integers(len(names))])


def _tube() -> Mesh:
    return sweep_tube(0.001, 0.005, 0.05, (1, 4, 4), "hex8")


@cache
def own_format(suffix: str) -> bytes:
    """The tube as `write_mesh` writes it."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / f"tube{suffix}"
        write_mesh(_tube(), path)
        return path.read_bytes()


@cache
def _other_format(name: str) -> tuple[str, bytes]:
    tube = _tube()
    if name in NASTRAN:
        return name, _nastran(tube.nodes, tube.cells[:, [0, 1, 3, 4]])
    if name in VOLUMES:
        (suffix, options), cells = VOLUMES[name], [("hexahedron", tube.cells)]
    else:
        (suffix, options), cells = SURFACES[name], [("triangle", tube.cells[:, :3])]
    with tempfile.TemporaryDirectory() as temporary, contextlib.redirect_stderr(io.StringIO()):  # meshio talks
        path = Path(temporary) / f"tube{suffix}"
        meshio.Mesh(tube.nodes, cells).write(path, **options)
        return suffix, path.read_bytes()


def _nastran(nodes: np.ndarray, tetrahedra: np.ndarray) -> bytes:
    points = [f"GRID,{i},,{x:.6g},{y:.6g},{z:.6g}" for i, (x, y, z) in enumerate(nodes.tolist(), 1)]
    cells = [f"CTETRA,{i},1,{','.join(map(str, row))}" for i, row in enumerate((tetrahedra + 1).tolist(), 1)]
    return "\n".join(["BEGIN BULK", *points, *cells, "ENDDATA", ""]).encode()
