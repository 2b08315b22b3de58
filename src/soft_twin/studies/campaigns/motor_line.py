"""Motors behind a real slcan line: pseudo-terminals, threads and this machine's own time.

What only bytes and processes show: an adapter that is opened twice, a terminal that is closed, garbage between frames,
a thousand commands a second. How long things take depends on how busy the machine is, so nothing is judged by
milliseconds, and a fault may be named at any time. The rules are those of the same names in motors.py, with these
differences: what the user was granted or refused counts from `GRACE` on, since a thread needs its time; "not
recovered" is what the documented remedies do not help, tried three times.
"""

import math
import random
import tempfile
import time
from pathlib import Path

from soft_twin.errors import DeviceError, SoftTwinError
from soft_twin.studies.campaigns.base import Campaign, Violation
from soft_twin.studies.campaigns.devices.c610 import BITRATE, FRAME_BITS, currents_of
from soft_twin.studies.campaigns.devices.slcan_adapter import SlcanAdapter
from soft_twin.studies.campaigns.devices.winches import Winches
from soft_twin.studies.campaigns.motor_book import state_of
from soft_twin.studies.campaigns.motor_case import Case, invent
from soft_twin.studies.campaigns.motor_wire_rules import BUS_FULL

GRACE = 0.5  # [s]
LOSS = 4.0  # [s] until a lost adapter has to be named
STEPS = ("home", "enable", "move", "storm", "stop", "clear_stop", "relax", "unplug", "plug", "open twice", "garbage")
STEPS += ("deactivate", "activate", "disconnect", "connect", "move", "storm", "wait")


class MotorLineCampaign(Campaign):
    """See the module."""

    name = "motor_line"
    share = 0.01
    patience = 120.0

    def run_case(self, seed: int) -> list[Violation]:
        with tempfile.TemporaryDirectory(prefix="soft_twin-line-") as folder:
            run = LineRun(invent(seed), Path(folder) / "adapter")
            try:
                run.live(random.Random(f"line {seed}"))
            finally:
                run.close()
        return run.violations


