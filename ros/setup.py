"""What colcon builds of soft_twin. pip reads ../pyproject.toml; the links here lead to the repository's folders."""

import os
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.develop import develop
from setuptools.command.install import install

if sys.version_info < (3, 10):  # noqa: UP036 - colcon lets older ones in
    found = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"soft_twin: Python {found} is too old: 3.10 or newer is needed, as ROS 2 Humble has it")

NAME = "soft_twin"
FOLDERS = ("bench", "config", "launch", "meshes", "rviz", "urdf")
NODES = [
    path.stem for path in sorted(Path("src/soft_twin_ros").glob("*.py")) if "\ndef main(" in path.read_text("utf-8")
]
COMPILE = "SOFT_TWIN_COMPILE"  # environment variable: 0 leaves compiling to the first start
PATIENCE = 1200.0  # [s]


class Install(install):
    """What `colcon build` calls; nodes run with the Python that is first on the PATH, see setup.cfg."""

    def run(self):
        super().run()
        if not self.root:  # a package for other machines, whose processors may be others
            compile_kernels(shutil.which("python3") or sys.executable, self.install_lib, self.install_data)


class Develop(develop):
    """What `colcon build --symlink-install` calls; nodes run with the Python that builds."""

    def run(self):
        super().run()
        if not self.uninstall:
            compile_kernels(sys.executable, os.path.abspath("src"), self.prefix or sys.prefix)


def compile_kernels(python, modules, prefix):
    """`soft-twin compile` for what was installed: the folder of its modules, and that which share/ is in. Kernels stay
    beside the modules, or in NUMBA_CACHE_DIR. No build fails by it: where it cannot be done, one line says so."""
    if os.environ.get(COMPILE) == "0":
        return
    first = {"PYTHONPATH": modules, "AMENT_PREFIX_PATH": prefix}
    paths = {name: os.pathsep.join(filter(None, [path, os.environ.get(name)])) for name, path in first.items()}
    words, variables = [python, "-m", "soft_twin.app.cli", "compile"], {**os.environ, **paths}
    try:
        done = subprocess.run(words, cwd=modules, env=variables, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        wrong = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1] if done.returncode else ""
    except (OSError, subprocess.SubprocessError) as error:
        wrong = str(error)
    if wrong:
        print(f"kernels are not compiled ({wrong}): `soft-twin compile` does it later", file=sys.stderr)


setup(
    name=NAME,
    version="0.1.0",
    license="Apache-2.0",
    maintainer="soft_twin developers",
    maintainer_email="soft-twin@example.com",
    python_requires=">=3.10",
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"soft_twin": ["driving/cables/*.dbc"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        ("bin", ["bin/soft-twin"]),  # on the PATH of a workspace that is sourced
        *((f"share/{NAME}/{folder}", sorted(glob(f"{folder}/*.*"))) for folder in FOLDERS),
    ],
    entry_points={"console_scripts": [f"{node} = soft_twin_ros.{node}:main" for node in NODES]},
    zip_safe=False,
    cmdclass={"install": Install, "develop": Develop},
)
