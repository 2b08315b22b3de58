import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from soft_twin import kernel_folder
from soft_twin.app.cli import main
from soft_twin.private_folder import private_folder

SOURCES = Path(__file__).resolve().parents[1] / "src"
PROGRAM = """
import os, sys
from soft_twin.linear_algebra.envelope_substitution import substitute
print(substitute.stats.cache_path)
"""


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A folder with a part of the package, where, as at home, nothing can be written, whoever it is: files are where
    the folders would be."""
    package = tmp_path / "sources" / "soft_twin"
    for source in (*(SOURCES / "soft_twin").glob("*.py"), *(SOURCES / "soft_twin/linear_algebra").glob("*.py")):
        copy = package / source.relative_to(SOURCES / "soft_twin")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    for folder in (package, package / "linear_algebra"):
        (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(kernel_folder, "PACKAGE", str(package))
    yield package.parent
    monkeypatch.setattr("tempfile.tempdir", None)


def _kept_in(sources, *before):
    environment = os.environ | {"PYTHONPATH": str(sources)}
    words = [sys.executable, "-c", "\n".join((*before, PROGRAM))]
    found = subprocess.run(words, env=environment, cwd=sources, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    return Path(found.stdout.strip())


@pytest.mark.parametrize("before", [(), ("import numba",)])
def test_kernels_are_kept_in_the_private_folder_where_nothing_else_can_be_written(read_only, before):
    assert _kept_in(read_only, *before).parent == private_folder() / "kernels"


def test_kernels_are_kept_beside_the_modules_where_they_can_be(read_only):
    for place in (read_only / "soft_twin", read_only / "soft_twin/linear_algebra"):
        (place / "__pycache__").unlink()
    assert _kept_in(read_only) == read_only / "soft_twin/linear_algebra/__pycache__"


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_folder_of_the_users_is_left_to_numba(read_only, tmp_path, monkeypatch, variable):
    monkeypatch.setenv(variable, str(tmp_path / "caches"))
    assert tmp_path / "caches" in _kept_in(read_only).parents


def test_where_nothing_at_all_can_be_written_a_line_says_what_to_set(read_only, monkeypatch, capsys):
    monkeypatch.setattr("tempfile._candidate_tempdir_list", list)
    assert main(["describe", "slender"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "set NUMBA_CACHE_DIR to one, and TMPDIR" in told
