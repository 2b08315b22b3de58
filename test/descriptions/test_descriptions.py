"""Descriptions: every wrong key, number and name is refused; documents and schema say what the models say."""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

import soft_twin
from soft_twin.app.cli import main
from soft_twin.descriptions.fem_mesh import TETRAHEDRA_IN_CUBE
from soft_twin.descriptions.load import part_of
from soft_twin.descriptions.robot import Description
from soft_twin.descriptions.schema import json_schema, reference
from soft_twin.descriptions.yaml_file import parse
from soft_twin.errors import DescriptionError, UsageError
from soft_twin.resources import folder
from soft_twin_ros.running.graph import GRAPHS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "descriptions.md").read_text(encoding="utf-8")
ROBOTS = ("slender", "finger", "arm", "membrane", "neck", "tm40", "manipulator", "bellows", "mannequin")
FREE = (
    ("robot", "body", "meshes"),
    ("robot", "members"),
    ("robot", "frames"),
    ("nodes",),
)  # mappings whose keys are names


def described(name):
    """What config/ has, without the parameters of nodes: they are theirs to check."""
    content = yaml.safe_load((folder("config") / f"{name}.yaml").read_text(encoding="utf-8"))
    return content | {"nodes": {node: {} for node in content["nodes"]}}


GOOD = {name: described(name) for name in ROBOTS}


def content_of(name):
    return copy.deepcopy(GOOD[name])


def text_of(content):
    """JSON is YAML, but for what is no number, and ten times as quick to write; `indent` makes it slow."""
    return json.dumps(content).replace(", ", ",\n").replace("NaN", ".nan").replace("Infinity", ".inf")


def places(content, keys=()):
    """All places in a description and what is there; of lists, whose items are of one kind, the first and the last."""
    items = content.items() if isinstance(content, dict) else ()
    if isinstance(content, list) and content:
        items = {index: content[index] for index in (0, len(content) - 1)}.items()
    for key, value in items:
        yield (*keys, key), value
        yield from places(value, (*keys, key))


def at(content, keys):
    for key in keys:
        content = content[key]
    return content


@pytest.fixture
def refuse(tmp_path):
    def refuse(content, match=None):
        path = tmp_path / "mine.yaml"
        path.write_text(text_of(content))
        with pytest.raises(DescriptionError, match=match) as error:
            soft_twin.load_robot(path)
        assert re.search(r"mine.yaml:\d+: ", str(error.value))
        assert "\n" not in str(error.value)

    return refuse


def parsed(name):
    """What is read from a robot's file: thousands of mistakes are made in it, and need no file of their own."""
    return parse(text_of(content_of(name)), "mine.yaml")


def refuse_parsed(content, match=None):
    with pytest.raises(DescriptionError, match=match) as error:
        part_of(content, Description, "mine.yaml")
    assert re.match(r"mine.yaml:\d+: [^\n]+$", str(error.value))


@pytest.mark.parametrize("name", ROBOTS)
def test_every_misspelt_key_is_named_with_the_right_one(name):
    content = parsed(name)
    keys = [keys for keys, _ in places(content) if isinstance(keys[-1], str) and keys[:-1] not in FREE]
    assert len(keys) > 20
    for *place, key in keys:
        parent = at(content, place)
        for old, new in ((key, key + "x"), (key + "x", key)):
            parent[new], parent.lines[new] = parent.pop(old), parent.lines.pop(old)
            if new != key:
                refuse_parsed(content, f"'{key}")
    part_of(content, Description, "mine.yaml")


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("value", ["1.0e15", "-1.0e15", ".nan", ".inf", "text!", "null", "true", "{}", "[]"])
def test_every_number_has_bounds_and_a_kind(name, value):
    content = parsed(name)
    numbers = [keys for keys, old in places(content) if type(old) in (int, float)]
    assert len(numbers) > 15
    for *place, key in numbers:
        parent = at(content, place)
        good, parent[key] = parent[key], parse(value, "value")
        refuse_parsed(content)
        parent[key] = good
    part_of(content, Description, "mine.yaml")


@pytest.mark.parametrize("evil", ["../../evil", "", "a b", "x" * 5000, "/etc/passwd", "a\nb", "é"])
def test_names_are_names(evil, refuse):
    for keys in (["name"], ["body", "mesh"], ["cables", "list", 0, "name"], ["body", "meshes", "tet4", "file"]):
        content = content_of("slender")
        at(content["robot"], keys[:-1])[keys[-1]] = evil
        refuse(content)
    content = content_of("slender")
    content["nodes"][evil] = {}
    refuse(content)


def test_the_size_of_a_body_is_asked_for_beside_a_file_and_there_alone(refuse):
    content = content_of("finger")
    mesh = content["robot"]["body"]["mesh"]
    content["robot"]["body"]["mesh"] = mesh | {"size": [0.02, 0.018, 0.08]}
    refuse(content, r"body.mesh.size: belongs to 'file'")
    content["robot"]["body"]["mesh"] = {"file": "mine.vtu"}
    refuse(content, r"body.mesh: 'size' is missing beside 'file'")


