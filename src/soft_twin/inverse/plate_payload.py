"""What hangs on a plate, from what its cables pull by and how it is seen to stand.

Cables that are stiff against the body keep a plate where it is whatever hangs on it: its tilt says little of a payload,
the tensions that hold it say much. A twin of its own is led to where the plate is seen to stand, by tensions as near as
can be to those that are measured. There it is asked which bend it would have under the measured ones t and the measured
gravity g. That this is another one is explained by three unknowns: how much softer the body is than its model, s, the
payload m [kg], and how much the cables rub where they leave the base, μ. At rest K(u) = s f, so that s times all loads
does for it, in which the bend is linear however far s still is from what it comes to:

    b_seen − b(s t φ, s (M + m) g) = ∂b/∂s Δs + ∂b/∂m Δm + ∂b/∂μ Δμ + noise,   φ = exp(−μ θ σ),

a Kalman filter's measurement, with s and μ constant and m a random walk. θ is the angle by which a cable turns there,
and σ says which way it slid last, −1…1, 1 where it was wound in (Dahl's friction, as of CableActuators). Where the
base stands upright a softer body and a heavier payload tilt the plate alike; `tare` tells which of them it is, with
nothing on the plate, and in several poses what is friction of both. A plate that stands straight above its base says
nothing of either, and the deviation of m grows. The noise is that of the bend as it is seen, and of the bend that
errors of the tensions make: little where a body is stiff, most of it where it is so soft that its weight nearly bends
it. One that only the lengths of its cables hold up says nothing. A payload that bends the plate further than the
linearised twin can say is not known yet: the next look is taken a part of the way to it. One with which the twin does
not come to stand where the plate rests is a wrong one, and is forgotten.

Where its centre of mass is nobody says. The filter has it where the plate's frame is; one that is c beside that, in the
plate's frame, turns the plate by m (R c) × g besides, which looks like more mass or less. What that makes of the state,
∂(s, m, μ)/∂(m c), is carried along beside the filter, which it does not change (Schmidt's consider filter),

    D ← (1 − G H) D + G ∂b/∂(m c),   G the gain, H the slopes,

so that what is told can say by how much it is off with a centre that is CENTRE away, and whether two poses differ by
more than that.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_vector
from soft_twin.inverse.goals import DirectionGoal, EffortGoal
from soft_twin.inverse.plate import AXIS, FemPlate
from soft_twin.inverse.plate_sight import Sight
from soft_twin.mechanics.actuators.cables import PRESLIDING
from soft_twin.twins.base import Linearisation
from soft_twin.twins.constant_curvature import pitch_roll_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.plate_orientation import axis_at

FOLLOWED = 2e-4  # [m] a twin that would move further in a step is not yet where the plate is
MOST_STEPS = 6  # in one update: the twin follows a moving plate from update to update
PROBES = (0.01, 0.05, 0.05)  # by which s, m [kg] and μ are varied
CENTRE = np.array([0.0125, 0.0125, 0.025])  # [m] from the plate's frame, along its axes: standard deviations
TURNED = 1e-3  # [N m] by which a plate is turned
PROBED = 0.01  # [N] by which tensions are
LEAST, MOST_SOFTNESS, MOST_FRICTION = (0.5, 0.0, 0.0), 2.0, 0.5  # s, m and μ are no less, and s and μ no more
TOLD = 2.0  # standard deviations of a payload that a model is told of
LONGEST = 1.0  # [s] that one update stands for at most
LINEAR = 0.3  # [rad] that a payload bends the plate by as the linearised twin says
SHAKEN = 2.0  # times the errors that tensions make of a look, of one that says less than the one before
LOST = 2.0  # [s] of rest in which the twin does not come to stand where the plate does: its payload is a wrong one


@dataclass(frozen=True)
class PayloadParameters:
    """Of the filter.

    Attributes:
        tilt_noise: of the measured bend against the twin's where all is seen, of sensors and model [rad],
        tension_noise: of the tension that is told of each cable [N], and
        tilt_memory: for how long both stay the same [s]: a pose that is looked at twice says little more.
        softness_spread: standard deviation of s before anything is known.
        friction_spread: likewise of μ.
        change: random walk of the payload [kg/√s].
        largest: payload that may be on the plate [kg].
        known: largest deviation at which the payload is told [kg].
        jump: innovation, in standard deviations, at which something was put on or fell off: the payload is forgotten.
            Beside the last look at the same pose, whose errors are the same, less is enough.
        look_noise: of the measured bend from look to look at a pose where all is seen [rad].
        same_pose: angle by which bend and gravity may differ in the same pose [rad].
        steady_rate: the plate turns faster: nothing is learnt [rad/s].
        tension_lag: by which tensions are told late at the most [s]: they err by what they have changed by since.
        tare_time: of learning for which a tare holds [s].
        tare_deviation: of the payload while it does [kg].
    """

    tilt_noise: float = 0.002
    tension_noise: float = 0.05
    tilt_memory: float = 5.0
    softness_spread: float = 0.15
    friction_spread: float = 0.05
    change: float = 0.05
    largest: float = 2.0
    known: float = 0.3
    jump: float = 5.0
    look_noise: float = 0.0007
    same_pose: float = 0.02
    steady_rate: float = 0.05
    tension_lag: float = 0.1
    tare_time: float = 2.0
    tare_deviation: float = 0.002


@dataclass(frozen=True)
class _Look:
    """At a plate: gravity (3,) and how it is seen, what that is beside what a state (3,) predicts (2,), and the errors
    that tensions make of it (2, c)."""

    gravity: np.ndarray
    sight: Sight
    state: np.ndarray
    innovation: np.ndarray
    tension_errors: np.ndarray


@dataclass(frozen=True)
class Payload:
    """What is known of the payload.

    Attributes:
        mass: [kg], 0 or more; NaN: not known, nothing has told it from the body's stiffness yet.
        deviation: its standard deviation [kg], if its centre of mass is where the plate's frame is.
        stiffness: of the body relative to its model, 1/s.
        steady: whether this update learnt anything; else the plate turned, the twin had to follow it first, or it
            would not stand under the tensions.
        friction: μ, of the cables.
        leverage: share of the mass by which too much is told, for a centre of mass that is away from there along each
            of the plate's axes [1/m].
        pose: in which it was found, counted: in the same one another mass is another payload, wherever its centre is.
    """

    mass: float
    deviation: float
    stiffness: float
    steady: bool
    friction: float = 0.0
    leverage: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pose: int = 0

    @property
    def whole_deviation(self) -> float:
        """Standard deviation [kg] of one whose centre of mass is about CENTRE away from the plate's frame."""
        beside = float(np.linalg.norm(CENTRE * self.leverage)) * self.mass
        return self.deviation if np.isnan(beside) else float(np.hypot(self.deviation, beside))

    @property
    def borne(self) -> float:
        """What a model is told [kg]: nothing where it may be nothing."""
        return self.mass if self.mass > TOLD * self.deviation else 0.0


