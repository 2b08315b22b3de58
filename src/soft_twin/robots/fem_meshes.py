"""The mesh of a body of finite elements: read from the file beside its description, or generated."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin import resources
from soft_twin.mesh.elements import element_named
from soft_twin.mesh.generate.hollows import hollowed, surfaces_of_block
from soft_twin.mesh.generate.lobes import Segment, lobed_arm
from soft_twin.mesh.generate.sweep import Layer, Ring, sweep_stack, sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh, check_extent, check_unit
from soft_twin.mesh.selection import shells

if TYPE_CHECKING:
    from soft_twin.descriptions import fem_mesh as descriptions


def build_mesh(source: "descriptions.MeshSource", folder: Path) -> Mesh:
    """The mesh that a description in a folder asks for.

    Raises:
        MeshError: its file is missing, broken, or of another size; or what it describes is no body.
        UsageError: Gmsh is needed and cannot be loaded.
    """
    for key, build in _GENERATORS.items():
        if getattr(source, key) is not None:
            return build(getattr(source, key), folder)
    mesh = read_source(source.file, source.element, folder)
    check_unit(mesh, np.array(source.size), str(mesh_file(source, folder)))
    return mesh


def read_source(file: str, element: str | None, folder: Path) -> Mesh:
    """The mesh in a file beside a description in a folder, or among the package's.

    Raises:
        MeshError: it is missing or broken.
    """
    from soft_twin.mesh.files import read_mesh  # here, since loading meshio takes a fifth of a second

    return with_surfaces(read_mesh(_place_of(file, folder), None if element is None else element_named(element)))


def mesh_file(source: "descriptions.MeshSource", folder: Path) -> Path | None:
    """The file that the mesh of a description in a folder comes from, whether it is there or not; None without one."""
    if source.stl is not None:
        return folder / source.stl.file
    return None if source.file is None else _place_of(source.file, folder)


def _place_of(file: str, folder: Path) -> Path:
    beside, common = folder / file, resources.folder("meshes") / file
    return common if common.exists() and not beside.exists() else beside


def with_surfaces(mesh: Mesh) -> Mesh:
    """A mesh whose file names no surfaces gets "base" and "tip" (lowest and highest z), "outside" and "chamber 1", …"""
    return mesh if mesh.surfaces else replace(mesh, surfaces=surfaces_of_block(mesh))


def _voxels(source: "descriptions.Voxels", folder: Path) -> Mesh:
    """The block, with the middle of its lowest face at the origin."""
    size = np.array(source.size)
    whole = voxel_mesh(np.ones(source.cells, dtype=bool), size / source.cells, source.element)
    nodes = whole.nodes - [0.5 * size[0], 0.5 * size[1], 0.0]
    for axis, lengths in enumerate(source.lengths):
        if lengths:
            start = 0.0 if axis == 2 else -0.5 * size[axis]
            equal = start + size[axis] * np.linspace(0.0, 1.0, len(lengths) + 1)
            nodes[:, axis] = np.interp(nodes[:, axis], equal, _ends(start, lengths))
    whole = replace(whole, nodes=nodes + relief(source, nodes))
    return hollowed(whole, _taken(source, source.cells, len(whole.cells)), "voxels")


def relief(source: "descriptions.Voxels", nodes: np.ndarray) -> np.ndarray:
    """(n, 3) [m] by which the relief of a block lifts nodes (n, 3), whose z does not count."""
    lift = np.zeros_like(nodes)
    for bump in source.relief:
        lift[:, 2] += bump.height * np.exp(-0.5 * (((nodes[:, :2] - bump.at) / bump.widths) ** 2).sum(axis=1))
    return lift


def _sweep(source: "descriptions.Sweep", folder: Path) -> Mesh:
    radii = 0.5 * source.inner_diameter, 0.5 * source.outer_diameter
    whole = sweep_tube(*radii, source.length, source.divisions, source.element, source.grading)
    whole = _turned(replace(whole, nodes=_drawn_out(whole.nodes, source, *radii)), source.turn_deg)
    if not source.inner_diameter:
        return whole
    radial, around, along = source.divisions
    ring = np.broadcast_to(np.arange(radial)[:, None], (along, radial, around)).ravel()
    layer = np.repeat(np.arange(along), radial * around)
    rings = {f"ring {i + 1}": np.flatnonzero(ring == i) for i in range(radial)}
    rings |= {f"layer {i + 1}": np.flatnonzero(layer == i) for i in range(along)}
    taken = _taken(source, source.divisions, len(whole.cells), (2, 0, 1))
    return hollowed(replace(whole, volumes=rings, groups={}), taken, "sweep")


def _drawn_out(nodes: np.ndarray, source: "descriptions.Sweep", inner: float, outer: float) -> np.ndarray:
    """Nodes of a tube of equal cells, moved to where its rings and layers are."""
    x, y, z = nodes.T
    if source.radial:
        radius = np.hypot(x, y)
        moved = np.interp(radius, np.linspace(inner, outer, len(source.radial) + 1), _ends(inner, source.radial))
        x, y = x * moved / radius, y * moved / radius
    if source.along:
        z = np.interp(z, np.linspace(0.0, source.length, len(source.along) + 1), _ends(0.0, source.along))
    return np.column_stack([x, y, z])


def _ends(start: float, lengths: Sequence[float]) -> np.ndarray:
    return start + np.cumsum([0.0, *lengths])


def _taken(source, shape, count: int, order=(0, 1, 2)) -> list[tuple[str | None, np.ndarray]]:
    """Names and masks (m,) of the hollows' cells, which are in the `order` of the axes of a grid of a shape."""
    masks, per_cell = [], count // int(np.prod(shape))
    for hollow in source.hollows:
        grid = np.zeros(shape, dtype=bool)
        grid[tuple(slice(low, high + 1) for low, high in zip(hollow.first, hollow.last, strict=True))] = True
        masks.append((hollow.name, np.repeat(grid.transpose(order).ravel(), per_cell)))
    return masks


