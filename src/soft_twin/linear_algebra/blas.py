"""scipy's own BLAS and LAPACK for numba kernels, which can be cached: symbols are bound by name at load time.

Each routine is Fortran's, with every argument passed as an address (`array.ctypes.data`). Matrices are column-major, of
numbers of `item` bytes: 8 or 4.
"""

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from soft_twin.linear_algebra.compiled import part


def _routine(module: str, name: str, arguments: int):
    symbol = f"soft_twin_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*[types.intp] * arguments))


dtrsm, strsm = _routine("cython_blas", "dtrsm", 11), _routine("cython_blas", "strsm", 11)
dsyrk, ssyrk = _routine("cython_blas", "dsyrk", 10), _routine("cython_blas", "ssyrk", 10)
dgemm, sgemm = _routine("cython_blas", "dgemm", 13), _routine("cython_blas", "sgemm", 13)
dpbtrf = _routine("cython_lapack", "dpbtrf", 6)
dpbtrs = _routine("cython_lapack", "dpbtrs", 9)

_LETTERS = np.frombuffer(b"LRTN", np.uint8)
_FACTORS, _FACTORS_32 = np.array([-1.0, 1.0]), np.array([-1.0, 1.0], np.float32)


@intrinsic
def _addresses(context, numbers):
    """Of a tuple's numbers, which are put on the stack as 32-bit integers: valid until the caller returns."""
    count = len(numbers)

    def code(context, builder, signature, arguments):
        places = []
        for number in cgutils.unpack_tuple(builder, arguments[0]):
            places.append(cgutils.alloca_once(builder, ir.IntType(32)))
            builder.store(builder.trunc(number, ir.IntType(32)), places[-1])
        addresses = [builder.ptrtoint(place, context.get_value_type(types.intp)) for place in places]
        return context.make_tuple(builder, signature.return_type, addresses)

    return types.UniTuple(types.intp, count)(types.UniTuple(types.int64, count)), code


@part()
def _factors(item):
    """Addresses of −1 and of 1."""
    address = _FACTORS_32.ctypes.data if item == 4 else _FACTORS.ctypes.data
    return address, address + item


@part(cache=True)
def multiply(item, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc):
    """C −= op(A) op(B), C of m × n; matrices are addresses with leading dimensions."""
    letters, (minus, one) = _LETTERS.ctypes.data, _factors(item)
    of_a, of_b = letters + (2 if transpose_a else 3), letters + (2 if transpose_b else 3)
    m, n, k, lda, ldb, ldc = _addresses((m, n, k, lda, ldb, ldc))
    if item == 4:
        sgemm(of_a, of_b, m, n, k, minus, a, lda, b, ldb, one, c, ldc)
    else:
        dgemm(of_a, of_b, m, n, k, minus, a, lda, b, ldb, one, c, ldc)


@part(cache=True)
def rank_update(item, n, k, a, lda, c, ldc):
    """C −= A Aᵀ in the lower triangle of C (n × n), A of n × k."""
    lower, (minus, one) = _LETTERS.ctypes.data, _factors(item)
    n, k, lda, ldc = _addresses((n, k, lda, ldc))
    if item == 4:
        ssyrk(lower, lower + 3, n, k, minus, a, lda, one, c, ldc)
    else:
        dsyrk(lower, lower + 3, n, k, minus, a, lda, one, c, ldc)


@part(cache=True)
def solve_lower(item, transpose, n, columns, triangle, ldt, b, ldb):
    """B = op(L)⁻¹ B of a lower triangle L (n × n), B of n × columns."""
    _solve(item, 0, 2 if transpose else 3, n, columns, triangle, ldt, b, ldb)


@part(cache=True)
def solve_lower_from_right(item, rows, n, triangle, ldt, b, ldb):
    """B = B L⁻ᵀ of a lower triangle L (n × n), B of rows × n."""
    _solve(item, 1, 2, rows, n, triangle, ldt, b, ldb)


@part()
def _solve(item, side, transposed, rows, columns, triangle, ldt, b, ldb):
    """The triangular solutions, B of rows × columns; `side` and `transposed` say which letter."""
    lower, one = _LETTERS.ctypes.data, _factors(item)[1]
    side, transposed, not_unit = lower + side, lower + transposed, lower + 3
    rows, columns, ldt, ldb = _addresses((rows, columns, ldt, ldb))
    if item == 4:
        strsm(side, lower, transposed, not_unit, rows, columns, one, triangle, ldt, b, ldb)
    else:
        dtrsm(side, lower, transposed, not_unit, rows, columns, one, triangle, ldt, b, ldb)


@part(error_model="numpy", fastmath={"contract"})
def factorise_columns(data, origin, ld, width, height):
    """Factorise the first columns (`width`) of a column-major matrix that starts at `origin`, down to row `height`;
    returns whether they are those of a definite matrix.

    For a few dozen columns this is faster than dpotrf and dtrsm: four at a time are taken from the next.
    """
    one = data.dtype.type(1.0)
    for c in range(width):
        column = _column(data, origin, ld, c, c, height)
        fours = c - c % 4
        for p in range(0, fours, 4):
            c0 = _column(data, origin, ld, p, c, height)
            c1 = _column(data, origin, ld, p + 1, c, height)
            c2 = _column(data, origin, ld, p + 2, c, height)
            c3 = _column(data, origin, ld, p + 3, c, height)
            a0, a1, a2, a3 = c0[0], c1[0], c2[0], c3[0]
            for i in range(len(column)):
                column[i] -= a0 * c0[i] + a1 * c1[i] + a2 * c2[i] + a3 * c3[i]
        for p in range(fours, c):
            c0 = _column(data, origin, ld, p, c, height)
            a0 = c0[0]
            for i in range(len(column)):
                column[i] -= a0 * c0[i]
        if not column[0] > 0.0:  # NaN too
            return False
        scale = one / np.sqrt(column[0])
        for i in range(len(column)):
            column[i] *= scale
    return True


@part()
def _column(data, origin, ld, column, first, last):
    """Rows first … last of a column of a column-major matrix."""
    return data[origin + column * ld + first : origin + column * ld + last]
