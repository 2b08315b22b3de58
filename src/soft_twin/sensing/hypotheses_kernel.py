"""The arithmetic of the bank of hypotheses, compiled; `hypotheses.py` says what it computes.

Each hypothesis h has five vectors in the frame of the board, x[h]: gravity's reaction (g times up), velocity,
acceleration and jerk of the base, and a drift of "up" that the gyroscope does not tell. The last is the lever: s[h] is
how the first four answer to it, r[h] its mean and spread[h] its covariance. Covariances of the five are one number for
all three axes, and the same for all hypotheses of one kind: cov[kind, level].
"""

import math
from functools import partial

import numpy as np

from soft_twin.linear_algebra.compiled import kernel, part

_part = partial(part, error_model="numpy")

UP, VELOCITY, ACCELERATION, JERK, DRIFT = range(5)
ORDER = 5
HEALTHY, BIASED, UNSEEN, MISTAKEN = range(4)  # the first hypotheses; from MISTAKEN on, one for each usual mistake
KINDS = 3  # of the first three; mistakes are of the first one's
LEVELS = 6  # five of how vigorously the base moves, and vibration
RATE, RATE_CHANGE, RADIAL, STARTED = 0, 3, 6, 7  # the base by itself; RADIAL: mean square of the force's length less g
FORCE, RATE_SLOPE, FORCE_SLOPE = 8, 11, 14  # the last force, and how rates and force changed from the one before [1/s]
RATE_JUMP, FORCE_JUMP = 17, 18  # mean squares of what such a change does not foretell
RATE_ODDS, FORCE_ODDS = 19, 20  # by how much likelier a fault began with the last sample
CHANGE_ERROR = 21  # mean square of what the averaged change may be off by [rad^2/s^4]
TURN = 22
# Coefficients
(
    C_GRAVITY,
    C_NOISE,
    C_LEAST,
    C_RATIO,
    C_VIBRATION,
    C_PACE,
    C_WANDER,
    C_SCALE,
    C_BIAS,
    C_BIAS_WALK,
    C_TURN,
    C_TURN_TIME,
    C_LEVER,
    C_LEVER_WALK,
    C_HAZARD,
    C_REPAIR,
    C_CHANGE,
    C_SAMPLES,
    C_CALM,
    C_TAIL,
    C_NEAR,
    C_FAR,
    C_FOLLOW,
    C_DOUBT,
    C_LIMIT,
    C_MISTAKEN,
    C_JUMP,
    C_JUMP_ODDS,
    C_SILENCE,
    C_FREE,
    C_ONSET,
) = range(31)
COEFFICIENTS = 31
_BEGINNING = 3.0  # seconds' worth of hazard that a board may have been broken before it was switched on
_START_TILT = 0.3  # [rad]
_LONGEST = 0.1  # [s] of one step of the base's motion
_CHANGE_TIME = 0.02  # [s] over which the rate's change is averaged
_RADIAL_TIME = 0.5  # [s]
_JUMP_TIME = 0.3  # [s] over which the usual size of jumps is averaged
_LEAST_JUMP = math.radians(0.3), 0.2  # [rad/s], [m/s^2]: what a chip's noise is taken for
_FORCE_JUMP = 2.0  # [m/s^2] of a fault of the accelerometer that begins
_KNOCK = 3.0  # odds of both sensors' jumps from which it is no fault that begins


@_part()
def _vigour(c, level):
    """Standard deviation of the base's acceleration [m/s²]; vibration is carried by a moderate motion."""
    return c[C_LEAST] * c[C_RATIO] ** (level if level < LEVELS - 1 else 2)


