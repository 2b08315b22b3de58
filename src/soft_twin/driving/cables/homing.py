"""Homing by taking up slack: every cable is let out for a moment, then wound in slowly until it is just taut."""

from dataclasses import dataclass

import numpy as np

from soft_twin.driving.cables.friction import LEAST, MOST

DOUBT = 0.05  # [A] that a first sample may be off by
LEARNING = 3.0  # standard deviations that the least of many currents may be below what a winch needs
FREE_PACE = (0.5, 1.1)  # times the pace that is asked for: winches that run like that say what friction they have


@dataclass(frozen=True)
class HomingParameters:
    """How slack is taken up.

    Attributes:
        rate: of winding in [m/s].
        tension: by which a cable that is taut pulls more than it did while it was wound in freely [N].
        loosening: all cables are let out at first, until none has turned its winch for so long [s]: of one that is taut
            while it is begun to be wound in, only what it pulls more would be felt.
        settling: once cables are wound in, until the winches run evenly, their pulls say nothing [s]; they are smoothed
            from then on.
        smoothing: time constant of the pulls that are compared [s].
        certainty: a cable is taut if it also pulls by so many times the smoothed pull's noise more.
        dry: friction that does not grow with the rate, at the most [A]; real M2006 have some tens of milliamperes.
        sure: once they are wound in for so long [s] it is known what the winches need that run freely.
        delivery: a winch that gets less than this share of the current it is told feels nothing.
        travel: a cable that is not taut after so much has come off its drum [m].
        abrupt: a winch that turns at less than this share of the pace when its cable is found taut may have been
            stopped by something else, as by a cable that was caught for a moment: once all are taut and held it is
            wound in again, as is one that has come free from there; and …
        again: … was taut if it then pulls as much within this way [m].
        holding: for so long all are held before that is home: a motor that has just stopped since it turned against its
            current, and not against a cable, runs away from there [s].
    """

    rate: float = 0.004
    tension: float = 0.15
    loosening: float = 0.3
    settling: float = 0.14
    smoothing: float = 0.025
    certainty: float = 5.0
    dry: float = 0.3
    sure: float = 0.22
    delivery: float = 0.5
    travel: float = 0.02
    abrupt: float = 0.5
    again: float = 1e-4
    holding: float = 0.1

    @property
    def patience(self) -> float:
        """For so long it may take at the most to let the cables out, and to wind them in [s]."""
        return 2.0 * self.travel / self.rate + self.settling


@dataclass(frozen=True)
class WinchMotion:
    """What winches did, as the samples of the last look tell it; (c,) each, > 0 winds in.

    Attributes:
        fresh, heard: bool: there were samples; there were some lately.
        newest_rates: in the newest sample [m/s].
        rates, currents: over the samples [m/s, A].
        told: currents that they were told [A].
        spans: what the samples stand for, 0 where that is not known [s].
    """

    fresh: np.ndarray
    heard: np.ndarray
    newest_rates: np.ndarray
    rates: np.ndarray
    currents: np.ndarray
    told: np.ndarray
    spans: np.ndarray


