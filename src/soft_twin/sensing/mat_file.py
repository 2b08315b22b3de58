"""Arrays of real numbers from MATLAB 5 files, every size checked: scipy's reader crashes on some that are broken.

The format is that of "MAT-File Format" (MathWorks): a header of 128 bytes, then elements of type, size and data; an
array is an element that holds flags, dimensions, name and numbers, and may be compressed whole.
"""

import itertools
import math
import struct
import zlib
from collections.abc import Collection, Iterator

import numpy as np

HEADER = 128  # [bytes]
BEGINNING = 1024  # [bytes] of an array in which its name stands
ARRAY, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
NUMERIC_CLASSES = range(6, 16)
COMPLEX = 0x0800
WORDS = {4: "text", 1: "cells", 2: "a structure", 3: "an object", 5: "a sparse matrix"}


def mat_arrays(data: bytes, names: Collection[str], most: int) -> dict[str, np.ndarray]:
    """The arrays of these names that are in a file's bytes, without dimensions of length 1.

    Args:
        data: of the file.
        names: of the arrays; others are not unpacked.
        most: size of one array's bytes, unpacked.

    Raises:
        ValueError: the bytes are no such file, broken, or one of the arrays is too large or holds no real numbers.
    """
    if len(data) < HEADER or data[126:128] not in (b"IM", b"MI") or not data.startswith(b"MATLAB 5.0"):
        raise ValueError("no MATLAB 5 file")
    order = "<" if data[126:128] == b"IM" else ">"
    found = {}
    try:
        for kind, content in _elements(data[HEADER:], order):
            if kind not in (ARRAY, COMPRESSED):
                raise ValueError(f"an element of kind {kind}, expected an array")
            name = _beginning(kind, content, order)
            if name in names:
                found[name] = _array(_whole(kind, content, order, most), order)
    except (struct.error, zlib.error, IndexError, UnicodeDecodeError, TypeError) as error:
        raise ValueError(f"broken: {error or type(error).__name__}") from error
    return found


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Type and data of one element after the other."""
    place = 0
    while place < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, place)
        start = place + 8
        if kind >> 16:  # small: size and type in four bytes, data in the next four
            kind, size, start = kind & 0xFFFF, kind >> 16, place + 4
            place += 8
            if size > 4:
                raise ValueError(f"a small element of {size} bytes")
        else:
            place = start + size + (-size % 8 if kind != COMPRESSED else 0)
        if start + size > len(data):
            raise ValueError(f"an element of {size} bytes, of which {max(len(data) - start, 0)} are there")
        yield kind, data[start : start + size]


def _beginning(kind: int, content: bytes, order: str) -> str:
    """An array's name."""
    if kind == COMPRESSED:
        content = zlib.decompressobj().decompress(content, BEGINNING)[8:]
    parts = _elements(content, order)
    _, _, (_, name) = itertools.islice(parts, 3)
    return name.decode("latin-1")


def _whole(kind: int, content: bytes, order: str, most: int) -> bytes:
    """An array's bytes, unpacked."""
    if kind == ARRAY:
        return content
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(content, most + 1)
    if len(data) > most:
        raise ValueError(f"an array that unpacks to more than {most} bytes")
    if not unpacker.eof:
        raise ValueError("a compressed array that ends too early")
    ((kind, content),) = _elements(data, order)
    if kind != ARRAY:
        raise ValueError(f"a compressed element of kind {kind}, expected an array")
    return content


def _array(content: bytes, order: str) -> np.ndarray:
    parts = _elements(content, order)
    (_, flags), (_, dimensions), (_, name), *rest = parts
    kind, numbers = rest[0] if rest else (0, b"")
    flag = struct.unpack_from(f"{order}I", flags)[0]
    shape = tuple(np.frombuffer(dimensions, f"{order}i4").tolist())
    if flag & 0xFF not in NUMERIC_CLASSES or flag & COMPLEX or kind not in NUMBERS:
        what = "complex numbers" if flag & COMPLEX else WORDS.get(flag & 0xFF, "something else")
        raise ValueError(f"'{name.decode('latin-1')}' holds {what}, expected numbers")
    values = np.frombuffer(numbers, f"{order}{NUMBERS[kind]}")
    if not 2 <= len(shape) <= 8 or min(shape) < 0 or math.prod(shape) != len(values):
        raise ValueError(f"'{name.decode('latin-1')}' is {len(values)} numbers, expected those of a shape {shape}")
    return np.squeeze(values.reshape(shape, order="F"))
