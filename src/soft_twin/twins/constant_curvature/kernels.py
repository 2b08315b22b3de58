"""Lengths of cables along circular arcs and between their ends, with derivatives, smooth where the body is straight.

A segment of length L that bends by θ towards the azimuth φ has the bend b = θ (cos φ, sin φ), in which everything is
smooth. With u = θ², S = sin θ / θ, C = (1 − cos θ) / θ² and K = cos θ, a cable at a = r (cos ψ, sin ψ) has a ⋅ b = θ r
cos(ψ − φ), and pulled in is

    arc:   a ⋅ b, what is shorter on the inside of the bend;
    chord: L + h₀ + h₁ − √(u X² + Z²), X = C (L − a ⋅ b) + h₁ S, Z = S (L − a ⋅ b) + h₁ K + h₀,

with h₀ and h₁ what the straight cable has more than the body below and above. At h₀ = h₁ = 0 the chord's length is
2 (L/θ − r cos(ψ − φ)) sin(θ/2).
"""

import numpy as np
from numba import njit

SMALL = 1e-2  # θ² below which series are exact to round-off
MOST_STEPS = 50
BESIDE = 0.2  # of a start, by which one near the best bends so far differs from them
CALM = 1.0  # [rad] bends of a segment among which no others explain nearly the same
AWAY = 1.0 + 1e-6  # times what is missed before a step, which was too long where more is missed after it


@njit(cache=True)
def functions(u):
    """S, C, K of u = θ² and their derivatives by u."""
    if u < SMALL:
        s = 1.0 - u / 6.0 * (1.0 - u / 20.0 * (1.0 - u / 42.0 * (1.0 - u / 72.0)))
        c = 0.5 * (1.0 - u / 12.0 * (1.0 - u / 30.0 * (1.0 - u / 56.0 * (1.0 - u / 90.0))))
        ds = -1.0 / 6.0 * (1.0 - u / 10.0 * (1.0 - u / 28.0 * (1.0 - u / 54.0)))
        dc = -1.0 / 24.0 * (1.0 - u / 15.0 * (1.0 - u / 37.333333333333336 * (1.0 - u / 67.5)))
        return s, c, 1.0 - u * c, ds, dc, -0.5 * s
    angle = np.sqrt(u)
    s, k = np.sin(angle) / angle, np.cos(angle)
    c = (1.0 - k) / u
    return s, c, k, (k - s) / (2.0 * u), (0.5 * s - c) / u, -0.5 * s


@njit(cache=True)
def pull(straight, length, below, above, x, y, bend_x, bend_y):
    """What a cable at (x, y) is pulled in along a segment, and the derivatives of that by the bend."""
    along = x * bend_x + y * bend_y
    if not straight:
        return along, x, y
    u = bend_x * bend_x + bend_y * bend_y
    s, c, k, ds, dc, dk = functions(u)
    side, up = c * (length - along) + above * s, s * (length - along) + above * k + below
    chord = np.sqrt(u * side * side + up * up)
    if chord == 0.0:  # from here on every bend makes it longer
        return length + below + above, 0.0, 0.0
    by_u = 0.5 * side * side + u * side * (dc * (length - along) + above * ds)
    by_u += up * (ds * (length - along) + above * dk)
    by_along = -(u * side * c + up * s)
    slope_x, slope_y = 2.0 * bend_x * by_u + x * by_along, 2.0 * bend_y * by_u + y * by_along
    return length + below + above - chord, -slope_x / chord, -slope_y / chord


@njit(cache=True)
def pulls(straight, lengths, overhangs, cables, ends, bends, displacements, jacobian):
    """Displacements (c,) and their jacobian (c, 2 s) for bends (s, 2), written into the last two."""
    jacobian[:] = 0.0
    for i in range(len(cables)):
        displacements[i] = 0.0
        for j in range(ends[i] + 1):
            amount, by_x, by_y = pull(
                straight,
                lengths[j],
                overhangs[j, 0],
                overhangs[j, 1],
                cables[i, 0],
                cables[i, 1],
                bends[j, 0],
                bends[j, 1],
            )
            displacements[i] += amount
            jacobian[i, 2 * j], jacobian[i, 2 * j + 1] = by_x, by_y