def _stack(source: "descriptions.Stack", folder: Path) -> Mesh:
    layers = [
        Layer(
            layer.length,
            [Ring(0.5 * r.inner_diameter, 0.5 * r.outer_diameter, r.name, r.divisions) for r in layer.rings],
            layer.divisions,
            layer.grading,
        )
        for layer in source.layers
    ]
    return _with_chambers(_turned(sweep_stack(layers, source.around, source.element), source.turn_deg))


def _lobes(source: "descriptions.Lobes", folder: Path) -> Mesh:
    segments = [Segment(each.length, each.radii, each.divisions) for each in source.segments]
    return lobed_arm(source.lobes, source.wall, segments, source.caps, source.element)


def _turned(mesh: Mesh, degrees: float) -> Mesh:
    """About z; where it is not turned, to the last bit as it was."""
    if not degrees:
        return mesh
    return replace(mesh, nodes=Rotation.from_euler("z", degrees, degrees=True).apply(mesh.nodes))


def _tube(source: "descriptions.GmshTube", folder: Path) -> Mesh:
    from soft_twin.mesh.generate.gmsh_tube import tube_tetrahedra

    radii = 0.5 * source.inner_diameter, 0.5 * source.outer_diameter
    return tube_tetrahedra(*radii, source.length, source.cell, order=2 if source.element == "tet10" else 1)


def _stl(source: "descriptions.Stl", folder: Path) -> Mesh:
    from soft_twin.mesh.generate.gmsh_stl import fill_stl

    order = 2 if source.element == "tet10" else 1
    check = partial(check_extent, unit=source.unit, expected=np.array(source.size), name=source.file)
    mesh = fill_stl(folder / source.file, source.cell / source.unit, source.edge_deg, order, check)
    return replace(mesh, nodes=source.unit * mesh.nodes)


def _with_chambers(mesh: Mesh) -> Mesh:
    """With names "chamber 1", … for closed hollows, the largest first."""
    return replace(
        mesh, surfaces={**mesh.surfaces, **{f"chamber {i + 1}": part for i, part in enumerate(shells(mesh)[1:])}}
    )


_GENERATORS: dict[str, Callable[..., Mesh]] = {
    "voxels": _voxels,
    "sweep": _sweep,
    "stack": _stack,
    "lobes": _lobes,
    "tube": _tube,
    "stl": _stl,
}
