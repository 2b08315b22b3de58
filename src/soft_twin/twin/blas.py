"""scipy's own BLAS and LAPACK for numba kernels, which can be cached: symbols are bound by name at load time.

Each routine is Fortran's, with every argument passed as an address (`array.ctypes.data`).
"""

import llvmlite.binding
from numba import types
from numba.extending import get_cython_function_address


def _routine(module: str, name: str, arguments: int):
    symbol = f"soft_twin_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*[types.intp] * arguments))


dpotrf = _routine("cython_lapack", "dpotrf", 5)
dtrsm = _routine("cython_blas", "dtrsm", 11)
dsyrk = _routine("cython_blas", "dsyrk", 10)
dgemm = _routine("cython_blas", "dgemm", 13)
dpbtrf = _routine("cython_lapack", "dpbtrf", 6)
dpbtrs = _routine("cython_lapack", "dpbtrs", 9)