@njit(cache=True)
def displacements_of(straight, lengths, overhangs, cables, ends, bends):
    """(n, c) displacements of bends (n, s, 2)."""
    found = np.empty((len(bends), len(cables)))
    jacobian = np.empty((len(cables), 2 * len(lengths)))
    for row in range(len(bends)):
        pulls(straight, lengths, overhangs, cables, ends, bends[row], found[row], jacobian)
    return found


@njit(cache=True)
def jacobians_of(straight, lengths, overhangs, cables, ends, bends):
    """(n, c, 2 s) derivatives of the displacements by bends (n, s, 2)."""
    found = np.empty(len(cables))
    jacobians = np.empty((len(bends), len(cables), 2 * len(lengths)))
    for row in range(len(bends)):
        pulls(straight, lengths, overhangs, cables, ends, bends[row], found, jacobians[row])
    return jacobians


@njit(cache=True)
def bend_of(pitch, roll):
    """The bend whose end has this pitch and roll."""
    x, y = np.sin(pitch), -np.sin(roll) * np.cos(pitch)
    sine = np.hypot(x, y)
    if sine == 0.0:
        return 0.0, 0.0
    ratio = np.arctan2(sine, np.cos(roll) * np.cos(pitch)) / sine
    return ratio * x, ratio * y


@njit(cache=True)
def displacements_at(straight, length, below, above, cables, pitches, rolls):
    """(n, c) displacements of one segment that ends at pitches and rolls (n,)."""
    found = np.empty((len(pitches), len(cables)))
    for row in range(len(pitches)):
        x, y = bend_of(pitches[row], rolls[row])
        for i in range(len(cables)):
            found[row, i] = pull(straight, length, below, above, cables[i, 0], cables[i, 1], x, y)[0]
    return found


@njit(cache=True)
def displacements_at_one(straight, length, below, above, cables, pitch, roll):
    """(c,) as `displacements_at`, of one pose."""
    x, y = bend_of(pitch, roll)
    found = np.empty(len(cables))
    for i in range(len(cables)):
        found[i] = pull(straight, length, below, above, cables[i, 0], cables[i, 1], x, y)[0]
    return found


@njit(cache=True)
def solved(jacobian, missing, step):
    """Whether there is the one least-squares `step` (n,) for what is missing (c,), which is written into the last.

    By Gauss' elimination in the normal equations, which need no pivots: NumPy's solver takes seconds to compile.
    """
    size = len(step)
    normal = np.empty((size, size))
    for i in range(size):
        step[i] = 0.0
        for row in range(len(missing)):
            step[i] += jacobian[row, i] * missing[row]
        for j in range(size):
            normal[i, j] = 0.0
            for row in range(len(missing)):
                normal[i, j] += jacobian[row, i] * jacobian[row, j]
    for k in range(size):
        if normal[k, k] == 0.0 or not np.isfinite(normal[k, k]):
            return False
        for i in range(k + 1, size):
            factor = normal[i, k] / normal[k, k]
            step[i] -= factor * step[k]
            for j in range(k + 1, size):
                normal[i, j] -= factor * normal[k, j]
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            step[i] -= normal[i, j] * step[j]
        step[i] /= normal[i, i]
    return True


@njit(cache=True)
def largest(vector):
    """Of the sizes of its entries; NaN where one is."""
    found = 0.0
    for value in vector:
        size = abs(value)
        if size > found or np.isnan(size):
            found = size
    return found


