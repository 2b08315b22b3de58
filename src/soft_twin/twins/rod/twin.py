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

from soft_twin.checks import checked_vector
from soft_twin.twins.base import Actuation, Linearisation, Twin, read_only
from soft_twin.twins.heights import check_heights
from soft_twin.twins.rod import kernels
from soft_twin.twins.rod.minimum import Potential, below_saddle, minimise

ELEMENTS_PER_SEGMENT = 5
RING = 12  # points around a section, for the surface
ROUND_OFF = 1e-15  # of the axial stiffness, for the residual
TOLERANCE = 1e-9  # of the forces at work, for the residual


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


class RodTwin(Twin):
    """See the module's docstring and Twin. `points` are the e + 1 nodes of the axis, then RING points around each.

    Attributes:
        strains: (e, 4) κx, κy, τ [1/m], ε.
        element_lengths, masses: (e,) of the elements [m], [kg].
        stiffness: (e, 4) of the strains: EI, EI, GJ and EA, times the element's length.
        geometry: the elements' lengths, the cables' places (c, 2) [m], and which elements (c, e) they pass.
        force_scale: (4 e,) from derivatives of an energy by the strains to forces [N].
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
        self.element_lengths = np.repeat(np.array(segment_lengths) / ELEMENTS_PER_SEGMENT, ELEMENTS_PER_SEGMENT)
        self._z = np.concatenate([[0.0], np.cumsum(self.element_lengths)])
        self._heights = self._z.tolist()
        self.length = self._heights[-1]
        self.rest_lengths = np.array(cable_lengths, dtype=float)
        count = len(self.rest_lengths)
        self.softness, self.least_effort = np.full(count, 1.0 / cable_stiffness), read_only(np.zeros(count))
        self.effort_units = ["N"] * count
        passes = self._z[1:] < self.rest_lengths[:, None] + 1e-9  # (c, e)
        self.geometry = self.element_lengths, np.ascontiguousarray(cable_positions, dtype=float), passes
        self.stiffness = np.multiply.outer(self.element_lengths, _diagonal(section))
        self.masses = section.mass * self.element_lengths
        self.round_off = ROUND_OFF * section.axial
        self.force_scale = np.tile(np.array([1.0, 1.0, 1.0, self.length]) / self.length**2, len(self.element_lengths))
        angle = 2.0 * np.pi * np.arange(RING) / RING
        self.tip_force = np.zeros(3)
        self._ring = section.radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(RING)])
        self.reset()
        self.rest = self.points

    @property
    def tip_force(self) -> np.ndarray:
        return self._tip_force

    @tip_force.setter
    def tip_force(self, force: Sequence[float]) -> None:
        self._tip_force = checked_vector(force, 3, "tip force")

    def reset(self) -> None:
        self.restore((np.zeros((len(self.element_lengths), 4)), np.zeros(self.actuator_count)))

    @property
    def points(self) -> np.ndarray:
        return read_only(self._points)

    @property
    def efforts(self) -> np.ndarray:
        return read_only(self._efforts)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.strains, self._efforts

    def restore(self, state: tuple[np.ndarray, np.ndarray]) -> None:
        self.strains, self._efforts = state
        self._frames, self._points = kernels.surface_points(self.strains, self.element_lengths, self._ring)

    @property
    def middles(self) -> np.ndarray:
        """(e, 3) of the elements [m]."""
        return kernels.middle_points(self.strains, self.element_lengths, self._frames, self._points)

    def body_coordinates(self) -> np.ndarray:
        return self.rest_lengths - kernels.cable_lengths(self.strains, *self.geometry)[0]

    def linearise(self, gravity: np.ndarray) -> RodLinearisation:
        gravity = checked_vector(gravity, 3, "gravity")
        place = Potential(self, gravity, self._efforts, np.full(self.actuator_count, np.nan)).at(self.strains)
        lengths, pulls = kernels.cable_lengths(self.strains, *self.geometry)
        without = place.gradient - self._efforts @ pulls  # the cables' part, which is linear in what is looked for
        solution, definite = kernels.solve_stiffness(place.hessian(), np.column_stack([-without, -pulls.T]))
        sensitivities = -pulls @ solution
        _, axis, _, turns, moves, _ = place.motion
        steps = (kernels.axis_jacobian(axis, turns, moves) @ solution).reshape(len(self._z), 3, -1)
        return RodLinearisation(
            free_step=steps[:, :, 0],
            step_per_effort=steps[:, :, 1:],
            coordinates=self.rest_lengths - lengths,
            free_coordinates=sensitivities[:, 0],
            compliance=sensitivities[:, 1:] + np.diag(self.softness),
            residual=float(place.norms[-1]),
            energy=0.5 * float((self.stiffness * self.strains**2).sum()),
            strain_steps=solution,
            definite=definite,
        )

    def advance(self, step: RodLinearisation, efforts: np.ndarray, largest_step: float) -> float:
        largest = float(np.linalg.norm(step.free_step + step.step_per_effort @ efforts, axis=1).max())
        fraction = min(1.0, largest_step / max(largest, 1e-300))
        move = step.strain_steps[:, 0] + step.strain_steps[:, 1:] @ efforts
        strains = self.strains + fraction * move.reshape(-1, 4)
        self.restore((strains, self._efforts + fraction * (efforts - self._efforts)))
        return largest

    def _settle(self, gravity: np.ndarray, actuation: Actuation) -> tuple[float, int]:
        wound = np.array([np.nan if value is None else value for value in actuation.coordinates])
        potential = Potential(self, gravity, actuation.loads, wound)
        place, iterations = potential.at(self.strains), 0
        while place is not None:
            found, more = minimise(place, TOLERANCE, self.round_off)
            iterations += more
            place = below_saddle(found, self.element_lengths)
        self.restore((found.strains, found.tensions))
        return float(found.norms[-1]), iterations

    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        check_heights(z, self.span)
        node = min(max(bisect_left(self._heights, z) - 1, 0), len(self.element_lengths) - 1)
        fraction = (z - self._heights[node]) / self.element_lengths[node]
        return (1.0 - fraction) * field[node] + fraction * field[node + 1]

    def sections(self, heights: Sequence[float], field: np.ndarray) -> np.ndarray:
        check_heights(heights, self.span)
        nodes = np.clip(np.searchsorted(self._z, heights) - 1, 0, len(self.element_lengths) - 1)
        fractions = ((heights - self._z[nodes]) / self.element_lengths[nodes])[:, None]
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


def _diagonal(section: Section) -> np.ndarray:
    return np.array([section.bending, section.bending, section.twisting, section.axial])
