"""Multipliers of a step some of whose rows are of friction: Coulomb's law |λ| ≤ μ λ', with λ' of the same step.

Friction has two rows for each point, and λ, of both, is bounded by its length. With the gaps u = g + W λ after the
step, λ minimise ½ λᵀ W λ + gᵀ λ but for friction, which has no potential. Where it is known which rows push, stick and
slip, and which way d, they are a linear system: u = 0 where they stick or push, and where they slip, along d and across
it,

    λ_d = μ λ',    u_e + (|w| − b)/(ρ b) λ_e = 0    with w = λ − ρ u, d = w/|w| and b = μ λ' of the guess:

rows across a slip of |u| give way by |u|/b. Newton's method goes from one such guess to the next (Alart and Curnier
1991), as far as is nearer to Coulomb's law, and is done where it finds the same again.

Where it does not, convex programs find a better guess: λ minimise ½ λᵀ W λ + (g + b)ᵀ λ under |λ| ≤ μ λ', both unknown,
where b opens the gaps of rows that push by μ |s|, their slips in the program before: at a fixed point this is Coulomb's
law (De Saxcé and Feng 1998; Acary, Cadoux, Lemaréchal and Malick 2011). The disc is cut out by its tangents: eight at
first, and in each program those where the one before left it (Kelley 1960), a hundredth of a radian apart: what
programs find is as good as that. Rows that repeat each other hardly trouble them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.quadratic_programs import solve_box_qp, solve_cone_qp
from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.rows import Rows

ROUNDS = 30  # of Newton's method
SHORTENINGS = 3  # of its steps, which lower what is left of Coulomb's law
TURNED = 1e-4  # of the largest bound: what forces still turn by, whose squares the next round would change
PROGRAMS = 20
SETTLED = 1e-9  # of the largest gap, or bound: what still changes
CORNERS = np.exp(0.25j * np.pi * np.arange(8))  # directions of the first tangents of a disc
ALIKE = np.cos(1e-2)  # of tangents that would trouble a program
OPEN, SLIPS = 2, 3


@dataclass(frozen=True)
class _Step:
    """A step's rows by the module's symbols: W (m, m), g (m,), bounds (m,) of those that are not of friction; the
    places (r, 2) of those that are, in pairs, those (r,) of the ones that bound them, and μ (r,)."""

    W: np.ndarray
    g: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    pairs: np.ndarray
    by: np.ndarray
    mu: np.ndarray

    @property
    def plain(self) -> np.ndarray:
        """(m,) bool: is not of friction."""
        result = np.ones(len(self.g), dtype=bool)
        result[self.pairs] = False
        return result


@dataclass(frozen=True)
class _Guess:
    """What rows do.

    Attributes:
        sides: (m,) −1 where a multiplier is at its lower bound, 1 at its upper one, 0 between them; of friction 0 where
            it sticks, SLIPS, or OPEN where nothing pushes.
        slipping: (s,) which pairs slip.
        ways: (s, 2) d of these.
        giving: (s,) what they give way by across [m/N].
        forces: (r, 2) that it comes from [N].
    """

    sides: np.ndarray
    slipping: np.ndarray
    ways: np.ndarray
    giving: np.ndarray
    forces: np.ndarray


@dataclass(frozen=True)
class _Tangents:
    """Of the discs of pairs `of` (k,), in directions (k, 2)."""

    of: np.ndarray
    ways: np.ndarray

    @classmethod
    def first(cls, count: int) -> "_Tangents":
        """Of `count` pairs."""
        corners = np.column_stack([CORNERS.real, CORNERS.imag])
        return cls(np.repeat(np.arange(count), len(corners)), np.tile(corners, (count, 1)))

    def and_where(self, pairs: np.ndarray, rubs: np.ndarray) -> "_Tangents":
        """With those of pairs (p,) along what they rub with (p, 2), unless there are such."""
        ways = rubs / np.linalg.norm(rubs, axis=1)[:, None]
        new = ~((self.of == pairs[:, None]) & (ways @ self.ways.T > ALIKE)).any(axis=1)
        if not new.any():
            return self
        return _Tangents(np.append(self.of, pairs[new]), np.append(self.ways, ways[new], axis=0))


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
    pairs = np.flatnonzero(places >= 0).reshape(-1, 2)
    if not len(pairs):
        return solve_box_qp(W, g, rows.lower, rows.upper)
    step = _Step(W, g, rows.lower, rows.upper, pairs, places[pairs[:, 0]], factors[pairs[:, 0]])
    start = known if (known[step.by] > 0.0).any() else _without_friction(step)
    values = _newton(step, start)
    if values is None:
        values = _newton(step, _without_friction(step))
    return _programs(step, start) if values is None else values


def _without_friction(step: _Step) -> np.ndarray:
    values, plain = np.zeros(len(step.g)), np.flatnonzero(step.plain)
    values[plain] = solve_box_qp(step.W[np.ix_(plain, plain)], step.g[plain], step.lower[plain], step.upper[plain])
    return values


def _newton(step: _Step, values: np.ndarray) -> np.ndarray | None:
    """Multipliers (m,) by Newton's method; None where it does not find them."""
    before, left = None, _left(step, values)
    for _ in range(ROUNDS):
        guess = _guess(step, values)
        if before is not None and _repeats(guess, before):
            return values
        try:
            way = _solve(step, guess) - values
        except np.linalg.LinAlgError:
            return None
        tries = [(_left(step, values + way), 1.0)]
        while not tries[-1][0] < left and len(tries) <= SHORTENINGS:
            fraction = 0.5 * tries[-1][1]
            tries.append((_left(step, values + fraction * way), fraction))
        left, fraction = min(tries)
        values, before = values + fraction * way, guess if fraction == 1.0 else None
    return None


