"""Which of several choices the frames say that were left out of what was learned by each."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
from scipy.special import stdtrit

SURE = 0.95
Choice = TypeVar("Choice", bound=Hashable)


def simplest_alike(errors: Mapping[Choice, np.ndarray]) -> Choice:
    """The first choice that is not worse than the best by more than the difference's standard error.

    Args:
        errors: (f,) of the same frames, two or more, by choices, from the simplest on.
    """
    best = errors[min(errors, key=lambda choice: errors[choice].mean())]

    def alike(own: np.ndarray) -> bool:
        return (own - best).mean() <= (own - best).std(ddof=1) / np.sqrt(len(own))

    return next(choice for choice, own in errors.items() if alike(own))


def surely_nearer(own: np.ndarray, others: np.ndarray) -> bool:
    """Whether frames are nearer by one choice than by another, in the mean of distances (f,), two or more, in pairs:
    Student's test, one-sided, at 95 %."""
    gains = others - own
    return bool(gains.mean() > stdtrit(len(gains) - 1, SURE) * gains.std(ddof=1) / np.sqrt(len(gains)))
