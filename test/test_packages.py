"""What pip, colcon and rosdep read says the same."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from soft_twin import requirements
from soft_twin.app.cli import main

REPOSITORY = Path(__file__).resolve().parents[1]
ROS = REPOSITORY / "ros"


@pytest.mark.parametrize("name", ["package.xml", "setup.py", "setup.cfg"])
def test_colcon_looks_beyond_the_top_for_both_packages(name):
    assert not (REPOSITORY / name).exists()


def test_every_link_of_the_ros_package_leads_to_a_folder_at_the_top():
    links = [path for path in ROS.iterdir() if path.is_symlink()]
    assert links and all(link.resolve() == REPOSITORY / link.name and link.is_dir() for link in links)


def test_colcon_and_pip_install_the_same_folders():
    told = re.search(r"FOLDERS = \((.*)\)", (ROS / "setup.py").read_text())[1]
    by_pip = re.findall(r'"share/soft_twin/(\w+)" =', (REPOSITORY / "pyproject.toml").read_text())
    assert re.findall(r"\w+", told) == by_pip
    assert all((ROS / folder).is_symlink() for folder in by_pip)


def test_one_version():
    files = (REPOSITORY / "pyproject.toml", ROS / "setup.py", ROS / "package.xml", REPOSITORY / "msgs/package.xml")
    versions = {re.search(r'version(?: = |=|>)"?(\d+\.\d+\.\d+)', path.read_text())[1] for path in files}
    assert len(versions) == 1


def _by_pip():
    """Names of the packages that pip installs with soft_twin."""
    (lines,) = re.findall(r"^dependencies = \[(.*?)\]", (REPOSITORY / "pyproject.toml").read_text(), re.S | re.M)
    return set(re.findall(r'"([\w-]+)', lines))


def _keys(path=ROS / "package.xml"):
    """Keys of rosdep and names of packages in a package.xml."""
    return set(re.findall(r"depend>([\w-]+)<", path.read_text()))


def test_every_package_that_is_imported_is_asked_for_by_all_who_install():
    assert set(requirements.MODULES.values()) == _by_pip()
    listed = set(re.findall(r"^([\w-]+)", (ROS / "requirements.txt").read_text(), re.M))
    other = {"python-can": "can", "pyserial": "serial", "pyyaml": "yaml", "rosbags": "rosbags-pip"}
    by_rosdep = {name for name in _by_pip() if f"python3-{other.get(name, name)}" in _keys()}
    assert by_rosdep | listed == _by_pip()


def test_every_ros_package_that_is_imported_is_in_package_xml():
    files = [*(REPOSITORY / "src/soft_twin_ros").rglob("*.py"), *(REPOSITORY / "launch").glob("*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported = {name.partition(".")[0] for name in modules} - {"soft_twin", "soft_twin_ros"}
    asked = {key.removeprefix("python3-") for key in _keys()}
    assert {name for name in imported if not _is_standard(name)} <= asked


def _is_standard(name):
    spec = importlib.util.find_spec(name)
    return spec is not None and "site-packages" not in str(spec.origin)


def test_missing_packages_are_one_line_with_the_remedy(monkeypatch, capsys):
    monkeypatch.setitem(requirements.MODULES, "nowhere_to_be_found", "nowhere")
    monkeypatch.setattr(requirements, "version", lambda name: "1.8.2" if name == "pydantic" else "4.0")
    assert main(["schema"]) == 2
    told = "Python packages are missing: nowhere, pydantic newer than 1.8.2: pip install -r ros/requirements.txt"
    assert told in capsys.readouterr().err
