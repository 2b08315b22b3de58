"""A description's form for editors (JSON schema) and for people (the reference's tables)."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from soft_twin.descriptions.kinds_of_value import Kind
from soft_twin.descriptions.part import Part
from soft_twin.descriptions.robot import Description

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON schema of a robot's description."""
    return {"$schema": DIALECT, **Description.model_json_schema(by_alias=True), "title": "A robot of soft_twin"}


def reference(part: type[Part] = Description) -> str:
    """All parts and their keys as Markdown: a heading and a table each, in the order in which they are met."""
    return "\n\n".join(_table(one) for one in _parts(part, []))


def _parts(part: type[Part], known: list[type[Part]]) -> list[type[Part]]:
    if part not in known:
        known.append(part)
        for field in part.model_fields.values():
            for inner in _inner(field.annotation):
                _parts(inner, known)
    return known


def _inner(annotation: Any) -> Iterator[type[Part]]:
    """The parts in a type."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for argument in get_args(annotation):
        yield from _inner(argument)


def _table(part: type[Part]) -> str:
    rows = [_row(field.alias or name, field) for name, field in part.model_fields.items()]
    lines = ["| key | | allowed | without it |", "|---|---|---|---|", *rows]
    return f"### {part.__name__}\n\n{(part.__doc__ or '').strip()}\n\n" + "\n".join(lines)


def _row(key: str, field: FieldInfo) -> str:
    default = "" if field.is_required() else _default(field)
    return f"| `{key}` | {field.description or ''} | {_allowed(field)} | {default} |"


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or value in ({}, ()):
        return "nothing"
    if isinstance(value, Part):
        return "what stands there without its keys"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return "…".join(f"{one:g}" for one in (value if isinstance(value, tuple) else [value]))


def _allowed(field: FieldInfo) -> str:
    kinds = [one for one in field.metadata if isinstance(one, Kind)]
    if kinds:
        return kinds[0].allowed()
    return _words(field.annotation)


def _words(annotation: Any) -> str:
    """What a type allows."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        kind = next((one for one in arguments[1:] if isinstance(one, Kind)), None)
        return kind.allowed() if kind else _words(arguments[0])
    if origin is dict:
        return f"by name: {_words(arguments[1])}"
    if origin is tuple:
        return f"list, each {_words(arguments[0])}"
    if origin in (Union, UnionType):
        return " or ".join(_words(one) for one in arguments if one is not type(None))
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in arguments)
    return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
