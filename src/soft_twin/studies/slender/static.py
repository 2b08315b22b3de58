"""A straight robot at rest in six attitudes (the paper's Figures 12 and 13): sagging, then compensated.

Horizontal, at 45°, and horizontal rolled by 60°, 120°, 180°, 240°, of which symmetric ones should do alike. r is the
paper's eq. 24, of all of a pose: held straight and let go at 0 s with winches at home, held where it hangs from 3 s on,
and led back from there within 1.5 s from 5 s on. Files: static.mcap, table.json, static.png.
"""

from pathlib import Path

from soft_twin.studies.slender.poses import BaseAttitude, report
from soft_twin.studies.slender.shared import emulated_robot, tuned_twin

POSES = [BaseAttitude(0.0), BaseAttitude(45.0), *(BaseAttitude(0.0, roll) for roll in (60.0, 120.0, 180.0, 240.0))]
NUMBERS = {
    "paper": {"correlation": "> 0.99", "delay_s": "about 3"},
    "reach": {"correlation": ">= 0.998", "delay_s": "<= 0.05"},
}


def run(folder: Path, data: Path) -> str:
    """Stand in all poses; `data` is not used."""
    real = emulated_robot(folder)
    twin, _ = tuned_twin(folder, real)
    return report(folder, "static", real, twin, POSES, NUMBERS)
