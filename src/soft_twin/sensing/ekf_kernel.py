"""The arithmetic of the orientation filter, compiled; `ekf.py` says what it computes.

State vectors are flat arrays. Nominal state (22,): quaternion w, x, y, z (sensor → world), gyroscope bias b [rad/s],
the nine entries of the gyroscope's matrix error S row by row, velocity v [m/s], position p [m]. Error state (21,):
θ (world axes), b, S, v, p.
"""

import math
from functools import partial

import numpy as np

from soft_twin.linear_algebra.compiled import kernel, part

_part = partial(part, error_model="numpy")

# Nominal state
Q, B, S, V, P = 0, 4, 7, 16, 19
NOMINAL = 22
# Error state
TH, EB, ES, EV, EP = 0, 3, 6, 15, 18
ERROR = 21
# Sums since the last covariance step
ELAPSED, FORCE, TURN, RATED_TURN, RATE_SQUARED, EXCESS_SQUARED = 0, 1, 4, 13, 40, 41
PENDING = 42
# Rest detection: low-passed rate and specific force, time at rest, whether the last covariance step was at rest, and
# the force low-passed once more, more slowly
REST_RATE, REST_FORCE, REST_TIME, REST_STARTED, RESTED, REST_SLOWLY = 0, 3, 6, 7, 8, 9
REST = 12
# What the last covariance step saw
NIS, VIGOUR = 0, 1
MONITOR = 2
# Coefficients
(
    C_INTERVAL,
    C_GRAVITY,
    C_GYRO,
    C_GYRO_SCALE,
    C_BIAS_WALK,
    C_BIAS_JUMP,
    C_MATRIX_WALK,
    C_ACC,
    C_ACC_SCALE,
    C_POSITION,
    C_VELOCITY,
    C_CORRELATION,
    C_LEAK,
    C_REST_TAU,
    C_REST_RATE,
    C_REST_FORCE,
    C_REST_TIME,
    C_STILL_RATE,
    C_STILL_VELOCITY,
    C_GATE,
    C_VIGOUR_TAU,
    C_VIGOUR_LIMIT,
    C_LOST_TILT,
    C_TILT,
    C_TURN_TAU,
    C_TURN,
) = range(26)
COEFFICIENTS = 26


@_part()
def _turn_in_body(x, turn_x, turn_y, turn_z):
    """q ← q ⊗ exp(turn): a turn about the body's axes."""
    angle = math.sqrt(turn_x * turn_x + turn_y * turn_y + turn_z * turn_z)
    half_sinc = math.sin(0.5 * angle) / angle if angle > 1e-12 else 0.5
    c, a, b, d = math.cos(0.5 * angle), half_sinc * turn_x, half_sinc * turn_y, half_sinc * turn_z
    w, i, j, k = x[Q], x[Q + 1], x[Q + 2], x[Q + 3]
    x[Q] = w * c - i * a - j * b - k * d
    x[Q + 1] = w * a + i * c + j * d - k * b
    x[Q + 2] = w * b - i * d + j * c + k * a
    x[Q + 3] = w * d + i * b - j * a + k * c


@_part()
def _turn_in_world(x, turn_x, turn_y, turn_z):
    """q ← exp(turn) ⊗ q, normalised: a turn about the world's axes."""
    angle = math.sqrt(turn_x * turn_x + turn_y * turn_y + turn_z * turn_z)
    half_sinc = math.sin(0.5 * angle) / angle if angle > 1e-12 else 0.5
    c, a, b, d = math.cos(0.5 * angle), half_sinc * turn_x, half_sinc * turn_y, half_sinc * turn_z
    w, i, j, k = x[Q], x[Q + 1], x[Q + 2], x[Q + 3]
    w, i, j, k = (
        c * w - a * i - b * j - d * k,
        c * i + a * w + b * k - d * j,
        c * j - a * k + b * w + d * i,
        c * k + a * j - b * i + d * w,
    )
    size = 1.0 / math.sqrt(w * w + i * i + j * j + k * k)
    x[Q], x[Q + 1], x[Q + 2], x[Q + 3] = w * size, i * size, j * size, k * size


