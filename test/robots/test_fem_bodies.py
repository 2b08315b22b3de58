"""Bodies from generators and files: a stranger's robot from the page that tells how to write one, and its mistakes."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.descriptions.fem_mesh import MeshSource
from soft_twin.descriptions.fem_robot import BodyFibres
from soft_twin.errors import DescriptionError, InputError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.cables import Cables
from soft_twin.mesh.files import write_mesh
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.selection import enclosed_volume
from soft_twin.resources import folder
from soft_twin.robots.fem_meshes import build_mesh
from soft_twin.robots.fibres import fibre_directions

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "your_robot.md").read_text(encoding="utf-8")
TRIO = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])
DOWN = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def trio(tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "trio.yaml"
    path.write_text(yaml.safe_dump(TRIO))
    return soft_twin.load_robot(path)


@pytest.fixture(scope="module")
def twin(trio):
    return trio.build_twin()


@pytest.fixture
def load(tmp_path):
    def load(change):
        content = copy.deepcopy(TRIO)
        change(content["robot"])
        (tmp_path / "mine.yaml").write_text(json.dumps(content, indent=0))
        return soft_twin.load_robot(tmp_path / "mine.yaml")

    return load


def mesh_of(**source):
    return build_mesh(MeshSource.model_validate(source), Path())


def two_names_of_one_hollow(robot):
    """The first hollow, the largest, is "chamber 1", too."""
    for hollow in robot["body"]["mesh"]["sweep"]["hollows"][1:]:
        hollow["last"][2] -= 1
    robot["chambers"][1]["surface"] = "chamber 1"


def test_the_robot_of_the_page_bends_away_from_the_chamber_that_is_blown_up(twin):
    for i, angle in enumerate(np.radians([45.0, 165.0, 285.0])):
        efforts = np.zeros(3)
        efforts[i] = 15e3
        tip = twin.equilibrium(DOWN, efforts=efforts).tip
        away = np.array([-np.cos(angle), -np.sin(angle)])
        assert tip[:2] @ away > 1e-3
        assert abs(np.cross([*tip[:2], 0.0], [*away, 0.0])[2]) < 1e-6
    alike = twin.equilibrium(DOWN, efforts=[15e3] * 3).tip
    np.testing.assert_allclose(alike[:2], 0.0, atol=1e-7)
    assert alike[2] > 0.0605


def test_the_robot_of_the_page_reaches_what_its_pressures_can(trio, twin):
    target = twin.equilibrium(DOWN, efforts=[18e3, 3e3, 9e3]).tip
    twin.reset()
    solution = trio.build_inverse(twin).solve(DOWN, target=target, settled=3e-6)
    assert solution.reachable
    np.testing.assert_allclose(solution.efforts, [18e3, 3e3, 9e3], rtol=1e-3)
    assert trio.valves.names_by_channel == ["room_1", "room_2", "room_3"]
    assert trio.emulated.fill_rate == 8.0


def test_thin_walls_are_not_torn_by_a_step(trio, twin):
    """A linear step from rest to what the tip needs blows the rooms' walls up to three times their thickness."""
    target = twin.equilibrium(DOWN, efforts=[18e3, 3e3, 9e3]).tip
    twin.reset()
    inverse = trio.build_inverse(twin)
    for _ in range(12):
        before = twin.points
        inverse.step(DOWN, inverse.goals(target))
        assert twin.body.assemble(twin.points)[2] > 0.3  # det F
        edges = twin.body.mesh.cells[:, :2]
        change = np.linalg.norm(np.diff(twin.points[edges] - before[edges], axis=1), axis=2)
        assert (change <= 0.26 * np.linalg.norm(np.diff(twin.body.mesh.nodes[edges], axis=1), axis=2)).all()
    np.testing.assert_allclose(twin.tip, target, atol=1e-6)


def test_wound_fibres_keep_a_body_from_bulging(trio, twin, load):
    def bulge(body):
        still = body.equilibrium(np.zeros(3), efforts=[15e3] * 3)
        return float(np.linalg.norm(still.points[:, :2], axis=1).max()) - 0.015

    bare = load(lambda robot: robot["body"].pop("fibres")).build_twin()
    assert bulge(twin) < 0.4 * bulge(bare)


