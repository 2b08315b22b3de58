"""Damped Newton for a tensegrity's equilibrium: exact banded Hessian, LAPACK's Cholesky, Armijo's line search."""

from dataclasses import dataclass, replace

import numpy as np

from soft_twin.twins.tensegrity import kernels
from soft_twin.twins.tensegrity.descent import descend
from soft_twin.twins.tensegrity.structure import Structure


@dataclass(frozen=True)
class Laws:
    """What the members do at the present pressures.

    Attributes:
        stiffness: (m,) k [N/m].
        natural: (m,) natural length b₀ [m].
        stops: (m, 2) shortest and longest length, 0 and inf where nothing stops the member [m].
    """

    stiffness: np.ndarray
    natural: np.ndarray
    stops: np.ndarray


@dataclass(frozen=True)
class Surroundings:
    """What acts on the arm from outside.

    Attributes:
        loads: (2 s, 3) of the nodes [N].
        holds: (2 s,) stiffness of springs from the nodes [N/m] to their targets (2 s, 3) [m].
        grips: (s,) stiffness of springs [N m/rad] that turn the struts to inclinations (s,) [rad].
    """

    loads: np.ndarray
    holds: np.ndarray
    targets: np.ndarray
    grips: np.ndarray
    inclinations: np.ndarray

    @classmethod
    def of_loads(cls, loads: np.ndarray) -> "Surroundings":
        """Loads only, nothing holds a node."""
        struts = len(loads) // 2
        return cls(loads, np.zeros(len(loads)), np.zeros_like(loads), np.zeros(struts), np.zeros(struts))


@dataclass(frozen=True)
class StrutPlacement:
    """Where the struts are: bottoms (s, 3) [m] and unit directions (s, 3), bottom to top."""

    bottoms: np.ndarray
    directions: np.ndarray

    def nodes(self, lengths: np.ndarray) -> np.ndarray:
        """(2 s, 3) positions of the nodes, bottoms first."""
        return kernels.node_positions(self.bottoms, self.directions, lengths)

    def with_inclinations(self, inclinations: np.ndarray, measured: np.ndarray) -> "StrutPlacement":
        """The pose with the measured struts (s,) turned, each in its vertical plane, to inclinations (s,) [rad]."""
        sines = np.hypot(self.directions[:, 0], self.directions[:, 1])[:, None]
        flat = np.where(sines > 1e-9, self.directions[:, :2] / np.maximum(sines, 1e-9), [1.0, 0.0])
        turned = np.column_stack([np.sin(inclinations)[:, None] * flat, np.cos(inclinations)])
        return replace(self, directions=np.where(measured[:, None], turned, self.directions))


@dataclass(frozen=True)
class Minimum:
    """A minimum that was found.

    Attributes:
        pose: where the struts are.
        energy: [J].
        residual: largest entry of the gradient [N].
        iterations: Newton steps.
        converged: the residual is below the tolerance.
        factor: banded Cholesky factor of the Hessian (k + 1, n), there or a step or two before.
    """

    pose: StrutPlacement
    energy: float
    residual: float
    iterations: int
    converged: bool
    factor: np.ndarray


class Unknowns:
    """Which of the struts' motions are unknown, their equation numbers, and room for the equations.

    Attributes:
        measured: (s,) True where a strut's inclination is prescribed.
        equations: (s, 5) equation of a strut's translation (3), yaw and tilt; −1 where there is none.
        count: number of equations n.
        bandwidth: k, the number of subdiagonals.
    """

    def __init__(self, structure: Structure, measured: np.ndarray):
        self.measured = measured
        self.equations = np.full((structure.strut_count, 5), -1)
        self.count = 0
        for i in structure.strut_order():
            held = i in structure.anchors
            slots = ([] if held else [0, 1, 2]) + ([3] if measured[i] else [3, 4])
            self.equations[i, slots] = self.count + np.arange(len(slots))
            self.count += len(slots)
        self.bandwidth = self._bandwidth(structure.member_struts)
        self.band = np.zeros((self.bandwidth + 1, self.count), order="F")
        self.gradient = np.zeros(self.count)
        self.tangents = np.zeros((structure.strut_count, 2, 3))
        self.curvatures = np.zeros((structure.strut_count, 3))

    def _bandwidth(self, pairs: np.ndarray) -> int:
        last = self.equations.max(axis=1)
        first = np.where(self.equations >= 0, self.equations, self.count).min(axis=1)
        i, j = pairs.T
        spans = np.maximum(last[i], last[j]) - np.minimum(first[i], first[j])
        return int(max(spans.max(), (last - first).max()))


