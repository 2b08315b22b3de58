"""Small files of sensors and launches: marker takes, trials of RepoIMU, alignments of plates, lists of robots."""

import importlib.util
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from soft_twin.recording.c3d_files import MarkerSet, write_marker_set

HAS_C3D = importlib.util.find_spec("c3d") is not None
ODD = (1e15, float("nan"), float("inf"), "text", {}, [], [1.0], [1e300] * 3, None, [[0.0, 0.0, 1.0]], True, -1)


@cache
def good_take() -> bytes:
    """Five markers at rest as a C3D file."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "take.c3d"
        points = 0.1 * np.random.default_rng(0).standard_normal((5, 3))
        write_marker_set(path, MarkerSet(tuple(f"marker_{i}" for i in range(5)), points))
        return path.read_bytes()


@cache
def good_trial() -> bytes:
    """Six seconds at rest as RepoIMU writes them."""
    rng = np.random.default_rng(0)
    row = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.81, 0.0, 0.0, 0.0, 0.2, 0.0, 0.4])
    rows = np.tile(row, (600, 1)) + np.pad(0.001 * rng.standard_normal((600, 6)), ((0, 0), (5, 3)))
    rows[:, 0] = np.arange(600) / 100.0
    lines = [";".join(f"{value:.5f}" for value in one) for one in rows.tolist()]
    return "\n".join(["Time;Orientation", "s;-", *lines, ""]).encode()


def good_alignment() -> dict:
    """Two rests of a plate."""
    rests = [
        {"base": [0.0, 0.0, -1.0], "plate": [0.01, 0.0, -0.99995], "bend": [0.0, 0.0]},
        {"base": [0.0, -1.0, 0.0], "plate": [0.0, -1.0, 0.01], "bend": [0.001, 0.0]},
    ]
    return {"rests": rests}


def odd_alignment(rng: np.random.Generator) -> str:
    """An alignment with something wrong in it."""
    content = good_alignment()
    rest, value = content["rests"][rng.integers(2)], ODD[rng.integers(len(ODD))]
    key = str(rng.choice(list(rest)))
    kind = rng.integers(4)
    if kind == 0:
        rest[key + "s"] = rest[key]
    elif kind == 1:
        del rest[key]
    elif kind == 2:
        content["rests"] = value or {}  # none are allowed
    else:
        rest[key] = value
    return yaml.safe_dump(content)


GOOD_ROBOTS = (
    "left: slender\nright: {robot: slender, imu: /dev/ttyUSB0, can: can0}\n",
    "{a: tm40, b: {robot: finger, emulated: true}}\n",
    "[slender, tm40]\n",
    "slender, neck\n",
)
ODD_ROBOTS = (
    "[" * 3000 + "]" * 3000,
    "{left: " + "9" * 5000 + "}",
    "{left: {robot: slender, can: [can0]}}",
    "{left: {robot: slender, cann: can0}}",
    "{left: slender, left: slender}",
    "{left: {robot: slender, emulated: perhaps}}",
    "{../../evil: slender}",
    "{left: !!python/object/apply:os.system ['true']}",
    "{left: 2026-01-01}",
    "{left: {robot: ../../etc/passwd}}",
    "{left: {robot: " + "x" * 5000 + "}}",
    "{? [a, b] : slender}",
    "&x [*x]",
    "{left: &x {robot: slender, can: *x}}",
    "null",
    "5",
    "",
)