def test_a_point_of_the_body_is_a_frame(twin):
    waist, rng = twin.frames["waist"], np.random.default_rng(1)
    twin.reset()
    np.testing.assert_allclose(waist.position(twin), [0.0148, 0.0, 0.030], atol=1e-9)
    F = np.eye(3) + 0.1 * rng.standard_normal((3, 3))
    start = twin.points
    twin.points = start @ F.T
    np.testing.assert_allclose(waist.position(twin), F @ [0.0148, 0.0, 0.030], atol=1e-9)
    step = rng.standard_normal((*start.shape, 2))
    before = waist.position(twin)
    twin.points = twin.points + step[:, :, 0]
    np.testing.assert_allclose(waist.position(twin) - before, waist.move(twin, step)[:, 0], atol=1e-9)
    with pytest.raises(InputError, match="a point has no orientation"):
        waist.rotation(twin)
    twin.reset()


def of_rings(robot, *volumes):
    """The robot's material, once for each volume."""
    return [robot["body"]["materials"][0] | {"volume": volume} for volume in volumes]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda robot: robot["chambers"][0].update(surface="outside"), r"chambers\[0\].surface: .*its rim of 12 edges"),
        (
            lambda robot: robot.update(
                cables=[
                    {
                        "name": "out",
                        "points": [[0.0, 0.0, 0.0], [0.04, 0.0, 0.05]],
                        "tension": [0.0, 1.0],
                        "displacement": [0.0, 0.01],
                        "stiffness": 1e3,
                    }
                ]
            ),
            r"cables\[0\]: a cable leaves the body at",
        ),
        (
            lambda robot: robot["frames"]["waist"].update(point=[0.02, 0.0, 0.03]),
            r"frames.waist.point: .* lies in no cell",
        ),
        (lambda robot: robot["body"]["fibres"][0].update(volume="ring 9"), r"fibres\[0\].volume: .*ring 9.*ring 1"),
        (lambda robot: robot["body"]["plates"][0].update(nodes="lid"), r"plates\[0\].nodes: .*lid"),
        (
            lambda robot: robot["body"]["materials"][0].update(volume="ring 1"),
            r"materials: \d+ of \d+ cells are of no material: give 'ring 2', 'ring 3' a material",
        ),
        (
            lambda robot: robot["body"].update(materials=of_rings(robot, "ring 1", "ring 2", "ring 1")),
            r"materials: .* give 'ring 3' a material; 'ring 1' has two, materials\[0\] and \[2\]",
        ),
        (two_names_of_one_hollow, r"chambers: chambers 'room_1' and 'room_2' press on \d+ faces both: give each a"),
    ],
)
def test_what_cannot_be_built_is_told_with_its_line(load, change, message):
    with pytest.raises(DescriptionError, match=rf"mine.yaml:[1-9]\d+: robot.(body.)?{message}"):
        load(change).build_twin()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda robot: robot["chambers"][0].update(pressure=[0.0, 120e3]), "0…120000 Pa is not within what valves"),
        (lambda robot: robot["chambers"][0].update(pressure=[0.0, 25.0]), "0…25 Pa moves no body: written in kPa"),
        (lambda robot: robot["target"].update(tip=[0.0, 0.0, 62.0]), "target.tip: .* in metres, in base_link"),
        (
            lambda robot: robot["frames"]["tip"].update(plate="hat"),
            "tip.plate: 'hat' is no plate: there are lid",
        ),
        (
            lambda robot: robot["frames"]["tip"].update(nodes="tip"),
            "tip: expected one of nodes, plate, point and section",
        ),
        (lambda robot: robot["body"]["mesh"]["sweep"].update(inner_diameter=0.0), "a middle that is full there are no"),
        (lambda robot: robot["body"]["mesh"]["sweep"]["hollows"][0].update(last=[1, 12, 6]), "is no cell of a body of"),
        (
            lambda robot: robot["body"]["mesh"]["sweep"]["hollows"][1].update(first=[1, 3, 1]),
            r"sweep.hollows\[1\]: there is no wall between 'room_2' and 'room_1'",
        ),
        (
            lambda robot: robot["body"]["mesh"]["sweep"]["hollows"][2].update(last=[1, 11, 6]),
            r"sweep.hollows\[2\]: there is no wall between 'room_3' and 'room_1'",
        ),
        (
            lambda robot: robot["body"]["mesh"]["sweep"]["hollows"][1].update(name="lumen"),
            r"hollows\[1\].name: 'lumen' is a surface of the body's own, as are base, tip, outside, lumen: call it",
        ),
        (lambda robot: robot["chambers"][2].update(surface="room_1"), "chambers: two chambers share the surface"),
        (
            lambda robot: robot["body"]["mesh"]["sweep"].update(radial=[0.005, 0.005]),
            "radial: 2 layers of 0.01 m in all",
        ),
        (lambda robot: robot["body"]["mesh"]["sweep"].update(along=[0.06]), "along: 1 layers of 0.06 m in all are not"),
        (lambda robot: robot["body"]["mesh"].update(stl={}), "mesh"),
        (lambda robot: robot["body"]["fibres"][0].pop("around"), "expected one of 'direction' and 'around'"),
        (
            lambda robot: robot["body"].update(
                fibres=[{"direction": [0.0, 0.0, 1.0], "pitch_deg": 30.0, "modulus": 1e6}]
            ),
            r"fibres\[0\].pitch_deg: is of threads wound 'around' an axis: these are straight",
        ),
    ],
)
def test_contradictions_are_named_when_the_file_is_read(load, change, message):
    with pytest.raises(DescriptionError, match=message):
        load(change)


