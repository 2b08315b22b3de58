"""A plate held in closed loop by what is measured: gravity in the base and on the plate, and the cables' tensions.

From the two gravities, and how a model has loads twist the plate, follows how it stands (`plate_sight`); from that and
the tensions what hangs on it (`plate_payload`), and what the cables shall do (`plate_controller`), by a model that is
told gravity and payload. One that has no answer for long is told of half that payload: what was found may be wrong, and
what a model does not know the integral sees to. What is missing or makes no sense opens the loop, and is named: the
model alone steers then, from where the integral stands. Where the plate does not go where it is pulled
(`plate_response`) what was learnt from seeing it is forgotten.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.plate import FemPlate, out_of_reach
from soft_twin.inverse.plate_alignment import Alignment
from soft_twin.inverse.plate_controller import BEHIND, PlateController, PlateTick
from soft_twin.inverse.plate_payload import Payload, PayloadObserver
from soft_twin.inverse.plate_response import PlateResponse, how_far
from soft_twin.inverse.plate_rest import Measured, RestWatch, finite, straight_rest
from soft_twin.inverse.plate_sight import Sight, look
from soft_twin.inverse.plate_watch import PlateWatch
from soft_twin.twins.plate_model import REACHED, PlateModel, apart

CONTRADICTION = 0.15  # [rad] between what the two IMUs say and any bend of the body: one of them is wrong
HANGS = 1.5  # [rad] from where it is expected, that a plate which nobody holds may hang away at the most
LATE = 0.15  # [s] by as much as was told within that time, and BEHIND, cables may be away: else they do not follow
OBSERVED_EVERY = 0.5  # [s] between two looks at the payload …
AGAIN, MOST_AGAIN = 0.2, 2  # [s] … and to so many more where the plate rests, but the observer's twin is not yet there
HELD, HALF = 50, 0.5  # ticks without an answer of the model after which it is told of so much of the payload
UPRIGHT = np.array(UPRIGHT_GRAVITY)  # [m/s^2] what is assumed before the base's IMU has said anything


@dataclass(frozen=True)
class Held:
    """What one update came to.

    Attributes:
        tick: what the controller decided.
        sight: how the plate stands; None: not seen.
        payload: what hangs on it, as of the last look; None: nobody looked yet.
        open_because: why the loop is open; "" where it is closed.
        follows: whether the cables are where they were told to be, or nobody knows.
        noticed: slack cables, a payload that has changed or swings (see `plate_watch`), and what the model that steers
            says against itself, in words.
    """

    tick: PlateTick
    sight: Sight | None
    payload: Payload | None
    open_because: str
    follows: bool = True
    noticed: tuple[str, ...] = ()


class Once:
    """What `build` makes, from the first time on that it is asked for; a copy makes one of its own, or copies it."""

    def __init__(self, build: Callable[[], PlateModel]):
        self._build, self._built = build, None

    def __call__(self) -> PlateModel:
        if self._built is None:
            self._built = self._build()
        return self._built


class PlateHolder:
    """See the module's docstring.

    Attributes:
        controller: what it is held by.
        observer: of the payload; None: nobody looks.
        closed: whether what is seen shall count.
        goes_to_nearest: whether an orientation out of reach is answered by going to the nearest; else it is refused.
        scout: builds the model that is asked what is in reach; asked from a thread of its own, it must be another one
            than the controller's, unless that has no state.
        alignment: of the IMUs, which what they say is corrected by.
        payload: what hangs on the plate, as of the last look; None: nobody looked yet.
        at_rest: what was measured last, for an alignment.
        gravity: (3,) in base_link, as it was last known [m/s²].
    """

    def __init__(self, controller: PlateController, observer: PayloadObserver | None = None):
        """`observer`: of the payload; None: the model is told of none."""
        self.controller, self.observer = controller, observer
        self.closed, self.goes_to_nearest, self.gravity = True, False, UPRIGHT
        self.scout: Callable[[], PlateModel] = self._steering
        self.alignment, self.at_rest = Alignment(), RestWatch()
        self._watch, self._response, self._astray = PlateWatch(), PlateResponse(), False
        self.payload: Payload | None = None
        self._sight: Sight | None = None
        self._since = self._speed = 0.0
        self._next_look, self._hurried = OBSERVED_EVERY, 0
        self._unanswered, self._bearable, self._unborne_at = 0, np.inf, self.controller.target_bend

    def begin_at(self, displacements: np.ndarray) -> None:
        """Begin anew, with the cables at these displacements (c,) [m] and the plate where it is seen, or else expected.

        Raises:
            InputError: not finite.
        """
        believed = self._sight is not None and how_far(self._sight, self.controller.expected) <= HANGS
        bend = self._sight.bend if believed else self.controller.expected
        self.controller.begin_at(bend, displacements)
        self._speed, self._response = 0.0, PlateResponse()

    def aim(self, pitch: float, roll: float, duration: float = 0.0) -> tuple[float, float]:
        """As PlateController.aim, at what `within_reach` says, which is returned. Raises as both."""
        aimed = self.within_reach(pitch, roll)
        self.controller.aim(*aimed, duration)
        return aimed

    def within_reach(self, pitch: float, roll: float, model: PlateModel | None = None) -> tuple[float, float]:
        """The orientation [rad], under what is borne now; out of reach the nearest, if that shall be gone to.

        Args:
            pitch, roll: that are asked for [rad].
            model: that is asked, and moved if it has a state; None: the scout.

        Raises:
            InputError: not finite, no orientation (pitch beyond ±π/2, roll beyond ±π), or out of reach: the nearest is
                named.
            ConvergenceError: the model broke down.
        """
        model = self.scout() if model is None else model
        model.bear(self.gravity, self.borne)
        nearest = model.nearest(pitch, roll)
        if not self.goes_to_nearest and apart(nearest, (pitch, roll)) > REACHED:
            raise InputError(out_of_reach((pitch, roll), nearest))
        return nearest

    def update(self, measured: Measured, dt: float) -> Held:
        """One step of `dt` [s].

        Raises:
            InputError, ConvergenceError: as PlateController.update.
        """
        self._sight, wrong = self._look(measured, dt, self._twist_held())
        sight = self._sight
        lagging = self._away(measured.wound)
        wrong = "; ".join(word for word in (wrong, lagging) if word)
        astray = self._goes_astray(None if wrong else sight, dt)
        wrong = wrong or astray
        self._feel(measured, dt)
        self._observe(None if astray else sight, finite(measured.tensions), dt)
        self.controller.model.bear(self.gravity, self.borne)
        closed = self.closed and not wrong
        before = self.controller.command
        tensions, wound = finite(measured.tensions), finite(measured.displacements)
        wound = measured.wound if wound is None else wound
        tick = self.controller.update(sight if closed else None, dt, tensions, wound)
        self._relieve(tick)
        self._speed = 0.0 if before is None else float(np.abs(tick.displacements - before).max()) / dt
        resting, wanted = tick.progress >= 1.0, self.controller.model.tensions
        noticed = self._watch.update(resting, sight, self.payload, tensions, wanted, self.controller.names, dt)
        told = tuple(word for word in (*noticed, self.controller.model.caveat, self._relieved) if word)
        because = wrong or ("" if self.closed else "as it was asked for")
        return Held(tick, sight, self.payload, because, not lagging, told)

    def look(self, measured: Measured, dt: float) -> Sight | None:
        """How the plate stands while nobody holds it, `dt` [s] after the last look or update; None: not seen. The
        observer's twin follows, and learns nothing."""
        self._sight, _ = self._look(measured, dt, self._twist_followed())
        self._feel(measured, dt)
        self._since += dt
        if self.observer is not None and self._sight is not None and self._since >= OBSERVED_EVERY:
            self._since, tensions = 0.0, np.zeros(self.observer.plate.twin.actuator_count)
            self._or_reset(lambda: self.observer.follow(self.gravity, self._sight.bend, tensions))
        return self._sight

    def tare(self) -> bool:
        """Nothing is on the plate now; whether anybody looks."""
        self._watch.tare()
        if self.observer is not None:
            self.observer.tare()
        if self.payload is not None:
            self.payload = replace(self.payload, mass=0.0, steady=False)  # until the next look
        return self.observer is not None

    def align(self, plate: FemPlate) -> None:
        """Correct the IMUs by a rest in which homed cables hold the plate straight; see plate_alignment.

        Args:
            plate: of its own, which nobody else moves.

        Raises:
            InputError: it was no rest, no straight one, or the IMUs are too far apart.
            ConvergenceError: the model found no equilibrium.
        """
        rest = straight_rest(plate, self.at_rest.mean(), self.payload)
        self.adopt(self.alignment.with_rest(rest))

    def adopt(self, alignment: Alignment) -> None:
        """Another alignment from now on; what the observer has learnt by the last one is forgotten."""
        self.alignment, self._response = alignment, PlateResponse()
        self._forget_payload()

    def _forget_payload(self) -> None:
        self.payload, self._watch = None, PlateWatch()
        if self.observer is not None:
            self.observer.forget()

    def _steering(self) -> PlateModel:
        return self.controller.model

    def _twist_held(self) -> float:
        """How loads twist a plate that is held [rad]: as the model that steers has it, of a body as stiff as was found;
        kinematics leave it to the observer's twin."""
        model = self.controller.model
        if not model.moves:
            return self._twist_followed()
        return model.twist / (1.0 if self.payload is None else self.payload.stiffness)

    def _twist_followed(self) -> float:
        """The same of the observer's twin, which follows the plate from look to look."""
        return 0.0 if self.observer is None else self.observer.twist

    def _look(self, measured: Measured, dt: float, twist: float) -> tuple[Sight | None, str]:
        """How a plate that is twisted so [rad] stands, and why that does not count."""
        self.at_rest.add(measured, dt)
        base = finite(measured.base)
        self.gravity = self.gravity if base is None else self.alignment.base(base)
        if lost := measured.lost:
            return None, lost
        try:
            sight = look(self.gravity, self.alignment.plate(measured.plate), self.controller.expected, twist)
        except InputError as error:
            return None, str(error)
        if sight.mismatch > CONTRADICTION:
            return sight, f"the IMUs contradict each other by {np.degrees(sight.mismatch):.0f}°"
        return sight, ""

    def _goes_astray(self, seen: Sight | None, dt: float) -> str:
        """Why the plate does not go where it is pulled, and what was learnt from seeing it is forgotten; "" where it
        does."""
        why = self._response.update(self.controller.expected, self.controller.correction, seen, dt)
        if why:
            self.controller.unlearn(dt)
        if why and not self._astray:
            self._forget_payload()
        self._astray = bool(why)
        return why

    def _away(self, displacements: np.ndarray | None) -> str:
        """Why the cables are not where they were told to be; "" where they are, or nobody knows."""
        command = self.controller.command
        if displacements is None or command is None:
            return ""
        away = float(np.abs(displacements - command).max())
        if away <= BEHIND + LATE * self._speed:
            return ""
        return f"the cables do not follow, by {1e3 * away:.1f} mm: are their motors enabled, and free?"

    def _feel(self, measured: Measured, dt: float) -> None:
        """Tell the observer what winches and cables do."""
        if self.observer is None:
            return
        if (wound := finite(measured.displacements)) is not None:
            self.observer.slide(wound)
        if (tensions := finite(measured.tensions)) is not None:
            self.observer.feel(tensions, dt)

    @property
    def borne(self) -> float:
        """The payload that models are told of [kg]."""
        return 0.0 if self.payload is None else min(self.payload.borne, self._bearable)

    def _relieve(self, tick: PlateTick) -> None:
        """Tell a model of less where it has had no answer for long; of all again, where it is another pose."""
        self._unanswered = self._unanswered + 1 if tick.holding else 0
        if self._unanswered >= HELD:
            self._bearable, self._unanswered = HALF * self.borne, 0
            self._unborne_at = self.controller.target_bend
            self.controller.begin_model_anew()
        elif not self._relieved or (self.payload.steady and (self._unborne_at != self.controller.target_bend).any()):
            self._bearable = np.inf

    @property
    def _relieved(self) -> str:
        """That the model is told of less than is found, in words; "" where it is not."""
        if self.payload is None or self.payload.borne <= self._bearable:
            return ""
        return f"the model stands with {self.borne:.2f} kg on the plate, not with the {self.payload.borne:.2f} kg found"

    def _observe(self, sight: Sight | None, tensions: np.ndarray | None, dt: float) -> None:
        self._since += dt
        if self.observer is None or sight is None or tensions is None or self._since < self._next_look:
            return
        found = self._or_reset(lambda: self.observer.update(self.gravity, sight, tensions, self._since))
        self.payload, self._since = found or self.payload, 0.0
        behind = found is not None and not found.steady and self.controller.time_left == 0.0
        self._hurried = self._hurried + 1 if behind else 0
        self._next_look = AGAIN if 0 < self._hurried <= MOST_AGAIN else OBSERVED_EVERY

    def _or_reset(self, call: Callable[[], Any]) -> Any:
        """What the observer says; None, and its twin starts again, where that broke down."""
        try:
            return call()
        except ConvergenceError:
            self.observer.reset()
            return None
