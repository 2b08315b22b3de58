"""The kinds of value that a description is made of: numbers within limits, names, lists; each says what is right."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError, core_schema

from soft_twin.descriptions.shortened import shortened


def mistake(message: str, *at: str | int) -> PydanticCustomError:
    """A mistake in the value that is being read, or in what stands below it at the keys `at`."""
    return PydanticCustomError("mistake", "{message}", {"message": message, "at": at})


def in_limits(value: float, low: float, high: float, *at: str | int) -> None:
    """Raise a mistake where a value lies outside limits."""
    if not low <= value <= high:
        raise mistake(f"{value:g} is outside {low:g}…{high:g}", *at)


class Kind:
    """A kind of value; used in an `Annotated` type, it does what pydantic asks of one."""

    def read(self, value: Any) -> Any:
        """The value as the package uses it.

        Raises:
            PydanticCustomError: it is of another kind; the message says what would be right.
        """
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """As JSON schema."""
        raise NotImplementedError

    def allowed(self) -> str:
        """What is right, for the reference."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return self.schema()


@dataclass(frozen=True)
class Number(Kind):
    """A finite number within limits."""

    low: float
    high: float
    unit: str = ""

    def read(self, value: Any) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
            raise mistake(f"expected a number, found {shortened(value)}{self._unit('; the unit is ')}")
        if not self.low <= value <= self.high:
            thousands = self.unit == "m" and self.low <= 1e-3 * value <= self.high
            hint = ": is it in millimetres?" if thousands else ""
            raise mistake(f"{value:g} is outside {self.allowed()}{hint}")
        return float(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}

    def allowed(self) -> str:
        return f"{self.low:g}…{self.high:g}{self._unit(' ')}"

    def _unit(self, before: str) -> str:
        return f"{before}{self.unit}" if self.unit else ""


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number within limits."""

    low: int
    high: int

    def read(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self.low <= value <= self.high:
            raise mistake(f"expected a whole number in {self.low}…{self.high}, found {shortened(value)}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def allowed(self) -> str:
        return f"whole, {self.low}…{self.high}"


@dataclass(frozen=True)
class Sign(Kind):
    """1 or −1."""

    def read(self, value: Any) -> int:
        if isinstance(value, bool) or value not in (1, -1):
            raise mistake(f"expected 1 or -1, found {shortened(value)}")
        return int(value)

    def schema(self) -> dict[str, Any]:
        return {"enum": [1, -1]}

    def allowed(self) -> str:
        return "1 or −1"


@dataclass(frozen=True)
class YesNo(Kind):
    """true or false."""

    def read(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise mistake(f"expected true or false, found {shortened(value)}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def allowed(self) -> str:
        return "`true` or `false`"


@dataclass(frozen=True)
class Text(Kind):
    """Text of a pattern."""

    pattern: str
    words: str

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise mistake(f"expected text, found {shortened(value)}")
        if not re.fullmatch(self.pattern, value):
            raise mistake(f"expected {self.words}, found {shortened(value)}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self.pattern}$"}

    def allowed(self) -> str:
        return self.words


@dataclass(frozen=True)
class Several(Kind):
    """A list of values of one kind, as a tuple: `fewest` to `most` of them."""

    kind: Kind
    fewest: int
    most: int

    def read(self, value: Any) -> tuple:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise mistake(f"expected a list{self._count()}, found {shortened(value)}")
        if not self.fewest <= len(value) <= self.most:
            raise mistake(f"expected a list{self._count()}, found {len(value)}: {shortened(value)}")
        return tuple(self.kind.read(one) for one in value)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.kind.schema(), "minItems": self.fewest, "maxItems": self.most}

    def allowed(self) -> str:
        return f"list of {self._range()}, each {self.kind.allowed()}"

    def _count(self) -> str:
        return f" of {self._range()} {'whole numbers' if isinstance(self.kind, Whole) else 'numbers'}"

    def _range(self) -> str:
        return str(self.fewest) if self.fewest == self.most else f"{self.fewest} to {self.most}"


@dataclass(frozen=True)
class Interval(Several):
    """Two numbers, the lower first."""

    fewest: int = 2
    most: int = 2

    def read(self, value: Any) -> tuple:
        low, high = super().read(value)
        if not low < high:
            raise mistake(f"the lower limit {low:g} is not below the upper {high:g}")
        return low, high

    def allowed(self) -> str:
        return f"lower and upper limit, {self.kind.allowed()}"


@dataclass(frozen=True)
class NodeParameters(Kind):
    """Parameters of one ROS node: text, numbers, true or false, or lists of one of them, by name."""

    def read(self, value: Any) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise mistake(f"expected a mapping of parameters, found {shortened(value)}")
        for name, given in value.items():
            if not re.fullmatch(_PARAMETER, name):
                raise mistake(f"expected a parameter's name, found {shortened(name)}", name)
            _check_parameter(given, name)
        return {name: list(given) if isinstance(given, list) else given for name, given in value.items()}

    def schema(self) -> dict[str, Any]:
        one = [{"type": kind} for kind in ("boolean", "number", "string")]
        return {"type": ["object", "null"], "additionalProperties": {"anyOf": [*one, {"type": "array"}]}}

    def allowed(self) -> str:
        return "parameters by name: text, number, true, false, or a list"


_PARAMETER = r"[A-Za-z][A-Za-z0-9_./]{0,99}"
_LONGEST_TEXT = 1000


def _check_parameter(value: Any, name: str) -> None:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, (bool, int, float, str)):
            raise mistake(f"expected text, a number, true, false, or a list of them, found {shortened(value)}", name)
        if isinstance(item, float) and math.isnan(item):
            raise mistake("expected a number, found nan", name)
        if isinstance(item, str) and (len(item) > _LONGEST_TEXT or not item.isprintable()):
            raise mistake(
                f"expected text of at most {_LONGEST_TEXT} printable characters, found {shortened(item)}", name
            )
    if len({type(item) for item in items}) > 1:
        raise mistake(f"expected values of one kind, found {shortened(value)}", name)


NAMESPACE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*")  # of nodes, without slashes at its ends
NAME = Text(r"[A-Za-z][A-Za-z0-9_]{0,62}", "a name of letters, digits and _, a letter first")
NAMED = Text(
    r"[A-Za-z][A-Za-z0-9_ -]{0,62}",
    "the name of a surface, group or volume of the mesh: letters, digits, blanks, _ and -, a letter first",
)
LAW = Text(r"[a-z][a-z0-9_]{0,40}", "the name of a law or element: small letters, digits and _")
MESH_FILE = Text(
    r"[A-Za-z0-9_][A-Za-z0-9_-]{0,80}\.(vtu|vtk|msh)",
    "a file's name without folders that ends in .vtu, .vtk or .msh: letters, digits, _ and -",
)
_BELOW = r"([A-Za-z0-9_][A-Za-z0-9_-]{0,80}/){0,8}[A-Za-z0-9_][A-Za-z0-9_-]{0,80}"
MESH_BELOW = Text(
    _BELOW + r"\.(vtu|vtk|msh)",
    "a file's name that ends in .vtu, .vtk or .msh, after folders beside the description, if any: letters, digits, _ "
    "and -",
)
STL_BELOW = Text(
    _BELOW + r"\.stl",
    "a file's name that ends in .stl, after folders beside the description, if any: letters, digits, _ and -",
)
