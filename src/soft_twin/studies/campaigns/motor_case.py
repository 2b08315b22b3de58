"""Random cases for the motors' campaign: a robot's drive, its winches, a user's script, faults; all from one seed."""

import math
import random
from dataclasses import dataclass, replace
from functools import cache

from soft_twin.descriptions.drives import CableDrive
from soft_twin.robots import load_robot
from soft_twin.studies.campaigns.devices.winches import TORQUE_CONSTANT, Winch

COUNTS_OF_CABLES = ((1, 30), (2, 30), (3, 25), (4, 5), (5, 4), (6, 6))  # number, weight: few are faster
ROBOTS = (("slender", 60), ("neck", 25), ("finger", 15))  # weights
NOMINAL_MASS, NOMINAL_RADIUS = 0.342, 0.0065  # [A s²/m] of an M2006's rotor over its gear and a drum of [m]
FRICTION = (5.0, 25.0)  # [A s/m] plausible viscous friction
ROUGH, ANY_FRICTION, ANY_DRY = 0.35, (2.0, 30.0), (0.0, 0.3)  # share of cases, [A s/m], [A]: gears differ, and wear
PERIODS = (0.001, 0.001, 0.002, 0.004)  # [s] of the motors' answers; a C610 can be set to fewer
GENTLE = (1.0 / 200.0, 1.0 / 90.0)  # [s] between two commands of a smooth stream
FIRST_FAULT = 0.8  # [s] once the usual beginning is over
FAULTS = {  # kind -> weight
    "unplugged": 4,
    "power dip": 4,
    "power dip of all": 2,
    "slip": 3,
    "slips": 3,
    "silent": 2,
    "deaf": 1,
    "double id": 2,
    "stalled": 3,
    "derated": 2,
    "reversed": 3,
    "off the drum": 1,
    "blocked": 2,
    "lost": 2,
    "lost commands": 1,
    "doubled": 1,
    "swapped": 1,
    "held": 2,
    "foreign": 1,
    "halt": 3,
    "clock jump": 2,
    "commands die": 2,
}


@dataclass(frozen=True)
class Action:
    """Something that the user does at a time [s]: the name of a session's method."""

    time: float
    name: str


@dataclass(frozen=True)
class Fault:
    """Something that breaks at a time [s] for a duration [s]; what the magnitude is depends on the kind."""

    time: float
    duration: float
    kind: str
    motor: int
    magnitude: float


@dataclass(frozen=True)
class Stream:
    """The user's commands.

    Attributes:
        period: between two [s].
        dwell: how long a target stays the same [s].
        reach: targets lie within the limits of displacement times this about their middle.
        nonsense: probability that a command is unusable.
        stamps: whether commands carry the time of their measurement.
        untimely: probability that a stamp is too old, in the future, or out of order.
        turns: targets go to and fro evenly, so many radians a second; 0: they jump, and stay for the dwell [rad/s].
    """

    period: float
    dwell: float
    reach: float
    nonsense: float
    stamps: bool
    untimely: float
    turns: float = 0.0


@dataclass(frozen=True)
class Case:
    """All that is random about a case.

    Attributes:
        patient: the user enables, and homes, again what has become limp.
        feedback: time between two answers of a motor [s].
        latency: of the adapter [s].
        room: frames that the host buffers.
        jitter: by which a tick of the host may come late [s].
        epoch: the host's wall clock at the start [s].
        end: of the script [s].
    """

    seed: int
    drive: CableDrive
    winches: tuple[Winch, ...]
    coupling: float
    autostart: bool
    enable_when_active: bool
    latency: float
    room: int
    jitter: float
    epoch: float
    stream: Stream
    actions: tuple[Action, ...]
    faults: tuple[Fault, ...]
    patient: bool
    end: float
    feedback: float = 0.001


