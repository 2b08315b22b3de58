"""The inverse on a SOFA twin: SOFA's own quadratic program where it has what is asked for, else ours on its steps.

SOFA's (the plugin SoftRobots.Inverse, after Coevoet et al. 2017) knows places of the tip, and limits. It leaves out
lower priorities, and how near the efforts stay to the last ones.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from soft_twin.inverse.goals import Goal, PositionGoal
from soft_twin.inverse.inverse import Inverse
from soft_twin.inverse.limits import Command
from soft_twin.twins.base import Linearisation

FREE = 1e9  # [N], [Pa], [m] or [m³]: no limit


class SofaInverse(Inverse):
    """As Inverse, on a SofaTwin."""

    def step(
        self, gravity: np.ndarray, goals: Sequence[Goal], reuse: bool = False, told: Command | None = None
    ) -> tuple[Linearisation, float]:
        """As Inverse; by SOFA's own inverse where it has one, and the first goal is a place of the tip alone."""
        first = min(goal.priority for goal in goals)
        own = [goal for goal in goals if goal.priority == first]
        twin, tip = self.twin, self.twin.frames["tip"]
        if not (twin.has_inverse and len(own) == 1 and isinstance(own[0], PositionGoal) and own[0].frame is tip):
            return super().step(gravity, goals, reuse, told)
        self._told = told
        lowest, highest = self._coordinate_bounds()
        taken_up = twin.softness * twin.efforts
        limits = np.column_stack([*self._effort_bounds(), lowest - taken_up, highest - taken_up])
        here, move = twin.inverse_step(gravity, own[0].target, np.clip(limits, -FREE, FREE))
        return here, self._tracked(partial(self.twin.take, move))

    def follow(self, gravity: np.ndarray, reuse: bool = False) -> tuple[Linearisation, float]:
        here, move = self.twin.loaded_step(gravity, self._free)
        return here, self._tracked(partial(self.twin.take, move))
