"""The cases of the campaign `imu` on a line that loses its contact again and again.

What is known of a fault must outlive the gaps. The judge, and its kinds of violations, are those of `imu`.
"""

from dataclasses import replace

import numpy as np

from soft_twin.studies.campaigns.imu import DURATION, Case, ImuCampaign
from soft_twin.studies.campaigns.imu_faults import Fault, damage_line

FIRST = 2.0, 4.0  # [s]
BROKEN, WHOLE = (0.3, 0.6), (1.0, 3.0)  # [s] for which nothing arrives, and between two such times


class ImuLineCampaign(ImuCampaign):
    """See the module's docstring."""

    name = "imu_line"

    def make_case(self, seed: int) -> Case:
        case, rng = super().make_case(seed), np.random.default_rng([seed, 1])
        gaps, frames = [], case.frames
        start = rng.uniform(*FIRST)
        while start < DURATION:
            gaps.append(Fault("gap", start, start + rng.uniform(*BROKEN)))
            frames = damage_line(rng, frames, gaps[-1])
            start = gaps[-1].end + rng.uniform(*WHOLE)
        return replace(case, faults=[*case.faults, *gaps], frames=frames)
