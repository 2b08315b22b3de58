"""Random faults at the cables' driver: see fault_campaign."""

import numpy as np

from soft_twin import load_robot
from soft_twin.driving.c610 import decode_feedback, encode_currents
from soft_twin.driving.cable_control import CableControl
from soft_twin.driving.can_bus import SlcanDecoder
from soft_twin.emulation.c610 import EmulatedC610
from soft_twin.emulation.line_faults import LINE_FAULTS, LineFaults
from soft_twin.emulation.slcan import SlcanAdapter, encode_frame
from soft_twin.experiments.fault_campaign import Campaign, MemoryLine

SPRING = 150.0  # [N/m] of the body against its cables
JUMPS = (800, 4096)  # [counts] of an encoder; 0.1 mm of cable and more
RUNAWAY = 2.0  # times the rate limit is an uncontrolled motion
RUNAWAY_TIME = 0.03  # [s]
CREEP = 0.005  # [m/s] a cable that was found beyond a limit may stand there, but not be let out further
MARGIN = 0.003  # [m] beyond the limits of displacement


class CableCampaign(Campaign):
    """Six motors behind their slcan adapter, each with its cable on a spring."""

    kinds = (
        *LINE_FAULTS,
        *("silent", "stalled", "jump", "overheated", "backwards"),
        *("no commands", "nonsense", "unplugged"),
    )
    harmless = ("duplicates", "reordered")  # CAN frames carry no sequence number
    # the watchdog takes a second, and a motor that does not turn can be seen once its cable should have moved
    longer = {"no commands": 1.0, "stalled": 0.5, "overheated": 0.5}
    traces = (*Campaign.traces, "coasting")
    period = 0.004

    def __init__(self, seed: int):
        self._robot = load_robot("slender")
        self.count = len(self._robot.cables)
        self._motors = EmulatedC610.of(self._robot, seed)
        self._port = MemoryLine()
        self._line = LineFaults(self._port, seed)
        self._adapter = SlcanAdapter(self._line)
        self._port.to_device = b"O\r"
        self._fast = np.zeros(self.count)
        self._currents = dict.fromkeys(range(1, 1 + self.count), 0.0)
        self._phases = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, self.count)
        super().__init__(seed)

    def _new_driver(self) -> CableControl:
        """Its zero is where the cables are now."""
        self._decoder = SlcanDecoder()
        self._zero = self._motors.displacements.copy()
        return CableControl(self._robot)

    def _counters(self) -> dict[str, float]:
        return super()._counters() | {"garbage": self._decoder.garbage}

    def _tick(self) -> None:
        unplugged = self._fault == "unplugged"
        data = self._port.take()
        frames = [] if unplugged else self._decoder.feed(data, self._now)
        feedback = [sample for frame in frames if (sample := decode_feedback(frame)) is not None]
        self._currents = self._control.update(feedback, self.period)
        for message in [] if unplugged else encode_currents(self._currents):
            self._port.to_device += encode_frame(message.arbitration_id, bytes(message.data)).encode("ascii")
        for can_id, payload in self._adapter.receive():
            self._motors.receive(can_id, payload)
        self._motors.step(self.period, np.maximum(SPRING * self._motors.displacements, 0.0))
        self._adapter.send_all(self._motors.feedback())

    def _wanted(self) -> np.ndarray | None:
        if round(self._now / self.period) % 2:
            return None
        return 0.004 + 0.004 * np.sin(3.0 * self._now + self._phases)

    def _break(self, kind: str) -> None:
        i, motors = int(self._rng.integers(self.count)), self._motors
        if kind in LINE_FAULTS:
            self._line.fault = kind
        elif kind == "silent":
            motors.silent[i] = True
        elif kind == "stalled":
            motors.stalled[i] = True
        elif kind == "overheated":
            motors.derating[i] = 0.02
        elif kind == "backwards":
            motors.wiring[i] = -1.0
        elif kind == "jump":
            motors.jump(i, int(self._rng.choice([-1, 1]) * self._rng.integers(*JUMPS)))

    def _end_fault(self) -> None:
        if self._fault == "unplugged":
            self._control.lose_device("CAN bus gone")  # as the driver's thread does
        super()._end_fault()

    def _mend(self) -> None:
        if self._fault == "unplugged":
            self._control = self._new_driver()
        self._line.fault = None
        self._motors.silent[:], self._motors.stalled[:] = False, False
        self._motors.derating[:], self._motors.wiring[:] = 1.0, 1.0

    def _prepare(self) -> None:
        self._control.home()
        self._zero = self._motors.displacements.copy()

    def _judge(self) -> None:
        currents = np.abs(list(self._currents.values()))
        limit = self._robot.winch.current_limit if self._control.enabled else 0.0
        self.outcome.over_limit += int(np.any(currents > limit + 1e-9))
        low, high = self._robot.cable_limits.displacement
        place, rates = self._motors.displacements - self._zero, self._motors.rates
        self._fast = np.where(rates > RUNAWAY * self._robot.cable_limits.rate, self._fast + self.period, 0.0)
        # a motor without current is turned by its cable; that is what a relaxed robot does
        let_out = (currents > 0.0) & (place < low - MARGIN) & (rates < -CREEP)
        if np.any(place > high + MARGIN) or np.any(let_out) or np.any(self._fast > RUNAWAY_TIME):
            self.outcome.runaways += 1
