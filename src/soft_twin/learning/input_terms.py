"""The terms of an `InputMap`, and which of them share a coefficient."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from soft_twin.learning.input_map import HIGHEST

SQUARE = 2  # highest power of what times may change


class Kind(NamedTuple):
    """Of terms whose coefficients have one spread.

    Attributes:
        own, others: powers of the pressure of the chamber that it is about, and of all others.
        timed: whether it is times t.
        shared: by how many: "one" chamber has it for itself, those that symmetries "exchange" share it, or "all" do.
    """

    own: int
    others: int
    timed: bool
    shared: str


FACTOR = Kind(1, 0, False, "exchange")  # by which the pressures of chambers that are alike are others


class Part(NamedTuple):
    """One coefficient: its kind, which terms it is of, and of which chambers (both in the order of the pairs)."""

    kind: Kind
    terms: list[int]
    chambers: list[int]


def all_degrees(actuators: int, timed: bool) -> np.ndarray:
    """(m, a + 1) of all terms, see `InputMap`."""
    one = np.eye(actuators + 1, dtype=int)[:actuators]
    plain = [np.zeros(actuators + 1, int), *one, *(2 * one)]
    rows = [*plain, *(HIGHEST * one), *(one[i] + one[j] for i, j in combinations(range(actuators), 2))]
    if timed:
        rows += [row + np.eye(actuators + 1, dtype=int)[-1] for row in plain]
    return np.array(rows)


def own_parts(degrees: np.ndarray, highest: int) -> list[Part]:
    """Each chamber's polynomial of that degree."""
    chambers = range(degrees.shape[1] - 1)
    low = np.flatnonzero((degrees[:, :-1].max(axis=1) <= highest) & (degrees[:, -1] == 0))
    return [_part(degrees, [(m, i)], "one") for i in chambers for m in low if _is_of(degrees[m], i)]


def all_parts(degrees: np.ndarray, symmetries: Sequence[Sequence[int]]) -> list[Part]:
    """All that count: terms and chambers that symmetries make of each other have one coefficient, and each of them one
    of its own, where it is no product or power of others; those of time also have one of all chambers alike."""
    numbers = {tuple(row): m for m, row in enumerate(degrees)}
    pairs = [(m, i) for m, row in enumerate(degrees) for i in range(len(row) - 1) if _counts(row, i)]
    parts, seen = [], set()
    for pair in pairs:
        if pair not in seen:
            orbit = _orbit(pair, degrees, numbers, symmetries)
            seen |= orbit
            parts.append(_part(degrees, sorted(orbit), "exchange"))
            if len(orbit) > 1 and _differs(degrees[pair[0]], pair[1]):
                parts += [_part(degrees, [each], "one") for each in sorted(orbit)]
    timed = [(m, i) for m, i in pairs if degrees[m, -1] and _is_of(degrees[m], i)]
    for power in range(SQUARE + 1):
        if alike := [(m, i) for m, i in timed if degrees[m, :-1].max() == power]:
            parts.append(_part(degrees, alike, "all"))
    return parts


def _counts(row: np.ndarray, chamber: int) -> bool:
    """Whether a term counts for a chamber: what is its own, others' squares, products of two; of time, what others do
    in proportion."""
    kind = _kind(row, chamber, "one")
    product = row[:-1].max() == 1
    return (
        kind.others == 0
        or (kind.others == 1 and kind.own == 0)
        or (not kind.timed and (product or kind.others == SQUARE))
    )


def _differs(row: np.ndarray, chamber: int) -> bool:
    """Whether chambers that are exchanged may differ by this term."""
    kind = _kind(row, chamber, "one")
    return (kind.others == 0 and kind.own <= SQUARE) or (kind.others == 1 and kind.own == 0)


def _part(degrees: np.ndarray, pairs: Sequence[tuple[int, int]], shared: str) -> Part:
    """Of pairs of term and chamber that have one coefficient."""
    m, i = pairs[0]
    return Part(_kind(degrees[m], i, shared), *map(list, zip(*pairs, strict=True)))


def _kind(row: np.ndarray, chamber: int, shared: str) -> Kind:
    own = int(row[chamber])
    return Kind(own, int(row[:-1].sum()) - own, bool(row[-1]), shared)


def _orbit(pair: tuple[int, int], degrees: np.ndarray, numbers: dict, symmetries) -> set[tuple[int, int]]:
    """All pairs of term and chamber that exchanges make of one."""
    found, new = {pair}, [pair]
    while new:
        m, i = new.pop()
        for exchange in symmetries:
            row = degrees[m].copy()
            row[list(exchange)] = degrees[m][:-1]
            other = numbers[tuple(row)], int(exchange[i])
            if other not in found:
                found.add(other)
                new.append(other)
    return found


def _is_of(row: np.ndarray, chamber: int) -> bool:
    """Whether a term is of no other chamber's pressure."""
    return _kind(row, chamber, "one").others == 0


def design_of(values: np.ndarray, parts: Sequence[Part], actuators: int) -> np.ndarray:
    """(f, a, n) what each part's coefficient does to pressures, of terms' values (f, m)."""
    found = np.zeros((len(values), actuators, len(parts)))
    for n, part in enumerate(parts):
        for m, i in zip(part.terms, part.chambers, strict=True):
            found[:, i, n] += values[:, m]
    return found
