"""Random faults at a driver, in simulated time: nothing may move that was not told to.

The driver's control runs against an emulated device through that device's own bytes. A command that is sometimes
nonsense wanders through the workspace; every second or so something breaks for a while. An operator who looks at the
state enables the actuators again once they are relaxed or at fault, after homing or with a new driver where that is
asked for.
"""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from soft_twin.driving.control import ActuatorControl
from soft_twin.errors import DeviceError

PATIENCE = 0.5  # [s] after which the operator acts
FIRST_FAULT = 3.0  # [s]


class MemoryLine:
    """A serial line without a kernel: the device's end has `read` and `write`, the host's end takes."""

    def __init__(self):
        self.to_device, self.to_host = b"", b""

    def read(self) -> bytes:
        data, self.to_device = self.to_device, b""
        return data

    def write(self, data: bytes) -> int:
        self.to_host += data
        return len(data)

    def take(self) -> bytes:
        """What the device has sent, at the host's end."""
        data, self.to_host = self.to_host, b""
        return data

    def close(self) -> None:
        """There is nothing to close."""


@dataclass
class Outcome:
    """What came of a campaign.

    Attributes:
        seconds: simulated.
        faults: injected, by kind.
        unnamed: kinds of faults that left no trace in the driver's state.
        over_limit: ticks with commands to the device beyond its limits.
        runaways: ticks in which something moved faster or farther than it may.
        unrecovered: times that the operator could not get the robot going again.
    """

    seconds: float = 0.0
    faults: Counter = field(default_factory=Counter)
    unnamed: Counter = field(default_factory=Counter)
    over_limit: int = 0
    runaways: int = 0
    unrecovered: int = 0

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(
            self.seconds + other.seconds,
            self.faults + other.faults,
            self.unnamed + other.unnamed,
            self.over_limit + other.over_limit,
            self.runaways + other.runaways,
            self.unrecovered + other.unrecovered,
        )


class Campaign(ABC):
    """See the module's docstring.

    Attributes:
        kinds: of faults.
        harmless: those that cannot be seen, and must only do no harm.
        longer: kinds that take longer to be seen, and by how much [s].
        traces: counters of the driver that tell of a fault, besides the faults that it names.
        period: between two ticks [s].
        count: of actuators.
    """

    kinds: tuple[str, ...]
    harmless: tuple[str, ...] = ()
    longer: dict[str, float] = {}
    traces: tuple[str, ...] = ("faults", "not_finite", "size", "garbage")
    period: float
    count: int

    def __init__(self, seed: int):
        self.outcome = Outcome()
        self._rng = np.random.default_rng(seed)
        self._control = self._new_driver()
        self._now = self._relaxed_since = 0.0
        self._fault, self._fault_end, self._next_fault = "", 0.0, FIRST_FAULT
        self._before: dict[str, float] = {}

    def run(self, seconds: float) -> Outcome:
        """Live through so many simulated seconds."""
        while self._now < seconds:
            self._schedule()
            self._now += self.period
            self._command()
            self._tick()
            self._operate()
            self._judge()
        self.outcome.seconds = self._now
        return self.outcome

    @abstractmethod
    def _new_driver(self) -> ActuatorControl:
        """The control of a driver that has just been started, as the node starts it."""

    @abstractmethod
    def _tick(self) -> None:
        """Let driver and device live for a period."""

    @abstractmethod
    def _wanted(self) -> np.ndarray | None:
        """The command now, if there is one."""

    @abstractmethod
    def _break(self, kind: str) -> None:
        """Let a fault begin."""

    @abstractmethod
    def _mend(self) -> None:
        """Let all faults end."""

    @abstractmethod
    def _judge(self) -> None:
        """Count what must not be."""

    def _counters(self) -> dict[str, float]:
        return dict(self._control.state(self._now).counters)

    def _command(self) -> None:
        if self._fault == "nonsense":
            self._control.command(self._nonsense())
        elif self._fault != "no commands":
            wanted = self._wanted()
            if wanted is not None:
                self._control.command(wanted)

    def _nonsense(self) -> np.ndarray:
        values = self._rng.choice([np.nan, np.inf, -np.inf, 1e9, -1.0], self.count)
        values[0] = np.nan
        return values[: self._rng.integers(1, self.count + 1)]

    def _schedule(self) -> None:
        if self._fault and self._now >= self._fault_end:
            self._end_fault()
        elif not self._fault and self._now >= self._next_fault and self._control.enabled:
            self._fault = str(self._rng.choice(self.kinds))
            self._before = self._counters()
            self._fault_end = self._now + self._rng.uniform(0.3, 0.7) + self.longer.get(self._fault, 0.0)
            self.outcome.faults[self._fault] += 1
            self._break(self._fault)

    def _end_fault(self) -> None:
        state, counters = self._control.state(self._now), self._counters()
        named = bool(state.faults) or any(counters.get(key, 0) > self._before.get(key, 0) for key in self.traces)
        if not named and self._fault not in self.harmless:
            self.outcome.unnamed[self._fault] += 1
        self._mend()
        self._fault, self._next_fault = "", self._now + self._rng.uniform(0.3, 0.8)

    def _operate(self) -> None:
        if self._control.enabled or self._fault:
            self._relaxed_since = self._now
        elif self._now - self._relaxed_since >= PATIENCE:
            try:
                self._control.enable()
            except DeviceError:
                self._recover()

    def _recover(self) -> None:
        try:
            self._prepare()
            self._control.enable()
        except DeviceError:
            self.outcome.unrecovered += 1
            self._relaxed_since = self._now

    @abstractmethod
    def _prepare(self) -> None:
        """What the operator does before enabling, when enabling alone is refused.

        Raises:
            DeviceError: it is refused, too.
        """