def invent(seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(f"motors {seed}")
    drive = _drive(rng)
    end = rng.uniform(1.5, 2.8)
    healthy = rng.random() < 0.2
    faults = () if healthy else _faults(rng, len(drive.cables), end)
    autostart = rng.random() < 0.7
    winches = tuple(_winch(rng, drive, i) for i in range(len(drive.cables)))
    case = Case(
        seed=seed,
        drive=drive,
        winches=winches,
        coupling=rng.uniform(0.0, 0.3),
        autostart=autostart,
        enable_when_active=rng.random() < 0.15,
        latency=rng.uniform(0.0002, 0.003),
        room=rng.choice((150, 600, 5000)),
        jitter=rng.choice((0.0, 0.001, 0.003)),
        epoch=1.7e9 + rng.uniform(0.0, 1e8),
        stream=_stream(rng, healthy),
        actions=_script(rng, autostart, healthy, end),
        faults=faults,
        patient=rng.random() < 0.7,
        end=end,
    )
    return _rough(random.Random(f"rough {seed}"), _gentle(random.Random(f"gentle {seed}"), case, healthy))


@cache
def _shipped(robot: str) -> CableDrive:
    return load_robot(robot).winches


def _drive(rng: random.Random) -> CableDrive:
    """Winches that differ from the slender robot's in what drivers read, or another shipped robot's as they are."""
    robot = rng.choices(*zip(*ROBOTS, strict=True))[0]
    return _varied(rng, _shipped(robot)) if robot == "slender" else _wired(rng, _shipped(robot))


def _wired(rng: random.Random, base: CableDrive) -> CableDrive:
    """Motors with other ids, that wind the other way now and then."""
    ids = rng.sample(range(1, 9), len(base.cables))
    pairs = zip(ids, base.cables, strict=True)
    cables = tuple(replace(cable, motor_id=i, direction=rng.choice((1, 1, -1))) for i, cable in pairs)
    return replace(base, cables=cables)


def _varied(rng: random.Random, base: CableDrive) -> CableDrive:
    counts, weights = zip(*COUNTS_OF_CABLES, strict=True)
    count = rng.choices(counts, weights)[0]
    ids = rng.sample(range(1, 9), count)
    limits = replace(
        base.cable_limits,
        tension=(0.0, rng.uniform(2.0, 6.0)),
        displacement=(-rng.uniform(0.002, 0.004), rng.uniform(0.006, 0.012)),
        rate=rng.uniform(0.02, 0.06),
        acceleration=rng.uniform(1.0, 5.0),
    )
    cables = tuple(
        replace(
            cable,
            motor_id=ids[i],
            direction=rng.choice((1, 1, -1)),
            scale=rng.choice((1.0, rng.uniform(0.9, 1.1))),
            offset=rng.choice((0.0, rng.uniform(0.0, 0.003))),
        )
        for i, cable in enumerate(base.cables[:count])
    )
    winch = replace(
        base.winch, radius=rng.uniform(0.0055, 0.0075), direction=rng.choice((1, -1)), current_limit=_limit(rng, limits)
    )
    return replace(base, cables=cables, cable_limits=limits, winch=winch)


def _limit(rng: random.Random, limits) -> float:
    """A current limit [A] that lets the winch do what the other limits allow, with the most friction."""
    needed = FRICTION[1] * limits.rate + 1.5 * NOMINAL_MASS * limits.acceleration + limits.tension[1] / 24.0
    return max(rng.uniform(2.5, 4.0), 1.2 * needed)


def _winch(rng: random.Random, drive: CableDrive, i: int) -> Winch:
    cable, radius = drive.cables[i], drive.winch.radius
    friction = rng.choice((rng.uniform(*FRICTION), rng.gauss(17.1, 1.5)))
    stiffest = 0.5 * drive.cable_limits.tension[1] / drive.cable_limits.displacement[1]
    return Winch(
        motor_id=cable.motor_id,
        mass=NOMINAL_MASS * NOMINAL_RADIUS / radius * rng.uniform(0.85, 1.15),
        viscous=min(max(friction, FRICTION[0]), FRICTION[1]),
        dry=rng.choice((0.0, rng.uniform(0.0, 0.006), rng.uniform(0.0, 0.02))),
        lag=rng.uniform(0.0005, 0.003),
        stiffness=rng.uniform(0.25, 1.0) * stiffest,
        slack=rng.uniform(-0.0003, 0.002),
        direction=drive.winch.direction * cable.direction,
        scale=cable.scale,
        encoder=rng.randrange(8192),
        patience=rng.uniform(0.05, 0.2),
    )


def _stream(rng: random.Random, healthy: bool) -> Stream:
    return Stream(
        period=math.exp(rng.uniform(math.log(0.001), math.log(0.08))),
        dwell=rng.uniform(0.01, 0.8),
        reach=0.95 if healthy else rng.choice((0.9, 1.0, 2.0)),
        nonsense=0.0 if healthy else rng.choice((0.0, 0.0, 0.05, 0.5)),
        stamps=rng.random() < 0.5,
        untimely=0.0 if healthy else rng.choice((0.0, 0.1, 0.3)),
    )


def _gentle(rng: random.Random, case: Case, healthy: bool) -> Case:
    """Some users are controllers that follow a slow motion: many commands, each a little beside the one before.

    Healthy motors have time then for what adds up slowly in their readings.
    """
    if rng.random() > 0.3:
        return replace(case, feedback=rng.choice(PERIODS))
    low, high = case.drive.cable_limits.displacement
    reach = rng.uniform(0.2, 0.9)
    fastest = case.drive.cable_limits.rate / (0.5 * (high - low) * reach)
    turns = fastest * rng.uniform(0.05, 0.6)
    stream = replace(case.stream, period=rng.uniform(*GENTLE), reach=reach, turns=turns)
    end = case.end + (rng.uniform(0.0, 3.0) if healthy else 0.0)
    return replace(case, stream=stream, feedback=rng.choice(PERIODS[-2:]), end=end)


def _rough(rng: random.Random, case: Case) -> Case:
    """Some robots have winches with much less or much more friction, of which much is dry.

    Dry friction that is more than any tension of the robot hides that a robot is blocked: winches are not chosen so.
    """
    if rng.random() > ROUGH:
        return case
    highest = case.drive.cable_limits.tension[1] * case.drive.winch.radius / TORQUE_CONSTANT  # [A]
    low, high = ANY_DRY[0], min(ANY_DRY[1], highest)
    winches = (replace(w, viscous=rng.uniform(*ANY_FRICTION), dry=rng.uniform(low, high)) for w in case.winches)
    return replace(case, winches=tuple(winches))


def _script(rng: random.Random, autostart: bool, healthy: bool, end: float) -> tuple[Action, ...]:
    """The usual beginning, as a rule, and then whatever comes to the user's mind."""
    actions = [] if autostart else [Action(0.02, "connect"), Action(0.05, "activate")]
    start = rng.choices(
        ("home", "take_up_slack", "assume_taut_here", "nothing"), (75, 15, 10, 0) if healthy else (75, 12, 8, 5)
    )[0]
    if start != "nothing":
        actions.append(Action(0.3, start))
    if start != "take_up_slack" and (healthy or rng.random() < 0.95):  # taking up slack ends enabled
        actions.append(Action(0.4, "enable"))
    for _ in range(rng.choice((0, 0, 0, 1, 2, 4))):
        time = rng.uniform(0.9, end)
        actions += _pairs(rng, time) if healthy else [Action(time, rng.choice(WHIMS))]
    return tuple(sorted(actions, key=lambda action: action.time))


WHIMS = (
    ("home", "take_up_slack", "enable", "enable", "enable", "stop", "stop", "clear_stop", "clear_stop", "relax")
    + ("deactivate", "activate", "activate", "disconnect", "connect", "connect", "assume_taut_here")
    + ("relax take_up_slack relax enable", "deactivate take_up_slack", "deactivate enable", "stop deactivate activate")
    + ("stop disconnect connect activate", "stop enable", "disconnect connect activate enable")
)


def _pairs(rng: random.Random, time: float) -> list[Action]:
    """What a sensible user does and undoes."""
    first, *later = rng.choice((("stop", "clear_stop", "enable"), ("relax", "enable")))
    return [Action(time, first), *(Action(time + 0.1 * (k + 1), name) for k, name in enumerate(later))]


def _faults(rng: random.Random, count: int, end: float) -> tuple[Fault, ...]:
    faults = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        kind = rng.choices(tuple(FAULTS), tuple(FAULTS.values()))[0]
        kind = "silent" if kind == "double id" and count == 1 else kind
        early = rng.random() < 0.1
        time = rng.uniform(0.0, FIRST_FAULT) if early else rng.uniform(FIRST_FAULT, end - 0.3)
        duration, magnitude = _size(rng, kind)
        faults.append(Fault(time, duration, kind, rng.randrange(count), magnitude))
    return tuple(sorted(faults, key=lambda fault: fault.time))


def _size(rng: random.Random, kind: str) -> tuple[float, float]:
    """Duration [s] and magnitude of a fault."""
    sign = rng.choice((-1.0, 1.0))
    sizes = {
        "unplugged": (rng.uniform(0.01, 1.2), 0.0),
        "power dip": (rng.uniform(0.01, 0.5), 0.0),
        "power dip of all": (rng.uniform(0.01, 0.5), 0.0),
        "slip": (0.001, sign * math.exp(rng.uniform(math.log(50.0), math.log(4000.0)))),
        "slips": (rng.uniform(0.3, 2.0), sign * math.exp(rng.uniform(math.log(50.0), math.log(4000.0)))),
        "silent": (rng.uniform(0.02, 2.0), 0.0),
        "derated": (rng.uniform(0.3, 2.0), rng.uniform(0.02, 0.5)),
        "reversed": (10.0, 0.0),
        "lost": (rng.uniform(0.05, 1.5), rng.choice((0.05, 0.3, 0.7, 0.95, 1.0))),
        "lost commands": (rng.uniform(0.05, 1.5), rng.choice((0.1, 0.5, 1.0))),
        "doubled": (rng.uniform(0.1, 1.5), rng.uniform(0.05, 1.0)),
        "swapped": (rng.uniform(0.1, 1.5), rng.uniform(0.05, 0.6)),
        "held": (rng.choice((rng.uniform(0.003, 0.03), rng.uniform(0.03, 0.6))), 0.0),
        "foreign": (rng.uniform(0.1, 1.5), rng.uniform(0.01, 0.5)),
        "halt": (rng.choice((rng.uniform(0.05, 0.3), rng.uniform(0.3, 2.0), rng.uniform(2.0, 10.0))), 0.0),
        "clock jump": (0.001, sign * math.exp(rng.uniform(math.log(0.05), math.log(1e5)))),
        "commands die": (rng.uniform(0.15, 2.0), 0.0),
    }
    return sizes.get(kind, (rng.uniform(0.2, 2.0), 0.0))
