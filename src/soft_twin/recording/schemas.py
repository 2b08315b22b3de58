"""Whether a message definition from a file can be decoded safely.

The decoder believes a definition. Types of nothing but fixed arrays of bytes take no bytes that it would miss, so that
a few lines of them make it work for years; they are refused, as are arrays of absurd length.
"""

import re

from soft_twin.errors import RecordingError

MAX_TEXT = 200_000  # [characters]
MAX_ARRAY = 100_000  # items of an array of fixed length
_SEPARATOR = re.compile(r"^=+[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"\s*MSG:\s*(\S+)[^\n]*\n?")
_FIELD = re.compile(r"^\s*([A-Za-z][\w/]*)(?:<=\d+)?(\[[^\]]*\])?\s+[A-Za-z]\w*\s*(=?)")
_FIXED = re.compile(r"\[(\d+)\]")
_BYTES = ("uint8", "byte")


def check_definition(name: str, text: str) -> None:
    """Refuse a definition that cannot be decoded safely.

    Raises:
        RecordingError: with the type and what is wrong.
    """
    if len(text) > MAX_TEXT:
        raise RecordingError(f"the definition of {name:.100} is {len(text)} characters long, more than {MAX_TEXT}")
    first, *others = _SEPARATOR.split(text)
    fields = {"": _fields(first)}
    for part in others:
        heading = _NAME.match(part)
        if heading:
            fields[heading[1]] = _fields(part[heading.end() :])
    for inner, rows in fields.items():
        longest = max((int(size[1]) for _, array in rows if (size := _FIXED.fullmatch(array))), default=0)
        if longest > MAX_ARRAY:
            raise RecordingError(f"the definition of {name:.100} has an array of {longest} items, over {MAX_ARRAY}")
        if inner and rows and all(kind in _BYTES and _FIXED.fullmatch(array) for kind, array in rows):
            raise RecordingError(f"the definition of {name:.100} has a type of bytes alone, {inner:.100}: not decoded")


def _fields(text: str) -> list[tuple[str, str]]:
    """Type and array brackets of each field; constants are none."""
    found = (_FIELD.match(line.partition("#")[0]) for line in text.splitlines())
    return [(match[1], match[2] or "") for match in found if match and not match[3]]
