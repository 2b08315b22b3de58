"""What pip, colcon and rosdep read says the same."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from soft_twin import requirements
from soft_twin.app.cli import main
from soft_twin_ros import ros_packages

REPOSITORY = Path(__file__).resolve().parents[1]
ROS = REPOSITORY / "ros"


@pytest.mark.parametrize("name", ["package.xml", "setup.py", "setup.cfg"])
def test_colcon_looks_beyond_the_top_for_both_packages(name):
    assert not (REPOSITORY / name).exists()


def test_plain_colcon_finds_both_packages(tmp_path):
    pytest.importorskip("colcon_ros", reason="colcon is not installed")
    words = [Path(sys.executable).with_name("colcon"), "--log-base", tmp_path, "list", "--base-paths", REPOSITORY]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert [line.split("\t") for line in found.splitlines()] == [
        ["soft_twin", str(ROS), "(ros.ament_python)"],
        ["soft_twin_msgs", str(REPOSITORY / "msgs"), "(ros.ament_cmake)"],
    ]


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


@pytest.fixture
def told(monkeypatch, capsys):
    """What the command line says with these versions of packages, and without some; empty where all is well."""

    def told(missing=(), **versions):
        for name in missing:
            monkeypatch.setitem(requirements.MODULES, f"no_such_{name}", name)
        monkeypatch.setattr(requirements, "_version", lambda name: versions.get(name, "99.0"))
        status = main(["schema"])
        error = capsys.readouterr().err
        assert (status, error.count("\n")) == ((2, 1) if error else (0, 0))
        return error

    return told


@pytest.mark.parametrize(
    ("missing", "remedies"),
    [
        (["nowhere"], "nowhere: pip install -r ros/requirements.txt"),
        (["numpy"], "numpy: rosdep install --from-paths src --ignore-src -y"),
        (["daqp", "scipy"], "daqp, scipy: rosdep install --from-paths src --ignore-src -y; pip install -r ros/req"),
    ],
)
def test_missing_packages_are_one_line_with_the_remedy(told, missing, remedies):
    assert f"soft-twin: Python packages are missing: {remedies}" in told(missing)


def test_packages_that_are_too_old_are_told_with_the_missing_ones(told):
    assert "missing: nowhere, pydantic newer than 1.8.2: pip install -r" in told(["nowhere"], pydantic="1.8.2")


def test_what_rosdep_does_not_install_is_in_the_list_for_pip():
    lines = re.findall(r"^([\w-]+)(.*)", (ROS / "requirements.txt").read_text(), re.M)
    bounded = {name for name, rest in lines if "<" in rest.partition(";")[0]}  # the system's, and not newer
    newer = {name for name, rest in lines if 'python_version >= "3.12"' in rest and sys.version_info < (3, 12)}
    listed = {name for name, _ in lines} - bounded - newer
    assert set(requirements.MODULES.values()) - listed == requirements.BY_ROSDEP


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        (
            {"numpy": "2.1.0", "scipy": "1.8.0"},
            "numpy 2.1.0 does not fit scipy 1.8.0, which was built for numpy 1",
        ),
        ({"numpy": "2.0.0", "numba": "0.55.1"}, "numpy 2.0.0 does not fit numba 0.55.1"),
        ({"numpy": "2.1.0", "scipy": "1.13.0", "numba": "0.60.0"}, ""),
        ({"numpy": "1.26.4", "scipy": "1.8.0"}, ""),
    ],
)
def test_a_numpy_that_others_were_not_built_for_is_told(told, versions, says):
    assert says in told(**versions) and bool(says) == bool(told(**versions))


def test_a_distribution_that_is_too_old_is_named(told, monkeypatch):
    monkeypatch.setenv("ROS_DISTRO", "galactic")
    assert told() == "soft-twin: ROS 2 galactic is too old: Humble or newer is needed\n"


FIRST = "import sys; sys.version_info = (3, 9, 18); "


@pytest.mark.parametrize("program", ["import soft_twin.app.cli", "import soft_twin_ros.imu_to_gravity"])
def test_a_python_that_is_too_old_is_told_in_one_line(program):
    result = subprocess.run([sys.executable, "-c", FIRST + program], capture_output=True, text=True)
    assert result.stderr == "soft_twin: Python 3.9 is too old: 3.10 or newer is needed, as ROS 2 Humble has it\n"


@pytest.mark.parametrize("path", ["src/soft_twin/__init__.py", "src/soft_twin_ros/__init__.py", "ros/setup.py"])
def test_a_python_that_is_too_old_can_read_what_tells_it(path):
    ast.parse((REPOSITORY / path).read_text(encoding="utf-8"), feature_version=(3, 8))


CLI, NODE = "soft_twin.app.cli schema", "soft_twin_ros.imu_to_gravity --ros-args"
BLOCKED = "import sys; sys.modules.update(dict.fromkeys({modules!r}))"


@pytest.mark.parametrize(
    ("words", "modules", "says"),
    [
        (CLI, ["numpy"], "soft-twin: Python packages are missing: numpy: rosdep install"),
        (CLI, ["transforms3d"], "soft-twin: Python packages are missing: transforms3d: rosdep install"),
        (NODE, ["numpy"], "soft_twin: Python packages are missing: numpy: rosdep install"),
        (NODE, ["transforms3d"], "soft_twin: Python packages are missing: transforms3d: rosdep install"),
        (NODE, ["rclpy", "std_msgs"], "soft_twin: ROS packages are missing: rclpy, std_msgs: source /opt/ros/DIST"),
        (NODE, ["trajectory_msgs"], "soft_twin: ROS packages are missing: trajectory_msgs: rosdep install --from-p"),
        (NODE, ["soft_twin_msgs"], "soft_twin: ROS packages are missing: soft_twin_msgs: colcon build --packages-s"),
        (
            NODE,
            ["visualization_msgs", "diagnostic_msgs"],
            "missing: diagnostic_msgs, visualization_msgs: rosdep",
        ),
    ],
)
def test_what_is_missing_is_told_before_anything_wants_it(tmp_path, words, modules, says):
    """A program that cannot find modules, from its first line on."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKED.format(modules=modules))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", *words.split()]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode != 0 and len(result.stderr.splitlines()) == 1, result.stderr
    assert says in result.stderr


def test_every_ros_package_that_nodes_import_is_looked_for_when_they_start():
    """But for those of launch files, and one that can be done without."""
    others = {"ament_index_python", "launch", "launch_ros", "ros2launch", "tf2_msgs"}
    assert set(ros_packages.PACKAGES) | others == {key for key in _keys() if not key.startswith(("python3-", "mcap"))}


@pytest.mark.parametrize(
    ("words", "node"),
    [
        ("-m soft_twin_ros.imu_to_gravity --ros-args -r __ns:=/left", True),
        ("-W ignore -m soft_twin_ros.imu_to_gravity", True),
        ("/ws/install/soft_twin/lib/soft_twin/recorder -p path:=a", True),
        ("/ws/.venv/bin/soft-twin run slender", False),
        ("-m pytest test/ros", False),
        ("-c " + "import.soft_twin_ros;" * 100, False),
    ],
)
def test_nodes_are_known_by_their_command_lines(words, node):
    assert ros_packages.is_node(words.split(" ")) == node
