"""A soft column whose own cables make it buckle: from where it was left, the way to a target may end at a limit point,
though the undeformed body finds its way there."""

import numpy as np
import pytest
import yaml

from soft_twin import load_robot

SIDEWAYS = np.array([0.0, -9.81, 0.0])
WAYS = [
    [[0.004, 0.0, 0.0], [0.0005, 0.0, 0.1]],
    [[-0.002, 0.0035, 0.0], [-0.0005, 0.0005, 0.1]],
    [[-0.002, -0.0035, 0.0], [-0.0005, -0.0005, 0.1]],
    [[0.004, 0.0, 0.0], [0.004, 0.0, 0.02], [0.0, 0.004, 0.03], [-0.004, 0.0, 0.04], [-0.002, -0.001, 0.06]],
]  # [m]
RUBBER = {"model": "neo_hookean", "young_modulus": 1.5e5, "poisson_ratio": 0.45, "density": 1050.0}
CABLE = {"tension": [0.0, 5.0], "displacement": [-0.04, 0.04], "stiffness": 5000.0}
ROBOT = {
    "name": "column",
    "kind": "fem",
    "body": {
        "mesh": {"voxels": {"cells": [2, 2, 6], "size": [0.01, 0.01, 0.1], "element": "hex20r"}},
        "materials": [RUBBER],
        "damping": {"rayleigh_mass": 1.0, "rayleigh_stiffness": 0.01},
        "clamped": "base",
    },
    "cables": [{"name": f"cable_{i}", "points": way, **CABLE} for i, way in enumerate(WAYS, 1)],
    "frames": {"tip": {"nodes": "tip"}},
    "target": {"tip": [0.0, 0.0, 0.1]},
}


@pytest.fixture(scope="module")
def inverse(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "column.yaml"
    path.write_text(yaml.safe_dump({"robot": ROBOT}), encoding="utf-8")
    return load_robot(path).build_inverse()


@pytest.mark.parametrize(
    ("there", "before"),
    [
        ([1.156, 0.328, 2.123, 0.884], [0.886, 2.541, 0.373, 2.201]),
        ([1.411, 0.838, 0.839, 1.108], [0.050, 1.481, 2.915, 0.856]),
    ],
)
def test_a_body_that_was_left_where_it_goes_astray_reaches_what_the_undeformed_one_does(inverse, there, before):
    twin = inverse.twin
    target = twin.equilibrium(SIDEWAYS, efforts=there).tip
    twin.equilibrium(SIDEWAYS, efforts=before)
    found = inverse.solve(SIDEWAYS, target)
    assert found.converged and found.reachable and found.active_limits == ()
    assert twin.equilibrium(SIDEWAYS, efforts=found.efforts).tip == pytest.approx(target, abs=1e-7)  # [m]
