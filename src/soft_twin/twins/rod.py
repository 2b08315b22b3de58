"""An extensible Kirchhoff rod with cables in closed form: a twin of slender bodies that takes a fraction of the time.

Each element has constant strains q = (κx, κy, τ, ε): curvatures about the section's axes, twist, stretch of the axis.
Along an element the frame turns by φ = h (κx, κy, τ), so that with V(φ) = ∫₀¹ exp(s [φ]×) ds

    R₁ = R₀ exp([φ]×),   p₁ = p₀ + (1 + ε) h R₀ V(φ) e₃,

and a strain turns all that follows by θ = h R₀ V(φ) δκ. The elastic energy is h/2 (EI κx² + EI κy² + GJ τ² + EA ε²),
the weight hangs at the middle of each element. As what follows turns rigidly, the second derivative of the potential
of gravity by the strains of two elements i before j is −g · (θᵢ × Gⱼ), with Gⱼ the first moments that the strains of j
move: exact and O(e²). A cable at (a, b) in the section has in each element the exact length h √(w² + τ² (a² + b²)),
w = 1 + ε + κx b − κy a. A force on the tip is as the weight of a mass there. Shear and the stiffening of the clamp are
left out.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf, dpotrs

from soft_twin.checks import checked_vector
from soft_twin.errors import ConvergenceError
from soft_twin.twins.base import Linearisation
from soft_twin.twins.statics import StaticTwin

ELEMENTS_PER_SEGMENT = 5
RING = 12  # points around a section, for the surface
ROUND_OFF = 1e-15  # of the axial stiffness, for the residual
FIRM = 1e-9  # of the stiffness: a curvature less negative than this is round-off
LENGTH_TOLERANCE = 1e-9  # [m] of a cable that is held
SMALLEST_STRETCH = 0.05  # 1 + ε below which a step is refused


@dataclass(frozen=True)
class Section:
    """Stiffness of a cross section: bending EI and twisting GJ [N m²], axial EA [N]; mass [kg/m]; outer radius [m]."""

    bending: float
    twisting: float
    axial: float
    mass: float
    radius: float

    @classmethod
    def of_tube(
        cls, outer: float, inner: float, young_modulus: float, poisson_ratio: float, density: float
    ) -> "Section":
        """Of a tube with these radii [m] and material [Pa, -, kg/m³]."""
        area, inertia = np.pi * (outer**2 - inner**2), np.pi / 4.0 * (outer**4 - inner**4)
        shear = young_modulus / (2.0 * (1.0 + poisson_ratio))
        return cls(young_modulus * inertia, 2.0 * shear * inertia, young_modulus * area, density * area, outer)


@dataclass(frozen=True)
class RodLinearisation(Linearisation):
    """As Linearisation, with the steps of the axis' nodes alone (e + 1, …).

    The state is stepped in the strains: `strain_steps` (4 e, 1 + c), the free step and those per tension.
    """

    strain_steps: np.ndarray


class RodTwin(StaticTwin):
    """See the module's docstring and Twin. `points` are the e + 1 nodes of the axis, then RING points around each.

    Attributes:
        strains: (e, 4) κx, κy, τ [1/m], ε.
        tip_force: (3,) load on the tip in base_link [N], which keeps its direction; may be set at any time.
    """

    def __init__(
        self,
        section: Section,
        segment_lengths: tuple[float, ...],
        cable_positions: np.ndarray,
        cable_lengths: np.ndarray,
        cable_stiffness: float,
    ):
        """A rod along +z.

        Args:
            section: of all segments.
            segment_lengths: [m]; a cable ends at the end of one of them.
            cable_positions: (c, 2) in the section [m].
            cable_lengths: (c,) undeformed [m].
            cable_stiffness: [N/m].
        """
        self._steps = np.repeat(np.array(segment_lengths) / ELEMENTS_PER_SEGMENT, ELEMENTS_PER_SEGMENT)
        self._z = np.concatenate([[0.0], np.cumsum(self._steps)])
        self._heights = self._z.tolist()
        self.length = self._heights[-1]
        self.rest_lengths = np.array(cable_lengths, dtype=float)
        count = len(self.rest_lengths)
        self.softness, self.least_effort = np.full(count, 1.0 / cable_stiffness), np.zeros(count)
        self.effort_units = ["N"] * count
        self.coordinate_tolerance = np.full(count, LENGTH_TOLERANCE)
        self._cables = np.ascontiguousarray(cable_positions, dtype=float)
        self._passes = self._z[1:] < self.rest_lengths[:, None] + 1e-9  # (c, e)
        self._stiffness = np.multiply.outer(self._steps, _diagonal(section))
        self._masses = section.mass * self._steps
        self.round_off = ROUND_OFF * section.axial
        self._scale = np.tile(np.array([1.0, 1.0, 1.0, self.length]) / self.length**2, len(self._steps))
        angle = 2.0 * np.pi * np.arange(RING) / RING
        self.tip_force = np.zeros(3)
        self._ring = section.radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(RING)])
        self.reset()

    @property
    def tip_force(self) -> np.ndarray:
        return self._tip_force

    @tip_force.setter
    def tip_force(self, force: Sequence[float]) -> None:
        self._tip_force = checked_vector(force, 3, "tip force")

    def reset(self) -> None:
        self.restore((np.zeros((len(self._steps), 4)), np.zeros(self.actuator_count)))

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.strains, self.efforts

    def restore(self, state: tuple[np.ndarray, np.ndarray]) -> None:
        self.strains, self.efforts = state
        self._frames, axis = _shape(self.strains, self._steps)
        rings = axis[:, None] + self._ring @ self._frames.swapaxes(1, 2)
        self.points = np.vstack([axis, rings.reshape(-1, 3)])

    def body_coordinates(self) -> np.ndarray:
        return self.rest_lengths - _cables(self.strains, self._steps, self._cables, self._passes)[0]

    def linearise(self, gravity: np.ndarray) -> RodLinearisation:
        gravity = checked_vector(gravity, 3, "gravity")
        energy, gradient, hessian, turns, moves = self._assemble(gravity)
        lengths, pulls = _cables(self.strains, self._steps, self._cables, self._passes)
        _add_cable_stiffness(self.strains, self._steps, self._cables, self._passes, self.efforts, hessian)
        solution = _solve(hessian, np.column_stack([-gradient, -pulls.T]))
        sensitivities = -pulls @ solution
        jacobian = _axis_jacobian(self.points[: len(self._z)], turns, moves)
        steps = (jacobian @ solution).reshape(len(self._z), 3, -1)
        return RodLinearisation(
            free_step=steps[:, :, 0],
            step_per_effort=steps[:, :, 1:],
            coordinates=self.rest_lengths - lengths,
            free_coordinates=sensitivities[:, 0],
            compliance=sensitivities[:, 1:] + np.diag(self.softness),
            residual=float(np.linalg.norm(self._scale * (gradient + self.efforts @ pulls))),
            energy=energy,
            strain_steps=solution,
        )

    def advance(self, step: RodLinearisation, efforts: np.ndarray, largest_step: float) -> float:
        largest = float(np.linalg.norm(step.free_step + step.step_per_effort @ efforts, axis=1).max())
        fraction = min(1.0, largest_step / max(largest, 1e-300))
        move = step.strain_steps[:, 0] + step.strain_steps[:, 1:] @ efforts
        strains = self.strains + fraction * move.reshape(-1, 4)
        self.restore((strains, self.efforts + fraction * (efforts - self.efforts)))
        return largest

    def residual(self, gravity: np.ndarray, efforts: np.ndarray) -> float:
        gradient = self._assemble(gravity)[1]
        pulls = _cables(self.strains, self._steps, self._cables, self._passes)[1]
        return float(np.linalg.norm(self._scale * (gradient + efforts @ pulls)))

    def falling(self, gravity: np.ndarray, held: np.ndarray) -> np.ndarray | None:
        hessian = self._assemble(gravity)[2]
        pulls = _cables(self.strains, self._steps, self._cables, self._passes)[1]
        _add_cable_stiffness(self.strains, self._steps, self._cables, self._passes, self.efforts, hessian)
        hessian += (pulls[held].T / self.softness[held]) @ pulls[held]
        unit = 1.0 / np.sqrt(np.abs(np.diag(hessian)))
        values, vectors = np.linalg.eigh(unit[:, None] * hessian * unit)
        return unit * vectors[:, 0] if values[0] < -FIRM else None

    def push(self, direction: np.ndarray, largest_step: float) -> None:
        _, _, _, turns, moves = self._assemble(np.zeros(3))
        moved = (_axis_jacobian(self.points[: len(self._z)], turns, moves) @ direction).reshape(-1, 3)
        scale = largest_step / max(float(np.linalg.norm(moved, axis=1).max()), 1e-300)
        self.restore((self.strains + scale * direction.reshape(-1, 4), self.efforts))

    def load_norm(self, gravity: np.ndarray, efforts: np.ndarray) -> float:
        weight = self._masses.sum() * np.linalg.norm(gravity) + np.linalg.norm(self._tip_force)
        return float(weight + efforts.sum())

    def potential(self, gravity: np.ndarray) -> tuple[float, bool, int]:
        elastic, sagging = _energies(self.strains, self._steps, self._stiffness, self._masses, gravity)
        worst = int(self.strains[:, 3].argmin())
        sagging -= float(self._tip_force @ self.points[len(self._steps)])
        return elastic + sagging, 1.0 + self.strains[worst, 3] > SMALLEST_STRETCH, worst

    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        node = min(max(bisect_left(self._heights, z) - 1, 0), len(self._steps) - 1)
        fraction = (z - self._heights[node]) / self._steps[node]
        return (1.0 - fraction) * field[node] + fraction * field[node + 1]

    def sections(self, heights: Sequence[float], field: np.ndarray) -> np.ndarray:
        nodes = np.clip(np.searchsorted(self._z, heights) - 1, 0, len(self._steps) - 1)
        fractions = ((heights - self._z[nodes]) / self._steps[nodes])[:, None]
        return (1.0 - fractions) * field[nodes] + fractions * field[nodes + 1]

    def section_normal(self, z: float) -> np.ndarray:
        normal = self.section(z, self._frames[:, :, 2])
        return normal / np.linalg.norm(normal)

    @property
    def surface(self) -> np.ndarray:
        nodes = len(self._z)
        lower = nodes + np.arange((nodes - 1) * RING).reshape(-1, RING)
        upper, ahead = lower + RING, np.roll(lower, -1, axis=1)
        side = np.concatenate([np.dstack([lower, ahead, upper]), np.dstack([ahead, ahead + RING, upper])]).reshape(
            -1, 3
        )
        first, last = np.full(RING, 0), np.full(RING, nodes - 1)
        caps = [np.column_stack([first, ahead[0], lower[0]]), np.column_stack([last, upper[-1], ahead[-1] + RING])]
        return np.vstack([side, *caps])

    def _assemble(self, gravity: np.ndarray):
        """Elastic energy, gradient (4 e,) and Hessian (4 e, 4 e) of the potential energy, and what strains move."""
        energy, gradient, hessian, turns, moves = _assemble(
            self.strains, self._steps, self._stiffness, self._masses, gravity
        )
        if self._tip_force.any():
            none = 0.0 * self._stiffness, 0.0 * self._masses
            _, pull, curvature, _, _ = _assemble(self.strains, self._steps, *none, self._tip_force, 1.0)
            gradient, hessian = gradient + pull, hessian + curvature
        return energy, gradient, hessian, turns, moves


def _diagonal(section: Section) -> np.ndarray:
    return np.array([section.bending, section.bending, section.twisting, section.axial])


def _solve(hessian: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of a symmetric system; an indefinite matrix is shifted along its own diagonal."""
    for shift in (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0):
        shifted = hessian + np.diag(shift * np.abs(np.diag(hessian))) if shift else hessian
        factor, info = dpotrf(shifted, lower=1)
        if info == 0 and np.isfinite(factor).all():
            return dpotrs(factor, right, lower=1)[0]
    raise ConvergenceError("the rod's stiffness matrix is not finite: the rod is folded or a load is not a number")


