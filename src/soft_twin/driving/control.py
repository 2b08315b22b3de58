"""What every actuators' control decides alike: its state, watchdog, faults."""

from abc import ABC, abstractmethod
from collections import Counter

import numpy as np

from soft_twin.driving.limits import CommandLimiter
from soft_twin.driving.states import DRIVEN, Command, State, require
from soft_twin.errors import DeviceError

HOLD = "hold"  # the mode of active actuators while commands stay away
DEVICE = "device"  # the faults that nothing but a new driver clears …
DRIVER = "driver"
POSITION = "position"  # … and the one that nothing but homing clears
MOST_SINCE_TICK = 0.02  # [s] that a command is later than the tick before it, unless the host was halted in between


class ActuatorControl(ABC):
    """Actuators that obey within limits, hold when commands stop, and relax when they stay away.

    Relaxed until enabled. Stopped is latched. A fault relaxes and stays until `enable` or `relax` finds its cause gone.
    What is asked is answered by the table in `states`. A position that is not known is made known by homing alone.

    Attributes:
        actuators, relaxed: words: the actuators in messages ("motors"), and the name of the relaxed mode ("limp").
        has_position: whether there is a zero that has to be found before the actuators may be driven.
        warning: what may be wrong with the newest command, which is obeyed; empty if nothing is.
    """

    actuators: str
    relaxed: str
    has_position = False

    def __init__(self, limiter: CommandLimiter, hold_after: float, relax_after: float):
        """Hold and relax after so long without a command [s]."""
        self._limiter = limiter
        self.watch(hold_after, relax_after)
        self._counters: Counter[str] = Counter(ticks=0, commands=0, faults=0)
        self._faults: dict[str, str] = {}
        self._driven: State | None = None
        self.warning = ""
        self._stopped = self._faulty = self._holding = False
        self._known = not self.has_position
        self._command_age = 0.0

    def watch(self, hold_after: float, relax_after: float) -> None:
        """From now on, hold and relax after so long without a command [s]."""
        self._hold_after, self._relax_after = hold_after, relax_after

    @property
    def condition(self) -> State:
        """What the actuators are now: never AWAY or LIMP, which are states of a session."""
        if self._stopped:
            return State.STOPPED
        if self._faulty:
            return State.FAULT
        if self._driven is not None:
            return self._driven
        return State.READY if self._known else State.POSITION_UNKNOWN

    @property
    def mode(self) -> str:
        """The state in one word for people: relaxed ones by the actuators' own word, active ones that hold "hold"."""
        if self.condition is State.READY:
            return self.relaxed
        return HOLD if self.condition is State.ACTIVE and self._holding else self.condition.value

    @property
    def enabled(self) -> bool:
        """Whether the actuators are driven."""
        return self.condition in DRIVEN

    @property
    def left(self) -> list[str]:
        """What relaxed actuators are not rid of, in words: causes of faults that are still there."""
        return self._causes()

    def command(self, positions, since_tick: float = 0.0) -> str:
        """Ask for positions (n,), so long after the last update [s].

        One that comes when all before it are too old, since the host was halted, drives nothing any more.

        Returns:
            Why that is refused, counted and named among the faults; "" if it is not.
        """
        refused = self._limiter.check(positions)
        if refused:
            self._note("command", refused)
            return refused
        self._faults.pop("command", None)
        self._counters["commands"] += 1
        if self.condition is State.ACTIVE:
            self._command_age += max(since_tick, 0.0)
            self._watch_commands()
        if self.condition is State.ACTIVE:  # still
            self._head_for(self._limiter.clip(positions))
            self.warning = self._limiter.beyond(positions)
            self._command_age = -min(max(since_tick, 0.0), MOST_SINCE_TICK)  # which the next update counts
            self._holding = False
        return ""

    def enable(self) -> None:
        """Let the actuators be driven; they stay where they are until a command comes.

        Raises:
            DeviceError: refused by the state, or the cause of a fault is still there.
        """
        require(self.condition, Command.ENABLE, self.actuators)
        if self.condition is State.ACTIVE:
            return
        self._require_whole()
        if not self._known:
            raise DeviceError(self._faults.get(POSITION, f"the position is unknown: home the {self.actuators} first"))
        self._drive(State.ACTIVE)

    def relax(self) -> None:
        """Drive the actuators no more; a fault whose cause is gone is over, and told no more."""
        self._let_go()
        if not self._causes():
            self._forget_faults()

    def stop(self) -> None:
        """Relax, and refuse to be enabled until `clear_stop`."""
        self._let_go()
        self._stopped = True

    def clear_stop(self) -> None:
        """End a stop; the actuators stay relaxed."""
        self._stopped = False

    def lose_device(self, reason: str) -> None:
        """The device is gone: relaxed for good, as far as this driver goes."""
        self._fault(DEVICE, reason)

    def lose_driver(self, reason: str) -> None:
        """The driver itself has failed: relaxed for good."""
        self._fault(DRIVER, reason)

    @abstractmethod
    def _head_for(self, target: np.ndarray) -> None:
        """Take a usable command (n,)."""

    @abstractmethod
    def _stay(self) -> None:
        """Head for where the motion is."""

    @abstractmethod
    def _start(self) -> None:
        """Begin to drive, from where the actuators are."""

    @abstractmethod
    def _lasting_faults(self) -> list[str]:
        """What keeps the actuators from being driven: causes of faults that are still there."""

    def _causes(self) -> list[str]:
        return [text for key, text in self._faults.items() if key in (DEVICE, DRIVER)] + self._lasting_faults()

    def _drive(self, how: State) -> None:
        """Be driven from now on; only the cause of an unknown position is remembered."""
        self._forget_faults()
        self._holding = False
        self._driven = how
        self._command_age = 0.0
        self._start()

    def _forget_faults(self) -> None:
        """What was wrong is over, but for the position's being unknown."""
        self._faults = {key: text for key, text in self._faults.items() if key == POSITION}
        self._faulty = False

    def _let_go(self) -> None:
        """Be driven no more."""
        self._driven = None
        self.warning = ""
        self._holding = False

    def _require_whole(self) -> None:
        lasting = self._causes()
        if lasting:
            raise DeviceError("; ".join(lasting))

    def _watch_commands(self) -> None:
        """Hold, then relax, when commands stay away."""
        if self.condition is not State.ACTIVE:
            return
        if not self._holding and self._command_age > self._hold_after:
            self._holding = True
            self._stay()
        if self._command_age > self._relax_after:
            self._let_go()
            self._note(
                "watchdog", f"no command for {self._relax_after:g} s: relaxed, enable the {self.actuators} again"
            )

    def _lose_position(self, reason: str) -> None:
        """Nobody knows any more where the actuators are: relaxed, until they are homed."""
        self._note(POSITION, reason)
        self._let_go()
        self._known = False

    def _find_position(self) -> None:
        """The position is known from now on."""
        self._faults.pop(POSITION, None)
        self._known = True

    def _fault(self, key: str, text: str) -> None:
        self._note(key, text)
        self._let_go()
        self._faulty = True

    def _note(self, key: str, text: str) -> None:
        if key not in self._faults:
            self._counters["faults"] += 1
        self._faults[key] = text
