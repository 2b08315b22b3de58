"""Kinematics, energies and cables of a rod of constant strains, element by element; see twin.py for the formulas."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from soft_twin.errors import ConvergenceError
from soft_twin.linear_algebra.compiled import kernel


def solve_stiffness(hessian: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, bool]:
    """Solution of a symmetric system, and whether its matrix is positive definite; another one is shifted along its own
    diagonal."""
    for shift in (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0):
        shifted = hessian + np.diag(shift * np.abs(np.diag(hessian))) if shift else hessian
        factor, info = dpotrf(shifted, lower=1)
        if info == 0 and np.isfinite(factor).all():
            return dpotrs(factor, right, lower=1)[0], not shift
    raise ConvergenceError("the rod's stiffness matrix is not finite: the rod is folded or a load is not a number")


@kernel()
def dot(a, b):
    """a · b, of vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel()
def add_cross(a, b, total):
    """Add a × b, of vectors (3,), to `total` (3,)."""
    total[0] += a[1] * b[2] - a[2] * b[1]
    total[1] += a[2] * b[0] - a[0] * b[2]
    total[2] += a[0] * b[1] - a[1] * b[0]


@kernel()
def coefficients(t):
    """(1 − cos θ)/θ², (θ − sin θ)/θ³ and their derivatives by t = θ², as series: good to 1e-9 for θ < 1."""
    A = 0.5 - t / 24.0 + t**2 / 720.0 - t**3 / 40320.0 + t**4 / 3628800.0
    B = 1.0 / 6.0 - t / 120.0 + t**2 / 5040.0 - t**3 / 362880.0 + t**4 / 39916800.0
    dA = -1.0 / 24.0 + t / 360.0 - t**2 / 13440.0 + t**3 / 907200.0
    dB = -1.0 / 120.0 + t / 2520.0 - t**2 / 120960.0 + t**3 / 9979200.0
    return A, B, dA, dB


@kernel()
def rotations(phi):
    """exp([φ]×) = I + (1 − B θ²) [φ]× + A [φ]×² and V(φ) = I + A [φ]× + B [φ]×², where [φ]×² = φ φᵀ − θ² I."""
    t = dot(phi, phi)
    A, B, _, _ = coefficients(t)
    turn, V = np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            product = phi[i] * phi[j]
            turn[i, j], V[i, j] = A * product, B * product
    for i in range(3):
        turn[i, i] += 1.0 - A * t
        V[i, i] += 1.0 - B * t
        j, k = (i + 1) % 3, (i + 2) % 3
        turn[k, j] += (1.0 - B * t) * phi[i]
        turn[j, k] -= (1.0 - B * t) * phi[i]
        V[k, j] += A * phi[i]
        V[j, k] -= A * phi[i]
    return turn, V


@kernel()
def axis_derivatives(phi):
    """∂(V(φ) e)/∂φ (3, 3) of e = e₃: V e = e + A φ × e + B (φ (φ·e) − θ² e)."""
    t = dot(phi, phi)
    A, B, dA, dB = coefficients(t)
    once = phi[1], -phi[0], 0.0
    twice = phi[0] * phi[2], phi[1] * phi[2], phi[2] * phi[2] - t
    D = np.empty((3, 3))
    for i in range(3):
        for a in range(3):
            D[i, a] = 2.0 * phi[a] * (dA * once[i] + dB * twice[i])
    D[0, 1] += A
    D[1, 0] -= A
    for a in range(3):
        D[a, a] += B * phi[2]
        D[a, 2] += B * phi[a]
        D[2, a] -= 2.0 * B * phi[a]
    return D


@kernel()
def _fill_first(frames):
    """Fill the first of frames (n, 3, 3), which is the base's."""
    for c in range(3):
        for a in range(3):
            frames[0, c, a] = 1.0 if a == c else 0.0


@kernel()
def nodes(q, steps):
    """Frames (e + 1, 3, 3) and positions (e + 1, 3) of the nodes."""
    e = len(steps)
    frames, points = np.empty((e + 1, 3, 3)), np.zeros((e + 1, 3))
    _fill_first(frames)
    for i in range(e):
        turn, V = rotations(steps[i] * q[i, :3])
        length = (1.0 + q[i, 3]) * steps[i]
        for c in range(3):
            x, y, z = frames[i, c]
            for a in range(3):
                frames[i + 1, c, a] = x * turn[0, a] + y * turn[1, a] + z * turn[2, a]
            points[i + 1, c] = points[i, c] + length * (x * V[0, 2] + y * V[1, 2] + z * V[2, 2])
    return frames, points


