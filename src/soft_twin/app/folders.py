"""Folders that commands write into."""

from pathlib import Path

from soft_twin.errors import UsageError


def writable(folder: Path) -> Path:
    """A folder that results can be written into, made where missing.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"cannot write into '{folder}': {error.strerror}; say --out DIR") from error
    return folder
