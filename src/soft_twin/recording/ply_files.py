"""PLY files of scanned surfaces: points, their normals where there are some, and triangles where there are faces.

Text or binary, of either byte order, with whatever else an element has; faces of more corners become fans of triangles.
What the header says is compared with the size of the file before anything is read. (meshio's reader takes a file that
ends too early as it is, believes any number of points, and knows few of the types and names that scanners write.)
"""

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError, RecordingError
from soft_twin.files import checked_file, checked_path, one_line, whole_file

MAX_SIZE = 200_000_000  # [bytes]
MAX_POINTS, MAX_FACES = 2_000_000, 4_000_000
MAX_HEADER = 65_536  # [bytes]
AXES, NORMALS = ("x", "y", "z"), ("nx", "ny", "nz")
CORNERS = ("vertex_indices", "vertex_index")  # names of a face's list
TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"), **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"), **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"), **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"), **dict.fromkeys(("double", "float64"), "f8"),
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


class PlySurface(NamedTuple):
    """What a file has.

    Attributes:
        points: (k, 3) in the file's unit.
        normals: (k, 3) as they are in the file, of any length; None: none.
        triangles: (t, 3) numbers of points.
    """

    points: np.ndarray
    normals: np.ndarray | None
    triangles: np.ndarray


@dataclass(frozen=True)
class _Property:
    """A value of an element, or, where `counted` is the type of its length, a list of them."""

    name: str
    kind: str
    counted: str | None = None


@dataclass(frozen=True)
class _Element:
    """So many rows of properties."""

    name: str
    count: int
    properties: tuple[_Property, ...]

    @property
    def has_lists(self) -> bool:
        return any(each.counted for each in self.properties)

    @property
    def least(self) -> int:
        """The least size of a binary row [bytes]."""
        return sum(np.dtype(each.counted or each.kind).itemsize for each in self.properties)


class _WrongError(ValueError):
    """What is wrong with a file, in words."""


def read_ply(path: str | Path) -> PlySurface:
    """The surface in a file.

    Raises:
        RecordingError: it is missing, too large, broken, or ends too early.
    """
    path = checked_file(path, "scan", MAX_SIZE, RecordingError)
    try:
        data = path.read_bytes()
        order, elements, start = _header(data)
        body = _Text(data[start:]) if order == "" else _Binary(data, start, order)
        found = {}
        for element in elements:
            found[element.name] = body.rows(element)
            if {"vertex", "face"} <= set(found):
                break
        return _surface(found)
    except (ValueError, OverflowError, MemoryError, OSError) as error:
        raise RecordingError(f"{path}: not readable as a PLY file: {one_line(error)}") from error


def write_ply(
    path: str | Path, points: np.ndarray, normals: np.ndarray | None = None, triangles: np.ndarray | None = None
) -> None:
    """A binary file of points (k, 3), with normals (k, 3) and triangles (t, 3) where they are given.

    Raises:
        InputError: arrays of other shapes, or corners that are none of the points.
        OSError: it cannot be written.
    """
    path, points = checked_path(path, "scan", InputError), _checked_rows(points, "points")
    if normals is not None and len(normals := _checked_rows(normals, "normals")) != len(points):
        raise InputError(f"scan: {len(points)} points, but {len(normals)} normals")
    columns = points if normals is None else np.column_stack([points, normals])
    names = AXES if normals is None else AXES + NORMALS
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
    lines += [f"property double {name}" for name in names]
    faces = b""
    if triangles is not None:
        triangles = _checked_rows(triangles, "triangles")
        if not ((triangles >= 0) & (triangles < len(points)) & (triangles % 1.0 == 0.0)).all():
            raise InputError(f"scan: it has triangles with corners that are none of its {len(points)} points")
        lines += [f"element face {len(triangles)}", "property list uchar int vertex_indices"]
        rows = np.zeros(len(triangles), [("count", "u1"), ("corners", "<i4", 3)])
        rows["count"], rows["corners"] = 3, triangles
        faces = rows.tobytes()
    header = "\n".join([*lines, "end_header\n"]).encode("ascii")
    with whole_file(path) as partial:
        partial.write_bytes(header + np.ascontiguousarray(columns, "<f8").tobytes() + faces)