@njit(cache=True, nogil=True)
def _cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@njit(cache=True, nogil=True)
def _coefficients(t):
    """(1 − cos θ)/θ², (θ − sin θ)/θ³ and their derivatives by t = θ², as series: good to 1e-9 for θ < 1."""
    A = 0.5 - t / 24.0 + t**2 / 720.0 - t**3 / 40320.0 + t**4 / 3628800.0
    B = 1.0 / 6.0 - t / 120.0 + t**2 / 5040.0 - t**3 / 362880.0 + t**4 / 39916800.0
    dA = -1.0 / 24.0 + t / 360.0 - t**2 / 13440.0 + t**3 / 907200.0
    dB = -1.0 / 120.0 + t / 2520.0 - t**2 / 120960.0 + t**3 / 9979200.0
    return A, B, dA, dB


@njit(cache=True, nogil=True)
def _rotations(phi):
    """exp([φ]×) = I + (1 − B θ²) [φ]× + A [φ]×² and V(φ) = I + A [φ]× + B [φ]×², where [φ]×² = φ φᵀ − θ² I."""
    t = _square(phi)
    A, B, _, _ = _coefficients(t)
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
def _square(v):
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


@njit(cache=True, nogil=True)
def _axis_derivatives(phi):
    """∂(V(φ) e)/∂φ (3, 3) of e = e₃: V e = e + A φ × e + B (φ (φ·e) − θ² e)."""
    t = _square(phi)
    A, B, dA, dB = _coefficients(t)
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
def _moves(q, h):
    """∂ of the element's end and of its middle by its strains, in its first frame: (3, 4) each."""
    phi, stretch = h * q[:3], 1.0 + q[3]
    end, middle = np.empty((3, 4)), np.empty((3, 4))
    end[:, :3] = stretch * h * h * _axis_derivatives(phi)
    end[:, 3] = h * _rotations(phi)[1][:, 2]
    middle[:, :3] = 0.25 * stretch * h * h * _axis_derivatives(0.5 * phi)
    middle[:, 3] = 0.5 * h * _rotations(0.5 * phi)[1][:, 2]
    return end, middle


