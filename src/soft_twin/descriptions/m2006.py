"""The motor of a winch, a DJI M2006 behind its gear: what its data sheet says that limits depend on."""

GEAR_RATIO = 36.0  # of its own gear
TORQUE_CONSTANT = 0.18  # [N·m/A] at the output shaft, behind that
FASTEST_ROTOR = 18_000.0  # [turns/min] without load: 500 at the output shaft


def torque_constant(gear_ratio: float) -> float:
    """At a drum that the rotor turns through this ratio in all [N·m/A]; what another gear loses is left out."""
    return TORQUE_CONSTANT * gear_ratio / GEAR_RATIO
