"""The arithmetic of the comparison of gyroscope and accelerometer, compiled; `agreement.py` says what it computes."""

import math
from functools import partial
from itertools import permutations, product

import numpy as np

from soft_twin.linear_algebra.compiled import kernel, part

_part = partial(part, error_model="numpy")

# State: directions in the frame of the board, and what is known of the gyroscope
FORCE, MEAN, SLOW = 0, 3, 6  # specific force through three low-passes, carried by the gyroscope
NEAR_START, NEAR_CARRIED = 9, 12  # short comparison: up at its start, the same carried to now
ERRORS = 6  # a relative error of each axis of the gyroscope, and a bias of each in units of BIAS_UNIT
TERMS = 12  # these, and what each axis says of the two others
MEAN_TURN, SLOW_TURN = 15, 51  # what each term would have turned "up" by, in the low-passes of MEAN and SLOW, (12, 3)
FREE_TURN = 87  # the same since force and answer agreed, (12, 3)
RATE, STEP = 123, 126  # last rate, last change of it
INFORMATION, SUM = 129, 273  # normal equations of the terms: (12, 12) and (12,)
COVARIANCE, ERROR = 285, 321  # their solution for the errors: (6, 6) and (6,)
(
    AGE,
    NEAR_AGE,
    SHAKE,
    NOISE,
    SPREAD,
    DOUBT,
    AGREED,
    ASTRAY,
    APART,
    WRONG,
    ROUGHNESS,
    VALID,
    STARTED,
    EXCUSED,
    LEANING,
    SINCE,
    WORST,
    SHOCK,
    LENGTH,
    PRIOR_ODDS,
    ODDS,
    BANK,
    RADIAL,
    SILENCE,
    UNEXPLAINED,
    RUNNING,
    SOUND,
    TILT_STD,
    TURNED,
    UNTOLD,
    DOUBTED,
) = range(327, 358)
PULL, CARRIED = 358, 361  # by which the filter left what the rates say, and "up" as they carry it from the last answer
CHANGE, SWING = 364, 367  # the rate's change [rad/s^2], and the acceleration at a lever of 1 m lately [m/s^2]
STATE = 368
# Coefficients
(
    C_GRAVITY,
    C_FAST,
    C_MEAN,
    C_SLOW,
    C_CALM,
    C_AGREE,
    C_HOLD,
    C_DOUBT,
    C_FADE,
    C_INTERVAL,
    C_MEMORY,
    C_SPREAD,
    C_ERROR,
    C_SURE,
    C_NEAR_TURN,
    C_NEAR,
    C_SILENT,
    C_APART,
    C_APART_TIME,
    C_JUMP,
    C_JUMP_FACTOR,
    C_REPROOF,
    C_PROVEN,
    C_LEAN,
    C_ODD_LENGTH,
    C_SLOW_RATE,
    C_REST_RATE,
    C_NEAR_NOISE,
    C_KEPT,
    C_SHOCK,
    C_BASE_ODDS,
    C_JUMP_ODDS,
    C_ODDS,
    C_BIAS_MEMORY,
    C_RADIAL,
    C_QUIET,
    C_CORRELATION,
    C_SPREAD_SHARE,
    C_RATIO,
    C_PROVEN_RATIO,
    C_PROVEN_ODDS,
    C_ODD,
    C_ODD_TIME,
    C_BACK,
    C_PULL,
    C_PULL_TIME,
    C_PULL_TURN,
    C_PULL_STEP,
    C_LEVER,
) = range(49)
COEFFICIENTS = 49

_PRIOR = 0.5  # inverse variance of an error of a gyroscope that is wrong: a sign is an error of -2
BIAS_UNIT = math.radians(5.0)  # [rad/s]


def _usual_mistakes():
    """Errors (k, TERMS) of a gyroscope, as seen in the accelerometer's frame: 47 wrong axes or signs, and scales."""
    matrices = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            matrices.append(np.diag(signs)[list(order)])
    matrices += [factor * np.eye(3) for factor in (0.0, 0.5, 0.7, 1.4, 2.0, 57.3)]
    mistakes = []
    for matrix in matrices:
        off = np.eye(3) - matrix
        others = [off[i, (i + 1) % 3] for i in range(3)] + [off[i, (i + 2) % 3] for i in range(3)]
        mistakes.append([*np.diag(off), 0.0, 0.0, 0.0, *others])
    return np.array([mistake for mistake in mistakes if any(mistake)])


