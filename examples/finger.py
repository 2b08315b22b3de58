"""Two cables and an air chamber hold the finger's tip while the hand turns, and press it on a floor."""

import numpy as np

import soft_twin

robot = soft_twin.load_robot("finger")
inverse = robot.build_inverse()
target = robot.target_tip
print("actuators:", ", ".join(robot.actuator_names))

for degrees in (90.0, 45.0, 0.0):
    turn = np.radians(degrees)
    gravity = -9.81 * np.array([0.0, np.cos(turn), np.sin(turn)])  # of a base inclined by so much
    loose = np.linalg.norm(robot.build_twin().equilibrium(gravity, efforts=np.zeros(3)).tip - target)
    solution = inverse.solve(gravity, target)
    left, right, air = solution.efforts
    print(f"  base at {degrees:.0f}°: cables {left:.2f} and {right:.2f} N, air {1e-3 * air:.1f} kPa")
    print(f"untouched at {degrees:.0f}: {1e3 * loose:.3f} mm off")
    print(f"held at {degrees:.0f}: {1e3 * solution.error:.5f} mm off")
