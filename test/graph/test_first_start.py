"""The first start after `colcon build`: its setup.py has compiled what the nodes of the robots need."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from kernels_used import TELLING, used

from soft_twin import load_robot
from soft_twin_ros.running.graph import MANAGED, graph
from soft_twin_ros.running.health import READY
from soft_twin_ros.running.processes import Processes

pytest.importorskip("setuptools")

pytestmark = pytest.mark.timeout(1200)  # a minute of processor time for the kernels
ROS = Path(__file__).resolve().parents[2] / "ros"
# What of these tests' environment would be in the way; without bytecode setuptools says so where only our line is due.
OWN = {"NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "SOFT_TWIN_COMPILE"}


def install(folder, pythons, **variables):
    """What colcon does, into this folder; `pythons`: the folder of that which nodes would run with. Where the modules
    are, and what was said."""
    (folder / "build").mkdir()
    words = ["setup.py", "-q", "egg_info", "--egg-base", str(folder / "build"), "build", "--build-base"]
    words += [str(folder / "build"), "install", "--single-version-externally-managed", "--prefix"]
    words += [str(folder / "install"), "--record", str(folder / "record")]
    path = os.pathsep.join([str(pythons), os.environ["PATH"]])
    told = {name: value for name, value in os.environ.items() if name not in OWN} | {"PATH": path} | variables
    words = [sys.executable, "-W", "ignore", *words]  # setuptools would rather be called by pip
    done = subprocess.run(words, cwd=ROS, env=told, check=True, capture_output=True, text=True)
    (modules,) = (folder / "install").rglob("site-packages")
    return modules, done


def kernels(modules):
    """What numba keeps there."""
    return list(modules.rglob("*.nbc"))


@pytest.mark.parametrize(("name", "scanner"), [("membrane", True), ("manipulator", False)])  # others: test_run.py
def test_nodes_need_no_kernel_that_is_not_compiled_beforehand(name, scanner, compiled, listener_class, tmp_path):
    nodes, listener = graph(load_robot(name), scanner=scanner), listener_class(name)
    processes = Processes(tmp_path, os.environ | TELLING)
    solver = max((node.name for node in nodes if node.name in MANAGED), key=MANAGED.index)
    try:
        for node in nodes:
            processes.start(node)
        listener.wait_for(lambda: solver in listener.health and listener.state(solver) == READY)
        listener.wait_for(lambda: {node.name for node in nodes} <= listener.health.keys())
        listener.wait_for(lambda: not scanner or listener.state("emulated_scanner") == READY)
    finally:
        listener.close()
        processes.stop()
    needed = set().union(*(used(log.read_text()) for log in tmp_path.glob("*.log")))
    assert needed and not needed - compiled


def test_what_was_installed_is_compiled_by_the_python_that_nodes_run_with(tmp_path):
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$PWD" "$PYTHONPATH" "$@" > "$TOLD"\n')
    python.chmod(0o755)
    modules, _ = install(tmp_path, python.parent, TOLD=str(tmp_path / "told"))
    folder, first, *words = (tmp_path / "told").read_text().splitlines()
    assert Path(folder) == Path(first) == modules and words == ["-m", "soft_twin.app.cli", "compile"]


def test_an_installation_without_python_packages_says_how_to_compile_later(tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    modules, done = install(tmp_path, tmp_path / "bare/bin")
    (told,) = done.stderr.splitlines()
    assert (
        told.startswith("kernels are not compiled (")
        and "Python packages are missing" in told
        and "soft-twin compile" in told
    )
    assert (modules / "soft_twin").is_dir() and not kernels(modules)


def test_nothing_is_compiled_or_said_where_it_is_not_wanted(tmp_path):
    modules, done = install(tmp_path, Path(sys.executable).parent, SOFT_TWIN_COMPILE="0")
    assert (modules / "soft_twin").is_dir() and not kernels(modules)
    assert "kernels" not in done.stdout + done.stderr
