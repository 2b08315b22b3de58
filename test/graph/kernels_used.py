"""Which kernels a process has used, by what numba says of its cache."""

import re

TELLING = {"NUMBA_DEBUG_CACHE": "1", "PYTHONUNBUFFERED": "1"}  # variables of a process that is to say so


def used(told):
    """Kernels that a process has found on the disk, or has compiled and put there, by what numba says of it."""
    return set(re.findall(r"\[cache\] data (?:loaded from|saved to) '([^']+)'", told))
