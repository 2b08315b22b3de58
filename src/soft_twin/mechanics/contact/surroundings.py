"""Obstacles that stand still in the world while a body's base moves: its mechanics are those of base_link.

A description, and a model built of it, has its obstacles in base_link, where they stay: what is mounted beside the
robot. What stands in the world is moved in base_link the other way round, before each step, to where it is seen from
the base at the step's end; friction counts slips relative to it.
"""

import numpy as np

from soft_twin.mechanics.contact import Contact
from soft_twin.mechanics.model import Model


class Surroundings:
    """All obstacles of a model, which are as described while base_link lies in the world's frame."""

    def __init__(self, model: Model):
        self._touching = [part for part in model.constraints if isinstance(part, Contact)]
        self._described = [(each.obstacle.position, each.obstacle.rotation) for each in self._touching]

    def seen_from(self, rotation: np.ndarray, place: np.ndarray) -> None:
        """Where they are for a base that is turned by `rotation` (3, 3), base_link → world, its origin at `place` (3,)
        [m]."""
        for contact, (position, own) in zip(self._touching, self._described, strict=True):
            contact.obstacle.position = (position - place) @ rotation
            contact.obstacle.rotation = rotation.T @ own

    def appear(self, rotation: np.ndarray, place: np.ndarray) -> None:
        """As `seen_from`, where they have not been anywhere before: nothing has slipped along them."""
        self.seen_from(rotation, place)
        for contact in self._touching:
            contact.accept()
