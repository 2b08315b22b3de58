"""Does every motor do what it is told? What is wrong with those that do not, in words."""

from dataclasses import dataclass, replace

import numpy as np

from soft_twin.descriptions.drives import CableLimits
from soft_twin.driving.cables.stiff_friction import STEEPEST

FASTEST = 1.3  # times the limit of its rate, a cable may overshoot that
CAUGHT = 5.0  # times as stiff as any free body is one that is caught, at the cable that winds it in
CREDIT = 0.15  # [s] within which a pull is believed that neighbours cannot explain
BLOW = 0.7  # share of the time of a fault that one look stands for at the most: the motion in it may be a single blow


@dataclass(frozen=True)
class SupervisionLimits:
    """When a motor is at fault; frictions and inertia are those of the usual drum, see `levered`.

    Attributes:
        following_error: distance between where a cable should be and where it is [m]; more where it springs back by
            more when its highest tension is gone at once, as where a body swings.
        following_time: for so long [s], unless …
        catching_up: … it runs there by this share of the limit of its rate.
        contrary_share: a motor whose torque, by how it moves, is against its current by more than this share of it …
        contrary_current: … while that is more than this [A] …
        contrary_time: … for so long [s], turns against its current.
        weak_current: from this on [A] it counts as well, but for …
        weak_weight: … so much of the time: a stiff body that stops a winch looks alike for some milliseconds.
        friction: highest plausible friction [A s/m]; what is between none and that excuses the motor.
        braking: friction [A s/m] that is taken for sure in a motor that turns against its current, so that one whose
            torque has turned round is named early; less where a winch without any friction would be accused, and more
            where more has been learned. No data sheet says how much there is.
        dry: highest plausible friction that does not grow with the rate [A]: what a winch that turns pulls by less than
            this may not reach its cable.
        inertia: of a winch [A s²/m].
        overload: tension over the highest allowed one.
        overload_time: for so long [s].
        standstill: a motor slower than this while it should move is stalled [m/s].
        dead_current: what a motor may have beside what holds its cable, and not turn at all [A] …
        dead_time: … for so long [s]: it is stuck, or its encoder is while it turns.
    """

    following_error: float = 0.0015
    following_time: float = 0.06
    catching_up: float = 0.6
    contrary_share: float = 0.3
    contrary_current: float = 0.25
    contrary_time: float = 0.007
    weak_current: float = 0.15
    weak_weight: float = 0.2
    friction: float = 30.0
    braking: float = 5.0
    dry: float = 0.3
    inertia: float = 0.342
    overload: float = 2.5
    overload_time: float = 0.2
    standstill: float = 0.002
    dead_current: float = 1.0
    dead_time: float = 0.02

    def levered(self, leverage: float) -> "SupervisionLimits":
        """The same for another drum and gear, see `Winch.leverage`."""
        told = ("friction", "braking", "inertia")
        return replace(self, **{name: leverage * getattr(self, name) for name in told})


@dataclass(frozen=True)
class Motion:
    """What cables that are driven do; (c,) each, > 0 winds in.

    Attributes:
        errors: where each cable should be less where it is [m].
        rates: measured [m/s].
        accelerations: (2, c) the least and the greatest that fit what was measured [m/s²], NaN where not known.
        currents: measured in the same samples [A].
        pulls: of the cables, as they were lately, in terms of the currents that hold them [A], 0 or more.
        friction: that the winches have for sure, of which some may be dry [A s/m].
        seconds: since the last look [s].
        spans: what the samples of this look stand for [s]. Where they are few, looks fall between them.
    """

    errors: np.ndarray
    rates: np.ndarray
    accelerations: np.ndarray
    currents: np.ndarray
    pulls: np.ndarray
    friction: np.ndarray
    seconds: float
    spans: np.ndarray


