"""The thread that drives a robot's chambers."""

import threading
import time
from collections.abc import Sequence

from soft_twin.driving.pressures import ChamberLimits
from soft_twin.driving.valve_control import ChamberState, ValveControl, ValveParameters
from soft_twin.driving.valves import Valves
from soft_twin.errors import DescriptionError, DeviceError
from soft_twin.priority import prefer_this_thread

VENT_PATIENCE = 3.0  # [s] at the most to vent the chambers when the driver is closed


class ValveDriver:
    """Chambers held at pressures by valves, in a thread of its own.

    Vented at the start. It never raises out of its thread: a device that fails shows as mode "fault". All methods
    may be called from any thread.
    """

    def __init__(
        self,
        names: Sequence[str],
        limits: ChamberLimits,
        valves: Valves,
        parameters: ValveParameters | None = None,
    ):
        """Start driving; `close` closes the valves.

        Raises:
            DescriptionError: the names do not fit the valves, or the limits lie outside their range.
        """
        if len(names) != valves.count:
            raise DescriptionError(f"{len(names)} chambers on {valves.count} valves: name one chamber for each")
        low, high = valves.range
        if not (low <= limits.pressure[0] and limits.pressure[1] <= high):
            asked = "{:g}…{:g}".format(*limits.pressure)
            raise DescriptionError(f"pressure limits {asked} Pa: these valves reach {low:g}…{high:g} Pa")
        self._control = ValveControl(names, limits, parameters)
        self._period = 1.0 / self._control.parameters.rate
        self._vented = limits.vented
        self._valves = valves
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._last_tick = time.monotonic()
        self._late = 0
        self._thread = threading.Thread(target=self._run, name="valve_driver", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the chambers are driven: until `close`, or until the device is gone."""
        return self._thread.is_alive()

    def command(self, pressures) -> None:
        """Ask for gauge pressures (n,) [Pa]; limited and checked, see ValveControl."""
        with self._lock:
            self._control.command(pressures)

    def enable(self) -> None:
        """Let the chambers be pressurised.

        Raises:
            DeviceError: stopped, or the cause of a fault is still there.
        """
        with self._lock:
            self._control.enable()

    def relax(self) -> None:
        """Vent the chambers at their safe rate."""
        with self._lock:
            self._control.relax()

    def stop(self) -> None:
        """Emergency stop: vent, latched until `clear_stop`."""
        with self._lock:
            self._control.stop()

    def clear_stop(self) -> None:
        """End a stop; the chambers stay vented."""
        with self._lock:
            self._control.clear_stop()

    def state(self) -> ChamberState:
        """The chambers now, stamped with time.time()."""
        with self._lock:
            state = self._control.state(time.time())
        state.counters["late"] = self._late
        return state

    def close(self) -> None:
        """Vent the chambers at their safe rate, then shut the valves down."""
        self.relax()
        end = time.monotonic() + VENT_PATIENCE
        while self.running and time.monotonic() < end and (self.state().commanded != self._vented).any():
            time.sleep(self._period)
        self._closing.set()
        self._thread.join()
        self._valves.close()

    def _run(self) -> None:
        prefer_this_thread()
        deadline = time.monotonic()
        while not self._closing.wait(max(deadline - time.monotonic(), 0.0)):
            deadline = max(deadline + self._period, time.monotonic())
            try:
                self._tick()
            except DeviceError as error:
                with self._lock:
                    self._control.lose_device(str(error))
                return

    def _tick(self) -> None:
        measured = self._valves.read()
        now = time.monotonic()
        dt, self._last_tick = now - self._last_tick, now
        self._late += dt > 2.0 * self._period
        with self._lock:
            pressures = self._control.update(measured, min(dt, 5.0 * self._period))
        self._valves.write(pressures)
