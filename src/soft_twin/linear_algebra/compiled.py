"""How kernels are compiled: with those entries only that are called, as each takes its time to compile.

numba would give each function one for Python, one for C and one for other kernels. A part with `cache=True` is kept by
itself, too: kernels that share it, compiled by several processes or on several days, find it.
"""

from functools import partial

from numba import njit
from numba.extending import register_jitable

kernel = partial(njit, cache=True, nogil=True, no_cfunc_wrapper=True)  # called from Python, and kept on disk
part = partial(register_jitable, no_cfunc_wrapper=True)  # called from kernels and kept with them; from Python, as it is