@njit(cache=True, nogil=True)
def _first_moments(q, h, mass, following, hanging):
    """Σ m ∂p/∂q (3, 4) of the element's own and all following masses, in its first frame.

    `following` [kg] is what comes after, `hanging` (3,) its first moment about the element's end, in the end's frame.
    """
    end, middle = _moves(q, h)
    turn, V = _rotations(h * q[:3])
    moments = mass * middle + following * end
    lever = turn @ hanging
    for a in range(3):
        moments[:, a] += _cross(h * V[:, a].copy(), lever)
    return moments


@njit(cache=True, nogil=True)
def _shape(q, steps):
    """Frames (e + 1, 3, 3) and positions (e + 1, 3) of the nodes."""
    e = len(steps)
    frames, points = np.empty((e + 1, 3, 3)), np.zeros((e + 1, 3))
    frames[0] = np.eye(3)
    for i in range(e):
        turn, V = _rotations(steps[i] * q[i, :3])
        frames[i + 1] = frames[i] @ turn
        points[i + 1] = points[i] + (1.0 + q[i, 3]) * steps[i] * (frames[i] @ V[:, 2].copy())
    return frames, points


@njit(cache=True, nogil=True)
def _middles(q, steps, frames, points):
    middles = np.empty((len(steps), 3))
    for i in range(len(steps)):
        V = _rotations(0.5 * steps[i] * q[i, :3])[1]
        middles[i] = points[i] + 0.5 * (1.0 + q[i, 3]) * steps[i] * (frames[i] @ V[:, 2].copy())
    return middles