def _wanted(step: _Step, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w (m,) of multipliers (m,), and 1/ρ (m,), those of two of friction alike."""
    scales = step.W.diagonal().copy()
    scales[step.pairs] = scales[step.pairs].mean(axis=1)[:, None]
    return values - (step.g + step.W @ values) / scales, scales


def _left(step: _Step, values: np.ndarray) -> float:
    """How far multipliers (m,) are from Coulomb's law [m]."""
    wanted, scales = _wanted(step, values)
    best, own = np.clip(wanted, step.lower, step.upper), wanted[step.pairs]
    limits = step.mu * np.maximum(wanted[step.by], 0.0)
    shares = np.minimum(1.0, limits / np.maximum(np.linalg.norm(own, axis=1), 1e-300))
    best[step.pairs] = shares[:, None] * own
    return float(np.linalg.norm(scales * (values - best)))


def _repeats(guess: _Guess, before: _Guess) -> bool:
    if not np.array_equal(guess.sides, before.sides):
        return False
    turned = np.abs(guess.forces - before.forces)[guess.slipping]
    return turned.max(initial=0.0) <= TURNED * np.abs(guess.forces).max()


def _guess(step: _Step, values: np.ndarray) -> _Guess:
    """What rows with multipliers (m,) do next."""
    (wanted, scales), pairs = _wanted(step, values), step.pairs
    sides = np.where(wanted <= step.lower, -1, (wanted >= step.upper).astype(int))
    own, limits = wanted[pairs], step.mu * wanted[step.by]
    lengths = np.linalg.norm(own, axis=1)
    states = np.where(sides[step.by] != 0, OPEN, np.where(lengths >= limits, SLIPS, 0))
    sides[pairs] = states[:, None]
    slipping = np.flatnonzero(states == SLIPS)
    ways = own[slipping] / lengths[slipping, None]
    giving = scales[pairs[slipping, 0]] * (lengths / limits - 1.0)[slipping]
    forces = own.copy()
    forces[slipping] = limits[slipping, None] * ways
    return _Guess(sides, slipping, ways, giving, forces)


def _solve(step: _Step, guess: _Guess) -> np.ndarray:
    """Multipliers (m,) of rows that do what is guessed."""
    (along, across), by, mu = step.pairs[guess.slipping].T, step.by[guess.slipping], step.mu[guess.slipping]
    turned = np.append(step.W, step.g[:, None], axis=1)
    for each in (turned, turned[:, :-1].T):
        first, second = guess.ways[:, 0, None], guess.ways[:, 1, None]
        each[along], each[across] = (
            first * each[along] + second * each[across],
            first * each[across] - second * each[along],
        )
    W, g = turned[:, :-1], turned[:, -1]
    W[across, across] += guess.giving
    W[:, by] += mu * W[:, along]
    values = np.where(step.plain & (guess.sides != 0), np.where(guess.sides > 0, step.upper, step.lower), 0.0)
    free = guess.sides == 0
    free[across] = True
    free = np.flatnonzero(free)
    values[free] = np.linalg.solve(W[np.ix_(free, free)], -(g + W @ values)[free])
    rubs = np.column_stack([mu * values[by], values[across]])
    turn = np.stack([guess.ways, guess.ways[:, ::-1] * [-1.0, 1.0]], axis=1)
    values[step.pairs[guess.slipping]] = np.einsum("si,sij->sj", rubs, turn)
    return values


def _programs(step: _Step, start: np.ndarray) -> np.ndarray:
    """Multipliers (m,) by convex programs, and by Newton's method from what they find; those of the last program where
    they do not settle."""
    chosen, least = step.plain, SETTLED * float(np.abs(step.g).max())
    chosen[step.by] = (start > 0.0)[step.by]
    opening = _opening(step, step.g + step.W @ start)
    tangents = first = _Tangents.first(len(step.by))
    for _ in range(PROGRAMS):
        try:
            values, left = _onto_discs(step, _program(step, opening, chosen, tangents))
        except ConvergenceError:  # where rows repeat each other, too many tangents meet
            if tangents is first:
                raise
            tangents = first
            continue
        finer = tangents.and_where(left, values[step.pairs[left]])
        u = step.g + step.W @ values
        missed = step.by[~chosen[step.by] & (u[step.by] < -least)]
        before, opening = opening, _opening(step, u)
        if len(missed):
            chosen[missed] = True
        else:
            exact = _newton(step, values)
            if exact is not None:
                return exact
            if finer is tangents and np.abs(opening - before)[chosen].max(initial=0.0) <= least:
                break
        tangents = finer
    return values


def _opening(step: _Step, u: np.ndarray) -> np.ndarray:
    """b (m,) of gaps u (m,)."""
    return np.bincount(step.by, step.mu * np.linalg.norm(u[step.pairs], axis=1), minlength=len(u))


def _onto_discs(step: _Step, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers (m,) on their discs, and the pairs (k,) that were not."""
    rubs, bounds = values[step.pairs], step.mu * np.maximum(values[step.by], 0.0)
    lengths = np.linalg.norm(rubs, axis=1)
    values[step.pairs] = np.minimum(1.0, bounds / np.maximum(lengths, 1e-300))[:, None] * rubs
    return values, np.flatnonzero((bounds > 0.0) & (lengths > bounds + SETTLED * bounds.max()))


def _program(step: _Step, opening: np.ndarray, chosen: np.ndarray, tangents: _Tangents) -> np.ndarray:
    """Multipliers (m,) of the program, of the `chosen` (m,) rows that push, and of their friction."""
    pushed = chosen[step.by]
    places = np.concatenate([np.flatnonzero(chosen), step.pairs[pushed].ravel()])
    place = np.full(len(chosen), -1)
    place[places] = np.arange(len(places))
    lower, upper = step.lower.copy(), step.upper.copy()
    lower[step.pairs], upper[step.pairs] = -np.inf, np.inf
    kept = pushed[tangents.of]
    of, each = tangents.of[kept], np.arange(kept.sum())
    planes = np.zeros((len(of), len(places)))
    planes[each[:, None], place[step.pairs[of]]] = tangents.ways[kept]
    planes[each, place[step.by[of]]] = -step.mu[of]
    values, f = np.zeros(len(chosen)), (step.g + opening)[places]
    values[places] = solve_cone_qp(step.W[np.ix_(places, places)], f, lower[places], upper[places], planes)
    return values
