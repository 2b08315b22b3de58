"""A folder in the temporary folder that is this user's alone: nobody else can put a link or a file there."""

import fcntl
import os
import stat
import tempfile
from pathlib import Path

from soft_twin.errors import UsageError


def private_folder() -> Path:
    """`soft_twin-UID` in the temporary folder, made where missing.

    Raises:
        UsageError: something else has that name, others may write into it, or there is no temporary folder.
    """
    try:
        folder = Path(tempfile.gettempdir()) / f"soft_twin-{os.getuid()}"
    except FileNotFoundError as error:
        raise UsageError("no temporary folder can be written: set TMPDIR to one that can") from error
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise UsageError(f"the folder '{folder}' cannot be made: {error.strerror}; set TMPDIR to another") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise UsageError(f"'{folder}' is not a folder of yours: remove it, or set TMPDIR to another folder")
    if status.st_mode & 0o077:
        try:
            folder.chmod(0o700)
        except OSError as error:
            raise UsageError(f"others may write into '{folder}': {error.strerror}; remove it") from error
    return folder


def claim(path: Path) -> int | None:
    """A file descriptor that keeps others from claiming the same until it is closed, or this process ends; None: it
    has been claimed already.

    Args:
        path: of a file, made where missing.

    Raises:
        UsageError: the file cannot be used.
    """
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UsageError(f"the lock '{path}' cannot be used: {error.strerror}: remove it") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock
