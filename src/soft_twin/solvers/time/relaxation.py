"""Motion of bodies whose material relaxes: stiffer when it moves than when it rests."""

from dataclasses import replace

import numpy as np

from soft_twin.errors import InputError, UsageError
from soft_twin.mechanics.model import Increment, Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.solvers.equilibrium import Solved
from soft_twin.solvers.time.integrators import CrankNicolson


class RelaxingCrankNicolson(CrankNicolson):
    """A standard linear solid: beside the elastic forces f = ∂W/∂x there are forces q that follow their rate and fade,

        q̇ = γ ḟ − q/τ,    over a step    q₁ = a q₀ + b (f₁ − f₀),  a = (2τ − h)/(2τ + h),  b = 2τγ/(2τ + h),

    so that W is the energy of slow changes and (1 + γ) W that of fast ones, with losses in between. As with Rayleigh's
    damping, q is kept at the nodes in fixed directions: rotations within the time τ are to be moderate. Steps are of
    one size.

    Attributes:
        overstress: q (n, 3) [N]; zero at the start and after `restart`.
        share, relaxation_time: γ, and τ [s].
    """

    def __init__(self, model: Model, dt: float, share: float, relaxation_time: float, **options):
        """`options`: those of the other integrators.

        Raises:
            InputError: a negative share, or a time that is not positive.
        """
        super().__init__(model, dt, **options)
        if not (share >= 0.0 and relaxation_time > 0.0):
            raise InputError(
                f"relaxation: share {share:g} must not be negative, time {relaxation_time:g} s be positive"
            )
        self.share, self.relaxation_time = share, relaxation_time
        self.overstress = np.zeros_like(self.pose.points)

    def restart(self, pose: Pose, velocities: np.ndarray, time: float) -> None:
        super().restart(pose, velocities, time)
        self.overstress = np.zeros_like(pose.points)

    def increment(self, dt: float) -> Increment:
        elastic, (kept, gained) = super().increment(dt), self.factors(dt)
        linear = elastic.linear + 0.5 * gained * self._elastic - 0.5 * (1.0 + kept) * self.overstress
        return replace(elastic, elastic=elastic.elastic + 0.5 * gained, linear=linear)

    def step(self, dt: float | None = None) -> Solved:
        dt, before = self.dt if dt is None else dt, self._elastic
        solved = super().step(dt)
        self.overstress = self.overstress_after(before, self._elastic, dt)
        return solved

    def elastic_forces(self, pose: Pose) -> np.ndarray:
        """f (n, 3) [N] at a pose."""
        return self._at(pose).elastic

    def overstress_after(self, before: np.ndarray, after: np.ndarray, dt: float) -> np.ndarray:
        """q (n, 3) [N] after a step of `dt` through which elastic forces go from `before` to `after` (n, 3) [N]."""
        kept, gained = self.factors(dt)
        return kept * self.overstress + gained * (after - before)

    def advance(self, duration: float, tolerance: float | None = None) -> int:
        """As the other integrators do, without adaptive steps.

        Raises:
            UsageError: a tolerance is given.
        """
        if tolerance is not None:
            raise UsageError("a body that relaxes takes steps of one size: no tolerance")
        return super().advance(duration)

    def factors(self, dt: float) -> tuple[float, float]:
        """a and b of a step of `dt` [s]."""
        whole = 2.0 * self.relaxation_time + dt
        return (2.0 * self.relaxation_time - dt) / whole, 2.0 * self.relaxation_time * self.share / whole
