"""A mass on a thread below something that moves: it swings, and pulls by what it weighs and how it moves.

The thread is a stiff spring that never pushes, with the natural frequency BOUNCE of the mass on it, so that it is
stretched by a millimetre. The air damps the swing a little.
"""

import math

import numpy as np

from soft_twin.mechanics.moving_base import MovingBase

BOUNCE = 2.0 * math.pi * 15.0  # [rad/s]
THREAD_DAMPING = 0.5  # of the critical one
AIR = 0.05  # [1/s] by which the velocity fades
STEP = 0.001  # [s] at the most


class HungMass:
    """See the module's docstring.

    Attributes:
        mass: [kg].
        thread: its length [m].
        place, velocity: (3,) of the mass, in base_link [m], [m/s].
    """

    def __init__(self, mass: float, thread: float, anchor: np.ndarray, gravity: np.ndarray, swing: float = 0.0):
        """At rest below the anchor (3,) [m], by `swing` [rad] beside where gravity (3,) would have it."""
        self.mass, self.thread = mass, thread
        down = gravity / np.linalg.norm(gravity)
        aside = np.eye(3)[int(np.argmin(np.abs(down)))]
        aside = aside - (aside @ down) * down
        aside /= np.linalg.norm(aside)
        stretched = thread + float(np.linalg.norm(gravity)) / BOUNCE**2
        self.place = anchor + stretched * (math.cos(swing) * down + math.sin(swing) * aside)
        self.velocity = np.zeros(3)

    def step(self, dt: float, before: np.ndarray, after: np.ndarray, base: MovingBase) -> np.ndarray:
        """(3,) what it pulls its anchor by, on average [N], while that goes from `before` to `after` (3,) [m] in `dt`
        [s] on a base that moves."""
        count = max(1, math.ceil(dt / STEP))
        pulls, moved = np.zeros(3), (after - before) / dt
        for k in range(count):
            pull = self._pull(before + (k + 1) / count * (after - before), moved)
            carried = np.cross(base.acceleration, self.place)
            carried = carried + np.cross(base.rate, np.cross(base.rate, self.place) + 2.0 * self.velocity)
            gained = base.gravity - carried - pull / self.mass - AIR * self.velocity
            self.velocity = self.velocity + dt / count * gained
            self.place = self.place + dt / count * self.velocity
            pulls += pull / count
        return pulls

    def _pull(self, anchor: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """(3,) at an anchor that moves at `moved` (3,) [m/s]; nothing where the thread is loose."""
        along = self.place - anchor
        length = float(np.linalg.norm(along))
        if length <= self.thread:
            return np.zeros(3)
        along /= length
        faster = 2.0 * THREAD_DAMPING * BOUNCE * float((self.velocity - moved) @ along)
        return self.mass * max(0.0, BOUNCE**2 * (length - self.thread) + faster) * along
