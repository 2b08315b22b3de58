"""Fault campaign for pressure valves: OpenPneu, DAC board, Modbus terminal, in simulated time.

`valves_vacuum` is the same with chambers that are sucked, too, by an OpenPneu or by a Modbus terminal with vacuum.

Each case invents limits, what a person does, and what goes wrong (`valve_cases`), lives through it with an emulated
device (`devices`, `valve_world`), then mends everything and takes the documented remedy. The judge (`valve_judge`) sees
the bytes that the host sends, the device's own set points and pressures, and what a person is told: answers to
calls, and the status.

kind                                  | what it means
--------------------------------------|------------------------------------------------------------------------------
told above the limit, below the limit | a set point beyond the limits left the host, be it while closing
told faster than the rate             | set points rise faster than the rate limit, or by more than a lead at once; so
                                      | they do, below the vented pressure, downwards
told what nobody commanded            | enabled, a set point is above, or below, all that was commanded
told pressure without a right to      | not enabled, or called off: a set point rises above what the chamber has
told vacuum without a right to        | the same downwards, below the vented pressure
stop undone                           | the same while a stop is latched
not vented: CAUSE                     | set points are above the vented pressure's ramp after stop, relax, deactivate,
                                      | commands that stay away (1 s), a fault; in wall time
left under pressure, under vacuum     | after close or disconnect the device goes on holding a chamber there
stop forgotten                        | the status no longer says that a stop is latched
stop refused                          | stop was not accepted
stop said to have arrived             | a stop on a dead line is told as if it had arrived
active by itself                      | the status says "active" though nobody enabled
set point differs unnamed             | the device holds something else than it was told for 0.5 s, and no fault says so
stays off its set point unnamed       | a chamber is measured 20 kPa from all it was told for 1.5 s; no fault says so
stays under pressure unnamed          | the same while it is to be vented
goes on filling                       | nobody drives, and a chamber truly goes on filling for 2.5 s
silence unnamed                       | nothing can be measured for 0.5 s, and no fault says so
not noticed: the device is gone       | a serial line is unplugged, and the status does not say so
not reopened                          | a device that is there again is not found
pressure above, below the limit       | a chamber truly passes its limit though the device obeys
bang                                  | a chamber truly fills, or is sucked, at once, by more than set points may lead
nonsense accepted                     | a command of wrong size, type or time is accepted; limits without end
refused while all is well             | a healthy case: a call or command that is right is refused
false alarm                           | a healthy case: a fault is named
does not follow                       | a healthy case: chambers are not where the commands are
not recovered                         | all is mended, the remedy was taken, and it does not work
message without a remedy              | a refusal or a fault does not say what to do
raw error                             | a call raised something else than a SoftTwinError
tick died                             | the driver's loop raised
mute death                            | the driver no longer runs, and no fault says so
hang                                  | a call takes for ever

Not judged, since nothing on the wire shows it: what a line without a checksum (OpenPneu) makes of a changed digit,
until it is told again; the device's set points on a line while it loses, changes or delays bytes; chambers while their
sensor lies plausibly, while a valve is stuck, or that a device fills by itself; pressures that an OpenPneu is found
with by a sensor that lies plausibly, which its own control goes by.
"""

import contextlib
import math
from random import Random

from soft_twin.driving.session import ActuatorSession
from soft_twin.driving.valves.pressures import ChamberLimits
from soft_twin.driving.valves.valve_control import ValveParameters
from soft_twin.driving.valves.valve_driver import ValveDriver
from soft_twin.errors import SoftTwinError
from soft_twin.studies.campaigns.base import Campaign, Violation
from soft_twin.studies.campaigns.valve_cases import Case, Stream, invent
from soft_twin.studies.campaigns.valve_faults_at_work import FaultsAtWork
from soft_twin.studies.campaigns.valve_judge import Judge
from soft_twin.studies.campaigns.valve_links import open_backend
from soft_twin.studies.campaigns.valve_world import Hang, World

