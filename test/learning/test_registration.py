"""Non-rigid registration of a flat sheet with a scan of a hill."""

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning.knots import Knots
from soft_twin.learning.layer import grid
from soft_twin.learning.registration import registered
from soft_twin.learning.surfaces import bases

SIZE, HEIGHT = 100.0, 8.0  # [mm]
KNOTS = Knots.uniform((30, 30))


def hill(x, y):
    return HEIGHT * np.cos(np.pi * x / SIZE) * np.cos(np.pi * y / SIZE)


@pytest.fixture(scope="module")
def flat():
    """Control points of a flat sheet: their abscissae are the means of three knots each (Greville)."""
    ticks = np.linspace(-0.5, 0.5, 4001)
    along = np.linalg.lstsq(bases(np.column_stack([ticks + 0.5] * 2), KNOTS)[0], SIZE * ticks, rcond=None)[0]
    return np.stack([*np.meshgrid(along, along, indexing="ij"), np.zeros((30, 30))], axis=-1)


@pytest.fixture(scope="module")
def scan():
    random = np.random.default_rng(3)
    x, y = random.uniform(-0.5 * SIZE, 0.5 * SIZE, (2, 4000))
    return np.column_stack([x, y, hill(x, y)]) + random.normal(0.0, 0.1, (4000, 3))


def test_a_sheet_is_drawn_onto_a_hill(flat, scan):
    points = registered(flat, KNOTS, scan, grid(900))
    off = points[:, 2] - hill(*points[:, :2].T)
    assert np.sqrt((off**2).mean()) < 0.15
    assert np.abs(points[:, :2]).max() < 0.51 * SIZE


def test_across_a_hole_it_goes_on_smoothly(flat, scan):
    """A quarter of the width: nothing is drawn to the hole's border."""
    hole = np.hypot(*(scan[:, :2] - [10.0, -5.0]).T) < 12.5
    points = registered(flat, KNOTS, scan[~hole], grid(900))
    within = np.hypot(*(points[:, :2] - [10.0, -5.0]).T) < 10.0
    assert within.sum() > 20
    assert np.abs(points[within, 2] - hill(*points[within, :2].T)).max() < 1.5
    assert np.abs(points[within, 2] - hill(*points[within, :2].T)).mean() < 0.2 * HEIGHT / 2
