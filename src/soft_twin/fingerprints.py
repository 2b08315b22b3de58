"""What a result follows from, beside the values that it is computed of: the files that these name, and this program."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from soft_twin import resources
from soft_twin.errors import UsageError

MAX_READ = 100 * 10**6  # [bytes] of a file; of larger ones the size and the time tell
DESCRIPTIONS = (".yaml", ".yml")
LONGEST_NAME = 4096
DEEPEST = 8  # values within values


def contents(*values: Any) -> dict[str, str]:
    """Fingerprint by name of every file that is named in values, of any kind and depth, and of those beside them that
    descriptions among these name."""
    found: dict[str, str] = {}
    for path in _files(values, DEEPEST):
        if str(path) not in found:
            found[str(path)] = fingerprint(path)
            found |= {str(other): fingerprint(other) for other in _led_to(path)}
    return found


def fingerprint(path: Path) -> str:
    """Of a file's content."""
    status = path.stat()
    if status.st_size > MAX_READ:
        return f"{status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def program() -> str:
    """Of the text of this package, as it was when it was first asked for."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


def _files(value: Any, depth: int) -> Iterator[Path]:
    if isinstance(value, Path | str):
        if _names_file(str(value)):
            yield Path(value)
        return
    for part in _parts(value) if depth else ():
        yield from _files(part, depth - 1)


def _names_file(text: str) -> bool:
    if len(text) > LONGEST_NAME or "\n" in text or "\0" in text:
        return False
    try:
        return Path(text).is_file()
    except OSError:  # a text that is no name at all, or a folder that may not be looked into
        return False


def _parts(value: Any) -> list[Any]:
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, each.name) for each in dataclasses.fields(value)]
    return []


def _led_to(path: Path) -> Iterator[Path]:
    """Files that a description names: meshes and weights, beside it or among those of the package."""
    if path.suffix not in DESCRIPTIONS:
        return
    try:
        content = yaml.safe_load(path.read_bytes())
        folders = [path.resolve().parent, resources.folder("meshes")]
    except (OSError, yaml.YAMLError, ValueError, RecursionError, UsageError):
        return
    for name in _words(content, DEEPEST):
        for folder in folders:
            if _names_file(str(folder / name)):
                yield folder / name


def _words(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    for part in _parts(value) if depth else ():
        yield from _words(part, depth - 1)