@kernel()
def surface_points(q, steps, ring):
    """Frames (e + 1, 3, 3); the nodes, then points `ring` (r, 3) around each, in its frame: (e + 1 + r (e + 1), 3)."""
    frames, axis = nodes(q, steps)
    n, r = len(axis), len(ring)
    points = np.empty((n + n * r, 3))
    for i in range(n):
        for c in range(3):
            points[i, c] = axis[i, c]
        for k in range(r):
            for c in range(3):
                points[n + i * r + k, c] = axis[i, c] + dot(frames[i, c], ring[k])
    return frames, points


@kernel()
def middle_points(q, steps, frames, points):
    """(e, 3) middles of the elements, whose nodes have these frames and points."""
    middles = np.empty((len(steps), 3))
    for i in range(len(steps)):
        V = rotations(0.5 * steps[i] * q[i, :3])[1]
        length = 0.5 * (1.0 + q[i, 3]) * steps[i]
        for c in range(3):
            x, y, z = frames[i, c]
            middles[i, c] = points[i, c] + length * (x * V[0, 2] + y * V[1, 2] + z * V[2, 2])
    return middles


@kernel()
def motions(q, steps):
    """Frames (e + 1, 3, 3) and positions (e + 1, 3) of the nodes, middles (e, 3) of the elements; and (e, 4, 3), for
    each strain of an element, how what follows turns, how its end moves, and how its middle moves."""
    e = len(steps)
    frames, points, middles = np.empty((e + 1, 3, 3)), np.zeros((e + 1, 3)), np.empty((e, 3))
    turns, moves, halfway = np.zeros((e, 4, 3)), np.empty((e, 4, 3)), np.empty((e, 4, 3))
    _fill_first(frames)
    for i in range(e):
        h, stretch = steps[i], 1.0 + q[i, 3]
        phi = h * q[i, :3]
        turn, V = rotations(phi)
        bend, half_V, half_bend = axis_derivatives(phi), rotations(0.5 * phi)[1], axis_derivatives(0.5 * phi)
        for c in range(3):
            x, y, z = frames[i, c]
            for a in range(3):
                frames[i + 1, c, a] = x * turn[0, a] + y * turn[1, a] + z * turn[2, a]
                turns[i, a, c] = h * (x * V[0, a] + y * V[1, a] + z * V[2, a])
                moves[i, a, c] = stretch * h * h * (x * bend[0, a] + y * bend[1, a] + z * bend[2, a])
                along = x * half_bend[0, a] + y * half_bend[1, a] + z * half_bend[2, a]
                halfway[i, a, c] = 0.25 * stretch * h * h * along
            moves[i, 3, c] = h * (x * V[0, 2] + y * V[1, 2] + z * V[2, 2])
            halfway[i, 3, c] = 0.5 * h * (x * half_V[0, 2] + y * half_V[1, 2] + z * half_V[2, 2])
            points[i + 1, c] = points[i, c] + stretch * moves[i, 3, c]
            middles[i, c] = points[i, c] + stretch * halfway[i, 3, c]
    return frames, points, middles, turns, moves, halfway


@kernel()
def work_gradient(motion, forces, tip_force):
    """∂/∂q (4 e,) of the work of forces (e, 3) on the middles and (3,) on the tip; `motion` as `motions` tells it."""
    _, points, middles, turns, moves, halfway = motion
    e = len(forces)
    gradient, following, torque = np.empty(4 * e), tip_force.copy(), np.zeros(3)  # of what acts after the element
    for i in range(e - 1, -1, -1):
        for a in range(4):
            gradient[4 * i + a] = dot(forces[i], halfway[i, a]) + dot(following, moves[i, a]) + dot(torque, turns[i, a])
        add_cross(points[i + 1] - points[i], following, torque)
        add_cross(middles[i] - points[i], forces[i], torque)
        following += forces[i]
    return gradient


