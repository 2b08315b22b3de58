"""What every actuators' driver does alike: a thread of its own around a control."""

import threading
import time
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from soft_twin.driving.control import ActuatorControl
from soft_twin.priority import prefer_this_thread

C = TypeVar("C", bound=ActuatorControl)


class ActuatorDriver(ABC, Generic[C]):
    """Actuators driven by a control in a thread that never raises. All methods may be called from any thread.

    Relaxed at the start.
    """

    def __init__(self, control: C, rate: float):
        """Drive with so many ticks per second, from `_begin` on."""
        self._control = control
        self._period = 1.0 / rate
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._last_tick = time.monotonic()
        self._timing = {"late": 0, "worst_gap_ms": 0.0}
        self._thread = threading.Thread(target=self._live, name=type(self).__name__, daemon=True)

    @property
    def running(self) -> bool:
        """Whether the actuators are driven: until `close`, or until the device is gone."""
        return self._thread.is_alive()

    def command(self, positions) -> None:
        """Ask for positions (n,), displacements [m] or pressures [Pa]; limited and checked by the control."""
        with self._lock:
            self._control.command(positions)
        self._wake.set()

    def enable(self) -> None:
        """Let the actuators be driven.

        Raises:
            DeviceError: stopped, or the cause of a fault is still there.
        """
        with self._lock:
            self._control.enable()

    def relax(self) -> None:
        """Drive the actuators no more."""
        with self._lock:
            self._control.relax()
        self._wake.set()

    def stop(self) -> None:
        """Emergency stop: relax, latched until `clear_stop`."""
        with self._lock:
            self._control.stop()
        self._wake.set()

    def clear_stop(self) -> None:
        """End a stop; the actuators stay relaxed."""
        with self._lock:
            self._control.clear_stop()

    def _live(self) -> None:
        prefer_this_thread()
        self._run()

    @abstractmethod
    def _run(self) -> None:
        """Tick until `_closing`, or until the device is gone."""

    def _measure_tick(self) -> float:
        """Time since the last tick [s], counted where it was long."""
        now = time.monotonic()
        dt, self._last_tick = now - self._last_tick, now
        self._timing["late"] += dt > 2.0 * self._period
        self._timing["worst_gap_ms"] = max(self._timing["worst_gap_ms"], 1e3 * dt)
        return dt

    def _lose_device(self, reason: str) -> None:
        with self._lock:
            self._control.lose_device(reason)

    def _finish(self) -> None:
        """End the thread."""
        self._closing = True
        self._wake.set()
        self._thread.join()
