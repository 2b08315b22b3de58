"""Finds what a robot makes of its pressures (`InputMap`) by what was seen of it.

Every chamber has a parabola of its own. Of fewer than ten frames, those that are left out say whether a line or a
constant does better, and what share of it: of two frames, what one says of the other; and there is none of it unless
they are surely nearer, since so few may agree by chance, and what is wrong goes far beyond them. More terms are added
one by one, each the one that promises to bring surfaces nearer than any other (orthogonal matching pursuit): cubics,
what another chamber does, products of two, and whatever of the time under pressure. Where the twin looks the same with
chambers exchanged, so does what is wrong with it, but for what was made unevenly: such terms share a coefficient. How
many there are, frames that are left out say; where those are nearer without any, there are none. All coefficients are
those of least squares, by Gauss and Newton, with closest points found anew in each step.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.learning.input_map import InputMap, logarithmic, terms
from soft_twin.learning.left_out import surely_nearer
from soft_twin.learning.matching import Match, Surface
from soft_twin.parallel import Say

OWN = 2  # degree of what each chamber has for itself
RIDGE = 0.01  # [mm²] by which a share of 1 costs
FIRST_STEPS, STEPS = 12, 3  # of Gauss and Newton: at the start, and with each term
STEP = 0.5  # largest change of a share
SETTLED = 3e-3  # change of a share
HALVINGS = 4
TAKEN = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of what few frames find
FOLDS, LEAST_FRAMES = 5, 10
MOST, PATIENCE = 24, 4  # terms; so many that do not help, one after the other, are enough


class Part(NamedTuple):
    """One coefficient: which terms it is of, and of which chambers (both in the order of the pairs)."""

    terms: list[int]
    chambers: list[int]


def fit_inputs(
    surface: Surface,
    inputs: np.ndarray,
    match: Match,
    held: np.ndarray | None = None,
    symmetries: Sequence[Sequence[int]] = (),
    say: Say | None = None,
) -> InputMap:
    """The map under which surfaces are nearest to what was seen.

    Args:
        surface: shares (a,) → points and normals (p, 3) [mm].
        inputs: (f, a) shares of the frames, −1…1.
        match: what was seen in them.
        held: (f,) how long pressures had stood [s], 0 or more; None: not known. What is always the same says nothing.
        symmetries: chambers (a,) in the place of each, of every exchange under which the twin is the same.

    Raises:
        ConvergenceError: it diverges.
    """
    inputs, actuators = np.asarray(inputs, float), inputs.shape[1]
    reference = _reference(held)
    degrees = _degrees(actuators, reference is not None)
    times = np.zeros(len(inputs)) if reference is None else logarithmic(np.asarray(held), reference)
    values = np.asarray(jax.jit(jax.vmap(lambda x, t: terms(degrees, x, t)))(inputs, times), float)
    linearised, others = match.linearised(surface), _others(degrees, symmetries)

    def search_of(own: list[Part]) -> _Search:
        return _Search(linearised, inputs, _design(values, [*own, *others], actuators), len(own))

    degree, taken = _own_degree(degrees, len(inputs), search_of)
    own = _own(degrees, degree)
    search = search_of(own)
    count = 0 if len(inputs) < LEAST_FRAMES else _best_count(search, say)
    if taken == 0.0 or count is None:
        return InputMap.none(actuators)
    path = search.path(np.full(len(inputs), True))
    for number in range(count + 1):
        chosen, weights, _ = next(path)
        if say is not None:
            say(f"fitting the inputs: {number} of {count} terms beside {len(own)}")
    coefficients = np.zeros((len(degrees), actuators))
    for part, weight in zip((([*own, *others])[i] for i in chosen), taken * weights, strict=True):
        coefficients[part.terms, part.chambers] += weight
    used = coefficients.any(axis=1)
    return InputMap(jnp.asarray(degrees[used]), jnp.asarray(coefficients[used], jnp.float32), reference)


def _reference(held: np.ndarray | None) -> float | None:
    """s₀ of an InputMap."""
    if held is None or np.ptp(held) == 0.0:
        return None
    return float(np.median(held[held > 0.0]))


def _own_degree(degrees: np.ndarray, frames: int, search_of: Callable[[list[Part]], "_Search"]) -> tuple[int, float]:
    """Degree of each chamber's own polynomial, and the share of it that is taken: of few frames those that meet best
    what is left out, by the mean of its distances [mm], if that is surely nearer than without. One frame has no others:
    the constant it asks for is taken.
    """
    if frames >= LEAST_FRAMES:
        return OWN, 1.0
    if frames == 1:
        return 0, 1.0
    folds, errors = np.arange(frames) % FOLDS, {}
    for degree in range(min(OWN, frames - max(np.bincount(folds)) - 1) + 1):
        search, left_out = search_of(_own(degrees, degree)), np.empty((len(TAKEN), frames))
        for fold in np.unique(folds):
            chosen, weights, _ = next(search.path(folds != fold))
            values = np.array([search.distances(chosen, taken * weights) for taken in TAKEN])
            left_out[:, folds == fold] = values[:, folds == fold]
        errors |= {(degree, taken): np.sqrt(own) for taken, own in zip(TAKEN, left_out, strict=True)}
    best, without = min(errors, key=lambda choice: errors[choice].mean()), (0, 0.0)
    return best if surely_nearer(errors[best], errors[without]) else without


def _best_count(search: "_Search", say: Say | None) -> int | None:
    """How many terms make the frames nearest that are left out; None: they are nearest as they are."""
    frames = np.arange(len(search.inputs))
    paths, found = [search.path(frames % FOLDS != fold) for fold in range(FOLDS)], []
    for number, steps in enumerate(zip(*paths, strict=False)):
        left_out = np.concatenate([values[frames % FOLDS == fold] for fold, (_, _, values) in enumerate(steps)])
        found.append(left_out.mean())
        if say is not None:
            say(f"fitting the inputs: {number} terms, frames that are left out {found[-1]:.4g} mm²")
        if number - np.argmin(found) >= PATIENCE:
            break
    return int(np.argmin(found)) if min(found) < search.distances([], np.zeros(0)).mean() else None


class _Search:
    """Least squares with parts that are added.

    Args:
        linearised: see `Match.linearised`.
        inputs: (f, a).
        design: (f, a, n) what each part's coefficient does to shares.
        first: so many parts are there from the start.
    """

    def __init__(self, linearised: Callable, inputs: np.ndarray, design: np.ndarray, first: int):
        self._linearised, self.inputs, self._design, self._first = linearised, inputs, design, first

    def path(self, inside: np.ndarray) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """Numbers of the parts that are there, their coefficients, and the distances (f,) of all frames, with ever one
        part more; found by the frames (f,) inside."""
        chosen, weights = list(range(self._first)), np.zeros(self._first)
        weights, (hessians, slopes, values) = self._settled(chosen, weights, inside, FIRST_STEPS)
        yield chosen, weights, values
        while len(chosen) < min(self._first + MOST, self._design.shape[2]):
            chosen = [*chosen, self._next(chosen, hessians, slopes, inside)]
            weights = np.append(weights, 0.0)
            weights, (hessians, slopes, values) = self._settled(chosen, weights, inside, STEPS)
            yield chosen, weights, values

    def distances(self, chosen: list[int], weights: np.ndarray) -> np.ndarray:
        """(f,) of all frames [mm²], with these coefficients of the parts that are there."""
        shares = self.inputs + self._design[:, :, chosen] @ weights
        return np.asarray(self._linearised(shares.astype(np.float32))[2], float)

    def _settled(self, chosen: list[int], weights: np.ndarray, inside: np.ndarray, steps: int):
        """Coefficients after so many steps at the most, and what is linear about them."""
        design = self._design[:, :, chosen]
        around, cost = self._around(design, weights, inside)
        for _ in range(steps):
            H, g = _normal(design, *around[:2], inside)
            step = -np.linalg.solve(H, g + RIDGE * weights)
            largest = np.abs(design[inside] @ step).max()
            step *= min(1.0, STEP / max(largest, SETTLED))
            for _ in range(HALVINGS):
                tried, new = self._around(design, weights + step, inside)
                if new < cost:
                    break
                step *= 0.5
            else:
                break
            weights, around, cost = weights + step, tried, new
            if largest < SETTLED:
                break
        return weights, around

    def _around(self, design: np.ndarray, weights: np.ndarray, inside: np.ndarray):
        """What is linear about coefficients, and what they cost [mm²]."""
        shares = (self.inputs + design @ weights).astype(np.float32)
        around = tuple(np.asarray(each, float) for each in self._linearised(shares))
        if not np.isfinite(around[2]).all():
            frame = int(np.argmin(np.isfinite(around[2])))
            raise ConvergenceError(f"the map of the inputs diverged: frame {frame} is {around[2][frame]} mm² away")
        return around, around[2][inside].mean() + RIDGE * (weights**2).sum()

    def _next(self, chosen: list[int], hessians: np.ndarray, slopes: np.ndarray, inside: np.ndarray) -> int:
        """The part that promises most, the others following it."""
        all_parts, own = self._design, self._design[:, :, chosen]
        H, g = _normal(own, hessians, slopes, inside)
        mixed = np.einsum("faq,fan->qn", own[inside], hessians[inside] @ all_parts[inside]) / inside.sum()
        diagonal = np.einsum("fan,fan->n", all_parts[inside], hessians[inside] @ all_parts[inside]) / inside.sum()
        every = np.einsum("fan,fa->n", all_parts[inside], slopes[inside]) / inside.sum()
        followed = np.linalg.solve(H, np.column_stack([mixed, g]))
        left = diagonal - (mixed * followed[:, :-1]).sum(axis=0)
        gains = (every - mixed.T @ followed[:, -1]) ** 2 / (np.maximum(left, 0.0) + RIDGE)
        gains[chosen] = -1.0
        return int(np.argmax(gains))


def _normal(design: np.ndarray, hessians: np.ndarray, slopes: np.ndarray, inside: np.ndarray):
    """Half the Hessian (n, n), with the ridge, and half the gradient (n,), without, of the frames' mean."""
    own = design[inside]
    H = np.einsum("fan,fam->nm", own, hessians[inside] @ own) / inside.sum()
    return H + RIDGE * np.eye(H.shape[0]), np.einsum("fan,fa->n", own, slopes[inside]) / inside.sum()