def _checked_rows(values: np.ndarray, what: str) -> np.ndarray:
    """(n, 3) numbers."""
    found = checked_numbers(values, f"{what} (n, 3)", "scan")
    if found.ndim != 2 or found.shape[1] != 3:
        raise InputError(f"scan: expected {what} (n, 3), found an array of shape {found.shape}")
    return found


def _header(data: bytes) -> tuple[str, list[_Element], int]:
    """Order of the bytes ("" for text), elements, and where they begin."""
    end = re.search(rb"end_header[ \t]*\r?\n", data[:MAX_HEADER])
    if not data.startswith(b"ply") or end is None:
        raise _WrongError("it has no header, which begins with 'ply' and ends with 'end_header'")
    lines = data[: end.start()].decode("ascii", "replace").split("\n")[1:]
    words = [line.split() for line in lines if line.split() and line.split()[0] not in ("comment", "obj_info")]
    if not words or words[0][0] != "format" or len(words[0]) < 2 or words[0][1] not in ORDERS:
        raise _WrongError(f"expected a line 'format' with one of {', '.join(ORDERS)}")
    elements: list[_Element] = []
    for row in words[1:]:
        if row[0] == "element" and len(row) == 3 and row[2].isdecimal():
            elements.append(_Element(row[1], int(row[2]), ()))
        elif row[0] == "property" and elements:
            last = elements[-1]
            elements[-1] = _Element(last.name, last.count, (*last.properties, _property(row)))
        else:
            raise _WrongError(f"its header has a line '{' '.join(row)[:80]}'")
    return ORDERS[words[0][1]], elements, end.end()


def _property(row: list[str]) -> _Property:
    kinds = row[2:4] if row[1:2] == ["list"] else row[1:2]
    if len(row) != len(kinds) + (3 if len(kinds) == 2 else 2) or any(kind not in TYPES for kind in kinds):
        raise _WrongError(f"its header has a property '{' '.join(row)[:80]}'")
    if len(kinds) == 1:
        return _Property(row[-1], TYPES[kinds[0]])
    if TYPES[kinds[0]].startswith("f"):
        raise _WrongError(f"its header has a list that is counted by {kinds[0]}")
    return _Property(row[-1], TYPES[kinds[1]], TYPES[kinds[0]])


def _check_count(element: _Element, available: int, least: int) -> None:
    """Refuse an element that says it has more than the rest of the file can hold [bytes]."""
    most = {"vertex": MAX_POINTS, "face": MAX_FACES}.get(element.name, MAX_FACES)
    if element.count > most:
        raise _WrongError(f"it says that it has {element.count} rows '{element.name}': at most {most} are read")
    if element.count * max(least, 1) > available:
        raise _WrongError(
            f"it ends too early: {element.count} rows '{element.name}' take {element.count * least} bytes or more, "
            f"{available} are there"
        )


class _Binary:
    """Rows of a binary file."""

    def __init__(self, data: bytes, start: int, order: str):
        self._data, self._at, self._order = data, start, order

    def rows(self, element: _Element) -> dict[str, np.ndarray]:
        """Values of each property, lists of triangles' corners among them (t, 3)."""
        _check_count(element, len(self._data) - self._at, element.least)
        if element.has_lists:
            return self._lists(element)
        kinds = [(f"{i}", self._order + each.kind) for i, each in enumerate(element.properties)]
        found = np.frombuffer(self._data, np.dtype(kinds), element.count, self._at)
        self._at += found.nbytes
        return {each.name: found[f"{i}"] for i, each in enumerate(element.properties)}

    def _lists(self, element: _Element) -> dict[str, np.ndarray]:
        alike = self._alike(element)
        if alike is not None:
            return alike
        fans: dict[str, list[np.ndarray]] = {each.name: [] for each in element.properties if each.counted}
        for _ in range(element.count):
            for each in element.properties:
                count = 1 if each.counted is None else int(self._next(each.counted, 1)[0])
                values = self._next(each.kind, count)
                if each.counted:
                    fans[each.name].append(_fan(values))
        return {name: np.concatenate(own) if own else np.zeros((0, 3), int) for name, own in fans.items()}

    def _alike(self, element: _Element) -> dict[str, np.ndarray] | None:
        """Where all rows have lists as long as the first one's, as faces of triangles do, all at once; else None."""
        if not element.count:
            return None
        start, kinds, lengths = self._at, [], {}
        for i, each in enumerate(element.properties):
            count = 1
            if each.counted:
                count = int(self._next(each.counted, 1)[0])
                kinds.append((f"count {i}", self._order + each.counted))
                lengths[i] = count
            self._next(each.kind, count)
            kinds.append((f"{i}", self._order + each.kind, (count,)))
        row, self._at = np.dtype(kinds), start
        if row.itemsize * element.count > len(self._data) - start:
            return None
        found = np.frombuffer(self._data, row, element.count, start)
        if any((found[f"count {i}"] != count).any() for i, count in lengths.items()):
            return None
        self._at += found.nbytes
        return {element.properties[i].name: _fan(found[f"{i}"]) for i in lengths}

    def _next(self, kind: str, count: int) -> np.ndarray:
        size = np.dtype(kind).itemsize * count
        if count < 0 or self._at + size > len(self._data):
            raise _WrongError("it ends too early, in a list")
        found = np.frombuffer(self._data, self._order + kind, count, self._at)
        self._at += size
        return found