@kernel()
def stiffness_matrix(q, steps, motion, stiffness, forces, tip_force, inertia):
    """Hessian (4 e, 4 e) of ½ Σ stiffness q² less the work of forces (e, 3) and (3,), plus the product of the middles'
    derivatives weighed with `inertia` (e,).

    What comes after an element moves as a rigid body: between the strains of two elements the Hessian is what one of
    them turns and moves, times the change of momentum and torque by the other; O(e²) in all.
    """
    frames, points, middles, turns, moves, halfway = motion
    e = len(steps)
    hessian = np.diag(stiffness.ravel())
    # of what comes after element j, about its end: Σ f, Σ r fᵀ, Σ m, Σ m r, Σ m r rᵀ
    following, pulls, mass, first, second = tip_force.copy(), np.zeros((3, 3)), 0.0, np.zeros(3), np.zeros((3, 3))
    momentum, torque, about, near, far = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for j in range(e - 1, -1, -1):
        own, lever = inertia[j], middles[j] - points[j + 1]
        level, spread = pulls[0, 0] + pulls[1, 1] + pulls[2, 2], second[0, 0] + second[1, 1] + second[2, 2]
        for c in range(3):
            near[c], far[c] = 0.0, 0.0
            for d in range(3):
                near[c] += frames[j, d, c] * forces[j, d]
                far[c] += frames[j, d, c] * following[d]
        curved = curvature_of_forces(q[j], steps[j], near, far, frames[j + 1].T.copy() @ pulls @ frames[j])
        for b in range(4):
            turn, move, middle = turns[j, b], moves[j, b], halfway[j, b]
            for c in range(3):
                momentum[c] = mass * move[c]
                torque[c] = spread * turn[c] - dot(second[c], turn)
            add_cross(turn, first, momentum)
            add_cross(first, move, torque)
            for a in range(4):
                hessian[4 * j + a, 4 * j + b] += (
                    own * dot(halfway[j, a], middle) + dot(moves[j, a], momentum) + dot(turns[j, a], torque)
                ) - curved[a, b]
            for c in range(3):
                momentum[c] += own * middle[c]
                torque[c] += level * turn[c] - dot(pulls[c], turn)
            add_cross(lever, own * middle, torque)
            add_cross(forces[j], middle, torque)
            add_cross(following, move, torque)
            for i in range(j - 1, -1, -1):
                for c in range(3):
                    about[c] = torque[c]
                add_cross(points[j + 1] - points[i + 1], momentum, about)
                for a in range(4):
                    value = dot(moves[i, a], momentum) + dot(turns[i, a], about)
                    hessian[4 * i + a, 4 * j + b] += value
                    hessian[4 * j + b, 4 * i + a] += value
        along, halfway_along = points[j + 1] - points[j], middles[j] - points[j]
        for c in range(3):
            for d in range(3):
                pulls[c, d] += along[c] * following[d] + halfway_along[c] * forces[j, d]
                second[c, d] += first[c] * along[d] + along[c] * first[d] + mass * along[c] * along[d]
                second[c, d] += own * halfway_along[c] * halfway_along[d]
        first += mass * along + own * halfway_along
        following += forces[j]
        mass += own
    return hessian


@kernel()
def curvature_of_forces(q, h, own, following, pulls):
    """∂²(Σ f·p)/∂q² (4, 4) of one element under forces in its first frame: its own on its middle (3,), the sum of the
    `following` (3,), and Σ a fᵀ (3, 3) of these, where a is where they act from its end on, in the end's frame."""
    phi, half, stretch = h * q[:3], 0.5 * h * q[:3], 1.0 + q[3]
    H, along = np.empty((4, 4)), np.zeros((3, 3))
    t = dot(phi, phi)
    A, B = second_coefficients(0.25 * t)
    for c in range(3):
        along[2, c] = own[c]  # the axis is e₃
    middle_gradient, middle = curvature_of(half, along, A, B)
    A, B = second_coefficients(t)
    for c in range(3):
        along[2, c] = following[c]
    end_gradient, end = curvature_of(phi, along, A, B)
    sine = 1.0 - t * B[0], -B[0] - t * B[1], -2.0 * B[1] - t * B[2]
    turned = curvature_of(phi, pulls, sine, A)[1]
    for a in range(3):
        H[a, 3] = H[3, a] = h * h * (0.25 * middle_gradient[a] + end_gradient[a])
        for b in range(3):
            H[a, b] = h * h * (stretch * h * (0.125 * middle[a, b] + end[a, b]) + turned[a, b])
    H[3, 3] = 0.0
    return H


@kernel()
def second_coefficients(t):
    """A and B of `coefficients`, each with its first and second derivative."""
    A, B, dA, dB = coefficients(t)
    ddA = 1.0 / 360.0 - t / 6720.0 + t**2 / 302400.0 - t**3 / 23950080.0
    ddB = 1.0 / 2520.0 - t / 60480.0 + t**2 / 3326400.0 - t**3 / 311351040.0
    return (A, dA, ddA), (B, dB, ddB)