def begin(x, s, r, spread, weights, cov, turn, c, odds, w, up):
    """Forget everything: "up" is the filter's answer, and hypotheses have their `odds` (h,). Not compiled."""
    for array in (x, s, r, spread, cov, turn):
        array.fill(0.0)
    for h in range(len(x)):
        weights[h] = odds[h] / LEVELS
        x[h, UP] = c[C_GRAVITY] * up
        np.fill_diagonal(spread[h], c[C_LEVER] ** 2)
    for level in range(LEVELS):
        variance = _vigour(c, level) ** 2
        for kind in range(KINDS):
            cov[kind, level, UP, UP] = (_START_TILT * c[C_GRAVITY]) ** 2
            cov[kind, level, VELOCITY, VELOCITY] = 3.0 * variance / c[C_PACE] ** 2
            cov[kind, level, ACCELERATION, ACCELERATION] = variance
            cov[kind, level, JERK, JERK] = 3.0 * variance * c[C_PACE] ** 2
        cov[BIASED, level, DRIFT, DRIFT] = (c[C_GRAVITY] * c[C_BIAS]) ** 2
        cov[UNSEEN, level, DRIFT, DRIFT] = (c[C_GRAVITY] * c[C_TURN]) ** 2
    turn[RATE : RATE + 3] = w
    turn[FORCE] = math.nan
    turn[RATE_ODDS] = turn[FORCE_ODDS] = 1.0
    turn[STARTED] = 1.0


def beforehand(c, count):
    """(count,) odds of the hypotheses of a board that nothing is known of: mistakes are made before one is switched on.

    Not compiled."""
    odds = np.full(count, _BEGINNING * c[C_HAZARD])
    odds[HEALTHY] = 1.0
    odds[MISTAKEN:] = c[C_MISTAKEN] / max(count - MISTAKEN, 1)
    return odds / odds.sum()


@_part()
def _hazard(c, h, count):
    """Rate at which a healthy board becomes that of a hypothesis [1/s]; all mistakes share one."""
    return c[C_HAZARD] / (count - MISTAKEN) if h >= MISTAKEN else c[C_HAZARD]


@_part()
def _transition(F, c, kind, dt):
    """F of one step: the base's velocity is a process with a triple pole at the pace, without a mean of its own."""
    p = c[C_PACE]
    for i in range(ORDER):
        for j in range(ORDER):
            F[i, j] = 1.0 if i == j else 0.0
    F[VELOCITY, ACCELERATION], F[VELOCITY, JERK] = dt, 0.5 * dt * dt
    F[ACCELERATION, VELOCITY] = -0.5 * dt * dt * p**3
    F[ACCELERATION, ACCELERATION] = 1.0 - 1.5 * dt * dt * p * p
    F[ACCELERATION, JERK] = dt - 1.5 * dt * dt * p
    F[JERK, VELOCITY], F[JERK, ACCELERATION], F[JERK, JERK] = -dt * p**3, -3.0 * dt * p * p, 1.0 - 3.0 * dt * p
    if kind != HEALTHY:
        F[UP, DRIFT] = dt
    if kind == UNSEEN:
        F[DRIFT, DRIFT] = math.exp(-dt / c[C_TURN_TIME])


@_part()
def _add_noise(P, c, kind, level, dt, rate, forgotten):
    """What a step adds to the covariance of a kind at a level; `forgotten` is the share of the drift that is new."""
    g, p = c[C_GRAVITY], c[C_PACE]
    P[UP, UP] += dt * g * g * (c[C_WANDER] ** 2 + (c[C_SCALE] * rate) ** 2)
    P[JERK, JERK] += dt * 16.0 * p**3 * _vigour(c, level) ** 2
    if kind == BIASED:
        P[DRIFT, DRIFT] += dt * (g * c[C_BIAS_WALK]) ** 2
    elif kind == UNSEEN:
        P[DRIFT, DRIFT] += forgotten * (g * c[C_TURN]) ** 2


