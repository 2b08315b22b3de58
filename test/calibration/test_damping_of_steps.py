"""How much less β is found by steps of backward Euler than a body has: what docs/slender.md says, by a single mode."""

import re
from pathlib import Path

import numpy as np
import pytest
from known_release import DT
from scipy.optimize import least_squares

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "slender.md").read_text(encoding="utf-8")
OMEGA, STEP = 20.0, 0.01  # [1/s], [s]


def told():
    """ζ of modes and the share of a step that their β is found less by, as the page has them."""
    ratios = re.search(r"\| ζ \|(.*)\|\n", PAGE)[1]
    shares = re.search(r"\| β is found less by, in h \|(.*)\|\n", PAGE)[1]
    return [tuple(map(float, pair)) for pair in zip(ratios.split("|"), shares.split("|"), strict=True)]


def fall(damping, times):
    """Exactly, of a mode with x'' + β ω² x' + ω² x = ω², from rest at 0."""
    roots = np.roots([1.0, damping * OMEGA**2, OMEGA**2]).astype(complex)
    shares = np.linalg.solve([[1.0, 1.0], roots], [-1.0, 0.0])
    return (1.0 + np.exp(times[:, None] * roots) @ shares).real


def fall_in_steps(omega, damping, count):
    """By backward Euler, under the same weight, in steps of STEP."""
    x, v, places = 0.0, 0.0, []
    for _ in range(count):
        v = (v + STEP * (OMEGA**2 - omega**2 * x)) / (1.0 + STEP * damping * omega**2 + (STEP * omega) ** 2)
        x += STEP * v
        places.append(x)
    return np.array(places)


@pytest.mark.parametrize(("ratio", "share"), told())
def test_the_page_says_how_much_less_is_found(ratio, share):
    damping, times = 2.0 * ratio / OMEGA, STEP * np.arange(1, 301)
    measured = fall(damping, times)

    def apart(parameters):
        return fall_in_steps(*parameters, len(times)) - measured

    omega, found = least_squares(apart, [OMEGA, damping], x_scale=[1.0, 0.1]).x
    assert omega == pytest.approx(OMEGA, rel=2e-3)
    assert (damping - found) / STEP == pytest.approx(share, abs=0.02)


def test_a_calibration_says_what_its_steps_damp(found):
    (remark,) = (each for each in found.remarks if each.startswith("steps of"))
    assert remark.startswith(f"steps of {1e3 * DT:g} ms damp by themselves, as 50 to 100 ms of rayleigh_stiffness do")
    assert f"note: {remark}\n" in found.in_words()
