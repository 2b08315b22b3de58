"""What the rows of a model's constraints push with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from soft_twin.mechanics.constraints.rows import Rows


class Multipliers(Sequence[dict[int, float]]):
    """Of each constraint, the multipliers [N] by the keys of its rows; rows that are not among them have 0.

    Rows come and go as a body moves: keys find those of one iteration in the next.
    """

    def __init__(self, by_constraint: Iterable[Mapping[int, float]]):
        self._own = [dict(own) for own in by_constraint]

    @classmethod
    def none(cls, count: int) -> "Multipliers":
        """Of `count` constraints that do not push."""
        return cls({} for _ in range(count))

    @classmethod
    def of(cls, rows: Sequence[Rows | None], values: np.ndarray) -> "Multipliers":
        """Values (m,) of all rows of all constraints, those that are not 0."""
        ends = np.cumsum([0 if own is None else len(own.keys) for own in rows])
        parts = np.split(values, ends)[:-1]
        return cls({} if own is None else own.by_key(part) for own, part in zip(rows, parts, strict=True))

    def __getitem__(self, constraint: int) -> dict[int, float]:
        return self._own[constraint]

    def __len__(self) -> int:
        return len(self._own)

    def __iter__(self) -> Iterator[dict[int, float]]:
        return iter(self._own)

    def __repr__(self) -> str:
        return f"Multipliers({self._own})"

    def values(self, rows: Sequence[Rows | None]) -> np.ndarray:
        """(m,) of all rows of all constraints."""
        pairs = zip(rows, self._own, strict=True)
        return np.concatenate([np.zeros(0)] + [own.multipliers(known) for own, known in pairs if own is not None])

    def pushing(self, rows: Sequence[Rows | None], penalty: float | None) -> "Multipliers":
        """Those that push with a `penalty` of broken rows, see `Rows.pushing`."""
        pairs = zip(rows, self._own, strict=True)
        return Multipliers({} if own is None else own.by_key(own.pushing(known, penalty)) for own, known in pairs)

    def still_pushing(self, rows: Sequence[Rows | None], penalty: float) -> "Multipliers":
        """Those to start from at other positions: less where a row has opened since."""
        return Multipliers(
            {} if own is None else own.by_key(np.minimum(own.multipliers(known), own.pushing(known, penalty)))
            for own, known in zip(rows, self._own, strict=True)
        )

    def reactions(self, rows: Sequence[Rows | None], x: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) [N] of the constraints at positions (n, 3), Jᵀ λ."""
        total = np.zeros(x.size)
        for own, known in zip(rows, self._own, strict=True):
            if own is not None and known:
                total += own.jacobian.T @ own.multipliers(known)
        return total.reshape(x.shape)
