"""B-spline surfaces: fits against functions that cubic splines are, the layer against scipy and finite differences."""

import numpy as np
import pytest
from test_flattening import sheet, tube

from soft_twin.errors import InputError
from soft_twin.learning.knots import Knots
from soft_twin.learning.surfaces import SurfaceFit, design

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import equinox as eqx
import jax

from soft_twin.learning.layer import SurfaceLayer, grid, highest_edge, lattice

RANDOM = np.random.default_rng(3)


def paraboloid(points):
    """A cubic graph over a sheet."""
    x, y = points[:, 0], points[:, 1]
    return np.column_stack([x, y, 0.3 * x**3 - 0.4 * x * y + 0.2 * y**2])


def test_a_cubic_surface_is_fitted_and_found_between_the_points():
    points, triangles = sheet(20, 20)
    fit = SurfaceFit.at_rest(points, triangles, (8, 8))
    control = fit.fit(paraboloid(points))
    np.testing.assert_allclose(fit.at_points(control), paraboloid(points), atol=2e-4)
    assert control.shape == (8, 8, 3)
    places = RANDOM.uniform(size=(50, 2))
    xy = design(places, fit.knots) @ control.reshape(-1, 3)
    np.testing.assert_allclose(xy, paraboloid(xy), atol=2e-4)


def test_more_control_points_than_points_are_held_by_smoothness():
    points, triangles = sheet(12, 12)
    fit = SurfaceFit.at_rest(points, triangles)
    shapes = np.stack([paraboloid(points), points])
    control = fit.fit(shapes)
    assert control.shape == (2, 30, 30, 3) and len(points) < 30 * 30
    np.testing.assert_allclose(fit.at_points(control), shapes, atol=1e-3)
    between = design(RANDOM.uniform(size=(200, 2)), fit.knots) @ control[0].reshape(-1, 3)
    np.testing.assert_allclose(between, paraboloid(between), atol=2e-3)


def test_a_tube_is_one_surface_whose_edges_meet():
    points, triangles = tube(24, 20)
    fit = SurfaceFit.at_rest(points, triangles, (12, 10))
    control = fit.fit(points)
    np.testing.assert_allclose(fit.at_points(control), points[fit.disc.source], atol=5e-4)


def test_shapes_that_are_no_numbers_are_refused():
    points, triangles = sheet()
    with pytest.raises(InputError, match="not finite"):
        SurfaceFit.at_rest(points, triangles).fit(np.full_like(points, np.nan))
    with pytest.raises(InputError, match="needs 4"):
        SurfaceFit.at_rest(points, triangles, (3, 9))


def test_normals_of_a_fitted_sheet_point_out_of_its_triangles():
    points, triangles = sheet(10, 10)
    fit = SurfaceFit.at_rest(points, triangles, (6, 6))
    layer = SurfaceLayer(grid(25), fit.knots)
    found, normals = eqx.filter_jit(layer.points_and_normals)(fit.fit(points).astype(np.float32))
    np.testing.assert_allclose(normals, np.tile([0.0, 0.0, 1.0], (25, 1)), atol=1e-4)
    np.testing.assert_allclose(found, design(grid(25), fit.knots) @ fit.fit(points).reshape(-1, 3), atol=1e-6)


def test_points_and_normals_and_their_derivatives_are_those_of_differences():
    control, uv = RANDOM.normal(size=(6, 5, 3)), RANDOM.uniform(0.05, 0.95, (8, 2))
    even = Knots.uniform((6, 5))
    knots = Knots(even.u**2, even.v)
    weights, direction = RANDOM.normal(size=(2, 8, 3)), RANDOM.normal(size=control.shape)

    def by_differences(c):
        step = 1e-6
        x = [design(uv + step * np.array(to), knots) @ c.reshape(-1, 3) for to in [(1, 0), (-1, 0), (0, 1), (0, -1)]]
        across = np.cross(x[0] - x[1], x[2] - x[3])
        return design(uv, knots) @ c.reshape(-1, 3), across / np.linalg.norm(across, axis=1, keepdims=True)

    with jax.enable_x64(True):
        layer = SurfaceLayer(uv, knots, np.float64)

        def value(c):
            points, normals = layer.points_and_normals(c)
            return (weights[0] * points + weights[1] * normals).sum(), (points, normals)

        (_, (points, normals)), slope = jax.jit(jax.value_and_grad(value, has_aux=True))(control)
    expected = by_differences(control)
    np.testing.assert_allclose(points, expected[0], atol=1e-13)
    np.testing.assert_allclose(normals, expected[1], atol=1e-7)
    ends = [
        sum((w * each).sum() for w, each in zip(weights, by_differences(control + h * direction), strict=True))
        for h in (1e-4, -1e-4)
    ]
    assert (np.asarray(slope) * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-5)


def test_the_highest_side_of_a_lattice_is_its_rim():
    uv = lattice(36)
    for axis, at in ((0, 0.0), (0, 1.0), (1, 0.0), (1, 1.0)):
        height = 1.0 - np.abs(uv[:, axis] - at) + 0.1 * np.sin(9.0 * uv[:, 1 - axis])
        rim = highest_edge(np.column_stack([uv, height]))
        assert len(rim) == 6
        np.testing.assert_array_equal(uv[rim, axis], at)
