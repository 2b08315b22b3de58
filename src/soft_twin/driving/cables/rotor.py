"""A motor's rotor as its feedback tells it: its turns counted, and what cannot be true or was missed.

A sample says the angle within one turn and the speed. Between two samples a period T apart the rotor turns by the
integral of its speed, T (v₀ + v₁)/2, within what acceleration and the lag of the reported speed account for. What the
angle says beyond that is its *excess*, and it has two innocent causes: samples were lost (the excess is then the
rotor's motion in the time that no sample stands for), or they are only late (then they come, and nothing is
missing). Anything else is a jump of the angle: a broken encoder, or two motors with one id.

Late samples come faster than time passes, and until the last of them is there the newest one tells of the past: the
rotor is then said to be *late*. That is no time to judge what was lost, nor to drive on.

What is too small to be told from noise is summed up, and found by its sum: see `slips`.
"""

from collections import deque
from collections.abc import Iterable

import numpy as np

from soft_twin.driving.cables.c610 import COUNTS_PER_TURN, Feedback, wrap
from soft_twin.driving.cables.slips import LOST, SLACK, SPEED_LAG, SlipSum

COUNTS_PER_RPM = COUNTS_PER_TURN / 60.0  # [counts/s]
GRACE = 0.02  # [s] in which samples that are only late come in
SLOW = 100.0 * COUNTS_PER_RPM  # [counts/s] a rotor with less on both sides of a gap was not under way
SHORT_REST = 0.06  # [s] of silence in which a rotor that nobody drives cannot turn and come to rest again
NEAR = 0.05 * COUNTS_PER_TURN  # [counts] and it is still there if its angle is
WINDOW = 0.25  # [s] in which samples are counted to learn their period
WINDOWS = 18  # that are remembered
FASTER = 1.1  # times the rate that is believed, in two windows: samples cannot come faster than they are sent
MISCOUNT = 1.02  # the period is learned as well as this
MOVING = 2.0  # [counts] in a period: a sample that repeats the one before is a copy of it
SUDDEN = 8.0  # times what the current can do to the speed in a period is what a blow can do
LONGEST_LOOK = 0.005  # [s] of a tick that the host can have listened in; in the rest of it the host was halted
SHORTEST_PERIOD = 0.001  # [s]
UNKNOWN = (np.nan, np.nan)
RUSH = 0.01  # [s] more of samples than time that has passed: they have waited somewhere, …
FAST = 1.5  # … where they come so many times as fast as time passes; less, and the period may not be known well
LONGEST_RUSH = 0.25  # [s] no line keeps more than comes in this time
SHORTEST_GAP = 0.01  # [s] while the period is not known: samples may have waited in a buffer for so long


class FeedbackPeriod:
    """The time between two samples of a motor, learned from how many come.

    Lost samples make it look longer, and samples that have waited in a buffer make it look shorter for a moment: the
    median of the last windows is believed, and nothing shorter than what a controller can do. Where two windows in a
    row say that it is shorter, the ones before had lost samples; but for those that may only have waited, which are no
    more than came in the longest silence meanwhile.

    Attributes:
        seconds: the period, 0 while it is not known [s].
    """

    def __init__(self, count: int):
        """For so many motors, all alike."""
        self.seconds = 0.0
        self._begun, self._elapsed, self._heard = False, 0.0, np.zeros(count)
        self._rates: deque[np.ndarray] = deque(maxlen=WINDOWS)
        self._silence, self._longest = 0.0, 0.0  # since when nothing came, and the longest in this window [s]
        self._silences: deque[float] = deque(maxlen=3)

    def update(self, heard: np.ndarray, dt: float, late: bool = False) -> None:
        """So many samples (c,) came in the last `dt` seconds; if they are `late`, they do not tell how often."""
        if not self._begun:
            self._begun = bool(heard.any())  # nobody knows for how long these have waited
            return
        if late:
            self._elapsed, self._heard = 0.0, np.zeros_like(self._heard)
            return
        self._elapsed += dt
        self._heard += heard
        self._silence += dt
        self._longest = max(self._longest, self._silence)
        if heard.any():
            self._silence = 0.0
        if self._elapsed >= WINDOW:
            if self._heard.any():
                self._learn(self._heard[self._heard > 0.0] / self._elapsed)
            self._elapsed, self._heard, self._longest = 0.0, np.zeros_like(self._heard), 0.0

    def _learn(self, rates: np.ndarray) -> None:
        """In one more window the motors that were heard sent at these rates [Hz]."""
        self._rates.append(rates)
        self._silences.append(self._longest)
        newest, waited = list(self._rates)[-2:], 1.0 + max(self._silences) / WINDOW
        if len(newest) == 2 and all(np.median(each) * self.seconds > FASTER * waited for each in newest):
            self._rates.clear()
            self._rates.extend(newest)
        self.seconds = max(1.0 / float(np.median(np.concatenate(self._rates))), SHORTEST_PERIOD / MISCOUNT)