TICK = 1.0 / ValveParameters().rate  # [s]
READING = 0.06  # [s] between two looks at the status
PATIENCE = 6.0  # [s] that a call may take, besides what venting the chambers takes
ARRIVING = 0.1  # [s] that a stop may take to the device
SETTLING = 1.0  # [s] that a mended device needs to be measured again
ATTEMPTS = 3  # of a person to enable again
MENDING = 3.0  # [s] until a device that is there again is to be found
LETTING_OUT = 0.3  # [s] of a person, with the supply closed
FOLLOWING = 10e3  # [Pa] from the command at the end
NAMES = ("left", "right", "top", "bottom")


class ValveCampaign(Campaign):
    """See the module's docstring.

    Attributes:
        open_session: gives the session under test for (case, world).
        invent: gives the case of a seed.
    """

    name = "valves"
    invent = staticmethod(invent)

    def __init__(self, open_session=None):
        self.open_session = open_session or session_on

    def run_case(self, seed: int) -> list[Violation]:
        return Run(self.invent(seed), self.open_session).run()

    def story(self, seed: int) -> str:
        return self.invent(seed).story()


def session_on(case: Case, world: World) -> ActuatorSession:
    """The session as a node has it, on the device of this world."""

    def open_driver() -> ValveDriver:
        valves = open_backend(case, world)
        return ValveDriver(NAMES[: case.count], case.limits, valves, clock=world, threaded=False)

    return ActuatorSession(
        open_driver, autostart=case.autostart, enable_when_active=case.enable_when_active, clock=world
    )


