"""What a plate that is held shows: cables that are slack, a payload that was put on or fell off, one that swings.

Nothing of it opens the loop. A cable is slack where it pulls by less than TAUT while the plate is to rest, for as
long as LASTS. A payload has changed where two looks that know it differ by more than they may err, wherever its
centre is, and by more than CHANGED: by how much since before, for as long as SETTLES, as it is found better from look
to look in that pose. One that slides looks the same, which is said where there was one before and is one still. Of a
plate that is to rest and goes to and fro about where it stands, as often as SWUNG within SPAN, the plate swings;
where stiff cables keep it from that, and it is their tensions that come and go, it is what hangs on it.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from soft_twin.inverse.plate_payload import CENTRE, Payload
from soft_twin.inverse.plate_sight import Sight

TAUT = 0.5  # [N]: a cable that pulls by less counts as slack
LASTS = 1.0  # [s]
CHANGED = 0.15  # [kg], more than a payload is told to be off in one pose or another
SURE = 3.0  # standard deviations
TOLD_FOR = 10.0  # [s] that a change of the payload is told
SETTLES = 3.0  # [s] in which what was found of it at first may be put right
SPAN = 2.0  # [s] over which a swing is looked for
SWUNG = 4  # times that it passes where it stands, in that time
ASIDE = 0.3  # of the amplitude, within which noise may pass it, as where a payload was put on and rests
SWING, PULLED = np.radians(0.15), 0.2  # amplitudes that are told, of the bend and of all tensions [N]


class PlateWatch:
    """See the module's docstring."""

    def __init__(self):
        self._slack_for: np.ndarray | None = None
        self._known: Payload | None = None  # that was known best
        self._last: Payload | None = None  # beside which less is enough in the same pose
        self._before: Payload | None = None  # what was known before the change that is told
        self._told: Payload | None = None  # what was known when the change was told
        self._change, self._change_age = "", np.inf
        self._seen: deque[tuple[float, np.ndarray, np.ndarray | None]] = deque()
        self._span = 0.0

    def update(
        self,
        resting: bool,
        sight: Sight | None,
        payload: Payload | None,
        tensions: np.ndarray | None,
        wanted: np.ndarray | None,
        names: Sequence[str],
        dt: float,
    ) -> tuple[str, ...]:
        """What is noticed, in words, `dt` [s] after the last update.

        Args:
            resting: whether the plate is to stay where it is.
            sight: how it stands; None: not seen.
            payload: as of the last look; None: nobody looked.
            tensions: (c,) by which the cables pull [N]; None: not known.
            wanted: (c,) by which they do in the model that steers [N]; None: it knows of none.
            names: (c,) of the cables.
            dt: since the last one [s].
        """
        words = [*self._slack(resting, tensions, wanted, names, dt), self._changed(payload, dt)]
        words.append(self._swing(resting, sight, tensions, dt))
        return tuple(word for word in words if word)

    def tare(self) -> None:
        """Nothing is on the plate: what was known of the payload has not changed by that."""
        self._known, self._last, self._change_age = None, None, np.inf

    def _slack(
        self, resting: bool, tensions: np.ndarray | None, wanted: np.ndarray | None, names: Sequence[str], dt: float
    ) -> list[str]:
        if tensions is None or not resting:
            self._slack_for = None
            return []
        before = np.zeros(len(tensions)) if self._slack_for is None else self._slack_for
        self._slack_for = np.where(tensions < TAUT, before + dt, 0.0)
        found = np.flatnonzero(self._slack_for >= LASTS)
        return [f"{names[i]} is slack" + ("" if wanted is None else _beside(tensions[i], wanted[i])) for i in found]

    def _changed(self, payload: Payload | None, dt: float) -> str:
        self._change_age += dt
        if payload is not None and payload.steady and not np.isnan(payload.mass):
            if self._last is not None and payload.pose == self._last.pose and _differ(payload, self._last):
                self._known = self._last
            if self._known is not None and _differ(payload, self._known):
                if self._change_age >= SETTLES or not _differ(payload, self._before):
                    self._before, self._change_age = self._known, 0.0
                self._tell_change_to(payload)
            elif self._is_put_right_by(payload):
                self._tell_change_to(payload)
            if self._known is None or payload.deviation <= self._known.deviation:
                self._known = payload
            self._last = payload
        return self._change if self._change_age < TOLD_FOR else ""

    def _is_put_right_by(self, payload: Payload) -> bool:
        """Whether what was found of a change is found better by now, in the same pose."""
        if self._change_age >= SETTLES or payload.pose != self._told.pose:
            return False
        return payload.deviation <= self._told.deviation and _differ(payload, self._before)

    def _tell_change_to(self, payload: Payload) -> None:
        change = payload.mass - self._before.mass
        what = "put on the plate" if change > 0.0 else "taken off the plate, or fell"
        slid = ", or what is on it slid" if min(payload.mass, self._before.mass) > CHANGED else ""
        self._change, self._known, self._told = f"{abs(change):.2f} kg were {what}{slid}", payload, payload

    def _swing(self, resting: bool, sight: Sight | None, tensions: np.ndarray | None, dt: float) -> str:
        if not resting or sight is None:
            self._seen.clear()
            self._span = 0.0
            return ""
        self._seen.append((dt, sight.bend, tensions))
        self._span += dt
        if self._span < SPAN:
            return ""
        while self._span - self._seen[0][0] >= SPAN:
            self._span -= self._seen.popleft()[0]
        times = np.cumsum([dt for dt, *_ in self._seen])
        turned, passed, rate = _to_and_fro(times, np.array([bend for _, bend, _ in self._seen]))
        if turned >= SWING and passed >= SWUNG:
            return f"the plate swings by {np.degrees(turned):.1f}°, {rate:.1f} times a second"
        if any(pulls is None for *_, pulls in self._seen):
            return ""
        pulled, passed, rate = _to_and_fro(times, np.array([pulls for *_, pulls in self._seen]))
        if pulled >= PULLED and passed >= SWUNG:
            return f"what hangs on the plate swings: tensions by {pulled:.1f} N, {rate:.1f} times a second"
        return ""


