"""The judge of one case with valves: sees bytes, the device's own state, and what the person is told; see valves.py."""

import math
import re
from collections import deque
from dataclasses import dataclass

from soft_twin.studies.campaigns.base import Violation
from soft_twin.studies.campaigns.valve_cases import Case
from soft_twin.studies.campaigns.valve_world import LOOK, World

WATCHDOG = 1.0  # [s] without a command, after which the chambers are vented
GRACE = 0.3  # [s] for anything that is to happen at once: ticks, lines, looks
STRETCH = 1.5  # a vented chamber may take so many times its own ramp
LEAD, LEAD_TIME = 30e3, 0.1  # [Pa], [s] at the rate limit, that a set point may run ahead of what is measured
VENTED_LEAD = 5e3  # [Pa] while the chambers are vented
SENSOR_MARGIN = 3e3  # [Pa] of lag and noise
SENSOR_MEMORY = 0.3  # [s] that a measurement may be old
NEAR = 2e3  # [Pa] from the vented pressure counts as vented
OFF, OFF_TIME, OFF_MEMORY = (
    20e3,
    1.5,
    0.5,
)  # a chamber farther from all it was told within a memory for a time is a fault
SILENCE = 0.5  # [s] without a measurement is a fault
DIFFERENT = 0.5  # [s] that the device's set point may differ from what it was told last
NAMING = 0.5  # [s] until a fault is named at the latest, once its documented time is over
REOPENING = 2.5  # [s] for finding a device that is there again
FINDING = 0.5  # [s] after opening a device, in which the first measurements come
TICKS = 0.08  # [s] of jitter of set points
BANG_TIME = 0.06  # [s]
LIMIT_MARGIN = 3e3  # [Pa]

REMEDY = re.compile(
    r"\b(check|plug|enable|clear|home|wait|give|expected|start|restart|name|connect|activate|set|look|try|use|relax|"
    r"vent|close|switch|replace|repair|send|commands?|raise|lower|choose|call|reach|open|between|there are)\b",
    re.IGNORECASE,
)
NOT_ARRIVED = re.compile(
    r"\b(not|away|nobody|could|cannot|gone|lost|when|once|as soon|unconfirmed|until)\b", re.IGNORECASE
)
OF_COMMANDS = re.compile(r"(no )?commands?\b|the stop\b")  # what is wrong with commands names no fault of the device
CALLED_OFF = ("stop", "relax", "deactivate", "disconnect", "close")


@dataclass
class _Since:
    """A condition that must not hold for long: `held` says for how long it has [s]."""

    start: float = math.inf

    def held(self, condition: bool, now: float) -> float:
        if not condition:
            self.start = math.inf
            return 0.0
        self.start = min(self.start, now)
        return now - self.start


class _Way:
    """What a chamber was told on a way from the vented pressure: pressures count in its sense.

    Attributes:
        sense: 1 upwards, -1 downwards.
        ramp: what the chamber may be told at the most by the rate limit [Pa].
        least: told since the right to drive it ended [Pa].
    """

    def __init__(self, sense: int, asked: float):
        self.sense = sense
        self.ramp = self.least = sense * asked


class _Chamber:
    """What the judge knows of one chamber.

    Attributes:
        asked: what the host told last; before it told anything, what the device holds [Pa].
        lost: when the right to drive it ended, the highest and the lowest set point to vent it from.
        above, below: what it was told, upwards and downwards.
        spoken: the host has told it anything.
    """

    def __init__(self, asked: float, truth: float):
        self.asked = asked
        self.above, self.below = _Way(1, asked), _Way(-1, asked)
        self.lost = (0.0, asked, asked)
        self.ramp_time = 0.0
        self.spoken = False
        self.history: deque[tuple[float, float]] = deque()  # time, told, of the last OFF_MEMORY
        self.truths: deque[float] = deque([truth], maxlen=round(SENSOR_MEMORY / LOOK) + 1)
        self.off, self.differs, self.fills = _Since(), _Since(), _Since()


