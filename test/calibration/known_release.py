"""A release whose truth is known, as the slender robot's twin does it: see conftest.py."""

import numpy as np

GRAVITY, DT, STEPS = np.array([0.0, -9.81, 0.0]), 0.1, 10
MESHES = {"hex20r": {"element": "hex20r", "divisions": [1, 6, 3], "grading": 1.4}}  # of few cells
UP = np.array([0.0, 0.0, 1.0])
TRUTH = {"young_modulus": 0.68e6, "mass_damping": 0.5, "stiffness_damping": 0.31, "density": 1150.0}
