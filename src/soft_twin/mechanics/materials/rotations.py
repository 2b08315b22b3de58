"""The rotations of many deformation gradients at once: R of the polar decompositions F = R S.

They need neither eigenvectors nor an iteration of matrices. With the invariants I₁, I₂ of C = FᵀF, J = det F,
t = tr(S) is the largest root of (t² − I₁)²/4 = I₂ + 2 J t (both sides are the square of S's second invariant), and
R = ∂t/∂F; differentiating the root gives, with s = (t² − I₁)/2,

    R = ((s + I₁) F − F C + t cof F) / (t s − J).

It is a rotation for every F with t s > J, of inverted cells too.

Matrices stand in lanes, one beside the other: the entry (i, j) of the matrix in lane l at [(3 i + j) LANES + l] of a
vector (9 LANES,). Each loop over lanes is then arithmetic on vectors, which processors do several numbers at a time.
"""

import math

import numpy as np

from soft_twin.linear_algebra.compiled import part

LANES = 32  # at least as many as an element has quadrature points
SETTLED = 1e-9  # relative change of t: as it converges quadratically, what is left is below round-off


@part(error_model="numpy", fastmath={"contract"}, cache=True)
def fill_rotations(n, F, R, determinants, traces):
    """Fill R (9 LANES,), det F and tr(S) (LANES,) of the first n of F (9 LANES,)."""
    first, second = np.empty(LANES), np.empty(LANES)
    _fill_invariants(n, F, first, second, determinants)
    _fill_traces(n, first, second, determinants, traces)
    for l in range(n):
        f00, f01, f02, f10, f11, f12, f20, f21, f22 = matrix(F, l)
        c00, c01, c02, c11, c12, c22 = _squares(f00, f01, f02, f10, f11, f12, f20, f21, f22)
        t = traces[l]
        s = 0.5 * (t * t - first[l])
        scale = 1.0 / (t * s - determinants[l])
        own, adjoint = (s + first[l]) * scale, t * scale
        R[l] = own * f00 - scale * (f00 * c00 + f01 * c01 + f02 * c02) + adjoint * (f11 * f22 - f12 * f21)
        R[LANES + l] = own * f01 - scale * (f00 * c01 + f01 * c11 + f02 * c12) + adjoint * (f12 * f20 - f10 * f22)
        R[2 * LANES + l] = own * f02 - scale * (f00 * c02 + f01 * c12 + f02 * c22) + adjoint * (f10 * f21 - f11 * f20)
        R[3 * LANES + l] = own * f10 - scale * (f10 * c00 + f11 * c01 + f12 * c02) + adjoint * (f02 * f21 - f01 * f22)
        R[4 * LANES + l] = own * f11 - scale * (f10 * c01 + f11 * c11 + f12 * c12) + adjoint * (f00 * f22 - f02 * f20)
        R[5 * LANES + l] = own * f12 - scale * (f10 * c02 + f11 * c12 + f12 * c22) + adjoint * (f01 * f20 - f00 * f21)
        R[6 * LANES + l] = own * f20 - scale * (f20 * c00 + f21 * c01 + f22 * c02) + adjoint * (f01 * f12 - f02 * f11)
        R[7 * LANES + l] = own * f21 - scale * (f20 * c01 + f21 * c11 + f22 * c12) + adjoint * (f02 * f10 - f00 * f12)
        R[8 * LANES + l] = own * f22 - scale * (f20 * c02 + f21 * c12 + f22 * c22) + adjoint * (f00 * f11 - f01 * f10)


@part(error_model="numpy", fastmath={"contract"})
def matrix(F, l):
    """The nine entries of the matrix in a lane, row by row."""
    return (
        F[l],
        F[LANES + l],
        F[2 * LANES + l],
        F[3 * LANES + l],
        F[4 * LANES + l],
        F[5 * LANES + l],
        F[6 * LANES + l],
        F[7 * LANES + l],
        F[8 * LANES + l],
    )


@part(error_model="numpy", fastmath={"contract"})
def _squares(f00, f01, f02, f10, f11, f12, f20, f21, f22):
    """C₀₀, C₀₁, C₀₂, C₁₁, C₁₂, C₂₂ of C = FᵀF."""
    return (
        f00 * f00 + f10 * f10 + f20 * f20,
        f00 * f01 + f10 * f11 + f20 * f21,
        f00 * f02 + f10 * f12 + f20 * f22,
        f01 * f01 + f11 * f11 + f21 * f21,
        f01 * f02 + f11 * f12 + f21 * f22,
        f02 * f02 + f12 * f12 + f22 * f22,
    )


@part(error_model="numpy", fastmath={"contract"})
def _fill_invariants(n, F, first, second, determinants):
    for l in range(n):
        f00, f01, f02, f10, f11, f12, f20, f21, f22 = matrix(F, l)
        c00, c01, c02, c11, c12, c22 = _squares(f00, f01, f02, f10, f11, f12, f20, f21, f22)
        first[l] = c00 + c11 + c22
        second[l] = c00 * c11 + c00 * c22 + c11 * c22 - c01 * c01 - c02 * c02 - c12 * c12
        determinants[l] = f00 * (f11 * f22 - f12 * f21) + f01 * (f12 * f20 - f10 * f22) + f02 * (f10 * f21 - f11 * f20)


@part(error_model="numpy", fastmath={"contract"})
def _fill_traces(n, first, second, determinants, traces):
    """Newton's method comes down to the root from √(3 I₁), as the quartic is convex above it: tr(S)² ≤ 3 tr(S²)."""
    for l in range(n):
        traces[l] = math.sqrt(3.0 * first[l])
    for _ in range(100):
        moving = 0
        for l in range(n):
            t = traces[l]
            s = 0.5 * (t * t - first[l])
            change = 0.5 * (s * s - second[l] - 2.0 * determinants[l] * t) / (t * s - determinants[l])
            traces[l] = t - change
            moving += change > SETTLED * t
        if moving == 0:
            break
