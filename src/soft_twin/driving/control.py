"""What every actuators' control decides alike: modes, latched stop, watchdog, faults."""

from abc import ABC, abstractmethod
from collections import Counter

import numpy as np

from soft_twin.driving.limits import CommandLimiter
from soft_twin.errors import DeviceError

ACTIVE, HOLD, STOPPED, FAULT = "active", "hold", "stopped", "fault"
DEVICE = "device"  # the fault that nothing but a new driver clears


class ActuatorControl(ABC):
    """Actuators that obey within limits, hold when commands stop, and relax when they stay away.

    Relaxed until enabled. Stopped is latched. A fault relaxes and stays until `enable` finds its cause gone.

    Attributes:
        actuators, relaxed: words: the actuators in messages ("motors"), and the name of the relaxed mode ("limp").
        driving: modes in which the actuators are driven.
        mode: the present one.
    """

    actuators: str
    relaxed: str
    driving: tuple[str, ...] = (ACTIVE, HOLD)

    def __init__(self, limiter: CommandLimiter, hold_after: float, relax_after: float):
        """Hold and relax after so long without a command [s]."""
        self._limiter = limiter
        self._hold_after, self._relax_after = hold_after, relax_after
        self._counters: Counter[str] = Counter(ticks=0, commands=0, faults=0)
        self._faults: dict[str, str] = {}
        self.mode = self.relaxed
        self._command_age = 0.0

    @property
    def enabled(self) -> bool:
        return self.mode in self.driving

    def command(self, positions) -> None:
        """Ask for positions (n,). An unusable command is refused, counted and named among the faults."""
        refused = self._limiter.check(positions)
        if refused:
            self._note("command", refused)
            return
        self._head_for(self._limiter.clip(positions))
        self._command_age = 0.0
        self._faults.pop("command", None)
        self._counters["commands"] += 1
        if self.mode == HOLD:
            self.mode = ACTIVE

    def enable(self) -> None:
        """Let the actuators be driven; they stay where they are until a command comes.

        Raises:
            DeviceError: stopped, or the cause of a fault is still there.
        """
        if self.mode == STOPPED:
            raise DeviceError(f"the {self.actuators} are stopped: clear the stop before enabling them")
        if self.enabled:
            return
        lasting = self._lasting_faults()
        if lasting:
            raise DeviceError("; ".join(lasting))
        self._faults.clear()
        self.mode = ACTIVE
        self._command_age = 0.0
        self._start()

    def relax(self) -> None:
        """Drive the actuators no more."""
        if self.mode != STOPPED:
            self.mode = FAULT if DEVICE in self._faults else self.relaxed

    def stop(self) -> None:
        """Relax, and refuse to be enabled until `clear_stop`."""
        self.mode = STOPPED

    def clear_stop(self) -> None:
        """End a stop; the actuators stay relaxed."""
        if self.mode == STOPPED:
            self.mode = self.relaxed

    def lose_device(self, reason: str) -> None:
        """The device is gone: relaxed for good, as far as this driver goes."""
        self._fault(DEVICE, reason)

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
        """Causes of faults that are still there."""

    def _watch_commands(self) -> None:
        """Hold, then relax, when commands stay away."""
        if self.mode == ACTIVE and self._command_age > self._hold_after:
            self.mode = HOLD
            self._stay()
        if self.mode in (ACTIVE, HOLD) and self._command_age > self._relax_after:
            self.mode = self.relaxed
            self._note(
                "watchdog", f"no command for {self._relax_after:g} s: relaxed, enable the {self.actuators} again"
            )

    def _fault(self, key: str, text: str) -> None:
        self._note(key, text)
        if self.mode != STOPPED:
            self.mode = FAULT

    def _note(self, key: str, text: str) -> None:
        if key not in self._faults:
            self._counters["faults"] += 1
        self._faults[key] = text
