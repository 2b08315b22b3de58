"""Descriptions with one mistake in them, and whether it is one that must be refused."""

import copy
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import yaml

from soft_twin.resources import folder

ROBOTS = ("slender", "finger", "arm", "membrane", "neck", "tm40")
ABSURD = (1e15, -1e15, 1e300, float("inf"), float("-inf"), float("nan"))
WRONG = ({}, [], "text!", None, True, [[1.0]], {"a": 1}, "5", [None], {"x": {"y": {}}})
EVIL = ("../../evil", "", "a b", "/etc/passwd", "x" * 5000, "\u202eevil", "a\nb", "-rf", "~", "${HOME}", "a/b", "é")
FREE = (
    ("robot", "body", "meshes"),
    ("robot", "members"),
    ("robot", "frames"),
    ("nodes",),
)  # mappings whose keys are names
MARK = "PUT-IT-HERE"
BOMB = "&a [x,x,x,x,x,x,x,x,x]"

Keys = tuple[str | int, ...]
Mistake = Callable[[dict, np.random.Generator], bool]


def wrong_description(rng: np.random.Generator) -> tuple[str, bool]:
    """A description's text, and whether it must be refused."""
    content = copy.deepcopy(_good(ROBOTS[rng.integers(len(ROBOTS))]))
    if rng.random() < 0.25:
        return _with_raw_text(content, rng)
    must_fail = MISTAKES[rng.integers(len(MISTAKES))](content, rng)
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True), must_fail


@cache
def _good(name: str) -> dict:
    return yaml.safe_load((folder("config") / f"{name}.yaml").read_text(encoding="utf-8"))


