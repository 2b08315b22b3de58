"""The thread that drives a robot's chambers."""

from collections.abc import Sequence

import numpy as np

from soft_twin.descriptions.drives import ValveDrive
from soft_twin.descriptions.valve_devices import VALVE_DEVICES
from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.driving.driver import ActuatorDriver
from soft_twin.driving.states import State
from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_control import ChamberState, ValveControl, ValveParameters
from soft_twin.driving.valves.valves import Valves, open_valves, require_backend
from soft_twin.errors import DescriptionError, DeviceError

VENT_MARGIN = 2.0  # [s] on top of what the rates ask for, when the driver is closed


class ValveDriver(ActuatorDriver[ValveControl]):
    """Chambers held at gauge pressures by valves; vented at the start. A device that fails shows as mode "fault"."""

    def __init__(
        self,
        names: Sequence[str],
        limits: ChamberLimits,
        valves: Valves,
        parameters: ValveParameters | None = None,
        clock: Clock = SYSTEM,
        threaded: bool = True,
    ):
        """Start driving, unless without a thread, with the parameters for these limits if no others; `close` closes the
        valves.

        Raises:
            DescriptionError: names or limits do not fit the valves, or the limits lie outside their range.
        """
        if len(names) != valves.count:
            raise DescriptionError(f"{len(names)} chambers on {valves.count} valves: name one chamber for each")
        limits.require_fit(valves.count)
        _require_reach(limits, *valves.range)
        tellable = valves.rounded_inwards(limits.lowest, limits.highest)
        if not (tellable[0] < tellable[1]).all():
            raise DescriptionError(
                f"pressure limits {limits.words}: these valves are told steps of {valves.step:g} Pa, and no two of "
                "these lie between; are the limits in Pa?"
            )
        control = ValveControl(names, limits, parameters, valves.rests_after, valves.rests_at)
        super().__init__(control, control.parameters.rate, clock, threaded)
        self._vented = np.full(valves.count, limits.vented)
        self._vent_time = limits.vent_time
        self._valves = valves
        self._tellable = tellable
        self._stop_said = np.inf  # when the valves were first told what is theirs to do after a stop [s]
        self._begin()

    def state(self) -> ChamberState:
        """The chambers now, stamped with the clock's time of day."""
        with self._lock:
            state = self._control.state(self._clock.time())
        state.counters.update(self._timing, garbage=self._valves.garbage)
        return state

    def close(self) -> None:
        """Vent the chambers at their safe rate, then shut the valves down."""
        self.relax()
        end = self._clock.monotonic() + self._vent_time + VENT_MARGIN
        while self.running and self._clock.monotonic() < end and not self._is_vented():
            self._clock.sleep(self._period)
            if self._thread is None:
                self.tick()
        self._finish()
        self._valves.close(self._vented.clip(*self._tellable))

    @property
    def _device_errors(self) -> tuple[type[Exception], ...]:
        return (DeviceError,)

    def _judge(self, error: Exception) -> str:
        return str(error)

    def _say_last_words(self) -> None:
        self._valves.last_words(self._vented.clip(*self._tellable))

    def _turn(self) -> None:
        measured = self._valves.read()
        dt = self._measure_tick()
        with self._lock:
            valves = self._valves
            self._control.told = valves.told
            pressures = self._control.update(measured, dt, valves.trouble, valves.rested, valves.pausing)
            ready, stopped = self._control.ready, self._control.condition is State.STOPPED
            driven, pressed = self._control.enabled, self._control.pressed
        if ready and stopped and self._stop_said == np.inf:
            self._valves.tell_again()
        self._stop_said = min(self._stop_said, self._clock.monotonic()) if ready and stopped else np.inf
        self._valves.let_out(driven, pressed)
        if ready:
            self._valves.write(pressures.clip(*self._tellable))

    def _stop_has_arrived(self) -> bool:
        """Whether every valve is known to have been told something since the stop."""
        return self._valves.told_until >= self._stop_said

    def _is_vented(self) -> bool:
        return np.allclose(self.state().commanded, self._vented)


def checked_limits(drive: ValveDrive) -> ChamberLimits:
    """The limits of its chambers, in the order of their channels: what can be told before any device is opened.

    Raises:
        DescriptionError: there is no such backend, it has fewer chambers, two of these have one name, one has none, or
            the limits are not sane or lie outside what the backend's valves can be told.
    """
    require_backend(drive.backend)
    lowest, highest, most = VALVE_DEVICES[drive.backend]
    names = drive.names_by_channel
    if len(names) > most:
        raise DescriptionError(f"{len(names)} chambers are more than {drive.backend} has, {most}")
    if len(set(names)) < len(names):
        raise DescriptionError(f"chambers {names}: two of one name")
    if not all(name.strip() for name in names):
        raise DescriptionError(f"chambers {names}: one has no name")
    limits = ChamberLimits(drive.limits_by_channel, drive.rate, drive.vent_rate, drive.vented, drive.acceleration)
    _require_reach(limits, lowest, highest)
    return limits


def open_valve_driver(drive: ValveDrive, device: str) -> ValveDriver:
    """A driver of these chambers, in the order of their channels, on a device of its own; see valves for devices.

    Raises:
        DescriptionError: see `checked_limits` and ValveDriver.
        DeviceError: the device is not there, or does not answer.
    """
    limits, names = checked_limits(drive), drive.names_by_channel
    valves = open_valves(drive.backend, device, len(names))
    try:
        return ValveDriver(names, limits, valves)
    except DescriptionError:
        valves.release()
        raise


def _require_reach(limits: ChamberLimits, low: float, high: float) -> None:
    """Raises DescriptionError: limits outside of what valves can be told, `low`…`high` [Pa]."""
    if not (low <= limits.lowest.min() and limits.highest.max() <= high):
        raise DescriptionError(f"pressure limits {limits.words}: these valves reach {low:g}…{high:g} Pa")
