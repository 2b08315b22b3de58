"""What tests of several folders use."""

import gc
import os

import pytest
from threadpoolctl import threadpool_limits

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of what tests start, and of libraries that are not loaded yet

import soft_twin
from soft_twin.emulation.ports import PseudoTerminal
from soft_twin.private_folder import private_folder

JAX_KEEPS = {  # what it has compiled, by the program itself: others find it, tests of another day as well
    "JAX_COMPILATION_CACHE_DIR": str(private_folder() / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
# Beside as many workers as cores, threads of BLAS that wait for each other take ten times what small matrices cost.
threadpool_limits(1, user_api="blas")
os.environ.update({name: value for name, value in JAX_KEEPS.items() if name not in os.environ})
for name in ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE"):  # of the user's shell: one domain for all workers
    os.environ.pop(name, None)


def pytest_ignore_collect(collection_path, config):
    """Where tests that run by themselves are asked for, files without one are not read: importing all takes seconds."""
    asked = config.option.markexpr == "alone" and collection_path.suffix == ".py"
    return True if asked and "mark.alone" not in collection_path.read_text() else None


def pytest_collection_finish():
    """Python looks through what it has collected no more: devices that tests emulate would stand still meanwhile."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def port():
    """A device's end of a pseudo-terminal."""
    port = PseudoTerminal()
    yield port
    port.close()


@pytest.fixture(scope="session")
def slender():
    """The robot whose twin is tested."""
    return soft_twin.load_robot("slender")
