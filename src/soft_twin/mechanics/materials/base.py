"""What a strain energy is: a density on deformation gradients. What it does not say of itself is completed here."""

from abc import ABC, abstractmethod
from functools import cached_property
from warnings import catch_warnings, simplefilter

import numpy as np

from soft_twin.checks import checked_number
from soft_twin.errors import MaterialError
from soft_twin.mechanics.materials.assembly import assemble_stiffness, assemble_stress, deformation_gradients

ComplexWarning = getattr(np, "exceptions", np).ComplexWarning  # numpy < 1.25, Humble's, has no place for exceptions
COMPLEX_STEP = 1e-30
REAL_STEP = 1e-5  # of deformation gradients, which are about one
CHECK_STEP = 5e-4  # of deformation gradients
AGREEMENT = 1e-5  # relative difference of complex and real steps
DIRECTION = np.array([[0.6, -0.9, 0.4], [0.7, 0.8, -0.5], [-0.3, 0.2, 1.0]])
TRIALS = np.eye(3) + np.random.default_rng(0).uniform(-0.15, 0.15, (20, 3, 3))
NO_ADDRESSES, NO_DATA = np.empty((0, 0), np.int64), np.empty(0)


class Energy(ABC):
    """A strain energy density W(F) [J/m³] of deformation gradients.

    A new law is a class with `energy`; `stress` and `tangent` are optional. What is missing is differentiated
    numerically: by complex steps, exact to round-off, where the formula takes complex numbers (which is tried), else by
    central differences. `check_derivatives` tells how good the derivatives are.
    """

    @abstractmethod
    def energy(self, F: np.ndarray) -> np.ndarray:
        """W (p,) [J/m³] of deformation gradients F (p, 3, 3)."""

    def stress(self, F: np.ndarray) -> np.ndarray:
        """First Piola–Kirchhoff stress P = ∂W/∂F (p, 3, 3) [Pa]."""
        return _derivative(self.energy, F)

    def tangent(self, F: np.ndarray) -> np.ndarray:
        """∂P/∂F (p, 3, 3, 3, 3) [Pa], the last two axes those of F."""
        return _derivative(self.stress, F)

    def at(self, cells: np.ndarray) -> "Energy":
        """The law as it is in the cells of these numbers (m,): another object only where it varies from cell to cell.

        It is then asked about F (m q, 3, 3), the q quadrature points of a cell one after the other.
        """
        return self

    def __add__(self, other: "Energy") -> "Sum":
        return Sum(self, other)

    @cached_property
    def modulus(self) -> float:
        """How stiff the material is at rest [Pa]: the largest entry of the tangent."""
        return float(np.abs(self.tangent(np.eye(3)[None])).max())

    def check_derivatives(self, F: np.ndarray | None = None) -> tuple[float, float]:
        """Largest relative differences of stress and tangent from differences of fourth order, with another step than
        completed derivatives have, at F (p, 3, 3) or at random."""
        if F is None:
            F = TRIALS
        differences = []
        for function, derivative in ((self.energy, self.stress(F)), (self.stress, self.tangent(F))):
            near, far = (_central_difference(function, F, step) for step in (CHECK_STEP, 2.0 * CHECK_STEP))
            numeric = (4.0 * near - far) / 3.0
            differences.append(float(np.abs(derivative - numeric).max() / np.abs(numeric).max()))
        return differences[0], differences[1]

    def assemble(
        self, x, cells, gradients, volumes, force, offsets=NO_ADDRESSES, strides=NO_ADDRESSES, data=NO_DATA
    ) -> tuple[float, float, int]:
        """Add up energy, internal force and, unless `offsets` is empty, stiffness of some cells.

        Args:
            x: (n, 3) positions [m].
            cells: (m, k) nodes of each cell.
            gradients: (m, q, k, 3) ∂N/∂X at the quadrature points [1/m].
            volumes: (m, q) volume that each quadrature point stands for [m³].
            force: (n, 3), ∂W/∂x [N] is added to it.
            offsets, strides: (m, k (k + 1) / 2) `addresses` of the cells' blocks in a matrix.
            data: of that matrix, ∂²W/∂x² is added to it.

        Returns:
            The energy [J], the smallest det F, and the cell where it is.
        """
        F = np.empty((*volumes.shape, 3, 3))
        determinants = deformation_gradients(x, cells, gradients, F)
        points = F.reshape(-1, 3, 3)
        assemble_stress(cells, gradients, volumes, self.stress(points).reshape(F.shape), force)
        if len(offsets):
            tangent = self.tangent(points).reshape(*volumes.shape, 3, 3, 3, 3)
            assemble_stiffness(gradients, volumes, tangent, offsets, strides, data)
        worst = int(determinants.min(axis=1).argmin())
        energy = float(volumes.ravel() @ self.energy(points))
        return energy, float(determinants[worst].min()), worst


