"""Finds what a robot makes of its pressures (`InputMap`) by what was seen of it.

The pressures under which the twin looks like each frame are found first, each frame by itself, by Gauss and Newton with
closest points found anew in each step. What they are aside of those that were told is explained by terms: powers of a
chamber's own pressure, what another chamber does, products of two, and those of the time under pressure. Where the twin
looks the same with chambers exchanged, so does for the most part what is wrong with it: such terms share a coefficient,
and each chamber has one more of its own for what was made unevenly.

There may be more terms than frames can tell, and all of them count, each by as much as it is likely (`evidence`):
coefficients are normally distributed about none, with one spread for each kind of term, and what no terms say of a
frame is noise, as large in each chamber's pressure, and in what is seen. Where frames would not be nearer by what all
others say of them, there are no terms.

Of fewer than ten frames each chamber has a polynomial of its own, in its share of inflation, of a degree, and to a
part, that those ask for that are left out: of two frames, what one says of the other; and there is none of it unless
they are surely nearer, since so few may agree by chance, and what is wrong goes far beyond them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soft_twin.errors import ConvergenceError
from soft_twin.learning.evidence import Evidence, likeliest_coefficients
from soft_twin.learning.input_map import Filling, InputMap, logarithmic, terms
from soft_twin.learning.input_terms import FACTOR, Part, all_degrees, all_parts, design_of, own_parts
from soft_twin.learning.left_out import surely_nearer
from soft_twin.learning.matching import Match, Surface
from soft_twin.parallel import Say

OWN = 2  # degree of what each chamber of few frames has for itself
RIDGE = 0.01  # [mm²] by which a pressure of 1 costs, so that everything has a solution
FAR = 20.0  # [mm²] the same, while the nearest surface of a frame is looked for
STEPS = 12  # of Gauss and Newton
STEP = 0.25  # largest change of a pressure
SETTLED = 3e-3  # change of a pressure
HALVINGS = 4
TAKEN = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of what few frames find
FOLDS, LEAST_FRAMES = 5, 10
MOST_FRAMES = 100  # that say what the spreads are
FACTOR_SPREAD = 0.5  # of the factor by which a robot's pressures are others


def fit_inputs(
    surface: Surface,
    inputs: np.ndarray,
    match: Match,
    filling: Filling,
    held: np.ndarray | None = None,
    symmetries: Sequence[Sequence[int]] = (),
    say: Say | None = None,
) -> InputMap:
    """The map under which surfaces are nearest to what was seen.

    Args:
        surface: shares (a,) → points and normals (p, 3) [mm].
        inputs: (f, a) shares of the frames, −1…1.
        match: what was seen in them.
        filling: of the chambers.
        held: (f,) how long pressures had stood [s], 0 or more; None: not known. What is always the same says nothing.
        symmetries: chambers (a,) in the place of each, of every exchange under which the twin is the same.

    Raises:
        ConvergenceError: it diverges.
    """
    inputs, actuators = np.asarray(inputs, float), np.shape(inputs)[1]
    if len(inputs) < LEAST_FRAMES:
        filling = Filling.straight(actuators)
    reference = _reference(held)
    degrees = all_degrees(actuators, reference is not None)
    times = np.zeros(len(inputs)) if reference is None else logarithmic(np.asarray(held), reference)
    told = np.asarray(jax.jit(jax.vmap(filling.pressures_of))(inputs), float)
    values = np.asarray(jax.jit(jax.vmap(lambda q, t: terms(degrees, q, t)))(told, times), float)
    frames = _Frames(match.linearised(surface), filling, told)
    if len(inputs) < LEAST_FRAMES:
        parts, weights = _of_few(frames, values, degrees)
    else:
        parts = all_parts(degrees, symmetries)
        weights = _of_many(frames, design_of(values, parts, actuators), parts, say)
    coefficients = np.zeros((len(degrees), actuators))
    for part, weight in zip(parts, weights, strict=True):
        coefficients[part.terms, part.chambers] += weight
    used = coefficients.any(axis=1)
    longest = np.inf if reference is None else float(np.max(held))
    kept = jnp.asarray(coefficients[used], jnp.float32)
    return InputMap(jnp.asarray(degrees[used]), kept, filling, reference, longest)


def _reference(held: np.ndarray | None) -> float | None:
    """s₀ of an InputMap."""
    if held is None or np.ptp(held) == 0.0:
        return None
    return float(np.median(held[held > 0.0]))


class _Around(NamedTuple):
    """What is linear about pressures: ½ Hessian (f, a, a) and ½ gradient (f, a) of the squared distances (f,) [mm²]."""

    hessians: np.ndarray
    slopes: np.ndarray
    distances: np.ndarray

    def replaced(self, others: "_Around", which: np.ndarray) -> "_Around":
        """With those frames (f,) of others."""
        pairs = zip(self, others, strict=True)
        return _Around(*(np.where(which.reshape(-1, *[1] * (own.ndim - 1)), new, own) for own, new in pairs))


@dataclass(frozen=True)
class _Frames:
    """How far surfaces are from what was seen.

    Attributes:
        linearised: see `Match.linearised`.
        filling: of the chambers.
        told: (f, a) pressures over the largest.
    """

    linearised: Callable
    filling: Filling
    told: np.ndarray

    def around(self, pressures: np.ndarray) -> _Around:
        """What is linear about pressures (f, a).

        Raises:
            ConvergenceError: they are infinitely far.
        """
        shares, slopes = self._shares(pressures.astype(np.float32))
        hessians, gradients, distances = (np.asarray(each, float) for each in self.linearised(shares))
        if not np.isfinite(distances).all():
            frame = int(np.argmin(np.isfinite(distances)))
            raise ConvergenceError(f"the map of the inputs diverged: frame {frame} is {distances[frame]} mm² away")
        slopes = np.asarray(slopes, float)
        return _Around(hessians * slopes[:, :, None] * slopes[:, None, :], gradients * slopes, distances)

    def aside(self, pressures: np.ndarray) -> _Around:
        """The same about those told and pressures (f, a) more; about those told, where every search begins, once."""
        return self.around(self.told + pressures) if pressures.any() else self._told

    @cached_property
    def _told(self) -> _Around:
        return self.around(self.told)

    @cached_property
    def _shares(self) -> Callable:
        """Pressures (f, a) → shares (f, a) and their slopes (f, a)."""

        def both(pressures: jax.Array) -> tuple[jax.Array, jax.Array]:
            return jax.jvp(self.filling.shares_of, (pressures,), (jnp.ones_like(pressures),))

        return jax.jit(jax.vmap(both))

    def nearest(self, say: Say | None) -> tuple[np.ndarray, np.ndarray]:
        """(f, a) by how much the pressures are aside of those told under which each surface is nearest to what was
        seen, and (f, a, a) their precision over that of what is seen [mm²].

        They are linear about pressures that are nearest with FAR to pay for what they are aside: farther away surfaces
        are ever less what the twin has shown.
        """
        pressures, reach = self.told.copy(), np.ones(len(self.told))
        around, pay = self.around(pressures), FAR * np.eye(self.told.shape[1])
        for number in range(STEPS):
            if say is not None:
                say(f"fitting the inputs: step {number + 1} of {STEPS}")
            pull = around.slopes + FAR * (pressures - self.told)
            step = -np.linalg.solve(around.hessians + pay, pull[..., None])[..., 0]
            largest = np.abs(step).max(axis=1)
            tried = pressures + (reach * np.minimum(1.0, STEP / np.maximum(largest, SETTLED)))[:, None] * step
            found = self.around(tried)
            nearer = self._cost(found, tried) < self._cost(around, pressures)
            reach = np.where(nearer, np.minimum(2.0 * reach, 1.0), 0.5 * reach)
            pressures, around = np.where(nearer[:, None], tried, pressures), around.replaced(found, nearer)
            if (reach * largest < SETTLED).all():
                break
        precision = around.hessians + RIDGE * np.eye(self.told.shape[1])
        left = np.linalg.solve(precision, around.slopes[..., None])[..., 0]
        return pressures - left - self.told, precision

    def _cost(self, around: _Around, pressures: np.ndarray) -> np.ndarray:
        """(f,) [mm²]."""
        return around.distances + FAR * ((pressures - self.told) ** 2).sum(axis=1)


def _of_many(frames: _Frames, design: np.ndarray, parts: Sequence[Part], say: Say | None) -> np.ndarray:
    """(n,) the likeliest coefficients of parts, whose design is (f, a, n)."""
    aside, precision = frames.nearest(say)
    chosen = np.unique(np.linspace(0, len(aside) - 1, min(len(aside), MOST_FRAMES)).round().astype(int))
    if say is not None:
        say(f"fitting the inputs: {design.shape[2]} coefficients of {len(aside)} frames")
    kinds = [part.kind for part in parts]
    evidence = Evidence(aside[chosen], precision[chosen], design[chosen], kinds, {FACTOR: FACTOR_SPREAD})
    beliefs = evidence.likeliest()
    if not evidence.foretells(beliefs):
        return np.zeros(len(parts))
    return likeliest_coefficients(aside, precision, design, beliefs)


def _of_few(frames: _Frames, values: np.ndarray, degrees: np.ndarray) -> tuple[list[Part], np.ndarray]:
    """Parts, and their coefficients (n,), of few frames: a polynomial of each chamber, of the degree, and the share of
    it, that meets best what is left out, by the mean of its distances [mm], if that is surely nearer than without. One
    frame leaves none out, and teaches nothing.
    """
    count, actuators = frames.told.shape
    if count == 1:
        return [], np.zeros(0)
    folds, errors = np.arange(count) % FOLDS, {}
    for degree in range(min(OWN, count - max(np.bincount(folds)) - 1) + 1):
        design, left_out = design_of(values, own_parts(degrees, degree), actuators), np.empty((len(TAKEN), count))
        for fold in np.unique(folds):
            weights = _settled(frames, design, folds != fold)
            apart = np.array([frames.aside(taken * design @ weights).distances for taken in TAKEN])
            left_out[:, folds == fold] = apart[:, folds == fold]
        errors |= {(degree, taken): np.sqrt(own) for taken, own in zip(TAKEN, left_out, strict=True)}
    best, without = min(errors, key=lambda choice: errors[choice].mean()), (0, 0.0)
    if not surely_nearer(errors[best], errors[without]):
        return [], np.zeros(0)
    degree, taken = best
    own = own_parts(degrees, degree)
    return own, taken * _settled(frames, design_of(values, own, actuators), np.full(count, True))


def _settled(frames: _Frames, design: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """(n,) coefficients of a design (f, a, n) under which the frames (f,) inside are nearest."""

    def around(weights: np.ndarray) -> tuple[_Around, float]:
        found = frames.aside(design @ weights)
        return found, found.distances[inside].mean() + RIDGE * (weights**2).sum()

    weights, own = np.zeros(design.shape[2]), design[inside]
    (hessians, slopes, _), cost = around(weights)
    for _ in range(STEPS):
        normal = np.einsum("fan,fam->nm", own, hessians[inside] @ own) / inside.sum() + RIDGE * np.eye(len(weights))
        gradient = np.einsum("fan,fa->n", own, slopes[inside]) / inside.sum() + RIDGE * weights
        step = -np.linalg.solve(normal, gradient)
        largest = np.abs(own @ step).max()
        step *= min(1.0, STEP / max(largest, SETTLED))
        for _ in range(HALVINGS):
            found, new = around(weights + step)
            if new < cost:
                break
            step *= 0.5
        else:
            break
        weights, (hessians, slopes, _), cost = weights + step, found, new
        if largest < SETTLED:
            break
    return weights