@kernel()
def curvature_of(phi, pulls, a, b):
    """Gradient (3,) and Hessian (3, 3) by φ of Σ a(θ²) f·(φ × arm) + b(θ²) f·(φ × (φ × arm)), of `pulls` Σ arm fᵀ
    (3, 3); a, b: with derivatives."""
    level = pulls[0, 0] + pulls[1, 1] + pulls[2, 2]
    across = pulls[1, 2] - pulls[2, 1], pulls[2, 0] - pulls[0, 2], pulls[0, 1] - pulls[1, 0]  # Σ arm × f
    linear, square, half = 0.0, -level * dot(phi, phi), np.empty(3)  # half of the square form's gradient
    for i in range(3):
        linear += phi[i] * across[i]
        half[i] = -level * phi[i]
        for j in range(3):
            half[i] += 0.5 * (pulls[i, j] + pulls[j, i]) * phi[j]
            square += phi[i] * pulls[i, j] * phi[j]
    first, second = 2.0 * (a[1] * linear + b[1] * square), 4.0 * (a[2] * linear + b[2] * square)
    gradient, H = np.empty(3), np.empty((3, 3))
    for i in range(3):
        gradient[i] = a[0] * across[i] + 2.0 * b[0] * half[i] + first * phi[i]
        for j in range(3):
            crossed = 2.0 * a[1] * across[i] + 4.0 * b[1] * half[i], 2.0 * a[1] * across[j] + 4.0 * b[1] * half[j]
            H[i, j] = b[0] * (pulls[i, j] + pulls[j, i])
            H[i, j] += crossed[0] * phi[j] + crossed[1] * phi[i] + second * phi[i] * phi[j]
        H[i, i] += first - 2.0 * b[0] * level
    return gradient, H


@kernel()
def axis_jacobian(points, turns, moves):
    """∂ of the axis' nodes (e + 1, 3) by the strains: (3 (e + 1), 4 e)."""
    n = len(points)
    J = np.zeros((3 * n, 4 * (n - 1)))
    for k in range(n):
        for i in range(k):
            arm = points[k] - points[i + 1]
            for a in range(4):
                moved = moves[i, a].copy()
                add_cross(turns[i, a], arm, moved)
                for c in range(3):
                    J[3 * k + c, 4 * i + a] = moved[c]
    return J


@kernel()
def cable_strain(q, position):
    """√(w² + τ² r²), and its gradient, as four numbers."""
    w = 1.0 + q[3] + q[0] * position[1] - q[1] * position[0]
    twist = q[2] * (position[0] * position[0] + position[1] * position[1])
    s = np.sqrt(w * w + q[2] * twist)
    return s, (w * position[1] / s, -w * position[0] / s, twist / s, w / s)


@kernel()
def cable_lengths(q, steps, positions, passes):
    """Lengths (c,) and their gradients (c, 4 e)."""
    c, e = passes.shape
    lengths, gradients = np.zeros(c), np.zeros((c, 4 * e))
    for k in range(c):
        for i in range(e):
            if passes[k, i]:
                s, gradient = cable_strain(q[i], positions[k])
                lengths[k] += steps[i] * s
                for a in range(4):
                    gradients[k, 4 * i + a] = steps[i] * gradient[a]
    return lengths, gradients


@kernel()
def add_cable_stiffness(q, steps, positions, passes, tensions, firmness, hessian):
    """Add Σ T ∂²ℓ/∂q² + k ∂ℓ/∂q ∂ℓ/∂q, where cables of `firmness` k (c,) [N/m] are wound in."""
    c, e = passes.shape
    pull = np.zeros(4 * e)
    for k in range(c):
        if tensions[k] == 0.0:
            continue
        x, y = positions[k]
        dw = y, -x, 0.0, 1.0
        pull[:] = 0.0
        for i in range(e):
            if passes[k, i]:
                s, gradient = cable_strain(q[i], positions[k])
                scale, first = tensions[k] * steps[i] / s, 4 * i
                for a in range(4):
                    pull[first + a] = steps[i] * gradient[a]
                    for b in range(4):
                        hessian[first + a, first + b] += scale * (dw[a] * dw[b] - gradient[a] * gradient[b])
                hessian[first + 2, first + 2] += scale * (x * x + y * y)
        if firmness[k] > 0.0:
            for a in range(4 * e):
                for b in range(4 * e):
                    hessian[a, b] += firmness[k] * pull[a] * pull[b]