@_part()
def _step_covariances(cov, gains, variances, c, dt, rate):
    """One step and one reading for each kind and level: their covariances, gains, and innovations' variances."""
    F = np.empty((ORDER, ORDER))
    left, P = np.empty((ORDER, ORDER)), np.empty((ORDER, ORDER))
    column = np.empty(ORDER)
    for kind in range(KINDS):
        _transition(F, c, kind, dt)
        for level in range(LEVELS):
            _sandwich(F, cov[kind, level], left, P)
            _add_noise(P, c, kind, level, dt, rate, 1.0 - F[DRIFT, DRIFT] ** 2)
            for i in range(ORDER):
                column[i] = P[i, UP] + P[i, ACCELERATION]
            noise = c[C_NOISE] if level < LEVELS - 1 else c[C_VIBRATION]
            total = column[UP] + column[ACCELERATION] + noise**2
            variances[kind, level] = total
            for i in range(ORDER):
                gains[kind, level, i] = column[i] / total
                for j in range(ORDER):
                    cov[kind, level, i, j] = P[i, j] - column[i] * column[j] / total


@_part()
def _sandwich(F, P, left, result):
    """result ← F P Fᵀ, with `left` to work in."""
    for i in range(ORDER):
        for j in range(ORDER):
            left[i, j] = 0.0
        for k in range(ORDER):
            if F[i, k] != 0.0:
                for j in range(ORDER):
                    left[i, j] += F[i, k] * P[k, j]
    for i in range(ORDER):
        for j in range(ORDER):
            total = 0.0
            for k in range(ORDER):
                total += left[i, k] * F[j, k]
            result[i, j] = total


@_part()
def _switch(x, s, r, spread, weights, turn, c, dt, doubt):
    """Boards break and are mended, and bases move more or less: weights flow, and with them what is known."""
    count = len(x)
    total = 0.0
    for h in range(count):
        total += _sum(weights, h)
    for h in range(count):
        for level in range(LEVELS):
            weights[h, level] /= total
    healthy = _sum(weights, HEALTHY)
    mended = 0.0
    back = min(c[C_REPAIR] * dt, 0.5)
    for h in range(1, count):
        odds = max(turn[RATE_ODDS], turn[FORCE_ODDS]) if h >= MISTAKEN else turn[RATE_ODDS]
        inflow = min(_hazard(c, h, count) * dt * odds, 0.5)
        if h == UNSEEN:
            inflow *= _silence(turn, c)
            inflow += min(doubt * c[C_DOUBT], 0.5)
        own = _sum(weights, h)
        arriving = healthy * inflow
        new = arriving / (arriving + own * (1.0 - back) + 1e-300)
        mended += own * back
        _mix(x, s, r, spread, h, new, own * back / (healthy + mended + 1e-300))
        for level in range(LEVELS):
            returning = weights[h, level] * back
            weights[h, level] += weights[HEALTHY, level] * inflow - returning
            weights[HEALTHY, level] += returning - weights[HEALTHY, level] * inflow
    share = min(c[C_CHANGE] * dt, 0.5)
    for h in range(count):
        mean = _sum(weights, h) / LEVELS
        for level in range(LEVELS):
            weights[h, level] += share * (mean - weights[h, level])


@_part()
def _silence(turn, c):
    """How likely a gyroscope that tells nothing of turns reads what it reads, relative to the likeliest reading."""
    squared = turn[RATE] ** 2 + turn[RATE + 1] ** 2 + turn[RATE + 2] ** 2
    return math.exp(-0.5 * squared / c[C_SILENCE] ** 2)


@_part()
def _sum(weights, h):
    """Weight of a hypothesis: of all its levels."""
    total = 0.0
    for level in range(LEVELS):
        total += weights[h, level]
    return total


@_part()
def _mix(x, s, r, spread, h, new, mended):
    """Means of a hypothesis move towards the healthy one's by the share that is new, and the healthy one's back."""
    for i in range(3):
        for at in range(ORDER - 1):
            here, there = x[h, at, i], x[HEALTHY, at, i]
            x[h, at, i] += new * (there - here)
            x[HEALTHY, at, i] += mended * (x[h, at, i] - there)
        x[h, DRIFT, i] *= 1.0 - new
        r[h, i] += new * (r[HEALTHY, i] - r[h, i])
        r[HEALTHY, i] += mended * (r[h, i] - r[HEALTHY, i])
        for j in range(3):
            spread[h, i, j] += new * (spread[HEALTHY, i, j] - spread[h, i, j])
            spread[HEALTHY, i, j] += mended * (spread[h, i, j] - spread[HEALTHY, i, j])
            for at in range(ORDER - 1):
                s[h, at, i, j] += new * (s[HEALTHY, at, i, j] - s[h, at, i, j])


