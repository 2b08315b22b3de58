"""A package of interfaces that no index of wheels has, made and built where a test wants it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

WHEELS = Path(__file__).resolve().parents[2] / "msgs" / "wheels.cmake"
PACKAGE = """<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>0.0.0</version>
  <description>For a test.</description>
  <maintainer email="soft-twin@example.com">soft_twin developers</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>{depends}</depend>
  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""
CMAKE = """cmake_minimum_required(VERSION 3.21)
project({name})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
find_package({depends} REQUIRED)
include({wheels})
rosidl_generate_interfaces({name} {files} DEPENDENCIES {depends})
ament_package()
"""


def can_build():
    """Whether cmake and a compiler are here."""
    return shutil.which("cmake") is not None and shutil.which("c++") is not None


def build(folder, name, messages, depends):
    """Build a package of messages, texts by their names; the environment that finds it beside what there is."""
    source, prefix = folder / "source", folder / "prefix"
    (source / "msg").mkdir(parents=True)
    for each, text in messages.items():
        (source / "msg" / f"{each}.msg").write_text(text)
    files = " ".join(f"msg/{each}.msg" for each in messages)
    names = {"name": name, "depends": depends, "files": files, "wheels": WHEELS.as_posix()}
    (source / "package.xml").write_text(PACKAGE.format(**names))
    (source / "CMakeLists.txt").write_text(CMAKE.format(**names))
    found = os.pathsep.join([sys.prefix, os.environ.get("AMENT_PREFIX_PATH", "")])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    options = {
        "CMAKE_INSTALL_PREFIX": prefix,
        "CMAKE_PREFIX_PATH": sys.prefix,
        "Python3_EXECUTABLE": sys.executable,
        "PYTHON_INSTALL_DIR": "python",
    }
    for words in (
        ["-S", source, "-B", folder / "build", *(f"-D{key}={value}" for key, value in options.items())],
        ["--build", folder / "build", "--parallel"],
        ["--install", folder / "build"],
    ):
        environment = os.environ | {"AMENT_PREFIX_PATH": found, "PATH": path}
        done = subprocess.run(["cmake", *map(str, words)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    first = {"PYTHONPATH": prefix / "python", "LD_LIBRARY_PATH": prefix / "lib", "AMENT_PREFIX_PATH": prefix}
    before = {"AMENT_PREFIX_PATH": found}
    return os.environ | {
        key: os.pathsep.join(filter(None, [str(value), before.get(key, os.environ.get(key, ""))]))
        for key, value in first.items()
    }
