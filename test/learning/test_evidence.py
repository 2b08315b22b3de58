"""Coefficients as large as they are likely, by finite differences and by what they were drawn from."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from soft_twin.learning.evidence import Beliefs, Evidence, likeliest_coefficients

FRAMES, SIZE = 40, 3
KINDS = ["factor", *["much"] * 8, *["little"] * 40]
SPREADS = np.array([0.4, *[0.1] * 8, *[0.004] * 40])
NOISE, SEEN = 0.01, 0.5


def drawn(seed, spreads=SPREADS):
    """y, P, Φ, and w."""
    random = np.random.default_rng(seed)
    design = random.normal(size=(FRAMES, SIZE, len(KINDS)))
    root = random.normal(size=(FRAMES, SIZE, SIZE)) * np.array([3.0, 30.0, 100.0])
    precision = root @ root.transpose(0, 2, 1) + np.eye(SIZE)
    covariance = Beliefs(spreads, NOISE, SEEN).covariance(precision)
    noise = np.linalg.cholesky(covariance) @ random.normal(size=(FRAMES, SIZE, 1))
    weights = spreads * random.normal(size=len(KINDS))
    return design @ weights + noise[..., 0], precision, design, weights


def test_gradients_are_those_of_differences():
    evidence = Evidence(*drawn(1)[:3], KINDS, {"factor": 0.4})
    at = evidence.usual + np.array([1.0, -0.5, 0.3, -0.7])
    differences = approx_fprime(at, lambda x: evidence.cost(x)[0], 1e-6)
    np.testing.assert_allclose(evidence.cost(at)[1], differences, rtol=1e-4, atol=1e-3)


def test_spreads_and_noises_are_found_again():
    found = [Evidence(*drawn(seed)[:3], KINDS, {"factor": 0.4}).likeliest() for seed in range(6)]
    assert all(each.spreads[0] == 0.4 for each in found)
    much, little = (np.exp(np.mean([np.log(each.spreads[k]) for each in found])) for k in (1, -1))
    assert much == pytest.approx(0.1, rel=0.3) and little == pytest.approx(0.004, rel=0.4)
    assert np.mean([each.noise for each in found]) == pytest.approx(NOISE, rel=0.3)
    assert np.mean([each.seen for each in found]) == pytest.approx(SEEN, rel=0.3)


def test_coefficients_are_nearer_than_those_of_least_squares():
    """Those of the mean of the likeliest normal distribution, which a dense solution in the frames' space confirms."""
    for seed in range(3):
        seen, precision, design, true = drawn(seed)
        beliefs = Evidence(seen, precision, design, KINDS, {"factor": 0.4}).likeliest()
        found = likeliest_coefficients(seen, precision, design, beliefs)
        flat, noise = design.reshape(seen.size, -1), np.zeros((seen.size, seen.size))
        for f, block in enumerate(beliefs.covariance(precision)):
            noise[f * SIZE : (f + 1) * SIZE, f * SIZE : (f + 1) * SIZE] = block
        pull = np.linalg.solve((flat * beliefs.spreads**2) @ flat.T + noise, seen.ravel())
        np.testing.assert_allclose(found, beliefs.spreads**2 * (flat.T @ pull), atol=1e-8)
        squares = np.linalg.lstsq(flat, seen.ravel(), rcond=None)[0]
        assert np.linalg.norm(found - true) < 0.7 * np.linalg.norm(squares - true)


def test_what_was_drawn_is_foretold_and_noise_is_taken_for_noise():
    right = [Evidence(*drawn(seed)[:3], KINDS, {}) for seed in range(5)]
    assert all(each.foretells(each.likeliest()) for each in right)
    nothing = [Evidence(*drawn(seed, np.full(len(KINDS), 1e-9))[:3], KINDS, {}) for seed in range(5)]
    assert max(each.likeliest().spreads.max() for each in nothing) < 0.01
    assert not all(each.foretells(each.likeliest()) for each in nothing)
