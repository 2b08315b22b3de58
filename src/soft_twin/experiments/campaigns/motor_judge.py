"""The motors' judge: see motors.py for its rules. It sees bytes, the winches themselves, and what the user is told."""

import math
import re
from collections import deque

import numpy as np

from soft_twin.experiments.campaigns.base import Violation
from soft_twin.experiments.campaigns.devices.c610 import BITRATE, FRAME_BITS, currents_of
from soft_twin.experiments.campaigns.devices.winches import LOCKED, POWER, TORQUE
from soft_twin.experiments.campaigns.motor_world import MotorWorld

QUIET = {"away", "limp", "position unknown", "ready", "stopped", "fault"}  # states in which nothing may be driven
REMEDIES = re.compile(
    r"home|enable|clear_stop|assume|activate|connect|configure|check|plug|power|wait|look|mount|swap|direction|"
    r"expected|send|wind|free|start|again|let|turn|give|newer|repair|cool|lower|slower|first|call|clocks|needs |"
    r"for \d+ cables",
    re.IGNORECASE,
)
ABOUT_COMMANDS = re.compile(r"(no )?command", re.IGNORECASE)  # of the user; they name nothing of the robot

TICK = 0.004  # [s] between two looks at the physics
BEYOND = 0.001  # [m] beyond the limits of displacement, see motors.py
FAST, FAST_OFFSET = 1.75, 0.005  # times the limit, and [m/s], see motors.py
DRIVEN = 0.02  # [s] after a current, a motor counts as driven
OFF = 0.0005  # [m] between what is true and what is told
OFF_TIME = 0.35  # [s] within which a position that is off has to be named
MEMORY = 0.06  # [s] of true positions among which what is told may lie
WATCHDOG, WATCHDOG_SLACK = 1.0, 0.012  # [s] after the last command
SILENCE = 0.5  # [s] of a motor or of the adapter until it has to be named
FOLLOWED, FOLLOW_TIME = 0.002, 0.45  # [m], and [s] on top of the way at the limit of the rate
BUS_WINDOW, BUS_FULL = 0.1, 0.9  # [s], share of the bits
STALE, FUTURE = 0.2, 0.5  # [s]
MOTOR_PATIENCE = 0.2  # [s] a motor that hears nothing lets go
HOMING_WAY, HOMING_TIME = 0.0002, 1.5  # [m], [s]
WRONG_WAY = 0.0015  # [m] that a motor may drive a cable against its current
TAUT = 0.0005  # [m] of slack that may be left where "taut" is told
REVERSAL_TIME = 0.06  # [s] a reversed motor may run until it is named


