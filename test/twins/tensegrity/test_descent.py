import numpy as np
import pytest

from soft_twin.twins.tensegrity.descent import cholesky, solve
from soft_twin.twins.tensegrity.sensitivity import dense


def _band(matrix, width):
    band = np.zeros((width + 1, len(matrix)), order="F")
    for offset in range(width + 1):
        band[offset, : len(matrix) - offset] = np.diag(matrix, -offset)
    return band


def test_band_is_factorised_and_solved():
    random = np.random.default_rng(0)
    L = np.tril(random.normal(size=(12, 12)))
    L = np.where(np.subtract.outer(range(12), range(12)) > 3, 0.0, L) + 4.0 * np.eye(12)
    band = _band(L @ L.T, 3)
    vector = random.normal(size=12)
    solution = vector.copy()
    assert dense(band) == pytest.approx(L @ L.T)
    assert cholesky(band) == 0
    solve(band, solution)
    assert L @ L.T @ solution == pytest.approx(vector)


def test_an_indefinite_band_is_reported():
    assert cholesky(_band(np.diag([1.0, -1.0, 1.0]), 0)) == 2
