"""Kinematics, energies and cables of a rod of constant strains, element by element; see twin.py for the formulas."""

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf, dpotrs

from soft_twin.errors import ConvergenceError


def solve_stiffness(hessian: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, bool]:
    """Solution of a symmetric system, and whether its matrix is positive definite; another one is shifted along its own
    diagonal."""
    for shift in (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0):
        shifted = hessian + np.diag(shift * np.abs(np.diag(hessian))) if shift else hessian
        factor, info = dpotrf(shifted, lower=1)
        if info == 0 and np.isfinite(factor).all():
            return dpotrs(factor, right, lower=1)[0], not shift
    raise ConvergenceError("the rod's stiffness matrix is not finite: the rod is folded or a load is not a number")


@njit(cache=True, nogil=True)
def cross(a, b):
    """a × b, of vectors (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@njit(cache=True, nogil=True)
def coefficients(t):
    """(1 − cos θ)/θ², (θ − sin θ)/θ³ and their derivatives by t = θ², as series: good to 1e-9 for θ < 1."""
    A = 0.5 - t / 24.0 + t**2 / 720.0 - t**3 / 40320.0 + t**4 / 3628800.0
    B = 1.0 / 6.0 - t / 120.0 + t**2 / 5040.0 - t**3 / 362880.0 + t**4 / 39916800.0
    dA = -1.0 / 24.0 + t / 360.0 - t**2 / 13440.0 + t**3 / 907200.0
    dB = -1.0 / 120.0 + t / 2520.0 - t**2 / 120960.0 + t**3 / 9979200.0
    return A, B, dA, dB


@njit(cache=True, nogil=True)
def rotations(phi):
    """exp([φ]×) = I + (1 − B θ²) [φ]× + A [φ]×² and V(φ) = I + A [φ]× + B [φ]×², where [φ]×² = φ φᵀ − θ² I."""
    t = squared(phi)
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


@njit(cache=True, nogil=True)
def squared(v):
    """v · v, of a vector (3,)."""
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


@njit(cache=True, nogil=True)
def axis_derivatives(phi):
    """∂(V(φ) e)/∂φ (3, 3) of e = e₃: V e = e + A φ × e + B (φ (φ·e) − θ² e)."""
    t = squared(phi)
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


@njit(cache=True, nogil=True)
def element_moves(q, h):
    """∂ of the element's end and of its middle by its strains, in its first frame: (3, 4) each."""
    phi, stretch = h * q[:3], 1.0 + q[3]
    end, middle = np.empty((3, 4)), np.empty((3, 4))
    end[:, :3] = stretch * h * h * axis_derivatives(phi)
    end[:, 3] = h * rotations(phi)[1][:, 2]
    middle[:, :3] = 0.25 * stretch * h * h * axis_derivatives(0.5 * phi)
    middle[:, 3] = 0.5 * h * rotations(0.5 * phi)[1][:, 2]
    return end, middle


@njit(cache=True, nogil=True)
def first_moments(q, h, mass, following, hanging):
    """Σ m ∂p/∂q (3, 4) of the element's own and all following masses, in its first frame.

    `following` [kg] is what comes after, `hanging` (3,) its first moment about the element's end, in the end's frame.
    """
    end, middle = element_moves(q, h)
    turn, V = rotations(h * q[:3])
    moments = mass * middle + following * end
    lever = turn @ hanging
    for a in range(3):
        moments[:, a] += cross(h * V[:, a].copy(), lever)
    return moments


@njit(cache=True, nogil=True)
def nodes(q, steps):
    """Frames (e + 1, 3, 3) and positions (e + 1, 3) of the nodes."""
    e = len(steps)
    frames, points = np.empty((e + 1, 3, 3)), np.zeros((e + 1, 3))
    frames[0] = np.eye(3)
    for i in range(e):
        turn, V = rotations(steps[i] * q[i, :3])
        frames[i + 1] = frames[i] @ turn
        points[i + 1] = points[i] + (1.0 + q[i, 3]) * steps[i] * (frames[i] @ V[:, 2].copy())
    return frames, points


