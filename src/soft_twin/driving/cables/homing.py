"""Homing by taking up slack: every cable is let out for a moment, then wound in slowly until it is just taut."""

import math
from dataclasses import dataclass

import numpy as np

from soft_twin.driving.cables.friction import LEAST, MOST

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

    @property
    def patience(self) -> float:
        """For so long it may take at the most to let the cables out, and to wind them in [s]."""
        return 2.0 * self.travel / self.rate + self.settling


class SlackTakeUp:
    """Where to wind the cables while their slack is taken up.

    What a winch needs while its cable is slack is its friction, whatever that is: the least smoothed current i_f since
    it runs evenly, at the rate v_f. At another rate v it is i_f + b (v − v_f), where b lies between (i_f − i_dry) / v_f
    and i_f / v_f: nobody knows how much of it is dry. Tension is what comes on top of the most that this and the
    inertia of the winch, m v̇, may be: a winch that is slowed down feels no tension, nor one that comes up to its pace.

    Attributes:
        taut: (c,) bool: cables that have been found taut, and stay where they were then.
        turned: whether the last update was the first of winding in.
    """

    def __init__(self, parameters: HomingParameters, displacements: np.ndarray, pace: float, inertia: float):
        """Begin at these displacements (c,) [m]; winches of this inertia [A s²/m] are asked for this pace [m/s]."""
        count = len(displacements)
        self.taut = np.zeros(count, dtype=bool)
        self._parameters, self._inertia = parameters, inertia
        self._paces = pace * FREE_PACE[0], pace * FREE_PACE[1]
        self._age = self._loose = 0.0
        self.turned = self._winding = False
        self._heard = np.zeros(count, dtype=bool)
        self._smooth, self._variance = np.zeros((3, count)), np.zeros(count)  # see update; of the currents [A²]
        self._free, self._free_rates = np.full(count, np.inf), np.full(count, pace)
        self._targets = displacements - parameters.travel
        self._outermost = displacements - 0.95 * parameters.travel
        self._ends = displacements + 0.95 * parameters.travel

    def update(
        self, displacements: np.ndarray, motion: np.ndarray, pull_per_current: np.ndarray, heard: np.ndarray, dt: float
    ) -> np.ndarray:
        """Targets (c,) [m] after `dt` more seconds.

        Args:
            displacements: (c,) of the cables [m].
            motion: (3, c) rates [m/s], currents as they flow, and as they were told [A].
            pull_per_current: (c,) at the drums [N/A].
            heard: (c,) bool: motors that feed back; what others pull is not known.
            dt: [s].
        """
        p = self._parameters
        self._age += dt
        inertial, noise = self._follow(motion, heard, dt)
        self.turned = not self._winding and self._are_loose(displacements, self._smooth[1] - inertial - noise, dt)
        if self.turned:
            self._winding, self._age, self._targets = True, 0.0, self._ends + 0.05 * p.travel
        if not self._winding:
            return self._targets
        if self._age < p.settling:
            self._heard[:] = False
            self._variance[:] = 0.0
        if self._age < p.settling + p.smoothing:
            return self._targets
        rates, given, told = self._smooth
        steady = given - inertial
        self._learn_free(rates, steady + noise, heard)
        friction = self._friction_at(rates, rates > self._free_rates)
        pulls = pull_per_current * (steady - friction - p.certainty * noise)
        newly = ~self.taut & heard & (given >= p.delivery * told) & (pulls > p.tension)
        self._targets = np.where(newly, displacements, self._targets)
        self.taut = self.taut | newly
        return self._targets

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
        most = self._parameters.dry + MOST * self._free_rates
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
        return self._free + (growing / self._free_rates).clip(LEAST, MOST) * (rates - self._free_rates)

    def _follow(self, motion: np.ndarray, heard: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Smooth the motion, anew after a silence; (c,) its inertial current, and its current's noise [A]."""
        anew = ~(heard & self._heard)
        self._heard = heard
        self._smooth = np.where(anew, motion, self._smooth)
        share = 1.0 - math.exp(-dt / self._parameters.smoothing)
        deviations = motion - self._smooth
        self._smooth = self._smooth + share * deviations
        self._variance += share * (deviations[1] ** 2 - self._variance)
        noise = np.sqrt(self._variance * share / (2.0 - share))
        return self._inertia * share / max(dt, 1e-6) * deviations[0], noise