@njit(cache=True)
def fit(straight, lengths, overhangs, cables, ends, common, measured, tolerance, start):
    """Bends (s, 2) and common part, in one vector, that explain displacements (c,) better than all others near where
    the bends `start` (2 s,) lead, by Gauss-Newton whose steps are halved where they lead away from them; what any cable
    misses at the most [m], and whether the steps came to an end."""
    count = 2 * len(lengths)
    unknowns = np.zeros(count + common)
    for k in range(count):
        unknowns[k] = start[k]
    before, nearest, missed, step = unknowns.copy(), np.inf, np.inf, unknowns.copy()
    jacobian, displacements = np.ones((len(cables), count + common)), np.empty(len(cables))
    for _ in range(MOST_STEPS):
        bends = unknowns[:count].reshape((len(lengths), 2))
        pulls(straight, lengths, overhangs, cables, ends, bends, displacements, jacobian[:, :count])
        missing = measured - displacements
        if common:
            missing -= unknowns[count]
        away = np.linalg.norm(missing)
        if away > AWAY * nearest:
            unknowns = 0.5 * (unknowns + before)
            continue
        before, nearest, missed = unknowns.copy(), away, largest(missing)
        if not solved(jacobian, missing, step):
            break
        unknowns += step
        if largest(jacobian @ step) < tolerance:
            return unknowns, missed, True
    return before, missed, False


@njit(cache=True)
def fit_from_all(straight, lengths, overhangs, cables, ends, common, measured, tolerance, explained, noise, starts):
    """As `fit`, from the first of the `starts` (k, 2 s) that comes to no more than `explained` [m], or than `noise` [m]
    where all bends are calm, or from the one that misses least: another one than the first only where it misses less
    than half of that, for noise is nearly the same in all. Every other start is near the best so far, from which a
    narrow valley may be all that is left."""
    best, least, found = fit(straight, lengths, overhangs, cables, ends, common, measured, tolerance, starts[0])
    for k in range(1, len(starts)):
        if found and (least <= explained or least <= noise and largest(best[: 2 * len(lengths)]) <= CALM):
            break
        start = starts[k] if k % 2 or not found else best[: 2 * len(lengths)] + BESIDE * starts[k]
        other, missed, ended = fit(straight, lengths, overhangs, cables, ends, common, measured, tolerance, start)
        if (ended or missed <= explained) and (not found or missed < 0.5 * least):
            best, least, found = other, missed, True
    return best, least, found


@njit(cache=True)
def fits(straight, lengths, overhangs, cables, ends, common, measured, tolerance, explained, noise, starts):
    """As `fit_from_all`, of many: bends (n, s, 2), common parts (n,), what is missed (n,) [m], found (n,)."""
    count = 2 * len(lengths)
    bends, parts, missed = np.empty((len(measured), len(lengths), 2)), np.zeros(len(measured)), np.empty(len(measured))
    found = np.empty(len(measured), dtype=np.bool_)
    for row in range(len(measured)):
        unknowns, missed[row], found[row] = fit_from_all(
            straight, lengths, overhangs, cables, ends, common, measured[row], tolerance, explained, noise, starts
        )
        for k in range(count):
            bends[row, k // 2, k % 2] = unknowns[k]
        if common:
            parts[row] = unknowns[count]
    return bends, parts, missed, found


@njit(cache=True)
def poses(lengths, bends):
    """Ends of the segments for bends (n, s, 2): positions (n, s, 3), rotations (n, s, 3, 3)."""
    positions, rotations = np.empty((*bends.shape[:2], 3)), np.empty((*bends.shape[:2], 3, 3))
    for row in range(len(bends)):
        place, turn = np.zeros(3), np.eye(3)
        for j in range(len(lengths)):
            x, y = bends[row, j]
            s, c, k, _, _, _ = functions(x * x + y * y)
            place = place + turn @ (lengths[j] * np.array([c * x, c * y, s]))
            own = np.array(
                [[1.0 - c * x * x, -c * x * y, s * x], [-c * x * y, 1.0 - c * y * y, s * y], [-s * x, -s * y, k]]
            )
            turn = turn @ own
            positions[row, j], rotations[row, j] = place, turn
    return positions, rotations