@_part()
def _matrix(x):
    """The nine entries of R(q), row by row."""
    w, i, j, k = x[Q], x[Q + 1], x[Q + 2], x[Q + 3]
    return (
        1.0 - 2.0 * (j * j + k * k),
        2.0 * (i * j - w * k),
        2.0 * (i * k + w * j),
        2.0 * (i * j + w * k),
        1.0 - 2.0 * (i * i + k * k),
        2.0 * (j * k - w * i),
        2.0 * (i * k - w * j),
        2.0 * (j * k + w * i),
        1.0 - 2.0 * (i * i + j * j),
    )


@_part()
def _add_turns(pending, x, i, rx, ry, rz, ux, uy, uz):
    """Row i of ∫ R (I − S) and of ∫ R_ik u_l, by which errors of bias and matrix turn; r is R's row times dt."""
    for j in range(3):
        pending[TURN + 3 * i + j] -= rx * x[S + j] + ry * x[S + 3 + j] + rz * x[S + 6 + j]
    pending[TURN + 3 * i] += rx
    pending[TURN + 3 * i + 1] += ry
    pending[TURN + 3 * i + 2] += rz
    row = RATED_TURN + 9 * i
    pending[row] += rx * ux
    pending[row + 1] += rx * uy
    pending[row + 2] += rx * uz
    pending[row + 3] += ry * ux
    pending[row + 4] += ry * uy
    pending[row + 5] += ry * uz
    pending[row + 6] += rz * ux
    pending[row + 7] += rz * uy
    pending[row + 8] += rz * uz


@_part()
def integrate(x, pending, c, dt, gyr, acc):
    """Move the nominal state by one sample and add its share to the sums of the next covariance step.

    Rate and force are the means over the step that ends with the sample: the force acts in the orientation at the
    step's middle, half a turn back from its end.
    """
    ux, uy, uz = gyr[0] - x[B], gyr[1] - x[B + 1], gyr[2] - x[B + 2]
    rate_x = ux - (x[S] * ux + x[S + 1] * uy + x[S + 2] * uz)
    rate_y = uy - (x[S + 3] * ux + x[S + 4] * uy + x[S + 5] * uz)
    rate_z = uz - (x[S + 6] * ux + x[S + 7] * uy + x[S + 8] * uz)
    _turn_in_body(x, dt * rate_x, dt * rate_y, dt * rate_z)
    r = _matrix(x)
    back = -0.5 * dt
    fx = acc[0] + back * (rate_y * acc[2] - rate_z * acc[1])
    fy = acc[1] + back * (rate_z * acc[0] - rate_x * acc[2])
    fz = acc[2] + back * (rate_x * acc[1] - rate_y * acc[0])
    leak = 1.0 - dt / c[C_LEAK]
    excess = 0.0
    for i in range(3):
        force = r[3 * i] * fx + r[3 * i + 1] * fy + r[3 * i + 2] * fz
        kinematic = force - c[C_GRAVITY] if i == 2 else force
        x[P + i] = leak * x[P + i] + dt * (x[V + i] + 0.5 * dt * kinematic)
        x[V + i] += dt * kinematic
        excess += kinematic * kinematic
        pending[FORCE + i] += dt * force
        _add_turns(pending, x, i, dt * r[3 * i], dt * r[3 * i + 1], dt * r[3 * i + 2], ux, uy, uz)
    pending[ELAPSED] += dt
    pending[RATE_SQUARED] += dt * (rate_x * rate_x + rate_y * rate_y + rate_z * rate_z)
    pending[EXCESS_SQUARED] += dt * excess