@pytest.mark.parametrize(
    ("change", "row"),
    [
        (lambda robot: robot["chambers"][1].update(surface="room_1"), "two chambers on one surface"),
        (two_names_of_one_hollow, "two chambers on faces of two names"),
    ],
)
def test_the_page_has_what_is_told_of_two_chambers_of_one_place(load, change, row):
    with pytest.raises(DescriptionError) as told:
        load(change).build_twin()
    (words,) = re.findall(rf"\| {row} \| robot.chambers: (.*) \|", PAGE)
    assert re.sub(r"\d+ faces", "n faces", words) in re.sub(r"\d+ faces", "n faces", str(told.value))


def test_a_mesh_in_millimetres_is_named(load, tmp_path, twin):
    from dataclasses import replace

    write_mesh(replace(twin.body.mesh, nodes=1e3 * twin.body.mesh.nodes), tmp_path / "trio.vtu")
    robot = load(lambda robot: robot["body"].update(mesh={"file": "trio.vtu", "size": [0.03, 0.03, 0.06]}))
    with pytest.raises(DescriptionError, match=r"mine.yaml:\d+: robot.body.mesh: .*seems to be in millimetres"):
        robot.build_twin()


def test_a_target_of_a_body_beside_the_origin_is_within_reach_of_its_base(load, tmp_path, twin):
    from dataclasses import replace

    place = np.array([0.2, -0.05, 0.0])
    write_mesh(replace(twin.body.mesh, nodes=twin.body.mesh.nodes + place), tmp_path / "trio.vtu")

    def beside(robot, tip):
        robot["body"].update(mesh={"file": "trio.vtu", "size": [0.03, 0.03, 0.06], "element": "hex20r"}, fibres=[])
        robot["frames"]["waist"].update(point=[0.21, -0.05, 0.03])
        robot["target"].update(tip=tip)

    near = load(lambda robot: beside(robot, [0.2, -0.05, 0.062])).build_controller()
    np.testing.assert_allclose(near.twin.base, place, atol=1e-9)
    far = load(lambda robot: beside(robot, [0.0, 0.0, 0.062]))
    with pytest.raises(DescriptionError, match=r"mine.yaml:[1-9]\d+: robot.target.tip: .* twice the body's size"):
        far.build_twin()


def test_hollows_of_a_sweep_are_where_they_are_said_to_be(twin):
    surfaces = twin.body.mesh.surfaces
    inner, outer = 0.004 + 0.011 / 3.0, 0.004 + 0.022 / 3.0
    for i, angle in enumerate([45.0, 165.0, -75.0]):
        room = surfaces[f"room_{i + 1}"]
        volume = -enclosed_volume(twin.body.mesh.nodes, room)
        assert volume == pytest.approx(0.25 * np.pi * (outer**2 - inner**2) * 0.045, rel=0.03)
        x, y, z = twin.body.mesh.nodes[np.unique(room)].mean(axis=0)
        assert np.degrees(np.arctan2(y, x)) == pytest.approx(angle, abs=1e-6)
        assert z == pytest.approx(0.030, abs=1e-6)


