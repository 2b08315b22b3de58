"""Numbers of a model that derivatives are taken by: a material's, a load's, a cable's."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.mechanics.body import Material
from soft_twin.mechanics.materials.base import IsotropicEnergy
from soft_twin.mechanics.model import Model
from soft_twin.solvers.derivatives.friction import STENCIL

NEAR_HALF = 2e-3  # of the distance to ν = ½
RELATIVE_STEP = 1e-3  # of a parameter's value; the error of differences is of fourth order in it
SMALLEST_STEP = 1e-4  # of parameters that are about zero


class Parameter(ABC):
    """One number that may be read and set."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The number."""

    @abstractmethod
    def set(self, value: float) -> None:
        """Set it."""

    @property
    def step(self) -> float:
        """By how much it is changed for differences; twice as much has to be in its range, too."""
        size = abs(self.value)
        return SMALLEST_STEP if size < SMALLEST_STEP else RELATIVE_STEP * size

    def differences(self, values: Callable[[], np.ndarray | float]) -> np.ndarray | float:
        """Derivative of an array or a number by this one, by central differences of fourth order."""
        value, step, total = self.value, self.step, 0.0
        try:
            for shift, weight in STENCIL:
                self.set(value + shift * step)
                total = total + weight / step * values()
        finally:
            self.set(value)
        return total


@dataclass
class Attribute(Parameter):
    """An attribute of a force, constraint or law, or one entry of it: Attribute(pressure, "pressure"),
    Attribute(gravity, "vector", 2), Attribute(cables, "displacements", 0).

    Raises:
        UsageError: when used, where there is no such number.
    """

    owner: Any
    name: str
    index: int | None = None

    @property
    def value(self) -> float:
        if isinstance(self.owner, Material):
            raise UsageError(f"a Material's {self.name}: take Density, Elastic, or an Attribute of its energy")
        try:
            value = getattr(self.owner, self.name)
            return float(value if self.index is None else value[self.index])
        except (AttributeError, IndexError, TypeError) as error:
            entry = "" if self.index is None else f"[{self.index}]"
            owner = type(self.owner).__name__
            raise UsageError(f"a {owner} has no number '{self.name}{entry}' to take as a parameter: {error}") from error

    def set(self, value: float) -> None:
        _ = self.value  # or there is none
        if self.index is None:
            setattr(self.owner, self.name, value)
            return
        values = getattr(self.owner, self.name)
        values[self.index] = value
        if getattr(self.owner, self.name) is not values:  # of a property that gives a copy each time
            setattr(self.owner, self.name, values)


@dataclass
class Elastic(Parameter):
    """ "young_modulus" [Pa] or "poisson_ratio" of an isotropic material.

    Raises:
        UsageError: when used with another law or another name.
    """

    material: Material
    name: str

    @property
    def value(self) -> float:
        return self._constants()[self.name]

    def set(self, value: float) -> None:
        constants = self._constants() | {self.name: value}
        self.material.energy = type(self.material.energy)(**constants)

    @property
    def step(self) -> float:
        """Small beside what is left to ν = ½, where the bulk modulus grows without bounds."""
        left = 0.5 - self.value if self.name == "poisson_ratio" else np.inf
        return min(super().step, NEAR_HALF * left)

    def _constants(self) -> dict[str, float]:
        law = self.material.energy
        if not isinstance(law, IsotropicEnergy) or self.name not in ("young_modulus", "poisson_ratio"):
            raise UsageError(f"a {type(law).__name__} has no {self.name} that derivatives could be taken by")
        return {
            "young_modulus": law.mu * (3.0 * law.lam + 2.0 * law.mu) / (law.lam + law.mu),
            "poisson_ratio": law.lam / (2.0 * (law.lam + law.mu)),
        }


@dataclass
class Density(Parameter):
    """Density of one of a model's materials [kg/m³]."""

    model: Model
    material: Material

    @property
    def value(self) -> float:
        return self.material.density

    def set(self, value: float) -> None:
        self.model.body.set_density(self.material, value)
        self.model.update_mass()
