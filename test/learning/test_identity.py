"""What simulations, weights and scanned frames belong to: all that moves the surface, and nothing else."""

from dataclasses import replace

import pytest
import yaml
from small_membrane import content

import soft_twin
from soft_twin.errors import MeshError
from soft_twin.learning.identity import description_hash, reality_hash
from soft_twin.mesh.files import write_mesh


def robot_of(folder, mine):
    path = folder / "two_rooms.yaml"
    path.write_text(yaml.safe_dump(mine), encoding="utf-8")
    return soft_twin.load_robot(path)


def hashes(folder, change):
    """Of a membrane as it is, and as it is after a change of its description."""
    before, mine = robot_of(folder, content()), content()
    own = description_hash(before), reality_hash(before)
    change(mine["robot"], mine["learning"])
    after = robot_of(folder, mine)
    return own, (description_hash(after), reality_hash(after))


ASIDE = {
    "valves": lambda robot, _: robot.update(valves={"backend": "modbus", "rate": 4e3}, imus=[{"name": "base"}]),
    "channels": lambda robot, _: [each.update(channel=i) for i, each in enumerate(robot["chambers"])],
    "running": lambda robot, _: robot["emulated"].update(mesh=robot["body"]["mesh"], step=0.05, valve_lag=0.1),
    "name": lambda robot, _: robot.update(name="two_halls"),
    "target": lambda robot, _: robot["target"].update(tip=[0.0, 0.0, 0.021]),
    "frames": lambda robot, _: robot["frames"].update(corner={"point": [0.072, 0.038, 0.012]}),
    "damping": lambda robot, _: robot["body"]["damping"].update(rayleigh_mass=1.0),
    "sofa": lambda robot, _: robot.update(sofa={"pieces": 3}),
    "default": lambda robot, _: robot["body"].update(fibres=[]),
    "training": lambda _, learning: learning.update(kernels=49, simulations=600, frames=7),
}
BODY = {
    "limits": lambda robot, _: robot["chambers"][1].update(pressure=[0.0, 2e3]),
    "order": lambda robot, _: robot["chambers"].reverse(),
    "material": lambda robot, _: robot["body"]["materials"][0].update(poisson_ratio=0.4),
    "fibres": lambda robot, _: robot["body"].update(fibres=[{"direction": [1.0, 0.0, 0.0], "modulus": 1e4}]),
    "mesh": lambda robot, _: robot["body"]["mesh"]["voxels"].update(element="hex20"),
    "obstacle": lambda robot, _: robot.update(obstacles=[{"kind": "plane", "name": "lid", "point": [0.0, 0.0, 0.02],
                                                         "normal": [0.0, 0.0, -1.0]}]),
    "surface": lambda _, learning: learning.update(surface="base"),
    "parts": lambda _, learning: learning.update(parts=2),
}  # fmt: skip
REALITY = {
    "softness": lambda robot, _: robot["emulated"].update(young_modulus_scale=0.7),
    "density": lambda robot, _: robot["emulated"].update(density_scale=1.1),
    "leak": lambda _, learning: learning["reality"].update(leak=0.06),
    "scanner": lambda _, learning: learning["scanner"].update(points=200),
    "seed": lambda _, learning: learning.update(seed=2),
}


@pytest.mark.parametrize("name", ASIDE)
def test_what_moves_no_surface_does_not_count(tmp_path, name):
    before, after = hashes(tmp_path, ASIDE[name])
    assert before == after


@pytest.mark.parametrize("name", BODY)
def test_what_moves_the_surface_of_the_twin_counts(tmp_path, name):
    before, after = hashes(tmp_path, BODY[name])
    assert before[0] != after[0] and before[1] != after[1]


@pytest.mark.parametrize("name", REALITY)
def test_what_the_reality_differs_by_counts_for_its_frames_alone(tmp_path, name):
    before, after = hashes(tmp_path, REALITY[name])
    assert before[0] == after[0] and before[1] != after[1]


def test_a_mesh_counts_by_the_content_of_its_file(tmp_path):
    robot = robot_of(tmp_path, content())
    mesh, mine = robot.build_twin().body.mesh, content()
    own = {"file": "rooms.vtu", "size": [float(length) for length in mesh.size], "element": "hex20r"}
    mine["robot"]["body"]["mesh"] = own
    write_mesh(mesh, tmp_path / "rooms.vtu")
    first = robot_of(tmp_path, mine)
    known = description_hash(first)
    assert known != description_hash(robot_of(tmp_path, content()))
    write_mesh(replace(mesh, nodes=mesh.nodes * [1.0, 1.0, 1.004]), tmp_path / "rooms.vtu")
    assert description_hash(first) != known
    mine["learning"]["reality"]["mesh"] = own
    scanned = reality_hash(robot_of(tmp_path, mine))
    write_mesh(replace(mesh, nodes=mesh.nodes * [1.0, 1.004, 1.0]), tmp_path / "rooms.vtu")
    assert reality_hash(robot_of(tmp_path, mine)) != scanned
    (tmp_path / "rooms.vtu").unlink()
    with pytest.raises(MeshError, match="no mesh at"):
        description_hash(first)