def test_rings_and_layers_of_a_sweep_are_as_thick_as_they_are_said_to_be():
    hollow = {"name": "room", "first": [1, 0, 1], "last": [1, 2, 1]}
    mesh = mesh_of(
        sweep={
            "outer_diameter": 0.04, "inner_diameter": 0.01, "length": 0.1, "divisions": [3, 12, 3], "element": "hex20r",
            "radial": [0.004, 0.008, 0.003], "along": [0.01, 0.07, 0.02], "hollows": [hollow],
        }
    )  # fmt: skip
    room = mesh.nodes[np.unique(mesh.surface("room"))]
    radius = np.hypot(*room[:, :2].T)
    np.testing.assert_allclose([radius.min(), radius.max()], [0.009, 0.017], atol=1e-12)
    np.testing.assert_allclose([room[:, 2].min(), room[:, 2].max()], [0.01, 0.08], atol=1e-12)
    wedge = 0.25 * np.pi * (0.017**2 - 0.009**2) * 0.07
    assert -enclosed_volume(mesh.nodes, mesh.surface("room")) == pytest.approx(wedge, rel=0.03)
    np.testing.assert_allclose(np.hypot(*mesh.nodes[np.unique(mesh.surface("outside")), :2].T), 0.02, atol=1e-12)


def test_a_sweep_begins_where_it_is_turned_to():
    """Its first cell, which a hollow leaves out, lies between 20° and 80°."""
    sizes = {"outer_diameter": 0.02, "inner_diameter": 0.01, "length": 0.03, "divisions": (1, 6, 3)}
    first = {"name": "gap", "first": (0, 0, 1), "last": (0, 0, 1)}
    mesh = mesh_of(sweep={**sizes, "element": "hex20r", "turn_deg": 20.0, "hollows": [first]})
    x, y, _ = mesh.nodes[mesh.cells].mean(axis=1).T
    angles = np.sort(np.degrees(np.arctan2(y, x)) % 360.0)
    np.testing.assert_allclose(angles, np.repeat(50.0 + 60.0 * np.arange(6), 3)[1:], atol=1e-9)


def test_a_grading_and_lengths_contradict_each_other():
    sweep = {"outer_diameter": 0.04, "inner_diameter": 0.01, "length": 0.1, "divisions": [1, 6, 2], "element": "hex8"}
    with pytest.raises(ValueError, match="leave one of them out"):
        mesh_of(sweep={**sweep, "along": [0.04, 0.06], "grading": 1.5})
    with pytest.raises(ValueError, match="give a lumen"):
        mesh_of(sweep={**sweep, "inner_diameter": 0.0, "divisions": [1, 8, 2], "radial": [0.02]})


def test_a_stack_has_volumes_and_the_chamber_between_its_layers():
    def ring(name, inner, outer):
        return {"name": name, "inner_diameter": inner, "outer_diameter": outer}

    cap = [ring("cap", 0.0, 0.01), ring("cap", 0.01, 0.02)]
    layers = [
        {"length": 0.005, "divisions": 1, "rings": cap},
        {"length": 0.03, "divisions": 4, "rings": [ring("wall", 0.01, 0.02)]},
        {"length": 0.005, "divisions": 1, "rings": cap},
    ]
    mesh = mesh_of(stack={"around": 8, "element": "hex20r", "layers": layers})
    assert set(mesh.volumes) == {"cap", "wall"}
    assert -enclosed_volume(mesh.nodes, mesh.surface("chamber 1")) == pytest.approx(np.pi * 0.005**2 * 0.03, rel=0.06)


