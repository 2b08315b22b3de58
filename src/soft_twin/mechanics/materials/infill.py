"""Young's modulus of printed bodies that are not full inside, as they answer to bending.

A print is a solid wall around an infill. In a round section of diameter D with a wall t, the infill has the share
q = (1 − 2 t/D)⁴ of the second moment of area, and the wall the rest. An infill of the relative density φ has φ² of the
solid's modulus, as open cells whose edges bend have (Gibson and Ashby, *Cellular Solids*, 2nd ed. 1997, eq. 5.6). As
the two bend together,

    E = E₁ (1 − q + q φ²).

TPU of 82 Shore A that is printed full has E₁ ≈ 20 MPa; with walls of 1.6 mm around 27 mm the rule spans 8…20 MPa, as
necks of 10 % infill and more do.
"""

import math

from soft_twin.errors import InputError

SOLID_TPU_82A = 20e6  # [Pa]


def young_modulus(infill: float, wall: float, diameter: float, solid: float = SOLID_TPU_82A) -> float:
    """Of a round print [Pa].

    Args:
        infill: relative density inside the wall, 0…1.
        wall: its thickness [m].
        diameter: outside [m].
        solid: modulus of a print that is full [Pa].

    Raises:
        InputError: an infill beyond 0…1, or a wall that the section has no room for.
    """
    return solid * _share(infill, wall, diameter)


def solid_modulus(measured: float, infill: float, wall: float, diameter: float) -> float:
    """Modulus of the full print [Pa] from what one of that infill was measured to have: this calibrates the rule.

    Raises:
        InputError: as young_modulus, or a modulus that is not positive.
    """
    if not 0.0 < measured < math.inf:
        raise InputError(f"measured modulus: {measured:g} Pa is not positive and finite")
    return measured / _share(infill, wall, diameter)


def _share(infill: float, wall: float, diameter: float) -> float:
    if not 0.0 <= infill <= 1.0:
        raise InputError(f"infill: {infill:g} is outside 0…1")
    if not 0.0 < 2.0 * wall <= diameter < math.inf:
        raise InputError(f"wall: {wall:g} m on both sides is not within a diameter of {diameter:g} m")
    inside = (1.0 - 2.0 * wall / diameter) ** 4
    return 1.0 - inside + inside * infill**2
