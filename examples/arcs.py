"""A neck that bends in an arc: which cables its plate's orientation asks for, and back."""

import numpy as np

from soft_twin.twins.constant_curvature import ConstantCurvature

LENGTH, RADIUS = 0.1075, 0.05  # [m]
angles = np.radians([90.0, 210.0, 330.0])
neck = ConstantCurvature([LENGTH], RADIUS * np.column_stack([np.cos(angles), np.sin(angles)]), cables="chord")

pitch, roll = np.radians([20.0, -10.0])
wound = neck.displacements(pitch, roll)
back = np.degrees(neck.orientation(wound))
for number, length in enumerate(wound, start=1):
    print(f"cable {number}: {1e3 * length:.4f} mm")
print(f"pitch: {back[0]:.6f} deg")
print(f"roll: {back[1]:.6f} deg")