class Judge:
    """Collects violations; each kind once.

    Attributes:
        violations: found so far.
        usable: what the host says reaches the device, and is answered.
        awake: the host runs.
        answering: time that the device's answers take for every chamber in turn, where one waits for each [s].
        line_clean: and nothing else happens on the line.
        unplugged: the line is.
        unreachable: nothing that the host says can reach the device.
        closing: a call that lets go of the device is going on.
        calling: the person waits for a call of theirs, and is told nothing meanwhile.
        exempt_pressure_until: until then the device may fill chambers by itself [s].
        refused_until: until then the device may refuse what it is told [s].
        lying: chambers whose sensors lie plausibly.
        mute: the device cannot be measured.
    """

    def __init__(self, case: Case, world: World):
        self.case, self.world, self.limits = case, world, case.limits
        self.violations: list[Violation] = []
        self.usable, self.line_clean, self.closing, self.awake = True, True, False, True
        self.calling = False
        self.exempt_pressure_until = 0.0
        self.answering = 0.0
        self.refused_until = self._opened = -math.inf
        self.lying: set[int] = set()
        self.mute = False
        self._low, self._high = case.limits.pressure
        self._chambers = [_Chamber(case.limits.vented, truth) for truth in world.device.chambers.pressures]
        self._silent, self._away, self._gone, self._named = _Since(), _Since(), _Since(), -math.inf
        self._connected, self._let_go, self.unplugged, self.unreachable = False, False, False, False
        self._stopped_at = math.inf
        self.granted, self._latched, self._cause, self._active = False, False, "nobody enabled", False
        self._fed, self._woke = -math.inf, 0.0
        self._commanded = {1: self._high, -1: -self._low}  # the farthest, upwards and downwards
        world.ear.told = self.told
        world.looks = self.look

    def fail(self, kind: str, detail: str) -> None:
        if all(one.kind != kind for one in self.violations):
            self.violations.append(Violation(kind, round(self.world.now, 3), detail))

    # What the host does ---------------------------------------------------------------------------------------------

    def told(self, index: int, pressure: float) -> None:
        """The host tells a chamber a pressure."""
        now, chamber = self.world.now, self._chambers[index]
        tolerance = 1.01 * self.world.resolution
        if pressure > self._high + tolerance:
            kind = "told above the limit" + (" while closing" if self.closing else "")
            self.fail(kind, f"chamber {index} {_kpa(pressure)}, the limit is {_kpa(self._high)}")
        if pressure < self._low - tolerance:
            kind = "told below the limit" + (" while closing" if self.closing else "")
            self.fail(kind, f"chamber {index} {_kpa(pressure)}, the lowest is {_kpa(self._low)}")
        for way in (chamber.above, chamber.below):
            self._judge_way(index, chamber, way, way.sense * pressure)
        if self._may_be_deceived(index):  # it is vented from what its sensor says
            if pressure > chamber.lost[1]:
                chamber.lost = (now, pressure, chamber.lost[2])
            if pressure < chamber.lost[2]:
                chamber.lost = (now, chamber.lost[1], pressure)
        chamber.asked, chamber.spoken = pressure, True
        chamber.history.append((now, pressure))
        chamber.ramp_time = now

    def _judge_way(self, index: int, chamber: _Chamber, way: _Way, pressure: float) -> None:
        """All pressures in the sense of the way."""
        rate, vented = self._rate_of_rise(), way.sense * self.limits.vented
        way.ramp += min(rate * (self.world.now - chamber.ramp_time), LEAD + LEAD_TIME * self.limits.rate)
        found = max(way.sense * truth for truth in chamber.truths) + VENTED_LEAD + SENSOR_MARGIN
        if not self._may_be_deceived(index):
            self._judge_rise(index, chamber, way, pressure, max(found, way.ramp + TICKS * rate))
            judge = self._judge_wanted if self.granted else self._judge_unasked
            judge(index, chamber, way, pressure, max(vented, found))
        way.ramp = min(max(way.ramp, min(pressure, found)), max(pressure, vented))
        way.least = min(way.least, pressure)

    def _rate_of_rise(self) -> float:
        return self.limits.rate if self.granted else max(self.limits.rate, self.limits.vent_rate)

    def _judge_rise(self, index: int, chamber: _Chamber, way: _Way, pressure: float, allowed: float) -> None:
        if (over := pressure - allowed) > 2.0 * self.world.resolution:
            detail = f"from {_kpa(chamber.asked)} to {_kpa(way.sense * pressure)}, {_kpa(over)} too fast"
            self.fail("told faster than the rate", f"chamber {index} {detail}")

    def _judge_wanted(self, index: int, chamber: _Chamber, way: _Way, pressure: float, found: float) -> None:
        lost, wanted = chamber.lost[1] if way.sense > 0 else -chamber.lost[2], self._commanded[way.sense]
        if pressure > max(wanted, lost, found) + 2.0 * self.world.resolution:
            there = _kpa(way.sense * pressure)
            detail = f"chamber {index} {there}, commanded at the farthest {_kpa(way.sense * wanted)}"
            self.fail("told what nobody commanded", detail)

    def _judge_unasked(self, index: int, chamber: _Chamber, way: _Way, pressure: float, found: float) -> None:
        """Nobody may drive: what is told may go to the vented pressure, or meet what is there, and no more."""
        if pressure > max(way.least, found) + NEAR:
            what = "pressure" if way.sense > 0 else "vacuum"
            kind = "stop undone" if self._latched else f"told {what} without a right to"
            has = _kpa(max(chamber.truths, key=lambda truth: way.sense * truth))
            there = _kpa(way.sense * pressure)
            self.fail(kind, f"chamber {index} {there} though {self._cause}; it has {has}")

    def _may_be_deceived(self, index: int) -> bool:
        """Whether a chamber seems to be found under pressure: just opened, and its sensor lies.

        By that the control of an OpenPneu goes, too, so nothing is filled. A terminal can be asked what it holds.
        """
        lies = index in self.lying and not self.world.network
        return lies and self.world.now < self._opened + FINDING

    # What the person does and is told -------------------------------------------------------------------------------

    def called(self, name: str, accepted: bool, answer: str, usable: bool) -> None:
        """A person's call came to this; `usable`: the device was there and well when they called."""
        if accepted and name == "enable":
            self._grant()
        elif accepted and name in ("connect", "activate"):
            self._let_go = False
            self._active = self._active or name == "activate"
        elif accepted and name == "clear_stop":
            self._latched = False
        elif accepted and name in CALLED_OFF:
            self._active = self._active and name not in ("deactivate", "disconnect", "close")
            self._let_go = self._let_go or name in ("disconnect", "close")
            self._called_off(name)
        if name == "stop":
            self._judge_stop(accepted, answer)
        if name in ("connect", "disconnect"):
            self._measure_anew()
        if name in ("disconnect", "close") and accepted:
            self._connected = False
            if usable:
                self._judge_farewell(name)
        if not accepted:
            self._judge_message(f"refusal of {name}", answer)

    def commanded(self, values: list[float] | None, accepted: bool, answer: str) -> None:
        """A command came to this; `values` are None where it was nonsense."""
        if accepted and values is None:
            self.fail("nonsense accepted", answer)
        if accepted and values is not None and self.granted:
            self._fed = self.world.now
            highest, lowest = min(max(values), self._high), max(min(values), self._low)
            self._commanded = {1: max(self._commanded[1], highest), -1: max(self._commanded[-1], -lowest)}
        if not accepted:
            self._judge_message("refusal of a command", answer)

    def informed(self, status, connected: bool, active: bool) -> None:
        """The person reads the status, and what the node's life has come to."""
        now, state = self.world.now, status.state.value
        before, self._connected, self._active = self._connected, connected, active
        if state in ("fault", "away") or any(not OF_COMMANDS.match(fault) for fault in status.faults):
            self._named = math.inf  # until something else is told
        elif self._named == math.inf:
            self._named = now
        for fault in status.faults:
            self._judge_message("fault", fault)
        if self._latched and (not status.stopped or state in ("active", "limp", "ready")):
            self.fail(
                "stop forgotten", f"the status says '{state}', stopped {status.stopped}, and nobody cleared the stop"
            )
        if self.granted and state != "active":
            self._called_off(f"the status says '{state}'")
        elif not self.granted and state == "active":
            self._judge_awake()
        if connected and not before:
            self._opened = now
            self._measure_anew()
            for chamber in self._chambers:
                chamber.spoken = False  # what the device holds counts, whoever told it
            self._begin_again()
        self._judge_presence(status, state, connected)
        self._judge_arrival(status)

    def _measure_anew(self) -> None:
        """What is opened anew has its time to measure, and to see which chambers are astray."""
        for condition in (self._silent, *(chamber.off for chamber in self._chambers)):
            condition.start = math.inf

    def _judge_presence(self, status, state: str, connected: bool) -> None:
        now = self.world.now
        serial = not self.world.network
        gone = self._gone.held(serial and self.unplugged and connected, now)
        if gone > 2.0 * NAMING and not (status.faults or state in ("away", "fault")):
            self.fail("not noticed: the device is gone", f"unplugged for {gone:.2f} s, the status says '{state}'")
        away = self._away.held(self.usable and not connected and self.case.autostart and not self._let_go, now)
        if away > REOPENING:
            self.fail("not reopened", f"the device is there for {away:.2f} s, the status says '{state}': {status.mode}")

    def _judge_awake(self) -> None:
        if self.case.enable_when_active and self._active and not self._latched:
            self._grant()
        elif self.world.now > self._chambers[0].lost[0] + GRACE:
            self.fail("active by itself", f"the status says 'active' though {self._cause}")

    def _judge_stop(self, accepted: bool, answer: str) -> None:
        if not accepted:
            self.fail("stop refused", answer)
        self._stopped_at = self.world.now

    def _judge_arrival(self, status) -> None:
        """A stop that has not reached the device is told as long as that is so."""
        since = max(self._stopped_at, self._silent.start) if self.mute else math.inf
        untold = self._latched and self.unreachable and self._stopped_at >= self._silent.start
        if not untold or self.world.now < since + SILENCE:
            return
        words = "; ".join((status.mode, *status.faults))
        if not NOT_ARRIVED.search(words):
            self.fail(
                "stop said to have arrived", f"the line is dead since before the stop; the person is told '{words}'"
            )

    def _judge_farewell(self, name: str) -> None:
        """After the last words nothing may go on being held under pressure by a device that nobody watches."""
        if self.case.backend == "dac_board" or self.refused_until > self.world.now:
            return  # it goes to 0 V by itself; or it may not have listened
        highest, lowest = max(self.world.ear.set_points()), min(self.world.ear.set_points())
        if highest > self.limits.vented + NEAR:
            self.fail("left under pressure", f"after {name} the device still holds {_kpa(highest)}")
        if lowest < min(self.limits.vented, 0.0) - NEAR:
            self.fail("left under vacuum", f"after {name} the device still holds {_kpa(lowest)}")

    def _judge_message(self, what: str, text: str) -> None:
        if not REMEDY.search(text or ""):
            self.fail("message without a remedy", f"{what}: '{text}'")

    # The right to drive ---------------------------------------------------------------------------------------------

    def _grant(self) -> None:
        if not self.granted:
            self._commanded = {1: -math.inf, -1: -math.inf}
            self._fed = self.world.now
            for chamber in self._chambers:
                chamber.lost = (self.world.now, chamber.asked, chamber.asked)
        self.granted = True

    def _called_off(self, cause: str) -> None:
        if cause == "stop":
            self._latched = True
        if self.granted or cause == "stop":
            self._cause = cause
        if self.granted:
            self.granted = False
            self._begin_again()

    def _begin_again(self) -> None:
        """From now on the chambers are to be vented: from what they are told, or what they are found with."""
        for chamber in self._chambers:
            highest, lowest = max(chamber.truths) + VENTED_LEAD, min(chamber.truths) - VENTED_LEAD
            chamber.lost = (self.world.now, max(chamber.asked, highest), min(chamber.asked, lowest))
            chamber.above.least, chamber.below.least = chamber.asked, -chamber.asked

    def outage_over(self) -> None:
        """The line works again, or the host lives again."""
        self._woke = self.world.now
        self._silent.start = self._away.start = math.inf
        if not self.granted:
            self._begin_again()
        for chamber in self._chambers:
            chamber.off.start = chamber.differs.start = chamber.fills.start = math.inf

    # What goes on ---------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """One look at the world."""
        device, now = self.world.device, self.world.now
        asked, truths, set_points = self.world.ear.set_points(), device.chambers.pressures, device.set_points()
        if self.granted and now > max(self._fed + WATCHDOG, self._woke) + GRACE:
            self._called_off("commands stay away")
        said = device.said[1] if device.said else None
        for index, chamber in enumerate(self._chambers):
            chamber.asked = asked[index] if chamber.spoken else set_points[index]
            self._judge_truth(index, chamber, truths[index], set_points[index])
            chamber.truths.append(truths[index])
            chamber.history.append((now, chamber.asked))
            while chamber.history[0][0] < now - OFF_MEMORY:
                chamber.history.popleft()
            if self.usable and not self.closing:
                self._judge_venting(index, chamber)
                self._judge_filling(index, chamber, truths[index])
                self._judge_naming(index, chamber, set_points[index], said)
        if self.awake and not self.calling:
            self._judge_silence()

    def _judge_venting(self, index: int, chamber: _Chamber) -> None:
        if self.refused_until > self.world.now:
            chamber.lost = (self.world.now, *chamber.lost[1:])
        if self.granted or not self._connected:
            return
        start, highest, lowest = chamber.lost
        late = GRACE + 2.0 * self.limits.vent_rate / self.limits.acceleration + self.answering
        ramp = self.limits.vent_rate / STRETCH * (self.world.now - start - late)
        if ramp < 0.0:
            return
        vented, near = self.limits.vented, NEAR + VENTED_LEAD
        too_high = chamber.asked > max(vented, highest - ramp) + near
        too_low = chamber.asked < min(vented, lowest + ramp) - near
        if too_high or (too_low and chamber.spoken and not self.world.ear.resting):
            after = f"{self.world.now - start:.2f} s later, vented is {_kpa(vented)}"
            self.fail(f"not vented: {self._cause}", f"chamber {index} is told {_kpa(chamber.asked)} {after}")

    def _judge_naming(self, index: int, chamber: _Chamber, set_point: float, said: list[float] | None) -> None:
        if not self._connected:
            return
        now = self.world.now
        lag = 1e3 + 0.06 * max(self.limits.rate, self.limits.vent_rate)
        different = self.line_clean and chamber.spoken and abs(set_point - chamber.asked) > lag
        if (held := chamber.differs.held(different, now)) > DIFFERENT + GRACE and not self._is_named(held):
            self.fail(
                "set point differs unnamed",
                f"chamber {index} holds {_kpa(set_point)}, was told {_kpa(chamber.asked)}, for {held:.2f} s",
            )
        if said is None:
            return
        told = [pressure for _, pressure in chamber.history]
        value = said[index]
        off = not min(told) - OFF - SENSOR_MARGIN <= value <= max(told) + OFF + SENSOR_MARGIN
        if (held := chamber.off.held(off, now)) > OFF_TIME + NAMING and not self._is_named(held):
            above = not self.granted and value > max(told)
            kind = "stays under pressure unnamed" if above else "stays off its set point unnamed"
            self.fail(kind, f"chamber {index} says {_kpa(value)}, was told {_kpa(chamber.asked)}, for {held:.2f} s")

    def _judge_filling(self, index: int, chamber: _Chamber, truth: float) -> None:
        """A chamber that nobody drives does not go on filling for long where the device could be told to rest."""
        now = self.world.now
        filling = not self.granted and truth > chamber.truths[0] + 200.0 and truth > chamber.asked + OFF
        obeys = now > self.exempt_pressure_until and self._connected
        if (held := chamber.fills.held(filling and obeys, now)) > OFF_TIME + 2.0 * NAMING:
            self.fail("goes on filling", f"chamber {index} has {_kpa(truth)}, rising for {held:.2f} s, {self._cause}")

    def _judge_silence(self) -> None:
        """Nothing can be measured for longer than a fault may stay unnamed."""
        held = self._silent.held(self.mute and self._connected, self.world.now)
        if held > SILENCE + NAMING + GRACE and not self._is_named(NAMING):
            self.fail("silence unnamed", f"nothing could be measured for {held:.2f} s")

    def _judge_truth(self, index: int, chamber: _Chamber, truth: float, set_point: float) -> None:
        """What the driver does to the air, where the device obeys and its sensors do not lie."""
        now = self.world.now
        if self.world.device.chambers.uncontrolled[index]:
            self.exempt_pressure_until = max(self.exempt_pressure_until, now + SENSOR_MEMORY)
        if now < self.exempt_pressure_until or index in self.lying:
            return
        self._judge_true_way(index, chamber, 1, truth, set_point, self._high)
        self._judge_true_way(index, chamber, -1, truth, set_point, -min(self._low, 0.0))  # leaks go to 0

    def _judge_true_way(
        self, index: int, chamber: _Chamber, sense: int, truth: float, set_point: float, limit: float
    ) -> None:
        """On a way from the vented pressure; the limit counts in its sense."""
        farther = sense * truth > max(limit + LIMIT_MARGIN, sense * chamber.truths[-1])
        if farther and sense * set_point <= sense * chamber.asked:
            kind = f"pressure {'above' if sense > 0 else 'below'} the limit"
            self.fail(kind, f"chamber {index} {_kpa(truth)}, the limit is {_kpa(sense * limit)}")
        earlier = chamber.truths[-min(len(chamber.truths), round(BANG_TIME / LOOK))]
        before = max(earlier, self.world.device.floor)  # nobody can know of less
        rate = max(self.limits.rate, self.limits.vent_rate)
        most = LEAD + LEAD_TIME * self.limits.rate + BANG_TIME * rate + 2.0 * SENSOR_MARGIN
        vented = sense * self.limits.vented  # to there it is no bang; and a device can be told no less than its lowest
        if sense * truth - max(sense * before, vented) > most:
            self.fail("bang", f"chamber {index} from {_kpa(before)} to {_kpa(truth)} in {BANG_TIME:g} s")

    def _is_named(self, within: float) -> bool:
        """Whether a fault was told lately [s]; what was told last holds for as long as nothing else is told.

        A poll that says last words to a dead device keeps the status from being read anew; the person goes on seeing
        the fault that they were told before.
        """
        return self._named > self.world.now - within - GRACE


def _kpa(pressure: float) -> str:
    return f"{pressure / 1e3:.1f} kPa"
