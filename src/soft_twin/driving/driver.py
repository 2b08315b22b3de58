"""What every actuators' driver does alike: a thread of its own around a control."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from soft_twin.driving.clock import SYSTEM, Clock
from soft_twin.driving.control import ActuatorControl
from soft_twin.driving.states import State
from soft_twin.errors import DeviceError
from soft_twin.priority import prefer_this_thread

C = TypeVar("C", bound=ActuatorControl)

STOP_PATIENCE = 0.1  # [s] in which a stop is told to the device, or is said not to have been yet


class ActuatorDriver(ABC, Generic[C]):
    """Actuators driven by a control in a thread that never raises. All methods may be called from any thread.

    Relaxed at the start. Whatever is raised in the thread that no device explains ends it as the loudest of faults,
    after last words to the device.

    Attributes:
        actuators: word for them in messages ("motors").
        prompt: whether a command makes the thread tick at once.
        died: why the driver itself has failed; empty if it has not.
        lost: why the device is gone; empty if it is not.
    """

    prompt = False

    def __init__(self, control: C, rate: float, clock: Clock = SYSTEM, threaded: bool = True):
        """Drive with so many ticks per second, from `_begin` on; without a thread, with each call of `tick`."""
        self._control = control
        self._clock = clock
        self._period = 1.0 / rate
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._told = threading.Event()  # the device has been told of the newest stop
        self._told.set()
        self._closing = self._ended = False
        self._trouble = ""  # why the newest turn has failed
        self._last_tick = clock.monotonic()
        self._turns = 0
        self._timing = {"late": 0, "worst_gap_ms": 0.0}
        self._thread = threading.Thread(target=self._live, name=type(self).__name__, daemon=True) if threaded else None
        self.actuators = control.actuators
        self.died = self.lost = ""

    @property
    def running(self) -> bool:
        """Whether the actuators are driven: until `close`, or until the device is gone."""
        return not (self._ended or self._closing)

    @property
    def condition(self) -> State:
        """The state of the actuators."""
        with self._lock:
            return self._control.condition

    @property
    def untold(self) -> bool:
        """Whether there was a stop that the device has not been told of yet."""
        return not self._told.is_set()

    def watch(self, hold_after: float, relax_after: float) -> None:
        """From now on, hold and relax after so long without a command [s]."""
        with self._lock:
            self._control.watch(hold_after, relax_after)

    def command(self, positions) -> str:
        """Ask for positions (n,), displacements [m] or pressures [Pa], limited by the control; why it is refused."""
        with self._lock:
            refused = self._control.command(positions, self._clock.monotonic() - self._last_tick)
        if self.prompt:
            self._wake.set()
        return refused

    def enable(self) -> None:
        """Let the actuators be driven.

        Raises:
            DeviceError: stopped, the cause of a fault is still there, or the device does not answer.
        """
        with self._asking():
            self._control.enable()

    def relax(self) -> str:
        """Drive the actuators no more; that it is so, and what they are not rid of yet, in words."""
        with self._lock:
            self._control.relax()
            left = self._control.left
        self._wake.set()
        return "; ".join([f"the {self.actuators} are relaxed", *left])

    def stop(self) -> str:
        """Emergency stop: relax, latched until `clear_stop`; what has become of it, in words.

        The device is told by the thread, or from here, on whatever line is left, if the thread has ended.
        """
        with self._lock:
            self._control.stop()
            self._told.clear()
        self._wake.set()
        if self._ended:
            return self._stop_by_hand()
        if self._thread is None:
            return "stopped; the device is told with the next tick"
        return "stopped" if self._told.wait(STOP_PATIENCE) else "stopped; the device has not been told yet"

    def clear_stop(self) -> None:
        """End a stop; the actuators stay relaxed."""
        with self._lock:
            self._control.clear_stop()

    def home(self) -> None:
        """Let the present positions be the actuators' zero.

        Raises:
            DeviceError: these actuators have no zero to find.
        """
        self._refuse_homing()

    def take_up_slack(self) -> None:
        """Find the actuators' zero by moving them.

        Raises:
            DeviceError: these actuators have no zero to find.
        """
        self._refuse_homing()

    def assume_taut_here(self) -> None:
        """Take the present positions for the actuators' zero, where it is not known.

        Raises:
            DeviceError: these actuators have no zero to find.
        """
        self._refuse_homing()

    @property
    def is_due(self) -> bool:
        """Whether something wants a turn at once, before the next period is over."""
        return self._wake.is_set()

    def tick(self) -> None:
        """One turn of the thread's loop, its handling of errors included; for drivers without a thread."""
        if not self.running:
            return
        self._wake.clear()
        try:
            stopping = self.untold
            self._turn()
            self._turns += 1
            self._trouble = ""
            if stopping and self._stop_has_arrived():
                self._told.set()
        except self._device_errors as error:
            self._trouble = " ".join(str(error).split())
            self.lost = self._judge(error)
            if self.lost:
                self._end(lambda: self._control.lose_device(self.lost))
        except Exception as error:  # whatever it is, nobody drives the actuators any more
            self._die(error)

    @abstractmethod
    def state(self):
        """The actuators now."""

    @abstractmethod
    def close(self) -> None:
        """Relax the actuators and let go of the device; never raises."""

    @property
    @abstractmethod
    def _device_errors(self) -> tuple[type[Exception], ...]:
        """What is raised when the device fails."""

    @abstractmethod
    def _judge(self, error: Exception) -> str:
        """Why the device is lost after this error of its; empty if it is not lost yet."""

    @abstractmethod
    def _turn(self) -> None:
        """Hear the device, decide, and tell the device."""

    def _stop_has_arrived(self) -> bool:
        """Whether the device is known to have been told of the stop, after a turn that came behind it."""
        return True

    @abstractmethod
    def _say_last_words(self) -> None:
        """Tell the device to let go, if it still listens; may raise what it likes."""

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Ask the control for motion, or where it is: nonsense while the device does not answer."""
        self._catch_up()
        with self._lock:
            if self._trouble and not self._ended:
                raise DeviceError(f"the device does not answer ({self._trouble}): check its line, then try again")
            yield

    def _catch_up(self) -> None:
        """Where this host was halted, hear what has happened meanwhile before anything is taken for where it is now."""

    def _begin(self) -> None:
        """Start the thread, if there is to be one."""
        if self._thread is not None:
            self._thread.start()

    def _live(self) -> None:
        prefer_this_thread()
        deadline = self._clock.monotonic()
        while self.running:
            self.tick()
            now = self._clock.monotonic()
            deadline = max(deadline + self._period, now - self._period) if now >= deadline else deadline
            self._rest(deadline - now)

    def _rest(self, seconds: float) -> None:
        """Wait for the next tick, or for something that wants one at once."""
        self._wake.wait(max(seconds, 0.0))

    def _measure_tick(self) -> float:
        """Time since the last tick [s], counted where it was long."""
        now = self._clock.monotonic()
        dt, self._last_tick = now - self._last_tick, now
        self._timing["late"] += dt > 2.0 * self._period
        self._timing["worst_gap_ms"] = max(self._timing["worst_gap_ms"], 1e3 * dt)
        return dt

    def _die(self, error: Exception) -> None:
        """The driver's own failure: said aloud, and the device told to let go."""
        what = " ".join(f"{type(error).__name__}: {error}".split())
        told = "was told" if self._tell_last_words() else "could NOT be told"
        self.died = (
            f"THE DRIVER OF THE {self.actuators.upper()} HAS FAILED ({what}); the device {told} to let go: "
            "look at it, report this error, and connect anew"
        )
        self._end(lambda: self._control.lose_driver(self.died))

    def _end(self, say) -> None:
        self._ended = True
        with self._lock:
            say()

    def _stop_by_hand(self) -> str:
        if not self._tell_last_words():
            return f"stopped, but the device could not be told; make sure that the {self.actuators} are relaxed"
        self._told.set()
        return "stopped"

    def _tell_last_words(self) -> bool:
        """Whether the device has taken them; the line may be in any condition."""
        try:
            self._say_last_words()
        except Exception:  # there is nobody left to tell
            return False
        return True

    def _finish(self) -> None:
        """End the thread."""
        self._closing = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _refuse_homing(self) -> None:
        raise DeviceError(f"the {self.actuators} have no zero that had to be found")
