"""Random faults at the cables' driver, in simulated time: nothing may move that was not told to.

The driver's control runs against emulated motors through the bytes of their slcan adapter. A command that is
sometimes nonsense wanders through the workspace; every second or so something breaks for a while. An operator who looks
at the state homes and enables the motors again once they are limp or at fault.
"""

import time
from collections import Counter
from dataclasses import dataclass, field

import can
import numpy as np

from soft_twin import load_robot
from soft_twin.driving.c610 import decode_feedback, encode_currents
from soft_twin.driving.cable_control import CableControl
from soft_twin.driving.can_bus import SlcanDecoder
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.line_faults import LINE_FAULTS, LineFaults
from soft_twin.emulation.slcan import SlcanAdapter, encode_frame
from soft_twin.errors import DeviceError
from soft_twin.measuring import Figure

DT = 0.004  # [s]
SPRING = 150.0  # [N/m] of the body against its cables
HARMLESS = ("duplicates", "reordered")  # CAN frames carry no sequence number: these cannot be seen, and must not harm
MOTOR_FAULTS = ("silent", "stalled", "jump", "overheated", "backwards")
HOST_FAULTS = ("no commands", "nonsense", "unplugged")
# [s] more: the watchdog takes a second, and a motor that does not turn can be seen once its cable should have moved
LONGER = {"no commands": 1.0, "stalled": 0.5, "overheated": 0.5}
PATIENCE = 0.5  # [s] after which the operator acts
RUNAWAY = 2.0  # times the rate limit is an uncontrolled motion
RUNAWAY_TIME = 0.03  # [s]
CREEP = 0.005  # [m/s] a cable that was found beyond a limit may stand there, but not move on
MARGIN = 0.003  # [m] beyond the limits of displacement


class MemoryPort:
    """A serial line without a kernel."""

    def __init__(self):
        self.to_device, self.to_host = b"", b""

    def read(self) -> bytes:
        data, self.to_device = self.to_device, b""
        return data

    def write(self, data: bytes) -> int:
        self.to_host += data
        return len(data)


@dataclass
class Outcome:
    """What came of a campaign.

    Attributes:
        faults: injected, by kind.
        unnamed: kinds of faults that left no trace in the driver's state.
        over_limit: currents beyond their limit, or any current while not enabled.
        runaways: cables that moved faster or farther than they may.
        unrecovered: times that the operator could not get the robot going again.
    """

    faults: Counter = field(default_factory=Counter)
    unnamed: Counter = field(default_factory=Counter)
    over_limit: int = 0
    runaways: int = 0
    unrecovered: int = 0