_MISTAKES = _usual_mistakes()
_MOST_DOUBT = 0.2  # [rad]
_RADIAL_TIME = 0.7  # [s]
_CHANGE_TIME = 0.02  # [s] over which the rate's change is averaged
_SWING_TIME = 0.1  # [s]
_MOST = 60.0  # [m/s^2] by which one reading counts in the averages


@_part()
def _carry(s, at, wx, wy, wz, sine, versine):
    """Turn a vector as the world turns for a board that turns about the unit axis w: v ← exp(−[w] angle) v."""
    x, y, z = s[at], s[at + 1], s[at + 2]
    cx, cy, cz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
    dx, dy, dz = wy * cz - wz * cy, wz * cx - wx * cz, wx * cy - wy * cx
    s[at] = x - sine * cx + versine * dx
    s[at + 1] = y - sine * cy + versine * dy
    s[at + 2] = z - sine * cz + versine * dz


@_part()
def _angle(ax, ay, az, bx, by, bz):
    """Angle between two vectors [rad]."""
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return math.atan2(math.sqrt(cx * cx + cy * cy + cz * cz), ax * bx + ay * by + az * bz)


@_part()
def _between(s, a, b):
    return _angle(s[a], s[a + 1], s[a + 2], s[b], s[b + 1], s[b + 2])


@_part()
def _anchor(s, start, carried):
    """Begin a comparison at the force as it is now, of length 1."""
    length = math.sqrt(s[FORCE] ** 2 + s[FORCE + 1] ** 2 + s[FORCE + 2] ** 2) + 1e-9
    for i in range(3):
        s[start + i] = s[carried + i] = s[FORCE + i] / length


@_part()
def forget_proof(s, kept):
    """Little of what is known of the gyroscope may still hold: `kept` of it, 0…1. What it said is no lesson."""
    for i in range(MEAN_TURN, MEAN_TURN + 72):
        s[i] = 0.0
    for i in range(3):
        s[SLOW + i] = s[MEAN + i]
    s[SINCE] = 0.0
    for i in range(TERMS * TERMS):
        s[INFORMATION + i] *= kept
    for i in range(TERMS):
        s[SUM + i] *= kept
    solve(s)


@_part()
def suspect(s, odds):
    """Something speaks for a wrong gyroscope, apart from the turns: at least these log odds."""
    s[PRIOR_ODDS] = max(s[PRIOR_ODDS], odds)
    solve(s)


@_part()
def solve(s):
    """Covariance C = (G + I/2)⁻¹ and mean C h of the errors if the gyroscope is wrong, and the odds that it is.

    Two hypotheses: all errors are zero, or each is drawn from N(0, 2). The logarithm of their odds is that of the
    odds beforehand, and ½ hᵀ C h − ½ log det(2 G + I) from what was seen.
    """
    m = np.empty((ERRORS, ERRORS))
    for i in range(ERRORS):
        for j in range(ERRORS):
            m[i, j] = s[INFORMATION + TERMS * i + j]
        m[i, i] += _PRIOR
    determinant = _invert(m)
    explained = 0.0
    for i in range(ERRORS):
        error = 0.0
        for j in range(ERRORS):
            s[COVARIANCE + ERRORS * i + j] = m[i, j]
            error += m[i, j] * s[SUM + j]
        s[ERROR + i] = error
        explained += error * s[SUM + i]
    s[BANK] = _bank(s)
    general = 0.5 * (explained - determinant + ERRORS * math.log(_PRIOR))
    s[ODDS] = s[PRIOR_ODDS] + max(general, s[BANK])


@_part()
def _bank(s):
    """Log of how much better the best of the usual mistakes explains what was seen than no mistake does."""
    best = -1e9
    for k in range(len(_MISTAKES)):
        score = 0.0
        for i in range(TERMS):
            if _MISTAKES[k, i] != 0.0:
                score += s[SUM + i] * _MISTAKES[k, i]
                for j in range(TERMS):
                    score -= 0.5 * _MISTAKES[k, i] * s[INFORMATION + TERMS * i + j] * _MISTAKES[k, j]
        best = max(best, score)
    return best - math.log(len(_MISTAKES))


@_part()
def _invert(m):
    """Invert a positive definite matrix in place (Gauss and Jordan, no pivots needed); log of its determinant."""
    total = 0.0
    n = len(m)
    for k in range(n):
        pivot = m[k, k]
        total += math.log(pivot)
        m[k, k] = 1.0
        for j in range(n):
            m[k, j] /= pivot
        for i in range(n):
            if i != k:
                factor = m[i, k]
                m[i, k] = 0.0
                for j in range(n):
                    m[i, j] -= factor * m[k, j]
    return total


