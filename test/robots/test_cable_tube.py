"""Descriptions: read as written, and every mistake named with what would be right."""

import math

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.app.cli import main
from soft_twin.errors import DescriptionError, MeshError, UsageError
from soft_twin.mechanics.contact import Contact
from soft_twin.resources import folder
from soft_twin.robots.fem_robot import FemRobot


@pytest.fixture
def content():
    return yaml.safe_load((folder("config") / "slender.yaml").read_text())


@pytest.fixture
def load(tmp_path):
    def load_content(content):
        path = tmp_path / "mine.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return soft_twin.load_robot(path)

    return load_content


def test_the_slender_robot_is_the_papers():
    robot = soft_twin.load_robot("slender")
    assert robot.body.segment_lengths == (0.05, 0.05)
    assert (robot.body.outer_diameter, robot.body.lumen_diameter) == (0.009, 0.0036)
    material = robot.body.material
    assert (material.young_modulus, material.poisson_ratio, material.density) == (0.8e6, 0.45, 1150.0)
    assert robot.winches.cable_limits.tension == (0.0, 2.0)
    assert robot.winches.cable_limits.displacement == (-0.002, 0.012)
    cables = robot.description.cables
    np.testing.assert_allclose(np.hypot(*np.transpose([cable.start[:2] for cable in cables])), 0.00315)
    assert [cable.end[2] - cable.start[2] for cable in cables] == [0.05] * 3 + [0.1] * 3


def test_distal_cables_run_between_the_proximal_ones():
    slender = soft_twin.load_robot("slender")
    angles = [math.degrees(math.atan2(*cable.start[1::-1])) % 360 for cable in slender.description.cables]
    np.testing.assert_allclose(np.diff(np.sort(angles)), 60.0)
    proximal, distal = np.sort(angles[:3]), np.sort(angles[3:])
    np.testing.assert_allclose((proximal - distal) % 120, 60.0)


