"""Files of learning: scans, tables of frames, and weights, good ones and odd ones."""

import importlib.util
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from soft_twin.learning.frames import TABLE, Scan, write_recording
from soft_twin.recording.ply_files import write_ply

HAVE_JAX = all(importlib.util.find_spec(name) is not None for name in ("jax", "equinox", "optax", "safetensors"))
CHAMBERS, LIMITS, SIZE = ("left", "right"), np.array([[0.0, 3000.0]] * 2), 0.2  # [Pa], [m]
POINTS = 60
TRIANGLES = np.array([[i, i + 1, i + 2] for i in range(POINTS - 2)])


def good_files(work: Path) -> dict[str, Path]:
    """One of each, by kind."""
    (work / "scan.ply").write_bytes(_scan_bytes(True, True))
    (work / "frames.csv").write_bytes(good_frames(work))
    found = {"scan": work / "scan.ply", "frames": work / "frames.csv"}
    if HAVE_JAX:
        (work / "weights.safetensors").write_bytes(good_weights())
        found["weights"] = work / "weights.safetensors"
    return found


def good_scan(rng: np.random.Generator) -> bytes:
    """Binary or text, with normals or with faces."""
    return _scan_bytes(bool(rng.random() < 0.5), bool(rng.random() < 0.7))


def odd_scan(good: bytes, rng: np.random.Generator) -> bytes:
    """A sound scan's bytes with a header that is false, or too few of them."""
    count = f"element vertex {POINTS}".encode()
    changes = (
        (count, b"element vertex 2000000000"),
        (count, b"element vertex 4"),
        (count, b"element vertex 99999999999999999999"),
        (count, b"element vertex -1"),
        (b" x\n", b" w\n"),
        (b"property", b"property list uchar"),
        (b"end_header", b"end_heather"),
    )
    return good.replace(*changes[rng.integers(len(changes))])


def good_frames(work: Path) -> bytes:
    """A table, of scans that are written into the folder."""
    surface, normals = _surface()
    pressures = np.array([[0.0, 3000.0], [1500.0, 200.0], [3000.0, 3000.0]])
    scans = [Scan((1.0 + stretch) * surface, normals) for stretch in (0.0, 0.02, 0.04)]
    write_recording(work, pressures, CHAMBERS, scans, np.array([5.0, 60.0, 90.0]))
    return (work / TABLE).read_bytes()


def odd_frames(good: bytes, rng: np.random.Generator) -> bytes:
    """A table with a value that is none."""
    changes = (
        (b"1500.0", b"15000.0"), (b"1500.0", b"nan"), (b"1500.0", b"-inf"), (b"1500.0", b"1e999"), (b"60.0", b"-1"),
        (b"60.0", b""), (b"left", b"links"), (b"frame_0001.ply", b"../frame_0001.ply"),
        (b"frame_0001.ply", b"/dev/zero"), (b"frame_0001.ply", b""), (good, b""),
        (b"frame_0001.ply", b"frame_0001.c3d"),
    )  # fmt: skip
    return good.replace(*changes[rng.integers(len(changes))])


@cache
def good_weights() -> bytes:
    """Small networks of a flat sheet that rises."""
    from soft_twin.learning.storage import save

    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "weights.safetensors"
        save(_correction(), path)
        return path.read_bytes()


def write_odd_weights(path: Path, rng: np.random.Generator) -> None:
    """Weights as they are written, with one array that is not what it should be."""
    from safetensors import safe_open

    from soft_twin.learning.storage import write

    path.write_bytes(good_weights())
    with safe_open(path, "numpy") as stream:
        arrays = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118 (it is no mapping)
        words = {key: word for key, word in stream.metadata().items() if key not in ("soft_twin", "digest")}
    key = sorted(arrays)[rng.integers(len(arrays))]
    odd = (
        np.full_like(arrays[key], np.nan, dtype=float), arrays[key][:-1], np.zeros((0,)), np.zeros(()),
        arrays[key].astype(bool), np.vstack([arrays[key]] * 2), np.full(arrays[key].shape, np.inf),
    )  # fmt: skip
    write(arrays | {key: odd[rng.integers(len(odd))]}, words, path)


def _correction():
    import jax.numpy as jnp

    from soft_twin.learning.correction import Correction, ShapeModel
    from soft_twin.learning.input_map import InputMap
    from soft_twin.learning.knots import Knots
    from soft_twin.learning.layer import grid
    from soft_twin.learning.networks import Folded
    from soft_twin.learning.samples import Inflation

    counts, random = (5, 6), np.random.default_rng(0)
    u, v = np.meshgrid(*(np.linspace(-100.0, 100.0, count) for count in counts), indexing="ij")
    mean = np.stack([u, v, np.full(counts, 12.0)], axis=-1)
    pressures = np.linspace(LIMITS[:, 0], LIMITS[:, 1], 5)
    sizes = [2, 8, mean.size], [mean.size, 4, 3 * (4 + 4)]

    def network(sizes: list[int], scale: float) -> Folded:
        shapes = zip(sizes[1:], sizes[:-1], strict=True)
        layers = [jnp.asarray(scale * random.normal(size=shape), jnp.float32) for shape in shapes]
        return Folded(layers, [jnp.zeros(size) for size in sizes[1:]])

    shapes = ShapeModel(
        Inflation(pressures, 1e-8 * pressures), network(sizes[0], 0.1), mean, 5.0, Knots.uniform(counts), ((1, 0),)
    )
    degrees, coefficients = jnp.array([[1, 0, 0], [0, 2, 1]]), jnp.array([[0.02, 0.0], [0.0, 0.01]])
    inputs = InputMap(degrees, coefficients, shapes.filling, 30.0)
    return Correction("sheet", shapes, inputs, network(sizes[1], 0.01), grid(4), 1e-3, "0" * 64, "0" * 64)


@cache
def _surface() -> tuple[np.ndarray, np.ndarray]:
    """(k, 3) points [m] and normals of a scan."""
    random = np.random.default_rng(0)
    points = random.uniform(-0.1, 0.1, (POINTS, 3)) * [1.0, 1.0, 0.05]
    return points, np.tile([0.0, 0.0, 1.0], (POINTS, 1))


@cache
def _scan_bytes(binary: bool, with_normals: bool) -> bytes:
    points, normals = _surface()
    if binary:
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "scan.ply"
            write_ply(path, points, normals if with_normals else None, TRIANGLES)
            return path.read_bytes()
    columns = np.column_stack([points, normals]) if with_normals else points
    names = ("x", "y", "z", "nx", "ny", "nz")[: columns.shape[1]]
    lines = ["ply", "format ascii 1.0", f"element vertex {POINTS}", *(f"property double {name}" for name in names)]
    lines += [f"element face {len(TRIANGLES)}", "property list uchar int vertex_indices", "end_header"]
    lines += [" ".join(f"{value:g}" for value in row) for row in columns]
    lines += [" ".join(map(str, (3, *row))) for row in TRIANGLES.tolist()]
    return ("\n".join(lines) + "\n").encode()