@njit(cache=True, nogil=True)
def _energies(q, steps, stiffness, masses, gravity):
    """Elastic energy and potential of gravity [J]."""
    frames, points = _shape(q, steps)
    middles = _middles(q, steps, frames, points)
    return 0.5 * (stiffness * q * q).sum(), -(masses * (middles @ gravity)).sum()


@njit(cache=True, nogil=True)
def _assemble(q, steps, stiffness, masses, gravity, tip=0.0):
    """`tip`: mass at the end."""
    e = len(steps)
    frames, points = _shape(q, steps)
    middles = _middles(q, steps, frames, points)
    gradient, hessian = (stiffness * q).ravel(), np.diag(stiffness.ravel())
    turns, moves = np.zeros((e, 4, 3)), np.zeros((e, 4, 3))
    moments = np.empty((e, 4, 3))
    following, hanging = tip, np.zeros(3)  # mass after the element, and its first moment about its end, in the world
    for i in range(e - 1, -1, -1):
        R, h = frames[i], steps[i]
        local, local_gravity = frames[i + 1].T @ hanging, R.T @ gravity
        moments[i] = (R @ _first_moments(q[i], h, masses[i], following, local)).T
        turns[i, :3] = (h * (R @ _rotations(h * q[i, :3])[1])).T
        moves[i] = (R @ _moves(q[i], h)[0]).T
        block = slice(4 * i, 4 * i + 4)
        gradient[block] -= moments[i] @ gravity
        hessian[block, block] -= _own_curvature(q[i], h, masses[i], following, local, local_gravity)
        hanging = hanging + following * (points[i + 1] - points[i]) + masses[i] * (middles[i] - points[i])
        following += masses[i]
    for j in range(e):
        pulls = [_cross(moments[j, b], gravity) for b in range(4)]
        for i in range(j):
            for a in range(4):
                for b in range(4):
                    turn, pull = turns[i, a], pulls[b]  # gravity · (turn × moment)
                    value = turn[0] * pull[0] + turn[1] * pull[1] + turn[2] * pull[2]
                    hessian[4 * i + a, 4 * j + b] -= value
                    hessian[4 * j + b, 4 * i + a] -= value
    return 0.5 * (stiffness * q * q).sum(), gradient, hessian, turns, moves


