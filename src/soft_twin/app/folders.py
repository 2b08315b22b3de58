"""Folders that commands write into."""

import os
from pathlib import Path

from soft_twin.errors import UsageError
from soft_twin.files import try_writing


def writable(folder: Path) -> Path:
    """A folder that results can be written into, made where missing.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try_writing(folder / f".probe.{os.getpid()}")
    except OSError as error:
        raise UsageError(f"cannot write into '{folder}': {error.strerror}; say --out DIR") from error
    return folder
