"""Pictures and tables of studies in files. A table that took hours is printed whether they can be written or not."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soft_twin.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_unwritten: ContextVar[dict[Path, str] | None] = ContextVar("unwritten", default=None)


@contextmanager
def unwritten_noted() -> Iterator[dict[Path, str]]:
    """In this block, files that cannot be written are noted, with the reason, and no error."""
    noted: dict[Path, str] = {}
    token = _unwritten.set(noted)
    try:
        yield noted
    finally:
        _unwritten.reset(token)


def write_picture(path: Path, figure: "Figure", **options: Any) -> None:
    """A figure in a file, by `savefig` with these options.

    Raises:
        OSError: it cannot be written, outside of `unwritten_noted`.
    """
    with _noted(path), whole_file(path) as partial:
        figure.savefig(partial, **options)


def write_text(path: Path, text: str) -> None:
    """A text in a file.

    Raises:
        OSError: as `write_picture`.
    """
    with _noted(path), whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def _noted(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if (noted := _unwritten.get()) is None:
            raise
        noted[path] = error.strerror or str(error)
