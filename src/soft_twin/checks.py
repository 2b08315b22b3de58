"""Checks of what comes from outside, that every part of the package uses."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import InputError
from soft_twin.files import one_line

STRONGEST = 5.0 * STANDARD_GRAVITY  # [m/s²] more is no gravity of a robot, be it less the acceleration of its base
Kind = TypeVar("Kind")
UNIT = 0.01  # by which the length of a direction may differ from one


def checked_vector(values: Sequence[float], size: int, what: str) -> np.ndarray:
    """(size,) finite numbers, copied: what is done to the values later changes nothing.

    Raises:
        InputError: another size, or not finite.
    """
    try:
        vector = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected {size} numbers, found {values!r}") from error
    if vector.shape != (size,):
        raise InputError(f"{what}: expected {size} numbers, found an array of shape {vector.shape}")
    if not all(map(math.isfinite, vector.tolist())):
        raise InputError(f"{what}: {vector.tolist()} is not finite")
    return vector


def checked_number(value: Any, what: str, unit: str = "") -> float:
    """One number, finite or not, of a unit in words.

    Raises:
        InputError: it is none; neither is text, be it that of a number, nor a truth value.
    """
    if not isinstance(value, str | bytes | bool) and np.ndim(value) == 0:
        with suppress(TypeError, ValueError):
            return float(value)
    raise InputError(f"{what}: expected a number{unit and f' [{unit}]'}, found {in_words(value)}")


def check_positive(value: float, what: str, unit: str) -> None:
    """A number is positive and finite.

    Raises:
        InputError: it is not.
    """
    if not 0.0 < checked_number(value, what, unit) < math.inf:
        raise InputError(f"{what}: {value} {unit} is not positive")


def checked_numbers(values: Any, expected: str, what: str) -> np.ndarray:
    """Numbers of any shape, which callers check.

    Args:
        values: them.
        expected: in words, such as "points (k, 3)".
        what: they are.

    Raises:
        InputError: they are no numbers.
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected {expected}, found {in_words(values)}") from error


def checked_positions(x: Any, count: int) -> np.ndarray:
    """Positions (count, 3) [m] of all nodes, as an array of floats.

    Raises:
        InputError: they are none, or of other nodes: compiled code would read beyond their end.
    """
    if type(x) is np.ndarray and x.shape == (count, 3) and x.dtype.kind == "f":
        return x
    expected = f"({count}, 3) of this body's nodes, such as solved.pose.points"
    positions = checked_numbers(x, expected, "positions")
    if positions.shape != (count, 3):
        raise InputError(f"positions: expected {expected}, found an array of shape {positions.shape}")
    return positions


def checked_kind(value: Any, kind: type | tuple[type, ...], expected: str, what: str) -> Any:
    """The value itself, if it is of a kind.

    Args:
        value: it.
        kind: a class, or several.
        expected: in words, such as "a correction, as load(FILE) gives it".
        what: it is.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(value, kind):
        raise InputError(f"{what}: expected {expected}, found {in_words(value)}")
    return value


def checked_list(values: Any, kind: type[Kind], one: str, what: str) -> list[Kind]:
    """Values of one kind, as a list.

    Args:
        values: them, in any order that can be gone through.
        kind: their class.
        one: such a value in words, such as "forces, such as a Gravity".
        what: they are.

    Raises:
        InputError: one value alone, or one of another kind.
    """
    if isinstance(values, kind | str) or not isinstance(values, Iterable):
        raise InputError(f"{what}: expected a list of {what}, found {in_words(values)}")
    return [checked_kind(value, kind, one, what) for value in values]


def checked_count(value: Any, what: str, least: int = 1) -> int:
    """A whole number, `least` or more.

    Raises:
        InputError: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{what}: {in_words(value)}: expected {least} or more")
    return int(value)


def in_words(value: Any) -> str:
    """What a value is, in a few words: of an array its shape, of text and numbers themselves, else its kind."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if value is None or isinstance(value, str | int | float | np.number):
        return one_line(repr(value))
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a {type(value).__name__}"


def checked_gravity(values: Sequence[float]) -> np.ndarray:
    """(3,) gravity in base_link [m/s²].

    Raises:
        InputError: another size, not finite, or as long as only gravity in another unit is.
    """
    gravity = checked_vector(values, 3, "gravity")
    size = math.hypot(*gravity.tolist())
    if size > STRONGEST or abs(size - 1.0) < UNIT:
        raise InputError(
            f"gravity: {gravity.tolist()} is {size:.3g} long, the earth's is {STANDARD_GRAVITY}: is it in m/s²?"
        )
    return gravity