class SlackTakeUp:
    """Where to wind the cables while their slack is taken up.

    What a winch needs while its cable is slack is its friction, whatever that is: the least smoothed current i_f since
    it runs evenly, noise allowed for, at the rate v_f. At another rate v it is i_f + b (v − v_f), where b lies between
    (i_f − i_dry) / v_f and i_f / v_f: nobody knows how much of it is dry. Tension is what comes on top of the most that
    this and the inertia of the winch, m v̇, may be: a winch that is slowed down feels no tension, nor one that comes up
    to its pace.

    Attributes:
        taut: (c,) bool: cables that have been found taut, and stay where they were then.
        turned: whether the last update was the first of winding in.
        found: whether all cables have been taut for long enough.
    """

    def __init__(
        self,
        parameters: HomingParameters,
        displacements: np.ndarray,
        pace: float,
        inertia: float,
        leverage: float = 1.0,
    ):
        """Begin at these displacements (c,) [m]; winches of this inertia [A s²/m] and leverage are asked for this pace
        [m/s]."""
        count = len(displacements)
        self.taut = np.zeros(count, dtype=bool)
        self._parameters, self._frictions = parameters, (leverage * LEAST, leverage * MOST)
        self._paces = pace * FREE_PACE[0], pace * FREE_PACE[1]
        self._abrupt = pace * parameters.abrupt
        self._doubtful = np.zeros(count, dtype=bool)  # whether a cable that was found taut is
        self._before = np.full(count, -np.inf)  # where a doubtful one was found [m]
        self._age = self._loose = self._held = 0.0
        self.turned = self._winding = self.found = False
        self._smooth = _SmoothMotion(parameters.smoothing, inertia, count)
        self._free, self._free_rates = np.full(count, np.inf), np.full(count, pace)
        self._targets = displacements - parameters.travel
        self._outermost = displacements - 0.95 * parameters.travel
        self._ends, self._innermost = displacements + 0.95 * parameters.travel, displacements + parameters.travel

    def update(
        self, displacements: np.ndarray, motion: WinchMotion, pull_per_current: np.ndarray, dt: float
    ) -> np.ndarray:
        """Targets (c,) [m] after `dt` more seconds.

        Args:
            displacements: (c,) of the cables [m].
            motion: of their winches; what those pull that are not heard is not known.
            pull_per_current: (c,) at the drums [N/A].
            dt: [s].
        """
        p, smooth = self._parameters, self._smooth
        self._age += dt
        smooth.take(motion, dt)
        self.turned = not self._winding and self._are_loose(displacements, smooth.steady - smooth.noise, dt)
        if self.turned:
            self._winding, self._age, self._targets = True, 0.0, self._innermost
        if not self._winding:
            return self._targets
        if self._age < p.settling:
            smooth.forget()
        if self._age < p.settling + p.smoothing:
            return self._targets
        rates, steady, noise, heard = smooth.rates, smooth.steady, smooth.noise, motion.heard
        self._learn_free(rates, steady + LEARNING * noise, heard)
        friction = self._friction_at(rates, rates > self._free_rates)
        pulls = pull_per_current * (steady - friction - p.certainty * noise)
        newly = ~self.taut & heard & (smooth.currents >= p.delivery * smooth.told) & (pulls > p.tension)
        self._hold(newly, displacements, motion.newest_rates, dt)
        held = self.taut.all() and self._held >= p.holding
        self.found = bool(held and not self._doubtful.any())
        if held and not self.found:
            self._wind_in_again()
        return self._targets

    def _hold(self, newly: np.ndarray, displacements: np.ndarray, rates: np.ndarray, dt: float) -> None:
        """Hold cables that are `newly` taut (c,) where they are, and see which of all may not be: a winch that turned
        more slowly than one that a body brakes, and one that has come free since."""
        again = self._parameters.again
        came_free = self.taut & np.isfinite(self._before) & (displacements > self._targets + again)
        self._smooth.forget(came_free)
        self._targets = np.where(newly, displacements, self._targets)
        elsewhere = newly & (displacements >= self._before + again)
        self._doubtful = self._doubtful | (elsewhere & (rates <= self._abrupt)) | came_free
        self.taut = self.taut | newly
        if elsewhere.any():
            self._held = 0.0
        elif self.taut.all():
            self._held += dt

    def _wind_in_again(self) -> None:
        """The cables of which it is not sure whether they were found taut."""
        self._before = np.where(self._doubtful, self._targets, self._before)
        self._targets = np.where(self._doubtful, self._innermost, self._targets)
        self.taut, self._doubtful = self.taut & ~self._doubtful, np.zeros_like(self._doubtful)

    def _are_loose(self, displacements: np.ndarray, steady: np.ndarray, dt: float) -> bool:
        """Whether all cables have been let out for long enough, whose winches need currents of `steady` (c,) [A].

        A cable that turns its winch out is braked by it; how taut one is whose winch has to be driven, friction hides.
        """
        self._loose = 0.0 if (steady > 0.0).any() else self._loose + dt
        far = (displacements < self._outermost).any() or self._age > self._parameters.patience
        return far or self._loose >= self._parameters.loosening

    def lost(self, displacements: np.ndarray) -> np.ndarray:
        """Indices of the cables that were wound in all the way, or for long enough for that, and are still slack."""
        late = self._winding and self._age > self._parameters.patience
        return np.flatnonzero(~self.taut & ((displacements > self._ends) | late))

    def rough(self) -> np.ndarray:
        """Indices of the winches that need more, even where they run freely, than any friction that is expected."""
        if not self._winding or self._age < self._parameters.sure:
            return np.array([], dtype=int)
        most = self._parameters.dry + self._frictions[1] * self._free_rates
        return np.flatnonzero(np.isfinite(self._free) & (self._free > most))

    def free_currents(self) -> np.ndarray:
        """(c,) what each winch needs to run freely [A], inf where none did."""
        return self._free

    def _learn_free(self, rates: np.ndarray, steady: np.ndarray, heard: np.ndarray) -> None:
        """Less than what a winch has needed at the least is what it needs when it runs freely; it may be `steady`."""
        least = self._friction_at(rates, rates > self._free_rates)
        slow, fast = self._paces
        freer = heard & (rates > slow) & (rates < fast) & (steady < least)
        self._free = np.where(freer, steady, self._free)
        self._free_rates = np.where(freer, rates, self._free_rates)

    def _friction_at(self, rates: np.ndarray, wet: np.ndarray) -> np.ndarray:
        """(c,) current of friction at `rates` (c,) [A]: viscous where `wet` (c,), else as dry as it may be."""
        growing = self._free - np.where(wet, 0.0, self._parameters.dry)
        return self._free + (growing / self._free_rates).clip(*self._frictions) * (rates - self._free_rates)