class Run:
    """One case, lived through."""

    def __init__(self, case: Case, open_session):
        self._case = case
        self._rng = Random(f"run {case.seed}")
        self.world = World(self._rng, case.backend, case.count, case.start)
        self.judge = Judge(case, self.world)
        self._faults = FaultsAtWork(case, self.world, self.judge)
        self.world.looks = self._look
        self._session = open_session(case, self.world)
        self._calls = list(case.calls)
        self._sent = {stream: stream.start for stream in case.streams}
        self._read_at, self._stopped_at = 0.0, -math.inf
        self._all_well = case.healthy

    def run(self) -> list[Violation]:
        """Live through it; what was violated."""
        self._offer_limits_without_sense()
        try:
            self._live_until(self._case.end)
            self._mend()
            self._farewell()
        except _Over:
            pass
        return self.judge.violations

    def _offer_limits_without_sense(self) -> None:
        low, high = self._case.limits.pressure
        good = {"pressure": (low, high), "rate": 1e5, "vent_rate": 1e5, "vented": low}
        value = self._rng.choice((math.inf, math.nan, -math.inf))
        name = self._rng.choice(tuple(good))
        wrong = good | {name: (low, value) if name == "pressure" else value}
        try:
            ChamberLimits(**wrong)
        except SoftTwinError:
            return
        self.judge.fail("nonsense accepted", f"limits {wrong}")

    # Living ---------------------------------------------------------------------------------------------------------

    def _live_until(self, end: float, streams: bool = True) -> None:
        while self.world.now < end:
            begun = self.world.now
            if (halted := self._faults.update()) > 0.0:
                self._halt(halted)
                continue
            self._make_calls()
            if streams:
                for stream in self._case.streams:
                    self._send(stream)
            self._turn()
            self.world.advance(max(0.001, begun + TICK - self.world.now))

    def _look(self) -> None:
        """Also within a call that takes its time: its faults end, the judge looks."""
        if self.judge.calling:
            self._faults.end_due()
        self.judge.look()

    def _halt(self, seconds: float) -> None:
        """The host does nothing for a time: no code of ours runs."""
        usable, self.judge.usable, self.judge.awake = self.judge.usable, False, False
        self.world.advance(seconds)
        self.judge.usable, self.judge.awake = usable, True
        self.judge.outage_over()

    def _turn(self) -> None:
        """What a node does all the time: poll, and the driver's thread a turn."""
        self._try("poll")
        driver = self._session.driver
        if driver is not None:
            try:
                with self._patience():
                    driver.tick()
            except Exception as error:
                self.judge.fail("tick died", repr(error))
        if self.world.now >= self._read_at:
            self._read_at = self.world.now + READING
            self._read_status()

    def _read_status(self) -> None:
        status = self._try("status")
        if status is not None:
            self.judge.informed(status, self._session.connected, self._session.active)
            driver = self._session.driver
            if driver is not None and not driver.running and not (status.faults or status.state.value == "away"):
                self.judge.fail("mute death", f"the driver has ended, the status says '{status.state.value}'")
            stopping = self.world.now < self._stopped_at + ARRIVING  # that a stop has not arrived yet is true meanwhile
            if self._all_well and not stopping and (status.faults or status.state.value == "fault"):
                self.judge.fail("false alarm", "; ".join(status.faults) or status.mode)

    # A person -------------------------------------------------------------------------------------------------------

    def _make_calls(self) -> None:
        while self._calls and self._calls[0].time <= self.world.now:
            self._call(self._calls.pop(0).what)

    def _call(self, name: str) -> bool:
        """A person's call; whether it was accepted."""
        usable = self.judge.usable and self._session.connected
        if name == "stop":
            self._stopped_at = self.world.now
        self.judge.closing, self.judge.calling = name in ("disconnect", "close"), True
        accepted, answer = self._attempt(name)
        self.judge.closing = self.judge.calling = False
        self.judge.called(name, accepted, answer, usable)
        if self._all_well and not accepted:
            self.judge.fail("refused while all is well", f"{name}: {answer}")
        return accepted

    def _attempt(self, name: str, *arguments, **options) -> tuple[bool, str]:
        try:
            with self._patience():
                return True, str(getattr(self._session, name)(*arguments, **options) or "")
        except SoftTwinError as error:
            return False, str(error)
        except Exception as error:
            self.judge.fail("raw error", f"{name}{arguments}: {error!r}")
            return False, f"check {error!r}"

    def _try(self, name: str):
        """A call that may never raise."""
        try:
            with self._patience():
                return getattr(self._session, name)()
        except Exception as error:
            self.judge.fail("raw error", f"{name}: {error!r}")
            return None

    @contextlib.contextmanager
    def _patience(self):
        low, high = self._case.limits.pressure
        self.world.deadline = self.world.now + PATIENCE + 1.5 * (high - low) / self._case.limits.vent_rate
        try:
            yield
        except Hang:
            self.judge.fail("hang", f"a call did not end in {PATIENCE:g} s more than venting takes")
            raise _Over from None
        finally:
            self.world.deadline = math.inf

    def _send(self, stream: Stream) -> None:
        """The commands of a stream that are due."""
        due, now = self._sent[stream], self.world.now
        if due > now or due >= stream.end:
            return
        missed = int((now - due) / stream.period)
        self._sent[stream] = due + (missed + 1) * stream.period
        number = round((due - stream.start) / stream.period)
        for _ in range(min(missed + 1, 20)):
            values = stream.at(now)
            if stream.nonsense and number % stream.nonsense == 0:
                self._send_nonsense(values)
            else:
                self._command(values, values)
            number += 1

    def _command(self, values, meant: list[float] | None, stamp: float | None = None) -> None:
        if stamp is None and self._case.stamped:
            stamp = self.world.time()
        accepted, answer = self._attempt("command", values, stamp=stamp)
        self.judge.commanded(meant, accepted, answer)
        if self._all_well and not accepted and self.judge.granted:
            self.judge.fail("refused while all is well", f"command: {answer}")

    def _send_nonsense(self, values: list[float]) -> None:
        now = self.world.time()
        self._command(values, values, now)  # the newest; what is measured before it comes too late
        wrong = (
            (values + [0.0], None, None),
            ([math.nan] * len(values), None, None),
            ([math.inf] * len(values), None, None),
            (["60000"] * len(values), None, None),
            (None, None, None),
            ([values], None, None),
            ([10**400] * len(values), None, None),
            ({"left": 1.0}, None, None),
            ([1e300] * len(values), [1e300] * len(values), None),
            (values, None, now - self._rng.uniform(0.3, 5.0)),
            (values, None, now + self._rng.uniform(1.0, 100.0)),
            (values, None, math.nan),
            (values, None, now - 0.05),
        )
        values, meant, stamp = self._rng.choice(wrong)
        self._command(values, meant, stamp)

    # The end --------------------------------------------------------------------------------------------------------

    def _mend(self) -> None:
        """Everything is mended; the documented remedy; then it has to work."""
        self._faults.end()
        self._all_well, self._calls = False, []
        end = self.world.now + MENDING
        self._live_until(self.world.now + SETTLING, streams=False)
        while self.world.now < end and not self._session.connected:
            self._live_until(self.world.now + 0.1, streams=False)
        if not self._session.connected and not self._remedy("connect", must=True):
            return
        self._remedy("clear_stop")
        if not self._session.active and not self._remedy("activate", must=True):
            return
        self._live_until(self.world.now + 0.3, streams=False)
        if self._enable():
            self._follow()

    def _enable(self) -> bool:
        """A person does what a refusal says, and tries again after a while."""
        for _ in range(ATTEMPTS):
            self._let_air_out()
            self._vent()
            if self._remedy("enable"):
                return True
            self._live_until(self.world.now + SETTLING, streams=False)
        return self._remedy("enable", must=True)

    def _let_air_out(self) -> None:
        """By hand, where a fault asks for it, and where a sensor was repaired that its pump went on without.

        As the fault says, with the supply closed: an open one fills a chamber again to what it is vented from, faster
        than anybody can measure that it is empty.
        """
        status, chambers = self._try("status"), self.world.device.chambers
        asked = status is not None and any("by hand" in fault for fault in status.faults)
        if asked or any(chambers.uncontrolled):
            chambers.supplied = False
            chambers.pressures = [min(pressure, self._case.limits.vented) for pressure in chambers.pressures]
            self._live_until(self.world.now + LETTING_OUT, streams=False)
            chambers.supplied = True

    def _remedy(self, name: str, must: bool = False) -> bool:
        accepted, answer = self._attempt(name)
        self.judge.called(name, accepted, answer, True)
        if must and not accepted:
            self.judge.fail("not recovered", f"{name} is refused: {answer}")
        return accepted

    def _vent(self) -> None:
        """A person waits until the chambers are vented before they enable again."""
        limits = self._case.limits
        left = max(abs(pressure - limits.vented) for pressure in self.world.device.chambers.pressures)
        self._live_until(self.world.now + max(0.0, left) / limits.vent_rate + 0.3, streams=False)

    def _follow(self) -> None:
        limits, world = self._case.limits, self.world
        low, high = limits.pressure
        bottom = low if self._case.campaign == "valves_vacuum" else limits.vented
        target = [self._rng.uniform(bottom, high) for _ in range(self._case.count)]
        far = max(abs(value - truth) for value, truth in zip(target, world.device.chambers.pressures, strict=True))
        end = world.now + far / limits.rate + 2.0 * limits.rate / limits.acceleration + 0.7
        while world.now < end:
            begun = world.now
            self._command(target, target)
            self._turn()
            world.advance(max(0.001, begun + TICK - world.now))
        truths = world.device.chambers.pressures
        if any(abs(value - truth) > FOLLOWING for value, truth in zip(target, truths, strict=True)):
            kind = "does not follow" if self._case.healthy else "not recovered"
            self.judge.fail(kind, f"commanded {target}, the chambers have {truths} Pa; {self._words()}")

    def _words(self) -> str:
        status = self._try("status")
        return f"state '{status.state.value}', mode '{status.mode}', faults {status.faults}" if status else "no status"

    def _farewell(self) -> None:
        if self._rng.random() < 0.7:
            self._call("close")


class _Over(BaseException):
    """The case cannot go on; nothing in the code under test is meant to catch it."""
