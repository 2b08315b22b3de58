"""The actuators of one robot for as long as their node lives, whether their device is there or not."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.driving.driver import ActuatorDriver
from soft_twin.driving.states import Command, State, require
from soft_twin.errors import DescriptionError, DeviceError, InputError

CLOSED = "the device is closed: connect it first"
AHEAD = 0.02  # [s] that a stamp may be ahead of our clock


@dataclass(frozen=True)
class Status:
    """What a user is told of the actuators.

    Attributes:
        time: on the session's clock [s].
        state: the state of the table in `states`.
        mode: the same in words, with what to do.
        faults: what is or was wrong, named.
        counters: how often limits bound, commands were refused and things went wrong.
        positions, efforts: (n,) as measured, NaN where unknown; see the state of the driver.
        stopped: whether a stop is latched.
        warning: what may be wrong with the newest command, which is obeyed, or that what the faults name is over; empty
            if nothing is.
        refusal: which of the faults is a command's that was refused, not the actuators'; empty if none is.
    """

    time: float
    state: State
    mode: str
    faults: tuple[str, ...] = ()
    counters: dict[str, float] = field(default_factory=dict)
    positions: np.ndarray = field(default_factory=lambda: np.empty(0))
    efforts: np.ndarray = field(default_factory=lambda: np.empty(0))
    stopped: bool = False
    warning: str = ""
    refusal: str = ""


class ActuatorSession:
    """Opens the device, loses it, finds it again; keeps the latched stop meanwhile; refuses what the state forbids.

    To be called from one thread. A refused call raises DeviceError, or InputError for values that cannot be used, and
    changes nothing. `stop` is never refused.

    Attributes:
        driver: of the device, None while that is away.
        stale_after, reopen_period: as at the start [s]; they may be set at any time.
    """

    def __init__(
        self,
        open_driver: Callable[[], ActuatorDriver],
        *,
        autostart: bool = True,
        enable_when_active: bool = False,
        clock: Clock = SYSTEM,
        stale_after: float = 0.2,
        reopen_period: float = 0.5,
    ):
        """Nothing is opened yet.

        Args:
            open_driver: a relaxed driver on the open device; raises DeviceError or DescriptionError.
            autostart: `poll` connects and activates, and does so again when the device was lost.
            enable_when_active: `poll` enables the actuators once after each activation, as soon as they can be.
            clock: all times.
            stale_after: a command from an older measurement is refused [s].
            reopen_period: between two attempts to open the device [s].
        """
        self._open_driver = open_driver
        self._autostart, self._enable_when_active = autostart, enable_when_active
        self._clock, self.stale_after, self.reopen_period = clock, stale_after, reopen_period
        self.driver: Any = None
        self._actuators = "actuators"
        self._away = "the device is not open yet: connect it, or wait until it is"
        self._lost = self._refusal = self._waiting = ""
        self._latched = self._untold = self._active = False
        self._wants_open = self._wants_active = autostart
        self._wants_enabling = self._relaxed_by_hand = False
        self._next_try = -np.inf
        self._newest_stamp = -np.inf
        self._refused: Counter[str] = Counter(stale=0, future=0, reordered=0, unusable=0, not_active=0)
        self._last = Status(0.0, State.AWAY, "")

    @property
    def state(self) -> State:
        """The state now."""
        if self._latched:
            return State.STOPPED
        if not self._is_there():
            return State.AWAY
        return self.driver.condition if self._active else State.LIMP

    @property
    def connected(self) -> bool:
        """Whether a device is open, be it well or not."""
        return self.driver is not None

    @property
    def active(self) -> bool:
        """Whether the node is active: motion may be asked for."""
        return self._active

    def connect(self) -> None:
        """Open the device; a session that starts by itself becomes active with its next poll.

        Raises:
            DeviceError, DescriptionError: it is not there, or the description does not fit it.
        """
        self._require(Command.CONNECT)
        self._wants_open = True
        if not self._is_there():
            self._let_driver_go()
            self._open()

    def disconnect(self) -> None:
        """Relax the actuators and let go of the device, until `connect`."""
        self._require(Command.DISCONNECT)
        self._wants_open = self._wants_active = False
        self._relaxed_by_hand = self._latched
        self._let_driver_go()
        self._away = CLOSED

    def activate(self) -> None:
        """Let motion be asked for.

        Raises:
            DeviceError: the device is away.
        """
        self._require(Command.ACTIVATE)
        if not self._is_there():
            raise DeviceError(f"the device is away: {self._why_away()}")
        if not self._active:
            self._wants_enabling = self._enable_when_active and not self._relaxed_by_hand
        self._active = self._wants_active = True

    def deactivate(self) -> None:
        """Relax the actuators; nothing moves until `activate`."""
        self._require(Command.DEACTIVATE)
        self._active = self._wants_active = self._wants_enabling = False
        self._relaxed_by_hand = self._latched
        if self.driver is not None:
            self.driver.relax()

    def poll(self) -> None:
        """See whether the device is lost or there again, and enable what waits for it; to be called often."""
        if self.driver is not None and not self.driver.running and not self.driver.died:
            self._mourn()
        now = self._clock.monotonic()
        if self.driver is None and self._autostart and self._wants_open and now >= self._next_try:
            self._next_try = now + self.reopen_period
            with suppress(DeviceError, DescriptionError):
                self._open()
        if self._autostart and self._wants_active and not self._active and self._is_there():
            self.activate()
        if self._wants_enabling:
            self._try_enabling()

    def command(self, positions, stamp: float | None = None) -> None:
        """Ask for positions (n,).

        Args:
            positions: displacements [m] or pressures [Pa].
            stamp: of the measurement behind them on the session's clock [s]; None: it is of now.

        Raises:
            DeviceError: the actuators are not active.
            InputError: the values cannot be used, or the stamp is too old, ahead, or older than the newest.
        """
        if stamp is not None:
            self._check_stamp(stamp)
        if self.state is not State.ACTIVE:
            self._refused["not_active"] += 1
        self._require(Command.MOVE)
        refused = self.driver.command(positions)
        if refused:
            self.refuse("unusable", refused)
        if stamp is not None:
            self._newest_stamp = float(stamp)
        self._refusal = ""

    def refuse(self, kind: str, reason: str) -> None:
        """Count and tell a command that cannot be used.

        Raises:
            InputError: always, with the reason.
        """
        self._refused[kind] += 1
        self._refusal = reason
        raise InputError(reason)

    def enable(self) -> None:
        """Let the actuators be driven.

        Raises:
            DeviceError: refused by the state, or by what is still wrong.
        """
        self._require(Command.ENABLE)
        self.driver.enable()
        self._wants_enabling = self._relaxed_by_hand = False
        self._lost = self._waiting = self._refusal = ""

    def relax(self) -> str:
        """Drive the actuators no more; that it is so, and what they are not rid of yet, in words.

        Raises:
            DeviceError: the device is away.
        """
        self._require(Command.RELAX)
        self._wants_enabling, self._relaxed_by_hand = False, True
        self._refusal = ""
        return f"stopped; the device is away ({self._away})" if self.driver is None else self.driver.relax()

    def stop(self) -> str:
        """Emergency stop, latched until `clear_stop`, whatever happens to the device; what has become of it."""
        self._latched = self._relaxed_by_hand = True
        self._wants_enabling = False
        self._untold = self.driver is None
        if self.driver is None:
            return f"stopped; the device is away and could not be told ({self._away})"
        return self.driver.stop()

    def clear_stop(self) -> None:
        """End a stop; the actuators stay relaxed."""
        self._latched = self._untold = False
        if self.driver is not None:
            self.driver.clear_stop()

    def home(self) -> None:
        """Let the present positions be the actuators' zero; nothing moves.

        Raises:
            DeviceError: refused by the state, or a motor is silent.
        """
        self._require(Command.HOME)
        self.driver.home()

    def take_up_slack(self) -> None:
        """Let the actuators find their zero by moving.

        Raises:
            DeviceError: refused by the state, or by what is still wrong.
        """
        self._require(Command.TAKE_UP_SLACK)
        self.driver.take_up_slack()
        self._wants_enabling = False
        self._lost = self._waiting = ""

    def assume_taut_here(self) -> None:
        """Take the present positions for the actuators' zero on somebody's word, where it is not known; nothing moves.

        Raises:
            DeviceError: the position is known, refused by the state, or a motor is silent.
        """
        self._require(Command.ASSUME_TAUT_HERE)
        self.driver.assume_taut_here()

    def status(self) -> Status:
        """Everything a user may want to know; never raises."""
        state, now = self.state, self._clock.time()
        refused = {f"refused_{kind}": count for kind, count in self._refused.items()}
        if self.driver is None:
            unknown = np.full(len(self._last.positions), np.nan)
            counters = {**self._last.counters, **refused}
            return Status(now, state, self._words(""), self._faults(()), counters, unknown, unknown, self._latched)
        told = self.driver.state()
        self._last = Status(
            told.time,
            state,
            self._words(told.mode),
            self._faults(told.faults),
            {**told.counters, **refused},
            told.positions,
            told.efforts,
            self._latched,
            told.warning,
            self._refusal,
        )
        return self._last

    def close(self) -> None:
        """Relax the actuators and let go of the device for good."""
        self._wants_open = self._wants_active = False
        self._let_driver_go()
        self._away = "the session is closed: connect it again"

    def _require(self, command: Command) -> None:
        require(self.state, command, self._actuators, self._why_away())

    def _is_there(self) -> bool:
        """Whether a driver holds the device; one that has failed of itself does, as a fault."""
        return self.driver is not None and (self.driver.running or bool(self.driver.died))

    def _why_away(self) -> str:
        """Why no device is there; `poll` may not have seen yet that it is lost."""
        return self._away if self.driver is None else self.driver.lost or "the device is gone"

    def _open(self) -> None:
        try:
            self.driver = self._open_driver()
        except (DeviceError, DescriptionError) as error:
            self._away = str(error)
            raise
        self._actuators = self.driver.actuators
        if self._latched:
            self.driver.stop()
        self._untold = False

    def _mourn(self) -> None:
        """The device is lost: why is remembered until the actuators are enabled again."""
        self._away = self._why_away()
        self._lost = f"relaxed since the device was lost, enable again ({self._away})"
        self._next_try = self._clock.monotonic() + self.reopen_period
        self._let_driver_go()

    def _let_driver_go(self) -> None:
        self._active = self._wants_enabling = False
        if self.driver is not None:
            self.status()
            self.driver.close()
            self._untold = self.driver.untold
            self.driver = None

    def _try_enabling(self) -> None:
        """Enable as soon as that is possible; until then it is named why it is not."""
        try:
            self.enable()
        except DeviceError as error:
            self._waiting = f"waiting to enable: {error}"

    def _check_stamp(self, stamp: float) -> None:
        now = self._clock.time()
        try:
            age = now - float(stamp)
        except (TypeError, ValueError, OverflowError):
            self.refuse(
                "unusable", "command refused: its stamp is not a number of seconds: send when it was measured, or none"
            )
        if age > self.stale_after and float(stamp) == 0.0:
            self.refuse(
                "stale", "command without a stamp: say when its sample was measured, `{header: auto, …}` by hand"
            )
        if not age <= self.stale_after:
            limit = self.stale_after
            self.refuse("stale", f"command from a sample {age:.2f} s ago: send newer ones, within {limit:g} s")
        if age < -AHEAD:
            self.refuse("future", f"command from a sample {-age:.2f} s ahead of the clock: set the clocks in step")
        set_back = self._newest_stamp > now + AHEAD  # the clock was: the newest one says nothing
        if now - age < self._newest_stamp and not set_back:
            self.refuse("reordered", "command refused: a newer one has been obeyed already; send them in their order")

    def _words(self, mode: str) -> str:
        """The state, and what to do."""
        words = {
            State.AWAY: f"away: {self._why_away()}",
            State.STOPPED: "stopped: relaxed until clear_stop",
            State.LIMP: f"{mode}: the node is not active",
            State.POSITION_UNKNOWN: f"limp: position unknown, home the {self._actuators}",
            State.READY: f"{mode}: ready to be enabled",
        }
        return words.get(self.state, mode)

    def _faults(self, told: tuple[str, ...]) -> tuple[str, ...]:
        """What the driver says, and what only the session knows."""
        untold = self._untold or (self.driver is not None and self.driver.untold)
        own = (
            "the stop has not reached the device: see that it is relaxed, by its own switch or power"
            if self._latched and untold
            else "",
            self._away if self.driver is None else "",
            self._lost if self.driver is not None else "",
            self._waiting if self._wants_enabling else "",
            self._refusal,
        )
        return (*told, *(text for text in own if text and text not in told))
