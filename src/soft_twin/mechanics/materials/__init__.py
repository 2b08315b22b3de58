"""Strain energies. A new one is a module with a class and one line in ENERGIES, or, where it is not made of E and ν, in
RUBBERS."""

from soft_twin.errors import UsageError
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.corotational import Corotational
from soft_twin.mechanics.materials.mooney_rivlin import MooneyRivlin
from soft_twin.mechanics.materials.neo_hookean import NeoHookean, StableNeoHookean
from soft_twin.mechanics.materials.ogden import Ogden
from soft_twin.mechanics.materials.small_strain import Linear, StVenantKirchhoff

ENERGIES = {
    "corotational": Corotational,
    "linear": Linear,
    "neo_hookean": NeoHookean,
    "st_venant_kirchhoff": StVenantKirchhoff,
    "stable_neo_hookean": StableNeoHookean,
}
RUBBERS = {"mooney_rivlin": MooneyRivlin, "ogden": Ogden}


def energy_named(name: "str | Energy", young_modulus: float, poisson_ratio: float) -> Energy:
    """The strain energy of that name, of a material with E [Pa] and ν; an Energy is returned as it is.

    Raises:
        UsageError: there is none; the message lists those there are.
        MaterialError: E or ν lie outside the law's range.
    """
    if isinstance(name, Energy):
        return name
    if name in RUBBERS:
        raise UsageError(f"material law '{name}' is not made of E and ν, but of constants of its own")
    if name not in ENERGIES:
        raise UsageError(f"no material law '{name}': there are {', '.join(sorted({**ENERGIES, **RUBBERS}))}")
    return ENERGIES[name](young_modulus, poisson_ratio)