@_part()
def _product(matrix, v, result):
    for i in range(3):
        result[i] = matrix[i, 0] * v[0] + matrix[i, 1] * v[1] + matrix[i, 2] * v[2]


@_part()
def _turned_back(x, y, z, w, sine, versine):
    """A vector, turned as the world turns for a board that turns by w: exp(−[w] dt) v."""
    cx, cy, cz = w[1] * z - w[2] * y, w[2] * x - w[0] * z, w[0] * y - w[1] * x
    return (
        x - sine * cx + versine * (w[1] * cz - w[2] * cy),
        y - sine * cy + versine * (w[2] * cx - w[0] * cz),
        z - sine * cz + versine * (w[0] * cy - w[1] * cx),
    )


@_part()
def _moved(v, a, j, p, dt):
    """One component of the base's velocity, acceleration and jerk after a step; see `_transition`."""
    change = -(p**3) * v - 3.0 * p * p * a - 3.0 * p * j
    return v + dt * a + 0.5 * dt * dt * j, a + dt * j + 0.5 * dt * dt * change, j + dt * change


@_part()
def _carry(state, answer, c, w, dt, step, kind):
    """All of a hypothesis one sample on; w: what the rates are by it, dt, step: for turns and for the motion [s]."""
    rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    sine, versine = dt, 0.0
    if rate > 1e-9:
        sine, versine = math.sin(rate * dt) / rate, (1.0 - math.cos(rate * dt)) / rate**2
    for at in range(ORDER - 1):
        state[at, 0], state[at, 1], state[at, 2] = _turned_back(
            state[at, 0], state[at, 1], state[at, 2], w, sine, versine
        )
        for k in range(3):
            answer[at, 0, k], answer[at, 1, k], answer[at, 2, k] = _turned_back(
                answer[at, 0, k], answer[at, 1, k], answer[at, 2, k], w, sine, versine
            )
    for i in range(3):
        state[VELOCITY, i], state[ACCELERATION, i], state[JERK, i] = _moved(
            state[VELOCITY, i], state[ACCELERATION, i], state[JERK, i], c[C_PACE], step
        )
        for k in range(3):
            answer[VELOCITY, i, k], answer[ACCELERATION, i, k], answer[JERK, i, k] = _moved(
                answer[VELOCITY, i, k], answer[ACCELERATION, i, k], answer[JERK, i, k], c[C_PACE], step
            )
    if kind != HEALTHY:
        for i in range(3):
            state[UP, i] += step * state[DRIFT, i]
            if kind == UNSEEN:
                state[DRIFT, i] *= math.exp(-step / c[C_TURN_TIME])


@_part()
def _lever_force(w, change, L):
    """L of the force L r at a lever r: [dω/dt]× + [ω]×[ω]×."""
    squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    for i in range(3):
        for k in range(3):
            L[i, k] = w[i] * w[k] - (squared if i == k else 0.0)
    L[0, 1] -= change[2]
    L[0, 2] += change[1]
    L[1, 0] += change[2]
    L[1, 2] -= change[0]
    L[2, 0] -= change[1]
    L[2, 1] += change[0]


@_part()
def _innovation(state, answer, lever, spread, L, f, E, e):
    """e = f − what was expected, its Jacobian E by the lever; |e|² and the variance of the lever's part of one axis."""
    squared = variance = 0.0
    for i in range(3):
        e[i] = f[i] - state[UP, i] - state[ACCELERATION, i]
        for k in range(3):
            E[i, k] = answer[UP, i, k] + answer[ACCELERATION, i, k] + L[i, k]
            e[i] -= L[i, k] * lever[k]
        squared += e[i] * e[i]
        for k in range(3):
            for m in range(3):
                variance += E[i, k] * spread[k, m] * E[i, m] / 3.0
    return squared, variance


