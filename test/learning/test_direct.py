"""Direct learning: its loss by hand, and a sheet that bulges, from scans alone."""

import numpy as np
import pytest
from test_flattening import sheet

from soft_twin.errors import InputError
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.samples import Inflation, random_shares

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import jax.numpy as jnp

from soft_twin.learning.correction import ShapeModel
from soft_twin.learning.direct import direct_loss, learn_directly
from soft_twin.learning.layer import grid
from soft_twin.learning.losses import Cloud
from soft_twin.learning.networks import Folded
from soft_twin.learning.surfaces import SurfaceFit

PLANE, TRIANGLES = sheet(13, 13)
PRESSURES = np.linspace(0.0, 3000.0, 5)


def bulging(pressures):
    """(169, 3) [m] of a sheet of 100 mm that rises by up to 20 mm."""
    bump = np.sin(np.pi * PLANE[:, 0]) * np.sin(np.pi * PLANE[:, 1])
    return 0.1 * PLANE + np.outer(0.02 * np.mean(pressures) / 3000.0 * bump, [0.0, 0.0, 1.0])


def test_the_loss_is_hausdorff_and_five_times_chamfer():
    points = jnp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    cloud = Cloud(jnp.array([[0.0, 0.0, 3.0], [9.0, 9.0, 9.0]]), jnp.zeros((2, 3)), jnp.array([1.0, 0.0]))
    assert float(direct_loss(points, cloud)) == pytest.approx(np.sqrt(10.0) + 5.0 * (9.5 + 9.0))


def test_a_sheet_is_learned_from_scans_alone():
    inflation = Inflation(*2 * [np.column_stack([PRESSURES, PRESSURES])])
    fit = SurfaceFit.at_rest(0.1 * PLANE, TRIANGLES)
    mean = (1e3 * fit.fit(bulging([1500.0, 1500.0]))).astype(np.float32)
    shapes = ShapeModel(inflation, Folded([], []), mean, 1.0, fit.knots)
    random = np.random.default_rng(0)
    seen = inflation.pressures_of(random_shares(2, 24, random))
    up = np.tile([0.0, 0.0, 1.0], (169, 1))
    surface = learn_directly(shapes, Recording(seen, [Scan(bulging(each), up) for each in seen]), steps=1000)
    middle, asked = np.array([[0.5, 0.5]]), np.array([[2400.0, 2800.0], [300.0, 500.0]])
    for pressures in asked:
        found = surface(pressures, middle)[0, 2]
        assert found == pytest.approx(0.02 * pressures.mean() / 3000.0, abs=2.5e-3)
    assert surface(asked[0], grid(100)).shape == (100, 3)
    with pytest.raises(InputError, match="pressure 1: 4000 Pa"):
        surface(np.array([4000.0, 0.0]), middle)
