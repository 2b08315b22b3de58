"""The emulated scanner sees what faces it and nothing hides."""

import numpy as np
import pytest
from test_flattening import sheet

from soft_twin.descriptions.learning import Scanner
from soft_twin.emulation.scanner import scan
from soft_twin.mesh.triangles import vertex_normals

POINTS, TRIANGLES = sheet(9, 9)


def scanner(eye, **options):
    return Scanner(eyes=[eye], points=options.pop("points", 2000), noise=options.pop("noise", 0.0), **options)


def test_all_of_a_sheet_is_seen_from_above_and_nothing_from_below():
    random = np.random.default_rng(0)
    points, normals = scan(POINTS, TRIANGLES, scanner((0.5, 0.5, 3.0)), random)
    assert len(points) == 2000
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(normals, np.tile([0.0, 0.0, 1.0], (2000, 1)), atol=1e-12)
    quarters = np.histogram2d(points[:, 0], points[:, 1], bins=2, range=[[0, 1], [0, 1]])[0]
    assert quarters.min() > 430 and quarters.max() < 570  # evenly: 500 ± 19
    assert len(scan(POINTS, TRIANGLES, scanner((0.5, 0.5, -3.0)), random)[0]) == 0


def test_what_is_too_steep_is_not_seen():
    points, _ = scan(POINTS, TRIANGLES, scanner((0.0, 0.5, 0.2), steepest_deg=70.0), np.random.default_rng(1))
    angle = np.arctan2(np.linalg.norm(points[:, :2] - [0.0, 0.5], axis=1), 0.2)
    assert np.degrees(angle.max()) == pytest.approx(70.0, abs=1.0)
    assert 0 < len(points) < 1500


def test_a_lid_hides_what_is_below_it():
    lid = POINTS * [0.5, 1.0, 1.0] + [0.0, 0.0, 0.3]
    both = np.vstack([POINTS, lid]), np.vstack([TRIANGLES, TRIANGLES + len(POINTS)])
    points, _ = scan(*both, scanner((0.5, 0.5, 10.0), points=1500), np.random.default_rng(2))
    below = points[points[:, 2] < 0.1]
    assert len(below) > 100 and below[:, 0].min() > 0.499


def test_noise_is_as_large_as_it_says():
    points, _ = scan(POINTS, TRIANGLES, scanner((0.5, 0.5, 3.0), noise=2e-3), np.random.default_rng(3))
    assert points[:, 2].std() == pytest.approx(2e-3, rel=0.1)


def test_normals_of_a_ball_are_radial():
    angle, height = np.meshgrid(2 * np.pi * np.arange(24) / 24, np.linspace(-0.9, 0.9, 15), indexing="ij")
    radius = np.sqrt(1.0 - height**2)
    ball = np.column_stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel(), height.ravel()])
    i, j = (each.ravel() for each in np.meshgrid(np.arange(24), np.arange(14), indexing="ij"))
    a, b = i * 15 + j, (i + 1) % 24 * 15 + j
    triangles = np.vstack([np.column_stack([a, b, b + 1]), np.column_stack([a, b + 1, a + 1])])
    inner = np.abs(ball[:, 2]) < 0.8
    assert (vertex_normals(ball, triangles) * ball).sum(axis=1)[inner].min() > 0.99
