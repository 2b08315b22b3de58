"""The thread that drives a robot's cables over a CAN bus."""

import contextlib

import can

from soft_twin.descriptions.drives import CableDrive
from soft_twin.driving.cables.c610 import BIT_RATE, Feedback, bus_load, decode_feedback, encode_currents
from soft_twin.driving.cables.cable_control import CableControl, CableState, DriverParameters
from soft_twin.driving.cables.can_bus import open_bus, receive_all, send_all
from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.driving.driver import ActuatorDriver
from soft_twin.errors import DeviceError

MAX_BUS_LOAD = 0.9
USUAL_BUS_LOAD = 0.88  # by ticks that commands have asked for
FEEDBACK_RATE = 1000.0  # [Hz] of a C610 as it comes out of its box
SEND_TIMEOUT = 0.02  # [s]
BURST = 2.0  # [ticks] that may follow each other at once
HALT = 0.02  # [s] without a turn, and this host may have been halted
HEARING_PATIENCE = 0.25  # [s] for what the motors have told of meanwhile to come in
GIVE_UP_AFTER = 0.2  # [s] of nothing but errors, and the bus is gone


def require_room(motors: int) -> None:
    """See that so many motors fit on a bus, however seldom they are told something.

    Raises:
        DeviceError: their feedback alone is too much.
    """
    if (load := bus_load(motors, FEEDBACK_RATE, 0.0)) > MAX_BUS_LOAD:
        most = int(MAX_BUS_LOAD / bus_load(1, FEEDBACK_RATE, 0.0))
        raise DeviceError(
            f"{motors} motors do not fit on a bus of {1e-6 * BIT_RATE:g} Mbit/s: what they tell, {FEEDBACK_RATE:g} "
            f"times a second each, fills {100.0 * load:.0f} % of it, at most {100.0 * MAX_BUS_LOAD:.0f} % are safe; "
            f"drive {most} at the most"
        )


class TickBudget:
    """How many ticks a second the bus has room for: what is not used is kept for a short burst."""

    def __init__(self, rate: float, clock: Clock):
        """At most so many ticks a second, in the long run."""
        self._rate, self._clock = rate, clock
        self._left, self._since = BURST, clock.monotonic()

    def spend(self) -> None:
        """A tick has been made."""
        now = self._clock.monotonic()
        self._left = min(BURST, self._left + self._rate * (now - self._since)) - 1.0
        self._since = now

    def wait(self) -> float:
        """Time until there is room for the next one [s]."""
        return max((1.0 - self._left) / self._rate - (self._clock.monotonic() - self._since), 0.0)


