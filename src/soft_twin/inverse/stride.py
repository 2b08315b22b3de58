"""How far a body may move in a step of the inverse, by where its tip goes."""

import math

import numpy as np

LARGEST_STEP = 0.05  # of the body's length: no node moves further in one step …
LEAST_STEP = 2e-4  # … and is always allowed so far
FADING = 0.5  # of the last long way, with every short one since
SHORTER, LONGER = 0.5, 1.25  # factors of what is allowed, where the tip jumps back, and where it does not
TURNS_BACK = 0.3  # a way against the last one counts when it is at least so long, relative to it
AT_REST = 1e-6  # of the body's length: nothing goes back on a way that is shorter, as that of round-off
JUMP, ACROSS = 1e-4, 0.1  # of the body's length, and cosine: a tip that goes back by less, or rather aside, jumps not


class Stride:
    """Newton's steps towards the manifold of equilibria, which no line search shortens, may go to and fro for ever: a
    body that jumps back is allowed half as far with each step, one that goes on further again.

    Attributes:
        length: [m] for its furthest node.
    """

    def __init__(self, size: float):
        """`size`: length of the body [m]."""
        self._size = size
        self.length = LARGEST_STEP * size
        self._last = np.zeros(3)

    def note(self, way: np.ndarray) -> None:
        """The tip has gone (3,) in a step [m]."""
        size, before = math.sqrt(way @ way), math.sqrt(self._last @ self._last)
        long = size > TURNS_BACK * before
        jumps = long and size > JUMP * self._size and before > AT_REST * self._size
        back = jumps and way @ self._last < -ACROSS * size * before
        if back:
            self.length = max(SHORTER * self.length, LEAST_STEP * self._size)
        else:
            self.length = min(LONGER * self.length, LARGEST_STEP * self._size)
        self._last = way if long else FADING * self._last