@njit(cache=True, nogil=True)
def middle_points(q, steps, frames, points):
    """(e, 3) middles of the elements, whose nodes have these frames and points."""
    middles = np.empty((len(steps), 3))
    for i in range(len(steps)):
        V = rotations(0.5 * steps[i] * q[i, :3])[1]
        middles[i] = points[i] + 0.5 * (1.0 + q[i, 3]) * steps[i] * (frames[i] @ V[:, 2].copy())
    return middles


@njit(cache=True, nogil=True)
def energies(q, steps, stiffness, masses, gravity):
    """Elastic energy and potential of gravity [J]."""
    frames, points = nodes(q, steps)
    middles = middle_points(q, steps, frames, points)
    return 0.5 * (stiffness * q * q).sum(), -(masses * (middles @ gravity)).sum()


@njit(cache=True, nogil=True)
def assemble(q, steps, stiffness, masses, gravity, tip=0.0):
    """`tip`: mass at the end."""
    e = len(steps)
    frames, points = nodes(q, steps)
    middles = middle_points(q, steps, frames, points)
    gradient, hessian = (stiffness * q).ravel(), np.diag(stiffness.ravel())
    turns, moves = np.zeros((e, 4, 3)), np.zeros((e, 4, 3))
    moments = np.empty((e, 4, 3))
    following, hanging = tip, np.zeros(3)  # mass after the element, and its first moment about its end, in the world
    for i in range(e - 1, -1, -1):
        R, h = frames[i], steps[i]
        local, local_gravity = frames[i + 1].T @ hanging, R.T @ gravity
        moments[i] = (R @ first_moments(q[i], h, masses[i], following, local)).T
        turns[i, :3] = (h * (R @ rotations(h * q[i, :3])[1])).T
        moves[i] = (R @ element_moves(q[i], h)[0]).T
        block = slice(4 * i, 4 * i + 4)
        gradient[block] -= moments[i] @ gravity
        hessian[block, block] -= own_curvature(q[i], h, masses[i], following, local, local_gravity)
        hanging = hanging + following * (points[i + 1] - points[i]) + masses[i] * (middles[i] - points[i])
        following += masses[i]
    for j in range(e):
        pulls = [cross(moments[j, b], gravity) for b in range(4)]
        for i in range(j):
            for a in range(4):
                for b in range(4):
                    turn, pull = turns[i, a], pulls[b]  # gravity · (turn × moment)
                    value = turn[0] * pull[0] + turn[1] * pull[1] + turn[2] * pull[2]
                    hessian[4 * i + a, 4 * j + b] -= value
                    hessian[4 * j + b, 4 * i + a] -= value
    return 0.5 * (stiffness * q * q).sum(), gradient, hessian, turns, moves


@njit(cache=True, nogil=True)
def own_curvature(q, h, mass, following, hanging, gravity):
    """∂²(Σ m g·p)/∂q² (4, 4) of one element, all in its first frame: of its middle, its end, and what hangs on it."""
    return curvature_of_forces(q, h, mass * gravity, following * gravity, np.outer(hanging, gravity))


@njit(cache=True, nogil=True)
def curvature_of_forces(q, h, own, following, pulls):
    """∂²(Σ f·p)/∂q² (4, 4) of one element under forces in its first frame: its own on its middle (3,), the sum of the
    `following` (3,), and Σ a fᵀ (3, 3) of these, where a is where they act from its end on, in the end's frame."""
    phi, stretch = h * q[:3], 1.0 + q[3]
    H, along = np.zeros((4, 4)), np.zeros((3, 3))
    A, B = second_coefficients(0.25 * squared(phi))
    along[2] = own  # the axis is e₃
    gradient, middle = curvature_of(0.5 * phi, along, A, B)
    H[:3, :3] = 0.125 * stretch * h * middle
    H[:3, 3] = 0.25 * h * gradient
    t = squared(phi)
    A, B = second_coefficients(t)
    along[2] = following
    gradient, end = curvature_of(phi, along, A, B)
    H[:3, :3] += stretch * h * end
    H[:3, 3] += h * gradient
    sine = 1.0 - t * B[0], -B[0] - t * B[1], -2.0 * B[1] - t * B[2]
    H[:3, :3] += curvature_of(phi, pulls, sine, A)[1]
    H[:3] *= h
    H[:3, :3] *= h
    H[3, :3] = H[:3, 3]
    return H


