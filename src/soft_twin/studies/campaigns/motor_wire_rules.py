"""The motors' judge on frames: no current beyond its limit, none without leave, no more of them than the bus holds."""

from soft_twin.studies.campaigns.devices.c610 import BITRATE, FRAME_BITS, currents_of
from soft_twin.studies.campaigns.devices.winches import POWER
from soft_twin.studies.campaigns.motor_book import CaseBook

WATCHDOG, WATCHDOG_SLACK = 1.0, 0.012  # [s] after the last command
BUS_WINDOW, BUS_FULL = 0.1, 0.9  # [s], share of the bits


class WireRules:
    """What the host sends."""

    def __init__(self, book: CaseBook):
        self._book = book
        self._ceiling = book.case.drive.winch.current_limit
        self._frames, self._window = 0, 0.0
        adapter = book.world.adapter
        adapter.on_command = self._watch(adapter.on_command)

    def check_bus(self, now: float) -> None:
        """How full it is; to be called each tick."""
        if now - self._window < BUS_WINDOW:
            return
        powered = float(self._book.world.winches.health[:, POWER].sum())
        load = (self._frames / (now - self._window) + powered / self._book.case.feedback) * FRAME_BITS / BITRATE
        if load > BUS_FULL and now - self._window < 2.0 * BUS_WINDOW:
            self._book.found("bus overfull", f"{100.0 * load:.0f} % of the bus, {self._frames} frames of the host")
        self._frames, self._window = 0, now

    def _watch(self, hear):
        def on_command(can_id: int, data: bytes, extended: bool) -> None:
            self._frames += 1
            self._on_frame(can_id, data, extended)
            hear(can_id, data, extended)

        return on_command

    def _on_frame(self, can_id: int, data: bytes, extended: bool) -> None:
        told = {} if extended else currents_of(can_id, data)
        now = self._book.world.clock.now
        if not told:
            self._book.found("strange frame", f"the host sent frame {can_id:#x} with {data.hex()}")
        for motor, current in told.items():
            if not current:
                continue
            if motor not in self._book.index:
                self._book.found("stranger driven", f"motor {motor}, which no cable has, was told {current:g} A")
                continue
            self._book.driven[self._book.index[motor]] = now
            if abs(current) > self._ceiling + 0.00051:
                self._book.found(
                    "current beyond limit", f"motor {motor} was told {current:g} A of {self._ceiling:.4g} A"
                )
            self._check_leave(motor, current, now)

    def _check_leave(self, motor: int, current: float, now: float) -> None:
        what = f"motor {motor} was told {current:g} A"
        if self._book.latched:
            return self._book.found("stop undone", f"{what} while stop was latched")
        if not self._book.active:
            return self._book.found("driven while inactive", f"{what} while deactivated or disconnected")
        if self._book.homing:
            return None
        if self._book.zero is None:
            return self._book.found(
                "driven without a zero", f"{what}, but nobody had homed it since its driver was started"
            )
        if now - self._book.fed > WATCHDOG + WATCHDOG_SLACK:
            return self._book.found("current too late", f"{what} {now - self._book.fed:.3f} s after the last command")
        if self._book.enabled_at < 0 and not self._book.case.enable_when_active:
            return self._book.found("driven while not enabled", f"{what} without an accepted enable")
        if self._book.quiet_since is not None and self._book.tick > self._book.quiet_since + 2:
            return self._book.found("told untrue", f"{what} though the user was told '{self._book.told_state}'")
        return None
