"""Reading a robot's YAML description into frozen dataclasses, with every mistake named."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from soft_twin.errors import DescriptionError, UsageError
from soft_twin.resources import folder

MAX_FILE_SIZE = 1_000_000  # [bytes]


def find_description(name_or_path: str | Path) -> Path:
    """The file of a robot: a path to a YAML file, or the name of one in config/.

    Raises:
        UsageError: there is no such robot or file; the message lists the robots there are.
    """
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise UsageError(f"no robot description at '{path}'")
        return path
    known = {file.stem: file for file in sorted(folder("config").glob("*.yaml"))}
    if str(name_or_path) not in known:
        raise UsageError(f"no robot '{name_or_path}': there are {', '.join(known)}, or give the path of a .yaml file")
    return known[str(name_or_path)]


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping by safe load.

    Raises:
        DescriptionError: too large, not YAML, or not a mapping.
    """
    if path.stat().st_size > MAX_FILE_SIZE:
        raise DescriptionError(f"{path}: larger than {MAX_FILE_SIZE} bytes, not a robot's description")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DescriptionError(f"{path}: not readable as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise DescriptionError(f"{path}: expected a mapping with the keys 'robot' and 'nodes'")
    return content


class Section:
    """One mapping of a description, read key by key; every error says file, key, value and what would be right."""

    def __init__(self, content: Any, where: str):
        if not isinstance(content, Mapping):
            raise DescriptionError(f"{where}: expected a mapping, found {content!r}")
        self.content = content
        self.where = where

    def has(self, key: str) -> bool:
        return key in self.content

    def get(self, key: str) -> Any:
        if key not in self.content:
            raise DescriptionError(f"{self.where}: the key '{key}' is missing")
        return self.content[key]

    def section(self, key: str) -> "Section":
        return Section(self.get(key), f"{self.where}.{key}")

    def sections(self, key: str) -> list["Section"]:
        """A list of mappings."""
        items = self.get(key)
        if not isinstance(items, list) or not items:
            raise DescriptionError(f"{self.where}.{key}: expected a list with at least one entry")
        return [Section(item, f"{self.where}.{key}[{i}]") for i, item in enumerate(items)]

    def text(self, key: str, among: Mapping | None = None) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise DescriptionError(f"{self.where}.{key}: expected text, found {value!r}")
        if among is not None and value not in among:
            raise DescriptionError(f"{self.where}.{key}: '{value}' is none of {', '.join(among)}")
        return value

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        return self._number(self.get(key), key, low, high)

    def integer(self, key: str, low: int, high: int) -> int:
        value = self.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise DescriptionError(f"{self.where}.{key}: expected a whole number in {low}…{high}, found {value!r}")
        return value

    def numbers(self, key: str, count: int | None = None, low=-math.inf, high=math.inf) -> tuple[float, ...]:
        values = self.get(key)
        if not isinstance(values, list) or (count is not None and len(values) != count):
            size = "" if count is None else f" of {count}"
            raise DescriptionError(f"{self.where}.{key}: expected a list{size} numbers, found {values!r}")
        return tuple(self._number(value, key, low, high) for value in values)

    def interval(self, key: str) -> tuple[float, float]:
        """Two numbers, the lower first."""
        low, high = self.numbers(key, 2)
        if not low < high:
            raise DescriptionError(f"{self.where}.{key}: the lower limit {low:g} is not below the upper {high:g}")
        return low, high

    def _number(self, value: Any, key: str, low: float, high: float) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
            raise DescriptionError(f"{self.where}.{key}: expected a number, found {value!r}")
        if not low <= value <= high:
            raise DescriptionError(f"{self.where}.{key}: {value:g} is outside {low:g}…{high:g}")
        return float(value)
