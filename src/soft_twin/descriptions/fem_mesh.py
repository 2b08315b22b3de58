"""Where the mesh of a body of finite elements comes from: a file, or a generator. A new one is a class and a key."""

import math
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, model_validator

from soft_twin.descriptions.kinds_of_value import (
    LAW,
    MESH_BELOW,
    NAME,
    NAMED,
    STL_BELOW,
    Number,
    Several,
    Whole,
    in_limits,
    mistake,
)
from soft_twin.descriptions.part import Part

MOST_CELLS = 100_000
LOBE_CELLS = 13  # of one lobe in a section: of the core, the wall and the chamber, see mesh/generate/lobes.py
SAME_SIZE = 0.02  # by which two meshes of one body may differ
TETRAHEDRA_IN_CUBE = 6.0 * math.sqrt(2.0)  # regular ones of edge length 1 in a volume of 1
OWN_SURFACES = ("base", "tip", "outside")  # of generated bodies, whatever their hollows are called
CELL = Several(Whole(0, 500), 3, 3)
SIZE = Several(Number(1e-4, 10.0, "m"), 3, 3)
Size = tuple[float, float, float]
Length = Annotated[float, Number(1e-4, 10.0, "m")]
Diameter = Annotated[float, Number(0.0, 10.0, "m")]
Turn = Annotated[float, Number(-360.0, 360.0, "°")]
Element = Annotated[str, LAW]
Lengths = Annotated[tuple[float, ...], Several(Number(1e-4, 10.0, "m"), 1, 500)]


class Hollow(Part):
    """A box of cells that is left out."""

    first: Annotated[tuple[int, int, int], CELL] = Field(description="cell of one corner, counted from 0")
    last: Annotated[tuple[int, int, int], CELL] = Field(description="cell of the opposite corner, in it")
    name: Annotated[str | None, NAME] = Field(
        default=None,
        description="of the surface around it, none of the body's own such as `tip`; hollows of one name are one",
    )

    @model_validator(mode="after")
    def _has_cells(self) -> "Hollow":
        if any(high < low for low, high in zip(self.first, self.last, strict=True)):
            raise mistake(f"ends at cell {self.last} before it begins at {self.first}", "last")
        return self


class Bump(Part):
    """A bell of Gauss in x and y."""

    height: Annotated[float, Number(-10.0, 10.0, "m")] = Field(description="of its middle; negative: a dent")
    at: Annotated[tuple[float, float], Several(Number(-10.0, 10.0, "m"), 2, 2)] = Field(description="x and y of it")
    widths: Annotated[tuple[float, float], Several(Number(1e-4, 100.0, "m"), 2, 2)] = Field(
        description="standard deviations along x and y"
    )


class Voxels(Part):
    """A block of cells with hollows: the middle of its lowest face is the origin.

    Its surfaces are "base" and "tip" (lowest and highest z), "outside", and "chamber 1", … (closed hollows, the largest
    first). `relief` lifts it, layers and all, as onto a core of that form.
    """

    cells: Annotated[tuple[int, int, int], Several(Whole(1, 500), 3, 3)] = Field(description="along x, y and z")
    size: Annotated[Size, SIZE] = Field(description="of the whole block along x, y and z")
    along: Lengths = Field(default=(), description="of each layer of cells, from the base; without: all are alike")
    along_x: Lengths = Field(default=(), description="of each column of cells along x; without: all are alike")
    along_y: Lengths = Field(default=(), description="of each row of cells along y; without: all are alike")
    element: Element = Field(description="element, see meshes.md, such as `hex20r`")
    hollows: tuple[Hollow, ...] = Field(default=(), max_length=100, description="boxes of cells that are left out")
    relief: tuple[Bump, ...] = Field(default=(), max_length=50, description="by whose sum every node is lifted along z")

    @property
    def extent(self) -> Size:
        """Along x, y and z [m], without its relief."""
        return self.size

    @property
    def lengths(self) -> tuple[tuple[float, ...], ...]:
        """Of the cells along x, y and z [m]; empty: all are alike."""
        return self.along_x, self.along_y, self.along

    @model_validator(mode="after")
    def _fits_together(self) -> "Voxels":
        check_cells(self.cells, "cells")
        check_hollows(self.hollows, self.cells, OWN_SURFACES)
        for key, lengths, count, size in zip(
            ("along_x", "along_y", "along"), self.lengths, self.cells, self.size, strict=True
        ):
            _check_lengths(lengths, count, size, key)
        return self