@_part()
def watch_rest(rest, c, dt, gyr, acc):
    """Follow rate and specific force by a low-pass; at rest both stay near it."""
    if rest[REST_STARTED] == 0.0:
        rest[REST_STARTED] = 1.0
        for i in range(3):
            rest[REST_RATE + i] = gyr[i]
            rest[REST_FORCE + i] = acc[i]
    share = dt / (c[C_REST_TAU] + dt)
    rate_deviation = 0.0
    force_deviation = 0.0
    for i in range(3):
        rest[REST_RATE + i] += share * (gyr[i] - rest[REST_RATE + i])
        rest[REST_FORCE + i] += share * (acc[i] - rest[REST_FORCE + i])
        rate_deviation += (gyr[i] - rest[REST_RATE + i]) ** 2
        force_deviation += (acc[i] - rest[REST_FORCE + i]) ** 2
    if rate_deviation < c[C_REST_RATE] ** 2 and force_deviation < c[C_REST_FORCE] ** 2:
        rest[REST_TIME] += dt
    else:
        rest[REST_TIME] = 0.0
    settled = rest[REST_TIME] > 2.0 * c[C_REST_TAU]
    slow_share = dt / (c[C_TURN_TAU] + dt) if settled else 1.0
    for i in range(3):
        rest[REST_SLOWLY + i] += slow_share * (rest[REST_FORCE + i] - rest[REST_SLOWLY + i])


@_part()
def transition(pending, c, F):
    """F of one covariance step, (21, 21): the Jacobian of the error state over the time of the sums."""
    duration = pending[ELAPSED]
    force_x, force_y, force_z = pending[FORCE], pending[FORCE + 1], pending[FORCE + 2]
    skew = ((0.0, -force_z, force_y), (force_z, 0.0, -force_x), (-force_y, force_x, 0.0))
    for i in range(ERROR):
        for j in range(ERROR):
            F[i, j] = 1.0 if i == j else 0.0
    for i in range(3):
        for j in range(3):
            F[TH + i, EB + j] = -pending[TURN + 3 * i + j]
            F[EV + i, TH + j] = -skew[i][j]
            F[EP + i, TH + j] = -0.5 * duration * skew[i][j]
        for j in range(9):
            F[TH + i, ES + j] = -pending[RATED_TURN + 9 * i + j]
        F[EP + i, EV + i] = duration
        F[EP + i, EP + i] = 1.0 - duration / c[C_LEAK]


@_part()
def _apply_transition(M, pending, leak, k):
    """Column k of M ← F M, block by block: the zeros of F are not touched."""
    duration = pending[ELAPSED]
    fx, fy, fz = pending[FORCE], pending[FORCE + 1], pending[FORCE + 2]
    tx, ty, tz = M[TH, k], M[TH + 1, k], M[TH + 2, k]
    dv_x, dv_y, dv_z = fz * ty - fy * tz, fx * tz - fz * tx, fy * tx - fx * ty
    M[EP, k] = leak * M[EP, k] + duration * (M[EV, k] + 0.5 * dv_x)
    M[EP + 1, k] = leak * M[EP + 1, k] + duration * (M[EV + 1, k] + 0.5 * dv_y)
    M[EP + 2, k] = leak * M[EP + 2, k] + duration * (M[EV + 2, k] + 0.5 * dv_z)
    M[EV, k] += dv_x
    M[EV + 1, k] += dv_y
    M[EV + 2, k] += dv_z
    bx, by, bz = M[EB, k], M[EB + 1, k], M[EB + 2, k]
    for i in range(3):
        row = TURN + 3 * i
        turn = pending[row] * bx + pending[row + 1] * by + pending[row + 2] * bz
        for j in range(9):
            turn += pending[RATED_TURN + 9 * i + j] * M[ES + j, k]
        M[TH + i, k] -= turn


@_part()
def _transpose(C):
    for i in range(ERROR):
        for j in range(i):
            C[i, j], C[j, i] = C[j, i], C[i, j]


