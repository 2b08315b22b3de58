"""What a strain energy is: a density on deformation gradients, and its assembly over a body."""

from abc import ABC, abstractmethod

from soft_twin.errors import MaterialError


class Energy(ABC):
    """An isotropic strain energy density W(F) [J/m³] with Lamé constants λ, μ [Pa].

    Raises:
        MaterialError: E ≤ 0, or ν outside (−1, 0.5).
    """

    def __init__(self, young_modulus: float, poisson_ratio: float):
        if not young_modulus > 0.0:
            raise MaterialError(f"Young's modulus {young_modulus:g} Pa is not positive")
        if not -1.0 < poisson_ratio < 0.5:
            raise MaterialError(
                f"Poisson's ratio {poisson_ratio:g} is outside (-1, 0.5): rubber is about 0.45 to 0.499"
            )
        self.mu = young_modulus / (2.0 * (1.0 + poisson_ratio))
        self.lam = young_modulus * poisson_ratio / ((1.0 + poisson_ratio) * (1.0 - 2.0 * poisson_ratio))

    @abstractmethod
    def assemble(self, x, cells, gradients, volumes, place, force, band) -> tuple[float, float, int]:
        """Add up energy, internal force and, unless `band` is empty, stiffness of a body.

        Args:
            x: (n, 3) positions [m].
            cells: (m, k) nodes of each cell.
            gradients: (m, q, k, 3) ∂N/∂X at the quadrature points [1/m].
            volumes: (m, q) volume that each quadrature point stands for [m³].
            place: (n,) place of each node among the unknowns, −1 where it is fixed.
            force: (n, 3), is overwritten by ∂W/∂x [N].
            band: (dof, b) rows of a EnvelopeCholesky, is overwritten by ∂²W/∂x²; or (0, 0).

        Returns:
            The energy [J], the smallest det F, and the cell where it is.
        """