@_part()
def _weigh(weights, h, variances, c, squared, lever_variance, share):
    """Weights of a hypothesis' levels times the likelihood of its innovation; the log of their sum's growth.

    Student's t: real sensors have outliers. `share`: how much of a sample is news, as errors of models last.
    """
    before = _sum(weights, h)
    for level in range(LEVELS):
        variance = variances[level] + lever_variance
        log = -1.5 * math.log(variance) - 0.5 * (c[C_TAIL] + 3.0) * math.log1p(squared / (c[C_TAIL] * variance))
        weights[h, level] *= math.exp(share * log)
    return math.log(_sum(weights, h) / (before + 1e-300) + 1e-300)


@_part()
def _mean_vigour(weights, h, c):
    """The acceleration that a hypothesis needs to explain what is felt [m/s²]."""
    total = 0.0
    for level in range(LEVELS):
        total += weights[h, level] * (_vigour(c, level) if level < LEVELS - 1 else c[C_VIBRATION])
    return total / (_sum(weights, h) + 1e-300)


@_part()
def _correct(state, answer, weights, h, gains, variances, e, E):
    """Kalman's correction by the mean gain of the levels; the innovation's mean variance."""
    total = _sum(weights, h) + 1e-300
    variance = 0.0
    for level in range(LEVELS):
        variance += weights[h, level] * variances[level] / total
    for at in range(ORDER):
        gain = 0.0
        for level in range(LEVELS):
            gain += weights[h, level] * gains[level, at] / total
        for i in range(3):
            state[at, i] += gain * e[i]
            if at < ORDER - 1:
                for k in range(3):
                    answer[at, i, k] -= gain * E[i, k]
    return variance


@_part()
def _learn_lever(state, answer, lever, spread, e, E, variance):
    """Least squares for the lever, one axis of the innovation after the other; the state answers to its change."""
    column, step = np.empty(3), np.zeros(3)
    for i in range(3):
        total, rest = variance, e[i]
        for k in range(3):
            column[k] = spread[k, 0] * E[i, 0] + spread[k, 1] * E[i, 1] + spread[k, 2] * E[i, 2]
        for k in range(3):
            total += E[i, k] * column[k]
            rest -= E[i, k] * step[k]
        for k in range(3):
            step[k] += column[k] * rest / total
            for m in range(3):
                spread[k, m] -= column[k] * column[m] / total
    for k in range(3):
        lever[k] += step[k]
        for at in range(ORDER - 1):
            for i in range(3):
                state[at, i] += answer[at, i, k] * step[k]


@_part()
def _angle(a, b):
    """Between two vectors [rad]."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    return math.atan2(math.sqrt(x * x + y * y + z * z), a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@_part()
def _farness(angle, variance, c):
    """Whether an answer that is so by this angle, give or take, is far off, 0…1."""
    off = (math.sqrt(angle * angle + variance) - c[C_NEAR]) / (c[C_FAR] - c[C_NEAR])
    return min(max(off, 0.0), 1.0)


@_part()
def _variance_of_up(s, spread, weights, cov, c, h):
    """Of the direction of "up" by a hypothesis, by its covariance and by the lever [rad²]."""
    kind, total, weight = h if h < KINDS else HEALTHY, 0.0, _sum(weights, h) + 1e-300
    for i in range(3):
        for k in range(3):
            for m in range(3):
                total += s[h, UP, i, k] * spread[h, k, m] * s[h, UP, i, m] * 2.0 / 3.0
    for level in range(LEVELS):
        total += 2.0 * cov[kind, level, UP, UP] * weights[h, level] / weight
    return total / c[C_GRAVITY] ** 2


@_part()
def _farness_of_mistake(matrix, v, up, variance, c):
    """The gyroscope makes the mistake, or the accelerometer one that looks the same: ± the matrix of a rotation.

    An accelerometer that is read through P sees rates of det(P) P, and the true "up" is Pᵀ times the one that it sees.
    """
    far, volume = _farness(_angle(v, up), variance, c), 0.0
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        volume += matrix[0, k] * (matrix[1, i] * matrix[2, j] - matrix[1, j] * matrix[2, i])
    if abs(volume - 1.0) > 1e-6:
        return far
    true = np.empty(3)
    for i in range(3):
        true[i] = matrix[0, i] * v[0] + matrix[1, i] * v[1] + matrix[2, i] * v[2]
    angle = _angle(true, up)
    return (far + _farness(angle, variance, c) + _farness(math.pi - angle, variance, c)) / 3.0


@_part()
def _probability_of_far(x, s, spread, weights, cov, matrices, up, c):
    """How likely "up" is far from the answer, by what all hypotheses but the healthy one say."""
    far, total = 0.0, _sum(weights, HEALTHY)
    for h in range(1, len(x)):
        weight, variance = _sum(weights, h), _variance_of_up(s, spread, weights, cov, c, h)
        if h < MISTAKEN:
            far += weight * _farness(_angle(x[h, UP], up), variance, c)
        else:
            far += weight * _farness_of_mistake(matrices[h], x[h, UP], up, variance, c)
        total += weight
    return far / total


@_part()
def _squared_lever(lever, spread):
    """Mean square of a lever's length [m²]."""
    total = 0.0
    for i in range(3):
        total += lever[i] ** 2 + spread[i, i]
    return total


