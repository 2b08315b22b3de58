import os
import subprocess
import sys

import pytest

ADDED = """from numba.extending import register_jitable

@register_jitable
def added(x):
    return x + {}
"""
KERNEL = """from numba import njit

from soft_package.parts import added

@njit(cache=True)
def kernel(x):
    return added(x)
"""
OTHER = """from numba import njit

@njit(cache=True)
def other(x):
    return x
"""
PROGRAM = """
from pathlib import Path
import soft_package
from soft_twin.outdated_kernels import forget_outdated
forget_outdated(Path(soft_package.__file__).parent)
from soft_package.kernels import kernel
from soft_package.others import other
other(1.0)
print(kernel(1.0), sum(kernel.stats.cache_hits.values()), sum(other.stats.cache_hits.values()))
"""


@pytest.fixture(params=["beside", "elsewhere"])
def call(tmp_path, request):
    """Calls the kernel in a process of its own: its value, and how many kernels of each module were found on disk."""
    package = tmp_path / "soft_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "kernels.py").write_text(KERNEL, encoding="utf-8")
    (package / "others.py").write_text(OTHER, encoding="utf-8")
    variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    if request.param == "elsewhere":
        variables["NUMBA_CACHE_DIR"] = str(tmp_path / "kernels")

    def call(constant):
        (package / "parts.py").write_text(ADDED.format(constant), encoding="utf-8")
        variables["PYTHONDONTWRITEBYTECODE"] = "1"  # which looks at seconds, these are shorter
        words = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(words, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True, check=True)
        return tuple(float(word) for word in done.stdout.split())

    return call


def test_a_kernel_is_compiled_anew_when_what_it_is_made_of_has_changed_and_no_other(call):
    assert call(1) == (2.0, 0, 0)
    assert call(100) == (101.0, 0, 1)
    assert call(100) == (101.0, 1, 1)
