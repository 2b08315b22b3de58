"""Pydantic's errors as one line: file, line, key, value, and what would be right."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from soft_twin.descriptions.shortened import shortened
from soft_twin.descriptions.yaml_file import YamlList, YamlMapping, read_yaml
from soft_twin.errors import DescriptionError, SoftTwinError, UsageError


def named(error: ValidationError, content: YamlMapping, where: str) -> DescriptionError:
    """The first mistake of a file's content, and how many more there are."""
    first, *others = _distinct(error)
    context = first.get("ctx", {})
    keys = [*first["loc"], *context.get("at", ())]
    message = _message(first, context)
    if first["type"] == "missing":
        keys = keys[:-1]
    elif first["type"] == "union_tag_invalid":
        keys.append(context["discriminator"].strip("'"))
    line, path = _place(content, keys)
    more = f" (and {len(others)} more)" if others else ""
    return DescriptionError(f"{where}:{line}: {path}{': ' if path else ''}{message}{more}")


def _distinct(error: ValidationError) -> list[dict[str, Any]]:
    """All mistakes, without lists that are too short only because their entries have mistakes."""
    found = error.errors(include_url=False)
    places = [each["loc"] for each in found]
    return [
        each
        for each in found
        if each["type"] != "too_short" or not any(place[:-1][: len(each["loc"])] == each["loc"] for place in places)
    ]


def first_mistake(error: ValidationError) -> str:
    """The first mistake of what was not read from a file, with its keys."""
    first = error.errors(include_url=False)[0]
    return ".".join(map(str, place_of_first(error))) + f": {_message(first, first.get('ctx', {}))}"


def place_of_first(error: ValidationError) -> list[str | int]:
    """The keys of the first mistake."""
    first = error.errors(include_url=False)[0]
    return [*first["loc"], *first.get("ctx", {}).get("at", ())]


def mistake_at(path: Path, keys: Sequence[str | int], message: str) -> DescriptionError:
    """A mistake that shows when a robot is built: with the line of its keys, if the file is still what it was."""
    try:
        line, where = _place(read_yaml(path, "robot description", UsageError), list(keys))
    except SoftTwinError:
        line, where = 1, ".".join(map(str, keys))
    return DescriptionError(f"{path}:{line}: {where}: {message}")


def _message(error: dict[str, Any], context: dict[str, Any]) -> str:
    kind, found = error["type"], shortened(error.get("input"))
    if kind == "mistake":
        return context["message"]
    if kind == "missing":
        return f"the key '{error['loc'][-1]}' is missing"
    if kind == "union_tag_not_found":
        return _without_tag(context["discriminator"].strip("'"), error["input"])
    if kind == "union_tag_invalid":
        expected = context["expected_tags"].replace("'", "")
        return f"{shortened(context['tag'])} is none of {expected}"
    if kind == "literal_error":
        expected = context["expected"].replace("'", "").replace(" or ", ", ")
        return f"{found} is none of {expected}"
    return _of_collections(kind, found, context)


def _without_tag(key: str, content: Any) -> str:
    """What is wrong with a mapping whose key says of which kind it is, and is not there."""
    if not isinstance(content, dict):
        return f"expected a mapping, found {shortened(content)}"
    near = difflib.get_close_matches(key, [other[:100] for other in content], n=1)
    return f"the key '{key}' is missing" + (f": is it what '{near[0]}' means?" if near else "")


def _of_collections(kind: str, found: str, context: dict[str, Any]) -> str:
    if kind == "too_short":
        least = context["min_length"]
        return f"expected a list with at least {'one entry' if least == 1 else f'{least} entries'}, found {found}"
    if kind == "too_long":
        return f"expected at most {context['max_length']} entries, found {context['actual_length'] or 'more'}"
    expected = "a list" if kind in ("tuple_type", "list_type") else "a mapping"
    return f"expected {expected}, found {found}"


def _place(content: Any, keys: list[str | int]) -> tuple[int, str]:
    """Line and dotted path of what the keys lead to; keys that are not in the file (a union's tags) are left out."""
    line, path = getattr(content, "line", 1), ""
    for key in keys:
        if isinstance(content, YamlMapping) and key in content:
            shown = key if key.isprintable() and len(key) < 64 else shortened(key)
            line, path = content.lines[key], f"{path}.{shown}" if path else shown
        elif isinstance(content, YamlList) and isinstance(key, int) and 0 <= key < len(content):
            line, path = content.lines[key], f"{path}[{key}]"
        else:
            continue
        content = content[key]
    return line, path