@pytest.fixture
def stl(tmp_path):
    """block.stl, in millimetres: 30 x 30 x 40, with a hollow."""
    block = voxel_mesh(np.pad(np.zeros((1, 1, 2), bool), 1, constant_values=True), 10.0, "tet4")
    triangles = np.concatenate([block.surfaces[name] for name in ("base", "tip", "outside", "chamber 1")])
    rows = ["solid block"]
    for triangle in block.nodes[triangles]:
        corners = [f"vertex {x} {y} {z}" for x, y, z in triangle]
        rows += ["facet normal 0 0 0", "outer loop", *corners, "endloop", "endfacet"]
    (tmp_path / "block.stl").write_text("\n".join([*rows, "endsolid block"]))
    return "block.stl"


@pytest.mark.parametrize(
    ("unit", "size", "says"),
    [
        (
            1.0,
            [0.03, 0.03, 0.04],
            "measures 30 x 30 x 40 m with unit 1, .* 0.03 x 0.03 x 0.04 m: .* seems to be in millimetres, unit: 0.001",
        ),
        (1e-3, [0.762, 0.762, 1.016], "the file seems to be in inches, unit: 0.0254"),
        (1e-3, [0.1, 0.1, 0.1], "measures 0.03 x 0.03 x 0.04 m with unit 0.001, .* says 0.1 x 0.1 x 0.1 m$"),
        (1e-3, [0.04, 0.03, 0.03], "measures 0.03 x 0.03 x 0.04 m .* 0.04 x 0.03 x 0.03 m: .* lies along other axes"),
    ],
)
def test_a_surface_in_other_units_or_turned_is_named_before_gmsh_begins(load, stl, monkeypatch, unit, size, says):
    monkeypatch.setattr("soft_twin.mesh.generate.gmsh_stl.tetrahedra_apart", lambda *_: pytest.fail("Gmsh begins"))
    source = {"file": stl, "unit": unit, "size": size, "cell": 0.1 * max(size)}
    robot = load(lambda robot: robot["body"].update(mesh={"stl": source}))
    with pytest.raises(DescriptionError, match=rf"mine.yaml:\d+: robot.body.mesh: block.stl: .*{says}"):
        robot.build_twin()


def test_a_surface_is_filled_by_gmsh_and_its_hollow_is_a_chamber(stl, tmp_path):
    pytest.importorskip("gmsh")
    source = {"file": stl, "unit": 1e-3, "size": [0.03, 0.03, 0.04], "cell": 0.01, "element": "tet4"}
    mesh = build_mesh(MeshSource.model_validate({"stl": source}), tmp_path)
    np.testing.assert_allclose(mesh.size, [0.03, 0.03, 0.04])
    assert -enclosed_volume(mesh.nodes, mesh.surface("chamber 1")) == pytest.approx(2e-6, rel=1e-6)
    assert enclosed_volume(mesh.nodes, np.concatenate([mesh.surface(s) for s in ("base", "tip", "outside")])) > 3.5e-5


@pytest.fixture(scope="module")
def block():
    return voxel_mesh(np.ones((2, 2, 4), bool), 0.01, "hex20r")


def test_a_cable_along_points_is_one_cable(block):
    straight = Cables(block, np.array([[0.004, 0.004, 0.0]]), np.array([[0.004, 0.004, 0.04]]))
    parts = Cables.through(block, [[[0.004, 0.004, 0.0], [0.004, 0.004, 0.013], [0.004, 0.004, 0.04]]])
    F = np.eye(3) + 0.2 * np.random.default_rng(0).standard_normal((3, 3))
    assert parts.count == 1
    np.testing.assert_allclose(parts.lengths(block.nodes @ F.T), straight.lengths(block.nodes @ F.T), rtol=1e-12)
    around = np.array([[0.004, 0.004, 0.0], [0.016, 0.004, 0.02], [0.004, 0.016, 0.04]])
    both = Cables.through(block, [around, around[:2]])
    lengths = np.linalg.norm(np.diff(around, axis=0), axis=1)
    np.testing.assert_allclose(both.rest_lengths, [lengths.sum(), lengths[0]], rtol=1e-12)


