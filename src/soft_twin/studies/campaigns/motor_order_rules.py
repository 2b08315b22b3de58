"""The motors' judge on what the user asks for: what may be granted, what has to be refused, and in which words."""

import math

import numpy as np

from soft_twin.studies.campaigns.motor_book import CaseBook

WATCHDOG, WATCHDOG_SLACK = 1.0, 0.012  # [s] after the last command
STALE, FUTURE = 0.2, 0.5  # [s]
SILENCE = 0.5  # [s] of a motor or of the adapter until it has to be named


class OrderRules:
    """What the user does, and what is answered."""

    def __init__(self, book: CaseBook):
        self._book = book
        self._newest_stamp = -math.inf

    def called(self, name: str, refusal: Exception | None) -> None:
        """A session's method was called; it did what it is for, or refused."""
        if refusal is not None:
            self._book.check_message(f"{name}() refused", str(refusal))
            if name == "stop":
                self._book.found("stop refused", str(refusal))
            return
        handler = getattr(self, "_did_" + name, None)
        if handler is not None:
            handler()

    def raised(self, name: str, error: BaseException) -> None:
        """Something came out of a call, a poll or a tick that no user is meant to see."""
        self._book.found("raw error", f"{name} raised {type(error).__name__}: {error}")

    def commanded(self, values, stamp: float | None, usable: bool, refusal: Exception | None, counted: bool) -> None:
        """A command was given; `usable`: it is of the right kind and size, and finite."""
        now = self._book.world.clock.now
        if refusal is not None:
            self._book.check_message("command() refused", str(refusal))
            if not usable and not counted and not self._world_is_away():
                self._book.found("refusal not counted", f"command({values!r:.60}) was refused, but no counter grew")
            return
        if not usable:
            self._book.found("nonsense accepted", f"command({values!r:.60}) was accepted")
            return
        if stamp is not None:
            self._check_stamp(stamp)
        if now - self._book.fed <= WATCHDOG + WATCHDOG_SLACK or self._book.enabled_at < 0:
            self._book.fed = now
        self._note_target(values, now)

    def _did_stop(self) -> None:
        self._book.latched = True
        self._book.revoke()

    def _did_clear_stop(self) -> None:
        self._book.latched = False

    def _did_relax(self) -> None:
        self._book.revoke()

    def _did_deactivate(self) -> None:
        self._book.active, self._book.left_alone = False, False
        self._book.revoke()

    def _did_activate(self) -> None:
        self._book.active = True
        self._book.fed = self._book.world.clock.now

    def _did_disconnect(self) -> None:
        self._book.connected = self._book.active = self._book.left_alone = False
        self._book.forget()

    def _did_connect(self) -> None:
        self._book.silent_since = math.nan
        if not self._book.connected:
            self._book.active = self._book.case.autostart
        self._book.connected = True

    def _did_enable(self) -> None:
        if self._book.zero is None and not self._book.world.clock.now - self._book.unplugged_since < SILENCE:
            self._book.found("enabled without a zero", "enable was accepted, but the position is not known")
        if self._book.unknown:
            self._book.found(
                "enabled without a zero", "enable was accepted after 'position unknown', and nothing has homed it"
            )
        if self._book.latched:
            self._book.found("enabled while stopped", "enable was accepted while stop was latched")
        self._enable()

    def _did_take_up_slack(self) -> None:
        self._book.homing = True
        self._enable()

    def _did_home(self) -> None:
        self._set_zero("home")

    def _did_assume_taut_here(self) -> None:
        self._set_zero("assume_taut_here")

    def _enable(self) -> None:
        self._book.enabled_at, self._book.quiet_since = self._book.tick, None
        self._book.enabled_time = self._book.fed = self._book.target_since = self._book.world.clock.now

    def _set_zero(self, name: str) -> None:
        if self._book.silent() and self._book.world.clock.now - self._book.silent_since > SILENCE:
            self._book.found("homed blind", f"{name} was accepted {SILENCE:g} s after the last frame of a motor")
        self._book.unknown = False
        self._book.zero = self._book.world.winches.lengths()
        self._book.zero_sure = bool(np.all(np.abs(self._book.world.winches.rates()) < 0.002))
        self._book.homing = False
        self._book.off_since[:] = np.nan

    def _check_stamp(self, stamp: float) -> None:
        wall = self._book.world.clock.now + self._book.world.clock.offset
        if wall - stamp > STALE + 0.01:
            self._book.found("stale command accepted", f"a command {wall - stamp:.3f} s old was accepted")
        elif stamp - wall > FUTURE:
            self._book.found("stale command accepted", f"a command {stamp - wall:.3f} s from the future was accepted")
        elif stamp < self._newest_stamp - 1e-6 and self._newest_stamp <= wall + 0.01:
            self._book.found(
                "disorder accepted", f"a command {self._newest_stamp - stamp:.3f} s older than the last one"
            )
        self._newest_stamp = stamp

    def _note_target(self, values, now: float) -> None:
        target = np.clip(np.asarray(values, float), *self._book.limits.displacement)
        if (
            self._book.target is None
            or np.any(np.abs(target - self._book.target) > 1e-9)
            or now - self._book.commanded > 0.1
        ):
            self._book.target, self._book.target_since = target, now
            displacement = self._book.displacements()
            self._book.target_way = 0.02 if displacement is None else float(np.max(np.abs(target - displacement)))
        self._book.commanded = now

    def _world_is_away(self) -> bool:
        return self._book.world.adapter.bus is None