def test_a_cable_tube_of_a_law_that_it_cannot_have_is_told_where_it_says_so(refuse):
    content = content_of("slender")
    content["robot"]["body"]["material"]["model"] = "ogden"
    refuse(
        content, "robot.body.material: as a body of finite elements: body.materials.0.young_modulus: belongs to another"
    )


def test_cables_at_one_place_are_refused_also_a_turn_apart(refuse):
    for angle in (90.0, -270.0, 90.01):
        content = content_of("slender")
        content["robot"]["cables"]["list"][3]["angle_deg"] = angle
        refuse(content, "'cable_4' and 'cable_1' run through one place")


def test_meshes_are_counted_before_they_are_made(refuse):
    content = content_of("slender")
    meshes = content["robot"]["body"]["meshes"]
    meshes["hex20r"]["divisions"] = [1000, 1000, 1000]
    refuse(content, "divisions: 1000000000 cells are more than")
    meshes["hex20r"]["divisions"] = [1, 6, 10]
    meshes["tet4"]["size"] = 5e-5
    refuse(content, r"tet4.size: makes about 3.\de\+08 cells")
    assert pytest.approx(6.0 * 2**0.5) == TETRAHEDRA_IN_CUBE  # of volume a³ / (6 √2)
    content = content_of("arm")
    arm = content["robot"]["body"]["mesh"]["lobes"]
    arm |= {"lobes": 12, "segments": [segment | {"divisions": 1000} for segment in arm["segments"]]}
    refuse(content, "segments: 312468 cells are more than")  # 12 lobes of 13 cells, 2 · 1000 + 3 layers


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({"x": 5}, "nodes.x: expected a mapping"),
        ({"recorder": {"path": {"a": 1}}}, "nodes.recorder.path: expected text, a number"),
        ({"recorder": {"a b": 1}}, "expected a parameter's name"),
        ({"recorder": {"path": [1, "a"]}}, "values of one kind"),
        (5, "expected a mapping"),
    ],
)
def test_parameters_of_nodes_are_flat(nodes, message, refuse):
    refuse(content_of("slender") | {"nodes": nodes}, message)


def test_nodes_may_be_left_out_or_empty(tmp_path):
    for nodes in ({}, {"recorder": None}):
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content_of("slender") | {"nodes": nodes}))
        assert soft_twin.load_robot(tmp_path / "mine.yaml").nodes == {name: {} for name in nodes}


def test_an_unknown_kind_and_a_misspelt_one_are_told_apart(refuse):
    content = content_of("slender")
    refuse({"robot": content["robot"] | {"kind": ["octopus"]}}, "robot.kind: .* is none of cable_tube, fem, tensegrity")
    content["robot"]["kimd"] = content["robot"].pop("kind")
    refuse(content, "'kind' is missing: is it what 'kimd' means")


def test_pipes_devices_and_folders_are_no_descriptions(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "device.yaml").symlink_to("/dev/zero")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    for name in ("pipe", "folder", "device", "loop", "gone"):
        with pytest.raises(UsageError, match=f"no robot description at .*{name}.yaml"):
            soft_twin.load_robot(tmp_path / f"{name}.yaml")


def test_examples_of_mistakes_are_told_as_the_page_says(tmp_path):
    text = (folder("config") / "slender.yaml").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (.*) \|$", PAGE.partition("## Reference")[0], re.MULTILINE)
    assert len(rows) > 8
    for good, bad, told in rows:
        assert good in text
        (tmp_path / "slender.yaml").write_text(text.replace(good, bad, 1), encoding="utf-8")
        with pytest.raises(DescriptionError) as error:
            soft_twin.load_robot(tmp_path / "slender.yaml")
        assert str(error.value).endswith(f": {told}")


def test_the_reference_is_what_the_models_say(capsys):
    assert main(["schema", "--reference"]) == 0
    assert capsys.readouterr().out.strip() == reference()
    assert PAGE.endswith(reference() + "\n")


def test_the_schema_forbids_unknown_keys_everywhere(capsys):
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    parts = [schema, *schema["$defs"].values()]
    assert all(part["additionalProperties"] is False for part in parts)
    assert schema == json.loads(json.dumps(json_schema()))


def test_robots_fit_the_schema():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for name in ROBOTS:
        content = content_of(name)
        validator.validate(content)
        content["robot"]["colour"] = 1
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(content)


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_robot_of_the_package_is_read_and_has_a_graph_if_it_has_nodes(path):
    robot = soft_twin.load_robot(path)
    assert robot.name == path.stem
    assert type(robot) in GRAPHS or not robot.nodes


def test_importing_the_package_does_not_import_pydantic():
    program = "import sys, soft_twin; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