class Supervision:
    """Watches cables that are driven."""

    def __init__(
        self,
        limits: SupervisionLimits,
        of_cables: CableLimits,
        count: int,
        spring_back: float = 0.0,
        unfelt: float = 0.0,
        leverage: float = 1.0,
    ):
        """`limits`: of the usual drum; these winches have another `leverage`. `spring_back`: of a cable whose highest
        tension is gone at once [m]; `unfelt`: current [A] that may hold a cable without its pull being known."""
        self._limits = limits.levered(leverage)
        self._following_error = max(limits.following_error, spring_back)
        self._tension = limits.overload * of_cables.tension[1]
        self._catching_up = limits.catching_up * of_cables.rate
        self._fastest = FASTEST * of_cables.rate
        self._steepest = STEEPEST / leverage  # [A/m]
        self._overloaded, self._lost, self._contrary = np.zeros(count), np.zeros(count), np.zeros(count)
        self._excuse = np.full(count, np.inf)  # pulls of before the motors seemed to turn against their currents [A]
        self._dead, self._held_by = np.zeros(count), np.zeros(count)  # [s], and pulls of before that [A]
        self._unexplained = limits.dead_current + unfelt  # beside what is known of a cable's pull [A]

    @property
    def contrary(self) -> np.ndarray:
        """(c,) bool: motors that turn against their currents."""
        return self._contrary > self._limits.contrary_time

    def reset(self) -> None:
        """Forget the past."""
        self._overloaded[:] = 0.0
        self._lost[:] = 0.0
        self._contrary[:] = 0.0
        self._excuse[:] = np.inf
        self._dead[:] = 0.0

    def check(self, motion: Motion, force_per_current: np.ndarray) -> list[tuple[int, str]]:
        """Cables at fault and what is wrong; a pull is `force_per_current` (c,) times a current [N/A]."""
        dt, limits = motion.seconds, self._limits
        pulls = force_per_current * self._least_pulling(motion)
        self._overloaded = np.where(pulls > self._tension, self._overloaded + dt, 0.0)
        astray = np.abs(motion.errors) > self._following_error
        astray &= np.sign(motion.errors) * motion.rates < self._catching_up
        self._lost = np.where(astray, self._lost + dt, 0.0)
        self._count_contrary(motion)
        self._count_dead(motion)
        contrary, dead = self.contrary, self._dead > limits.dead_time
        lost = (self._lost > limits.following_time) & ~dead
        strained = self._overloaded > limits.overload_time
        if not (lost.any() or contrary.any() or dead.any() or strained.any()):
            return []
        return [
            *((i, self._why_lost(motion, i)) for i in np.flatnonzero(lost & ~contrary)),
            *((i, _why_dead(motion, i)) for i in np.flatnonzero(dead & ~contrary)),
            *((i, self._why_contrary(motion, i)) for i in np.flatnonzero(contrary)),
            *(
                (i, f"pulls with {pulls[i]:.1f} N: the robot is blocked, or the winch rubs; free it, then enable again")
                for i in np.flatnonzero(strained)
            ),
        ]

    def _least_pulling(self, motion: Motion) -> np.ndarray:
        """(c,) current that pulls at the cable at the least, whatever the friction is [A]."""
        turns_in = motion.rates > self._limits.standstill
        friction = self._limits.friction * motion.rates + self._limits.dry
        return motion.currents - np.where(turns_in, friction, 0.0)

    def _count_contrary(self, motion: Motion) -> None:
        """The torque by which a rotor moves is m a + b v; a and b are what makes it agree best with the current.

        The cable's own pull is no fault of the motor's. It only ever turns a winch outwards, and grows with the body's
        stiffness, not from one look to the next as a wrong torque does: what it was before the first suspicion excuses
        as much, since a motor that turns against its current seems to pull by all of it. That grows from little on,
        though a cable that is let out slackens, unless others pull at the body meanwhile.

        How long a look stands for depends on the host. What stops a cable within one, be it ever so long, was over at
        once: a knot at an eye, or an emulated robot whose time stands still on a busy machine. A second look says more;
        one that leaves open how fast the speed has changed, neither accuses nor clears.
        """
        limits, sign, strength = self._limits, np.sign(motion.currents), np.abs(motion.currents)
        braking = np.minimum(limits.braking, _harmless_braking(limits, self._fastest, strength))
        along = sign * motion.rates
        braked = np.maximum(braking * -along, motion.friction * -along - limits.dry)
        resisted = np.where(along > 0.0, limits.friction * along, -braked)
        least, most_of_it = limits.inertia * np.sort(sign * motion.accelerations, axis=0) + resisted
        excuse = np.minimum(motion.pulls, self._excuse + self._growth(motion))
        self._excuse = np.where(self._contrary > 0.0, self._excuse, excuse)
        pulled = np.where(sign > 0.0, self._excuse, 0.0)
        weight = np.where(strength > limits.contrary_current, 1.0, limits.weak_weight)
        suspicious = -limits.contrary_share * strength - pulled
        against = (strength > limits.weak_current) & (most_of_it < suspicious)
        cleared = (strength <= limits.weak_current) & ~np.isnan(least) | (least >= suspicious)
        seconds = np.minimum(motion.spans, BLOW * limits.contrary_time)
        self._contrary = np.where(cleared, 0.0, self._contrary + against * weight * seconds)

    def _growth(self, motion: Motion) -> np.ndarray:
        """(c,) by how much more than at the last look each cable may pull [A].

        One that is wound in by as much as even a caught body resists, one that is let out by what the fastest of the
        others does to the body. What comes on top may be pushed by hand, or the motor's own wrong torque: that doubles
        within some hundredths of a second.
        """
        speeds = np.minimum(np.abs(motion.rates), self._fastest)
        fastest = speeds.argmax()
        others = np.full(len(speeds), speeds[fastest])
        others[fastest] = np.delete(speeds, fastest).max(initial=0.0)
        explained = self._steepest * np.maximum(CAUGHT * motion.rates, others) * motion.seconds
        return explained + np.maximum(motion.pulls - self._excuse, 0.0) * min(motion.seconds / CREDIT, 1.0)

    def _count_dead(self, motion: Motion) -> None:
        """A rotor that not even its encoder's finest step sees turn, with a current that must turn it.

        Either it is stuck, or what says so is: it then turns unseen, and faster from look to look. A cable that holds
        it, however stiff, gives way by more than such a step; what it pulled by before excuses as much current.
        """
        self._held_by = np.where(self._dead > 0.0, self._held_by, motion.pulls)
        excused = self._held_by * (motion.currents > 0.0) + self._unexplained
        standing = (motion.rates == 0.0) & (np.abs(motion.currents) > excused)
        seconds = np.minimum(motion.spans, BLOW * self._limits.dead_time)
        self._dead = np.where(standing | (motion.spans == 0.0), self._dead + standing * seconds, 0.0)

    def _why_contrary(self, motion: Motion, i: int) -> str:
        return (
            f"turns against its current: it is {1e3 * motion.errors[i]:+.1f} mm from where it should be; check the "
            "winding direction and the motor's phases, and whether the cable hit something"
        )

    def _why_lost(self, motion: Motion, i: int) -> str:
        where = f"is {1e3 * motion.errors[i]:+.1f} mm from where it should be"
        if abs(motion.rates[i]) < self._limits.standstill:
            return f"stalled: it {where}; free it, let it cool, and check its power"
        if motion.rates[i] * motion.currents[i] < 0.0 and motion.rates[i] * motion.errors[i] < 0.0:
            return f"turns against its current: it {where}; check the winding direction and the motor's phases"
        return f"does not follow: it {where}; check its cable, its load and its supply"


