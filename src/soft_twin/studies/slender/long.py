"""The distal segment is 80 mm long instead of 50 (the paper's Figure 14): nothing is tuned again.

One number of the description changes, `body.segment_lengths`, for the robot and its twin; meshes and target are made
anew. The twin has the parameters that the release of the 100 mm robot gave. The target is a straight robot, 130 mm from
its base; horizontal and at 45°. Files: long.mcap, table.json, long.png.
"""

from pathlib import Path

from soft_twin.studies.slender.poses import BaseAttitude, report
from soft_twin.studies.slender.shared import TRUE_DAMPING, emulated_robot, tuned_twin, tuned_values, variant

POSES = [BaseAttitude(0.0), BaseAttitude(45.0)]
LONGER = {"body.segment_lengths": [0.05, 0.08]}  # [m]
NUMBERS = {"paper": {"works": "yes, sagging a little"}, "reach": {"error_mm": "<= 2"}}


def run(folder: Path, data: Path) -> str:
    """Tune the short robot's twin, stand with the long one; `data` is not used."""
    _, values = tuned_twin(folder, emulated_robot(folder))
    damping = {"rayleigh_mass": TRUE_DAMPING, "rayleigh_stiffness": TRUE_DAMPING}
    real = variant(folder, "slender_long_real", LONGER | {"body.damping": damping})
    twin = variant(folder, "slender_long", LONGER | tuned_values(values))
    return report(folder, "long", real, twin, POSES, NUMBERS)
