"""The emulated neck's plate held in closed loop, case by case: attitudes of the base, payloads, models, chips.

Each case is a neck in simulated time (`neck_loop`): its IMUs are aligned on the straight plate, it is tared in three
poses with nothing on it, the payload is put on, and it is sent to four poses a quarter of a turn apart; each motion is
judged beside its target. A base that is carried goes from its inclination to another one and back meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import soft_twin
from soft_twin.emulation.base_motion import InclinationProfile, inclinations
from soft_twin.parallel import compute_here
from soft_twin.studies.neck_loop import NeckLoop, Step, away, step_to
from soft_twin.twins.constant_curvature import pitch_roll_of
from soft_twin.twins.plate_orientation import axis_at

LEFT_SLACK = np.array([-0.0001, 0.0001, 0.0])  # [m] that winches are off after slack was taken up
INCLINATIONS = (90.0, 60.0, 45.0, 30.0, 0.0, -45.0, -90.0)  # [°] of the base to the ground; 90: upright
PAYLOADS = (0.0, 0.1, 0.5, 1.0)  # [kg]
TILT, TURNS = np.radians(25.0), np.radians([0.0, 90.0, 180.0, 270.0])  # of the poses with the payload
TARED_AT = np.radians([[25.0, -37.0], [22.0, 153.0], [22.0, 90.0]])  # tilt and azimuth, of poses that lean unlike
TARE = 2.5  # [s]
BY, MOVE, HOLD, REST = 40.0, 2.0, 0.5, 3.0  # [°] of inclination; [s] there, and as long back; of rests


@dataclass(frozen=True)
class HeldCase:
    """What is held.

    Attributes:
        model: that steers.
        inclination: of the base to the ground [°].
        payload: [kg].
        seed: of chips, noise, and azimuths of the poses.
    """

    model: str
    inclination: float
    payload: float
    seed: int


@dataclass(frozen=True)
class HeldRow:
    """How a case went.

    Attributes:
        case: that it was.
        empty, loaded: motions with nothing and with the payload on the plate.
        carried: angles to the target [°] while the base is carried: root mean square, largest, and the mean at rest
            after it.
    """

    case: HeldCase
    empty: list[Step]
    loaded: list[Step]
    carried: tuple[float, float, float]

    @property
    def steps(self) -> list[Step]:
        """All motions."""
        return [*self.empty, *self.loaded]


def cases(
    models: Sequence[str] = ("fem",),
    inclinations: Sequence[float] = INCLINATIONS,
    payloads: Sequence[float] = PAYLOADS,
    seeds: Sequence[int] = (0,),
) -> list[HeldCase]:
    """All of them together."""
    return [HeldCase(m, i, p, s) for m in models for i in inclinations for p in payloads for s in seeds]


def hold_all(which: Sequence[HeldCase]) -> list[HeldRow]:
    """How they went, in their order; on all cores."""
    return compute_here(hold, which, "held necks")


def hold(case: HeldCase) -> HeldRow:
    """One case."""
    robot, turn = soft_twin.load_robot("neck"), 0.7 * case.seed
    holder = robot.build_plate_holder(case.model)
    loop = NeckLoop(robot, holder, LEFT_SLACK, seed=case.seed, motion=_carried(case.inclination))
    loop.align()
    empty = []
    for tilt, azimuth in TARED_AT:
        empty.append(step_to(loop, *_pose(tilt, azimuth + turn)))
        holder.tare()
        loop.run(TARE)
    loop.load(case.payload)
    loaded = [step_to(loop, *_pose(TILT, azimuth + turn)) for azimuth in TURNS + np.pi / 6.0]
    return HeldRow(case, empty, loaded, _carry(loop))


def table(rows: Sequence[HeldRow]) -> str:
    """A line a case: the worst of its motions with nothing and with the payload on the plate, and what was found."""
    lines = [
        f"{'model':10} {'base [°]':>8} {'payload [g]':>11} {'seed':>4} | {'empty: off [°]':>14} {'settled [s]':>11} "
        f"{'beyond':>6} | {'loaded: off [°]':>15} {'settled [s]':>11} {'beyond':>6} {'found [g]':>15} | "
        f"{'carried: rms [°]':>16} {'largest':>7} {'after':>6}"
    ]
    for row in rows:
        case, grams = row.case, [1e3 * step.payload for step in row.loaded]
        parts = [
            f"{max(step.steady for step in steps):{width}.2f} {max(step.settling for step in steps):11.2f} "
            f"{100.0 * max(step.overshoot for step in steps):5.1f}%"
            for steps, width in ((row.empty, 14), (row.loaded, 15))
        ]
        who = f"{case.model:10} {case.inclination:8.0f} {1e3 * case.payload:11.0f} {case.seed:4}"
        span, carried = f"{min(grams):.0f}…{max(grams):.0f}", row.carried
        moved = f"{carried[0]:16.2f} {carried[1]:7.2f} {carried[2]:6.2f}"
        lines.append(f"{who} | {parts[0]} | {parts[1]} {span:>15} | {moved}")
    return "\n".join(lines)


def _pose(tilt: float, azimuth: float) -> tuple[float, float]:
    """Pitch and roll [°]."""
    return tuple(np.degrees(pitch_roll_of(axis_at(tilt * np.array([np.cos(azimuth), np.sin(azimuth)])))).tolist())


def _carried(inclination: float) -> tuple[InclinationProfile, float]:
    """From an inclination to the ground [°], at which it stands, to another one and back."""
    there = inclination + (BY if inclination < 0.0 else -BY)
    return inclinations([inclination, there, inclination], MOVE, HOLD), MOVE + 0.5 * HOLD


def _carry(loop: NeckLoop) -> tuple[float, float, float]:
    begun, target = len(loop.trace), np.degrees(loop.holder.controller.target)
    loop.carried = True
    loop.run(2.0 * (MOVE + HOLD))
    moved = away(loop.trace[begun:], target)
    loop.carried = False
    loop.run(REST)
    after = away(loop.trace[-25:], target)
    return float(np.sqrt((moved**2).mean())), float(moved.max()), float(after.mean())
