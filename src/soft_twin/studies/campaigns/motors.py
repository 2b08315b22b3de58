"""Motors under attack: random robots, users and faults, judged by the wire and by the winches themselves.

A case is a robot (limits, senses, scales, frictions of 2…30 A s/m and up to 0.3 A, slack), a user's script and faults,
in simulated time. The code under test sees an adapter in memory; the motors behind it are written from the C610's data
sheet.

| kind | what must not be |
|---|---|
| current beyond limit | a frame commands more than the description's `current_limit` |
| stop undone | a current is commanded after stop() was accepted and before clear_stop() was |
| driven while inactive | a current while the session is deactivated or disconnected |
| driven without a zero | a current, but for taking up slack, by a driver that nobody homed since it was started |
| driven while not enabled | a current without enable() after a fault, relax(), a lost device or lost commands |
| current too late | a current later than 1 s + 3 ticks of wall time after the last command or enabling |
| stranger driven, strange frame | a current for a motor that the robot has not; a frame that commands nothing |
| enabled without a zero, enabled while stopped | enable() accepted then; also after "position unknown" was told |
| homed blind | home() accepted while some motor has been silent for 0.5 s |
| stop refused | stop() raises |
| beyond displacement | a driven cable moves 1 mm beyond its limits: 0.5 mm unseen (below) and 0.5 mm of control |
| too fast | a cable moves under current at 1.75 times the limit of its rate + 5 mm/s: control of unknown friction |
| driven the wrong way | a reversed motor drives its cable 1.5 mm against its current (below), without being named |
| homing sits | slack is being taken up, but for 1.5 s no cable moves by 0.2 mm, and no fault is named |
| position untrue | for 0.35 s told and true position differ by 0.5 mm, and no fault is named |
| not followed | a target that stood still for way / rate · 1.2 + 0.45 s is 2 mm away, and no fault is named |
| silence not named, loss not named | a motor was silent, or the adapter away, for 0.5 s, and nothing is named |
| told untrue | limp, stopped … while currents flow; another than stopped is; taut with 0.5 mm slack, or a pull of 2 N |
| false alarm | a fault is named though nothing was broken and the user did nothing wrong |
| raw error | a call, poll or tick raises anything but a SoftTwinError |
| nonsense accepted, stale command accepted, disorder accepted | a command that is unusable, old, or out of order |
| refusal not counted | a command was refused as unusable and no counter grew |
| mute message | a refusal or fault that names nothing to do |
| bus overfull | more than 90 % of 1 Mbit/s within 0.1 s, at 130 bits a frame |
| opened twice | the adapter is opened while it is open |
| clock stands still, hang | a loop that waits for time without sleeping; a case that takes a minute |
| not recovered | after mending all, clear_stop, home and enable, the robot does not follow 1 mm within 0.5 mm |

Where 0.5 mm comes from: what is told is up to 8 ms and a tick old (it is compared with the truth of the last 60 ms);
single jumps of the encoder hide up to 0.08 mm in noise and acceleration, up to 0.2 mm behind a lost sample. Several
add up; more than half a turn of a rotor (0.57 mm of cable) can be seen in its angle.

A cable that is let out under tension moves against its motor's current anyway: a motor that is told 0.6 A at 100 mm/s
and 30 N goes 1.5 mm in 15 ms with either sense. What a reversed motor drives the wrong way is the way that a sound one
with the same currents, cable and body, from the same state on, would not have gone.

What physics forbids to see, and is therefore exempt: how far a cable without current is turned by the body; a cable
that has come off its drum, as long as nobody takes up its slack, or once it was found taut in that (some milliamperes
of tension are gone behind as many of dry friction); frames that are doubled or reordered and change nothing; a motor
whose torque has just turned round or that shares an id, for the 60 ms until its answers can show it; the motion of a
motor that does not hear the host, or whose adapter was unplugged, and goes on for up to 0.2 s with what it was told
last, and so while the host is halted and for the 30 ms in which it then brakes; a rotor that is locked, or a body that
gets stuck, while slack is taken up feels like a taut cable. A cable that has got beyond its limits without being driven
may be held there, but not be driven 1 mm farther out.
"""

import random
from typing import Protocol

import can
import numpy as np

from soft_twin.errors import DeviceError
from soft_twin.studies.campaigns.base import Campaign, Violation
from soft_twin.studies.campaigns.devices.virtual_clock import ClockStandsStillError
from soft_twin.studies.campaigns.motor_book import state_of
from soft_twin.studies.campaigns.motor_case import Case, invent
from soft_twin.studies.campaigns.motor_judge import MotorJudge
from soft_twin.studies.campaigns.motor_user import MotorUser
from soft_twin.studies.campaigns.motor_world import MotorWorld

TICK = 0.004  # [s] of the driver
LOOK = 0.02  # [s] between two polls, and two looks at what is told
REST, AT_REST = 3.0, 0.005  # [s] a user waits at the most for relaxed cables to come to rest, and [m/s] that they do
REMEDY_TIME = 0.5  # [s] in which 1 mm has to be followed


class Subject(Protocol):
    """The code under test: a session and its driver's turn.

    Attributes:
        session: what a user calls.
        scale: how many times as long its cables are as the campaign's.
    """

    session: object
    scale: float

    def tick(self) -> None:
        """One turn of the loop of the driver that is there, if one is."""

    def is_due(self) -> bool:
        """Whether a driver is there that wants a turn at once, for a command that has come."""


