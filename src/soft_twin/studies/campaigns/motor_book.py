"""What the motors' judge keeps of a case: what the user asked for and was granted, what was seen, what was found."""

import math
import re
from collections import deque

import numpy as np

from soft_twin.studies.campaigns.base import Violation
from soft_twin.studies.campaigns.devices.winches import POWER
from soft_twin.studies.campaigns.motor_world import MotorWorld

REMEDIES = re.compile(  # what to do, in the imperative, or the method to call
    r"(^|: |, |; |\. |\band |\bthen |\bor |\()(first )?"
    r"(home|enable|activate|connect|configure|check|plug|wait|look|mount|swap|repair|send|set|free|start|let|give|"
    r"lower|call|clear the stop|relax|hold|put|fix|see|switch|report|mend)\b|\bclear_stop\b|`\w+`",
    re.IGNORECASE,
)


class CaseBook:
    """What all rules look at and write down.

    Attributes:
        violations: found so far, one of each kind.
        tick: of the driver, counted.
        latched, connected, active, homing: what was asked for and granted.
        left_alone: nobody has deactivated or disconnected what starts by itself.
        enabled_at: tick, −1: not enabled.
        enabled_time, fed: of enabling, and of the last command that was accepted [s].
        zero: (c,) lengths [m] that are displacement `offset`; None: there is none.
        zero_sure: whether that is where the driver has it, too.
        unknown: whether the user was told so, and has not homed since.
        quiet_since: tick since which a state is told in which nothing may be driven.
        driven: (c,) when each motor was last told a current [s].
        past: (time [s], lengths (c,) [m]) of the last ticks.
        off_since: (c,) since when what is told is not true [s], NaN: it is.
        unplugged_since, silent_since: NaN: it is not [s].
        target, target_since, target_way, commanded: (c,) [m], since when [s], how far it was [m], newest command [s].
        told_state: that the user was told last.
    """

    def __init__(self, world: MotorWorld):
        case = world.case
        self.world, self.case = world, case
        self.limits = case.drive.cable_limits
        self.index = {winch.motor_id: i for i, winch in enumerate(case.winches)}
        self.offsets = np.array([cable.offset for cable in case.drive.cables])
        count = len(case.winches)
        self.violations: list[Violation] = []
        self._kinds: set[str] = set()
        self.tick = 0
        self.latched = self.homing = self.unknown = False
        self.connected = self.active = self.left_alone = case.autostart
        self.enabled_at = -1
        self.enabled_time = self.fed = 0.0
        self.zero: np.ndarray | None = None
        self.zero_sure = True
        self.quiet_since: int | None = None
        self.driven = np.full(count, -1.0)
        self.past: deque[tuple[float, np.ndarray]] = deque()
        self.off_since = np.full(count, np.nan)
        self.unplugged_since = self.silent_since = math.nan
        self.target: np.ndarray | None = None
        self.target_since = self.target_way = self.commanded = 0.0
        self.told_state = ""

    def found(self, kind: str, detail: str) -> None:
        """Note a violation; the first of each kind in a case."""
        if kind not in self._kinds:
            self._kinds.add(kind)
            self.violations.append(Violation(kind, self.world.clock.now, detail))

    def check_message(self, what: str, text: str) -> None:
        if len(text) < 12 or not REMEDIES.search(text):
            self.found("mute message", f"{what} with '{text}', which names nothing to do")

    def revoke(self) -> None:
        self.enabled_at = -1
        if self.homing:
            self.homing, self.zero_sure = False, False

    def forget(self) -> None:
        self.revoke()
        self.unknown = False  # by the new driver, whose zero is not known anyway
        self.zero, self.zero_sure = None, True

    def silent(self) -> bool:
        """Whether some motor's id is not heard on the bus at all."""
        world = self.world
        heard = {
            world.controllers.ids[i]
            for i in range(len(self.index))
            if world.winches.health[i, POWER] and i not in world.controllers.silent
        }
        return not set(self.index) <= heard or world.adapter.line.lost >= 1.0 or not world.adapter.plugged

    def displacements(self) -> np.ndarray | None:
        return None if self.zero is None else self.world.winches.lengths() - self.zero + self.offsets


def state_of(status) -> str:
    """The state that a user is told, in lower case."""
    return str(getattr(status.state, "value", status.state)).lower().replace("_", " ")


def earliest(since: float, now: float) -> float:
    """Since when something is: since then, or from now on where `since` is NaN [s]."""
    return now if math.isnan(since) else since