class PayloadObserver:
    """See the module's docstring."""

    def __init__(self, plate: FemPlate, parameters: PayloadParameters | None = None):
        """`plate`: of its own, which nobody else moves."""
        self.plate, self.parameters = plate, parameters or PayloadParameters()
        self._seen: np.ndarray | None = None
        self._wound: np.ndarray | None = None
        self._felt: deque[tuple[float, np.ndarray]] = deque()  # tensions [N], so long [s] after the ones before
        self._slid = np.zeros(plate.twin.actuator_count)
        self._unlearnt = 0.0  # [s] since something was learnt
        self._lost = 0.0  # [s] of rest since the twin stood where the plate does
        self.forget()

    @property
    def twist(self) -> float:
        """Turn [rad] of the plate about its own axis, as its twin stands."""
        return self.plate.twist

    def forget(self) -> None:
        """Nothing is known of payload, stiffness and friction."""
        p, self._taring = self.parameters, 0.0
        self._pose, self._poses = np.full(5, np.inf), 0  # of the last look that was learnt of, and how many there were
        self._before: _Look | None = None  # the last good one, if the plate stood under its tensions since
        self._state = np.array([1.0, 0.0, 0.0])  # s, m, μ
        self._covariance = np.diag([p.softness_spread, p.largest, p.friction_spread]) ** 2
        self._by_moment = np.zeros((3, 3))  # of the state, by the payload's mass times where its centre is [1/m …]

    def tare(self) -> None:
        """Nothing is on the plate, now and for `tare_time`: what it is tilted otherwise than the twin's is the body's
        stiffness and the cables' friction. What is known of these stays: another pose tells them apart."""
        self._lighten(0.0)
        self._taring = self.parameters.tare_time

    def reset(self) -> None:
        """The twin starts again from its undeformed shape; what is known stays."""
        self.plate.twin.reset()
        self.plate.inverse.reset()

    def slide(self, displacements: np.ndarray) -> None:
        """The winches have wound in displacements (c,) [m] by now: which way the cables slide."""
        if self._wound is not None:
            self._slid = np.clip(self._slid + (displacements - self._wound) / PRESLIDING, -1.0, 1.0)
        self._wound = displacements

    def feel(self, tensions: np.ndarray, dt: float) -> None:
        """The cables pull by tensions (c,) [N] by now, `dt` [s] after it was told last."""
        self._felt.append((dt, tensions))
        since = sum(each for each, _ in self._felt) - self._felt[0][0]  # the oldest
        while len(self._felt) > 1 and since - self._felt[1][0] >= self.parameters.tension_lag:
            self._felt.popleft()
            since -= self._felt[0][0]

    def update(self, gravity: np.ndarray, sight: Sight, tensions: np.ndarray, dt: float) -> Payload:
        """What is known `dt` [s] after the last update.

        Args:
            gravity: (3,) in base_link [m/s²].
            sight: how the plate stands.
            tensions: (c,) by which the cables pull [N].

        Raises:
            InputError: wrong sizes or not finite; nothing is learnt.
            ConvergenceError: the twin's stiffness broke down: `reset` it.
        """
        gravity = checked_vector(gravity, 3, "gravity")
        tensions = np.maximum(checked_vector(tensions, self.plate.twin.actuator_count, "tensions"), 0.0)
        p, since = self.parameters, min(max(dt, 0.0), LONGEST)
        self._covariance[1, 1] = min(self._covariance[1, 1] + p.change**2 * since, p.largest**2)
        self._unlearnt += since
        turned = np.inf if self._seen is None or since == 0.0 else np.hypot(*(sight.bend - self._seen)) / since
        self._seen = sight.bend
        resting = bool(turned < p.steady_rate)
        self._forget_what_misleads(since if resting else -self._lost)
        steady = self.follow(gravity, sight.bend, tensions) < FOLLOWED and resting
        if steady and self._taring > 0.0:
            self._taring -= since
            self._measure(np.array([[0.0, 1.0, 0.0]]), -self._state[1:2], np.array([[p.tare_deviation**2]]))
        predicted = self._predict(gravity, tensions) if steady else None
        if predicted is not None:
            self._lost = 0.0
        learns = predicted is not None and not self._goes_part_of_the_way(sight, *predicted[:2])
        if learns:
            self._learn(gravity, sight, *predicted, min(self._unlearnt, LONGEST))
            self._unlearnt = 0.0
        else:
            self._before = None
        softness, mass, friction = self._state.tolist()
        deviation = p.tare_deviation if self._taring > 0.0 else float(np.sqrt(self._covariance[1, 1]))
        told = mass if deviation <= p.known else float("nan")
        leverage = tuple(self._by_moment[1].tolist())
        return Payload(told, deviation, 1.0 / softness, learns, friction, leverage, self._poses)

    def _forget_what_misleads(self, rested: float) -> None:
        """Forget a payload with which the twin has not come to stand where the plate rests, for `rested` [s] more."""
        self._lost += rested
        if self._lost > LOST:
            self._lighten(0.0)
            self._lost = 0.0
            self.reset()

    def _goes_part_of_the_way(self, sight: Sight, predicted: np.ndarray, slopes: np.ndarray) -> bool:
        """Whether it would take a payload that the twin, linearised here, knows nothing of: it goes a part of the way,
        and is not known."""
        shown = np.eye(2) if sight.unseen is None else np.array([[-sight.unseen[1], sight.unseen[0]]])
        innovation, by_mass = shown @ (sight.bend - predicted), shown @ slopes[:, 1]
        bends = by_mass @ innovation / max(np.hypot(*slopes[:, 1]), 1e-300)
        if self._taring > 0.0 or abs(bends) <= LINEAR:
            return False
        step = by_mass @ innovation / (by_mass @ by_mass) * LINEAR / abs(bends)
        mass = float(np.clip(self._state[1] + step, 0.0, self.parameters.largest))
        if mass == self._state[1]:
            return False
        self._lighten(mass)
        return True

    def follow(self, gravity: np.ndarray, bend: np.ndarray, tensions: np.ndarray) -> float:
        """Lead the twin to a bend (2,) [rad], by tensions (c,) as near as can be to these [N]; what the last of a few
        steps asked of the furthest node [m]. Nothing is learnt."""
        gravity, mass, tensions = self._loads(gravity, tensions, self._state, self._angles())
        self.plate.bear(gravity, mass)
        goals = [DirectionGoal(self.plate.frame, AXIS, axis_at(bend)), EffortGoal(tensions, priority=2)]
        moved, steps = np.inf, 0
        while moved >= FOLLOWED and steps < MOST_STEPS:
            moved, steps = self.plate.inverse.step(self.plate.gravity, goals)[1], steps + 1
        return moved

    def _predict(self, gravity: np.ndarray, tensions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Bend (2,) of the twin under these tensions near that bend, and its slopes by s, m and μ (2, 3) and by the
        tensions (2, c); None where the lengths of its cables hold it, and no tensions would."""
        angles, changes = self._angles(), np.vstack([np.zeros(3), np.diag(PROBES)])
        here, *probed = [self._loads(gravity, tensions, self._state + change, angles) for change in changes]
        steps = []
        for loads, mass, _ in (*probed[:2], here):  # friction changes nothing but tensions
            self.plate.bear(loads, mass)
            steps.append(self.plate.twin.linearise(loads))
            if not steps[-1].definite:
                return None
        softer, heavier, step = steps
        (*_, pull), (*_, of_softer), (*_, of_heavier), (*_, of_rubbed) = here, *probed
        there = [self._bend(*each) for each in ((softer, of_softer), (heavier, of_heavier), (step, of_rubbed))]
        pulled = [self._bend(step, each) for each in pull + PROBED * np.eye(len(pull))]
        now = self._bend(step, pull)
        slopes = (np.column_stack(there) - now[:, None]) / PROBES
        return now, slopes, (np.column_stack(pulled) - now[:, None]) / PROBED * self._state[0]

    def _loads(
        self, gravity: np.ndarray, tensions: np.ndarray, state: np.ndarray, angles: np.ndarray
    ) -> tuple[np.ndarray, float, np.ndarray]:
        """Gravity (3,), payload, and tensions (c,) behind where the cables rub along angles (c,), of a body as stiff as
        its model."""
        softness, mass, friction = state
        rubbed = np.exp(-friction * angles * self._slid)
        return softness * gravity, float(mass), softness * tensions * rubbed

    def _angles(self) -> np.ndarray:
        """(c,) by which the cables turn where they leave the base."""
        twin = self.plate.twin
        return np.concatenate([part.cables.first_turns(twin.points) for part in twin.actuators.parts])

    def _bend(self, step: Linearisation, tensions: np.ndarray) -> np.ndarray:
        """(2,) bend after a linearised step, which is not taken, under tensions (c,)."""
        twin, frame = self.plate.twin, self.plate.frame
        axis = frame.rotation(twin)[:, 2]
        turn = frame.turn(twin, step.free_step + step.step_per_effort @ tensions)
        return np.array(bend_of(*pitch_roll_of(axis + np.cross(turn, axis))))

    def _learn(
        self,
        gravity: np.ndarray,
        sight: Sight,
        predicted: np.ndarray,
        slopes: np.ndarray,
        by_tension: np.ndarray,
        since: float,
    ) -> None:
        """The filter's measurement, of what is seen of the bend, `since` [s] the last one."""
        shown = np.eye(2) if sight.unseen is None else np.array([[-sight.unseen[1], sight.unseen[0]]])
        p, innovation, h = self.parameters, sight.bend - predicted, shown @ slopes
        changed = self._felt[-1][1] - self._felt[0][1] if self._felt else 0.0
        errors = by_tension * np.hypot(p.tension_noise, changed)
        noise = shown @ (p.tilt_noise**2 * sight.spread + errors @ errors.T) @ shown.T
        look = _Look(gravity, sight, self._state, innovation, errors)
        pose = np.concatenate([sight.bend, gravity / np.linalg.norm(gravity)])
        self._poses += bool(np.linalg.norm(pose - self._pose) > p.same_pose)
        self._pose = pose
        jumped = self._taring <= 0.0 and (
            _beyond(shown @ innovation, h @ self._covariance @ h.T + noise, p.jump)
            or self._has_changed(look, slopes, shown)
        )
        if jumped:
            self._lighten(self._state[1])
        if jumped or not self._says_less(look):
            self._before = look
        by_moment = np.zeros((2, 3)) if self._taring > 0.0 else self._slopes_by_centre(gravity)
        self._measure(h, shown @ innovation, noise * max(1.0, p.tilt_memory / since), shown @ by_moment)

    def _slopes_by_centre(self, gravity: np.ndarray) -> np.ndarray:
        """(2, 3) how a payload's mass times where its centre is in the plate's frame bends the twin, as it was
        linearised last [rad/(kg m)]."""
        twin, frame = self.plate.twin, self.plate.frame
        rotation, loads = frame.rotation(twin), self._state[0] * gravity
        turns = frame.turn(twin, twin.moved_by(_couples(frame.around(twin.body.mesh), twin.points)))
        moments = TURNED * np.cross(rotation.T, loads).T  # of a kilogram so far along each axis
        return self._bends_by(turns @ moments) / TURNED

    def _bends_by(self, turns: np.ndarray) -> np.ndarray:
        """(2, k) changes of the twin's bend by turns (3, k) of its frame [rad]."""
        axis = self.plate.frame.rotation(self.plate.twin)[:, 2]
        now = np.array(bend_of(*pitch_roll_of(axis)))
        return np.column_stack([bend_of(*pitch_roll_of(axis + np.cross(turn, axis))) - now for turn in turns.T])

    def _in_same_pose(self, look: _Look) -> bool:
        """Whether it is at the pose of the one before."""
        same, before = self.parameters.same_pose, self._before
        if before is None or np.hypot(*(look.sight.bend - before.sight.bend)) > same:
            return False
        return bool(np.linalg.norm(look.gravity - before.gravity) <= same * np.linalg.norm(look.gravity))

    def _says_less(self, look: _Look) -> bool:
        """Whether it is at the pose of the one before, and much worse than that, as where something that was just put
        on still shakes: the next look, which is better, has to be compared with what was before."""
        if not self._in_same_pose(look):
            return False
        return bool(np.linalg.norm(look.tension_errors) > SHAKEN * np.linalg.norm(self._before.tension_errors))

    def _has_changed(self, look: _Look, slopes: np.ndarray, shown: np.ndarray) -> bool:
        """Whether the same pose is seen otherwise than before, by more than errors change meanwhile."""
        p, before = self.parameters, self._before
        if not self._in_same_pose(look):
            return False
        change = shown @ (look.innovation + slopes @ (look.state - before.state) - before.innovation)
        noise = sum(
            p.look_noise**2 * each.sight.spread + each.tension_errors @ each.tension_errors.T for each in (look, before)
        )
        return _beyond(change, shown @ noise @ shown.T, p.jump)

    def _lighten(self, mass: float) -> None:
        """Nothing is known of the payload any more: it may be this one, or any."""
        self._state[1], self._covariance[1], self._covariance[:, 1] = mass, 0.0, 0.0
        self._covariance[1, 1] = self.parameters.largest**2
        self._by_moment[1] = 0.0

    def _measure(
        self, h: np.ndarray, innovation: np.ndarray, noise: np.ndarray, by_moment: np.ndarray | float = 0.0
    ) -> None:
        """A measurement (k,) that the state moves by h (k, 3), with noise of this covariance (k, k), and the payload's
        mass times where its centre is by `by_moment` (k, 3)."""
        spread = h @ self._covariance @ h.T + noise
        gain = np.linalg.solve(spread, h @ self._covariance).T
        self._state = self._state + gain @ innovation
        kept = np.eye(3) - gain @ h
        self._covariance, self._by_moment = kept @ self._covariance, kept @ self._by_moment
        self._by_moment += gain @ (by_moment * np.ones((len(h), 3)))
        self._keep_within()

    def _keep_within(self) -> None:
        """What is estimated beyond its bounds is set to them, and takes with it what it is correlated with: of all
        states within them the likeliest is near."""
        bounds = np.array([LEAST, (MOST_SOFTNESS, self.parameters.largest, MOST_FRICTION)])
        for _ in range(len(self._state)):
            beyond = self._state - np.clip(self._state, *bounds)
            worst = int(np.argmax(np.abs(beyond) / np.sqrt(np.diag(self._covariance))))
            if beyond[worst] == 0.0:
                return
            self._state = self._state - beyond[worst] / self._covariance[worst, worst] * self._covariance[:, worst]
        self._state = np.clip(self._state, *bounds)


def _couples(nodes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, 3, 3) forces on nodes (k,), of those at points (n, 3), that turn them by a moment of one about each axis."""
    arms = points[nodes] - points[nodes].mean(axis=0)
    inertia = np.sum(arms**2) * np.eye(3) - arms.T @ arms
    forces = np.zeros((*points.shape, 3))
    forces[nodes] = np.cross(np.linalg.inv(inertia)[None], arms[:, None]).swapaxes(1, 2)
    return forces


def _beyond(off: np.ndarray, covariance: np.ndarray, deviations: float) -> bool:
    """Whether (k,) is that many standard deviations away."""
    return bool(off @ np.linalg.solve(covariance, off) > deviations**2)