def _differ(payload: Payload, before: Payload) -> bool:
    """Whether a payload has changed, by more than the same one is found to be, wherever its centre is, in two poses of
    different leverages; in the same pose they have the same."""
    heaviest = (
        0.0
        if payload.pose == before.pose
        else min(_heaviest(payload), _heaviest(before), max(payload.mass, before.mass))
    )
    beside = heaviest * CENTRE * np.subtract(payload.leverage, before.leverage)
    sure = SURE * np.linalg.norm([payload.deviation, before.deviation, *beside])
    return bool(abs(payload.mass - before.mass) > max(CHANGED, sure))


def _heaviest(payload: Payload) -> float:
    """What it may be at the most [kg], with its centre where the least of it is found: after a tare, nothing."""
    hidden = SURE * np.linalg.norm(CENTRE * payload.leverage)
    return (payload.mass + SURE * payload.deviation) / (1.0 - hidden) if hidden < 1.0 else np.inf


def _to_and_fro(times: np.ndarray, values: np.ndarray) -> tuple[float, int, float]:
    """Amplitude of values (t, k) at times (t,) [s] along the direction in which they vary most, how often they pass
    their mean, from beyond ASIDE of the amplitude on one side to as far on the other, and how often they go to and fro
    in a second; NaN: they do not."""
    away = values - values.mean(axis=0)
    along = away @ np.linalg.svd(away, full_matrices=False)[2][0]
    amplitude = float(np.sqrt(2.0) * along.std())
    beyond = np.abs(along) > ASIDE * amplitude
    passes = times[beyond][1:][np.diff(np.sign(along[beyond])) != 0.0]
    rate = 0.5 * (len(passes) - 1) / (passes[-1] - passes[0]) if len(passes) > 1 else float("nan")
    return amplitude, len(passes), rate


def _beside(pulls: float, wanted: float) -> str:
    return f": {max(pulls, 0.0):.1f} N, {wanted:.1f} N in the model; take up slack, or home anew"