@_part()
def _learn(s, c):
    """Two averages of "up" differ by what the axes' errors have turned between them, and by mean acceleration."""
    turned = 0.0
    q = np.empty((TERMS, 3))
    r = np.empty(3)
    for j in range(3):
        r[j] = (s[MEAN + j] - s[SLOW + j]) / c[C_GRAVITY]
        total = 0.0
        for i in range(TERMS):
            q[i, j] = s[SLOW_TURN + 3 * i + j] - s[MEAN_TURN + 3 * i + j]
            total += q[i, j] if i < 3 else 0.0
        turned += total * total
    unexplained = 0.0
    for j in range(3):
        rest = r[j]
        for i in range(ERRORS):
            rest -= s[ERROR + i] * q[i, j]
        unexplained += rest * rest
    s[SPREAD] += min(s[AGE] / 2.0, 1.0) * (unexplained - s[SPREAD])
    accelerated = c[C_RADIAL] * s[RADIAL] / c[C_GRAVITY] ** 2
    weight = s[AGE] / c[C_CORRELATION] / (c[C_SPREAD] ** 2 + c[C_SPREAD_SHARE] * s[SPREAD] + accelerated)
    known = s[INFORMATION] + s[INFORMATION + 13] + s[INFORMATION + 26] + _PRIOR
    keep = math.exp(-min(s[AGE] / c[C_MEMORY], weight * turned / known))
    keep_bias = math.exp(-s[AGE] / c[C_BIAS_MEMORY])
    for i in range(TERMS):
        keep_i = keep_bias if 3 <= i < ERRORS else keep
        both = q[i, 0] * r[0] + q[i, 1] * r[1] + q[i, 2] * r[2]
        s[SUM + i] = keep_i * s[SUM + i] + weight * both
        for j in range(TERMS):
            kept = math.sqrt(keep_i * (keep_bias if 3 <= j < ERRORS else keep))
            both = q[i, 0] * q[j, 0] + q[i, 1] * q[j, 1] + q[i, 2] * q[j, 2]
            s[INFORMATION + TERMS * i + j] = kept * s[INFORMATION + TERMS * i + j] + weight * both
    solve(s)
    if s[ODDS] < c[C_BASE_ODDS]:  # it has proved itself: what was suspected before is settled
        s[PRIOR_ODDS] = min(s[PRIOR_ODDS], c[C_BASE_ODDS])


@_part()
def _judge_axes(s, c):
    """Whether the errors are real, or, after they were, have gone."""
    explained = total = relative = 0.0
    for i in range(ERRORS):
        explained += s[SUM + i] * s[ERROR + i]
        for j in range(ERRORS):
            total += s[INFORMATION + TERMS * i + j]
            relative += s[INFORMATION + TERMS * i + j] if i < 3 and j < 3 else 0.0
    if s[WRONG] == 0.0:
        large = explained > c[C_ERROR] ** 2 * total
        if s[ODDS] > c[C_SURE] and (large or s[PRIOR_ODDS] + s[BANK] > c[C_SURE]):
            s[WRONG] = 1.0
            forget_proof(s, 0.0)
    elif relative > c[C_REPROOF] and explained < 0.25 * c[C_ERROR] ** 2 * total:
        s[WRONG] = 0.0


@_part()
def _watch_jumps(s, c, dt, w):
    """A rate that jumps, by the standard of what the rate has been doing, proves nothing of what comes after it."""
    jump = 0.0
    for i in range(3):
        step = w[i] - s[RATE + i]
        jump = max(jump, min(abs(step - s[STEP + i]), abs(step)))
        s[STEP + i] = step
        s[RATE + i] = w[i]
    limit = max(c[C_JUMP], c[C_JUMP_FACTOR] * s[ROUGHNESS])
    s[ROUGHNESS] += min(dt / 0.3, 1.0) * (min(jump, limit) - s[ROUGHNESS])
    if jump > limit and s[SHOCK] < c[C_SHOCK]:  # a tap is felt by both
        forget_proof(s, c[C_KEPT] if jump < 2.0 * limit else 0.0)
        suspect(s, c[C_JUMP_ODDS])
        s[DOUBT] += jump * dt


