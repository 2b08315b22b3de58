"""What several tests of inverses and controllers solve on."""

import numpy as np
import pytest

import soft_twin
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.twins.frames import NodesFrame, PointFrame


@pytest.fixture(scope="module")
def ringed_twin():
    """The slender robot on few cells, with a frame half-way up that has an orientation, and one that has none."""
    tube = sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 4))
    twin = soft_twin.load_robot("slender").build_twin(mesh=(tube.nodes, tube.cells), element="hex20r")
    rest = twin.body.mesh.nodes
    twin.frames["spot"] = PointFrame(twin.body.mesh, [0.003, 0.0, 0.06])
    twin.frames["ring"] = NodesFrame(np.flatnonzero(np.isclose(rest[:, 2], 0.05)), rest)
    return twin