class MotorJudge:
    """Watches one case.

    Attributes:
        violations: found so far, one of each kind.
    """

    def __init__(self, world: MotorWorld):
        case = world.case
        self._world, self._case = world, case
        self._limits, self._ceiling = case.robot.cable_limits, case.robot.winch.current_limit
        self._index = {winch.motor_id: i for i, winch in enumerate(case.winches)}
        self._offsets = np.array([cable.offset for cable in case.robot.cables])
        count = len(case.winches)
        self.violations: list[Violation] = []
        self._kinds: set[str] = set()
        self._tick = 0
        # what the user has asked for, and was granted
        self.latched = False
        self.connected = case.autostart
        self.active = case.autostart
        self._enabled_at = -1  # tick; −1: not enabled
        self._enabled_time = self._fed = 0.0
        self._homing = False
        self._zero: np.ndarray | None = None  # lengths [m] that are displacement `offset`
        self._zero_sure = True
        self._unknown = False  # told so, and not homed since
        self._left_alone = case.autostart  # nobody has deactivated or disconnected what starts by itself
        self._homing_since, self._homing_from = math.nan, np.zeros(count)
        self._wrong_way = np.zeros(count)
        self._quiet_since: int | None = None
        # what is seen
        self._driven, self._deaf_until = np.full(count, -1.0), np.full(count, -1.0)
        self._past: deque[tuple[float, np.ndarray]] = deque()
        self._outer = np.full(count, np.inf), np.full(count, -np.inf)
        self._off_since = np.full(count, np.nan)
        self._unplugged_since = self._silent_since = math.nan
        self._reversed_at = np.full(count, np.nan)
        self._target: np.ndarray | None = None
        self._target_since = self._target_way = self._commanded = 0.0
        self._newest_stamp = -math.inf
        self._frames, self._window = 0, 0.0
        self._told_state = ""
        self._plugged = True
        world.adapter.on_command = self._watch(world.adapter.on_command)

    # ---- what the wire says

    def _watch(self, hear):
        def on_command(can_id: int, data: bytes, extended: bool) -> None:
            self._frames += 1
            self._on_frame(can_id, data, extended)
            hear(can_id, data, extended)

        return on_command

    def _on_frame(self, can_id: int, data: bytes, extended: bool) -> None:
        told = {} if extended else currents_of(can_id, data)
        now = self._world.clock.now
        if not told:
            self.found("strange frame", f"the host sent frame {can_id:#x} with {data.hex()}")
        for motor, current in told.items():
            if not current:
                continue
            if motor not in self._index:
                self.found("stranger driven", f"motor {motor}, which no cable has, was told {current:g} A")
                continue
            self._driven[self._index[motor]] = now
            if abs(current) > self._ceiling + 0.00051:
                self.found("current beyond limit", f"motor {motor} was told {current:g} A of {self._ceiling:.4g} A")
            self._check_leave(motor, current, now)

    def _check_leave(self, motor: int, current: float, now: float) -> None:
        what = f"motor {motor} was told {current:g} A"
        if self.latched:
            return self.found("stop undone", f"{what} while stop was latched")
        if not self.active:
            return self.found("driven while inactive", f"{what} while deactivated or disconnected")
        if self._homing:
            return None
        if self._zero is None:
            return self.found("driven without a zero", f"{what}, but nobody had homed it since its driver was started")
        if now - self._fed > WATCHDOG + WATCHDOG_SLACK:
            return self.found("current too late", f"{what} {now - self._fed:.3f} s after the last command")
        if self._enabled_at < 0 and not self._case.enable_when_active:
            return self.found("driven while not enabled", f"{what} without an accepted enable")
        if self._quiet_since is not None and self._tick > self._quiet_since + 2:
            return self.found("told untrue", f"{what} though the user was told '{self._told_state}'")
        return None

    # ---- what the user does

    def called(self, name: str, refusal: Exception | None) -> None:
        """A session's method was called; it did what it is for, or refused."""
        if refusal is not None:
            self._check_message(f"{name}() refused", str(refusal))
            if name == "stop":
                self.found("stop refused", str(refusal))
            return
        handler = getattr(self, "_did_" + name, None)
        if handler is not None:
            handler()

    def raised(self, name: str, error: BaseException) -> None:
        """Something came out of a call, a poll or a tick that no user is meant to see."""
        self.found("raw error", f"{name} raised {type(error).__name__}: {error}")

    def _did_stop(self) -> None:
        self.latched = True
        self._revoke()

    def _did_clear_stop(self) -> None:
        self.latched = False

    def _did_relax(self) -> None:
        self._revoke()

    def _did_deactivate(self) -> None:
        self.active, self._left_alone = False, False
        self._revoke()

    def _did_activate(self) -> None:
        self.active = True
        self._fed = self._world.clock.now

    def _did_disconnect(self) -> None:
        self.connected = self.active = self._left_alone = False
        self._forget()

    def _did_connect(self) -> None:
        self._silent_since = math.nan
        if not self.connected:
            self.active = self._case.autostart
        self.connected = True

    def _did_enable(self) -> None:
        if self._zero is None and not self._world.clock.now - self._unplugged_since < SILENCE:
            self.found("enabled without a zero", "enable was accepted, but the position is not known")
        if self._unknown:
            self.found(
                "enabled without a zero", "enable was accepted after 'position unknown', and nothing has homed it"
            )
        if self.latched:
            self.found("enabled while stopped", "enable was accepted while stop was latched")
        self._enable()

    def _did_take_up_slack(self) -> None:
        self._homing = True
        self._enable()

    def _did_home(self) -> None:
        self._set_zero("home")

    def _did_assume_taut_here(self) -> None:
        self._set_zero("assume_taut_here")

    def _enable(self) -> None:
        self._enabled_at, self._quiet_since = self._tick, None
        self._enabled_time = self._fed = self._target_since = self._world.clock.now

    def _revoke(self) -> None:
        self._enabled_at = -1
        if self._homing:
            self._homing, self._zero_sure = False, False

    def _forget(self) -> None:
        self._revoke()
        self._unknown = False  # by the new driver, whose zero is not known anyway
        self._zero, self._zero_sure = None, True

    def _set_zero(self, name: str) -> None:
        if self._silent() and self._world.clock.now - self._silent_since > SILENCE:
            self.found("homed blind", f"{name} was accepted {SILENCE:g} s after the last frame of a motor")
        self._unknown = False
        self._zero = self._world.winches.lengths()
        self._zero_sure = bool(np.all(np.abs(self._world.winches.rates()) < 0.002))
        self._homing = False
        self._off_since[:] = np.nan

    # ---- commands

    def commanded(self, values, stamp: float | None, usable: bool, refusal: Exception | None, counted: bool) -> None:
        """A command was given; `usable`: it is of the right kind and size, and finite."""
        now = self._world.clock.now
        if refusal is not None:
            self._check_message("command() refused", str(refusal))
            if not usable and not counted and not self._world_is_away():
                self.found("refusal not counted", f"command({values!r:.60}) was refused, but no counter grew")
            return
        if not usable:
            self.found("nonsense accepted", f"command({values!r:.60}) was accepted")
            return
        if stamp is not None:
            self._check_stamp(stamp)
        if now - self._fed <= WATCHDOG or self._enabled_at < 0:
            self._fed = now
        self._note_target(values, now)

    def _check_stamp(self, stamp: float) -> None:
        wall = self._world.clock.now + self._world.clock.offset
        if wall - stamp > STALE + 0.01:
            self.found("stale command accepted", f"a command {wall - stamp:.3f} s old was accepted")
        elif stamp - wall > FUTURE:
            self.found("stale command accepted", f"a command {stamp - wall:.3f} s from the future was accepted")
        elif stamp < self._newest_stamp - 1e-6 and self._newest_stamp <= wall + 0.01:
            self.found("disorder accepted", f"a command {self._newest_stamp - stamp:.3f} s older than the last one")
        self._newest_stamp = stamp

    def _note_target(self, values, now: float) -> None:
        target = np.clip(np.asarray(values, float), *self._limits.displacement)
        if self._target is None or np.any(np.abs(target - self._target) > 1e-9) or now - self._commanded > 0.1:
            self._target, self._target_since = target, now
            displacement = self._displacements()
            self._target_way = 0.02 if displacement is None else float(np.max(np.abs(target - displacement)))
        self._commanded = now

    # ---- time

    def host_was_halted(self) -> None:
        """The host did nothing for a while: what it could not see or say, starts anew."""
        self._off_since[:] = np.nan
        self._unplugged_since = self._silent_since = math.nan
        self._target_since = self._world.clock.now

    def tick_begins(self) -> None:
        self._tick += 1

    def look(self, status, error: BaseException | None) -> None:
        """What the user is told now, against what is true; to be called often."""
        if error is not None:
            return self.found("raw error", f"status() raised {type(error).__name__}: {error}")
        now = self._world.clock.now
        state, texts = state_of(status), tuple(str(fault) for fault in status.faults)
        for text in texts:
            self._check_message("a fault", text)
        faults = tuple(text for text in texts if not ABOUT_COMMANDS.match(text))
        self._note_world(now)
        self._note_state(state, faults, now)
        self._check_alarm(state, faults)
        self._check_losses(state, faults, now)
        self._check_latch(state, now)
        self._check_positions(status, state, faults, now)
        self._check_following(status, state, faults, now)
        self._told_state = state
        return None

    def physics(self) -> None:
        """The winches against their limits; to be called each tick."""
        now, winches = self._world.clock.now, self._world.winches
        displacement = self._displacements()
        self._note_deaf(now)
        driven = now - self._driven < DRIVEN
        driven &= now > self._deaf_until
        if displacement is not None and not self._homing and self._zero_sure:
            self._check_displacements(displacement, winches.rates(), driven, now)
        self._past.append((now, winches.lengths()))
        while self._past[0][0] < now - MEMORY:
            self._past.popleft()
        self._check_bus(now)
        self._check_senses(winches)
        if driven.any():
            self._check_rates(np.abs(winches.rates()), driven, now)

    def _note_deaf(self, now: float) -> None:
        """A motor that does not hear the host goes on for a while with what it was told last."""
        if self._world.adapter.line.lost_out or not self._world.adapter.plugged:
            self._deaf_until[:] = now + MOTOR_PATIENCE
        for i in self._world.controllers.deaf:
            self._deaf_until[i] = now + MOTOR_PATIENCE

    def _check_displacements(self, displacement, rates, driven, now: float) -> None:
        low, high = self._limits.displacement
        outer_low, outer_high = self._outermost(displacement, driven)
        above = driven & (displacement > outer_high + BEYOND) & (rates > 0.001)
        below = driven & (displacement < outer_low - BEYOND) & (rates < -0.001)
        for i in np.flatnonzero(above | below):
            if not self._excused(i, now):
                where = f"{1e3 * displacement[i]:.2f} mm of {1e3 * low:.2f}…{1e3 * high:.2f} mm"
                self.found("beyond displacement", f"cable {i + 1} is driven to {where}")

    def _outermost(self, displacement, driven) -> tuple[np.ndarray, np.ndarray]:
        """How far out cables may be: to the limits, or to where they were when or since they were driven."""
        low, high = self._limits.displacement
        lowest, highest = self._outer
        self._outer = (
            np.minimum(low, np.where(driven, np.maximum(lowest, displacement), displacement)),
            np.maximum(high, np.where(driven, np.minimum(highest, displacement), displacement)),
        )
        return self._outer

    def _check_rates(self, rates, driven, now: float) -> None:
        allowed = FAST * self._limits.rate + FAST_OFFSET
        for i in np.flatnonzero(driven & (rates > allowed)):
            if not self._excused(i, now):
                limit = 1e3 * self._limits.rate
                self.found("too fast", f"cable {i + 1} moves at {1e3 * rates[i]:.0f} mm/s, limit {limit:.0f} mm/s")

    def _check_senses(self, winches) -> None:
        """A motor whose torque is reversed drives its cable the wrong way until that is named."""
        senses = np.array([winch.direction for winch in self._case.winches])
        reversed_ = winches.health[:, TORQUE] < 0.0
        wrong = reversed_ & (np.abs(winches.wanted) > 0.05) & (winches.rates() * senses * winches.wanted < 0.0)
        self._wrong_way = np.where(wrong, self._wrong_way + np.abs(winches.rates()) * TICK, 0.0)
        for i in np.flatnonzero(self._wrong_way > WRONG_WAY):
            self.found("driven the wrong way", f"cable {i + 1} ran {1e3 * self._wrong_way[i]:.1f} mm")

    def _excused(self, i: int, now: float) -> bool:
        """A motor whose torque has just turned round, or that has just got another's id, runs away until that shows."""
        ids = self._world.controllers.ids
        if self._world.winches.health[i, TORQUE] > 0.0 and ids.count(self._case.winches[i].motor_id) == 1:
            self._reversed_at[i] = np.nan
            return False
        if math.isnan(self._reversed_at[i]):
            self._reversed_at[i] = now
        return now - self._reversed_at[i] < REVERSAL_TIME

    def _check_bus(self, now: float) -> None:
        if now - self._window < BUS_WINDOW:
            return
        powered = float(self._world.winches.health[:, POWER].sum())
        load = (self._frames / (now - self._window) + 1000.0 * powered) * FRAME_BITS / BITRATE
        if load > BUS_FULL and now - self._window < 2.0 * BUS_WINDOW:
            self.found("bus overfull", f"{100.0 * load:.0f} % of the bus, {self._frames} frames of the host")
        self._frames, self._window = 0, now

    # ---- told against true

    def _note_world(self, now: float) -> None:
        plugged = self._world.adapter.plugged
        if self._plugged and not plugged or self._world.adapter.bus is None:
            self._forget()
            if not self._case.autostart and self._plugged and not plugged:
                self.active = False
        self._plugged = plugged
        self._unplugged_since = math.nan if plugged else _earliest(self._unplugged_since, now)
        self._silent_since = _earliest(self._silent_since, now) if self._silent() else math.nan

    def _silent(self) -> bool:
        """Whether some motor's id is not heard on the bus at all."""
        world = self._world
        heard = {
            world.controllers.ids[i]
            for i in range(len(self._index))
            if world.winches.health[i, POWER] and i not in world.controllers.silent
        }
        return not set(self._index) <= heard or world.adapter.line.lost >= 1.0 or not world.adapter.plugged

    def _note_state(self, state: str, faults: tuple[str, ...], now: float) -> None:
        if self._homing and state not in ("homing",) and self._tick > self._enabled_at + 1:
            self._end_homing(state, faults)
        self._unknown |= state == "position unknown"
        if self._unknown and state in ("ready", "active"):
            self.found("told untrue", f"'{state}' after 'position unknown', and nothing has homed it")
        self._check_homing(state, faults, now)
        if state in QUIET:
            settled = self._enabled_at < 0 or self._tick > self._enabled_at + 2
            if settled and self._quiet_since is None:
                self._quiet_since = self._tick
                self._enabled_at = -1
        else:
            self._quiet_since = None

    def _check_homing(self, state: str, faults: tuple[str, ...], now: float) -> None:
        """Homing goes on, ends, or says what is wrong; it does not sit there."""
        lengths = self._world.winches.lengths()
        if state != "homing" or faults or np.any(np.abs(lengths - self._homing_from) > HOMING_WAY):
            self._homing_since, self._homing_from = math.nan, lengths
        self._homing_since = _earliest(self._homing_since, now)
        if now - self._homing_since > HOMING_TIME:
            self.found("homing sits", f"no cable has moved {1e3 * HOMING_WAY:g} mm for {HOMING_TIME:g} s")

    def _end_homing(self, state: str, faults: tuple[str, ...]) -> None:
        self._homing = False
        self._fed = self._world.clock.now
        if state not in ("active", "ready") or faults:
            self._zero_sure = False
            return
        slack = self._world.winches.slacks()
        for i in np.flatnonzero((slack > TAUT) & (self._world.winches.health[:, LOCKED] == 0.0)):
            self.found("told untrue", f"slack was taken up, but cable {i + 1} has {1e3 * slack[i]:.2f} mm left")
        self._unknown = False
        self._zero, self._zero_sure = self._world.winches.lengths(), True
        self._off_since[:] = np.nan

    def _check_alarm(self, state: str, faults: tuple[str, ...]) -> None:
        if self._world.begun or not self.connected:
            return
        if self._world.clock.now < 0.5:
            return
        for fault in faults:
            if not re.search(r"command|stop|not open|is closed|position is unknown", fault, re.IGNORECASE):
                self.found("false alarm", f"nothing was broken, but the user was told '{fault}'")
        if state == "fault" and not faults:
            self.found("mute message", "the state is 'fault', but no fault is named")

    def _check_losses(self, state: str, faults: tuple[str, ...], now: float) -> None:
        if not self.connected or faults or state in ("away", "fault"):
            return
        if now - self._unplugged_since > SILENCE:
            self.found("loss not named", f"unplugged for {SILENCE:g} s, but the user is told '{state}'")
        elif now - self._silent_since > SILENCE and self.active:
            self.found("silence not named", f"a motor silent for {SILENCE:g} s, but the user is told '{state}'")

    def _check_latch(self, state: str, now: float) -> None:
        if self.latched and state in ("active", "homing", "ready", "limp"):
            self.found("told untrue", f"stop is latched, but the user is told '{state}'")

    def _check_positions(self, status, state: str, faults: tuple[str, ...], now: float) -> None:
        known = self._zero is not None and self._zero_sure and not self._homing
        if not known or faults or state in ("away", "fault", "position unknown", "homing") or not self._past:
            self._off_since[:] = np.nan
            return
        told = np.asarray(status.positions, float)
        past = np.array([lengths for _, lengths in self._past]) - self._zero + self._offsets
        off = np.maximum(np.maximum(told - past.max(axis=0), past.min(axis=0) - told), 0.0)
        for i in range(len(off)):
            self._off_since[i] = _earliest(self._off_since[i], now) if not off[i] <= OFF else np.nan
            if now - self._off_since[i] > OFF_TIME:
                true = f"{1e3 * past[-1, i]:.2f} mm"
                self.found("position untrue", f"cable {i + 1} is told at {1e3 * told[i]:.2f} mm, but is at {true}")

    def _check_following(self, status, state: str, faults: tuple[str, ...], now: float) -> None:
        known = self._zero is not None and self._zero_sure and not self._homing and self._target is not None
        if not known or faults or state != "active" or self._enabled_at < 0 or "hold" in str(status.mode):
            self._target_since = now
            return
        if now - self._commanded > 0.09:
            self._target_since = now
        time = FOLLOW_TIME + 1.2 * self._target_way / self._limits.rate
        if now - max(self._target_since, self._enabled_time) < time or now < self._world.halted_until + time:
            return
        off = np.abs(self._displacements() - self._target)
        for i in np.flatnonzero(off > FOLLOWED):
            self.found(
                "not followed",
                f"cable {i + 1} is {1e3 * off[i]:.1f} mm from where it was told to be {time:.2f} s ago; no fault named",
            )

    # ---- at the end

    def comes_back(self, status) -> None:
        """Everything was mended a while ago: what starts by itself and was not told to stay away is active again."""
        if self._left_alone and state_of(status) in ("away", "limp"):
            self.found("not recovered", f"'{state_of(status)}' ({status.mode}), though it starts by itself")

    def recovered(self, status, refusals: list[str]) -> None:
        """Everything was mended and the documented remedies were taken: all has to be well."""
        displacement, faults = self._displacements(), tuple(status.faults)
        off = np.inf if displacement is None or self._target is None else np.abs(displacement - self._target).max()
        if state_of(status) != "active" or faults or not off <= OFF:
            self.found(
                "not recovered",
                f"'{state_of(status)}', {1e3 * off:.2f} mm off, faults {faults}, refused: {'; '.join(refusals)}",
            )

    def _displacements(self) -> np.ndarray | None:
        return None if self._zero is None else self._world.winches.lengths() - self._zero + self._offsets

    def _world_is_away(self) -> bool:
        return self._world.adapter.bus is None

    def _check_message(self, what: str, text: str) -> None:
        if len(text) < 12 or not REMEDIES.search(text):
            self.found("mute message", f"{what} with '{text}', which names nothing to do")

    def found(self, kind: str, detail: str) -> None:
        """Note a violation; the first of each kind in a case."""
        if kind not in self._kinds:
            self._kinds.add(kind)
            self.violations.append(Violation(kind, self._world.clock.now, detail))


def state_of(status) -> str:
    """The state that a user is told, in lower case."""
    return str(getattr(status.state, "value", status.state)).lower().replace("_", " ")


def _earliest(since: float, now: float) -> float:
    return now if math.isnan(since) else since