@njit(cache=True, nogil=True)
def _own_curvature(q, h, mass, following, hanging, gravity):
    """∂²(Σ m g·p)/∂q² (4, 4) of one element, all in its first frame: of its middle, its end, and what hangs on it."""
    phi, stretch, axis = h * q[:3], 1.0 + q[3], np.array([0.0, 0.0, 1.0])
    H = np.zeros((4, 4))
    A, B = _second_coefficients(0.25 * _square(phi))
    gradient, middle = _curvature_of(0.5 * phi, axis, gravity, A, B)
    H[:3, :3] = 0.125 * mass * stretch * h * middle
    H[:3, 3] = 0.25 * mass * h * gradient
    t = _square(phi)
    A, B = _second_coefficients(t)
    gradient, end = _curvature_of(phi, axis, gravity, A, B)
    H[:3, :3] += following * stretch * h * end
    H[:3, 3] += following * h * gradient
    sine = 1.0 - t * B[0], -B[0] - t * B[1], -2.0 * B[1] - t * B[2]
    H[:3, :3] += _curvature_of(phi, hanging, gravity, sine, A)[1]
    H[:3] *= h
    H[:3, :3] *= h
    H[3, :3] = H[:3, 3]
    return H


@njit(cache=True, nogil=True)
def _second_coefficients(t):
    """A and B of `_coefficients`, each with its first and second derivative."""
    A, B, dA, dB = _coefficients(t)
    ddA = 1.0 / 360.0 - t / 6720.0 + t**2 / 302400.0 - t**3 / 23950080.0
    ddB = 1.0 / 2520.0 - t / 60480.0 + t**2 / 3326400.0 - t**3 / 311351040.0
    return (A, dA, ddA), (B, dB, ddB)


