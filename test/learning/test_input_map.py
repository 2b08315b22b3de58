"""What a robot makes of its pressures: found again where it is known, by scans with holes and by markers with gaps."""

import numpy as np
import pytest

from soft_twin.errors import ConvergenceError

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import jax
import jax.numpy as jnp

from soft_twin.learning.input_map import InputMap, MarkerMatch, ScanMatch, fit_inputs
from soft_twin.learning.layer import grid, unit
from soft_twin.learning.losses import Cloud

UV = jnp.asarray(grid(400), jnp.float32)
MIDDLES = jnp.array([[0.3, 0.5], [0.7, 0.5]])
TRUE = InputMap(jnp.array([[0.10, -0.05], [0.20, 0.10], [0.05, -0.10]]))
SHARES = np.random.default_rng(1).uniform(-1.0, 1.0, (12, 2))
PATCH = 4.0  # [mm]


def at(uv, inputs):
    """(3,) of a sheet of 100 mm with a bump over each half."""
    height = (jnp.exp(-((uv - MIDDLES) ** 2).sum(axis=1) / 0.04) * 10.0 * (1.0 + inputs)).sum()
    return jnp.array([100.0 * uv[0], 100.0 * uv[1], height])


def surface(inputs, uv=UV):
    points = jax.vmap(lambda each: at(each, inputs))(uv)
    along = jax.vmap(jax.jacfwd(lambda each: at(each, inputs)))(uv)
    return points, unit(jnp.cross(along[:, :, 0], along[:, :, 1]))


def clouds(random, holes=False):
    """Of the true surfaces, elsewhere than where they are compared; nothing is seen near a corner."""
    points, normals, there = [], [], []
    for shares in SHARES:
        uv = jnp.asarray(random.uniform(0.0, 1.0, (500, 2)), jnp.float32)
        x, n = surface(TRUE(jnp.asarray(shares)), uv)
        points.append(x), normals.append(n)
        there.append(~holes | (np.linalg.norm(uv, axis=1) > 0.3))
    return Cloud(jnp.array(points), jnp.array(normals), jnp.array(there, jnp.float32))


@pytest.mark.parametrize("holes", [False, True])
def test_it_is_found_by_scans(holes):
    found = fit_inputs(surface, SHARES, ScanMatch(clouds(np.random.default_rng(2), holes), PATCH))
    np.testing.assert_allclose(found.coefficients, TRUE.coefficients, atol=0.02)


def test_it_is_found_by_markers_with_gaps():
    random = np.random.default_rng(3)
    points = jnp.array([surface(TRUE(jnp.asarray(each)))[0] for each in SHARES])
    there = jnp.asarray(random.uniform(size=points.shape[:2]) > 0.3, jnp.float32)
    gone = jnp.where(there[..., None] > 0.0, points, 1e3)
    found = fit_inputs(surface, SHARES, MarkerMatch(Cloud(gone, jnp.zeros_like(gone), there)))
    np.testing.assert_allclose(found.coefficients, TRUE.coefficients, atol=0.01)


def test_spheres_that_lie_on_each_other_are_not_apart_wherever_they_were_sampled():
    """Nearest samples of a curved surface are off each other's planes, but not off the mean of both normals."""
    random = np.random.default_rng(4)
    own, other = (v / np.linalg.norm(v, axis=1)[:, None] for v in random.normal(size=(2, 4000, 3)))
    match = ScanMatch(Cloud(50.0 * other[None], other[None], jnp.ones((1, 4000))), 5.0)
    points, normals = jnp.asarray(50.0 * own[None]), jnp.asarray(own[None])
    assert float(match.distance(points, normals, match.matched(points))) < 1e-6
    apart = 1.02 * points
    assert float(match.distance(apart, normals, match.matched(apart))) == pytest.approx(2.0, rel=0.02)


def test_nothing_changes_nothing_and_what_is_not_finite_is_told():
    np.testing.assert_array_equal(InputMap.none(2)(SHARES), jnp.asarray(SHARES))
    broken = clouds(np.random.default_rng(5))
    broken = Cloud(broken.points.at[0, 0, 0].set(jnp.nan), broken.normals, broken.there)
    with pytest.raises(ConvergenceError, match="map of the inputs diverged in round 1 of 40"):
        fit_inputs(surface, SHARES, ScanMatch(broken, PATCH))
