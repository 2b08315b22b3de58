"""Distances of surfaces from scans: of flat sheets, by what can be said without any sample."""

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import jax.numpy as jnp

from soft_twin.learning.layer import grid, on_border
from soft_twin.learning.losses import Cloud
from soft_twin.learning.matching import ScanMatch

WIDTH = 100.0  # [mm]
UV = grid(400)
BORDER = on_border(UV)
SPARSE = 1.5  # [mm] patch: samples are 5 mm apart


def sheet(width=WIDTH, height=0.0):
    """Points (1, p, 3) and normals of a flat sheet."""
    points = np.column_stack([width * (UV[:, 0] - 0.5), WIDTH * (UV[:, 1] - 0.5), np.full(len(UV), height)])
    return jnp.asarray(points[None], jnp.float32), jnp.asarray(np.tile([0.0, 0.0, 1.0], (1, len(UV), 1)), jnp.float32)


def scan(hole=0.0):
    """3000 points of the sheet of WIDTH, none of them within a hole of that radius [mm]."""
    points = np.random.default_rng(0).uniform(-0.5 * WIDTH, 0.5 * WIDTH, (3000, 2))
    points = points[np.linalg.norm(points - [20.0, 5.0], axis=1) > hole]
    points = np.column_stack([points, np.zeros(len(points))])[None]
    normals = np.tile([0.0, 0.0, 1.0], (1, points.shape[1], 1))
    return Cloud(jnp.asarray(points, jnp.float32), jnp.asarray(normals, jnp.float32), jnp.ones(points.shape[:2]))


@pytest.mark.parametrize("hole", [0.0, 20.0])
def test_neither_holes_nor_sparse_samples_are_a_distance(hole):
    match = ScanMatch(scan(hole), SPARSE, BORDER & False)
    assert match.distances(*sheet())[0] == pytest.approx(0.0, abs=1e-6)


def test_of_what_is_opposite_a_hole_nothing_is_said():
    """Of a sheet that is 2 mm too high every point that was seen is 2 mm away, and as many of its own as are not
    opposite a hole."""
    whole, holed = (float(ScanMatch(scan(hole), 5.0).distances(*sheet(height=2.0))[0]) for hole in (0.0, 20.0))
    opposite = np.mean(np.linalg.norm(np.asarray(sheet()[0][0, :, :2]) - [20.0, 5.0], axis=1) < 20.0 - 5.0)
    assert whole == pytest.approx(8.0, abs=1e-4)
    assert holed == pytest.approx(8.0 - 4.0 * opposite, abs=0.1)


def test_what_was_seen_beyond_the_border_draws_the_sheet_there():
    """A sheet that is 12 mm too narrow: half of them on each side."""
    match = ScanMatch(scan(), 4.0, BORDER)
    assert match.distances(*sheet())[0] == pytest.approx(0.0, abs=0.01)
    off = [float(match.distances(*sheet(WIDTH - missing))[0]) for missing in (6.0, 12.0, 18.0)]
    assert 0.0 < off[0] < off[1] < off[2]
    closed = ScanMatch(scan(), 4.0)  # has no border
    assert closed.distances(*sheet(WIDTH - 12.0))[0] == pytest.approx(0.0, abs=1e-6)


def test_the_border_is_in_the_outermost_cells():
    assert BORDER.sum() == 4 * 20 - 4
    assert np.abs(UV[~BORDER] - 0.5).max() < 0.5 - 0.05 and np.abs(UV[BORDER] - 0.5).max(axis=1).min() > 0.47