class CableDriver(ActuatorDriver[CableControl]):
    """Cables pulled by C610 motors on a CAN bus, controlled on this host.

    Limp at the start, and to be homed before it is enabled. It ticks at the parameters' rate and at once when a command
    comes, as long as that leaves room on the bus; a bus that fails relaxes the cables as far as it can and shows as
    mode "fault".
    """

    prompt = True

    def __init__(
        self,
        drive: CableDrive,
        bus: can.BusABC,
        parameters: DriverParameters | None = None,
        clock: Clock = SYSTEM,
        threaded: bool = True,
    ):
        """Start driving on an open bus, which `close` shuts down; without a thread, with each call of `tick`.

        Raises:
            DeviceError: feedback and commands of so many motors do not fit on the bus.
        """
        control = CableControl(drive, parameters)
        super().__init__(control, control.parameters.rate, clock, threaded)
        require_room(len(drive.cables))
        load = bus_load(len(drive.cables), FEEDBACK_RATE, control.parameters.rate)
        if load > MAX_BUS_LOAD:
            raise DeviceError(
                f"{len(drive.cables)} motors at {control.parameters.rate:g} Hz fill {100.0 * load:.0f} % of the bus: "
                f"lower the driver's rate, at {BIT_RATE:g} bit/s at most {100.0 * MAX_BUS_LOAD:.0f} % are safe"
            )
        self._bus = bus
        self._budget = TickBudget(self._affordable_rate(load), clock)
        self._timing |= {"garbage": 0, "bus_errors": 0}
        self._last_success = clock.monotonic()
        self._begin()

    def tune(self, position: float, rate: float) -> None:
        """Go on by these gains for position [1/s] and rate [A s/m], see `ControlGains`.

        Raises:
            InputError: winches might swing by them; nothing changes.
        """
        with self._lock:
            self._control.tune(self._control.parameters.gains.tuned(position, rate))

    def home(self) -> None:
        """Let the cables' present positions be displacement 0.

        Raises:
            DeviceError: the motors are enabled, or one of them is silent.
        """
        with self._asking():
            self._control.home()

    def take_up_slack(self) -> None:
        """Wind every cable in until it is just taut, and let that be displacement 0; takes some seconds.

        Raises:
            DeviceError: the motors are enabled or stopped, or one of them is silent.
        """
        with self._asking():
            self._control.take_up_slack()

    def assume_taut_here(self) -> None:
        """As `home`, but only where the position is not known.

        Raises:
            DeviceError: the position is known, or as for `home`.
        """
        with self._asking():
            self._control.assume_taut_here()

    def state(self) -> CableState:
        """The cables now, stamped with the clock's time of day."""
        with self._lock:
            state = self._control.state(self._clock.time())
            state.counters.update(self._timing)
            state.counters["garbage"] += getattr(self._bus, "garbage", 0)
        return state

    def close(self) -> None:
        """Relax the cables and shut the bus down."""
        self.relax()
        self._finish()
        self._tell_last_words()
        with contextlib.suppress(can.CanError, OSError):
            self._bus.shutdown()

    @property
    def is_due(self) -> bool:
        """Whether something wants a turn at once, and the bus has room for it."""
        return super().is_due and self._budget.wait() <= 0.0

    @property
    def _device_errors(self) -> tuple[type[Exception], ...]:
        return (can.CanError, OSError)

    def _judge(self, error: Exception) -> str:
        self._timing["bus_errors"] += 1
        if self._clock.monotonic() - self._last_success <= GIVE_UP_AFTER:
            return ""
        return f"CAN bus gone: {' '.join(str(error).split())}; plug the adapter in (a node opens it anew by itself)"

    def _say_last_words(self) -> None:
        self._send(dict.fromkeys(self._control.motor_ids, 0.0))

    def _affordable_rate(self, load: float) -> float:
        """Ticks a second that fill the bus to USUAL_BUS_LOAD, but no less than the driver's own [Hz]."""
        rate, motors = self._control.parameters.rate, len(self._control.motor_ids)
        feedback = bus_load(motors, FEEDBACK_RATE, 0.0)
        return max(rate, rate * (USUAL_BUS_LOAD - feedback) / (load - feedback))

    def _rest(self, seconds: float) -> None:
        if self._wake.wait(max(seconds, 0.0)):
            self._clock.sleep(self._budget.wait())

    def _catch_up(self) -> None:
        """The turn that is under way may have heard its part of it long ago."""
        now = self._clock.monotonic()
        if now - self._last_tick <= HALT and self._control.up_to_date:
            return
        if self._thread is None:
            self.tick()
            return
        heard, end = self._turns + 2, now + HEARING_PATIENCE
        while self.running and not (self._turns >= heard and self._control.up_to_date):
            if self._clock.monotonic() > end:
                return
            self._clock.sleep(self._period)

    def _turn(self) -> None:
        self._budget.spend()
        feedback = self._receive()
        dt = self._measure_tick()
        with self._lock:
            currents = self._control.update(feedback, dt)
        self._send(currents)
        self._last_success = self._clock.monotonic()

    def _receive(self) -> list[Feedback]:
        """All feedback that has come in."""
        result = []
        for message in receive_all(self._bus):
            feedback = decode_feedback(message)
            if feedback is None:
                self._timing["garbage"] += 1
            else:
                result.append(feedback)
        return result

    def _send(self, currents: dict[int, float]) -> None:
        send_all(self._bus, encode_currents(currents), SEND_TIMEOUT)


def open_cable_driver(drive: CableDrive, interface: str, device: str, bitrate: int = BIT_RATE) -> CableDriver:
    """A driver of these cables on a bus of its own; see can_bus for interfaces and devices.

    Raises:
        DeviceError: the adapter is not there or in use, or the bus has no room for so many motors.
    """
    bus = open_bus(interface, device, bitrate)
    try:
        return CableDriver(drive, bus)
    except DeviceError:
        bus.shutdown()
        raise
