"""Files from others: a regular file of a bounded size, or an error that says what stands there instead."""

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from soft_twin.errors import SoftTwinError, UsageError

try:
    import resource
except ImportError:  # not on Windows
    resource = None

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of an OSError on a full disk
LONGEST_MESSAGE = 300  # characters of what others' readers say


def checked_path(path: str | Path, what: str, error: type[SoftTwinError]) -> Path:
    """A path.

    Args:
        path: of a file.
        what: it is of, such as "recording".
        error: is raised with a line, where there is none.
    """
    if not isinstance(path, str | os.PathLike):
        raise error(f"{what}: expected the path of a file, found {path if path is None else type(path).__name__}")
    return Path(path)


def checked_file(path: str | Path, what: str, largest: int, error: type[SoftTwinError]) -> Path:
    """The path itself, if a regular file of at most `largest` bytes is there; nothing is opened, so nothing blocks.

    Args:
        path: of the file.
        what: it should be, such as "recording".
        largest: size [bytes].
        error: is raised with a line that names path, what was found and what would be right.
    """
    path = checked_path(path, what, error)
    try:
        status = path.stat()
    except (OSError, ValueError) as cause:  # ValueError: a name with a zero byte
        reason = getattr(cause, "strerror", None) or cause
        raise error(f"no {what} at '{path}': {reason}") from cause
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "no file")
        raise error(f"no {what} at '{path}': it is {kind}, expected a file")
    if status.st_size > largest:
        raise error(f"'{path}' is larger than {largest} bytes: no {what}")
    if not os.access(path, os.R_OK):
        raise error(f"no permission to read the {what} '{path}'")
    return path


def is_missing(path: str | Path) -> bool:
    """Whether nothing is there. What may not be looked at is there: who opens it finds out why."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # ValueError: a name with a zero byte
        return False
    return False


def try_writing(path: Path) -> None:
    """Write a byte at a path where nothing is, and take it away: a full disk takes files, but nothing in them.

    Raises:
        OSError: nothing can be written there.
    """
    try:
        path.write_bytes(b"?")
    finally:
        with contextlib.suppress(OSError):  # what it could not be written for is told
            path.unlink()


def output_file(path: str | Path, what: str) -> Path:
    """The path itself, if a file can be written there; its folder is made where it is missing.

    Args:
        path: of the file; one that is there already will be replaced.
        what: is to be written, such as "weights".

    Raises:
        UsageError: something else stands there, or nothing can be written.
    """
    path = checked_path(path, what, UsageError)
    try:
        if path.exists() and not path.is_file():
            kind = KINDS.get(stat.S_IFMT(path.stat().st_mode), "no file")
            raise UsageError(f"cannot write the {what} '{path}': it is {kind}, say a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        try_writing(path.with_name(f".{path.name}.{os.getpid()}"))
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise UsageError(f"cannot write the {what} '{path}': {getattr(error, 'strerror', None) or error}") from error
    return path


def checked_output(path: str | Path, what: str) -> Path:
    """As `output_file`, and nothing is left behind: for what is written much later, or never.

    Raises:
        UsageError: as `output_file`.
    """
    path = checked_path(path, what, UsageError)
    made = [folder for folder in path.parents if is_missing(folder)]
    try:
        return output_file(path, what)
    finally:
        with contextlib.suppress(OSError):  # not made, or somebody else has put something there
            for folder in made:
                folder.rmdir()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write what shall be at `path`, in its folder, with its suffix: it comes there as a whole, or not at all.
    Where a link leads; into a device or a pipe itself.

    Raises:
        OSError: it cannot be moved there.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        yield path
        return
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def parse_json(text: str) -> Any:
    """What a JSON text says.

    Raises:
        ValueError: it is none, has numbers of thousands of digits, or is nested too deeply (Python's RecursionError).
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def one_line(text: object) -> str:
    """What somebody else's reader says, in one line of bounded length; the kind of an exception that says nothing."""
    line = " ".join(str(text).split()) or ("" if isinstance(text, str) else type(text).__name__)
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "…"


@contextlib.contextmanager
def bounded_memory(more: int) -> Iterator[None]:
    """In this block, a MemoryError for whoever makes the process larger by more than so many bytes.

    For readers of others that believe what a file says of its sizes. The limit is the whole process's while the block
    lasts, other threads' included: leave ample room, and keep the block short. Nothing is limited where the system
    cannot do it.
    """
    size = _address_space()
    if size is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size + more
    lower = [limit for limit in (wanted, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(lower), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int | None:
    """How large the process is now [bytes]; None where that is not known or not to be limited."""
    if resource is None:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None