class Sweep(Part):
    """A tube of hexahedra around +z from z = 0, with hollows: boxes of cells radial, around and along.

    Cells around are counted from +x, or from `turn_deg`, towards +y. Its surfaces are "base", "tip", "outside",
    "lumen", and "chamber 1", …
    """

    outer_diameter: Length = Field(description="outside")
    inner_diameter: Diameter = Field(default=0.0, description="of the lumen; 0: none, and then no hollows")
    length: Length = Field(description="along z")
    divisions: Annotated[tuple[int, int, int], Several(Whole(1, 500), 3, 3)] = Field(
        description="cells radial, around, along"
    )
    grading: Annotated[float, Number(0.2, 5.0)] = Field(
        default=1.0, description="above 1: cells get shorter towards the base"
    )
    radial: Lengths = Field(default=(), description="thickness of each ring of cells, from inside; without: all alike")
    along: Lengths = Field(default=(), description="of each layer of cells, from the base; without: as `grading` says")
    turn_deg: Turn = Field(default=0.0, description="where cells around begin, from +x")
    element: Element = Field(description="of hexahedra, see meshes.md, such as `hex20r`")
    hollows: tuple[Hollow, ...] = Field(default=(), max_length=100, description="boxes of cells that are left out")

    @property
    def extent(self) -> Size:
        """Along x, y and z [m]."""
        return self.outer_diameter, self.outer_diameter, self.length

    @model_validator(mode="after")
    def _fits_together(self) -> "Sweep":
        in_limits(self.inner_diameter, 0.0, 0.99 * self.outer_diameter, "inner_diameter")
        check_cells(self.divisions, "divisions")
        self._check_lengths()
        if self.hollows and not self.inner_diameter:
            raise mistake("around a middle that is full there are no hollows: give a lumen", "inner_diameter")
        check_hollows(self.hollows, self.divisions, (*OWN_SURFACES, "lumen"), self.divisions[1])
        return self

    def _check_lengths(self) -> None:
        radial, _, along = self.divisions
        _check_lengths(self.radial, radial, 0.5 * (self.outer_diameter - self.inner_diameter), "radial")
        _check_lengths(self.along, along, self.length, "along")
        if self.radial and not self.inner_diameter:
            raise mistake("of a middle that is full there are no rings: give a lumen", "radial")
        if self.along and self.grading != 1.0:
            raise mistake("the layers' lengths are in `along`: leave one of them out", "grading")


class StackRing(Part):
    """A ring of a layer, or a disc."""

    name: Annotated[str, NAMED] = Field(description="of the volume that it is a part of")
    inner_diameter: Diameter = Field(default=0.0, description="0: a disc")
    outer_diameter: Length = Field(description="outside")
    divisions: Annotated[int, Whole(1, 100)] = Field(default=1, description="cells from inside to outside")


class StackLayer(Part):
    """A layer of a stack: what is in no ring is hollow."""

    length: Length = Field(description="along z")
    divisions: Annotated[int, Whole(1, 1000)] = Field(description="cells along z")
    grading: Annotated[float, Number(0.2, 5.0)] = Field(
        default=1.0, description="above 1: the first cells are the shortest"
    )
    rings: tuple[StackRing, ...] = Field(min_length=1, max_length=20, description="of its section")


