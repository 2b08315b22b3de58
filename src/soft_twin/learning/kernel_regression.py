"""Gaussian-process regression with a linear and a Gaussian kernel, its constants chosen by cross-validation.

Inputs are standardised by the training rows. With z of n inputs, k(z, z') = s z·z'/n + g exp(−|z − z'|²/(2 n l²)); the
linear part goes on beyond the data, the Gaussian one bends it where there are data. g = 0 is ridge regression. Rows are
not independent in a recording: folds have to be pieces of time, or whole recordings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from soft_twin.errors import InputError

LINEAR = 10.0  # s


@dataclass(frozen=True)
class Constants:
    """Of the kernel: `bent` g, `length` l; `noise` is the outputs' variance over theirs."""

    noise: float
    bent: float = 0.0
    length: float = 1.0


@dataclass(frozen=True)
class Choice:
    """What cross-validation chose: a name of inputs, constants, and the mean error of rows held back."""

    inputs: str
    constants: Constants
    error: float


CONSTANTS = (
    *(Constants(noise) for noise in (3e-3, 3e-2, 0.3, 3.0)),
    *(Constants(noise, 1.0, length) for noise in (1e-2, 0.1) for length in (2.0, 4.0)),
)


def predict(inputs: np.ndarray, outputs: np.ndarray, asked: np.ndarray, constants: Constants) -> np.ndarray:
    """(q, d) outputs at inputs (q, n), learned from inputs (m, n) and outputs (m, d).

    Raises:
        InputError: not finite, or not as many rows.
    """
    inputs, outputs, asked = (np.asarray(each, float) for each in (inputs, outputs, asked))
    if len(inputs) != len(outputs) or not all(np.isfinite(each).all() for each in (inputs, outputs, asked)):
        raise InputError(f"regression: expected as many rows of finite numbers, found {inputs.shape}, {outputs.shape}")
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.sqrt(inputs.shape[1]) * np.where(spread > 0.0, spread, 1.0)
    z, q, middle = (inputs - mean) / scale, (asked - mean) / scale, outputs.mean(axis=0)
    matrix = _kernel(z, z, constants) + constants.noise * np.eye(len(z))
    return middle + _kernel(q, z, constants) @ cho_solve(cho_factor(matrix), outputs - middle)


def choose(
    candidates: Mapping[str, np.ndarray],
    outputs: np.ndarray,
    folds: Sequence[np.ndarray],
    constants: Sequence[Constants] = CONSTANTS,
) -> Choice:
    """Inputs and constants whose mean distance to outputs (m, d) is least on folds when these are held back.

    Args:
        candidates: inputs (m, n) by name.
        outputs: (m, d).
        folds: rows of each; together they are those that may be used.
        constants: to choose from.
    """
    rows, best = np.concatenate(folds), None
    for name, inputs in candidates.items():
        for one in constants:
            errors = []
            for fold in folds:
                own = np.setdiff1d(rows, fold)
                found = predict(inputs[own], outputs[own], inputs[fold], one)
                errors.append(np.linalg.norm(found - outputs[fold], axis=1).mean())
            if best is None or np.mean(errors) < best.error:
                best = Choice(name, one, float(np.mean(errors)))
    return best


def _kernel(one: np.ndarray, other: np.ndarray, constants: Constants) -> np.ndarray:
    product = one @ other.T
    if constants.bent == 0.0:
        return LINEAR * product
    squared = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2.0 * product
    return LINEAR * product + constants.bent * np.exp(-0.5 * np.maximum(squared, 0.0) / constants.length**2)
