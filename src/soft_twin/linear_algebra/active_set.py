"""Quadratic programs of a few unknowns by a primal active set, for where a solver's call takes longer than its work.

From a point x that keeps to all of it, steps to the minimum of ½ xᵀ H x + fᵀ x on the bounds that are active, as far as
the first other bound; at that minimum, the bound that pushes the wrong way most is let go (Nocedal and Wright 2006,
algorithm 16.3). With H of the free unknowns factorised, Z = H⁻¹ Kᵀ and S = K Z, rows K x = d are kept by ν = S⁻¹ K y of
the step y − Z ν.
"""

import numpy as np

from soft_twin.linear_algebra.compiled import kernel, part

STEPS = 10  # for each unknown: bounds that come and go without end are left to others
WRONG = 1e-12  # of the largest slope: a bound that pushes the wrong way by less is active
DEPENDENT = 1e-12  # of the largest diagonal entry: a pivot that is less belongs to a row that others already are


@kernel(error_model="numpy")
def settle(H, f, low, high, kept, A, rows_low, rows_high, x):
    """Move x (c,) to where low ≤ x ≤ high and kept x = what it is hold and ½ xᵀ H x + fᵀ x is least.

    Args:
        H, f: (c, c) positive definite, (c,).
        low, high: (c,) bounds, which x keeps to at the start.
        kept: (k, c) independent rows, whose values stay.
        A, rows_low, rows_high: (m, c), (m,), (m,) rows that have to lie between bounds at the end.
        x: (c,) start and result.

    Returns:
        Whether x is the solution; it is not where rows A x are beyond their bounds there.
    """
    c = len(f)
    at, step, slope = np.zeros(c, np.int8), np.empty(c), np.empty(c)
    largest = 0.0
    for i in range(c):
        largest = max(largest, abs(f[i]))
    for _ in range(STEPS * c):
        if not _fill_step(H, f, kept, at, x, step, slope):
            return False
        share, blocking = 1.0, -1
        for i in range(c):
            bound = low[i] if step[i] < 0.0 else high[i]
            if at[i] == 0 and step[i] != 0.0 and (bound - x[i]) / step[i] < share:
                share, blocking = max((bound - x[i]) / step[i], 0.0), i
        for i in range(c):
            if at[i] == 0:
                x[i] += share * step[i]
        if blocking >= 0:
            at[blocking] = -1 if step[blocking] < 0.0 else 1
            x[blocking] = low[blocking] if step[blocking] < 0.0 else high[blocking]
            continue
        wrong, worst = -1, WRONG * largest
        for i in range(c):
            if -at[i] * slope[i] < -worst:
                wrong, worst = i, at[i] * slope[i]
        if wrong < 0:
            return _lies_between(A, rows_low, rows_high, x)
        at[wrong] = 0
    return False


@part(error_model="numpy")
def _lies_between(A, low, high, x):
    for r in range(len(A)):
        value = 0.0
        for i in range(len(x)):
            value += A[r, i] * x[i]
        if not low[r] <= value <= high[r]:
            return False
    return True


@part(error_model="numpy")
def _fill_step(H, f, kept, at, x, step, slope):
    """Fill the step (c,) of the free unknowns, those with at = 0, to the minimum that keeps the rows, and the slope
    (c,) of ½ xᵀ H x + fᵀ x + νᵀ K x there; returns whether there is one."""
    c, k = len(f), len(kept)
    free = np.empty(c, np.int64)
    n = 0
    for i in range(c):
        slope[i], step[i] = f[i], 0.0
        for j in range(c):
            slope[i] += H[i, j] * x[j]
        if at[i] == 0:
            free[n] = i
            n += 1
    if n > 0:
        L, Z = np.empty((n, n)), np.empty((n, k + 1))
        for i in range(n):
            Z[i, k] = -slope[free[i]]
            for j in range(n):
                L[i, j] = H[free[i], free[j]]
            for r in range(k):
                Z[i, r] = kept[r, free[i]]
        if not _solve_definite(L, Z):
            return False
        S, nu = np.zeros((k, k)), np.zeros((k, 1))
        for r in range(k):
            for i in range(n):
                nu[r, 0] += kept[r, free[i]] * Z[i, k]
                for s in range(k):
                    S[r, s] += kept[r, free[i]] * Z[i, s]
        if not _solve_definite(S, nu):
            return False
        for i in range(n):
            step[free[i]] = Z[i, k] if n > k else 0.0  # as many rows as unknowns leave nothing to move
            for r in range(k if n > k else 0):
                step[free[i]] -= Z[i, r] * nu[r, 0]
        for i in range(c):
            for r in range(k):
                slope[i] += kept[r, i] * nu[r, 0]
    elif k > 0:
        return False
    for i in range(c):
        for j in range(n):
            slope[i] += H[i, free[j]] * step[free[j]]
    return True


@part(error_model="numpy")
def _solve_definite(L, B):
    """Overwrite a symmetric L (n, n) by its Cholesky factor and B (n, c) by the solutions; whether L is definite."""
    n, largest = len(L), 0.0
    for i in range(n):
        largest = max(largest, L[i, i])
    for j in range(n):
        for k in range(j):
            L[j, j] -= L[j, k] * L[j, k]
        if not L[j, j] > DEPENDENT * largest:
            return False
        L[j, j] = np.sqrt(L[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                L[i, j] -= L[i, k] * L[j, k]
            L[i, j] /= L[j, j]
    for c in range(B.shape[1]):
        for i in range(n):
            for k in range(i):
                B[i, c] -= L[i, k] * B[k, c]
            B[i, c] /= L[i, i]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                B[i, c] -= L[k, i] * B[k, c]
            B[i, c] /= L[i, i]
    return True


@kernel(error_model="numpy")
def independent(rows, kept, dependent):
    """Orthonormal rows (k', c): those kept (k, c), and behind them such as span what `rows` (m, c) ask for beyond
    these, by directions that are larger than `dependent` of the largest entry of the rows. Gram and Schmidt, with the
    largest rest first."""
    m, c, k = rows.shape[0], rows.shape[1], len(kept)
    rest, found = np.empty((m, c)), np.empty((min(k + m, c), c))
    largest = 0.0
    for i in range(c):
        for r in range(k):
            found[r, i] = kept[r, i]
        for r in range(m):
            rest[r, i] = rows[r, i]
            largest = max(largest, abs(rows[r, i]))
    for r in range(m):
        for before in range(k):
            _take_out(found[before], rest[r])
    while k < len(found):
        best, size = 0, -1.0
        for r in range(m):
            own = _square(rest[r])
            if own > size:
                best, size = r, own
        if not size > (dependent * largest) ** 2:
            break
        _fill_unit(rest[best], found[k])
        for before in range(k):  # again, as what is left may be small
            _take_out(found[before], found[k])
        _fill_unit(found[k], found[k])
        for r in range(m):
            _take_out(found[k], rest[r])
        k += 1
    return found[:k]


@part(error_model="numpy")
def _square(row):
    """Sum of a row's squares."""
    total = 0.0
    for i in range(len(row)):
        total += row[i] * row[i]
    return total


@part(error_model="numpy")
def _fill_unit(row, unit):
    """Fill the unit vector along a row, which it may be."""
    length = np.sqrt(_square(row))
    for i in range(len(row)):
        unit[i] = row[i] / length


@part(error_model="numpy")
def _take_out(unit, row):
    """Take what a row has along a unit vector out of it."""
    share = 0.0
    for i in range(len(row)):
        share += unit[i] * row[i]
    for i in range(len(row)):
        row[i] -= share * unit[i]
