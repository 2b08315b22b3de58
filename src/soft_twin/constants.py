"""What is one number everywhere."""

STANDARD_GRAVITY = 9.81  # [m/s²] the direction of gravity is measured, its length never
UPRIGHT_GRAVITY = (0.0, 0.0, -STANDARD_GRAVITY)  # [m/s²] in base_link of a robot that stands on its base
