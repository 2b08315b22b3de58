"""Where along a body a cross section may be asked for: nothing is known of any beyond its ends."""

from typing import Any

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError

NEAR = 1e-6  # [m] the end of a body, to a section


def check_heights(heights: Any, span: tuple[float, float]) -> None:
    """Heights, one or several [m], lie within the span of a body, its lowest and highest z [m].

    Raises:
        InputError: they are no numbers, not finite, or beyond the body.
    """
    low, high = span
    for z in checked_numbers(heights, "numbers", "heights of cross sections").flat:
        if not low - NEAR <= z <= high + NEAR:
            raise InputError(f"the section z = {z:g} m lies beyond the body, {low:.4g}…{high:.4g} m")