class LineRun:
    """One case being lived through, in real time."""

    def __init__(self, case: Case, link: Path):
        from soft_twin.driving.session import ActuatorSession

        self.violations: list[Violation] = []
        self._case, self._link = case, link
        self._start = time.monotonic()
        self._ceiling = case.drive.winch.current_limit
        self._latched_at, self._zero_lost_at, self._known = math.inf, math.inf, False
        self._frames = 0
        self._plugged = True
        winches = Winches(list(case.winches), case.drive.winch.radius, case.coupling)
        self._adapter = SlcanAdapter(winches, link, self._on_frame)
        self._session = ActuatorSession(self._open, autostart=True)

    def live(self, rng: random.Random) -> None:
        """The usual beginning, some steps at random, and the remedies."""
        self._wait(1.5)
        for step in ("home", "enable", "move", *rng.choices(STEPS, k=8)):
            getattr(self, "_" + step.replace(" ", "_"), lambda name=step: self._call(name))()
            self._wait(0.1)
        self._remedy()

    def close(self) -> None:
        self._session.close()
        self._adapter.close()

    def _open(self):
        from soft_twin.driving.cables.cable_driver import CableDriver
        from soft_twin.driving.cables.can_bus import open_bus

        return CableDriver(self._case.drive, open_bus("slcan", str(self._link)))

    # ---- judging

    def _on_frame(self, can_id: int, data: bytes) -> None:
        now = time.monotonic()
        self._frames += 1
        for motor, current in currents_of(can_id, data).items():
            if abs(current) > self._ceiling + 0.00051:
                self._found("current beyond limit", f"motor {motor} was told {current:g} A of {self._ceiling:.4g} A")
            if current and now > self._latched_at + GRACE:
                self._found("stop undone", f"motor {motor} was told {current:g} A while stop was latched")
            if current and now > self._zero_lost_at + GRACE and not self._known:
                self._found("driven without a zero", f"motor {motor} was told {current:g} A")

    def _found(self, kind: str, detail: str) -> None:
        if all(one.kind != kind for one in self.violations):
            self.violations.append(Violation(kind, time.monotonic() - self._start, detail))

    def _call(self, name: str) -> bool:
        try:
            getattr(self._session, name)()
        except SoftTwinError as error:
            if name == "stop":
                self._found("stop refused", str(error))
            return False
        except Exception as error:
            self._found("raw error", f"{name}() raised {type(error).__name__}: {error}")
            return False
        self._did(name)
        return True

    def _did(self, name: str) -> None:
        if name == "stop":
            self._latched_at = time.monotonic()
        elif name == "clear_stop":
            self._latched_at = math.inf
        elif name == "home":
            self._known = True
        elif name == "disconnect":
            self._forget()
        elif name == "enable" and not self._known:
            self._found("enabled without a zero", "enable was accepted, but the position is not known")

    def _forget(self) -> None:
        self._known, self._zero_lost_at = False, time.monotonic()

    # ---- steps

    def _wait(self, seconds: float = 0.3) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._look()
            time.sleep(0.02)

    def _look(self):
        try:
            self._session.poll()
            return self._session.status()
        except Exception as error:
            self._found("raw error", f"poll() or status() raised {type(error).__name__}: {error}")
            return None

    def _move(self, period: float = 0.01) -> None:
        start, (low, high) = time.monotonic(), self._case.drive.cable_limits.displacement
        frames, answers = self._frames, self._adapter.answers
        while (now := time.monotonic()) < start + 0.5:
            wanted = 0.5 * (low + high) + 0.4 * (high - low) * math.sin(6.0 * (now - start))
            self._command([wanted] * len(self._case.winches))
            time.sleep(period)
        host, motors = self._frames - frames, self._adapter.answers - answers
        load = (host + motors) / (now - start) * FRAME_BITS / BITRATE
        if load > BUS_FULL:
            self._found("bus overfull", f"{100.0 * load:.0f} % of the bus, {host} frames of the host in half a second")

    def _storm(self) -> None:
        self._move(0.001)

    def _command(self, values: list[float]) -> None:
        try:
            self._session.command(values)
        except SoftTwinError:
            return
        except Exception as error:
            self._found("raw error", f"command() raised {type(error).__name__}: {error}")

    def _unplug(self) -> None:
        if not self._plugged:
            return
        self._plugged = False
        self._adapter.unplug()
        self._forget()
        end = time.monotonic() + LOSS
        while time.monotonic() < end:
            status = self._look()
            if status is not None and (state_of(status) in ("away", "fault") or status.faults):
                return
            time.sleep(0.02)
        self._found("loss not named", f"unplugged for {LOSS:g} s, and the user is told nothing")

    def _plug(self) -> None:
        if not self._plugged:
            self._plugged = True
            self._adapter.plug()
            self._wait(1.0)

    def _open_twice(self) -> None:
        """Another driver on the same adapter has to be refused."""
        if not self._plugged or state_of(self._session.status()) == "away":
            return
        try:
            driver = self._open()
        except DeviceError:
            return
        except Exception as error:
            self._found("raw error", f"opening the adapter a second time raised {type(error).__name__}: {error}")
            return
        driver.close()
        self._found("opened twice", "a second driver has opened the adapter")

    def _garbage(self) -> None:
        self._adapter.garbage = b"t2018zz\x00\xff\a\r\rT00000\r\nt201\rt20180000000000000000\x80"

    def _remedy(self) -> None:
        self._plug()
        for _ in range(3):
            self._wait(1.0)
            for name in ("clear_stop", "connect", "activate", "relax", "home", "enable"):
                self._call(name)
                self._wait(0.15)
            if self._follows():
                return
        status = self._session.status()
        self._found("not recovered", f"'{state_of(status)}', faults {tuple(status.faults)}")

    def _follows(self) -> bool:
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            self._command([cable.offset + 0.001 for cable in self._case.drive.cables])
            self._look()
            time.sleep(0.02)
        return state_of(self._session.status()) == "active"