class _Text:
    """Rows of a text file, a line each."""

    def __init__(self, data: bytes):
        self._stream, self._left = io.BytesIO(data), len(data)

    def rows(self, element: _Element) -> dict[str, np.ndarray]:
        """As _Binary's."""
        _check_count(element, self._left + 1, 2 * len(element.properties))  # the last line may have no end
        lines = [self._line(element) for _ in range(element.count)]
        if element.has_lists:
            return self._lists(element, lines)
        width = len(element.properties)
        if not lines or not width:
            return {each.name: np.zeros(0) for each in element.properties}
        found = np.loadtxt(lines, ndmin=2)
        if found.shape != (element.count, width):
            raise _WrongError(f"rows '{element.name}': expected {width} numbers in each")
        return {each.name: found[:, i] for i, each in enumerate(element.properties)}

    def _lists(self, element: _Element, lines: list[bytes]) -> dict[str, np.ndarray]:
        fans: dict[str, list[np.ndarray]] = {each.name: [] for each in element.properties if each.counted}
        for line in lines:
            words = line.split()
            for each in element.properties:
                count = int(words.pop(0)) if each.counted and words else 1
                values, words = words[:count], words[max(count, 0) :]
                if count < 0 or len(values) < count:
                    raise _WrongError(f"a row '{element.name}' ends too early")
                if each.counted:
                    fans[each.name].append(_fan(np.array([float(word) for word in values])))
        return {name: np.concatenate(own) if own else np.zeros((0, 3), int) for name, own in fans.items()}

    def _line(self, element: _Element) -> bytes:
        for line in self._stream:
            self._left -= len(line)
            if line.strip():
                return line
        raise _WrongError(f"it ends too early, among rows '{element.name}'")


def _fan(corners: np.ndarray) -> np.ndarray:
    """(t, 3) triangles of polygons (…, c) of c corners, all at the first of them."""
    each = np.atleast_2d(corners).astype(float)
    parts = [each[:, [0, i, i + 1]] for i in range(1, each.shape[1] - 1)]
    return np.concatenate(parts) if parts else np.zeros((0, 3))


def _surface(found: dict[str, dict[str, np.ndarray]]) -> PlySurface:
    vertex = found.get("vertex", {})
    missing = [name for name in AXES if name not in vertex]
    if missing:
        raise _WrongError(f"it has no points with {', '.join(missing)}")
    points, normals = _columns(vertex, AXES), None
    if set(NORMALS) <= set(vertex):
        normals = _columns(vertex, NORMALS)
    face = found.get("face", {})
    name = next((name for name in CORNERS if name in face), None)
    corners = np.zeros((0, 3)) if name is None else face[name]
    if len(corners) and not ((corners >= 0) & (corners < len(points)) & (corners % 1.0 == 0.0)).all():
        raise _WrongError(f"it has faces with corners that are none of its {len(points)} points")
    return PlySurface(points, normals, corners.astype(int))


def _columns(vertex: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    found = np.column_stack([np.asarray(vertex[name]) for name in names])
    if found.dtype.kind not in "fiu" or found.ndim != 2:
        raise _WrongError(f"{', '.join(names)} are no numbers")
    return found.astype(float)
