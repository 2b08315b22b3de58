"""Differences between two recordings, topic by topic, field by field."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soft_twin.errors import RecordingError
from soft_twin.recording.reader import FIELDS, Series, arrays, topic_types

WALL_TIMES = ("duration",)
NAMED = {"position", "velocity", "effort", "pressures", "points", "efforts", "coordinates"}  # with a column a name


@dataclass(frozen=True)
class FieldDifference:
    """How far apart a field of a topic is in two recordings.

    Attributes:
        topic, field: which.
        pairs: messages that both recordings have, by stamp where any stamps agree, else by order.
        only_first, only_second: messages that one of them has alone.
        largest: largest absolute difference of any number, columns paired by name, inf where one is not a number and
            the other is; for fields that are no numbers, the share of pairs that differ.
    """

    topic: str
    field: str
    pairs: int
    only_first: int
    only_second: int
    largest: float

    @property
    def same(self) -> bool:
        return self.largest == 0.0 and self.only_first == self.only_second == 0


def diff(first: str | Path, second: str | Path, timing: bool = False) -> list[FieldDifference]:
    """Compare the topics of two recordings, those of types that `arrays` knows; see `not_compared`.

    Args:
        first, second: recordings.
        timing: also compare fields that hold wall times.

    Raises:
        RecordingError: one of them is missing or no recording, or both are empty.
    """
    a, b = arrays(first), arrays(second)
    if not a and not b:
        raise RecordingError(f"'{first}' and '{second}' have no messages of known types: there is nothing to compare")
    rows = []
    for topic in sorted(a.keys() | b.keys()):
        if topic in a and topic in b:
            rows += _differences(topic, a[topic], b[topic])
        else:
            counts = len(a.get(topic, ())), len(b.get(topic, ()))
            rows.append(FieldDifference(topic, "-", 0, *counts, float("nan")))
    return [row for row in rows if timing or row.field not in WALL_TIMES]


def not_compared(first: str | Path, second: str | Path) -> list[str]:
    """Names of the topics of either recording whose types are not known, so that `diff` leaves them out.

    Raises:
        RecordingError: one of them is missing or no recording.
    """
    types = topic_types(first).items() | topic_types(second).items()
    return sorted({topic for topic, type_name in types if type_name not in FIELDS})


def table(rows: list[FieldDifference]) -> str:
    """Differences as aligned lines, the same ones left out."""
    different = [row for row in rows if not row.same]
    width = max([len(f"{row.topic} {row.field}") for row in different], default=0)
    lines = [f"{len(rows) - len(different)} of {len(rows)} fields are the same to the bit"]
    if different:
        lines.append(f"{'':<{width}}{'pairs':>8}{'only 1st':>10}{'only 2nd':>10}{'largest':>12}")
    for row in different:
        counts = f"{row.pairs:>8}{row.only_first:>10}{row.only_second:>10}"
        lines.append(f"{f'{row.topic} {row.field}':<{width}}{counts}{row.largest:>12.4g}")
    return "\n".join(lines)


def _differences(topic: str, a: Series, b: Series) -> list[FieldDifference]:
    if a.type_name != b.type_name:
        return [FieldDifference(topic, "-", 0, len(a), len(b), float("nan"))]
    mine, theirs = _matched(a, b)
    unmatched = len(a) - len(mine), len(b) - len(theirs)
    if not a.fields:
        return [FieldDifference(topic, "-", len(mine), *unmatched, 0.0)]
    names = tuple(dict.fromkeys((*a.names, *b.names)))
    first, second = _by_columns(a, names), _by_columns(b, names)
    rows = [
        FieldDifference(topic, name, len(mine), *unmatched, _largest(first[name][mine], second[name][theirs]))
        for name in first
        if name in second
    ]
    alone = sorted(first.keys() ^ second.keys())
    return rows + [
        FieldDifference(topic, name, 0, len(a) * (name in first), len(b) * (name in second), float("nan"))
        for name in alone
    ]


def _by_columns(series: Series, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The fields, with columns of these names in this order; NaN where the series lacks one."""
    if series.names == names:
        return series.fields
    here = [name for name in names if name in series.names]
    mine, wanted = ([owner.index(name) for name in here] for owner in (series.names, names))
    fields = dict(series.fields)
    for name in NAMED & fields.keys():
        values = fields[name]
        fields[name] = np.full((len(values), len(names), *values.shape[2:]), np.nan)
        fields[name][:, wanted] = values[:, mine]
    return fields


def _matched(a: Series, b: Series) -> tuple[np.ndarray, np.ndarray]:
    """Indices of pairs: of equal stamps the first with the first, the second with the second."""
    order = np.argsort(b.stamp, kind="stable")
    places = np.searchsorted(b.stamp, a.stamp, sorter=order) + _turns(a.stamp)
    mine = np.flatnonzero(places < np.searchsorted(b.stamp, a.stamp, side="right", sorter=order))
    if len(mine):
        return mine, order[places[mine]]
    both = np.arange(min(len(a), len(b)))
    return both, both


def _turns(stamps: np.ndarray) -> np.ndarray:
    """How many of the same stamp were before each."""
    order = np.argsort(stamps, kind="stable")
    turns = np.empty(len(stamps), dtype=int)
    turns[order] = np.arange(len(stamps)) - np.searchsorted(stamps, stamps[order], sorter=order)
    return turns


def _largest(a: np.ndarray, b: np.ndarray) -> float:
    if not len(a):
        return 0.0
    if a.shape != b.shape:
        return float("inf")
    if not np.issubdtype(a.dtype, np.number):
        return float(np.mean([x != y for x, y in zip(a, b, strict=True)]))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.where(same, 0.0, np.abs(a - b))
    return float(np.max(np.where(np.isnan(distance), np.inf, distance), initial=0.0))