@_part()
def _compare_near(s, c):
    """Over a short time: a gyroscope that turns gravity where the accelerometer does not has no proof any more."""
    turned, off = _between(s, NEAR_START, NEAR_CARRIED), _between(s, NEAR_CARRIED, FORCE)
    seen = _between(s, NEAR_START, FORCE)
    noise = math.sqrt(s[NOISE])
    differs = seen < 0.3 * turned or off > 1.5 * turned
    if turned > c[C_NEAR_TURN] and differs and off > 3.0 * noise and noise < c[C_NEAR_NOISE]:
        forget_proof(s, c[C_KEPT])
        suspect(s, c[C_JUMP_ODDS])
        s[NEAR_AGE] = c[C_NEAR]
    if s[NEAR_AGE] >= c[C_NEAR] or (turned > c[C_NEAR_TURN] and off < 0.3 * turned):
        _anchor(s, NEAR_START, NEAR_CARRIED)
        s[NEAR_AGE] = 0.0


@_part()
def _start(s, c, w, f):
    for i in range(3):
        s[FORCE + i] = s[MEAN + i] = s[SLOW + i] = f[i]
        s[RATE + i] = w[i]
        s[STEP + i] = s[CHANGE + i] = 0.0
    for i in range(MEAN_TURN, FREE_TURN + 36):
        s[i] = 0.0
    _anchor(s, NEAR_START, NEAR_CARRIED)
    solve(s)
    s[CARRIED] = math.nan
    s[STARTED] = 1.0
    s[SINCE] = s[AGREED] = s[APART] = s[LEANING] = 0.0
    s[RUNNING] = 0.0 if s[EXCUSED] == 1.0 else c[C_SLOW]  # after a gap no single force may stand for an average


@_part()
def _new(s, dt, time):
    """Share that one sample has in an average: of all samples at first, of a time constant's later."""
    return min(dt / min(time, s[RUNNING] + 1e-9), 1.0)


@_part()
def _is_pulled(s, c, dt, rate, untold, up, std, doubt):
    """Whether the filter has left what the rates say by more than it knows of its tilt, and of the rates' errors.

    Args:
        s, c, dt: as in `step`.
        rate: [rad/s].
        untold: variance of what was turned between the last two samples [rad²].
        up, std, doubt: as in `step`.
    """
    keep, squared, known = math.exp(-dt / c[C_PULL_TIME]), 0.0, not math.isnan(s[CARRIED])
    for i in range(3):
        s[PULL + i] = keep * s[PULL + i] + up[i] - s[CARRIED + i] if known else 0.0
        s[CARRIED + i] = up[i]
        squared += s[PULL + i] ** 2
    s[TILT_STD] = max(std, keep * s[TILT_STD])
    s[TURNED] = keep * s[TURNED] + rate * dt
    s[UNTOLD] = keep * s[UNTOLD] + untold
    s[DOUBTED] = keep * s[DOUBTED] + doubt
    usual = c[C_PULL] * s[TILT_STD] + c[C_PULL_TURN] * s[TURNED] + c[C_PULL_STEP] * math.sqrt(s[UNTOLD]) + s[DOUBTED]
    return math.sqrt(squared) > usual


@_part()
def _add_turns(s, c, dt, w, up):
    """What each axis turns "up" by, −ω_i e_i × u, into the sums; those of the low-passes forget as these do."""
    mean, slow, free = 1.0 - _new(s, dt, c[C_MEAN]), 1.0 - _new(s, dt, c[C_SLOW]), 1.0 - dt / c[C_FADE]
    for i in range(TERMS):
        j, k = (i + 1) % 3, (i + 2) % 3
        rate = w[i] if i < 3 else BIAS_UNIT if i < 6 else w[(i + 1) % 3] if i < 9 else w[(i + 2) % 3]
        at_j, at_k = dt * rate * up[k], -dt * rate * up[j]
        for m in range(3):
            share = at_j if m == j else at_k if m == k else 0.0
            n = 3 * i + m
            s[MEAN_TURN + n] = mean * (s[MEAN_TURN + n] + share)
            s[SLOW_TURN + n] = slow * (s[SLOW_TURN + n] + share)
            s[FREE_TURN + n] = free * (s[FREE_TURN + n] + share)