def test_unknown_robots_are_named_with_those_there_are(tmp_path):
    with pytest.raises(UsageError, match="robot description: expected the path of a file, found int"):
        soft_twin.load_robot(3)
    with pytest.raises(UsageError, match="no robot 'slendr': did you mean 'slender'"):
        soft_twin.load_robot("slendr")
    with pytest.raises(UsageError, match="no robot description at"):
        soft_twin.load_robot(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["kind"], "octopus", "kind: 'octopus' is none of cable_tube"),
        (["name"], 7, "name: expected text, found 7"),
        (["body", "outer_diameter"], "9 mm", "outer_diameter: expected a number, found '9 mm'"),
        (["body", "outer_diameter"], 9.0, "outer_diameter: 9 is outside"),
        (["body", "lumen_diameter"], 0.009, "lumen_diameter: 0.009 is outside 0…0.00855"),
        (["body", "mesh"], "fine", "mesh: 'fine' is none of hex20r"),
        (["body", "segment_lengths"], [0.05, float("nan")], "segment_lengths: expected a number, found nan"),
        (["cables", "tension"], [2.0, 0.0], "the lower limit 2 is not below the upper 0"),
        (["cables", "tension"], [-1.0, 2.0], "a cable never pushes"),
        (["cables", "displacement"], [0.001, 0.012], "does not contain 0"),
        (["cables", "pretension"], 5.0, "pretension: a pretension of 5 N is outside tension, 0…2 N"),
        (["cables", "caps"], "maybe", "caps: expected true or false, found 'maybe'"),
        (["cables", "list"], [], "expected a list with at least one entry"),
        (["cables", "list", 1, "motor_id"], 1, "two cables share one motor_id"),
        (["cables", "list", 1, "name"], "cable_1", "two cables share one name"),
        (["cables", "list", 1, "segment"], 3, "segment: expected a whole number in 1…2, found 3"),
        (["winches", "direction"], 0, "expected 1 or -1, found 0"),
        (["winches", "current_limit"], 0.05, "pulls with 1.4 N at most, less than cables.tension allows, 2 N"),
        (["winches", "cable_diameter"], 0.0007, "'cable_diameter' and 'drum_width' are both needed"),
        (["cables", "rate"], 0.5, "needs 26444 turns/min of the rotor"),
        (["cables", "acceleration"], 0.0, "acceleration: 0 is outside"),
        (["cables", "list", 1, "direction"], 2, "direction: expected 1 or -1, found 2"),
        (["cables", "list", 1, "scale"], 0.0, "scale: 0 is outside 0.5…2"),
        (["cables", "list", 1, "offset"], 0.05, "offset: 0.05 is outside -0.002…0.012"),
        (["target"], {"tip": [0.0, 0.1]}, "tip: expected a list of 3 numbers"),
    ],
)
def test_every_mistake_is_named(content, load, keys, value, message):
    place = content["robot"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(DescriptionError, match=message) as error:
        load(content)
    assert "mine.yaml" in str(error.value)
    assert "\n" not in str(error.value)


def test_calibration_and_drums_are_read(content, load):
    content["robot"]["cables"]["list"][2] |= {"direction": -1, "scale": 1.01, "offset": 0.001}
    content["robot"]["winches"] |= {"cable_diameter": 0.0007, "drum_width": 0.004}
    content["robot"]["cables"]["acceleration"] = 2.0
    robot = load(content)
    third = robot.winches.cables[2]
    assert (third.direction, third.scale, third.offset) == (-1, 1.01, 0.001)
    assert robot.winches.winch.growth == pytest.approx(0.0007**2 / (2.0 * math.pi * 0.004))
    assert robot.winches.cable_limits.acceleration == 2.0


TUBE = {"name": "colon", "kind": "lumen", "points": [[0.0, 0.0, 0.05], [0.0, 0.0, 0.2]], "radii": [0.008]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"radii": [0.0045]},
            "obstacles.0..radii: 'colon' is 9 mm wide where it is narrowest, the body 9 mm: it cannot",
        ),
        ({"radii": [0.008] * 3}, "obstacles.0..*radii: 3 radii for 2 points"),
        ({"points": [[0.0, 0.0, 0.05]]}, "obstacles.0..*points: expected a list with at least 2 entries"),
        ({"points": [[0.0, 0.0, 0.05]] * 2}, "obstacles.0..*points.1.: is where the point before is"),
        (
            {"points": [[0.0, 0.0, 0.06], [0.0, 0.0, 0.08], [0.02, 0.0, 0.08]], "radii": [0.05]},
            "too tight for a radius",
        ),
        ({"points": [[0.006, 0.0, 0.05], [0.006, 0.0, 0.2]]}, "the undeformed body lies 2.5 mm deep in 'colon'"),
    ],
)
def test_tubes_that_the_robot_cannot_be_in_are_named(content, load, change, message):
    content["robot"]["obstacles"] = [TUBE | change]
    with pytest.raises(DescriptionError, match=message):
        load(content).build_model()


def test_a_robot_in_a_tube_is_carried_by_it(content, load):
    """It sags by 13 mm where nothing holds it; the twin has no friction, the emulated robot's tube has."""
    content["robot"]["obstacles"] = [TUBE | {"friction": 0.2, "nodes": "outside"}]
    robot = load(content)
    twin = robot.build_twin()
    twin.equilibrium([0.0, -9.81, 0.0])
    assert 0.1 < twin.contact_force[1] / (9.81 * twin.body.mass) < 0.5
    assert (np.hypot(*twin.points[twin.points[:, 2] > 0.051, :2].T) < 0.008 + 1e-6).all()
    frictions = [
        [each.friction for each in model.constraints if isinstance(each, Contact)]
        for model in (robot.build_model(), robot.build_emulated_model())
    ]
    assert frictions == [[0.0], [0.2]]
    with pytest.raises(UsageError, match="a rod twin touches nothing"):
        robot.build_twin(backend="rod")


def test_missing_keys_are_named(content, load):
    del content["robot"]["winches"]
    with pytest.raises(DescriptionError, match="the key 'winches' is missing"):
        load(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("robot: [", "not readable as YAML"),
        ("just text", "expected a mapping"),
        ("robot: 5", "expected a mapping, found 5"),
        ("!!python/object/apply:os.system ['true']", "the tag .* is not read"),
        ("#" * 2_000_000, "larger than"),
    ],
)
def test_files_that_are_no_descriptions_are_refused(load, text, message):
    with pytest.raises(DescriptionError, match=message):
        load(text)


