"""In which unit a length may be that should be in metres: what messages ask."""

UNITS = {"millimetres": 1e-3, "centimetres": 1e-2, "inches": 0.0254}


def units_of(length: float, least: float, most: float) -> str:
    """Such as "millimetres or inches": units in which a length would be within least…most [m]; "": there is none."""
    return " or ".join(name for name, metres in UNITS.items() if least <= metres * length <= most)
