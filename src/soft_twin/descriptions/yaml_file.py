"""YAML from others as plain dictionaries and lists that know their lines, with every size bounded.

Of YAML 1.2: mappings with text as keys, each once; lists; text, numbers (`1.2e6` is one), true, false, null; anchors
and aliases, as long as what they stand for stays small. Tags, merge keys, dates and several documents are refused.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from soft_twin.descriptions.shortened import shortened
from soft_twin.errors import DescriptionError, SoftTwinError
from soft_twin.files import checked_file, one_line

MAX_FILE_SIZE = 300_000  # [bytes]
MAX_VALUES = 20_000  # aliases count as much as what they stand for
MAX_DEPTH = 20
MAX_DIGITS = 20  # of a whole number; nanoseconds since the epoch have 19

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NAMED = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{sign + name: float(f"{sign}inf") for sign in ("", "-", "+") for name in (".inf", ".Inf", ".INF")},
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlMapping(dict):
    """A mapping; `lines` are those of its keys, counted from 1, `line` that of its beginning."""

    def __init__(self, line: int):
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class YamlList(list):
    """A list; `lines` are those of its items, counted from 1, `line` that of its beginning."""

    def __init__(self, line: int):
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def read_yaml(path: str | Path, what: str = "robot description", missing: type[SoftTwinError] = DescriptionError):
    """The mapping in a YAML file.

    Raises:
        DescriptionError: too large, not YAML as the module's docstring says, or not a mapping.
        `missing`: there is no such file.
    """
    content = read_document(path, what, missing)
    if not isinstance(content, YamlMapping):
        raise DescriptionError(f"{path}: expected a mapping with keys and values, found {shortened(content)}")
    return content


def read_document(
    path: str | Path,
    what: str,
    missing: type[SoftTwinError] = DescriptionError,
    largest: int = MAX_FILE_SIZE,
    most: int = MAX_VALUES,
    numbers: bool = True,
) -> Any:
    """Whatever is in a YAML file.

    Args:
        path: of the file.
        what: it should be, for messages.
        missing: error where there is no such file.
        largest: size of the file [bytes].
        most: values in it, aliases counted with what they stand for.
        numbers: false: they stay text, as they are written.

    Raises:
        DescriptionError: too large, or not YAML as the module's docstring says.
        `missing`: there is no such file.
    """
    path = checked_file(path, what, 2**62, missing)
    checked_file(path, what, largest, DescriptionError)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"{path}: not readable as YAML: {one_line(error)}") from error
    return parse(text, str(path), most, numbers)


def parse(text: str, where: str, most: int = MAX_VALUES, numbers: bool = True) -> Any:
    """The only document of a YAML text of at most so many values.

    Args:
        text: of the document.
        where: it is from, which begins messages.
        most: values in it, aliases counted with what they stand for.
        numbers: false: they stay text, as they are written.

    Raises:
        DescriptionError: see `read_yaml`.
    """
    builder = _Builder(where, most, numbers)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        line = "".join(text.split("\n")[mark.line : mark.line + 1]) if mark else ""
        hint = ": there is a tab, YAML is indented by spaces" if "\t" in line else ""
        raise DescriptionError(f"{place}: not readable as YAML: {one_line(_words(error))}{hint}") from error
    return builder.document


def _words(error: yaml.YAMLError) -> str:
    """What a parser says, without the excerpts and places that it adds."""
    parts = [getattr(error, name, None) for name in ("context", "problem")]
    if "exceeded maximum nesting depth" in parts:  # libyaml's own limit, which it meets ahead of its events
        return f"nested deeper than {MAX_DEPTH} levels"
    return ", ".join(part for part in parts if part) or str(error)


class _Open:
    """A mapping or list that is being read: itself, its anchor, the key that waits for its value, its size."""

    def __init__(self, value: YamlMapping | YamlList, anchor: str | None):
        self.value, self.anchor, self.size = value, anchor, 1
        self.key: str | None = None


class _Builder:
    """Puts a document together from the parser's events; nothing in it recurses."""

    def __init__(self, where: str, most: int, numbers: bool):
        self.document: Any = None
        self._where, self._most, self._numbers = where, most, numbers
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._total = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise self._wrong(line, "a second document begins, expected one")
        elif isinstance(event, yaml.AliasEvent):
            self._put(*self._of_alias(event.anchor, line), line)
        elif isinstance(event, yaml.ScalarEvent):
            self._put_scalar(event, line)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._begin(event, line)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self._open.pop()
            self._remember(done.anchor, done.value, done.size)
            self._put(done.value, done.size, done.value.line, counted=True)

    def _begin(self, event: yaml.Event, line: int) -> None:
        self._check_tag(event, line)
        if self._open and isinstance(self._open[-1].value, YamlMapping) and self._open[-1].key is None:
            raise self._wrong(line, "a key is text, found a mapping or a list")
        if len(self._open) == MAX_DEPTH:
            raise self._wrong(line, f"nested deeper than {MAX_DEPTH} levels")
        kind = YamlMapping if isinstance(event, yaml.MappingStartEvent) else YamlList
        self._count(1, line)
        self._open.append(_Open(kind(line), event.anchor))

    def _put_scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        self._check_tag(event, line)
        is_key = bool(self._open) and isinstance(self._open[-1].value, YamlMapping) and self._open[-1].key is None
        value = event.value if is_key or not event.implicit[0] else self._resolved(event.value, line)
        self._remember(event.anchor, value, 1)
        self._put(value, 1, line)

    def _put(self, value: Any, size: int, line: int, counted: bool = False) -> None:
        """Hand a value to whatever is open."""
        if not counted:
            self._count(size, line)
        if not self._open:
            self.document = value
            return
        parent = self._open[-1]
        parent.size += size
        if isinstance(parent.value, YamlList):
            parent.value.append(value)
            parent.value.lines.append(line)
        elif parent.key is None:
            parent.key = self._new_key(parent.value, value, line)
        else:
            parent.value[parent.key] = value
            parent.key = None

    def _new_key(self, mapping: YamlMapping, key: Any, line: int) -> str:
        if not isinstance(key, str):
            raise self._wrong(line, f"a key is text, found {shortened(key)}")
        if key in mapping.lines:
            raise self._wrong(line, f"the key {shortened(key)} is there twice, first in line {mapping.lines[key]}")
        if key == "<<":
            raise self._wrong(line, "merge keys (<<) are not read: write the keys out")
        mapping.lines[key] = line
        return key

    def _of_alias(self, anchor: str, line: int) -> tuple[Any, int]:
        if anchor not in self._anchors:
            raise self._wrong(line, f"the alias *{shortened(anchor)} stands for nothing that is complete before it")
        return self._anchors[anchor]

    def _remember(self, anchor: str | None, value: Any, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = value, size

    def _count(self, size: int, line: int) -> None:
        self._total += size
        if self._total > self._most:
            raise self._wrong(line, f"more than {self._most} values, aliases counted with what they stand for")

    def _check_tag(self, event: yaml.Event, line: int) -> None:
        if event.tag is not None:
            raise self._wrong(line, f"the tag {shortened(event.tag)} is not read: write plain values")

    def _resolved(self, text: str, line: int) -> Any:
        """A plain scalar as YAML 1.2's core schema has it."""
        if text in _NAMED:
            return _NAMED[text]
        if _INTEGER.fullmatch(text):
            if len(text) > MAX_DIGITS:
                raise self._wrong(line, f"a whole number of {len(text)} digits, expected at most {MAX_DIGITS}")
            return int(text) if self._numbers else text
        return float(text) if self._numbers and len(text) < 100 and _FLOAT.fullmatch(text) else text

    def _wrong(self, line: int, message: str) -> DescriptionError:
        return DescriptionError(f"{self._where}:{line}: {message}")
