"""Multipliers of a step some of whose rows are of friction: Coulomb's law |λ| ≤ μ λ', with λ' of the same step.

With the gaps u = g + W λ after the step, λ minimise ½ λᵀ W λ + gᵀ λ but for friction, which has no potential. Where it
is known which rows push, stick and slip, to which side, they are a linear system: λ = ±μ λ' where rows slip, u = 0
where they stick or push. Newton's method goes from one such guess to the next (Alart and Curnier 1991) and is done
where it finds the same again.

Where it does not, convex programs find a better guess: λ minimise ½ λᵀ W λ + (g + b)ᵀ λ under |λ| ≤ μ λ', both unknown,
where b opens the gaps of rows that push by μ (|s₁| + |s₂|), their slips in the program before: at a fixed point this is
Coulomb's law (De Saxcé and Feng 1998; Acary, Cadoux, Lemaréchal and Malick 2011). Rows that repeat each other do not
trouble them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.linear_algebra.quadratic_programs import solve_box_qp, solve_cone_qp
from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.rows import Rows

ROUNDS = 12  # of Newton's method
PROGRAMS = 20
SETTLED = 1e-9  # of the largest gap: what still changes
OPEN = 2


@dataclass(frozen=True)
class _Step:
    """A step's rows by the module's symbols: W (m, m), g (m,), bounds (m,) of those that are not of friction; the
    places (r,) of those that are, of the ones that bound them, and μ (r,)."""

    W: np.ndarray
    g: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    friction: np.ndarray
    by: np.ndarray
    mu: np.ndarray

    @property
    def plain(self) -> np.ndarray:
        """(m,) bool: is not of friction."""
        result = np.ones(len(self.g), dtype=bool)
        result[self.friction] = False
        return result


def bounds_of(constraints: Sequence[Constraint], separate: Sequence[Rows | None]) -> tuple[np.ndarray, np.ndarray]:
    """Of all rows, the place (m,) of the row whose multiplier bounds theirs, −1 for none, and the factors μ (m,)."""
    places, factors, start = [], [], 0
    for constraint, own in zip(constraints, separate, strict=True):
        keys = [] if own is None else own.keys.tolist()
        place = {key: start + index for index, key in enumerate(keys)}
        bounds = [constraint.bound(key) or (None, 0.0) for key in keys]
        places += [place.get(key, -1) for key, _ in bounds]
        factors += [factor for _, factor in bounds]
        start += len(keys)
    return np.array(places, dtype=np.int64), np.array(factors)


def solve_coulomb(
    W: np.ndarray, g: np.ndarray, rows: Rows, places: np.ndarray, factors: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Multipliers (m,) of a step by the module's symbols.

    Args:
        W, g: (m, m), (m,).
        rows: whose bounds they keep, where no others bound them.
        places, factors: (m,), see `bounds_of`.
        known: (m,) multipliers to start from.

    Raises:
        ConvergenceError: a program has no solution.
    """
    friction = np.flatnonzero(places >= 0)
    if not len(friction):
        return solve_box_qp(W, g, rows.lower, rows.upper)
    step = _Step(W, g, rows.lower, rows.upper, friction, places[friction], factors[friction])
    start = known if (known[step.by] > 0.0).any() else _without_friction(step)
    values = _newton(step, start)
    return _programs(step, start) if values is None else values


def _without_friction(step: _Step) -> np.ndarray:
    values, plain = np.zeros(len(step.g)), np.flatnonzero(step.plain)
    values[plain] = solve_box_qp(step.W[np.ix_(plain, plain)], step.g[plain], step.lower[plain], step.upper[plain])
    return values


def _newton(step: _Step, values: np.ndarray) -> np.ndarray | None:
    """Multipliers (m,) by Newton's method; None where it does not find them."""
    before = None
    for _ in range(ROUNDS):
        sides = _sides(step, values)
        if before is not None and np.array_equal(sides, before):
            return values
        try:
            values, before = _with_sides(step, sides), sides
        except np.linalg.LinAlgError:
            return None
    return None


def _sides(step: _Step, values: np.ndarray) -> np.ndarray:
    """(m,) −1 where a multiplier is to be at its lower bound, 1 at its upper one, 0 between them; OPEN for friction
    where nothing pushes."""
    wanted = values - (step.g + step.W @ values) / step.W.diagonal()
    sides = np.where(wanted <= step.lower, -1, (wanted >= step.upper).astype(int))
    own, limit = wanted[step.friction], step.mu * wanted[step.by]
    slips = np.where(np.abs(own) >= limit, np.sign(own), 0.0)
    sides[step.friction] = np.where(sides[step.by] == 0, slips, OPEN)
    return sides


def _with_sides(step: _Step, sides: np.ndarray) -> np.ndarray:
    """Multipliers (m,) with given `_sides` (m,)."""
    values = np.where(step.plain & (sides != 0), np.where(sides > 0, step.upper, step.lower), 0.0)
    slipping = np.abs(sides[step.friction]) == 1
    rows, by = step.friction[slipping], step.by[slipping]
    shares = sides[rows] * step.mu[slipping]
    pushed = step.W.copy()
    np.add.at(pushed.T, by, (step.W[:, rows] * shares).T)
    free = np.flatnonzero(sides == 0)
    values[free] = np.linalg.solve(pushed[np.ix_(free, free)], -(step.g + step.W @ values)[free])
    values[rows] = shares * values[by]
    return values


def _programs(step: _Step, start: np.ndarray) -> np.ndarray:
    """Multipliers (m,) by convex programs, and by Newton's method from what they find; those of the last program where
    they do not settle."""
    chosen, least = step.plain, SETTLED * float(np.abs(step.g).max())
    chosen[step.by] = (start > 0.0)[step.by]
    opening = _opening(step, step.g + step.W @ start)
    for _ in range(PROGRAMS):
        values = _program(step, opening, chosen)
        u = step.g + step.W @ values
        missed = step.by[~chosen[step.by] & (u[step.by] < -least)]
        before, opening = opening, _opening(step, u)
        if len(missed):
            chosen[missed] = True
            continue
        exact = _newton(step, values)
        if exact is not None:
            return exact
        if np.abs(opening - before)[chosen].max(initial=0.0) <= least:
            break
    return values


def _opening(step: _Step, u: np.ndarray) -> np.ndarray:
    """b (m,) of gaps u (m,)."""
    return np.bincount(step.by, step.mu * np.abs(u[step.friction]), minlength=len(u))


def _program(step: _Step, opening: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Multipliers (m,) of the program, of the `chosen` (m,) rows that push, and of their friction."""
    pushed = np.flatnonzero(chosen[step.by])
    places = np.concatenate([np.flatnonzero(chosen), step.friction[pushed]])
    place = np.full(len(chosen), -1)
    place[places] = np.arange(len(places))
    lower, upper = step.lower.copy(), step.upper.copy()
    lower[step.friction], upper[step.friction] = -np.inf, np.inf
    cone = place[step.friction[pushed]], place[step.by[pushed]], step.mu[pushed]
    values, f = np.zeros(len(chosen)), (step.g + opening)[places]
    values[places] = solve_cone_qp(step.W[np.ix_(places, places)], f, lower[places], upper[places], *cone)
    return values