class Stack(Part):
    """Layers on one another along +z from z = 0, such as segments, bases and caps, each of rings around z.

    Where layers meet they are cut at the same diameters. Its volumes are the rings' names; its surfaces "base", "tip",
    "outside", "lumen" (what looks to the axis), "steps" (what is level between) and "chamber 1", … (closed hollows).
    """

    around: Annotated[int, Whole(3, 500)] = Field(description="cells around; of discs a multiple of four")
    turn_deg: Turn = Field(default=0.0, description="where cells around begin, from +x")
    element: Element = Field(description="of hexahedra, see meshes.md, such as `hex20r`")
    layers: tuple[StackLayer, ...] = Field(min_length=1, max_length=100, description="from the base")

    @property
    def extent(self) -> Size:
        """Along x, y and z [m]."""
        widest = max(ring.outer_diameter for layer in self.layers for ring in layer.rings)
        return widest, widest, sum(layer.length for layer in self.layers)

    @model_validator(mode="after")
    def _fits_together(self) -> "Stack":
        sections = [layer.divisions * sum(ring.divisions for ring in layer.rings) for layer in self.layers]
        check_cells((sum(sections), self.around), "layers")
        for i, layer in enumerate(self.layers):
            for j, ring in enumerate(layer.rings):
                at = "layers", i, "rings", j, "inner_diameter"
                in_limits(ring.inner_diameter, 0.0, 0.999 * ring.outer_diameter, *at)
        return self


class LobedSegment(Part):
    """A part of a lobed body with chambers."""

    length: Length = Field(description="along z")
    radii: Annotated[tuple[float, float], Several(Number(1e-4, 1.0, "m"), 2, 2)] = Field(
        description="of its lobes, at its lower and its upper end"
    )
    divisions: Annotated[int, Whole(1, 1000)] = Field(description="cells along z")


class Lobes(Part):
    """An arm along +z from z = 0 of lobes around a core, half discs in section, with a chamber in each: an arm of
    one or more segments that may taper, between caps.

    Its surfaces are "base", "tip", "outside" and "chamber 1", …, from the base, in each segment from +x towards +y; its
    volumes "core", "caps" and "wall 1", …, the walls around each chamber.
    """

    lobes: Annotated[int, Whole(3, 12)] = Field(default=3, description="of each section")
    wall: Length = Field(description="thickness of the lobes' walls")
    segments: tuple[LobedSegment, ...] = Field(min_length=1, max_length=20, description="from the base")
    caps: Lengths = Field(description="heights of what is full: below, between and above the segments")
    element: Element = Field(description="of hexahedra, see meshes.md, such as `hex20r`")

    @property
    def extent(self) -> Size:
        """Along x, y and z [m], of the circle around all lobes."""
        radius = max(radius for segment in self.segments for radius in segment.radii)
        across = 2.0 * radius * (1.0 + 1.0 / math.tan(math.pi / self.lobes))
        return across, across, sum(segment.length for segment in self.segments) + sum(self.caps)

    @model_validator(mode="after")
    def _fits_together(self) -> "Lobes":
        if len(self.caps) != len(self.segments) + 1:
            raise mistake(f"{len(self.caps)} caps for {len(self.segments)} segments: one more is needed", "caps")
        for i, segment in enumerate(self.segments):
            if min(segment.radii) <= self.wall:
                raise mistake(
                    f"{min(segment.radii):g} m is no more than the wall, {self.wall:g} m", "segments", i, "radii"
                )
            end = segment.radii[0] if i == 0 else self.segments[i - 1].radii[1]
            if segment.radii[0] != end:
                words = f"begins with {segment.radii[0]:g} m where the one before ends with {end:g} m"
                raise mistake(words, "segments", i, "radii")
        layers = sum(segment.divisions for segment in self.segments) + len(self.caps)
        check_cells((self.lobes, LOBE_CELLS, layers), "segments")
        return self


