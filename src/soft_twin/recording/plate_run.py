"""What a run of a robot that holds its plate's orientation came to: how far the plate was off, and its payload."""

from dataclasses import dataclass

import numpy as np

from soft_twin.recording.recorded_run import PASSES, UNIT, Curve, Interval, Run, axes_of

AIMED = ("tare", "aim", "payload")  # phases in which targets are aimed at one after the other, the base at rest
SHORTEST = 1.0  # [s] that a target must be aimed at to be judged …
LAST = 0.5  # … by its last seconds


@dataclass(frozen=True)
class HeldAim:
    """A target that was aimed at while the base stood.

    Attributes:
        interval: when; its name is that of the phase.
        axis: (3,) where the plate's axis should point, in base_link.
        error: median angle of the plate's axis to it, at its end [rad].
        payload: what hung on the plate then [kg]; NaN: not recorded.
        found, deviation: what was known of that, and its standard deviation [kg]; NaN: nothing.
    """

    interval: Interval
    axis: np.ndarray
    error: float
    payload: float
    found: float
    deviation: float


@dataclass(frozen=True)
class PlateRun:
    """The plate in a run.

    Attributes:
        error: angle of its axis to where that should point, over time [rad].
        aims: targets, in the order of the run.
    """

    error: Curve
    aims: tuple[HeldAim, ...]


def plate_run(run: Run) -> PlateRun | None:
    """Evaluate a run; None: nobody held the orientation of a plate in it."""
    targets = _targets(run)
    if targets is None:
        return None
    turns = run.curve("truth/tip", "orientation_xyzw", (4,))
    axes = axes_of(turns.values)
    error = Curve(turns.time, _apart(axes, _newest(targets, turns.time)))
    aims = [_aim(run, error, targets, interval) for interval in _aimed(run, targets)]
    return PlateRun(error, tuple(aim for aim in aims if aim is not None))


def _targets(run: Run) -> Curve | None:
    """Axes (n, 3) that were aimed at; what is aimed at while the base turns counts from the beginning on."""
    if "solver/status" not in run.series or "target_xyzw" not in run.series["solver/status"].fields:
        return None
    status = run.series["solver/status"]
    oriented = status["use_orientation"].astype(bool) & np.isnan(status["target"]).any(axis=1)
    oriented &= np.abs(np.linalg.norm(status["target_xyzw"], axis=1) - 1.0) < UNIT
    if not oriented.any():
        return None
    order = np.argsort(status.stamp[oriented], kind="stable")
    time, axes = run.seconds(status.stamp[oriented][order]), axes_of(status["target_xyzw"][oriented][order])
    held = [interval for interval in run.passes() if interval.name == PASSES[1]]
    inside = held[0].contains(time) if held else np.zeros(len(time), dtype=bool)
    first = axes[np.argmax(inside)]  # of the pass with compensation, or of all
    return Curve(np.concatenate([[-np.inf], time]), np.vstack([first, axes]))


def _apart(axes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n,) angles [rad] between axes (n, 3)."""
    return 2.0 * np.arcsin(np.minimum(1.0, 0.5 * np.linalg.norm(axes - others, axis=1)))


def _newest(curve: Curve, time: np.ndarray) -> np.ndarray:
    return curve.values[np.searchsorted(curve.time, time, side="right") - 1]


def _aimed(run: Run, targets: Curve) -> list[Interval]:
    """Where one target was aimed at, within the phases AIMED."""
    phases = run.curve("run/phase", "data")
    ends = [*phases.time[1:], run.end]
    moved = 1 + np.flatnonzero(_apart(targets.values[1:], targets.values[:-1]) > 1e-6)
    found = []
    for name, start, end in zip(phases.values, phases.time, ends, strict=False):
        within = [time for time in targets.time[moved] if start < time < end]
        edges = [start, *within, end]
        found += [Interval(str(name), *pair) for pair in zip(edges[:-1], edges[1:], strict=True) if name in AIMED]
    return [interval for interval in found if interval.end - interval.start >= SHORTEST]


def _aim(run: Run, error: Curve, targets: Curve, interval: Interval) -> HeldAim | None:
    """None where nothing true was recorded at its end."""
    last = Interval(interval.name, interval.end - LAST, interval.end)
    errors = error.within(last)
    if not len(errors):
        return None
    known = [
        _median(run.curve(topic, "data").within(last)) for topic in ("truth/payload", "payload", "payload/deviation")
    ]
    return HeldAim(interval, _newest(targets, np.array([last.start]))[0], float(np.median(errors)), *known)


def _median(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else float("nan")
