"""Cases: each a file made from a seed, how it is read, and what is nonsense to have read from it."""

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import yaml
from scipy.io import savemat

from soft_twin.app.fuzzing import bags, learned, meshes, reading, recordings, tables
from soft_twin.app.fuzzing.breaking import broken
from soft_twin.app.fuzzing.descriptions import ROBOTS, wrong_description
from soft_twin.resources import folder

SAMPLES, RATE = 200, 100.0
NO_FILES = ("folder", "pipe", "missing", "device", "empty", "loop")


@dataclass(frozen=True)
class Case:
    """A file, and what should become of it.

    Attributes:
        kind: its name among KINDS.
        path: of the file.
        must_fail: whether reading it in any other way than with an error is nonsense.
        story: what it is, for people.
    """

    kind: str
    path: Path
    must_fail: bool = False
    story: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        share: of all cases.
        make: writes a case's file into a folder.
        read: reads the file; what is nonsense in it, in words, or nothing. It may raise.
    """

    share: float
    make: Callable[[np.random.Generator, Path], Case]
    read: Callable[[Path], str]


def make_case(seed: int, work: Path) -> Case:
    """The case of a seed, its file in the folder `work`."""
    rng = np.random.default_rng(seed)
    names = list(KINDS)
    shares = np.array([KINDS[name].share for name in names])
    return KINDS[names[rng.choice(len(names), p=shares / shares.sum())]].make(rng, work)


def good_files(work: Path) -> dict[str, Path]:
    """A file of each kind of reader in which nothing is wrong, by kind."""
    files = [
        ("mesh", ".vtu", meshes.own_format(".vtu")),
        ("recording_bytes", ".mcap", _good_recording()),
        ("db3", ".db3", bags.good_db3()),
        ("mat", ".mat", _good_mat(True)),
        ("description", ".yaml", (folder("config") / "tm40.yaml").read_bytes()),
        ("robots", ".yaml", tables.GOOD_ROBOTS[0].encode()),
        ("alignment", ".yaml", yaml.safe_dump(tables.good_alignment()).encode()),
        ("repoimu", ".csv", tables.good_trial()),
    ]
    files += [("c3d", ".c3d", tables.good_take())] if tables.HAS_C3D else []
    good = {kind: _write(kind, work, suffix, data).path for kind, suffix, data in files}
    good["bag"] = _bag(work, yaml.safe_dump(bags.good_metadata()).encode()).path
    return good | {kind: path for kind, path in learned.good_files(work).items() if kind in KINDS}


def _write(kind: str, work: Path, suffix: str, data: bytes, must_fail: bool = False) -> Case:
    path = work / f"{kind}{suffix}"
    path.write_bytes(data)
    return Case(kind, path, must_fail)


def _wrong_description(rng: np.random.Generator, work: Path) -> Case:
    text, must_fail = wrong_description(rng)
    return _write("description", work, ".yaml", text.encode(), must_fail)


def _broken_description(rng: np.random.Generator, work: Path) -> Case:
    good = (folder("config") / f"{ROBOTS[rng.integers(len(ROBOTS))]}.yaml").read_bytes()
    return _write("description_bytes", work, ".yaml", broken(good, rng))


def _calibration(rng: np.random.Generator, work: Path) -> Case:
    content = {
        "accelerometer_matrix": np.eye(3).ravel().tolist(),
        "accelerometer_offset": [0.1, 0.0, -0.1],
        "gyroscope_bias": [0.01, 0.0, 0.0],
        "gyroscope_bias_per_kelvin": [0.0, 0.001, 0.0],
        "reference_temperature": 25.0,
        "mounting": np.eye(3).ravel().tolist(),
    }
    if rng.random() < 0.5:
        return _write("calibration", work, ".yaml", broken(yaml.safe_dump(content).encode(), rng))
    key = list(content)[rng.integers(len(content))]
    value = [1e15, float("nan"), "text", {}, [1.0], [1e300] * 9, None][rng.integers(7)]
    changed = content | ({key + "s": value} if rng.random() < 0.3 else {key: value})
    return _write("calibration", work, ".yaml", yaml.safe_dump(changed).encode(), must_fail=True)


@cache
def _good_mat(compressed: bool) -> bytes:
    stream = io.BytesIO()
    rng = np.random.default_rng(0)
    fields = {"imu_gyr": 0.01 * rng.standard_normal((SAMPLES, 3)), "imu_acc": np.tile([0.0, 0.0, 9.81], (SAMPLES, 1))}
    fields |= {"opt_quat": np.tile([1.0, 0.0, 0.0, 0.0], (SAMPLES, 1)), "movement": np.ones((SAMPLES, 1), bool)}
    savemat(stream, fields | {"sampling_rate": RATE, "info": "made up"}, do_compression=compressed)
    return stream.getvalue()


def _mat(rng: np.random.Generator, work: Path) -> Case:
    if rng.random() < 0.15:
        return _write("mat", work, ".mat", _odd_mat(rng), must_fail=True)
    return _write("mat", work, ".mat", broken(_good_mat(rng.random() < 0.5), rng))


def _odd_mat(rng: np.random.Generator) -> bytes:
    """Sound files with fields of wrong kinds and values."""
    good = {"imu_gyr": np.zeros((9, 3)), "imu_acc": np.ones((9, 3)), "opt_quat": np.tile([1.0, 0, 0, 0], (9, 1))}
    good["sampling_rate"] = RATE
    key = list(good)[rng.integers(len(good))]
    values = ["text", np.full((9, 3), np.nan), np.zeros((9, 3), object), {"a": 1}, 1j * np.ones((9, 3)), -1.0, [], 1e30]
    stream = io.BytesIO()
    savemat(stream, good | {key: values[rng.integers(len(values))]})
    return stream.getvalue()


def _npz(rng: np.random.Generator, work: Path) -> Case:
    good = {"gyr": np.zeros((SAMPLES, 3)), "acc": np.tile([0.0, 0.0, 9.81], (SAMPLES, 1)), "rate": RATE}
    stream, odd = io.BytesIO(), rng.random() < 0.4
    if odd:
        key = list(good)[rng.integers(3)]
        values = ["text", np.full((SAMPLES, 3), np.nan), np.zeros((0, 3)), -1.0, np.inf, np.zeros((SAMPLES, 4)), 1e300]
        good[key] = values[rng.integers(len(values))]
    (np.savez_compressed if rng.random() < 0.5 else np.savez)(stream, **good)
    data = stream.getvalue()
    return _write("npz", work, ".npz", data if odd else broken(data, rng), must_fail=odd)


@cache
def _good_recording() -> bytes:
    return recordings.good_recording()


def _recording_bytes(rng: np.random.Generator, work: Path) -> Case:
    return _write("recording_bytes", work, ".mcap", broken(_good_recording(), rng))


def _odd_recording(rng: np.random.Generator, work: Path) -> Case:
    return _write("recording_odd", work, ".mcap", recordings.odd_recording(rng))


def _false_recording(rng: np.random.Generator, work: Path) -> Case:
    return _write("recording_false", work, ".mcap", recordings.false_recording(rng))


def _mesh(rng: np.random.Generator, work: Path) -> Case:
    suffix, good = meshes.good_mesh(rng)
    other = str(rng.choice([".stl", ".ply", ".obj", ".inp", ".xdmf", ".off"])) if rng.random() < 0.1 else suffix
    return _write("mesh", work, other, broken(good, rng))


def _db3(rng: np.random.Generator, work: Path) -> Case:
    return _write("db3", work, ".db3", bags.odd_db3(rng) if rng.random() < 0.6 else broken(bags.good_db3(), rng))


def _bag(work: Path, metadata: bytes) -> Case:
    path = work / "bag"
    path.mkdir()
    (path / bags.FILE).write_bytes(_good_recording())
    (path / "metadata.yaml").write_bytes(metadata)
    return Case("bag", path)


def _broken_bag(rng: np.random.Generator, work: Path) -> Case:
    if rng.random() < 0.5:
        return _bag(work, bags.odd_metadata(rng).encode())
    return _bag(work, broken(yaml.safe_dump(bags.good_metadata()).encode(), rng))


def _c3d(rng: np.random.Generator, work: Path) -> Case:
    return _write("c3d", work, ".c3d", broken(tables.good_take(), rng))


def _repoimu(rng: np.random.Generator, work: Path) -> Case:
    return _write("repoimu", work, ".csv", broken(tables.good_trial(), rng))


def _alignment(rng: np.random.Generator, work: Path) -> Case:
    if rng.random() < 0.6:
        return _write("alignment", work, ".yaml", tables.odd_alignment(rng).encode(), must_fail=True)
    return _write("alignment", work, ".yaml", broken(yaml.safe_dump(tables.good_alignment()).encode(), rng))


def _robots(rng: np.random.Generator, work: Path) -> Case:
    if rng.random() < 0.3:
        text = tables.ODD_ROBOTS[rng.integers(len(tables.ODD_ROBOTS))]
        return _write("robots", work, ".yaml", text.encode(), must_fail=True)
    good = tables.GOOD_ROBOTS[rng.integers(len(tables.GOOD_ROBOTS))]
    return _write("robots", work, ".yaml", broken(good.encode(), rng))


def _no_file(rng: np.random.Generator, work: Path) -> Case:
    suffix = str(rng.choice([".yaml", ".mat", ".npz", ".mcap", ".vtu", ".db3", ".c3d", ".ply", ".csv"]))
    what = NO_FILES[rng.integers(len(NO_FILES))]
    path = work / f"no_file{suffix}"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "loop":
        path.symlink_to(path)
    elif what == "empty":
        path.touch()
    return Case("no_file", path, must_fail=True, story=what)


def _scan(rng: np.random.Generator, work: Path) -> Case:
    good = learned.good_scan(rng)
    if rng.random() < 0.2:
        return _write("scan", work, ".ply", learned.odd_scan(good, rng), must_fail=True)
    return _write("scan", work, ".ply", broken(good, rng))


def _frames(rng: np.random.Generator, work: Path) -> Case:
    good = learned.good_frames(work)
    if rng.random() < 0.3:
        return _write("frames", work, ".csv", learned.odd_frames(good, rng), must_fail=True)
    return _write("frames", work, ".csv", broken(good, rng))


def _weights(rng: np.random.Generator, work: Path) -> Case:
    if rng.random() < 0.4:
        path = work / "weights.safetensors"
        learned.write_odd_weights(path, rng)
        return Case("weights", path, must_fail=True)
    return _write("weights", work, ".safetensors", broken(learned.good_weights(), rng))


KINDS: dict[str, Kind] = {
    "description": Kind(0.30, _wrong_description, reading.description),
    "description_bytes": Kind(0.12, _broken_description, reading.description),
    "calibration": Kind(0.05, _calibration, reading.calibration),
    "mat": Kind(0.10, _mat, reading.samples),
    "npz": Kind(0.07, _npz, reading.samples),
    "recording_bytes": Kind(0.08, _recording_bytes, reading.run),
    "recording_odd": Kind(0.06, _odd_recording, reading.run),
    "recording_false": Kind(0.08, _false_recording, reading.run),
    "db3": Kind(0.06, _db3, reading.run),
    "bag": Kind(0.03, _broken_bag, reading.run),
    "mesh": Kind(0.12, _mesh, reading.mesh),
    "repoimu": Kind(0.03, _repoimu, reading.trial),
    "alignment": Kind(0.03, _alignment, reading.alignment),
    "robots": Kind(0.05, _robots, reading.robots),
    "no_file": Kind(0.05, _no_file, reading.any_file),
    "scan": Kind(0.07, _scan, reading.scan),
    "frames": Kind(0.05, _frames, reading.frames),
    **({"weights": Kind(0.05, _weights, reading.weights)} if learned.HAVE_JAX else {}),
}
if tables.HAS_C3D:
    KINDS["c3d"] = Kind(0.04, _c3d, reading.markers)
