"""What colcon builds of soft_twin. pip reads ../pyproject.toml; the links here lead to the repository's folders."""

from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

NAME = "soft_twin"
FOLDERS = ("bench", "config", "launch", "meshes", "rviz", "urdf")
NODES = [
    path.stem for path in sorted(Path("src/soft_twin_ros").glob("*.py")) if "\ndef main(" in path.read_text("utf-8")
]

setup(
    name=NAME,
    version="0.1.0",
    license="Apache-2.0",
    maintainer="soft_twin developers",
    maintainer_email="soft-twin@example.com",
    python_requires=">=3.10",
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"soft_twin": ["driving/*.dbc"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        ("bin", ["bin/soft-twin"]),  # on the PATH of a workspace that is sourced
        *((f"share/{NAME}/{folder}", sorted(glob(f"{folder}/*.*"))) for folder in FOLDERS),
    ],
    entry_points={"console_scripts": [f"{node} = soft_twin_ros.{node}:main" for node in NODES]},
    zip_safe=False,
)
