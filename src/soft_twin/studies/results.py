"""Pictures and tables of studies in files. A table that took hours is printed whether they can be written or not."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soft_twin.files import whole_file
from soft_twin.interruptions import interrupted_afterwards

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d import Axes3D

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
    """A figure in a file, by `savefig` with these options; an interruption meanwhile comes afterwards.

    Raises:
        OSError: it cannot be written, outside of `unwritten_noted`.
    """
    with _noted(path), interrupted_afterwards(), whole_file(path) as partial:
        figure.savefig(partial, **options)


def write_text(path: Path, text: str) -> None:
    """A text in a file.

    Raises:
        OSError: as `write_picture`.
    """
    with _noted(path), whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def label_space(plot: "Axes3D") -> None:
    """Three axes in millimetres, alike, with room for their labels and for ticks that meet in a corner."""
    plot.set(aspect="equal", xlabel="x [mm]", ylabel="y [mm]")
    plot.set_zlabel("z [mm]", labelpad=18.0)
    plot.set_box_aspect([high - low for low, high in (plot.get_xlim(), plot.get_ylim(), plot.get_zlim())], zoom=0.85)
    plot.locator_params(nbins=3)
    plot.tick_params(labelsize=7)
    plot.tick_params("z", pad=8.0)


@contextmanager
def _noted(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if (noted := _unwritten.get()) is None:
            raise
        noted[path] = error.strerror or str(error)