@_part()
def propagate(C, pending, c):
    """Covariance C ← F C Fᵀ + N."""
    duration = pending[ELAPSED]
    leak = 1.0 - duration / c[C_LEAK]
    for _ in range(2):  # C symmetric: F C Fᵀ = F (F C)ᵀ
        for k in range(ERROR):
            _apply_transition(C, pending, leak, k)
        _transpose(C)
    turn_noise = duration * c[C_GYRO] ** 2 + pending[RATE_SQUARED] * c[C_GYRO_SCALE] ** 2
    velocity_noise = duration * c[C_ACC] ** 2 + pending[EXCESS_SQUARED] * c[C_ACC_SCALE] ** 2
    for i in range(3):
        C[TH + i, TH + i] += turn_noise
        C[EB + i, EB + i] += duration * c[C_BIAS_WALK] ** 2
        C[EV + i, EV + i] += velocity_noise
    for i in range(9):
        C[ES + i, ES + i] += duration * c[C_MATRIX_WALK] ** 2


@_part()
def correct(x, C, k, innovation, variance):
    """One scalar measurement of entry k of the error state, its innovation and its noise's variance."""
    total = C[k, k] + variance
    column = np.empty(ERROR)
    for i in range(ERROR):
        column[i] = C[i, k]
    inverse = 1.0 / total
    for i in range(ERROR):
        gain = column[i] * inverse
        for j in range(i + 1):
            C[i, j] -= gain * column[j]
            C[j, i] = C[i, j]
    step = innovation * inverse
    _turn_in_world(x, step * column[TH], step * column[TH + 1], step * column[TH + 2])
    for i in range(ERROR - 3):
        x[B + i] += step * column[EB + i]


@_part()
def step_covariance(x, C, pending, rest, monitor, c):
    """Covariance and corrections for the time of the sums, then clear them."""
    duration = pending[ELAPSED]
    resting = rest[REST_TIME] >= c[C_REST_TIME]
    propagate(C, pending, c)
    if resting != (rest[RESTED] == 1.0):
        rest[RESTED] = 1.0 if resting else 0.0
        for i in range(3):
            C[EB + i, EB + i] += c[C_BIAS_JUMP] ** 2
    if monitor[VIGOUR] > c[C_VIGOUR_LIMIT]:
        for i in range(2):
            C[TH + i, TH + i] += duration * c[C_LOST_TILT] ** 2
    if resting and _misses_gravity(x, C, rest, c):
        level(x, C, pending, rest[REST_FORCE:], c[C_TILT])
        monitor[VIGOUR] = 0.0
    correct_motion(x, C, monitor, c, duration, resting)
    if resting:
        correct_at_rest(x, C, rest, c, duration)
    for i in range(PENDING):
        pending[i] = 0.0


@_part()
def _misses_gravity(x, C, rest, c):
    """Whether the force at rest knows more of the tilt than the filter, or says what its covariance does not allow."""
    doubt = C[TH, TH] + C[TH + 1, TH + 1]
    if doubt > 4.0 * c[C_TILT] ** 2:
        return True
    r = _matrix(x)
    fx, fy, fz = rest[REST_FORCE], rest[REST_FORCE + 1], rest[REST_FORCE + 2]
    up_x = r[0] * fx + r[1] * fy + r[2] * fz
    up_y = r[3] * fx + r[4] * fy + r[5] * fz
    up_z = r[6] * fx + r[7] * fy + r[8] * fz
    tilt = math.atan2(math.sqrt(up_x * up_x + up_y * up_y), up_z)
    return tilt**2 > c[C_GATE] ** 2 * doubt + c[C_TILT] ** 2


@_part()
def correct_motion(x, C, monitor, c, duration, resting):
    """Velocity and position are near zero: how near, follows the vigour of the motion."""
    velocity = c[C_STILL_VELOCITY] ** 2 if resting else c[C_VELOCITY] ** 2
    position = c[C_POSITION] ** 2
    plain = 0.0
    for i in range(3):
        plain += x[V + i] ** 2 / (C[EV + i, EV + i] + velocity)
        plain += x[P + i] ** 2 / (C[EP + i, EP + i] + position)
    monitor[VIGOUR] += min(duration / c[C_VIGOUR_TAU], 1.0) * (plain / 6.0 - monitor[VIGOUR])
    factor = min(max(monitor[VIGOUR], 1.0), c[C_VIGOUR_LIMIT])
    nis = 0.0
    correlation = max((c[C_REST_TAU] if resting else c[C_CORRELATION]) / duration, 1.0)
    for i in range(3):
        innovation = -x[V + i]
        nis += innovation**2 / (C[EV + i, EV + i] + factor * velocity)
        correct(x, C, EV + i, innovation, correlation * factor * velocity)
    correlation = max(c[C_CORRELATION] / duration, 1.0)
    for i in range(3):
        innovation = -x[P + i]
        nis += innovation**2 / (C[EP + i, EP + i] + factor * position)
        correct(x, C, EP + i, innovation, correlation * factor * position)
    monitor[NIS] = nis / 6.0


