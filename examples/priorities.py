"""The tip comes first, the rest of the body in what is left: goals with priorities, and with weights instead."""

import numpy as np

import soft_twin
from soft_twin.inverse.goals import PositionGoal
from soft_twin.twins.frames import SectionFrame

robot = soft_twin.load_robot("slender")
twin = robot.build_twin()
inverse = robot.build_inverse(twin)
tip, middle = twin.frames["tip"], SectionFrame(0.5 * twin.length)
gravity, target, aside = [0.0, -9.81, 0.0], [0.01, 0.005, 0.096], [0.004, 0.003, 0.0495]

for name, goals in {
    "tip alone": [PositionGoal(tip, target)],
    "tip first": [PositionGoal(tip, target), PositionGoal(middle, aside, priority=2)],
    "side by side": [PositionGoal(tip, target), PositionGoal(middle, aside)],
}.items():
    solution = inverse.solve(gravity, goals=goals)
    misses = [1e3 * np.linalg.norm(frame.position(twin) - place) for frame, place in ((tip, target), (middle, aside))]
    print(f"{name}, tip: {misses[0]:.4f} mm off")
    print(f"{name}, middle: {misses[1]:.4f} mm off")
    print("  tensions:", " ".join(f"{tension:.2f}" for tension in solution.tensions), "N")