def test_the_long_form_is_the_same_robot(load, capsys):
    """What `describe --long` prints, read as a robot of kind `fem`."""
    short = soft_twin.load_robot("slender")
    assert main(["describe", "slender", "--long"]) == 0
    long = load(capsys.readouterr().out)
    assert type(long) is FemRobot
    assert (long.winches, long.emulated, long.target_tip) == (short.winches, short.emulated, short.target_tip)
    rest, target = np.array([0.0, -9.81, 0.0]), [0.02, 0.01, 0.09]
    one, other = (robot.build_inverse().solve(rest, target) for robot in (long, short))
    np.testing.assert_allclose(one.displacements, other.displacements, atol=1e-9)
    np.testing.assert_allclose(one.tip, other.tip, atol=1e-9)
    assert long.build_emulated_model().unknowns.size == short.build_emulated_model().unknowns.size


def test_lengths_of_cables_mean_the_same_on_every_mesh_where_they_end_at_caps(content, load):
    """Horizontal and held straight, the tip on meshes with the same lengths of cables; points in the wall give way."""
    meshes = content["robot"]["body"]["meshes"]
    meshes["between"] = {**meshes["hex20r"], "turn_deg": 0.0}
    meshes["across"] = {**meshes["hex20r"], "divisions": [2, 6, 10]}
    gravity, spread = [0.0, -9.81, 0.0], {}
    for caps in (True, False):
        content["robot"]["cables"]["caps"] = caps
        robot = load(content)
        held = robot.build_inverse().solve(gravity, robot.target_tip)
        tips = [
            robot.build_twin(mesh=name).equilibrium(gravity, coordinates=held.displacements).tip
            for name in ("hex20r", "between", "across", "plant")
        ]
        spread[caps] = np.linalg.norm(np.array(tips) - tips[-1], axis=1).max()
    assert spread[True] < 1e-4 < 5e-4 < spread[False]  # m


def test_only_swept_cells_are_turned(content, load):
    content["robot"]["body"]["meshes"]["tet4"]["turn_deg"] = 30.0
    with pytest.raises(DescriptionError, match="meshes.tet4.turn_deg: turns cells that are swept"):
        load(content)


def test_a_mesh_that_cannot_be_made_is_named(content, load):
    content["robot"]["body"]["meshes"]["hex20r"]["divisions"] = [1, 6, 1]
    with pytest.raises(DescriptionError, match="body.mesh.stack.layers.0.divisions: expected a whole number in 1…1000"):
        load(content)


@pytest.mark.parametrize("lengths", [[0.05, 0.08], [0.03, 0.03, 0.03]])
def test_all_follows_the_lengths_of_the_segments(content, load, lengths):
    content["robot"]["body"]["segment_lengths"] = lengths
    whole = sum(lengths)
    for cable in content["robot"]["cables"]["list"]:
        cable["segment"] += len(lengths) - 2
    robot = load(content)
    assert robot.target_tip == (0.0, 0.0, pytest.approx(whole))
    for mesh in (robot.build_mesh(), robot.build_mesh(element="tet4"), robot.build_emulated_model().body.mesh):
        np.testing.assert_allclose(mesh.size, [0.009, 0.009, whole], rtol=0.02)
    tips = [robot.build_twin(element=element).tip for element in ("hex20r", "tet4")]
    np.testing.assert_allclose(tips, [[0.0, 0.0, whole]] * 2, atol=1e-4)


def test_a_target_that_is_given_stays(content, load):
    content["robot"]["target"] = {"tip": [0.01, 0.0, 0.095]}
    assert load(content).target_tip == (0.01, 0.0, 0.095)


def test_a_default_mesh_from_a_file_follows_the_lengths_too(content, load):
    content["robot"]["body"] |= {"mesh": "tet4", "segment_lengths": [0.05, 0.06]}
    robot = load(content)
    np.testing.assert_allclose(robot.build_model().body.mesh.size[2], 0.11)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"segment_lengths": [0.05, 0.5]}, r"slender_tet4.vtu: .*measures 0.009 x 0.009 x 0.1 m"),
        ({"outer_diameter": 0.01}, r"a tube of 9 mm, lumen 3.6 mm, length 100 mm; the description says 10, 3.6, 100"),
        (
            {"lumen_diameter": 0.002},
            r"the description says 9, 2, 100 mm: `soft-twin mesh .*mine.yaml --out .*` makes it anew",
        ),
    ],
)
def test_a_mesh_file_of_another_tube_is_refused_with_how_to_make_it(content, load, changes, says):
    content["robot"]["body"] |= changes
    with pytest.raises(MeshError, match=says):
        load(content).build_mesh(element="tet4")