@_part()
def _feel(x, s, r, spread, weights, gains, variances, c, matrices, turn, dt, w, f):
    """One sample in every hypothesis: carried on, weighed and corrected."""
    rates, change, e = np.empty(3), np.empty(3), np.empty(3)
    L, E = np.empty((3, 3)), np.empty((3, 3))
    share, step, reference = min(1.0, dt * c[C_SAMPLES]), min(dt, _LONGEST), 0.0
    unsure = c[C_ONSET] * turn[CHANGE_ERROR] * _squared_lever(r[HEALTHY], spread[HEALTHY])
    for h in range(len(x)):
        kind = h if h < KINDS else HEALTHY
        _product(matrices[h], w, rates)
        _product(matrices[h], turn[RATE_CHANGE:], change)
        _carry(x[h], s[h], c, rates, dt, step, kind)
        _lever_force(rates, change, L)
        for i in range(3):
            spread[h, i, i] += step * c[C_LEVER_WALK] ** 2
        squared, lever_variance = _innovation(x[h], s[h], r[h], spread[h], L, f, E, e)
        growth = _weigh(weights, h, variances[kind], c, squared, lever_variance + unsure, share)
        if h == HEALTHY:
            reference = growth
        else:
            vigour = max(_mean_vigour(weights, h, c) ** 2, turn[RADIAL]) / c[C_CALM] ** 2
            news = 1.0 / (1.0 + vigour * vigour)
            for level in range(LEVELS):
                weights[h, level] *= math.exp((1.0 - news) * (reference - growth))
        variance = _correct(x[h], s[h], weights, h, gains[kind], variances[kind], e, E)
        _learn_lever(x[h], s[h], r[h], spread[h], e, E, variance / share)


@_part()
def _keep_lengths(x, c, dt, up):
    """Gravity has one length; the healthy hypothesis follows the filter, which knows more than this bank.

    Where the two are apart by little, it is left to what the accelerometer says, as all others are: its bias is theirs.
    """
    for h in range(len(x)):
        v = x[h, UP]
        if h == HEALTHY:
            squared = 0.0
            for i in range(3):
                squared += (up[i] - v[i] / c[C_GRAVITY]) ** 2
            pull = min(dt / c[C_FOLLOW], 1.0) * squared / (squared + c[C_FREE] ** 2)
            for i in range(3):
                v[i] += pull * (c[C_GRAVITY] * up[i] - v[i])
        factor = c[C_GRAVITY] / (math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + 1e-9)
        for i in range(3):
            v[i] *= factor


