"""Hanging silicone, where its clouds are; its parts without them."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from soft_twin.errors import UsageError
from soft_twin.mesh.mesh import boundary_faces
from soft_twin.studies import silicone

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))
CUBE = "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nv 2 2 2\nt 0 1 2 3\nt 1 2 3 4\n"


def test_points_of_the_picture_can_be_seen_in_its_legend(tmp_path, monkeypatch):
    drawn, points = [], np.random.default_rng(0).uniform(-0.1, 0.0, (50, 3))
    monkeypatch.setattr(silicone, "write_picture", lambda path, figure, **_: drawn.append(figure))
    fit = silicone.Fit(20e3, points, points[:, :2], 0.0, 1e-3, 1e-3, 1e-3)
    silicone.draw(tmp_path / "picture.png", "", SimpleNamespace(cloud=points), fit, fit)
    drawn[0].canvas.draw()
    surface, cloud, *_ = drawn[0].axes[0].get_legend().legend_handles
    for handle in (surface, cloud):
        assert handle.get_marker() == "." and handle.get_markersize() > 4.0


@pytest.mark.skipif(not (DATA / "silicone_lidar").is_dir(), reason="no clouds of silicone here")
def test_the_found_modulus_brings_the_body_nearer_to_its_cloud(tmp_path):
    cantilever = silicone.Cantilever(DATA, "h_m_c")
    before, after = cantilever.fit(cantilever.authors), cantilever.fit(88e3)
    assert after.median < 2e-3 and after.distance < 3e-3
    assert after.median < 0.7 * before.median and after.chamfer < before.chamfer
    silicone.draw(tmp_path / "picture.png", "MoldStar 15", cantilever, before, after)
    assert (tmp_path / "picture.png").exists()


def test_missing_clouds_are_said(tmp_path):
    with pytest.raises(UsageError, match="no clouds of silicone"):
        silicone.Cantilever(tmp_path, "h_m_c")


def test_tetrahedra_are_read_in_metres_with_quadratic_sides(tmp_path):
    (tmp_path / "two.tet").write_text(CUBE)
    mesh = silicone.read_tet(tmp_path / "two.tet")
    assert mesh.cells.shape == (2, 10) and len(mesh.nodes) == 5 + 9
    assert mesh.size == pytest.approx([0.02, 0.02, 0.02])
    points = silicone.surface_points(mesh.nodes, boundary_faces(mesh), 3)
    assert len(points) == 6 * 6
    assert points.min() >= 0.0 and points.max() <= 0.02
    linear = silicone.read_tet(tmp_path / "two.tet", "tet4")
    assert np.allclose(silicone.surface_points(linear.nodes, boundary_faces(linear), 3), points)
    moved = silicone.surface_points(mesh.nodes @ np.diag([2.0, 1.0, 1.0]), boundary_faces(mesh), 3)
    assert moved == pytest.approx(points * [2.0, 1.0, 1.0])