class SessionSubject:
    """soft_twin's own session with its cables' driver."""

    scale = 1.0

    def __init__(self, case: Case, world: MotorWorld):
        from soft_twin.driving.session import ActuatorSession

        self._case, self._world = case, world
        self._bus, self._driver = None, None
        self.session = ActuatorSession(
            self._open,
            autostart=case.autostart,
            enable_when_active=case.enable_when_active,
            clock=world.clock,
        )

    def tick(self) -> None:
        if self._driver is not None and not self._bus.closed:
            self._driver.tick()

    def is_due(self) -> bool:
        return self._driver is not None and not self._bus.closed and self._driver.running and self._driver.is_due

    def _open(self):
        from soft_twin.driving.cables.cable_driver import CableDriver

        try:
            self._bus = self._world.adapter.open()
        except can.CanError as error:
            raise DeviceError(f"the emulated adapter cannot be opened: {error}; plug it in") from error
        self._driver = CableDriver(self._case.drive, self._bus, clock=self._world.clock, threaded=False)
        return self._driver


class MotorCampaign(Campaign):
    """See the module.

    Args:
        subject: what is tested, made from a case and its world.
    """

    name = "motors"

    def __init__(self, subject=SessionSubject):
        self._subject = subject

    def run_case(self, seed: int) -> list[Violation]:
        return self._run(seed).judge.violations

    def story(self, seed: int) -> str:
        run = self._run(seed)
        case = run.case
        lines = [
            f"{len(case.winches)} cables, autostart {case.autostart}, enabled when active {case.enable_when_active}",
            f"{case.stream}",
            *(f"{fault.time:8.3f} s  {fault}" for fault in case.faults),
            *run.user.log,
        ]
        return "\n".join(lines)

    def _run(self, seed: int) -> "MotorRun":
        run = MotorRun(invent(seed), self._subject)
        run.live()
        return run


class MotorRun:
    """One case being lived through."""

    def __init__(self, case: Case, subject):
        self.case = case
        self.world = MotorWorld(case)
        self.judge = MotorJudge(self.world)
        self._subject: Subject = subject(case, self.world)
        self.user = MotorUser(case, self.world, self.judge, self._subject.session)
        self._rng = random.Random(f"host {case.seed}")
        self._next_tick = self._next_look = 0.0

    def live(self) -> None:
        """The case, the remedies, and the end."""
        try:
            self._until(self._script_end(), self.user.live)
            self._remedy()
            self.user.call("close")
        except ClockStandsStillError as error:
            self.judge.found("clock stands still", str(error))
        if self.world.adapter.opened_twice:
            self.judge.found("opened twice", f"{self.world.adapter.opened_twice} times")

    def _script_end(self) -> float:
        """When the script is over [s], and the host back from a halt."""
        halts = [fault.time + fault.duration + 0.3 for fault in self.case.faults if fault.kind == "halt"]
        return max([self.case.end, *halts])

    def _remedy(self) -> None:
        """Mend everything, do what the documentation says, and see whether the robot follows."""
        self.world.mend()
        self._until(self.world.clock.now + 0.7)
        status = self.user.status()
        if status is not None:
            self.judge.comes_back(status)
        tried = [self._try("clear_stop"), *([self._try("connect")] if self._is_away() else []), self._try("activate")]
        tried.append(self._try("relax"))
        self._wait_for_rest()
        self.world.straighten()
        tried += [self._try(name) for name in ("home", "enable")]
        self._follow()
        self.judge.recovered(self.user.status(), [refusal for refusal in tried if refusal])

    def _wait_for_rest(self) -> None:
        """A long cable of a stiff body takes its time to unwind."""
        end, at_rest = self.world.clock.now + REST, AT_REST / max(self._subject.scale, 1.0)
        while self.world.clock.now < end and np.abs(self.world.winches.rates()).max() > at_rest:
            self._until(self.world.clock.now + LOOK)

    def _try(self, name: str) -> str:
        """Call a method and let the driver live a little; the refusal, if it was refused."""
        refusal = self.user.call(name)
        self._until(self.world.clock.now + 0.05)
        return f"{name}: {refusal}" if refusal is not None else ""

    def _is_away(self) -> bool:
        status = self.user.status()
        return status is not None and state_of(status) == "away"

    def _follow(self) -> None:
        """Command 1 mm more than where the cables are homed."""
        high = self.case.drive.cable_limits.displacement[1]
        target = [min(cable.offset + 0.001, high) for cable in self.case.drive.cables]
        end = self.world.clock.now + REMEDY_TIME
        while self.world.clock.now < end:
            wall = self.world.clock.now + self.world.clock.offset
            self.user.command(target, wall if self.case.stream.stamps else None, True)
            self._until(self.world.clock.now + 0.02)

    def _until(self, end: float, user=lambda: None) -> None:
        """Let host, user and world live until a time [s]."""
        clock = self.world.clock
        while clock.now < end:
            clock.advance_to(max(min(self._next_tick, clock.now + 0.001), clock.now + 1e-6))
            if clock.now < self.world.halted_until:
                clock.advance_to(self.world.halted_until)
                self.judge.host_was_halted()
            user()
            if clock.now >= self._next_tick:
                self._tick(clock.now)
            elif self._subject.is_due():
                self.judge.tick_begins()
                self._guard("tick", self._subject.tick)

    def _tick(self, now: float) -> None:
        late = self._rng.random() * self.case.jitter
        self._next_tick = max(self._next_tick + TICK, now) + late
        self.judge.tick_begins()
        self._guard("tick", self._subject.tick)
        self.judge.physics()
        if now >= self._next_look or self.judge.homing:  # whose end is the zero, before the user moves on
            self._next_look = now + LOOK
            self._guard("poll", self._subject.session.poll)
            self.user.status()

    def _guard(self, name: str, call) -> None:
        """Let the driver or the session live; nothing may come out of that."""
        try:
            call()
        except Exception as error:
            self.judge.raised(name, error)