@_part()
def _swing(s, dt, w, rate):
    """What a lever of 1 m from the point that the base turns about would have the IMU feel."""
    squared = 0.0
    for i in range(3):
        s[CHANGE + i] += dt / (_CHANGE_TIME + dt) * ((w[i] - s[RATE + i]) / (dt + 1e-9) - s[CHANGE + i])
        squared += s[CHANGE + i] ** 2
    s[SWING] = max(math.sqrt(squared) + rate * rate, s[SWING] * math.exp(-dt / _SWING_TIME))


@_part()
def _follow(s, c, dt, w, f, up):
    """Carry all directions to now; the rate of turn [rad/s]."""
    rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if rate > 0.0:
        sine, versine = math.sin(rate * dt), 1.0 - math.cos(rate * dt)
        x, y, z = w[0] / rate, w[1] / rate, w[2] / rate
        for at in (FORCE, MEAN, SLOW, NEAR_CARRIED, PULL, CARRIED):
            _carry(s, at, x, y, z, sine, versine)
        for at in range(MEAN_TURN, FREE_TURN + 36, 3):
            _carry(s, at, x, y, z, sine, versine)
    _swing(s, dt, w, rate)
    s[RUNNING] += dt
    _add_turns(s, c, dt, w, up)
    fast, mean, slow = min(dt / c[C_FAST], 1.0), _new(s, dt, c[C_MEAN]), _new(s, dt, c[C_SLOW])
    for i in range(3):
        s[FORCE + i] += fast * (f[i] - s[FORCE + i])
        s[MEAN + i] += mean * min(max(f[i] - s[MEAN + i], -_MOST), _MOST)
        s[SLOW + i] += slow * min(max(f[i] - s[SLOW + i], -_MOST), _MOST)
    length = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
    s[SHOCK] = max(abs(length - s[LENGTH]), s[SHOCK] * math.exp(-dt / 0.05))
    s[LENGTH] = length
    radial = min(abs(length - c[C_GRAVITY]), 2.0 * c[C_GRAVITY])
    s[RADIAL] += min(dt / _RADIAL_TIME, 1.0) * (radial * radial - s[RADIAL])
    s[SILENCE] = s[SILENCE] + dt if rate < c[C_SILENT] else 0.0
    s[SHAKE] = max(abs(length - c[C_GRAVITY]), s[SHAKE] * math.exp(-dt / 0.1))
    s[AGE] += dt
    s[NEAR_AGE] += dt
    s[SINCE] += dt
    return rate


@_part()
def _doubt_of(s, c, turn):
    """By how much axes that are not proven may have turned "up" wrongly, for a sum of turns (3, 3) [rad]."""
    if s[ODDS] < c[C_ODDS]:
        return 0.0
    wrong = turned = 0.0
    for i in range(ERRORS):
        for j in range(ERRORS):
            a, b = turn + 3 * i, turn + 3 * j
            overlap = s[a] * s[b] + s[a + 1] * s[b + 1] + s[a + 2] * s[b + 2]
            wrong += (s[COVARIANCE + ERRORS * i + j] + s[ERROR + i] * s[ERROR + j]) * overlap
            turned += overlap if i == j and i < 3 else 0.0
    return max(math.sqrt(max(wrong, 0.0)) - c[C_PROVEN] * math.sqrt(turned), 0.0)


@_part()
def _compare_parts(s, c, dt, off):
    """Acceleration shows along "up" as well as across it; a wrong answer only makes it seem to be across."""
    ratio = c[C_PROVEN_RATIO] if s[ODDS] < c[C_PROVEN_ODDS] else c[C_RATIO]
    limit = c[C_ODD] + (ratio * math.sqrt(s[RADIAL]) + c[C_LEVER] * s[SWING]) / c[C_GRAVITY]
    s[UNEXPLAINED] = s[UNEXPLAINED] + dt if off > limit else max(s[UNEXPLAINED] - dt, 0.0)
    s[UNEXPLAINED] = min(s[UNEXPLAINED], 2.0 * c[C_ODD_TIME])


@_part()
def _find_errors(s, c, dt, slow_off, mean_off, settled, pulled):
    """Learn the axes' errors, and whether one of the two sensors is wrong."""
    if s[AGE] > c[C_INTERVAL]:
        _learn(s, c)
        _judge_axes(s, c)
        s[AGE] = 0.0
    noise = math.sqrt(s[NOISE])
    length = math.sqrt(s[SLOW] ** 2 + s[SLOW + 1] ** 2 + s[SLOW + 2] ** 2)
    odd = abs(length / c[C_GRAVITY] - 1.0) > c[C_ODD_LENGTH] + 0.5 * noise
    apart = slow_off > max(c[C_APART], 0.5 * noise)
    s[APART] = s[APART] + dt if apart or odd else 0.0
    s[LEANING] = s[LEANING] + dt if settled and mean_off > max(c[C_LEAN], noise) else 0.0
    contradiction = pulled or max(s[APART], s[LEANING]) > c[C_APART_TIME]
    if contradiction and s[WRONG] == 0.0 and s[EXCUSED] == 0.0:
        s[WRONG] = 1.0
        forget_proof(s, 0.0)