class Rotor:
    """One rotor; counts of its encoder are 8192 a turn.

    Attributes:
        counts: turned since the first sample [counts].
        speed: [counts/s].
        current: [A].
        heard: samples in the last update, without copies that the line has made.
        age: since the last sample [s].
        unheard: of that, what this host has listened in vain [s]. After a halt of its own it finds a part of the
            samples in its buffers, and the rest comes when those have room: it misses none before it has listened as
            long as a host that was not halted.
        acceleration: between the samples of the last update, NaN where that is not known [counts/s²].
        acceleration_bounds: the least and the most that it may have been; known if at least half of the samples came.
        mean_speed, mean_current: between these samples [counts/s, A].
        span: what these samples stand for, 0 where that is not known [s].
        owed: time that no sample stands for yet [s].
        late: whether samples that have waited somewhere are coming in: the newest one tells of `owed` ago.
        rests: how often it was silent for longer than SHORT_REST, and then stood where it had been to NEAR.
        jumps: how often the angle changed by what neither speed nor lost samples explain.
        losses: how often so much was lost that whole turns may have been missed.
    """

    def __init__(self, acceleration: float, silent_after: float):
        """A rotor that cannot be accelerated by more [counts/s²]; after a silence of so long [s] all may be."""
        self._acceleration, self._silent_after = acceleration, silent_after
        self.counts, self.speed, self.current, self.age = 0, 0.0, 0.0, np.inf
        self.unheard = np.inf
        self.acceleration, self.mean_speed, self.mean_current = np.nan, 0.0, 0.0
        self.span = 0.0
        self.acceleration_bounds = UNKNOWN
        self._tail, self._given_up = np.inf, True  # what may be missing after the last samples [s]; it will not come
        self.jumps = self.losses = self.rests = 0
        self._slips = SlipSum(acceleration)
        self._doubted: int | None = None  # speed of a wild sample
        self._last: Feedback | None = None
        self.owed = 0.0
        self._rush = self._rushed_for = 0.0  # samples that came, more than time has passed, and for how long [s]
        self.late = False
        self.heard = 0
        self._close()

    def update(self, samples: Iterable[Feedback], dt: float, period: float, push: float = 0.0) -> None:
        """Take what came in the last `dt` seconds, oldest first.

        Args:
            samples: of this motor.
            dt: [s].
            period: of the feedback, 0 if not known [s].
            push: by how much other currents than it was last seen to carry may accelerate it meanwhile [counts/s²].
        """
        if self._last is None:
            self._begin(samples)
            return
        silence, look, was_late = self.age + dt, min(dt, LONGEST_LOOK), self.late
        self.unheard += look
        self._slips.forget(dt)
        samples = self._without_copies(samples, period)
        self.heard = len(samples)
        fresh = self._without_wild_ones(samples, period)
        if period:
            owed = max(self.owed, self.age - period) + dt - (1.0 if self.late else MISCOUNT) * period * len(fresh)
            self.owed = max(owed, 0.0)
            self._watch_rush(period * len(fresh) - FAST * dt, look, period)
        self.age = silence
        self.acceleration, self.acceleration_bounds, self.span = np.nan, UNKNOWN, 0.0
        self._hardest = max(self._hardest, push)
        if not fresh:
            self._pushed += push * dt
            self._wait_on(look, period)
            return
        unheard, self.age, self.unheard = self.unheard, 0.0, 0.0
        before, start, was_open = self._last, self.counts, self._largest >= 0.0
        for sample in fresh:
            self._take(sample, period or silence / len(fresh))
        caught_up = period * len(fresh) > silence + RUSH  # with what was taken for lost before
        if was_late or self.late or caught_up:  # what comes has taken another time than passes here
            self._slips.restart(RUSH)
        elif period:
            speeds = [sample.speed_rpm * COUNTS_PER_RPM for sample in (before, *fresh)]
            self._slips.compare(self.counts - start, speeds, silence, look, period)
        if period:
            self._behind = max(self._behind, self.owed)
            self._measure(before, fresh, silence, period)
            self._judge(unheard, unheard if was_open else look, period)
        else:
            self._judge_untimed(silence, len(fresh))

    def _watch_rush(self, surplus: float, look: float, period: float) -> None:
        """In this update, after a `look` [s], samples came that stand for so much more than FAST times its time [s]."""
        self._rush = min(max(self._rush + surplus, 0.0), self.owed)
        rushes = self._rush > RUSH or (self.late and self.owed > period)
        self._rushed_for = self._rushed_for + look if rushes else 0.0
        self.late = rushes and self._rushed_for < LONGEST_RUSH

    def _begin(self, samples: Iterable[Feedback]) -> None:
        """The newest sample says where the rotor starts."""
        self.heard = 0
        for sample in samples:
            self.heard += 1
            self._last, self.age, self.unheard = sample, 0.0, 0.0
            self.speed, self.current = sample.speed_rpm * COUNTS_PER_RPM, sample.current
        self._close()

    def _without_copies(self, samples: Iterable[Feedback], period: float) -> list[Feedback]:
        """A rotor that turns is not at one angle in two samples: the second is the line's copy of the first."""
        fresh, last = [], self._last
        for sample in samples:
            turned = sample.angle_counts != last.angle_counts  # which is quick to say
            if turned or sample != last or abs(sample.speed_rpm) * COUNTS_PER_RPM * period < MOVING:
                fresh.append(sample)
            last = sample
        return fresh

    def _without_wild_ones(self, samples: list[Feedback], period: float) -> list[Feedback]:
        """No blow changes a rotor's speed like that: it is a stranger's frame, unless the next one says the same."""
        possible = SUDDEN * self._acceleration * max(period, SHORTEST_PERIOD) / COUNTS_PER_RPM
        kept, speed = [], self._last.speed_rpm
        for sample in samples:
            wild = abs(sample.speed_rpm - speed) > possible
            if wild and (self._doubted is None or abs(sample.speed_rpm - self._doubted) > possible):
                self._doubted = sample.speed_rpm
                continue
            kept.append(sample)
            speed, self._doubted = sample.speed_rpm, None
        return kept

    def _take(self, sample: Feedback, period: float) -> None:
        """Count what the rotor has turned since the sample before, and what of it was not expected."""
        before, now = self.speed, sample.speed_rpm * COUNTS_PER_RPM
        expected = 0.5 * (before + now) * period
        turned = wrap(sample.angle_counts - self._last.angle_counts - round(expected)) + round(expected)
        excess = turned - expected
        self.counts += turned
        self._excess += excess
        self._tolerance += abs(now - before) * max(0.5 * period, SPEED_LAG)
        self._fastest = max(self._fastest, abs(before), abs(now))
        if abs(excess) >= self._largest:
            self._largest, self._ends = abs(excess), (before, now)
        self._last, self.speed, self.current = sample, now, sample.current

    def _judge(self, unheard: float, waited: float, period: float) -> None:
        """Whether lost or late samples explain the excess; after the grace, whether they were lost.

        `unheard` is what this host has listened since the sample before [s], `waited` that part of it in which samples
        that are only late could come: all, but for the gap itself.
        """
        if not self._explained() or self._flickers(period):
            self._jump()
        elif self.owed < 0.5 * period:
            self._take_back_turns()
            if self._slips.is_jump(self._excess, self._tolerance, self._fastest, period):
                self._jump()
            self._close()
        else:
            if self._rush < LOST * period or self._rushed_for >= LONGEST_RUSH:
                self._open_for += waited
            if self._open_for > GRACE or unheard > self._silent_after:
                self._settle(self.owed, period)

    def _wait_on(self, look: float, period: float) -> None:
        """In a silence after a gap, too, samples that are only late could come; what is silent now is judged later."""
        gap = self.owed - self.age
        if period and self._largest >= 0.0 and gap > 0.5 * period:
            self._open_for += look
            if self._open_for > GRACE:
                self._settle(gap, period)
                self.owed = self.age

    def _explained(self) -> bool:
        """Whether the excess, or a turn more or less, can be motion in the time that is owed."""
        if abs(self._excess) <= SLACK + self._tolerance:
            return True
        tolerance = SLACK + self._tolerance + 0.25 * self._acceleration * self.owed**2
        low, high = min(0.0, *self._ends) * self.owed - tolerance, max(0.0, *self._ends) * self.owed + tolerance
        return any(low <= self._excess + turn <= high for turn in (0.0, COUNTS_PER_TURN, -COUNTS_PER_TURN))

    def _flickers(self, period: float) -> bool:
        """Whether the angle goes to and fro, as two motors with one id make it; samples may come in another order."""
        reach = SLACK + self._tolerance + 0.25 * self._acceleration * self.owed**2
        return self._largest > reach + self._fastest * (2.0 * period + self.owed)

    def _judge_untimed(self, silence: float, count: int) -> None:
        """While the period is not known: `count` samples came in, as far apart as that was since the one before [s]."""
        farthest = SLACK + self._tolerance + self._fastest * max(silence, SHORTEST_GAP)
        if self._largest > farthest:  # in one sample; several may have come at once
            self._jump()
            return
        self._take_back_turns()
        if not self._is_certain(self._excess, silence - (count - 1) * SHORTEST_PERIOD):
            self.losses += 1
            self._slips.restart()
        self._close()

    def _settle(self, gap: float, period: float) -> None:
        """Samples of so long [s] were lost for good: how far the rotor has turned then, if that can be known."""
        before, now = self._ends
        expected = 0.5 * (before + now) * gap
        deviation = wrap(round(self._excess - expected))
        if self._is_certain(deviation, gap + period):
            missing = abs(deviation)  # it may be motion in the gap, …
            self._slips.excuse(missing if gap >= period else min(missing, abs(self._excess)))  # … if that is one
            self._add_turns(round((expected + deviation - self._excess) / COUNTS_PER_TURN))
            if self._behind > RUSH:  # what is only late may still come
                self._slips.restart(self._behind)
        else:
            self.losses += 1
            self._slips.restart()
        self.owed, self._given_up = 0.0, True
        self._close()

    def _is_certain(self, deviation: float, gap: float) -> bool:
        """Whether the rotor can be nowhere else after a gap [s] than at the turn next to what its speeds foretell.

        With speeds v₀, v₁ at the ends and an acceleration of at most a, it turns by (v₀ + v₁)/2 · gap ± a gap²/4. Or
        it was slow at both ends of a short gap, and is just where it should be, and no current that it was told
        meanwhile, nor a pull that none held any more, can have driven it on for precisely a whole turn. Or it is just
        where it should be if samples were lost, or if they are only late, and these currents cannot have accelerated
        it by enough for a turn more.
        """
        before, now = self._ends
        doubt = abs(deviation) + 0.5 * abs(now - before) * gap + SLACK + self._tolerance
        if doubt + 0.25 * self._acceleration * gap**2 < COUNTS_PER_TURN:
            return True
        driven = 0.25 * min(self._hardest, self._acceleration) * gap**2
        if gap <= SHORT_REST and doubt + driven < COUNTS_PER_TURN and self._is_in_place(deviation, gap):
            return True
        return self._has_rested(deviation, gap)

    def _is_in_place(self, deviation: float, gap: float) -> bool:
        """Whether the rotor is where it should be, if samples were lost in the gap [s] or if they are only late."""
        only_late = abs(self._excess) <= NEAR and 0.5 * abs(sum(self._ends)) * gap < 0.5 * COUNTS_PER_TURN - NEAR
        return only_late or abs(deviation) <= NEAR

    def _has_rested(self, deviation: float, gap: float) -> bool:
        """Whether it was slow at both ends of a gap [s], and nothing that is known has driven it on by a turn."""
        at_rest = max(map(abs, self._ends)) <= SLOW and abs(deviation) <= NEAR and gap <= self._silent_after
        at_rest = at_rest and self._pushed * gap < COUNTS_PER_TURN - NEAR
        self.rests += at_rest and gap > SHORT_REST
        return at_rest

    def _measure(self, before: Feedback, fresh: list[Feedback], silence: float, period: float) -> None:
        """How the speed has changed since the sample `before`, of a silence of so long [s].

        What has changed it is the current that flowed from one sample to the next, not that of the newest: few samples
        a second are far apart.

        Where samples are missing, this host's time says how far apart the two may be: each of them may have been
        followed by samples that were lost, and waited for the host for a period.
        """
        speed_before = before.speed_rpm * COUNTS_PER_RPM
        self.mean_speed = 0.5 * (speed_before + self.speed)
        flowed = sum(sample.current for sample in fresh) + 0.5 * (before.current - self.current)
        self.mean_current = flowed / len(fresh)
        change, heard = self.speed - speed_before, len(fresh) * period
        missing = max(silence - heard, 0.0)
        if self.owed < 0.5 * period and not self._given_up:
            self.acceleration = change / heard
            self.acceleration_bounds, self.span = (self.acceleration, self.acceleration), heard
        elif missing <= heard:
            slow, fast = change / (silence + self._tail + period), change / heard
            self.acceleration_bounds = (min(slow, fast), max(slow, fast))
            self.span = heard if missing < period else silence
        self._tail, self._given_up = missing, False

    def _take_back_turns(self) -> None:
        """Nothing is missing, so a whole turn too much is that of a wild sample and the way back from it."""
        turns = round(self._excess / COUNTS_PER_TURN)
        self._add_turns(-turns)
        self._excess -= turns * COUNTS_PER_TURN

    def _add_turns(self, turns: int) -> None:
        """The rotor has turned by so many whole turns more than was counted."""
        self.counts += turns * COUNTS_PER_TURN
        self._slips.add_turns(turns)

    def _jump(self) -> None:
        self.jumps += 1
        self.owed, self._given_up = 0.0, True
        self._slips.restart()
        self._close()

    def _close(self) -> None:
        """Nothing is missing any more."""
        self._excess = self._tolerance = self._fastest = self._open_for = self._pushed = 0.0
        self._hardest = self._behind = 0.0  # most push [counts/s²] and most owed [s] since something is missing
        self._largest, self._ends = -1.0, (self.speed, self.speed)
