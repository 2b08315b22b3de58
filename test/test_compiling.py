import gc
import os
import resource
import subprocess
import sys
import time

import numba
import pytest

from soft_twin.compiling import TELLING_PERIOD, compiled_by_one, tell_of_compiling
from soft_twin.private_folder import claim, private_folder

KERNELS = 3
FULL = 256  # bytes of a file, then the disk is full
MODULE = """
from numba import njit
{}
""".format("\n".join(f"@njit(cache=True)\ndef kernel_{i}(x):\n    return x + {i}" for i in range(KERNELS)))
PROGRAM = f"""
import kernels
from soft_twin.compiling import compiled_by_one, tell_of_compiling
tell_of_compiling(lambda count: print("compiles", flush=True))
with compiled_by_one("test"):
    for i in range({KERNELS}):
        getattr(kernels, f"kernel_{{i}}")(1.0)
hits = sum(bool(getattr(kernels, f"kernel_{{i}}").stats.cache_hits) for i in range({KERNELS}))
print({KERNELS} - hits)
"""


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Locks where no other test's are."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield private_folder()
    monkeypatch.setattr("tempfile.tempdir", None)


def test_compiling_is_told_and_counted():
    told = []
    tell_no_more = tell_of_compiling(told.append)
    for _ in range(2):
        numba.njit(lambda x: x + 1)(1)
    assert told[0] == 1 and len(told) <= 2  # not each of them: at most one in half a second
    tell_no_more()
    time.sleep(TELLING_PERIOD)
    numba.njit(lambda x: x + 2)(1)
    assert len(told) <= 2


def test_two_processes_compile_what_both_need_once(own_folder, tmp_path):
    (tmp_path / "kernels.py").write_text(MODULE, encoding="utf-8")
    lock = claim(own_folder / "compiles-test.lock")
    processes = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.stdout.readline() for process in processes] == ["compiles\n"] * 2  # both have begun
    os.close(lock)
    compiled = sorted(int(process.communicate()[0].split()[-1]) for process in processes)
    assert compiled == [1, KERNELS]  # one all, the other one that which it had begun with


def test_nobody_waits_where_nothing_is_compiled(own_folder):
    compiled = numba.njit(lambda x: x + 2)
    compiled(1)
    lock = claim(own_folder / "compiles-test.lock")
    with compiled_by_one("test"):
        assert compiled(1) == 3
    os.close(lock)


def test_a_process_compiles_by_itself_when_its_patience_ends(own_folder, monkeypatch):
    monkeypatch.setattr("soft_twin.compiling.PATIENCE", 0.0)
    lock = claim(own_folder / "compiles-test.lock")
    with compiled_by_one("test"):
        assert numba.njit(lambda x: x + 3)(1) == 4
    os.close(lock)


def test_the_garbage_collector_rests_while_kernels_are_compiled_and_is_then_as_it_was(own_folder):
    before = gc.isenabled()
    try:
        for collects in (True, False):
            (gc.enable if collects else gc.disable)()
            with pytest.raises(KeyboardInterrupt), compiled_by_one("test"):
                assert not gc.isenabled()
                raise KeyboardInterrupt
            assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()


def test_a_full_disk_is_one_line(own_folder, tmp_path):
    (tmp_path / "kernels.py").write_text(MODULE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, FULL)),
        capture_output=True,
        text=True,
    )
    kept = f"compiled kernels cannot be kept in '{tmp_path / 'kept'}': File too large; make room there"
    assert done.stderr.splitlines()[-1] == f"soft_twin.errors.UsageError: {kept}"


def test_what_else_goes_wrong_inside_is_left_as_it_is(own_folder):
    with pytest.raises(FileNotFoundError), compiled_by_one("test"):
        os.stat("/nowhere/at/all")