@kernel(error_model="numpy")
def step(s, c, dt, w, f, up, std, doubt):
    """One sample; whether the answer `up` may be trusted is in s[VALID].

    Args:
        s, c: state and coefficients.
        dt: since the last sample [s].
        w, f, up: (3,) rates without bias, specific force, and the filter's answer, in the frame of the board.
        std: standard deviation of the answer's tilt, by the filter [rad].
        doubt: by which the sample may have turned the answer [rad].
    """
    if s[STARTED] == 0.0:
        _start(s, c, w, f)
    untold = 0.25 * dt * dt * ((w[0] - s[RATE]) ** 2 + (w[1] - s[RATE + 1]) ** 2 + (w[2] - s[RATE + 2]) ** 2)
    rate = _follow(s, c, dt, w, f, up)
    pulled = _is_pulled(s, c, dt, rate, untold, up, std, doubt)
    _watch_jumps(s, c, dt, w)
    s[DOUBT] = min(s[DOUBT] * math.exp(-dt / c[C_FADE]) + doubt, _MOST_DOUBT)
    if doubt > c[C_DOUBT]:
        s[EXCUSED] = 1.0
    calm = s[SHAKE] < c[C_CALM]
    off = _angle(s[FORCE], s[FORCE + 1], s[FORCE + 2], up[0], up[1], up[2])
    slow_off = _angle(s[SLOW], s[SLOW + 1], s[SLOW + 2], up[0], up[1], up[2])
    if calm:
        _compare_near(s, c)
    mean_off = _angle(s[MEAN], s[MEAN + 1], s[MEAN + 2], up[0], up[1], up[2])
    _find_errors(s, c, dt, slow_off, mean_off, calm and rate < c[C_SLOW_RATE], pulled)
    noise = math.sqrt(s[NOISE])
    agrees = off < c[C_AGREE]
    s[AGREED] = s[AGREED] + dt if agrees else 0.0
    astray = mean_off > 2.0 * c[C_AGREE] and s[VALID] == 0.0 and (s[EXCUSED] == 1.0 or s[WRONG] == 1.0)
    s[ASTRAY] = s[ASTRAY] + dt if astray else 0.0
    if off < 0.5 * c[C_AGREE] and s[AGREED] > 0.1 and calm:
        s[DOUBT] = 0.0
        for i in range(FREE_TURN, FREE_TURN + 36):
            s[i] = 0.0
    if not agrees and s[SILENCE] > c[C_QUIET] and off > 3.0 * noise:
        s[DOUBT] += dt
    s[NOISE] += min(dt / 2.0, 1.0) * (min(off, 1.0) ** 2 - s[NOISE])
    s[WORST] = max(s[WORST] * math.exp(-dt / c[C_MEAN]), _doubt_of(s, c, SLOW_TURN))
    _compare_parts(s, c, dt, off)
    trusted = s[DOUBT] + _doubt_of(s, c, FREE_TURN) < c[C_DOUBT]
    proven = (
        trusted and s[SINCE] > 0.7 * c[C_SLOW] and s[WORST] < c[C_DOUBT] and slow_off < max(c[C_AGREE], 0.3 * noise)
    )
    hold = c[C_HOLD] if rate < c[C_REST_RATE] else 4.0 * c[C_HOLD]
    believed = s[WRONG] == 0.0 and (agrees or trusted)
    known = s[EXCUSED] == 0.0 and s[UNEXPLAINED] == 0.0  # no time was lost, and nothing odd is felt
    s[SOUND] = s[SOUND] + dt if believed and known else 0.0
    back = s[AGREED] >= hold or proven or s[SOUND] > c[C_BACK]
    ok = believed and s[UNEXPLAINED] < c[C_ODD_TIME] and (back or s[VALID] == 1.0)
    s[VALID] = 1.0 if ok else 0.0
    if ok:
        s[EXCUSED] = 0.0