def _places(content: Any, keys: Keys = ()) -> Iterator[Keys]:
    """Keys of everything below, the nodes' parameters left out: they are what their nodes say."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        if keys != ("nodes",):
            yield (*keys, key)
            yield from _places(value, (*keys, key))


def _at(content: Any, keys: Keys) -> Any:
    for key in keys:
        content = content[key]
    return content


def _pick(content: dict, rng: np.random.Generator, wanted: Callable[[Keys, Any], bool]) -> Keys:
    places = [keys for keys in _places(content) if wanted(keys, _at(content, keys))]
    return places[rng.integers(len(places))]


def _is_number(keys: Keys, value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_key(keys: Keys, value: Any) -> bool:
    return isinstance(keys[-1], str) and keys[:-1] not in FREE


def _misspell(content: dict, rng: np.random.Generator) -> bool:
    keys = _pick(content, rng, _is_key)
    parent, key = _at(content, keys[:-1]), keys[-1]
    i = int(rng.integers(len(key)))
    wrong = (key[:i] + key[i + 1 :], key[:i] + key[i] + key[i:], key[:i] + "q" + key[i + 1 :])[rng.integers(3)]
    if wrong in parent or not wrong:
        wrong = key + "_"
    parent[wrong] = parent.pop(key)
    return True


def _add_key(content: dict, rng: np.random.Generator) -> bool:
    keys = _pick(content, rng, lambda keys, value: isinstance(value, dict) and keys not in FREE and keys[0] == "robot")
    _at(content, keys)["colour"] = 1.0
    return True


def _absurd(content: dict, rng: np.random.Generator) -> bool:
    keys = _pick(content, rng, _is_number)
    _at(content, keys[:-1])[keys[-1]] = ABSURD[rng.integers(len(ABSURD))]
    return True


def _large(content: dict, rng: np.random.Generator) -> bool:
    """A number that may be right or not."""
    keys = _pick(content, rng, _is_number)
    _at(content, keys[:-1])[keys[-1]] *= float(10.0 ** rng.uniform(-6.0, 9.0) * rng.choice([-1.0, 1.0]))
    return False


def _wrong_kind(content: dict, rng: np.random.Generator) -> bool:
    keys = _pick(content, rng, lambda keys, value: keys[0] == "robot" and keys not in FREE)
    parent, value = _at(content, keys[:-1]), WRONG[rng.integers(len(WRONG))]
    same = type(parent[keys[-1]]) is type(value) and value not in ({}, [])
    parent[keys[-1]] = value
    return not same


def _lose(content: dict, rng: np.random.Generator) -> bool:
    keys = _pick(content, rng, lambda keys, value: True)
    del _at(content, keys[:-1])[keys[-1]]
    return False


def _evil_name(content: dict, rng: np.random.Generator) -> bool:
    names = ("name", "group", "file", "mesh", "kind", "law", "generator")
    keys = _pick(content, rng, lambda keys, value: keys[-1] in names and isinstance(value, str))
    _at(content, keys[:-1])[keys[-1]] = EVIL[rng.integers(len(EVIL))]
    return True


def _swap_limits(content: dict, rng: np.random.Generator) -> bool:
    keys = _pick(content, rng, lambda keys, value: keys[-1] in ("tension", "displacement", "pressure"))
    _at(content, keys).reverse()
    return True


def _one_place(content: dict, rng: np.random.Generator) -> bool:
    cables = content["robot"].get("cables")
    if not isinstance(cables, dict):
        return _absurd(content, rng)
    a, c = rng.choice(len(cables["list"]), 2, replace=False)
    cables["list"][a]["angle_deg"] = cables["list"][c]["angle_deg"] - float(rng.choice([0.0, 360.0]))
    return True


def _repeat(content: dict, rng: np.random.Generator) -> bool:
    keys = _pick(content, rng, lambda keys, value: isinstance(value, list))
    _at(content, keys[:-1])[keys[-1]] *= 1000
    return True


def _huge_mesh(content: dict, rng: np.random.Generator) -> bool:
    body = content["robot"].get("body")
    if body is None:
        content["robot"]["structure"] |= {"sides": 24, "strut_lengths": [0.3] * 1000}
    elif isinstance(body["mesh"], dict):
        (kind,) = body["mesh"]
        _HUGE[kind](body["mesh"][kind])
    elif rng.random() < 0.5:
        body["meshes"]["hex20r"]["divisions"] = [1000, 1000, 1000]
    else:
        body["meshes"]["tet4"]["size"] = 1e-5
    return True


_HUGE: dict[str, Callable[[dict], None]] = {
    "voxels": lambda mesh: mesh.update(cells=[500, 500, 500]),
    "lobes": lambda mesh: mesh.update(lobes=12, segments=[part | {"divisions": 1000} for part in mesh["segments"]]),
    "stack": lambda mesh: mesh.update(around=500, layers=[mesh["layers"][1] | {"divisions": 1000}] * 50),
}


def _with_raw_text(content: dict, rng: np.random.Generator) -> tuple[str, bool]:
    """Something in the place of one value that YAML can say and Python's dump does not."""
    keys = _pick(content, rng, lambda keys, value: keys[0] == "robot" and keys not in FREE)
    _at(content, keys[:-1])[keys[-1]] = MARK
    text = yaml.safe_dump(content, sort_keys=False)
    kind = int(rng.integers(len(RAW) + 1))
    if kind == len(RAW):
        rows = [f"{c}: &{c} [{','.join([f'*{chr(ord(c) - 1)}'] * 9)}]" for c in "bcdefghijk"[: rng.integers(4, 11)]]
        return "\n".join([f"a: {BOMB}", *rows, text.replace(MARK, f"*{rows[-1][0]}")]), True
    return text.replace(MARK, RAW[kind]), True


RAW = (
    "9" * 5000,
    "1" + "0" * 400,
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "!!python/object/apply:os.system ['true']",
    "!!timestamp 2026-01-01",
    "!!binary aGVsbG8=",
    "[" * 2000 + "]" * 2000,
    "{a: " * 500 + "1" + "}" * 500,
    "&x [*x]",
    "{a: 1, a: 2}",
    "{? [1, 2] : 3}",
    "*nothing",
    "{<<: {b: 1}}",
    "{1: 2, null: 3}",
    "0x7fffffffffffffffffffffffffffffff",
    "1_000_000_000_000_000_000_000",
    ".inf",
    "-.inf",
    ".nan",
    "1e400",
    '"\\0"',
    "12:30:45.5e9",
)
MISTAKES: tuple[Mistake, ...] = (
    _misspell, _misspell, _add_key, _absurd, _absurd, _large, _wrong_kind, _wrong_kind, _lose, _evil_name, _swap_limits,
    _one_place, _repeat, _huge_mesh,
)  # fmt: skip
