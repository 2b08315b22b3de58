"""Slips of an encoder that are each too small to be told from noise, found by their sum.

The sum is what the angle has turned less the integral of the speed, forgotten slowly. What an error of time or a lag
of the speed adds in a motion, the way back takes away: only slips of one sense add up.

The integral is over the times at which the samples were taken, as well as this host can tell. That it looks at odd
times is no error of theirs: a host that looks when commands come, too, finds samples after 2.7 and 5.3 ms in turn, in
step with what the commands do to the speed, and an integral over its looks would be wrong by some percent of the way.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from soft_twin.driving.cables.c610 import COUNTS_PER_TURN

SLACK = 0.04 * COUNTS_PER_TURN  # [counts] of noise in angle and speed
SPEED_LAG = 0.002  # [s] that the reported speed may lag behind the angle
ON_ITS_WAY = 0.002  # [s] that samples are on their way for, more or less
UNTIMED = 0.1  # of a period: later by so much than it can be, and one before was lost
MEMORY = 1.0  # [s] in which what is left unexplained is forgotten
REACH_MEMORY = 0.1  # [s] in which it is forgotten how fast the rotor was, and how that changed
LEFT = 0.5  # of that, errors of time leave behind at the most when a rotor has turned to and fro
SPEED_ERROR = 0.005  # share of itself that the reported speed may be wrong by
LOST = 1.5  # times the period between two samples: some were lost
HASTE = 2.0  # times as fast as lately the speed may change where nobody looks
CRAWL = 60.0  # [counts] in a period: faster, and samples in another order look like slips to and fro
SLIP = 100.0  # [counts] less are no slip


class SampleTime:
    """The time that samples stand for, by a period that is known and a host's clock that is right in the long run.

    A sample is seen within a period after it was taken, and what it takes on its way; one that was not there yet when
    the host looked before, within the time since then. Within these bounds each stands for a period, whenever it is
    seen; far beyond, samples were lost, and just beyond, the period is not quite what it is taken for.

    Attributes:
        lost: whether the newest samples come so late that some before them must have been lost.
    """

    def __init__(self, waited: float = 0.0) -> None:
        """Samples of before may have waited somewhere for so long [s], and what waited with them comes now."""
        self._seen_after = 0.0  # how old the newest sample was when it was seen [s]
        self._waited = waited
        self.lost = False

    def advance(self, elapsed: float, count: int, period: float, look: float = math.inf) -> float:
        """From the newest sample before to the newest of now [s].

        Args:
            elapsed: since samples were seen before [s].
            count: of the samples that are seen now.
            period: of the samples [s].
            look: since the host has looked before [s]: the newest was not there then.
        """
        seen_after, latest = self._seen_after + elapsed - count * period, min(look, period) + ON_ITS_WAY
        seen_after += min(max(-seen_after, 0.0), self._waited)
        self._waited = max(self._waited - elapsed, 0.0)
        self.lost = seen_after > latest + UNTIMED * period
        self._seen_after = min(max(seen_after, 0.0), latest)
        return count * period + seen_after - self._seen_after


class SlipSum:
    """What the angle of a rotor says beyond its speed, and what excuses that."""

    def __init__(self, acceleration: float):
        """A rotor that cannot be accelerated by more [counts/s²]."""
        self._acceleration = acceleration
        self._drift = self._way = self._reach = self._slips = 0.0  # see compare, is_jump [counts]
        self._blur = self._excused = 0.0
        self._unrest = 0.0  # largest recent change of the speed from sample to sample [counts/s]
        self._time = SampleTime()

    def restart(self, waited: float = 0.0) -> None:
        """What was left unexplained has been named, or has taken a time that nobody knows; see SampleTime."""
        self._drift = self._way = self._slips = self._blur = self._excused = 0.0
        self._time = SampleTime(waited)

    def forget(self, dt: float) -> None:
        """Let `dt` seconds pass."""
        share = math.exp(-dt / MEMORY)
        self._drift, self._way = share * self._drift, share * self._way
        self._slips, self._blur = share * self._slips, share * self._blur
        self._excused *= share
        lately = math.exp(-dt / REACH_MEMORY)
        self._reach, self._unrest = lately * self._reach, lately * self._unrest

    def compare(self, turned: int, speeds: Sequence[float], elapsed: float, look: float, period: float) -> None:
        """The rotor has turned by so many counts.

        Args:
            turned: [counts].
            speeds: of the sample before, and of those of now [counts/s].
            elapsed: since samples were seen before [s].
            look: since the host has looked before [s].
            period: of the samples [s].
        """
        count = len(speeds) - 1
        seconds = self._time.advance(elapsed, count, period, look)
        way = (sum(speeds) - 0.5 * (speeds[0] + speeds[-1])) / count * seconds
        self._drift += turned - way
        self._way += way
        doubt = 0.5 * (elapsed + SPEED_LAG)  # the angles may be as much older, or newer, than they are taken for
        self._reach = max(self._reach, max(map(abs, speeds)) * doubt)
        for before, after in pairwise(speeds):
            self._unrest = max(self._unrest, abs(after - before))
        if self._time.lost:  # a rotor that has been quiet has not turned to and fro meanwhile
            gap = elapsed / count
            self._blur += count * 0.125 * min(self._acceleration, HASTE * self._unrest / period) * gap**2

    def excuse(self, counts: float) -> None:
        """So many of the counts may be motion that no sample tells of."""
        self._blur += counts

    def add_turns(self, turns: int) -> None:
        """The rotor has turned by so many whole turns more than was compared."""
        self._drift += turns * COUNTS_PER_TURN

    def is_jump(self, excess: float, tolerance: float, fastest: float, period: float) -> bool:
        """Whether the slips amount to a jump, with the newest excess of the angle [counts].

        Args:
            excess: [counts].
            tolerance: that changes of the reported speed leave open [counts].
            fastest: of the reported speeds [counts/s].
            period: of the samples [s].
        """
        if fastest * period < CRAWL:
            unseen = 0.25 * self._unrest * period  # to and fro between two samples, as fast as lately
            self._slips += max(abs(excess) - SLIP - unseen - tolerance, 0.0)
        self._excused = max(self._excused, min(abs(self._drift), LEFT * self._reach))
        innocent = SLACK + max(self._reach, self._excused) + SPEED_ERROR * abs(self._way) + self._blur
        return abs(self._drift) > innocent or self._slips > SLACK
