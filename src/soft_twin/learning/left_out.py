"""Which of several choices the frames say that were left out of what was learned by each."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

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