class Campaign:
    """See the module's docstring."""

    def __init__(self, seed: int):
        self.outcome = Outcome()
        self._rng = np.random.default_rng(seed)
        self._robot = load_robot("slender")
        self._motors = EmulatedC610([cable.motor_id for cable in self._robot.cables], self._robot.winch, seed=seed)
        self._port = MemoryPort()
        self._line = LineFaults(self._port, seed)
        self._adapter = SlcanAdapter(self._line)
        self._port.to_device = b"O\r"
        self._control, self._decoder = CableControl(self._robot), SlcanDecoder()
        self._zero = np.zeros(len(self._robot.cables))
        self._fast = np.zeros(len(self._robot.cables))
        self._now = self._limp_since = 0.0
        self._fault, self._victim, self._fault_end, self._next_fault = "", 0, 0.0, 3.0
        self._before: dict[str, float] = {}
        self._phases = self._rng.uniform(0.0, 6.28, len(self._robot.cables))

    def run(self, seconds: float) -> Outcome:
        """Live through so many simulated seconds."""
        while self._now < seconds:
            self._schedule()
            self._tick()
            self._operate()
            self._judge()
        return self.outcome

    def _tick(self) -> None:
        self._now += DT
        self._command()
        unplugged = self._fault == "unplugged"
        frames = [] if unplugged else self._decoder.feed(self._port.to_host, self._now)
        self._port.to_host = b""
        feedback = [sample for frame in frames if (sample := decode_feedback(frame)) is not None]
        self._currents = self._control.update(feedback, DT)
        if not unplugged:
            self._send(encode_currents(self._currents))
        for can_id, data in self._adapter.receive():
            self._motors.receive(can_id, data)
        self._motors.step(DT, np.maximum(SPRING * self._motors.displacements, 0.0))
        self._adapter.send_all(self._motors.feedback())

    def _send(self, messages: list[can.Message]) -> None:
        lines = "".join(encode_frame(message.arbitration_id, bytes(message.data)) for message in messages)
        self._port.to_device += lines.encode("ascii")

    def _command(self) -> None:
        if self._fault == "no commands":
            return
        if self._fault == "nonsense":
            self._control.command(self._nonsense())
        elif round(self._now / DT) % 2 == 0:
            self._control.command(0.004 + 0.004 * np.sin(3.0 * self._now + self._phases))

    def _nonsense(self) -> np.ndarray:
        values = self._rng.choice([np.nan, np.inf, -np.inf, 1e9, -1.0], len(self._zero))
        values[0] = np.nan
        return values[: self._rng.integers(1, len(values) + 1)]

    def _schedule(self) -> None:
        if self._fault and self._now >= self._fault_end:
            self._end_fault()
        elif not self._fault and self._now >= self._next_fault and self._control.enabled:
            self._begin_fault(self._rng.choice([*LINE_FAULTS, *MOTOR_FAULTS, *HOST_FAULTS]))

    def _begin_fault(self, kind: str) -> None:
        self._fault, self._victim = str(kind), int(self._rng.integers(len(self._zero)))
        self._before = {**self._control.state(self._now).counters, "garbage": self._decoder.garbage}
        self._fault_end = self._now + self._rng.uniform(0.3, 0.7) + LONGER.get(kind, 0.0)
        self.outcome.faults[self._fault] += 1
        i, motors = self._victim, self._motors
        if kind in LINE_FAULTS:
            self._line.fault = self._fault
        elif kind == "silent":
            motors.silent[i] = True
        elif kind == "stalled":
            motors.stalled[i] = True
        elif kind == "overheated":
            motors.derating[i] = 0.02
        elif kind == "backwards":
            motors.wiring[i] = -1.0
        elif kind == "jump":
            motors.jump(i, int(self._rng.choice([-1, 1]) * self._rng.integers(2000, 4000)))

    def _end_fault(self) -> None:
        state = self._control.state(self._now)
        counts = {**state.counters, "garbage": self._decoder.garbage}
        named = bool(state.faults) or any(
            counts[key] > self._before[key] for key in ("coasting", "garbage", "faults", "not_finite", "size")
        )
        if self._fault == "unplugged":
            self._control.lose_device("unplugged")
            named = bool(self._control.state(self._now).faults)
            self._replug()
        if not named and self._fault not in HARMLESS:
            self.outcome.unnamed[self._fault] += 1
        self._line.fault = None
        self._motors.silent[:], self._motors.stalled[:] = False, False
        self._motors.derating[:], self._motors.wiring[:] = 1.0, 1.0
        self._fault, self._next_fault = "", self._now + self._rng.uniform(0.3, 0.8)

    def _replug(self) -> None:
        """A new driver, as the node makes one; its zero is where the cables are now."""
        self._control, self._decoder = CableControl(self._robot), SlcanDecoder()
        self._zero = self._motors.displacements.copy()

    def _operate(self) -> None:
        if self._control.enabled or self._fault:
            self._limp_since = self._now
            return
        if self._now - self._limp_since < PATIENCE:
            return
        try:
            self._control.enable()
        except DeviceError:
            self._home()

    def _home(self) -> None:
        try:
            self._control.home()
            self._zero = self._motors.displacements.copy()
            self._control.enable()
        except DeviceError:
            self.outcome.unrecovered += 1
            self._limp_since = self._now

    def _judge(self) -> None:
        currents = np.abs(list(self._currents.values()))
        limit = self._robot.winch.current_limit if self._control.enabled else 0.0
        self.outcome.over_limit += int(np.any(currents > limit + 1e-9))
        low, high = self._robot.cable_limits.displacement
        place = self._motors.displacements - self._zero
        rate_limit = RUNAWAY * self._robot.cable_limits.rate
        self._fast = np.where(self._motors.rates > rate_limit, self._fast + DT, 0.0)
        let_out = self._control.enabled & (place < low - MARGIN) & (self._motors.rates < -CREEP)
        beyond = np.any(place > high + MARGIN) or np.any(let_out)
        if beyond or np.any(self._fast > RUNAWAY_TIME):
            self.outcome.runaways += 1


def measure(seconds: float = 660.0, seed: int = 0) -> list[Figure]:
    """Figures of a campaign of so many simulated seconds."""
    start = time.perf_counter()
    outcome = Campaign(seed).run(seconds)
    return [
        Figure("campaign_minutes", "fault campaign, simulated time", seconds / 60.0, "min", "≥ 10"),
        Figure("campaign_faults", "faults injected", float(sum(outcome.faults.values())), "", "≥ 500"),
        Figure("over_limit", "currents beyond their limits", float(outcome.over_limit), "", "0"),
        Figure("runaways", "ticks of uncontrolled motion", float(outcome.runaways), "", "0"),
        Figure("unnamed", "faults not named", float(sum(outcome.unnamed.values())), "", "0"),
        Figure("unrecovered", "failed recoveries", float(outcome.unrecovered), "", "0"),
        Figure("campaign_s", "time it took", time.perf_counter() - start, "s"),
    ]
