"""The aggregator's groups: every node that tells its health is in one of them, whatever its namespace is."""

import importlib
import inspect
from pathlib import Path

import pytest
import yaml

import soft_twin_ros
from soft_twin.resources import folder
from soft_twin_ros.node import RobotNode

SOURCES = Path(soft_twin_ros.__file__).parent
NODES = sorted(path.stem for path in SOURCES.glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def groups():
    told = yaml.safe_load((folder("launch") / "diagnostics.yaml").read_text(encoding="utf-8"))
    parameters = told["analyzers"]["ros__parameters"]
    return {name: group for name, group in parameters.items() if isinstance(group, dict)}


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("namespace", ["slender", "lab/left"])
def test_every_nodes_health_falls_into_one_group(groups, node, namespace):
    classes = inspect.getmembers(importlib.import_module(f"soft_twin_ros.{node}"), inspect.isclass)
    assert any(issubclass(each, RobotNode) and each is not RobotNode for _, each in classes)
    name = f"{namespace}/{node}"
    assert len([group for group in groups.values() if any(word in name for word in group["contains"])]) == 1


def test_no_group_waits_for_a_node_that_there_is_not(groups):
    assert {group["type"] for group in groups.values()} == {"diagnostic_aggregator/GenericAnalyzer"}
    assert sorted(word for group in groups.values() for word in group["contains"]) == NODES
