"""The motor of a winch, a DJI M2006 behind its gear: what its data sheet says that limits depend on."""

TORQUE_CONSTANT = 0.18  # [N·m/A] at the output shaft, behind the 36:1 gear
FASTEST_ROTOR = 18_000.0  # [turns/min] without load: 500 at the output shaft