def _degrees(actuators: int, timed: bool) -> np.ndarray:
    """(m, a + 1) of all terms, see `InputMap`."""
    one = np.eye(actuators + 1, dtype=int)[:actuators]
    plain = [np.zeros(actuators + 1, int), *one, *(2 * one)]
    rows = [*plain, *(3 * one), *(one[i] + one[j] for i, j in combinations(range(actuators), 2))]
    if timed:
        rows += [row + np.eye(actuators + 1, dtype=int)[-1] for row in plain]
    return np.array(rows)


def _own(degrees: np.ndarray, highest: int = OWN) -> list[Part]:
    """Each chamber's parabola, or of a lower degree."""
    shares = degrees[:, :-1]
    low = np.flatnonzero(
        (shares.max(axis=1) <= highest) & (shares.astype(bool).sum(axis=1) <= 1) & (degrees[:, -1] == 0)
    )
    return [Part([m], [i]) for i in range(shares.shape[1]) for m in low if _is_of(shares[m], i)]


def _others(degrees: np.ndarray, symmetries: Sequence[Sequence[int]]) -> list[Part]:
    """What may be added: terms and chambers that symmetries make of each other have one coefficient; those of time
    also, of all chambers alike."""
    shares, timed = degrees[:, :-1], degrees[:, -1] > 0
    numbers = {tuple(row): m for m, row in enumerate(degrees)}
    own = {pair for part in _own(degrees) for pair in zip(part.terms, part.chambers, strict=True)}
    pairs = [
        (m, i)
        for m, row in enumerate(shares)
        for i in range(shares.shape[1])
        if (m, i) not in own and (_is_of(row, i) or not timed[m] and row.max() == 1)
    ]
    parts, seen = [], set()
    for pair in pairs:
        if pair not in seen:
            orbit = _orbit(pair, degrees, numbers, symmetries)
            seen |= orbit
            parts.append(Part(*map(list, zip(*sorted(orbit), strict=True))))
    for degree in range(3):
        alike = [(m, i) for m, i in pairs if timed[m] and shares[m].max() == degree]
        if alike:
            parts.append(Part(*map(list, zip(*alike, strict=True))))
    return parts


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


def _is_of(shares: np.ndarray, chamber: int) -> bool:
    """Whether a term of these degrees (a,) is of no other chamber's share."""
    return not np.delete(shares, chamber).any()


def _design(values: np.ndarray, parts: Sequence[Part], actuators: int) -> np.ndarray:
    """(f, a, n) what each part's coefficient does to shares, of terms' values (f, m)."""
    found = np.zeros((len(values), actuators, len(parts)))
    for n, part in enumerate(parts):
        for m, i in zip(part.terms, part.chambers, strict=True):
            found[:, i, n] += values[:, m]
    return found
