"""Is a sensor alive? Noise changes the last digits of a living one: repetition has a chance, and runs of it an end."""

import math
from collections.abc import Hashable

_START = 0.6  # chance of repetition of a sensor that is not known yet
_LEAST, _MOST = 0.2, 0.97
_MEMORY = 0.02  # weight of one reading
_LUCK = math.log(1e-8)  # logarithm of the chance of a run that no living sensor has
_LEARNT_RUN = 8  # readings; what is repeated longer may be a dead sensor, from which nothing is learnt


class SensorLife:
    """Counts how often a reading repeats the one before, exactly, and how likely that is for this sensor.

    Coarse sensors at rest repeat themselves often, fine ones never: the chance is learnt from short runs.

    Attributes:
        run: readings in a row that were like the one before.
    """

    def __init__(self) -> None:
        self.run = 0
        self._reading: Hashable = None
        self._chance = _START
        self._longest = _LUCK / math.log(_START)

    def update(self, reading: Hashable) -> bool:
        """Whether the sensor lives."""
        if reading == self._reading:
            self.run += 1
        else:
            self.run = 0
            self._reading = reading
        if self.run < _LEARNT_RUN:
            same = 1.0 if self.run else 0.0
            self._chance += _MEMORY * (same - self._chance)
            self._longest = _LUCK / math.log(min(max(self._chance, _LEAST), _MOST))
        return self.run < self._longest

    @property
    def doubtful(self) -> bool:
        """Whether the run is longer than one in a hundred."""
        return self.run > 0.25 * self._longest
