"""What is on a disk that is full stays, and a line says that it is."""

import contextlib
import resource

import numpy as np
import pytest

from soft_twin.app.cli import main
from soft_twin.app.folders import writable
from soft_twin.errors import MeshError, UsageError
from soft_twin.files import checked_output
from soft_twin.mesh.files import write_mesh
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.parallel import compute_all, compute_here

ROOM = 512  # bytes of a file, then the disk is full


@contextlib.contextmanager
def full_disk(room=ROOM):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def still(tmp_path):
    """A second of a board that lies still."""
    samples = np.tile([0.0, 0.0, 9.80665], (100, 1))
    np.savez(tmp_path / "still.npz", gyr=0.0 * samples, acc=samples, rate=100.0)
    return tmp_path / "still.npz"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["urdf", "slender", "--out"], "slender.urdf"),
        (["estimate", "still.npz", "--out"], "track.npz"),
    ],
)
def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch, capsys, still, words, name):
    monkeypatch.chdir(tmp_path)
    assert main([*words, name]) == 0
    before = (tmp_path / name).read_bytes()
    with full_disk():
        assert main([*words, name]) == 2
    assert (tmp_path / name).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, still.name])
    assert "cannot " in (told := capsys.readouterr().err) and "File too large" in told


@pytest.mark.parametrize("suffix", [".vtu", ".msh", ".vtk"])
def test_a_mesh_is_whole_or_as_it_was(tmp_path, suffix):
    mesh, path = voxel_mesh(np.ones((3, 3, 3), bool), 0.01, "tet4"), tmp_path / f"mesh{suffix}"
    write_mesh(mesh, path)
    before = path.read_bytes()
    with full_disk(), pytest.raises(MeshError, match=f"cannot write '{path}': File too large$"):
        write_mesh(mesh, path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_it_is_told_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compute_all(_squared, [2], store=tmp_path / "store")
    with full_disk(room=0):
        with pytest.raises(UsageError, match="cannot write the weights '.*w.safetensors': File too large"):
            checked_output(tmp_path / "w.safetensors", "weights")
        with pytest.raises(UsageError, match="cannot write into '.*out': File too large; say --out DIR"):
            writable(tmp_path / "out")
        with pytest.raises(UsageError, match="cannot store results in '.*store': File too large"):
            compute_all(_not_computed, [2], store=tmp_path / "store")
        with pytest.raises(UsageError, match="cannot keep results in '.*unfinished': File too large; set TMPDIR"):
            compute_here(_not_computed, [2], "numbers")
        assert compute_all(_squared, [2], store=tmp_path / "store") == [{"square": 4}]  # it is there
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".npz"]


def _squared(number):
    return {"square": number**2}


def _not_computed(number):
    raise AssertionError(number)
