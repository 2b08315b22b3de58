"""The user of a motors' case: calls a session's methods, streams commands, and sees what the session tells."""

import math
import random

import numpy as np

from soft_twin.errors import SoftTwinError
from soft_twin.studies.campaigns.motor_book import state_of
from soft_twin.studies.campaigns.motor_case import Case
from soft_twin.studies.campaigns.motor_judge import MotorJudge
from soft_twin.studies.campaigns.motor_world import MotorWorld

FIRST_COMMAND = 0.45  # [s]
PATIENCE = 0.2  # [s] between two looks of a patient user


class MotorUser:
    """Does what the case says, by the session's own methods.

    Attributes:
        log: what was done and what came of it, for the story of a case.
    """

    def __init__(self, case: Case, world: MotorWorld, judge: MotorJudge, session):
        self._case, self._world, self._judge, self._session = case, world, judge, session
        self._rng = random.Random(f"user {case.seed}")
        self._actions = list(case.actions)
        self._next_command, self._next_look = FIRST_COMMAND, 0.6
        self._target, self._target_until = [0.0] * len(case.winches), 0.0
        self.log: list[str] = []

    def live(self) -> None:
        """Do what is due now."""
        now = self._world.clock.now
        while self._actions and self._actions[0].time <= now:
            for name in self._actions.pop(0).name.split():
                self.call(name)
        if self._case.patient and now >= self._next_look:
            self._next_look = now + PATIENCE
            self._help()
        if now >= self._next_command:
            period = self._case.stream.period
            self._next_command = max(self._next_command + period, now - period)
            if now >= self._world.mute_until:
                self._command(now)

    def call(self, name: str) -> Exception | None:
        """Call a method of the session; the refusal, if it was refused."""
        answer = refusal = None
        try:
            answer = getattr(self._session, name)()
        except SoftTwinError as error:
            refusal = error
        except Exception as error:
            self._judge.raised(f"{name}()", error)
            refusal = error
        else:
            self._judge.called(name, None)
        if isinstance(refusal, SoftTwinError):
            self._judge.called(name, refusal)
        self.log.append(f"{self._world.clock.now:8.3f} s  {name}: {refusal or answer or 'done'}")
        return refusal

    def status(self):
        """What the session tells; None if it fails to."""
        try:
            status = self._session.status()
        except Exception as error:
            self._judge.look(None, error)
            return None
        self._judge.look(status, None)
        return status

    def command(self, values, stamp: float | None, usable: bool) -> None:
        """Give one command."""
        before = None if usable else self._counted()
        refusal = None
        try:
            self._session.command(values, stamp) if stamp is not None else self._session.command(values)
        except SoftTwinError as error:
            refusal = error
        except Exception as error:
            self._judge.raised("command()", error)
            return
        self._judge.commanded(values, stamp, usable, refusal, usable or self._counted() > before)

    def _counted(self) -> float:
        return float(sum(self._session.status().counters.values()))

    def _help(self) -> None:
        """What a patient user does about a robot that has become limp."""
        status = self.status()
        if status is None or state_of(status) not in ("limp", "ready", "fault", "position unknown"):
            return
        if state_of(status) == "position unknown":
            self._world.straighten()
            self.call("home")
        self.call("enable")

    def _command(self, now: float) -> None:
        stream, rng = self._case.stream, self._rng
        if stream.turns:
            self._target = self._places([math.sin(stream.turns * now + i) for i in range(len(self._target))])
        elif now >= self._target_until:
            self._target_until = now + stream.dwell * rng.uniform(0.5, 1.5)
            self._target = self._places([rng.uniform(-1.0, 1.0) for _ in self._target])
        values, usable = list(self._target), True
        if rng.random() < stream.nonsense:
            values, usable = _nonsense(rng, values), False
        elif rng.random() < 0.5:
            values = np.array(values)
        self.command(values, self._stamp(), usable)

    def _places(self, shares: list[float]) -> list[float]:
        """Where cables are at these shares of the stream's reach, −1…1, about the middle of their limits [m]."""
        low, high = self._case.drive.cable_limits.displacement
        middle, half = 0.5 * (low + high), 0.5 * (high - low) * self._case.stream.reach
        return [middle + half * share for share in shares]

    def _stamp(self) -> float | None:
        stream, rng = self._case.stream, self._rng
        if not stream.stamps:
            return None
        wall = self._world.clock.now + self._world.clock.offset
        if rng.random() < stream.untimely:
            return rng.choice(
                (wall - rng.uniform(0.03, 0.19), wall - rng.uniform(0.3, 5.0), wall + rng.uniform(1.0, 9.0))
            )
        return wall - 0.01


def _nonsense(rng: random.Random, values: list[float]):
    """Something that is no command for this robot."""
    i = rng.randrange(len(values))
    broken = [list(values) for _ in range(4)]
    broken[0][i], broken[1][i], broken[2][i], broken[3][i] = math.nan, math.inf, "0.001", None
    return rng.choice(
        [
            *broken,
            values + [0.0],
            values[1:],
            [values],
            [str(value) for value in values],
            "".join("0" for _ in values),
            None,
            {},
            dict(enumerate(values)),
            [complex(value, 1.0) for value in values],
            object(),
            b"\x00" * len(values),
            [10**400] * len(values),
            [[]] * len(values),
        ]
    )