@njit(cache=True, nogil=True)
def _curvature_of(phi, arm, gravity, a, b):
    """Gradient (3,) and Hessian (3, 3) by φ of a(θ²) g·(φ × arm) + b(θ²) g·(φ × (φ × arm)); a, b: with derivatives."""
    level = gravity[0] * arm[0] + gravity[1] * arm[1] + gravity[2] * arm[2]
    across = _cross(arm, gravity)
    along = phi[0] * arm[0] + phi[1] * arm[1] + phi[2] * arm[2]
    fall = phi[0] * gravity[0] + phi[1] * gravity[1] + phi[2] * gravity[2]
    linear = phi[0] * across[0] + phi[1] * across[1] + phi[2] * across[2]
    half = 0.5 * (along * gravity + fall * arm) - level * phi  # of the square form's gradient
    square = along * fall - level * _square(phi)
    first, second = 2.0 * (a[1] * linear + b[1] * square), 4.0 * (a[2] * linear + b[2] * square)
    gradient, H = np.empty(3), np.empty((3, 3))
    for i in range(3):
        gradient[i] = a[0] * across[i] + 2.0 * b[0] * half[i] + first * phi[i]
        for j in range(3):
            crossed = 2.0 * a[1] * across[i] + 4.0 * b[1] * half[i], 2.0 * a[1] * across[j] + 4.0 * b[1] * half[j]
            H[i, j] = b[0] * (gravity[i] * arm[j] + arm[i] * gravity[j])
            H[i, j] += crossed[0] * phi[j] + crossed[1] * phi[i] + second * phi[i] * phi[j]
        H[i, i] += first - 2.0 * b[0] * level
    return gradient, H


@njit(cache=True, nogil=True)
def _axis_jacobian(points, turns, moves):
    """∂ of the axis' nodes (e + 1, 3) by the strains: (3 (e + 1), 4 e)."""
    n = len(points)
    J = np.zeros((3 * n, 4 * (n - 1)))
    for k in range(n):
        for i in range(k):
            for a in range(4):
                moved = moves[i, a] + _cross(turns[i, a], points[k] - points[i + 1])
                for c in range(3):
                    J[3 * k + c, 4 * i + a] = moved[c]
    return J


@njit(cache=True, nogil=True)
def _cable_strain(q, position):
    """√(w² + τ² r²), and its gradient (4,)."""
    w = 1.0 + q[3] + q[0] * position[1] - q[1] * position[0]
    r2 = position @ position
    s = np.sqrt(w * w + q[2] * q[2] * r2)
    return s, np.array([w * position[1], -w * position[0], q[2] * r2, w]) / s


@njit(cache=True, nogil=True)
def _cables(q, steps, positions, passes):
    """Lengths (c,) and their gradients (c, 4 e)."""
    c, e = passes.shape
    lengths, gradients = np.zeros(c), np.zeros((c, 4 * e))
    for k in range(c):
        for i in range(e):
            if passes[k, i]:
                s, gradient = _cable_strain(q[i], positions[k])
                lengths[k] += steps[i] * s
                gradients[k, 4 * i : 4 * i + 4] = steps[i] * gradient
    return lengths, gradients


@njit(cache=True, nogil=True)
def _add_cable_stiffness(q, steps, positions, passes, tensions, hessian):
    """Add Σ T ∂²ℓ/∂q²."""
    c, e = passes.shape
    for k in range(c):
        if tensions[k] == 0.0:
            continue
        a, b = positions[k]
        dw = b, -a, 0.0, 1.0
        for i in range(e):
            if passes[k, i]:
                s, gradient = _cable_strain(q[i], positions[k])
                scale, first = tensions[k] * steps[i] / s, 4 * i
                for m in range(4):
                    for n in range(4):
                        hessian[first + m, first + n] += scale * (dw[m] * dw[n] - gradient[m] * gradient[n])
                hessian[first + 2, first + 2] += scale * (a * a + b * b)
