"""Arrays of numbers from an .npz file: sizes are checked before anything is unpacked, nothing is unpickled."""

import math
import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

from soft_twin.errors import RecordingError
from soft_twin.files import checked_file, one_line


def read_npz(path: str | Path, names: Collection[str], most: int) -> dict[str, np.ndarray]:
    """Some arrays of an .npz file, as floating point numbers.

    Args:
        path: of the file.
        names: of the arrays; others are not looked at.
        most: size of the file, and of the arrays together [bytes].

    Raises:
        RecordingError: the file is missing, unreadable, too large, or has no such arrays of numbers.
    """
    path = checked_file(path, "recording", most, RecordingError)
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = _sizes(archive, names, path)
            if sum(sizes.values()) > most:
                raise RecordingError(f"{path}: its arrays unpack to {sum(sizes.values())} bytes, more than {most}")
            return {name: _array(archive, name, size, path) for name, size in sizes.items()}
    except RecordingError:
        raise
    except Exception as error:  # zip archives and .npy headers can be broken in any way
        raise RecordingError(f"{path}: not readable as .npz: {one_line(error)}") from error


def _sizes(archive: zipfile.ZipFile, names: Collection[str], path: Path) -> dict[str, int]:
    there = {info.filename: info.file_size for info in archive.infolist()}
    missing = [name for name in names if f"{name}.npy" not in there]
    if missing:
        raise RecordingError(f"{path}: no array '{missing[0]}': expected the arrays {', '.join(names)}")
    return {name: there[f"{name}.npy"] for name in names}


def _array(archive: zipfile.ZipFile, name: str, size: int, path: Path) -> np.ndarray:
    """One array; its header must not promise more than the archive holds, since numpy allocates what it promises."""
    with archive.open(f"{name}.npy") as stream:
        version = np.lib.format.read_magic(stream)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read_header[version](stream)
    if dtype.kind not in "buif" or math.prod(shape) * dtype.itemsize > size:
        raise RecordingError(f"{path}: '{name}' is {shape} of {dtype} in {size} bytes: expected numbers")
    with archive.open(f"{name}.npy") as stream:
        return np.lib.format.read_array(stream, allow_pickle=False).astype(float)
