"""What several tests of inverses and controllers solve on."""

import numpy as np
import pytest
import yaml

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


@pytest.fixture(scope="session")
def coarse_arm(tmp_path_factory):
    """The arm with 2586 unknowns instead of 4230: as many chambers, fibres and limits."""
    arm = soft_twin.load_robot("arm")
    content = yaml.safe_load(arm.path.read_text(encoding="utf-8"))["robot"]
    for segment in content["body"]["mesh"]["lobes"]["segments"]:
        segment["divisions"] = 1
    path = tmp_path_factory.mktemp("arm") / "arm.yaml"
    path.write_text(yaml.safe_dump({"robot": content}), encoding="utf-8")
    return soft_twin.load_robot(path)
