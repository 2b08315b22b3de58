"""A slender robot of few cells, whose emulated one is the same or another, in small files."""

from pathlib import Path
from typing import Any

import pytest

from soft_twin.studies.slender.shared import variant

MESHES = {name: {"element": "hex20r", "divisions": [1, 6, 3], "grading": 1.4} for name in ("hex20r", "plant")}
ALIKE = {"young_modulus_scale": 1.0, "density_scale": 1.0, "cable_friction": 0.0, "motor_lag": 0.02}


@pytest.fixture(scope="session")
def same(small):
    """One whose emulated robot is like its twin."""
    return small("same", emulated=ALIKE)


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Makes a small robot with further changes of its description."""
    folder: Path = tmp_path_factory.mktemp("slender")

    def make(name: str = "slender", **changes: Any):
        places = {key.replace("__", "."): value for key, value in changes.items()}
        return variant(folder, name, {"body.meshes": MESHES} | places)

    return make