def test_a_cable_through_guides_pulls_as_its_length_changes(block):
    middle = np.flatnonzero(np.abs(block.nodes[:, 2] - 0.02) < 1e-9)
    guides = [([0.03, 0.01, 0.02], middle), ([0.03, 0.01, 0.04], "tip")]
    cable, x = CableActuators(Cables.guided(block, [0.03, 0.01, 0.0], guides), 1e3), block.nodes.copy()
    np.testing.assert_allclose(cable.cables.rest_lengths, [0.04], rtol=1e-12)
    rng, d = np.random.default_rng(2), 1e-6
    x += 1e-3 * rng.standard_normal(x.shape)
    step = rng.standard_normal(x.shape)
    change = (cable.coordinates(x + d * step) - cable.coordinates(x - d * step)) / (2.0 * d)
    np.testing.assert_allclose(np.tensordot(cable.gradients(x), step, axes=((0, 1), (0, 1))), change, rtol=1e-6)
    blocks, curvature = cable.stiffness(x, np.ones(1)), np.zeros_like(x)
    np.add.at(curvature, cable.groups, np.einsum("sabij,sbj->sai", blocks, step[cable.groups]))
    slope = -(cable.gradients(x + d * step) - cable.gradients(x - d * step))[:, :, 0] / (2.0 * d)
    np.testing.assert_allclose(curvature, slope, atol=1e-6 * np.abs(slope).max())
    with pytest.raises(InputError, match="carried by some of the same nodes"):
        Cables.guided(block, [0.03, 0.01, 0.0], [([0.03, 0.01, 0.04], "tip"), ([0.03, 0.02, 0.04], "tip")])


def test_a_muscle_pulls_with_its_stress_and_is_told_to_have_no_drive(load):
    """Fibres along a bar of modulus E shorten it by σ/E; the coordinate is that share of its volume."""

    def change(robot):
        robot["body"]["mesh"] = {"voxels": {"cells": [2, 2, 6], "size": [0.01, 0.01, 0.06], "element": "hex20"}}
        robot["body"]["materials"][0].update(poisson_ratio=0.0, model="linear", young_modulus=1e6)
        robot["body"].pop("fibres")
        robot["body"]["plates"][0].pop("mass")
        for key in ("chambers", "valves"):
            robot.pop(key)
        robot["frames"].pop("waist")
        robot["muscles"] = [{"name": "bar", "direction": [0.0, 0.0, 3.0], "stress": [0.0, 1e5]}]

    robot = load(change)
    twin = robot.build_twin()
    still = twin.equilibrium(np.zeros(3), efforts=[1e3])
    assert still.tip[2] - 0.06 == pytest.approx(-1e-3 * 0.06, rel=1e-6)
    assert still.coordinates[0] == pytest.approx(1e-3 * 6e-6, rel=1e-6)
    actuators, d = twin.model.actuators.parts[0], 1e-6
    rng = np.random.default_rng(3)
    x = twin.points + 1e-3 * rng.standard_normal(twin.points.shape)
    step = rng.standard_normal(x.shape)
    change = (actuators.coordinates(x + d * step) - actuators.coordinates(x - d * step)) / (2.0 * d)
    np.testing.assert_allclose(np.tensordot(actuators.gradients(x), step, axes=((0, 1), (0, 1))), change, rtol=1e-6)
    assert robot.actuator_names == ["bar"]
    for face in ("winches", "valves"):
        with pytest.raises(DescriptionError, match=r"muscles\[0\]: muscle 'bar' has no drive"):
            getattr(robot, face)


def test_wound_fibres_run_around_their_axis_half_each_way(block):
    axis = {"point": (0.0, 0.0, 0.0), "direction": (0.0, 0.0, 2.0)}
    one, other = fibre_directions(block, BodyFibres.model_validate({"modulus": 1e5, "around": axis, "pitch_deg": 30.0}))
    centres = block.nodes[block.cells].mean(axis=1)
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1.0)
    np.testing.assert_allclose(one[:, 2], 0.5)
    np.testing.assert_allclose(other[:, 2], -0.5)
    np.testing.assert_allclose((one * centres)[:, :2].sum(axis=1), 0.0, atol=1e-12)


