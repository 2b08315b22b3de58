"""RViz shows what a robot's nodes say: their topics and types, in the frames that their messages have."""

import ast
import importlib
import inspect
import itertools
import re
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from soft_twin import load_robot
from soft_twin.errors import UsageError
from soft_twin.resources import folder
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin_ros.body_marker import COLOUR
from soft_twin_ros.running.graph import graph
from soft_twin_ros.running.rviz_view import Shown, view_of, write_view

ROBOTS = tuple(sorted(path.stem for path in folder("config").glob("*.yaml")))
DRAWN = {
    f"rviz_default_plugins/{name}": kind
    for name, kind in {
        "Marker": "Marker",
        "MarkerArray": "MarkerArray",
        "Pose": "PoseStamped",
        "PointCloud2": "PointCloud2",
    }.items()
}
MODEL = "rviz_default_plugins/RobotModel"
OPENING = np.tan(np.radians(45.0) / 2.0)  # half the height of RViz's picture at a distance of one
WHITE = "255; 255; 255"
LINK_AXES = 0.2  # [m] at a Marker Scale of one, as RViz draws them


@cache
def topics_of(executable):
    """Types of the topics that a node's program offers or listens to, by their names, as its source says it."""
    module = importlib.import_module(f"soft_twin_ros.{executable}")
    classes = [each for _, each in inspect.getmembers(module, inspect.isclass) if "soft_twin_ros" in each.__module__]
    found = {}
    for source in {inspect.getsource(inspect.getmodule(each)) for each in classes}:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        for call in (
            each for each in calls if getattr(each.func, "attr", "") in ("offer", "listen") and len(each.args) > 1
        ):
            found[getattr(call.args[1], "value", "")] = getattr(call.args[0], "id", "")
    return found


def told(name, weights):
    learned = "\nlearning:" in (folder("config") / f"{name}.yaml").read_text(encoding="utf-8")
    nodes = graph(load_robot(name)) + (graph(load_robot(name), weights=weights) if learned else [])
    return {topic: kind for node in nodes for topic, kind in topics_of(node.executable).items()}


@cache
def links(name):
    return {link.get("name") for link in ElementTree.parse(folder("urdf") / f"{name}.urdf").iter("link")}


def displays(view):
    """All displays, those of groups among them."""
    todo = list(view["Visualization Manager"]["Displays"])
    while todo:
        display = todo.pop(0)
        todo += display.get("Displays", [])
        yield display


def frames(view):
    fixed = view["Visualization Manager"]["Global Options"]["Fixed Frame"]
    return {fixed, *(display["Reference Frame"] for display in displays(view) if "Reference Frame" in display)}


@cache
def stored(name):
    """A view as it is checked in."""
    return yaml.safe_load((folder("rviz") / f"{name}.rviz").read_text(encoding="utf-8"))


def of_kind(view, kind):
    return [display for display in displays(view) if display["Class"] == f"rviz_default_plugins/{kind}"]


@cache
def body_of(name):
    """(n, 3) nodes at rest [m]."""
    robot = load_robot(name)
    if isinstance(robot, TensegrityArm):
        return robot.model.start.nodes(robot.structure.strut_lengths) @ robot.model.level
    return robot.build_model().body.mesh.nodes


def in_picture(points, camera):
    """(n, 2) places right and up in the picture of RViz's orbiting camera, in halves of the picture's height."""
    pitch, yaw = camera["Pitch"], camera["Yaw"]
    back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
    right = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    from_camera = points - [camera["Focal Point"][axis] for axis in "XYZ"] - camera["Distance"] * back
    depth = -from_camera @ back
    return from_camera @ np.column_stack([right, np.cross(back, right)]) / (OPENING * depth[:, None])


@pytest.fixture
def weights(tmp_path):
    """A file that is there: nobody reads it here."""
    path = tmp_path / "membrane.safetensors"
    path.touch()
    return path


@pytest.mark.parametrize(("name", "namespace"), list(itertools.product(ROBOTS, ("", "lab/left"))))
def test_a_view_has_a_robots_topics_and_frames(name, namespace, weights):
    """As it is checked in, where nothing is said, and in any namespace."""
    view, namespace = (view_of([Shown(name, namespace)]), namespace) if namespace else (stored(name), name)
    topics = {display["Topic"]["Value"]: display["Class"] for display in displays(view) if "Topic" in display}
    kinds = {topic.removeprefix(f"/{namespace}/"): DRAWN[kind] for topic, kind in topics.items()}
    assert kinds and kinds.items() <= told(name, weights).items()
    assert frames(view) <= {f"{namespace}/{link}" for link in links(name)}
    (model,) = [display for display in displays(view) if display["Class"] == MODEL]
    assert model["Description Topic"]["Value"] == f"/{namespace}/robot_description"
    assert model["TF Prefix"] == namespace
    (shown,) = of_kind(view, "TF")
    own = {"world", *(f"{namespace}/{link}" for link in links(name))}
    others = {"other/base_link", f"other/{namespace}/base_link", f"{namespace}/other/base_link"}
    assert {link for link in own | others if re.search(shown["Filter (whitelist)"], link)} == own


