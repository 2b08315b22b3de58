"""The motors' judge on telling: what the user is told is true, complete, and says what to do."""

import math
import re

import numpy as np

from soft_twin.studies.campaigns.devices.winches import BLOCKED_AT, LOCKED, ON_DRUM
from soft_twin.studies.campaigns.motor_book import CaseBook, earliest, state_of

QUIET = {"away", "limp", "position unknown", "ready", "stopped", "fault"}  # states in which nothing may be driven
ABOUT_COMMANDS = re.compile(r"(no )?command", re.IGNORECASE)  # of the user; they name nothing of the robot
OFF = 0.0005  # [m] between what is true and what is told
OFF_TIME = 0.35  # [s] within which a position that is off has to be named
SILENCE = 0.5  # [s] of a motor or of the adapter until it has to be named
FOLLOWED, FOLLOW_TIME = 0.002, 0.45  # [m], and [s] on top of the way at the limit of the rate
HOMING_WAY, HOMING_TIME = 0.0002, 1.5  # [m], [s]
TAUT, TIGHT = 0.0005, 2.0  # [m] of slack that may be left where "taut" is told, and [N] by which it may pull


class TellingRules:
    """What the user is told, against what is true."""

    def __init__(self, book: CaseBook):
        self._book = book
        self._homing_since, self._homing_from = math.nan, np.zeros(len(book.case.winches))
        self._was_taut = np.zeros(len(book.case.winches), dtype=bool)
        self._was_blocked = np.zeros(len(book.case.winches), dtype=bool)  # before its slack was taken up
        self._was_active = False
        self._plugged = True

    def look(self, status, error: BaseException | None) -> None:
        """What the user is told now, against what is true; to be called often."""
        if error is not None:
            return self._book.found("raw error", f"status() raised {type(error).__name__}: {error}")
        now = self._book.world.clock.now
        state, texts = state_of(status), tuple(str(fault) for fault in status.faults)
        for text in texts:
            self._book.check_message("a fault", text)
        faults = tuple(text for text in texts if not ABOUT_COMMANDS.match(text))
        self._note_world(now)
        self._was_taut = self._book.homing & (self._was_taut | (self._book.world.winches.slacks() <= TAUT))
        if not self._book.homing:
            self._was_blocked = np.isfinite(self._book.world.winches.health[:, BLOCKED_AT])
        self._note_waking(state, now)
        self._note_state(status, state, faults, now)
        self._check_alarm(state, faults)
        self._check_losses(state, faults, now)
        self._check_latch(state, now)
        self._check_positions(status, state, faults, now)
        self._check_following(status, state, faults, now)
        self._book.told_state = state
        return None

    def host_was_halted(self) -> None:
        """Nobody could go on with homing meanwhile."""
        self._homing_since = math.nan

    def _note_world(self, now: float) -> None:
        plugged = self._book.world.adapter.plugged
        if self._plugged and not plugged or self._book.world.adapter.bus is None:
            self._book.forget()
            if not self._book.case.autostart and self._plugged and not plugged:
                self._book.active = False
        self._plugged = plugged
        self._book.unplugged_since = math.nan if plugged else earliest(self._book.unplugged_since, now)
        self._book.silent_since = earliest(self._book.silent_since, now) if self._book.silent() else math.nan

    def _note_waking(self, state: str, now: float) -> None:
        """What is enabled when it is active needs nobody to enable it: its watchdog begins when it is, once."""
        if state == "active" and not self._was_active and self._book.case.enable_when_active:
            self._book.fed = now
        self._was_active = state == "active" or (self._was_active and state == "ready")  # relaxed by the watchdog

    def _note_state(self, status, state: str, faults: tuple[str, ...], now: float) -> None:
        if self._book.homing and state not in ("homing",) and self._book.tick > self._book.enabled_at + 1:
            self._end_homing(status, state, faults)
        self._book.unknown |= state == "position unknown"
        if self._book.unknown and state in ("ready", "active"):
            self._book.found("told untrue", f"'{state}' after 'position unknown', and nothing has homed it")
        self._check_homing(state, faults, now)
        if state in QUIET:
            settled = self._book.enabled_at < 0 or self._book.tick > self._book.enabled_at + 2
            if settled and self._book.quiet_since is None:
                self._book.quiet_since = self._book.tick
                self._book.enabled_at = -1
        else:
            self._book.quiet_since = None

    def _check_homing(self, state: str, faults: tuple[str, ...], now: float) -> None:
        """Homing goes on, ends, or says what is wrong; it does not sit there."""
        lengths = self._book.world.winches.lengths()
        if state != "homing" or faults or np.any(np.abs(lengths - self._homing_from) > HOMING_WAY):
            self._homing_since, self._homing_from = math.nan, lengths
        self._homing_since = earliest(self._homing_since, now)
        if now - self._homing_since > HOMING_TIME:
            self._book.found("homing sits", f"no cable has moved {1e3 * HOMING_WAY:g} mm for {HOMING_TIME:g} s")

    def _end_homing(self, status, state: str, faults: tuple[str, ...]) -> None:
        """A homing that ends driven has found a zero; how good that is beside a fault that is told, is not judged.

        The zero is where the driver says; the cables may have been wound beyond it meanwhile. There they are just taut.
        """
        self._book.homing = False
        self._book.fed = self._book.world.clock.now
        if state not in ("active", "ready"):
            self._book.zero_sure = False
            return
        self._book.unknown = False
        taut = self._book.world.winches.lengths() - np.asarray(status.positions, float) + self._book.offsets
        self._book.zero, self._book.zero_sure = taut, not faults
        self._book.off_since[:] = np.nan
        if not faults:
            self._check_zero(taut)

    def _check_zero(self, taut: np.ndarray) -> None:
        winches, health = self._book.world.winches, self._book.world.winches.health
        slacks, tensions = winches.slacks(taut), winches.tensions(taut)
        locked = health[:, LOCKED] > 0.0
        unseen = locked | (self._was_taut & (health[:, ON_DRUM] == 0.0))
        for i in np.flatnonzero((slacks > TAUT) & ~unseen):
            self._book.found("told untrue", f"slack was taken up, but cable {i + 1} has {1e3 * slacks[i]:.2f} mm left")
        blocked = np.isfinite(health[:, BLOCKED_AT]) & ~self._was_blocked
        for i in np.flatnonzero((tensions > TIGHT) & ~locked & ~blocked):
            self._book.found("told untrue", f"the zero of cable {i + 1} is where it pulls by {tensions[i]:.1f} N")

    def _check_alarm(self, state: str, faults: tuple[str, ...]) -> None:
        if self._book.world.begun or not self._book.connected:
            return
        if self._book.world.clock.now < 0.5:
            return
        for fault in faults:
            if not re.search(r"command|stop|not open|is closed|position is unknown", fault, re.IGNORECASE):
                self._book.found("false alarm", f"nothing was broken, but the user was told '{fault}'")
        if state == "fault" and not faults:
            self._book.found("mute message", "the state is 'fault', but no fault is named")

    def _check_losses(self, state: str, faults: tuple[str, ...], now: float) -> None:
        if not self._book.connected or faults or state in ("away", "fault"):
            return
        if now - self._book.unplugged_since > SILENCE:
            self._book.found("loss not named", f"unplugged for {SILENCE:g} s, but the user is told '{state}'")
        elif now - self._book.silent_since > SILENCE and self._book.active:
            self._book.found("silence not named", f"a motor silent for {SILENCE:g} s, but the user is told '{state}'")

    def _check_latch(self, state: str, now: float) -> None:
        if self._book.latched and state in ("active", "homing", "ready", "limp"):
            self._book.found("told untrue", f"stop is latched, but the user is told '{state}'")

    def _check_positions(self, status, state: str, faults: tuple[str, ...], now: float) -> None:
        known = self._book.zero is not None and self._book.zero_sure and not self._book.homing
        if not known or faults or state in ("away", "fault", "position unknown", "homing") or not self._book.past:
            self._book.off_since[:] = np.nan
            return
        told = np.asarray(status.positions, float)
        past = np.array([lengths for _, lengths in self._book.past]) - self._book.zero + self._book.offsets
        off = np.maximum(np.maximum(told - past.max(axis=0), past.min(axis=0) - told), 0.0)
        for i in range(len(off)):
            self._book.off_since[i] = earliest(self._book.off_since[i], now) if not off[i] <= OFF else np.nan
            if now - self._book.off_since[i] > OFF_TIME:
                true = f"{1e3 * past[-1, i]:.2f} mm"
                self._book.found(
                    "position untrue", f"cable {i + 1} is told at {1e3 * told[i]:.2f} mm, but is at {true}"
                )

    def _check_following(self, status, state: str, faults: tuple[str, ...], now: float) -> None:
        known = (
            self._book.zero is not None
            and self._book.zero_sure
            and not self._book.homing
            and self._book.target is not None
        )
        if not known or faults or state != "active" or self._book.enabled_at < 0 or "hold" in str(status.mode):
            self._book.target_since = now
            return
        unheard = self._book.silent() or self._book.world.adapter.line.held > now  # nobody can follow, see SILENCE
        if now - self._book.commanded > 0.09 or unheard:
            self._book.target_since = now
        time = FOLLOW_TIME + 1.2 * self._book.target_way / self._book.limits.rate
        if (
            now - max(self._book.target_since, self._book.enabled_time) < time
            or now < self._book.world.halted_until + time
        ):
            return
        off = np.abs(self._book.displacements() - self._book.target)
        for i in np.flatnonzero(off > FOLLOWED):
            self._book.found(
                "not followed",
                f"cable {i + 1} is {1e3 * off[i]:.1f} mm from where it was told to be {time:.2f} s ago; no fault named",
            )