@njit(cache=True, nogil=True)
def second_coefficients(t):
    """A and B of `_coefficients`, each with its first and second derivative."""
    A, B, dA, dB = coefficients(t)
    ddA = 1.0 / 360.0 - t / 6720.0 + t**2 / 302400.0 - t**3 / 23950080.0
    ddB = 1.0 / 2520.0 - t / 60480.0 + t**2 / 3326400.0 - t**3 / 311351040.0
    return (A, dA, ddA), (B, dB, ddB)


@njit(cache=True, nogil=True)
def curvature_of(phi, pulls, a, b):
    """Gradient (3,) and Hessian (3, 3) by φ of Σ a(θ²) f·(φ × arm) + b(θ²) f·(φ × (φ × arm)), of `pulls` Σ arm fᵀ
    (3, 3); a, b: with derivatives."""
    level = pulls[0, 0] + pulls[1, 1] + pulls[2, 2]
    across = pulls[1, 2] - pulls[2, 1], pulls[2, 0] - pulls[0, 2], pulls[0, 1] - pulls[1, 0]  # Σ arm × f
    linear, square, half = 0.0, -level * squared(phi), np.empty(3)  # half of the square form's gradient
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


@njit(cache=True, nogil=True)
def axis_jacobian(points, turns, moves):
    """∂ of the axis' nodes (e + 1, 3) by the strains: (3 (e + 1), 4 e)."""
    n = len(points)
    J = np.zeros((3 * n, 4 * (n - 1)))
    for k in range(n):
        for i in range(k):
            for a in range(4):
                moved = moves[i, a] + cross(turns[i, a], points[k] - points[i + 1])
                for c in range(3):
                    J[3 * k + c, 4 * i + a] = moved[c]
    return J


@njit(cache=True, nogil=True)
def cable_strain(q, position):
    """√(w² + τ² r²), and its gradient (4,)."""
    w = 1.0 + q[3] + q[0] * position[1] - q[1] * position[0]
    r2 = position @ position
    s = np.sqrt(w * w + q[2] * q[2] * r2)
    return s, np.array([w * position[1], -w * position[0], q[2] * r2, w]) / s


@njit(cache=True, nogil=True)
def cable_lengths(q, steps, positions, passes):
    """Lengths (c,) and their gradients (c, 4 e)."""
    c, e = passes.shape
    lengths, gradients = np.zeros(c), np.zeros((c, 4 * e))
    for k in range(c):
        for i in range(e):
            if passes[k, i]:
                s, gradient = cable_strain(q[i], positions[k])
                lengths[k] += steps[i] * s
                gradients[k, 4 * i : 4 * i + 4] = steps[i] * gradient
    return lengths, gradients


@njit(cache=True, nogil=True)
def add_cable_stiffness(q, steps, positions, passes, tensions, hessian):
    """Add Σ T ∂²ℓ/∂q²."""
    c, e = passes.shape
    for k in range(c):
        if tensions[k] == 0.0:
            continue
        a, b = positions[k]
        dw = b, -a, 0.0, 1.0
        for i in range(e):
            if passes[k, i]:
                s, gradient = cable_strain(q[i], positions[k])
                scale, first = tensions[k] * steps[i] / s, 4 * i
                for m in range(4):
                    for n in range(4):
                        hessian[first + m, first + n] += scale * (dw[m] * dw[n] - gradient[m] * gradient[n])
                hessian[first + 2, first + 2] += scale * (a * a + b * b)