def test_rods_carry_compression_threads_do_not(load):
    """A block's worth of parallel ones beside its matrix: pressed together along them, and pulled."""
    for rods in (True, False):
        fibres = [{"direction": [0.0, 0.0, 1.0], "modulus": 1e6, "carry": "both" if rods else "tension"}]
        body = load(lambda robot, fibres=fibres: robot["body"].update(fibres=fibres)).build_model().body
        threads, count = body.parts[-1].material.energy, len(body.mesh.cells)
        pressed, pulled = (np.tile(np.diag([1.0, 1.0, 1.0 + strain]), (count, 1, 1)) for strain in (-0.1, 0.1))
        assert threads.stress(pressed)[0, 2, 2] == pytest.approx(-1e5 if rods else 0.0, abs=1e-6)
        assert threads.stress(pulled)[0, 2, 2] == pytest.approx(1e5)


def test_a_relief_lifts_a_block_layers_and_all():
    block = {"cells": [4, 4, 2], "size": [0.1, 0.1, 0.02], "along": [0.015, 0.005], "element": "hex20r"}
    block["hollows"] = [{"name": "room", "first": [1, 1, 0], "last": [2, 2, 0]}]
    bumps = [
        {"height": 0.03, "at": [0.01, 0.0], "widths": [0.04, 0.05]},
        {"height": -0.01, "at": [0, 0], "widths": [1, 1]},
    ]
    flat, lifted = mesh_of(voxels=block), mesh_of(voxels={**block, "relief": bumps})
    x, y = flat.nodes[:, 0], flat.nodes[:, 1]
    expected = 0.03 * np.exp(-((x - 0.01) ** 2) / 0.0032 - y**2 / 0.005) - 0.01 * np.exp(-(x**2 + y**2) / 2.0)
    np.testing.assert_allclose(lifted.nodes - flat.nodes, np.column_stack([0 * x, 0 * x, expected]), atol=1e-15)
    for name in ("base", "tip", "room"):
        np.testing.assert_array_equal(lifted.surface(name), flat.surface(name))


def test_layers_of_a_sweep_are_volumes():
    mesh = mesh_of(
        sweep={
            "outer_diameter": 0.04, "inner_diameter": 0.01, "length": 0.1, "divisions": [3, 12, 3], "element": "hex20r",
            "along": [0.01, 0.07, 0.02], "hollows": [{"first": [1, 0, 1], "last": [1, 2, 1]}],
        }
    )  # fmt: skip
    for name, (low, high) in {"layer 1": (0.0, 0.01), "layer 2": (0.01, 0.08), "layer 3": (0.08, 0.1)}.items():
        z = mesh.nodes[mesh.cells[mesh.volume(name)]][..., 2]
        assert z.min() == pytest.approx(low, abs=1e-12) and z.max() == pytest.approx(high)
    assert len(mesh.volume("layer 2")) == 3 * 12 - 3


def test_a_cable_ends_wherever_its_rigid_plate_reaches(tmp_path):
    """Lugs above and below the neck's plate: what is wound in is its movement and the cable's stretch."""
    content = yaml.safe_load((folder("config") / "neck.yaml").read_text(encoding="utf-8"))
    cables = content["robot"]["cables"]
    cables[0]["end"][2], cables[1]["end"][2] = 0.108, 0.088
    (tmp_path / "neck.yaml").write_text(yaml.safe_dump(content))
    robot = soft_twin.load_robot(tmp_path / "neck.yaml")
    twin, efforts = robot.build_twin(), np.array([30.0, 2.0, 4.0])
    still = twin.equilibrium(DOWN, efforts=efforts)
    tip, turned = twin.frames["tip"].position(twin), twin.frames["tip"].rotation(twin)
    assert np.degrees(np.arccos(turned[2, 2])) > 20.0
    for cable, wound, tension in zip(cables, still.coordinates, efforts, strict=True):
        start, end = np.array(cable["start"]), np.array(cable["end"])
        now = tip + turned @ (end - [0.0, 0.0, 0.1])
        pulled = np.linalg.norm(end - start) - np.linalg.norm(now - start)
        assert wound == pytest.approx(pulled + tension / cable["stiffness"], abs=1e-9)
    assert twin.length == pytest.approx(0.1)
    del content["robot"]["body"]["plates"], content["robot"]["imus"][1]
    content["robot"]["frames"]["tip"] = {"nodes": "tip"}
    (tmp_path / "neck.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(DescriptionError, match=r"cables\[0\]: .* 8 mm off the plane of .* only a rigid plate's may"):
        soft_twin.load_robot(tmp_path / "neck.yaml").build_twin()
