"""Coefficients of which there may be more than what was seen can tell, each as large as it is likely to be.

What was seen, y of f frames with a entries each, is a linear function of coefficients, and noise:

    y_f = Φ_f w + ε_f,    w_k ~ N(0, τ²) with one τ for each kind of coefficient,    ε_f ~ N(0, σ² P_f⁻¹ + ν² I)

P_f being how sure each frame is in itself. Spreads τ and noises σ, ν are those under which all of y is likeliest, with
w integrated out (type II maximum likelihood; MacKay, Bayesian interpolation, Neural Computation 4, 1992); w is then the
likeliest. Where frames say nothing of a spread or a noise, it is a usual one.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

USUAL_SPREAD, USUAL_NOISE, USUAL_SEEN = 0.02, 0.02, 1.0
LEAST_SPREAD, MOST_SPREAD = 1e-4, 0.5
LEAST_NOISE, MOST_NOISE = 1e-3, 0.2
LEAST_SEEN, MOST_SEEN = 0.01, 10.0
BELIEF = 0.05  # in the usual ones, over the square of a logarithm


class Beliefs(NamedTuple):
    """Spreads τ (n,) of coefficients, ν, and σ."""

    spreads: np.ndarray
    noise: float
    seen: float

    def covariance(self, precision: np.ndarray) -> np.ndarray:
        """(f, a, a) of the noise of frames with P (f, a, a)."""
        return self.seen**2 * np.linalg.inv(precision) + self.noise**2 * np.eye(precision.shape[1])


class Evidence:
    """How likely what was seen is.

    Args:
        seen: (f, a) y.
        precision: (f, a, a) P.
        design: (f, a, n) Φ.
        kinds: (n,) of the coefficients.
        given: spreads of kinds that are not asked for.
    """

    def __init__(
        self,
        seen: np.ndarray,
        precision: np.ndarray,
        design: np.ndarray,
        kinds: Sequence[Hashable],
        given: Mapping[Hashable, float],
    ):
        self._seen, self._precision, self._inverse = seen, precision, _blocks(np.linalg.inv(precision))
        self._design = design.reshape(seen.size, -1)
        self._given = np.array([given.get(kind, 0.0) for kind in kinds])
        asked = [kind for kind in dict.fromkeys(kinds) if kind not in given]
        self._kinds = np.array([asked.index(kind) if kind in asked else -1 for kind in kinds])
        self._fixed = (self._design * self._given**2) @ self._design.T
        self._grams = [own @ own.T for own in (self._design[:, self._kinds == k] for k in range(len(asked)))]

    @property
    def usual(self) -> np.ndarray:
        """(k + 2,) logarithms of the usual spreads of kinds, ν and σ."""
        return np.log([*[USUAL_SPREAD] * len(self._grams), USUAL_NOISE, USUAL_SEEN])

    def likeliest(self) -> Beliefs:
        """Those under which all is likeliest."""
        limits = [(LEAST_SPREAD, MOST_SPREAD)] * len(self._grams) + [(LEAST_NOISE, MOST_NOISE), (LEAST_SEEN, MOST_SEEN)]
        found = minimize(self.cost, self.usual, jac=True, method="L-BFGS-B", bounds=np.log(limits)).x
        *spreads, noise, seen = np.exp(found)
        return Beliefs(np.where(self._kinds < 0, self._given, np.append(spreads, 0.0)[self._kinds]), noise, seen)

    def cost(self, logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log likelihood, but for a constant, and its gradient, of logarithms as `usual` has them."""
        *spreads, noise, seen = np.exp(2.0 * logarithms)
        covariance = self._fixed + seen * self._inverse + noise * np.eye(len(self._inverse))
        for spread, gram in zip(spreads, self._grams, strict=True):
            covariance = covariance + spread * gram
        factor = cho_factor(covariance, lower=True)
        inverse, pulled = cho_solve(factor, np.eye(len(covariance))), cho_solve(factor, self._seen.ravel())
        slope = inverse - np.outer(pulled, pulled)
        cost = 0.5 * self._seen.ravel() @ pulled + np.log(np.diag(factor[0])).sum()
        gradient = [spread * (slope * gram).sum() for spread, gram in zip(spreads, self._grams, strict=True)]
        gradient += [noise * np.trace(slope), seen * (slope * self._inverse).sum()]
        off = logarithms - self.usual
        return cost + BELIEF * off @ off, np.array(gradient) + 2.0 * BELIEF * off

    def foretells(self, beliefs: Beliefs) -> bool:
        """Whether each frame is nearer, in the mean, by what all others say of it, than without."""
        covariance = (self._design * beliefs.spreads**2) @ self._design.T + _blocks(beliefs.covariance(self._precision))
        inverse = np.linalg.inv(covariance)
        pulled, size = (inverse @ self._seen.ravel()).reshape(self._seen.shape), self._seen.shape[1]
        own = np.array([inverse[i : i + size, i : i + size] for i in range(0, len(inverse), size)])
        left = np.linalg.solve(own, pulled[..., None])[..., 0]
        return self._distance(left) < self._distance(self._seen)

    def _distance(self, off: np.ndarray) -> float:
        """Mean of the squared distances by P of frames that are off by so much (f, a)."""
        return float(np.einsum("fa,fab,fb->f", off, self._precision, off).mean())


def likeliest_coefficients(seen: np.ndarray, precision: np.ndarray, design: np.ndarray, beliefs: Beliefs) -> np.ndarray:
    """(n,) w of frames, see `Evidence`."""
    count = design.shape[2]
    weighted = np.linalg.solve(beliefs.covariance(precision), np.concatenate([design, seen[..., None]], axis=2))
    normal = design.reshape(-1, count).T @ weighted.reshape(-1, count + 1)
    return np.linalg.solve(normal[:, :-1] + np.diag(beliefs.spreads**-2.0), normal[:, -1])


def _blocks(matrices: np.ndarray) -> np.ndarray:
    """(f a, f a) with matrices (f, a, a) along its diagonal."""
    count, size = matrices.shape[:2]
    found = np.zeros((count, size, count, size))
    found[np.arange(count), :, np.arange(count)] = matrices
    return found.reshape(count * size, -1)
