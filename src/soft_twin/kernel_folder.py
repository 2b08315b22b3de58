"""Where numba keeps compiled kernels: beside the modules, else in the user's folder for caches, as numba has it; where
neither can be written, as in a container that may write nowhere else, in the user's private folder."""

import os
import sys

VARIABLE = "NUMBA_CACHE_DIR"
PACKAGE = os.path.dirname(os.path.abspath(__file__))


def find_kernel_folder() -> bool:
    """Whether kernels can be kept; to be called before numba is loaded, for the processes that this one starts, too.

    Without numba, which takes its time.
    """
    if _can_write(os.path.join(PACKAGE, "__pycache__")) or any(map(_can_write, _of_the_user())):
        return True
    from soft_twin.errors import UsageError
    from soft_twin.private_folder import private_folder

    try:
        folder = str(private_folder() / "kernels")
    except UsageError:
        return False
    os.environ[VARIABLE] = folder
    if "numba.core.config" in sys.modules:  # it has read the variable already
        sys.modules["numba.core.config"].CACHE_DIR = folder
    return True


def _of_the_user() -> list[str]:
    """The folder that is asked for, and that for caches."""
    asked, caches = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [*([asked] if asked else []), os.path.join(caches, "numba")]


def _can_write(folder: str) -> bool:
    """Whether it can be written into, or be made."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder) or "."
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
