"""Kernels on disk that were compiled from other sources than those that are there now.

Numba compiles what a kernel calls, and the constants that it reads, into it, and compiles it anew when the kernel's own
file has changed: a change in a file that it imports leaves it as it was. Here a digest of all these files lies beside
the kernels of each module.
"""

import ast
import hashlib
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from numba import njit

SIGNS = ("njit", "linear_algebra.compiled")  # of a source with kernels
NOT_OF_NODES = {"app", "studies"}  # folders


def forget_outdated(package: Path) -> None:
    """Remove from numba's folders the kernels of a package that is imported from here, if they are outdated.

    Args:
        package: its folder.

    Raises:
        OSError: they are somebody else's.
    """
    for source in sorted(package.rglob("*.py")):
        inside = source.relative_to(package)
        if inside.parts[0] in NOT_OF_NODES or not any(sign in source.read_text(encoding="utf-8") for sign in SIGNS):
            continue
        folder = _kept_in(".".join([package.name, *inside.with_suffix("").parts]))
        if folder is not None:
            _forget_outdated(source, _digest(source, package), folder)


def _forget_outdated(source: Path, digest: str, folder: Path) -> None:
    """Of one module: its kernels in numba's folder for it, unless they are of this digest."""
    mark = folder / f"{source.stem}.sources"
    if mark.is_file() and mark.read_text(encoding="utf-8") == digest:
        return
    for index in folder.glob(f"{source.stem}.*.nbi"):  # what it lists is overwritten in time
        index.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(digest, encoding="utf-8")


def _kept_in(name: str) -> Path | None:
    """Numba's folder for the kernels of a module; None: it has no functions."""
    module = importlib.import_module(name)
    functions = (getattr(value, "py_func", value) for value in vars(module).values())
    own = (each for each in functions if inspect.isfunction(each) and each.__module__ == name)
    function = next(own, None)
    return None if function is None else Path(njit(cache=True)(function).stats.cache_path)


def _digest(source: Path, package: Path) -> str:
    """Of a module's source and all others of the package that it imports, and they."""
    found, waiting = set(), [source]
    while waiting:
        if (path := waiting.pop()) not in found:
            found.add(path)
            waiting += _imported(path, package)
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(found))).hexdigest()


def _imported(source: Path, package: Path) -> Iterator[Path]:
    """Sources of the package that one of them imports."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            path = package.parent / Path(*name.split("."))
            yield from (each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file())