class Minimiser:
    """Finds the minimum of a structure's potential over some unknowns.

    Args:
        structure: what is minimised over.
        tolerance: largest entry of the gradient at a minimum [N].
        max_iterations: Newton steps before giving up.
    """

    def __init__(self, structure: Structure, tolerance: float = 1e-6, max_iterations: int = 1000):
        self.structure = structure
        self.members = np.ascontiguousarray(structure.members)
        self.lengths = np.ascontiguousarray(structure.strut_lengths)
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    def minimise(
        self,
        pose: StrutPlacement,
        unknowns: Unknowns,
        laws: Laws,
        around: Surroundings,
        factor: np.ndarray | None = None,
    ) -> Minimum:
        """The minimum that damped Newton reaches from a pose. It always returns; `converged` says how it ended.

        Args:
            factor: Cholesky factor of a nearby Hessian. It serves as long as each step with it takes the residual
                down tenfold, which saves factorisations.
        """
        bottoms, directions = pose.bottoms.copy(), pose.directions.copy()
        result = np.empty_like(unknowns.band) if factor is None else factor.copy(order="F")
        energy, residual, iterations = descend(
            bottoms, directions, self.lengths, self.members, laws.stiffness, laws.natural, laws.stops, around.loads,
            around.holds, around.targets, around.grips, around.inclinations, unknowns.measured, unknowns.equations,
            unknowns.band, result, unknowns.gradient, unknowns.tangents, unknowns.curvatures, self.tolerance,
            self.max_iterations, factor is not None,
        )  # fmt: skip
        pose = StrutPlacement(bottoms, directions)
        return Minimum(pose, energy, residual, iterations, residual <= self.tolerance, result)

    def energy(self, pose: StrutPlacement, laws: Laws, around: Surroundings) -> float:
        """The potential [J]."""
        nodes = pose.nodes(self.lengths)
        potential = kernels.potential(
            nodes, self.members, laws.stiffness, laws.natural, laws.stops, around.loads, around.holds, around.targets
        )
        return potential + kernels.grip_energy(pose.directions, around.grips, around.inclinations)

    def gradient(self, pose: StrutPlacement, unknowns: Unknowns, laws: Laws, around: Surroundings) -> np.ndarray:
        """Fill the gradient of the unknowns at a pose; that of the nodes (2 s, 3) [N]."""
        kernels.strut_frames(pose.directions, self.lengths, unknowns.measured, unknowns.tangents, unknowns.curvatures)
        forces = kernels.node_gradient(
            pose.nodes(self.lengths), self.members, laws.stiffness, laws.natural, laws.stops, around.loads,
            around.holds, around.targets,
        )  # fmt: skip
        kernels.strut_gradient(forces, unknowns.tangents, unknowns.equations, unknowns.gradient)
        kernels.add_grip_gradient(
            pose.directions, self.lengths, around.grips, around.inclinations, unknowns.equations, unknowns.gradient
        )
        return forces

    def hessian(self, pose, unknowns, laws, around, forces: np.ndarray, convex: bool = False) -> np.ndarray:
        """The Hessian's lower band at the pose whose `gradient` was computed last, with that gradient of the nodes."""
        kernels.hessian(
            pose.nodes(self.lengths), self.members, laws.stiffness, laws.natural, laws.stops, around.holds, forces,
            unknowns.tangents, unknowns.curvatures, unknowns.equations, convex, unknowns.band,
        )  # fmt: skip
        kernels.add_grip_hessian(
            pose.directions, self.lengths, around.grips, around.inclinations, unknowns.equations, convex, unknowns.band
        )
        return unknowns.band
