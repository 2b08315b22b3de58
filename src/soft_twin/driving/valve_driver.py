"""The thread that drives a robot's chambers."""

import time
from collections.abc import Sequence

import numpy as np

from soft_twin.driving.driver import ActuatorDriver
from soft_twin.driving.pressures import ChamberLimits
from soft_twin.driving.valve_control import ChamberState, ValveControl, ValveParameters
from soft_twin.driving.valves import Valves
from soft_twin.errors import DescriptionError, DeviceError

VENT_PATIENCE = 3.0  # [s] at the most to vent the chambers when the driver is closed
LONGEST_STEP = 5.0  # [ticks] that the pressures move in one, however late it comes


class ValveDriver(ActuatorDriver[ValveControl]):
    """Chambers held at gauge pressures by valves; vented at the start. A device that fails shows as mode "fault"."""

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
        control = ValveControl(names, limits, parameters)
        super().__init__(control, control.parameters.rate)
        self._vented = limits.vented
        self._valves = valves
        self._thread.start()

    def state(self) -> ChamberState:
        """The chambers now, stamped with time.time()."""
        with self._lock:
            state = self._control.state(time.time())
        state.counters.update(self._timing, garbage=self._valves.garbage)
        return state

    def close(self) -> None:
        """Vent the chambers at their safe rate, then shut the valves down."""
        self.relax()
        end = time.monotonic() + VENT_PATIENCE
        while self.running and time.monotonic() < end and not np.allclose(self.state().commanded, self._vented):
            time.sleep(self._period)
        self._finish()
        self._valves.close()

    def _run(self) -> None:
        deadline = time.monotonic()
        while not self._closing:
            deadline = max(deadline + self._period, time.monotonic())
            try:
                self._tick()
            except DeviceError as error:
                self._lose_device(str(error))
                return
            time.sleep(max(deadline - time.monotonic(), 0.0))

    def _tick(self) -> None:
        measured = self._valves.read()
        dt = self._measure_tick()
        with self._lock:
            pressures = self._control.update(measured, min(dt, LONGEST_STEP * self._period))
            ready = self._control.ready
        if ready:
            self._valves.write(pressures)
