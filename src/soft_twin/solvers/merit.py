"""What lets a step be judged: the augmented Lagrangian's part of the rows, and how far a step may go.

For a row with its multiplier λ in [l, u] it is max over μ in [l, u] of −μ g − ½ c μ² − (μ − λ)²/2p with the penalty p,
for two of friction together, over their disc: smooth, and exact at the solution. Friction, which has no potential,
keeps its directions and its bounds during a step.
"""

from dataclasses import dataclass

import numpy as np

from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.unknowns import Pose

LARGEST_STEP = 0.1  # of the body's size: no node moves further in one iteration


def first_penalty(model: Model) -> float:
    """A penalty of broken rows [N/m] as long as none is known."""
    return model.body.modulus * float(np.linalg.norm(model.body.mesh.size))


def broken_by(rows: Rows | None, values: np.ndarray, stiffness: float) -> float:
    """How far the rows are from complementing their multipliers [m]: λ = bounded(λ − s (g + c λ)) for any s > 0."""
    if rows is None:
        return 0.0
    wanted = rows.bounded(values - stiffness * (rows.values + rows.compliance * values))
    return float(np.abs(values - wanted).max()) / stiffness


def merit_of(rows: Rows, multipliers: dict, penalty: float, which: np.ndarray | slice = slice(None)) -> float:
    """What rows, or some of them, with multipliers by key add to the merit function [J], with a `penalty` [N/m] of
    broken ones."""
    best, values = rows.estimates(multipliers, penalty), rows.multipliers(multipliers)
    elastic = 0.5 * rows.compliance * best**2
    return float((-best * rows.values - elastic - 0.5 * (best - values) ** 2 / penalty)[which].sum())


@dataclass(frozen=True)
class Touch:
    """What rows do during a step: `multipliers` and `penalty` [N/m] of the augmented Lagrangian; `friction` keeps its
    directions and bounds as at `origin` (n, 3)."""

    multipliers: Multipliers
    penalty: float
    friction: list[Rows | None]
    origin: np.ndarray

    @classmethod
    def at(cls, pose: Pose, rows: list[Rows | None], multipliers: Multipliers, penalty: float) -> "Touch":
        """With friction as it is at a pose with its rows; None for those without."""
        friction = [own and own.take(np.isfinite(own.upper)) for own in rows]
        return cls(multipliers, penalty, friction, pose.points)

    def merit(self, pose: Pose, rows: list[Rows | None]) -> float:
        """Of the rows at a pose [J]."""
        total = 0.0
        for own, frictional, known in zip(rows, self.friction, self.multipliers, strict=True):
            if own is not None:
                total += merit_of(own, known, self.penalty, np.isinf(own.upper))
            if frictional is not None:
                total += merit_of(frictional.moved((pose.points - self.origin).ravel()), known, self.penalty)
        return total


def moved(before: Pose, after: Pose) -> float:
    """Largest coordinate that a node has moved by [m]."""
    return float(np.abs(after.points - before.points).max())


def longest_fraction(model: Model, pose: Pose, whole: Pose) -> float:
    """How much of the way to a whole step's end is not too far for any node."""
    return min(1.0, LARGEST_STEP * float(np.linalg.norm(model.body.mesh.size)) / max(moved(pose, whole), 1e-300))
