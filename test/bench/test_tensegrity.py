"""The towers that are measured can be described."""

import runpy

import numpy as np

from soft_twin.resources import folder


def test_a_tower_of_a_hundred_modules_is_found_from_its_inclinations():
    tower = runpy.run_path(str(folder("bench") / "tensegrity.py"))["weightless_tower"](100)
    pressures = np.full(tower.model.cylinder_count, tower.model.laws.pressure_range[1])
    truth = tower.forward(pressures)
    shape = tower.build_estimator(tries=1).update(truth.inclinations, pressures)
    assert shape.converged
    np.testing.assert_allclose(shape.length(), truth.length(), rtol=1e-6)