class _SmoothMotion:
    """The motion of winches, smoothed, anew after a silence.

    It goes by the time that samples stand for, and by the currents that flowed in it: whether a host or a line is late
    says nothing of the winch.

    Attributes:
        rates, currents, told: (c,) [m/s, A].
        steady: (c,) current that has not accelerated the winch [A].
        noise: (c,) standard deviation of that [A].
    """

    def __init__(self, smoothing: float, inertia: float, count: int):
        self._smoothing, self._inertia = smoothing, inertia
        self._begun = np.zeros(count, dtype=bool)
        self._newest, self._since = np.zeros((2, count))  # rate [m/s], and how long ago that was measured [s]
        self._variance, self._variance_of_mean = np.zeros((2, count))  # of the steady current [A²]
        self._means, self._sample = np.zeros((4, count)), np.zeros(count)
        self.rates, self.currents, self.told, self.steady = self._means
        self.noise = np.zeros(count)

    def forget(self, which: np.ndarray | slice = slice(None)) -> None:
        """What comes next is the first, of winches `which`."""
        self._begun[which] = False

    def take(self, motion: WinchMotion, dt: float) -> None:
        """What has come within `dt` [s]."""
        self._since += dt
        gone = ~motion.heard & (motion.spans == 0.0)
        fresh, first = motion.fresh, motion.fresh & ~self._begun
        spans = np.where(motion.spans > 0.0, motion.spans, self._since).clip(1e-6)
        steady = motion.currents - self._inertia * (motion.newest_rates - self._newest) / spans
        shares = np.where(first, 1.0, -np.expm1(-spans / self._smoothing)) * fresh
        deviations = np.array([motion.rates, motion.currents, motion.told, steady]) - self._means
        self._means = self._means + shares * deviations
        jumps = np.where(first, 0.0, steady - self._sample)
        self._variance = np.where(first, 0.0, self._variance + shares * (0.5 * jumps**2 - self._variance))
        self._sample = np.where(fresh, steady, self._sample)
        variance = (1.0 - shares) ** 2 * self._variance_of_mean + shares**2 * self._variance
        self._variance_of_mean = np.where(first, DOUBT**2, variance)
        self.rates, self.currents, self.told, self.steady = self._means
        self.noise = np.sqrt(self._variance_of_mean)
        self._begun = (self._begun | fresh) & ~gone
        self._newest = np.where(fresh, motion.newest_rates, self._newest)
        self._since = np.where(fresh, 0.0, self._since)