class GmshTube(Part):
    """A tube of tetrahedra around +z from z = 0, by Gmsh; its surfaces are "base", "tip", "outside" and "lumen"."""

    outer_diameter: Length = Field(description="outside")
    inner_diameter: Diameter = Field(default=0.0, description="of the lumen; 0: none")
    length: Length = Field(description="along z")
    cell: Length = Field(description="edge length of cells")
    element: Element = Field(default="tet10", description="tet10 or tet4")

    @property
    def extent(self) -> Size:
        """Along x, y and z [m]."""
        return self.outer_diameter, self.outer_diameter, self.length

    @model_validator(mode="after")
    def _fits_together(self) -> "GmshTube":
        in_limits(self.inner_diameter, 0.0, 0.95 * self.outer_diameter, "inner_diameter")
        area = 0.25 * math.pi * (self.outer_diameter**2 - self.inner_diameter**2)
        check_tetrahedra(area * self.length, self.cell, self.element)
        return self


class Stl(Part):
    """A body of tetrahedra that Gmsh fills closed surfaces with: an STL file beside this description.

    The file's largest shell is the outside, the others are hollows. Its surfaces are "base" and "tip" (lowest and
    highest z), "outside", and "chamber 1", … (the largest first).
    """

    file: Annotated[str, STL_BELOW] = Field(description="file beside this description")
    unit: Annotated[float, Number(1e-6, 1.0, "m")] = Field(default=1.0, description="of the file; 0.001: millimetres")
    size: Annotated[Size, SIZE] = Field(description="how large its body is along x, y and z, so that units are checked")
    cell: Length = Field(description="edge length of cells")
    edge_deg: Annotated[float, Number(1.0, 180.0, "°")] = Field(
        default=40.0, description="faces that turn by more than this meet at an edge that is kept"
    )
    element: Element = Field(default="tet10", description="tet10 or tet4")

    @property
    def extent(self) -> Size:
        """Along x, y and z [m]."""
        return self.size

    @model_validator(mode="after")
    def _fits_together(self) -> "Stl":
        check_tetrahedra(math.prod(self.size), self.cell, self.element)
        return self


class MeshSource(Part):
    """Where the mesh comes from: one of `file` and the generators."""

    file: Annotated[str | None, MESH_BELOW] = Field(
        default=None, description="file beside this description, or in the folder meshes/"
    )
    size: Annotated[Size | None, SIZE] = Field(
        default=None, description="with `file`: how large its body is along x, y and z, so that units are checked"
    )
    element: Annotated[str | None, LAW] = Field(
        default=None, description="with `file`, where its cells may be more than one, such as `hex20` or `hex20r`"
    )
    voxels: Voxels | None = Field(default=None, description="a block of cells")
    sweep: Sweep | None = Field(default=None, description="a tube of hexahedra, with chambers perhaps")
    stack: Stack | None = Field(default=None, description="segments of rings and discs")
    lobes: Lobes | None = Field(default=None, description="an arm of lobes with chambers")
    tube: GmshTube | None = Field(default=None, description="a tube of tetrahedra, by Gmsh")
    stl: Stl | None = Field(default=None, description="a closed surface, filled by Gmsh")

    @property
    def generator(self) -> Voxels | Sweep | Stack | Lobes | GmshTube | Stl | None:
        """The one that there is, if it is no file."""
        return self.voxels or self.sweep or self.stack or self.lobes or self.tube or self.stl

    @property
    def is_at_origin(self) -> bool:
        """Whether its base is known to be there before it is read: a file may have it anywhere."""
        return self.file is None and self.stl is None

    @property
    def extent(self) -> Size:
        """How large the body is along x, y and z [m]."""
        return self.size if self.generator is None else self.generator.extent

    @model_validator(mode="after")
    def _is_one(self) -> "MeshSource":
        sources = ("file", "voxels", "sweep", "stack", "lobes", "tube", "stl")
        given = [key for key in sources if getattr(self, key) is not None]
        if len(given) != 1:
            words = ", ".join(sources[:-1]) + f" and {sources[-1]}"
            raise mistake(f"expected one of {words}, found {' and '.join(given) or 'none'}")
        if self.file is not None and self.size is None:
            raise mistake("'size' is missing beside 'file': how large the body is along x, y and z, in metres")
        if self.file is None and self.size is not None:
            raise mistake("belongs to 'file': how large the body is, in metres", "size")
        if self.file is None and self.element is not None:
            raise mistake("belongs to 'file': a generator has an element of its own", "element")
        return self