@_part()
def correct_at_rest(x, C, rest, c, duration):
    """Zero-rate update: at rest the low-passed rate is the bias, unless it, or the force, says a slow turn."""
    variance = c[C_STILL_RATE] ** 2
    turned = 0.0
    for i in range(3):
        turned += (rest[REST_FORCE + i] - rest[REST_SLOWLY + i]) ** 2
    if turned > (c[C_TURN] * c[C_TURN_TAU] * c[C_GRAVITY]) ** 2:
        return
    for i in range(3):
        if (rest[REST_RATE + i] - x[B + i]) ** 2 > c[C_GATE] ** 2 * (C[EB + i, EB + i] + variance):
            return
    correlation = max(c[C_REST_TAU] / duration, 1.0)
    for i in range(3):
        correct(x, C, EB + i, rest[REST_RATE + i] - x[B + i], correlation * variance)


@_part()
def level(x, C, pending, acc, tilt_std):
    """Turn the nominal orientation the shortest way to where `acc` points up; velocity and position start anew."""
    r = _matrix(x)
    up_x = r[0] * acc[0] + r[1] * acc[1] + r[2] * acc[2]
    up_y = r[3] * acc[0] + r[4] * acc[1] + r[5] * acc[2]
    up_z = r[6] * acc[0] + r[7] * acc[1] + r[8] * acc[2]
    sine = math.sqrt(up_x * up_x + up_y * up_y)
    angle = math.atan2(sine, up_z)
    axis_x, axis_y = (up_y / sine, -up_x / sine) if sine > 0.0 else (1.0, 0.0)
    _turn_in_world(x, angle * axis_x, angle * axis_y, 0.0)
    for i in (TH, TH + 1):
        for j in range(ERROR):
            C[i, j] = C[j, i] = 0.0
        C[i, i] = tilt_std**2
    forget_motion(x, C, pending, 0.0)


@_part()
def forget_motion(x, C, pending, velocity_std):
    """Velocity and position start anew, as if nothing had been felt since the last covariance step."""
    for i in range(3):
        x[V + i] = x[P + i] = pending[FORCE + i] = 0.0
    for i in range(EV, ERROR):
        for j in range(ERROR):
            C[i, j] = C[j, i] = 0.0
    for i in range(3):
        C[EV + i, EV + i] = velocity_std**2


@kernel(error_model="numpy")
def update(x, C, pending, rest, monitor, c, dt, gyr, acc):
    """One sample: move the nominal state; when an interval is full, covariance and corrections."""
    integrate(x, pending, c, dt, gyr, acc)
    watch_rest(rest, c, dt, gyr, acc)
    if pending[ELAPSED] >= c[C_INTERVAL] - 0.5 * dt:
        step_covariance(x, C, pending, rest, monitor, c)


@kernel(error_model="numpy")
def update_batch(x, C, pending, rest, monitor, c, steps, gyr, acc, first, quaternions, biases, variances, nis):
    """`update` over a recording from sample `first` on, each after its step [s]; how many NIS are in `nis`."""
    count = 0
    for n in range(len(gyr)):
        if n >= first:
            update(x, C, pending, rest, monitor, c, steps[n], gyr[n], acc[n])
            if pending[ELAPSED] == 0.0:
                nis[count] = monitor[NIS]
                count += 1
        for i in range(4):
            quaternions[n, i] = x[Q + i]
        for i in range(3):
            biases[n, i] = x[B + i]
            variances[n, i] = C[TH + i, TH + i]
    return count