@_part()
def _odds_of_jump(squared, usual, size, c):
    """How much likelier a jump is where a fault of a size begins than where none does; 1 at least, as it need not."""
    tail, broken = c[C_TAIL], usual + size * size
    healthy = -1.5 * math.log(usual) - 0.5 * (tail + 3.0) * math.log1p(squared / (tail * usual))
    begins = -1.5 * math.log(broken) - 0.5 * (tail + 3.0) * math.log1p(squared / (tail * broken))
    return min(max(math.exp(min(begins - healthy, 50.0)), 1.0), c[C_JUMP_ODDS])


@_part()
def _watch_jumps(turn, c, dt, w, f):
    """Of rates and force, by what their last changes foretell; what both sensors feel is a knock."""
    of_rate = of_force = 0.0
    for i in range(3):
        slope, force_slope = (w[i] - turn[RATE + i]) / dt, (f[i] - turn[FORCE + i]) / dt
        of_rate += (dt * (slope - turn[RATE_SLOPE + i])) ** 2
        of_force += (dt * (force_slope - turn[FORCE_SLOPE + i])) ** 2
        turn[RATE_SLOPE + i], turn[FORCE_SLOPE + i] = slope, force_slope
    rate_odds = _odds_of_jump(of_rate, turn[RATE_JUMP] + _LEAST_JUMP[0] ** 2, c[C_JUMP], c)
    force_odds = _odds_of_jump(of_force, turn[FORCE_JUMP] + _LEAST_JUMP[1] ** 2, _FORCE_JUMP, c)
    new, knock = dt / (_JUMP_TIME + dt), min(rate_odds, force_odds) > _KNOCK
    turn[RATE_JUMP] += new * (of_rate / 3.0 - turn[RATE_JUMP])
    turn[FORCE_JUMP] += new * (of_force / 3.0 - turn[FORCE_JUMP])
    turn[RATE_ODDS], turn[FORCE_ODDS] = (1.0, 1.0) if knock else (rate_odds, force_odds)


@_part()
def _watch(turn, c, dt, w, f):
    """Jumps, the rate's change, and how far the force's length is from g, which no wrong rate makes."""
    if not math.isnan(turn[FORCE]):
        _watch_jumps(turn, c, dt, w, f)
    missed = 0.0
    for i in range(3):
        change = (w[i] - turn[RATE + i]) / dt
        missed += (change - turn[RATE_CHANGE + i]) ** 2
        turn[RATE_CHANGE + i] += dt / (_CHANGE_TIME + dt) * (change - turn[RATE_CHANGE + i])
        turn[RATE + i] = w[i]
        turn[FORCE + i] = f[i]
    turn[CHANGE_ERROR] = max(missed, turn[CHANGE_ERROR] * math.exp(-dt / _CHANGE_TIME))
    off = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]) - c[C_GRAVITY]
    turn[RADIAL] += dt / (_RADIAL_TIME + dt) * (off * off - turn[RADIAL])


@kernel(error_model="numpy")
def step(x, s, r, spread, weights, cov, turn, c, matrices, dt, w, f, up, doubt):
    """One sample after `begin`; the probability that "up" is far from the answer `up`.

    Args:
        x, s, r, spread, weights, cov, turn: state, see the module's docstring; weights (h, LEVELS), turn (TURN,).
        c: coefficients.
        matrices: (h, 3, 3) true rates from what the gyroscope says, by each hypothesis.
        dt: since the last sample [s].
        w, f, up: (3,) rates without the known bias, specific force, the filter's answer, in the frame of the board.
        doubt: by which this sample may have turned the answer [rad].
    """
    _watch(turn, c, dt, w, f)
    gains, variances = np.empty((KINDS, LEVELS, ORDER)), np.empty((KINDS, LEVELS))
    rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    _step_covariances(cov, gains, variances, c, min(dt, _LONGEST), rate)
    _switch(x, s, r, spread, weights, turn, c, dt, doubt)
    _feel(x, s, r, spread, weights, gains, variances, c, matrices, turn, dt, w, f)
    _keep_lengths(x, c, dt, up)
    return _probability_of_far(x, s, spread, weights, cov, matrices, up, c)
