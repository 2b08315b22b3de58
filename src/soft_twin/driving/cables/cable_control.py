"""Everything a cable driver decides, without its bus and its thread: modes, watchdog, limits, faults, currents."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from soft_twin.descriptions.drives import CableDrive
from soft_twin.driving.cables.c610 import Feedback
from soft_twin.driving.cables.current_watch import CurrentLimits, CurrentWatch
from soft_twin.driving.cables.friction import SoftFriction
from soft_twin.driving.cables.gain_margin import check_gains
from soft_twin.driving.cables.homing import HomingParameters, SlackTakeUp, WinchMotion
from soft_twin.driving.cables.motion_memory import MotionMemory
from soft_twin.driving.cables.motors import MotorReadings
from soft_twin.driving.cables.rate_changes import RateChanges
from soft_twin.driving.cables.rate_forecast import RateForecast
from soft_twin.driving.cables.rotor import LONGEST_LOOK
from soft_twin.driving.cables.stiff_friction import StiffFriction
from soft_twin.driving.cables.supervision import DirectionProbe, Motion, Supervision, SupervisionLimits
from soft_twin.driving.cables.winch import winch_of
from soft_twin.driving.cables.winch_control import ControlGains, Wanted, WinchControl
from soft_twin.driving.control import POSITION, ActuatorControl
from soft_twin.driving.limits import cable_limiter
from soft_twin.driving.states import Command, State, require
from soft_twin.errors import DeviceError

LIMP = "limp"
HEARD = 0.05  # [s] older feedback does not say where a cable is that is to be homed
AT_REST = 0.02  # [m/s] feedback is some milliseconds old, and the zero of a faster cable not known to 0.2 mm
MOST_PULL = 1.0  # [A] on the usual drum: a cable that may pull by more is told from friction
LONGEST_SPAN = 0.02  # [s] between two commands of a stream
LONGEST_STEP = 0.02  # [s] of motion in one tick, however late it comes
DELAY_MEMORY = 1.0  # [s] of a line whose feedback is late again and again, at the most
HABIT = 3.0  # times as long as late feedback was apart, it is expected to come again
LONGEST_DELAY = 0.1  # [s] that the control can live with
TOLERATED_GAP = 0.012  # [s] in the feedback, that the control does not mind
UNMINDED_DELAY = 0.02  # [s] of the feedback; beyond, the cables move more slowly
LEAD, FULL_LEAD = 0.8e-3, 1.3e-3  # [m] that a motion may have on its cable, before and until it waits for it …
WAITING = 0.6  # … at this share of the limit of its rate
BEHIND = 0.05  # [s] of the limit of its rate: on drums that wind in more in a turn, leads may be longer up to that way


@dataclass(frozen=True)
class DriverParameters:
    """How a cable driver behaves, beyond what the robot's description says.

    Attributes:
        rate: ticks per second [Hz].
        hold_after: without a command for so long the cables hold [s].
        relax_after: without a command for so long the cables are relaxed [s].
        coast_after: a motor whose feedback is older, or may be, gets what holds its cable, and no current once it was
            listened to in vain for as long [s].
        silent_after: a motor without feedback for so long is a fault [s].
        tension_lag: time constant of the tension estimate [s].
        gains: of the position control.
        supervision: when a motor is at fault.
        delivery: when a motor does not give its current.
        homing: how slack is taken up.
        probe: whether the first enabling, and the first after a fault, tries each motor's direction by a moment of
            small current.
    """

    rate: float = 250.0
    hold_after: float = 0.1
    relax_after: float = 1.0
    coast_after: float = 0.02
    silent_after: float = 0.25
    tension_lag: float = 0.05
    gains: ControlGains = field(default_factory=ControlGains)
    supervision: SupervisionLimits = field(default_factory=SupervisionLimits)
    delivery: CurrentLimits = field(default_factory=CurrentLimits)
    homing: HomingParameters = field(default_factory=HomingParameters)
    probe: bool = True


@dataclass(frozen=True)
class CableState:
    """The cables as their driver knows them; arrays are in the order of the robot's cables.

    Attributes:
        time: when it was known, in the driver's clock [s].
        displacements: (c,) measured, > 0 is wound in [m].
        tensions: (c,) estimated from the motors' currents [N].
        currents: (c,) measured, > 0 winds in [A].
        enabled: whether the motors may carry current.
        mode: "limp", "position unknown", "active", "hold" (no recent command), "homing", "stopped" (latched), "fault".
        faults: what is or was wrong, named, since the last enable or relax.
        counters: how often limits bound and things went wrong.
        warning: what may be wrong with the newest command, which is obeyed; empty if nothing is.
    """

    time: float
    displacements: np.ndarray
    tensions: np.ndarray
    currents: np.ndarray
    enabled: bool
    mode: str
    faults: tuple[str, ...]
    counters: dict[str, float]
    warning: str

    @property
    def positions(self) -> np.ndarray:
        """(c,) the coordinates that are commanded [m]."""
        return self.displacements

    @property
    def efforts(self) -> np.ndarray:
        """(c,) [N]."""
        return self.tensions


class CableControl(ActuatorControl):
    """Cable displacements held by motors, safely: `update` in, currents out, all times handed in.

    Limp until enabled, and not enabled before they are homed. Enabled, the cables go to the last command, within
    limits.
    """

    actuators = "motors"
    relaxed = LIMP
    has_position = True

    def __init__(self, drive: CableDrive, parameters: DriverParameters | None = None):
        self.parameters = parameters or DriverParameters()
        limiter = cable_limiter(drive.cable_names, drive.cable_limits)
        super().__init__(limiter, self.parameters.hold_after, self.parameters.relax_after)
        self.motor_ids = [cable.motor_id for cable in drive.cables]
        self._names = drive.cable_names
        self._winch = winch_of(drive)
        leverage = self._winch.leverage
        gains, count = self.parameters.gains.levered(leverage), len(self._names)
        highest = drive.winch.current_limit / gains.inertia  # [m/s²]
        self._readings = MotorReadings(self.motor_ids, self._winch, highest, self.parameters.silent_after)
        self._response = self._readings.response()
        self._limits = drive.cable_limits
        self._offsets = np.array([cable.offset for cable in drive.cables])
        self._period = 1.0 / self.parameters.rate
        self._memory = MotionMemory(len(self._names))
        self._changes = RateChanges(len(self._names), self._period)
        holding = float(np.max(drive.cable_limits.tension[1] / self._winch.force(1.0)))  # [A]
        self._feels_pulls = holding > leverage * MOST_PULL
        self._control = WinchControl(
            count, drive.winch.current_limit, drive.cable_limits.rate, gains, holding, self._feels_pulls
        )
        friction = StiffFriction if self._feels_pulls else SoftFriction
        self._gains, self._friction = gains, friction(count, gains.friction, gains.inertia, leverage)
        self._forecast = RateForecast(len(self._names), gains.inertia)
        self._delivery = CurrentWatch(self.parameters.delivery, len(self._names))
        self._told = np.zeros(len(self._names))
        spring_back = holding / (gains.position * gains.rate)
        unfelt = 0.0 if self._feels_pulls else holding
        supervised, limits = self.parameters.supervision, drive.cable_limits
        longer = max(1.0, min(1.0 / leverage, BEHIND * limits.rate / supervised.following_error))
        supervised = replace(supervised, following_error=longer * supervised.following_error)
        self._lead, self._full_lead = longer * LEAD, longer * FULL_LEAD
        self._supervision = Supervision(supervised, limits, count, spring_back, unfelt, leverage)
        self._take_up: SlackTakeUp | None = None
        self._homing_share = self.parameters.homing.rate / drive.cable_limits.rate
        self._probe: DirectionProbe | None = None
        self._probed = not self.parameters.probe
        self._accused = np.zeros(count, dtype=bool)  # of having turned against their currents, and not answered since
        self._coasted = np.zeros(len(self._names), dtype=bool)
        self._leads = np.zeros(len(self._names))  # of the motions on their cables, when the feedback was measured [m]
        self._jumps_seen = self._losses_seen = np.zeros(len(self._names), dtype=int)
        self._counters.update(current=0, coasting=0, powerless=0)
        self._target = self._origin = np.zeros(len(self._names))
        self._span, self._asked = 0.0, False  # whether the target is a command's
        self._listened = np.zeros(len(self._names))  # for feedback that is overdue [s]
        self._let_loose = np.zeros(len(self._names), dtype=bool)  # for lack of feedback at the last tick
        self._pulls = self._newest_pulls = np.zeros(len(self._names))  # see _estimate_pulls [N]
        self._uptime = 0.0
        self._delays = np.full(len(self._names), self.parameters.gains.delay)
        self._since_gap, self._apart = np.full(len(self._names), np.inf), np.zeros(len(self._names))

    @property
    def up_to_date(self) -> bool:
        """Whether all has been heard that the motors have told of until now."""
        return bool(self._readings.owed.max() < TOLERATED_GAP)

    def tune(self, gains: ControlGains) -> None:
        """Go on by these gains for position and rate, also while the cables move.

        Raises:
            InputError: winches might swing by them; nothing changes.
        """
        check_gains(gains)
        self.parameters, self._gains = replace(self.parameters, gains=gains), gains.levered(self._winch.leverage)
        self._control.tune(self._gains)

    def home(self) -> None:
        """Let the cables' present positions be their offsets: displacement 0, unless the description says another.

        Raises:
            DeviceError: the motors are enabled or stopped, one of them is silent or heard late, or cables still move.
        """
        require(self.condition, Command.HOME, self.actuators)
        self._require_whole()
        self._require_rest()
        self._readings.set_zero(self._offsets)
        self._find_position()

    def assume_taut_here(self) -> None:
        """As `home`, but only where the position is not known.

        Raises:
            DeviceError: the position is known, or as for `home`.
        """
        require(self.condition, Command.ASSUME_TAUT_HERE, self.actuators)
        self.home()

    def take_up_slack(self) -> None:
        """Wind every cable in until it is just taut, and let that be home; then hold.

        The position is unknown from here until it is done: an interrupted homing has to be done again.

        Raises:
            DeviceError: the motors are enabled or stopped, or one of them is silent.
        """
        require(self.condition, Command.TAKE_UP_SLACK, self.actuators)
        self._require_whole()
        self._known = False
        self._take_up = None
        self._drive(State.HOMING)

    def update(self, feedback: Iterable[Feedback], dt: float) -> dict[int, float]:
        """Take the feedback of the last `dt` seconds; the current of each motor, {motor id: A}."""
        self._counters["ticks"] += 1
        self._uptime += dt
        self._command_age += dt
        gaps = self._readings.ages + dt
        self._readings.update(feedback, dt, self._told)
        self._response = self._readings.response()
        self._estimate_pulls()
        self._estimate_delays(dt, gaps)
        self._foresee(dt)
        self._watch()
        currents = self._currents(min(dt, LONGEST_STEP))
        return dict(zip(self.motor_ids, (self._winch.direction * currents).tolist(), strict=True))

    def state(self, time: float) -> CableState:
        """The state as of the last update, stamped with `time` [s]."""
        readings = self._readings
        counters = {**self._counters, **self._limiter.counters, "foreign": readings.foreign}
        return CableState(
            time=time,
            displacements=readings.displacements,
            tensions=self._tensions,
            currents=readings.currents,
            enabled=self.enabled,
            mode=self.mode,
            faults=tuple(self._faults.values()),
            counters={**counters, "jumps": int(readings.jumps.sum()), "losses": int(readings.losses.sum())},
            warning=self.warning,
        )

    def _head_for(self, target: np.ndarray) -> None:
        self._origin, self._span = self._between(), min(self._command_age, LONGEST_SPAN)
        self._target, self._asked = target, True

    def _stay(self) -> None:
        self._aim(self._limiter.positions)

    def _start(self) -> None:
        self._aim(self._readings.displacements)
        self._restart()
        self._probe = None if self._probed else DirectionProbe(self._accused)

    def _lasting_faults(self) -> list[str]:
        return self._missing()

    def _fault(self, key: str, text: str) -> None:
        self._probed = not self.parameters.probe  # whatever it was, the motors may not be what they were
        super()._fault(key, text)

    def _lose_position(self, reason: str) -> None:
        self._probed = not self.parameters.probe
        super()._lose_position(reason)

    def _let_go(self) -> None:
        if self._driven is State.HOMING:
            self._limiter.allow(*self._limits.displacement)
            self._note(POSITION, "homing was interrupted: the position is unknown, home the motors")
        super()._let_go()

    def _currents(self, dt: float) -> np.ndarray:
        """(c,) currents that wind in [A]."""
        if not self.enabled:
            self._told = np.zeros(len(self._names))
            return self._told
        if not self._readings.timed:  # a rotor that turns now may do so unseen
            self._interrupt(np.ones(len(self._names), dtype=bool))
            self._told = np.zeros(len(self._names))
            return self._told
        if self._probe is not None:
            return self._probe_currents(dt)
        powerless = self._watch_delivery(dt)
        stale = self._stale
        if stale.any():
            self._counters["coasting"] += 1
        blind = self._blind(stale, dt)
        self._begin_anew(stale, blind, powerless, dt)
        if self.condition is State.HOMING:
            self._find_taut(dt)
        rates = self._rate_share() * self._limits.rate * self._waiting_shares()
        self._limiter.advance(self._between(), rates, self._limits.acceleration, dt)
        self._memory.advance(self._limiter.positions, self._limiter.rates, dt)
        wanted = self._wanted(self._changes.update(self._limiter.accelerations, dt))
        readings = self._readings
        expected = self._forecast.rates, self._forecast.soon
        currents = self._control.update(wanted, readings.displacements, readings.rates, expected, dt)
        self._counters["current"] += int(self._control.limited.any())
        currents = np.where(stale, np.where(blind, 0.0, self._holding_currents), currents)
        self._leads = np.where(stale, 0.0, wanted.displacements_then - readings.displacements)
        self._told = np.zeros(len(self._names)) if self._supervise(self._leads, dt) else currents
        if self.condition is State.HOMING:  # still: what a motor that is at fault has wound in is no zero
            self._let_taut_be_home()
        return self._told

    def _begin_anew(self, stale: np.ndarray, blind: np.ndarray, powerless: np.ndarray, dt: float) -> None:
        """Begin new motions of cables (c,) that were interrupted; those that were not let go are held from then on."""
        interrupted = stale | self._coasted | powerless | (dt >= LONGEST_STEP)
        if interrupted.any():
            self._interrupt(interrupted)
            if not self._feels_pulls:  # else they are fed forward
                self._control.hold(interrupted & ~(blind | self._let_loose | powerless), self._holding_currents)
        self._coasted, self._let_loose = stale, blind

    @property
    def _stale(self) -> np.ndarray:
        """(c,) bool: motors whose feedback is too old, or may be."""
        return np.maximum(self._readings.ages, self._readings.owed) >= self.parameters.coast_after

    def _blind(self, stale: np.ndarray, dt: float) -> np.ndarray:
        """(c,) bool: motors that this host has listened to in vain, or for what is owed of them, for too long.

        A host that was halted itself has not: what it has missed comes within milliseconds. A cable that is let go for
        that long, under its tension, may turn its winch unseen.
        """
        self._listened = np.where(stale, self._listened + min(dt, LONGEST_LOOK), 0.0)
        return np.maximum(self._readings.unheard, self._listened) >= self.parameters.coast_after

    @property
    def _holding_currents(self) -> np.ndarray:
        """(c,) what holds the cables against what they pulled by last [A]."""
        return np.minimum(self._tensions / self._readings.pull_per_current, self._winch.description.current_limit)

    def _foresee(self, dt: float) -> None:
        """How fast the cables are by now."""
        readings, friction = self._readings, np.minimum(self._friction.counted, self._gains.friction)
        self._forecast.update(readings.rates, readings.ages == 0.0, self._told, friction, readings.period, dt)

    def _interrupt(self, where: np.ndarray) -> None:
        """Begin a new motion where the cables are, in those where `where` (c,) is true."""
        self._limiter.restart(where, self._readings.displacements)
        self._leads = np.where(where, 0.0, self._leads)
        self._memory.restart(where, self._readings.displacements)
        self._changes.restart(where)
        self._control.restart(where)

    def _rate_share(self) -> float:
        """Share of the allowed rate: all of it, unless the feedback comes so late that cables move blindly too far.

        Slack is taken up so slowly that no delay matters; and winches that change their pace feel as if cables were
        taut.
        """
        if self.condition is State.HOMING:
            return min(1.0, self._homing_share)
        delay = float(self._delays.max())
        return 1.0 if delay <= UNMINDED_DELAY else self.parameters.gains.delay / delay

    def _waiting_shares(self) -> np.ndarray | float:
        """(c,) shares, or one for all, of the rates at which motions go on.

        Much friction makes cables slower than their motions, and one that is over would brake a cable that is still
        under way.
        """
        if np.abs(self._leads).max() <= self._lead:
            return 1.0
        leads = np.sign(self._limiter.rates) * self._leads
        return np.interp(leads, (self._lead, self._full_lead), (1.0, WAITING))

    def _wanted(self, accelerations: np.ndarray) -> Wanted:
        """What the motion wants now, by these accelerations (c,) [m/s²], and when the newest feedback was measured."""
        nominal = self.parameters.gains.delay
        return Wanted(
            self._limiter.rates,
            accelerations,
            *self._memory.at(nominal + self._readings.ages),
            friction=self._friction.values,
            counted=self._friction.counted,
            trust=np.minimum(1.0, nominal / self._delays),
            pulls=self._pull_currents,
            newest_pulls=(self._newest_pulls / self._readings.pull_per_current).clip(0.0, self._pull_currents),
        )

    def _between(self) -> np.ndarray:
        """(c,) between the last two commands [m]: a stream of them is a line, not stairs."""
        share = min(1.0, self._command_age / self._span) if self._span > 0.0 else 1.0
        return self._origin + share * (self._target - self._origin)

    def _aim(self, displacements: np.ndarray) -> None:
        """Head for these displacements (c,) [m] from now on."""
        self._target = self._origin = displacements
        self._asked = False

    def _probe_currents(self, dt: float) -> np.ndarray:
        if (self._accused & self._stale).any():  # unheard, and asked by more and more, it would run
            self._probe = DirectionProbe(self._accused)
            return np.zeros(len(self._names))
        if self._probe.waits(self._readings.displacements, self._readings.rates, dt):
            return np.zeros(len(self._names))
        pushes = self._probe.pushes(self._readings.displacements, self._readings.currents, dt)
        if not self._probe.judged:
            self._accuse_backwards()
        if pushes.any():
            return pushes * self.enabled
        if not self._probe.judged:
            self._judge_probe()
        if self._probe.over or not self.enabled:
            self._probed = self.enabled
            if not self._asked:
                self._aim(self._probe.start)  # they may have sunk until it began
            self._probe = None
            self._restart()
        return np.zeros(len(self._names))

    def _judge_probe(self) -> None:
        """How easily did the motors turn?"""
        self._probe.judged = True
        self._accused &= ~self._probe.forwards(self._readings.displacements)
        impulses, ways = self._probe.push(self._readings.displacements)
        self._friction.learn_from_push(impulses, self._readings.rates, ways)

    def _accuse_backwards(self) -> None:
        """Do the motors turn the way they should? A cable that unwinds meanwhile goes far while that is asked."""
        for i in self._probe.backwards(self._readings.displacements):
            self._accused[i] = True
            self._fault_of(i, "answers backwards: check the winding direction and the motor's phases")

    def _require_rest(self) -> None:
        stale = np.flatnonzero(np.maximum(self._readings.ages, self._readings.owed) > HEARD)
        if len(stale):
            which = ", ".join(f"{self._motor(i)} {self._readings.ages[i]:.2f} s ago" for i in stale)
            raise DeviceError(f"heard last of {which}: home it once it is heard again; check the bus")
        if len(moving := self._moving()):
            which = ", ".join(f"{self._names[i]} at {1e3 * self._readings.rates[i]:+.0f} mm/s" for i in moving)
            raise DeviceError(f"cables still move, {which}: hold the robot still, then home it")

    def _moving(self) -> np.ndarray:
        """Indices of the cables that are too fast for a zero."""
        return np.flatnonzero(np.abs(self._readings.rates) > AT_REST)

    def _find_taut(self, dt: float) -> None:
        """Wind on until all cables are taut."""
        displacements = self._readings.displacements
        if self._take_up is None:
            pace = min(self.parameters.homing.rate, self._limits.rate)
            winches = self._gains.inertia, self._winch.leverage
            self._take_up = SlackTakeUp(self.parameters.homing, displacements, pace, *winches)
            self._limiter.allow(-np.inf, np.inf)  # nothing is known of the limits' zero; the travel is the limit
        readings, (currents, rates, _) = self._readings, self._response
        motion = WinchMotion(
            fresh=readings.ages == 0.0,
            heard=readings.ages < self.parameters.coast_after,
            newest_rates=readings.rates,
            rates=rates,
            currents=currents,
            told=self._told,
            spans=readings.spans,
        )
        self._aim(self._take_up.update(displacements, motion, readings.pull_per_current, dt))
        if self._take_up.turned:
            self._begin()
        for i in self._take_up.lost(displacements):
            travel = f"{1e3 * self.parameters.homing.travel:g} mm"
            self._fault_of(
                i, f"found no tension within {travel}: put its cable on the drum, fix it to the robot, then home again"
            )
        for i in self._take_up.rough():
            needs = f"needs {self._take_up.free_currents()[i]:.2f} A to wind in freely"
            self._fault_of(i, f"{needs}: so much friction hides the tension; free its drum and its cable, or use home")

    def _let_taut_be_home(self) -> None:
        """Hold on to it, once all cables are taut for sure, and at rest."""
        if not self._take_up.found or len(self._moving()):
            return
        self._readings.set_zero(self._readings.displacements - self._target + self._offsets)
        self._find_position()
        self._limiter.allow(*self._limits.displacement)
        self._driven, self._holding, self._command_age = State.ACTIVE, True, 0.0
        self._aim(self._offsets)
        self._begin()

    def _supervise(self, errors: np.ndarray, dt: float) -> bool:
        """Look whether the cables follow; True if one of them is at fault."""
        currents, rates, accelerations = self._response
        if self.condition is State.ACTIVE:  # while homing, tension must not be taken for friction
            self._friction.update(currents, rates, accelerations, self._readings.spans)
        force_per_current, bounds = self._readings.pull_per_current, self._readings.acceleration_bounds
        pulls, friction = self._pull_currents, self._friction.sure
        motion = Motion(errors, rates, bounds, currents, pulls, friction, dt, self._readings.spans)
        for i, text in self._supervision.check(motion, force_per_current):
            self._accused[i] |= self._supervision.contrary[i]
            self._fault_of(i, text)
        for i in self._delivery.failed():
            self._fault_of(i, "gives no current: check its supply, let it cool, then enable again")
        return not self.enabled

    def _watch_delivery(self, dt: float) -> np.ndarray:
        """(c,) bool: motors that do not give their current, named; they start anew from where they are."""
        if self._readings.late.any():
            self._delivery.reset()
        powerless = self._delivery.update(self._told, self._readings.currents, dt)
        if powerless.any():
            self._counters["powerless"] += 1
        for i in np.flatnonzero(powerless):
            self._note(f"power of {self._motor(i)}", f"{self._motor(i)} gave no current for a moment; check its supply")
        return powerless

    def _restart(self) -> None:
        """Begin a motion from where the cables are."""
        self._begin()
        self._friction.restart()
        self._control.reset()
        self._supervision.reset()
        self._delivery.reset()
        self._told = np.zeros(len(self._names))

    def _begin(self) -> None:
        """Be at rest where the cables are."""
        self._limiter.reset(self._readings.displacements)
        self._leads[:] = 0.0
        everywhere = np.ones(len(self._names), dtype=bool)
        self._memory.restart(everywhere, self._readings.displacements)
        self._changes.restart(everywhere)

    def _watch(self) -> None:
        """Go to the mode that the ages of commands and feedback ask for."""
        if self._uptime > self.parameters.silent_after:
            for text in self._missing():
                self._fault(text.split(":")[0], text)
        self._watch_positions()
        self._watch_commands()

    def _watch_positions(self) -> None:
        readings = self._readings
        jumped, unseen = readings.jumps - self._jumps_seen, readings.losses - self._losses_seen
        self._jumps_seen, self._losses_seen = readings.jumps.copy(), readings.losses.copy()
        if jumped.any():
            names = ", ".join(self._motor(i) for i in np.flatnonzero(jumped))
            self._lose_position(f"{names}: angle jumped; broken encoder or two motors with one id; home the cables")
        elif unseen.any():
            names = ", ".join(self._motor(i) for i in np.flatnonzero(unseen))
            self._lose_position(f"{names}: turned unseen while feedback was lost; home the cables")

    def _motor(self, cable: int) -> str:
        return f"motor {self.motor_ids[cable]} ({self._names[cable]})"

    def _missing(self) -> list[str]:
        limit = self.parameters.silent_after
        if self._readings.unheard.max() <= limit:
            return []
        return [
            f"{self._motor(i)}: no feedback for {limit:g} s; check its power, its id, and the bus and its bit rate"
            for i in np.flatnonzero(self._readings.unheard > limit)
        ]

    def _fault_of(self, cable: int, text: str) -> None:
        self._fault(self._motor(cable), f"{self._motor(cable)} {text}")

    def _estimate_delays(self, dt: float, gaps: np.ndarray) -> None:
        """The feedback's age when it is used grows with the longest recent gap in it."""
        nominal = self.parameters.gains.delay
        minded = np.isfinite(gaps) & (gaps > TOLERATED_GAP)
        memory = self._delay_memory(minded, dt)
        fading = nominal + (self._delays - nominal) * np.exp(-dt / memory)
        known = np.where(minded, np.minimum(gaps, LONGEST_DELAY), nominal)
        self._delays = np.maximum(fading, known)

    def _delay_memory(self, minded: np.ndarray, dt: float) -> np.ndarray:
        """(c,) for how long [s] a delay is remembered, where gaps are `minded` (c,) now: hardly, if it is the first.

        Feedback that is on time again is believed to stay so: who is careful after a halt of this host lets cables run
        on that want to be caught. How far gaps lie apart is remembered for as long as they are expected to come again.
        """
        again = minded & (self._since_gap < DELAY_MEMORY)
        self._apart = np.where(again, np.maximum(self._apart, self._since_gap), self._apart)
        self._since_gap = np.where(minded, 0.0, self._since_gap + dt)
        memory = np.clip(HABIT * self._apart, self.parameters.gains.delay, DELAY_MEMORY)
        self._apart = np.where(self._since_gap < memory, self._apart, 0.0)
        return memory

    @property
    def _tensions(self) -> np.ndarray:
        """(c,) estimated [N]; a cable never pushes."""
        return np.maximum(self._pulls, 0.0)

    @property
    def _pull_currents(self) -> np.ndarray:
        """(c,) currents that hold what the cables pull by [A]; 0 where that is too little to be told from friction."""
        return self._tensions / self._readings.pull_per_current * self._feels_pulls

    def _estimate_pulls(self) -> None:
        """Low-passed pull of the motors, less what friction and inertia ask for; where that is not known it stays.

        A motor that is not driven pulls by its current alone: what turns it is the cable, or nothing.
        """
        readings = self._readings
        currents, rates, accelerations = self._response
        if self.enabled:
            most = np.inf if self._feels_pulls else self._gains.friction  # else weak pulls are taken for some
            friction = np.minimum(self._friction.values, most)
            currents = currents - friction * rates - self._gains.inertia * accelerations
        newest = readings.pull_per_current * currents
        self._newest_pulls = np.where(np.isnan(newest) | (readings.spans == 0.0), self._newest_pulls, newest)
        share = np.minimum(1.0, readings.spans / self.parameters.tension_lag)
        self._pulls = self._pulls + (self._newest_pulls - self._pulls) * share