def _why_dead(motion: Motion, i: int) -> str:
    return (
        f"stalled: it does not turn at all by {motion.currents[i]:+.1f} A; free it, let it cool, and check its power "
        "and its encoder"
    )


def _harmless_braking(limits: SupervisionLimits, rate: float, currents: np.ndarray) -> np.ndarray:
    """(c,) most friction that may be taken for sure [A s/m] at rates up to this [m/s] and these currents > 0 [A].

    A winch without friction that turns at v against its current i has m a = |i|. It is accused where |i| − b |v| <
    −share |i|: with b below (1 + share) |i| / v never.
    """
    return (1.0 + limits.contrary_share) * currents / rate


class DirectionProbe:
    """A small current for a moment, before anything else moves: does the motor turn the way it should?

    Friction may be more than that. A motor that has turned against its current is asked by more and more, until it
    turns: else it would run the wrong way again, whoever enables it.

    Attributes:
        current: [A], enough to turn a winch whose cable is slack, by a tenth of a millimetre.
        duration: [s].
        strong: up to which the current of a motor that was accused grows [A] …
        longest: … within this time [s], while it has not turned by …
        answer: … so much [m].
        still: it begins once no cable is faster [m/s] …
        patience: … or after so long [s].
        rest: without current after that, for the cables to come to rest [s].
        threshold: turned back by so much, the motor answers backwards [m].
        judged: whether the answers have been looked at.
        start: (c,) where the cables were when it began [m].
    """

    current = 0.1
    duration = 0.05
    strong = 0.5
    longest = 0.15
    answer = 1e-4
    rest = 0.05
    still = 0.0005
    patience = 0.25
    threshold = 3e-5

    def __init__(self, accused: np.ndarray) -> None:
        """`accused`: (c,) bool, motors that have turned against their currents, and not answered since."""
        self._accused, self._answered = accused.copy(), np.zeros(len(accused), dtype=bool)
        self._waited = self._age = self._pushed = 0.0
        self._begun = self.judged = False

    def waits(self, displacements: np.ndarray, rates: np.ndarray, dt: float) -> bool:
        """Whether cables that are there (c,) [m] at these rates (c,) [m/s] have yet to come to rest, `dt` later [s].

        Where one unwinds under its tension, a small current says nothing.
        """
        self._waited += dt
        if not self._begun and (np.abs(rates).max() < self.still or self._waited > self.patience):
            self._begun = True
            self.start, self._rates, self._impulses = displacements, rates, np.zeros(len(rates))
        return not self._begun

    @property
    def over(self) -> bool:
        """Whether the cables have come to rest again."""
        return self._age > self._pushed + self.rest

    def pushes(self, displacements: np.ndarray, currents: np.ndarray, dt: float) -> np.ndarray:
        """(c,) the currents that are still to flow [A], 0 when it is over, after `dt` more seconds that led there (c,)
        [m] and in which (c,) so much was measured [A]."""
        self._age += dt
        self._impulses = self._impulses + currents * dt
        self._answered |= np.abs(displacements - self.start) > self.answer
        grown = self.current + (self.strong - self.current) * self._age / self.longest
        insisted = grown * (self._age <= self.longest) * ~self._answered
        asked = np.where(self._accused, insisted, self.current * (self._age <= self.duration))
        if asked.any():
            self._pushed = self._age
        return asked

    def push(self, displacements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What it came to: impulses (c,) [A s], and ways (c,) [m] up to these displacements."""
        return self._impulses, displacements - self.start

    def backwards(self, displacements: np.ndarray) -> np.ndarray:
        """Indices of the cables that were let out instead of wound in, and by more than they did so already."""
        turned = displacements - self.start
        return np.flatnonzero(np.maximum(turned, turned - self._rates * self._age) < -self.threshold)

    def forwards(self, displacements: np.ndarray) -> np.ndarray:
        """(c,) bool: motors that have surely turned the way they should."""
        return displacements - self.start > self.threshold