class IsotropicEnergy(Energy):
    """A law of Young's modulus and Poisson's ratio, with Lamé constants `lam`, `mu` [Pa].

    Raises:
        MaterialError: E ≤ 0 or infinite, or ν outside (−1, 0.5).
        InputError: E or ν is no number.
    """

    def __init__(self, young_modulus: float, poisson_ratio: float):
        young_modulus = checked_number(young_modulus, "Young's modulus", "Pa")
        poisson_ratio = checked_number(poisson_ratio, "Poisson's ratio")
        if not 0.0 < young_modulus < np.inf:
            raise MaterialError(f"Young's modulus {young_modulus:g} Pa is not positive and finite")
        if not -1.0 < poisson_ratio < 0.5:
            raise MaterialError(
                f"Poisson's ratio {poisson_ratio:g} is outside (-1, 0.5): rubber is about 0.45 to 0.499"
            )
        self.mu = young_modulus / (2.0 * (1.0 + poisson_ratio))
        self.lam = young_modulus * poisson_ratio / ((1.0 + poisson_ratio) * (1.0 - 2.0 * poisson_ratio))


class Sum(Energy):
    """W₁ + W₂ + …: materials that act at the same place, such as a muscle in a solid. Made by `+`."""

    def __init__(self, *parts: Energy):
        self.parts = tuple(inner for part in parts for inner in (part.parts if isinstance(part, Sum) else (part,)))

    def energy(self, F):
        return sum(part.energy(F) for part in self.parts)

    def stress(self, F):
        return sum(part.stress(F) for part in self.parts)

    def tangent(self, F):
        return sum(part.tangent(F) for part in self.parts)

    def at(self, cells):
        return Sum(*(part.at(cells) for part in self.parts))

    @property
    def modulus(self) -> float:
        """Of all parts together, at most [Pa]."""
        return sum(part.modulus for part in self.parts)

    def assemble(self, *arguments):
        """Each part adds its own, as fast as it can."""
        results = [part.assemble(*arguments) for part in self.parts]
        return sum(energy for energy, _, _ in results), *results[0][1:]


def _derivative(function, F: np.ndarray) -> np.ndarray:
    """∂f/∂F with the axes of F last: by complex steps where f keeps them, else by central differences."""
    if np.iscomplexobj(F) or not _keeps_complex_steps(function, F.shape):
        return _central_difference(function, F)
    values = [_shifted(function, F, i, j, 1j * COMPLEX_STEP) for i in range(3) for j in range(3)]
    stacked = np.stack([value.imag for value in values], axis=-1) / COMPLEX_STEP
    return stacked.reshape(*stacked.shape[:-1], 3, 3)


def _keeps_complex_steps(function, shape: tuple[int, ...]) -> bool:
    """Whether a complex step along one direction at trial deformations, as many as `shape` says, finds what a real one
    does: norms, absolute values, singular values and the like lose all or some of it."""
    F = np.resize(TRIALS, shape)
    try:
        with catch_warnings():
            simplefilter("error", ComplexWarning)
            exact = np.imag(function(F + 1j * COMPLEX_STEP * DIRECTION)) / COMPLEX_STEP
    except (TypeError, ValueError, np.linalg.LinAlgError, ComplexWarning):
        return False
    numeric = (function(F + REAL_STEP * DIRECTION) - function(F - REAL_STEP * DIRECTION)) / (2.0 * REAL_STEP)
    return bool(np.abs(exact - numeric).max() <= AGREEMENT * np.abs(numeric).max())


def _central_difference(function, F: np.ndarray, step: float = REAL_STEP) -> np.ndarray:
    differences = [
        _shifted(function, F, i, j, step) - _shifted(function, F, i, j, -step) for i in range(3) for j in range(3)
    ]
    stacked = np.stack(differences, axis=-1) / (2.0 * step)
    return stacked.reshape(*stacked.shape[:-1], 3, 3)


def _shifted(function, F: np.ndarray, i: int, j: int, step: complex) -> np.ndarray:
    moved = F.astype(np.result_type(F, type(step)))
    moved[:, i, j] += step
    return function(moved)