@pytest.mark.parametrize("name", ROBOTS)
def test_the_whole_robot_is_in_the_picture(name):
    """At rest, with room to move, and not as a dot."""
    places = in_picture(body_of(name), stored(name)["Visualization Manager"]["Views"]["Current"])
    assert 0.3 < np.abs(places).max() < 0.7


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "tm40"])
def test_axes_are_longer_than_what_hides_them(name):
    """Those of links and base stand in the middle of the body: seen beside it, or above it where it is flat."""
    view, body = stored(name), body_of(name)
    hidden = min(np.abs(body[:, :2]).max(), body[:, 2].max())
    (links,), (base,) = of_kind(view, "TF"), of_kind(view, "Axes")
    assert min(LINK_AXES * links["Marker Scale"], base["Length"]) > hidden


@pytest.mark.parametrize("name", ROBOTS)
def test_the_true_tip_is_told_from_the_twins(name):
    """By its axes, which nothing of the twin hides where both are in one place; a link of the twin would hide both."""
    shown = {display["Topic"]["Value"].removeprefix(f"/{name}/"): display for display in of_kind(stored(name), "Pose")}
    twin, true = shown.pop("twin/tip"), shown.pop("truth/tip")
    assert true["Axes Length"] >= 1.5 * twin["Axes Length"] and true["Axes Radius"] <= 0.5 * twin["Axes Radius"]
    (shown,) = of_kind(stored(name), "TF")
    assert re.search(shown["Filter (blacklist)"], f"{name}/tip_link")


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "tm40"])
def test_a_target_is_seen_around_the_tip_that_has_reached_it(name):
    shown = {display["Topic"]["Value"].removeprefix(f"/{name}/"): display for display in of_kind(stored(name), "Pose")}
    target, twin = shown["twin/target"], shown["twin/tip"]
    assert target["Axes Radius"] >= 1.5 * twin["Axes Radius"] and target["Axes Length"] <= 0.7 * twin["Axes Length"]


@pytest.mark.parametrize("name", [name for name in ROBOTS if of_kind(stored(name), "PointCloud2")])
def test_surfaces_are_seen_before_each_other_body_and_background(name):
    """RViz draws points that have no colour of their own white."""
    clouds = of_kind(stored(name), "PointCloud2")
    topics = [points["Topic"]["Value"].removeprefix(f"/{name}/") for points in clouds]
    assert topics == ["shape/points", "target_shape"]
    background = stored(name)["Visualization Manager"]["Global Options"]["Background Color"]
    colours = [background, *(points.get("Color", WHITE) for points in clouds)]
    colours = [255.0 * np.array(COLOUR[:3]), *(np.array(colour.split(";"), float) for colour in colours)]
    assert min(np.abs(one - other).max() for one, other in itertools.combinations(colours[1:], 2)) > 100.0
    assert min(np.abs(one - colours[0]).max() for one in colours[2:]) > 100.0
    assert {points["Color Transformer"] for points in clouds} == {"FlatColor"}


def test_several_robots_hang_in_one_world(tmp_path):
    view = yaml.safe_load(
        write_view([Shown("slender", "left"), Shown("tm40", "right")], tmp_path / "new" / "v.rviz").read_text()
    )
    assert frames(view) == {"world", "left/base_link", "right/base_link"}
    groups = {each["Name"]: each["Displays"] for each in displays(view) if "Displays" in each}
    assert set(groups) == {"left", "right"}
    topics = {name: [each["Topic"]["Value"] for each in shown if "Topic" in each] for name, shown in groups.items()}
    assert topics == {
        "left": ["/left/body", "/left/twin/tip", "/left/truth/tip", "/left/twin/target"],
        "right": ["/right/markers", "/right/twin/tip", "/right/truth/tip"],
    }
    assert view["Visualization Manager"]["Views"]["Current"]["Distance"] == 2.5  # from where the larger one is seen


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (("slender", "slender"), ((0.0, 0.0, 0.0), (0.3, 0.0, 0.0))),
        (("slender", "slender"), ((2.0, -1.0, 0.8), (2.0, -0.8, 0.9))),
        (("neck", "tm40", "arm"), ((0.0, 3.0, 0.0), (0.0, 0.0, 0.0), (-2.0, 1.0, 1.5))),
    ],
)
def test_robots_are_in_the_picture_where_they_stand(names, places):
    """In one of 4 : 3, none of them as a dot: what they are apart, or the largest of them, is a fifth of it."""
    shown = [Shown(name, f"r{i}", place) for i, (name, place) in enumerate(zip(names, places, strict=True))]
    camera = view_of(shown)["Visualization Manager"]["Views"]["Current"]
    seen = [in_picture(body_of(name) + place, camera) for name, place in zip(names, places, strict=True)]
    across, up = np.abs(np.concatenate(seen)).max(axis=0)
    assert across < 1.2 and up < 0.9
    assert np.ptp(np.concatenate(seen), axis=0).max() > 0.4


def test_a_robot_without_a_view_is_told():
    with pytest.raises(UsageError, match=r"rviz:=true: there is no rviz/stranger.rviz: leave it out"):
        view_of([Shown("stranger", "stranger")])
