"""Strain energies. A new one is a module with a class and one line in ENERGIES."""

from soft_twin.errors import UsageError
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.corotational import Corotational
from soft_twin.mechanics.materials.neo_hookean import NeoHookean, StableNeoHookean
from soft_twin.mechanics.materials.small_strain import Linear, StVenantKirchhoff

ENERGIES = {
    "corotational": Corotational,
    "linear": Linear,
    "neo_hookean": NeoHookean,
    "st_venant_kirchhoff": StVenantKirchhoff,
    "stable_neo_hookean": StableNeoHookean,
}


def energy_named(name: "str | Energy", young_modulus: float, poisson_ratio: float) -> Energy:
    """The strain energy of that name, of a material with E [Pa] and ν; an Energy is returned as it is.

    Raises:
        UsageError: there is none; the message lists those there are.
        MaterialError: E or ν lie outside the law's range.
    """
    if isinstance(name, Energy):
        return name
    if name not in ENERGIES:
        raise UsageError(f"no material law '{name}': there are {', '.join(ENERGIES)}")
    return ENERGIES[name](young_modulus, poisson_ratio)