def check_same_size(own: MeshSource, body: MeshSource, *at: str) -> None:
    """Raise a mistake where a mesh of a body's own is not as large as the body's."""
    if any(abs(a - b) > SAME_SIZE * b for a, b in zip(own.extent, body.extent, strict=True)):
        found, wanted = (" x ".join(f"{length:g}" for length in each.extent) for each in (own, body))
        raise mistake(f"measures {found} m, the body {wanted} m: it is the same body", *at)


def _check_lengths(lengths: Sequence[float], count: int, size: float, key: str) -> None:
    """Raise a mistake where cells of these lengths are not as many and as long as the block."""
    if lengths and (len(lengths) != count or abs(sum(lengths) - size) > 1e-6 * size):
        words = f"{len(lengths)} layers of {sum(lengths):g} m in all are not {count} of {size:g} m"
        raise mistake(words, key)


def check_cells(divisions: Sequence[int], *at: str | int) -> None:
    """Raise a mistake where a product of numbers of cells is too large."""
    if math.prod(divisions) > MOST_CELLS:
        raise mistake(f"{math.prod(divisions)} cells are more than {MOST_CELLS}", *at)


def check_hollows(
    hollows: Sequence[Hollow], cells: Sequence[int], own: Sequence[str], around: int | None = None
) -> None:
    """Raise a mistake where a hollow is beyond the body's cells, is called like one of the body's `own` surfaces, or
    no cell is between two of different names. `around`: number of cells after which the second axis begins anew."""
    for i, hollow in enumerate(hollows):
        if hollow.name in own:
            words = f"'{hollow.name}' is a surface of the body's own, as are {', '.join(own)}: call it otherwise"
            raise mistake(words, "hollows", i, "name")
        if any(last >= count for last, count in zip(hollow.last, cells, strict=True)):
            raise mistake(f"{hollow.last} is no cell of a body of {tuple(cells)}", "hollows", i, "last")
        for other in hollows[:i]:
            if None not in (hollow.name, other.name) and hollow.name != other.name and _touch(hollow, other, around):
                wanted = "leave a cell between them, or give them one name"
                raise mistake(f"there is no wall between '{hollow.name}' and '{other.name}': {wanted}", "hollows", i)


def _touch(one: Hollow, other: Hollow, around: int | None) -> bool:
    """Whether two hollows have cells in common, or faces of them."""
    apart = []
    for axis in range(3):
        turns = (0,) if axis != 1 or around is None else (-around, 0, around)
        pairs = [(one.first[axis] - other.last[axis] + n, other.first[axis] - one.last[axis] - n) for n in turns]
        apart.append(max(0, min(max(pair) for pair in pairs)))
    return sum(apart) <= 1


def check_tetrahedra(volume: float, size: float, element: str) -> None:
    """Raise a mistake where a volume [m³] in cells of a size [m] makes too many, or they are no tetrahedra."""
    if element not in ("tet4", "tet10"):
        raise mistake(f"'{element}' is none of tet4, tet10: Gmsh makes tetrahedra", "element")
    if TETRAHEDRA_IN_CUBE * volume / size**3 > MOST_CELLS:
        count = TETRAHEDRA_IN_CUBE * volume / size**3
        raise mistake(f"makes about {count:.2g} cells, more than {MOST_CELLS}", "cell")
