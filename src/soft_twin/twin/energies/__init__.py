"""Strain energies. A new one is a module with a class and one line in ENERGIES."""

from soft_twin.errors import UsageError
from soft_twin.twin.energies.base import Energy
from soft_twin.twin.energies.corotational import Corotational

ENERGIES = {
    "corotational": Corotational,
}


def energy_named(name: str, young_modulus: float, poisson_ratio: float) -> Energy:
    """The strain energy of that name, of a material with E [Pa] and ν.

    Raises:
        UsageError: there is none; the message lists those there are.
        MaterialError: E or ν lie outside the law's range.
    """
    if name not in ENERGIES:
        raise UsageError(f"no material law '{name}': there are {', '.join(ENERGIES)}")
    return ENERGIES[name](young_modulus, poisson_ratio)
